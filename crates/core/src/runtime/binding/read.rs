//! What callers write, read from JSON: every type, bound and word is checked here.
//!
//! Input: the JSON text that JavaScript wrote. Output: checked values, or which member is none.
//! Invariant: strings are trimmed, and blank is absent. Never: repeats a value in a fault, cuts anything but a diagnostic's message.

use serde::Serialize;
use serde::de::DeserializeSeed;

use super::content::{BindingState, Content, Diagnostic, Locator, LocatorKind, Mode};
use super::fault::BindingFault;
use super::ids::{NativeSessionId, ProductSessionId, is_adapter_word};
use super::update::Expected;
use crate::contract::Moment;
use crate::contract::identity::{identity, trim};
use crate::json::{self, Json, safe_integer};
use crate::redact::redact_text;
use crate::text;

/// The bytes of `metadata` as JSON.
const METADATA_BYTES: usize = 64 * 1024;
/// The levels of `metadata`.
const METADATA_DEPTH: usize = 64;
/// The bytes of a locator's value.
const LOCATOR_BYTES: usize = 4096;
/// The UTF-16 code units of a diagnostic's message.
const MESSAGE_UNITS: usize = 4000;

const STATES: &str = "must be unbound, bound, missing or error";
const MEMBERS: [&str; 11] = [
    "productSessionId",
    "runtimeInstanceId",
    "adapterId",
    "nativeSessionId",
    "state",
    "protocol",
    "protocolVersion",
    "adapterVersion",
    "locator",
    "metadata",
    "diagnostic",
];
/// The store's own, which a copy of a binding has.
const IGNORED: [&str; 4] = ["revision", "generation", "createdAt", "updatedAt"];

/// A native session by its adapter, and the session it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeSession {
    /// The product's session.
    pub product_session_id: ProductSessionId,
    /// The adapter.
    pub adapter_id: String,
    /// The native session.
    pub native_session_id: NativeSessionId,
}

/// Which bindings are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this adapter.
    pub adapter_id: Option<String>,
    /// In this state.
    pub state: Option<BindingState>,
    /// Of this instance.
    pub runtime_instance_id: Option<String>,
}

/// The content of a new binding in the text of a JSON object; `unbound` where no state is given.
pub fn new_binding(text: &str) -> Result<Content, BindingFault> {
    let value = object("binding", text)?;
    let state = state(&value)?.unwrap_or(BindingState::Unbound);
    content(&value, state)
}

/// The content that an update is to make, in the text of a JSON object.
pub fn binding_update(text: &str) -> Result<Content, BindingFault> {
    let value = object("binding", text)?;
    // A state that is left out by mistake would unbind.
    let state = state(&value)?.ok_or_else(|| BindingFault::invalid("state", STATES))?;
    content(&value, state)
}

/// What an update names beside its content, in the text of a JSON object.
pub fn expected(text: &str) -> Result<Expected, BindingFault> {
    let value = object("options", text)?;
    let number = |member| match value.get(member) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Number(number)) => match safe_integer(*number) {
            Some(number) => Ok(Some(number)),
            None => Err(BindingFault::invalid(member, "must be a safe integer of 0 or more")),
        },
        Some(_) => Err(BindingFault::invalid(member, "must be a number")),
    };
    let mode = match optional(&value, "mode")? {
        None => Mode::Normal,
        Some(word) => Mode::from_word(word)
            .ok_or_else(|| BindingFault::invalid("mode", "must be normal, repair or rebind"))?,
    };
    let revision = number("expectedRevision")?
        .ok_or_else(|| BindingFault::invalid("expectedRevision", "is needed: the revision that was read"))?;
    Ok(Expected { revision, mode, generation: number("generation")? })
}

/// The id of a product's session.
pub fn product_session(text: &str) -> Result<ProductSessionId, BindingFault> {
    ProductSessionId::new(text).ok_or_else(|| {
        BindingFault::invalid("productSessionId", "must be text of 1 to 512 bytes, without U+0000")
    })
}

fn content(value: &Json, state: BindingState) -> Result<Content, BindingFault> {
    if let Json::Object(members) = value
        && members.iter().any(|(name, _)| !MEMBERS.contains(&&**name) && !IGNORED.contains(&&**name))
    {
        let what = format!("has a member that there is not; there are {}", MEMBERS.join(", "));
        return Err(BindingFault::invalid("binding", &what));
    }
    Ok(Content {
        product_session_id: product_session_id(value)?,
        runtime_instance_id: word(value, "runtimeInstanceId")?,
        adapter_id: word(value, "adapterId")?,
        native_session_id: optional(value, "nativeSessionId")?.map(native_id).transpose()?,
        state,
        protocol: label(value, "protocol")?,
        protocol_version: label(value, "protocolVersion")?,
        adapter_version: label(value, "adapterVersion")?,
        locator: given(value, "locator").map(locator).transpose()?,
        metadata: given(value, "metadata").cloned().map(metadata).transpose()?,
        diagnostic: given(value, "diagnostic").map(diagnostic).transpose()?,
    })
}

/// The native session in the text of a JSON object.
pub fn native_session(text: &str) -> Result<NativeSession, BindingFault> {
    let value = object("native", text)?;
    let native = optional(&value, "nativeSessionId")?
        .ok_or_else(|| BindingFault::invalid("nativeSessionId", "must be text that is not blank"))?;
    Ok(NativeSession {
        product_session_id: product_session_id(&value)?,
        adapter_id: word(&value, "adapterId")?,
        native_session_id: native_id(native)?,
    })
}

