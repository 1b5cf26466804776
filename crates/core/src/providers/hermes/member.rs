//! Members of what Hermes says, each under its names.
//!
//! Input: a JSON object that is not trusted. Output: trimmed texts, identities, the time and the status, or a refusal by name.
//! Invariant: what is `null` or blank is not there. Never: cuts an identity, repeats a value in a refusal.

use std::borrow::Cow;

use super::status::{STATUSES, status_of};
use crate::contract::identity::trim;
use crate::contract::{Code, Refusal, State, Timestamp};
use crate::json::{self, Json, Repair};
use crate::redact::{redact_json, redact_text};
use crate::text::fit;

/// UTF-8 bytes of an id of Hermes.
pub(super) const NATIVE_ID_BYTES: usize = 4096;
/// UTF-8 bytes of the JSON text of a member that is passed on as it is; a longer one is left out.
pub(super) const PASSED_BYTES: usize = 8192;
/// Levels of such a member.
const PASSED_LEVELS: usize = 16;

/// One JSON text, and what stands in it for lone surrogates.
pub(super) fn parse(bytes: &[u8], refuse: impl Fn(&str) -> Refusal) -> Result<(Json, Repair), Refusal> {
    let read = json::read(bytes, |text, repair| {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let seed = Json::seed(crate::contract::limits::JSON_DEPTH);
        let value = serde::de::DeserializeSeed::deserialize(seed, &mut reader)?;
        reader.end()?;
        Ok((value, repair))
    });
    match read {
        Ok((Some(value), repair)) => Ok((value, repair)),
        Ok((None, _)) | Err(json::JsonFault::TooDeep) => {
            Err(Refusal::new(Code::TooDeep, "$", "it is nested more than 512 levels deep; flatten it"))
        }
        Err(json::JsonFault::InvalidUtf8 | json::JsonFault::Malformed) => {
            Err(refuse("it is not valid JSON; give one JSON object"))
        }
    }
}

/// An object whose members are read.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    pub(super) object: &'a Json,
    pub(super) repair: Repair,
}

impl<'a> Members<'a> {
    /// The first of the names whose value is something: neither `null` nor blank.
    fn first(self, names: &[&str]) -> Option<&'a Json> {
        names.iter().filter_map(|name| self.object.get(name)).find(|value| match value {
            Json::Null => false,
            Json::Text(text) => !trim(text).is_empty(),
            _ => true,
        })
    }

    /// An identity under one of its names, the first of which stands in refusals.
    pub(super) fn id(self, names: &[&str], path: &'static str) -> Result<String, Refusal> {
        self.optional_id(names, path)?.ok_or_else(|| {
            let message = format!("{} must be text that is not blank", names.join(" or "));
            Refusal::new(Code::InvalidId, path, message)
        })
    }

    /// As [`Self::id`], where it may be left out.
    pub(super) fn optional_id(self, names: &[&str], path: &'static str) -> Result<Option<String>, Refusal> {
        let refuse = |fault: &str| {
            let message = format!("{} {fault}", names.join(" or "));
            Err(Refusal::new(Code::InvalidId, path, message))
        };
        let Some(value) = self.first(names) else { return Ok(None) };
        let Some(text) = value.text() else { return refuse("must be text that is not blank") };
        let id = trim(text);
        if self.repair.has_lone_surrogate(id) {
            refuse("has a lone surrogate, which no UTF-8 text can hold")
        } else if id.contains('\0') {
            refuse("must not contain U+0000")
        } else if id.len() > NATIVE_ID_BYTES {
            refuse(&format!("is longer than {NATIVE_ID_BYTES} UTF-8 bytes; an identity is never cut"))
        } else {
            Ok(Some(id.to_owned()))
        }
    }

    pub(super) fn time(self, names: &[&str], path: &'static str) -> Result<Timestamp<'static>, Refusal> {
        let text = self.first(names).and_then(Json::text).map(trim);
        text.and_then(|text| Timestamp::parse(Cow::Owned(text.to_owned()))).ok_or_else(|| {
            let message = format!(
                "{} must be RFC 3339 UTC with seconds and a real date, such as 2026-05-17T22:29:21Z",
                names.join(" or ")
            );
            Refusal::new(Code::InvalidTimestamp, path, message)
        })
    }

    /// The status and what it means; nothing where there is none.
    pub(super) fn status(self) -> Result<Option<(&'static str, State)>, Refusal> {
        let Some(value) = self.first(&["status"]) else { return Ok(None) };
        let word = value.text().map(trim).unwrap_or_default();
        status_of(word).map(Some).ok_or_else(|| {
            let words = STATUSES.map(|(word, _)| word).join(", ");
            let message =
                format!("status is not one that is understood, and none is guessed; it may be {words}");
            Refusal::new(Code::InvalidState, "$.status", message)
        })
    }

    /// A word, as it is.
    pub(super) fn word(self, name: &str) -> Option<&'a str> {
        self.object.get(name)?.text().map(trim)
    }

    /// Display text: redacted, then cut. What is no text is left out.
    pub(super) fn text(self, names: &[&str], max_units: usize) -> Option<String> {
        let text = self.repair.display(Cow::Borrowed(trim(self.first(names)?.text()?)));
        Some(trim(fit(&redact_text(&text), max_units)).to_owned())
    }

    /// A value as it is, redacted; nothing where it is too large or too deep.
    pub(super) fn value(self, names: &[&str]) -> Option<Json> {
        let value = self.first(names)?;
        if json::length_exceeds(value, PASSED_BYTES) {
            return None;
        }
        let mut holder = Json::Object(vec![(names.first()?.to_string(), value.clone())]);
        if let Some(stand_in) = self.repair.stand_in {
            holder.replace_character(stand_in, '\u{fffd}');
        }
        redact_json(&mut holder);
        let Json::Object(mut members) = holder else { return None };
        let (_, value) = members.pop()?;
        let text = json::write(&value);
        (text.len() <= PASSED_BYTES && json::depth(text.as_bytes()) <= PASSED_LEVELS).then_some(value)
    }
}