/// The filter in the text of a JSON object.
pub fn filter(text: &str) -> Result<Filter, BindingFault> {
    let value = object("filter", text)?;
    let name = |member| optional(&value, member).map(|text| text.map(str::to_owned));
    Ok(Filter {
        adapter_id: name("adapterId")?,
        state: state(&value)?,
        runtime_instance_id: name("runtimeInstanceId")?,
    })
}

/// The metadata in a value: an object within its bounds, its names in order on every level.
fn metadata(value: Json) -> Result<Json, BindingFault> {
    let mut value = value;
    if !matches!(value, Json::Object(_)) {
        return Err(BindingFault::invalid("metadata", "must be a JSON object"));
    }
    if json::length_exceeds(&value, METADATA_BYTES) {
        return Err(BindingFault::invalid("metadata", "must be at most 64 KiB as JSON"));
    }
    sort(&mut value);
    Ok(value)
}

/// Names in one order, so that equal objects have equal text.
fn sort(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (_, value) in members {
                sort(value);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

/// Strict, not repaired: a lone surrogate that became another character could be another session's id.
fn object(name: &'static str, text: &str) -> Result<Json, BindingFault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    // The seed bounds what it keeps; JavaScript wrote the text, and `check` bounds what is read.
    if json::check(text.as_bytes()).is_err() {
        return Err(BindingFault::invalid(name, "is nested too deep"));
    }
    reader.disable_recursion_limit();
    let not_text =
        || BindingFault::invalid(name, "has text that is not well-formed Unicode: a lone surrogate");
    let value = Json::seed(METADATA_DEPTH + 1).deserialize(&mut reader).map_err(|_| not_text())?;
    reader.end().map_err(|_| not_text())?;
    match value {
        Some(value @ Json::Object(_)) => Ok(value),
        Some(_) => Err(BindingFault::invalid(name, "must be an object")),
        None => {
            let what = format!("must have at most {METADATA_DEPTH} levels");
            Err(BindingFault::invalid("metadata", &what))
        }
    }
}

/// `null` is as good as absent.
fn given<'v>(value: &'v Json, member: &str) -> Option<&'v Json> {
    value.get(member).filter(|value| !matches!(value, Json::Null))
}

/// Text that is not blank, trimmed.
fn optional<'v>(value: &'v Json, member: &'static str) -> Result<Option<&'v str>, BindingFault> {
    match value.get(member) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(text)) => Ok(Some(trim(text)).filter(|text| !text.is_empty())),
        Some(_) => Err(BindingFault::invalid(member, "must be text")),
    }
}

fn product_session_id(value: &Json) -> Result<ProductSessionId, BindingFault> {
    product_session(value.text_at("productSessionId").unwrap_or_default())
}

fn state(value: &Json) -> Result<Option<BindingState>, BindingFault> {
    let word = optional(value, "state")?;
    word.map(|word| BindingState::from_word(word).ok_or_else(|| BindingFault::invalid("state", STATES)))
        .transpose()
}

fn native_id(text: &str) -> Result<NativeSessionId, BindingFault> {
    NativeSessionId::new(text).ok_or_else(|| {
        BindingFault::invalid("nativeSessionId", "must have at most 4,096 bytes, without U+0000")
    })
}

fn word(value: &Json, member: &'static str) -> Result<String, BindingFault> {
    let text = optional(value, member)?.filter(|text| is_adapter_word(text));
    text.map(str::to_owned).ok_or_else(|| {
        BindingFault::invalid(
            member,
            "must be lower-case letters and digits, joined by single dots, dashes or underscores",
        )
    })
}

fn label(value: &Json, member: &'static str) -> Result<Option<String>, BindingFault> {
    let Some(text) = optional(value, member)? else { return Ok(None) };
    let text = identity(text)
        .map_err(|_| BindingFault::invalid(member, "must have at most 512 bytes, without U+0000"))?;
    Ok(Some(text.to_owned()))
}

fn locator(value: &Json) -> Result<Locator, BindingFault> {
    let kind = optional(value, "kind").ok().flatten().and_then(LocatorKind::from_word);
    let kind = kind.ok_or_else(|| {
        let what = "must have a kind: local-file, local-directory, uri, remote or adapter-resolved";
        BindingFault::invalid("locator", what)
    })?;
    let text =
        optional(value, "value").map_err(|_| BindingFault::invalid("locator", "must have text as value"))?;
    if text.is_some_and(|text| text.len() > LOCATOR_BYTES || text.contains('\0')) {
        let what = "must have a value of at most 4,096 bytes, without U+0000";
        return Err(BindingFault::invalid("locator", what));
    }
    Ok(Locator { kind, value: text.map(str::to_owned) })
}

fn diagnostic(value: &Json) -> Result<Diagnostic, BindingFault> {
    let refuse = || {
        let what = "must have code, phase and message as text, and at as RFC 3339 UTC";
        BindingFault::invalid("diagnostic", what)
    };
    let part = |member| optional(value, member).ok().flatten().ok_or_else(refuse);
    let name = |member| {
        let text = redact_text(part(member)?).into_owned();
        identity(&text).map(str::to_owned).map_err(|_| refuse())
    };
    Ok(Diagnostic {
        code: name("code")?,
        phase: name("phase")?,
        at: Moment::parse(part("at")?).ok_or_else(refuse)?,
        message: text::fit(&redact_text(part("message")?).replace('\0', "\u{fffd}"), MESSAGE_UNITS)
            .to_owned(),
    })
}
