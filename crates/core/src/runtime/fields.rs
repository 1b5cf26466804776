//! Members of an input that came as JSON.
//!
//! Input: JSON text. Output: its members, each of the type that it must have, or what is wrong with which.
//! Invariant: unknown members are passed over, and `null` is not absent. Never: repeats a value in a message.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::contract::limits::SAFE_INTEGER;
use crate::json::{self, Json, JsonFault};
use crate::text::units;

/// UTF-16 code units of an id of the host.
pub(super) const ID_UNITS: usize = 256;
/// Bytes of a native id that is kept as it is; of a longer one its hash is kept.
const NATIVE_BYTES: usize = 256;
/// Bytes of a native id or name that is given back.
const WHOLE_BYTES: usize = 4096;

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// The member, such as `questions[1].id`.
    pub path: String,
    /// What it must be, to be read after the path.
    pub message: String,
}

impl InputFault {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// An id of the harness: `0` and `"0"` differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NativeId {
    /// The bits of a double.
    Number(u64),
    /// Text.
    Text(String),
}

impl NativeId {
    /// The id as JSON, as far as it was kept.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Number(bits) => Json::Number(f64::from_bits(*bits)),
            Self::Text(text) => Json::Text(text.clone()),
        }
    }
}

/// Members that were not taken yet.
pub(super) struct Fields {
    path: String,
    members: Vec<(String, Json)>,
}

impl Fields {
    /// The members of the object in `text`, which is called `name`.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, InputFault> {
        let json = json::parse(text.as_bytes()).map_err(|fault| {
            let message = match fault {
                JsonFault::TooDeep => "is nested more than 512 levels deep",
                JsonFault::InvalidUtf8 | JsonFault::Malformed => "must be JSON",
            };
            InputFault::new(name, message)
        })?;
        let mut fields = Self::of(json, name)?;
        fields.path.clear();
        Ok(fields)
    }

    /// The members of `json`, which stands at `path`.
    pub(super) fn of(json: Json, path: &str) -> Result<Self, InputFault> {
        match json {
            Json::Object(members) => Ok(Self { path: path.to_owned(), members }),
            _ => Err(InputFault::new(path, "must be an object")),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(super) fn fault(&self, name: &str, message: impl Into<String>) -> InputFault {
        InputFault::new(self.path(name), message)
    }

    /// The members that were not taken.
    pub(super) fn rest(&self) -> Json {
        let mut members = self.members.clone();
        // In an order of its own: taking members changes theirs.
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        Json::Object(members)
    }

    /// Whether all members were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Json> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(at).1)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, InputFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(name, "must be text")),
        }
    }

    pub(super) fn need_text(&mut self, name: &str) -> Result<String, InputFault> {
        self.text(name)?.ok_or_else(|| self.fault(name, "must be text"))
    }

    /// An id of the host, not of the harness.
    pub(super) fn id(&mut self, name: &str) -> Result<Option<String>, InputFault> {
        let Some(id) = self.text(name)? else { return Ok(None) };
        if (1..=ID_UNITS).contains(&units(&id)) {
            return Ok(Some(id));
        }
        Err(self.fault(name, format!("must be text of 1 to {ID_UNITS} UTF-16 code units")))
    }

    pub(super) fn need_id(&mut self, name: &str) -> Result<String, InputFault> {
        self.id(name)?
            .ok_or_else(|| self.fault(name, format!("must be text of 1 to {ID_UNITS} UTF-16 code units")))
    }

    /// A name that the harness gives; of a long one, something as good.
    pub(super) fn native_name(&mut self, name: &str) -> Result<Option<String>, InputFault> {
        Ok(self.text(name)?.map(short))
    }

    /// A name that the harness gives and gets back.
    pub(super) fn whole_name(&mut self, name: &str) -> Result<Option<String>, InputFault> {
        match self.text(name)? {
            Some(text) if text.len() > WHOLE_BYTES => {
                Err(self.fault(name, format!("must have at most {WHOLE_BYTES} bytes")))
            }
            text => Ok(text),
        }
    }

    /// An id that the harness gives and gets back.
    pub(super) fn whole_id(&mut self, name: &str) -> Result<Option<NativeId>, InputFault> {
        match self.take(name) {
            Some(Json::Text(text)) if text.len() <= WHOLE_BYTES => Ok(Some(NativeId::Text(text))),
            Some(Json::Text(_)) => Err(self.fault(name, format!("must have at most {WHOLE_BYTES} bytes"))),
            Some(Json::Number(number)) => Ok(Some(NativeId::Number(number.to_bits()))),
            None => Ok(None),
            Some(_) => Err(self.fault(name, "must be text or a number")),
        }
    }

    pub(super) fn native_id(&mut self, name: &str) -> Result<Option<NativeId>, InputFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(NativeId::Text(short(text)))),
            Some(Json::Number(number)) => Ok(Some(NativeId::Number(number.to_bits()))),
            Some(_) => Err(self.fault(name, "must be text or a number")),
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, InputFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(self.fault(name, "must be true or false")),
        }
    }

    /// A safe integer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the range is checked")]
    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i64>, InputFault> {
        let most = SAFE_INTEGER as f64;
        match self.take(name) {
            None => Ok(None),
            Some(Json::Number(number)) if number.fract() == 0.0 && (-most..=most).contains(&number) => {
                Ok(Some(number as i64))
            }
            Some(_) => Err(self.fault(name, "must be a safe integer")),
        }
    }

    /// A safe integer of 0 or more.
    pub(super) fn count(&mut self, name: &str) -> Result<Option<u64>, InputFault> {
        let Some(number) = self.integer(name)? else { return Ok(None) };
        u64::try_from(number).map(Some).map_err(|_| self.fault(name, "must be 0 or more"))
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Json>>, InputFault> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.fault(name, "must be an array")),
        }
    }
}

/// A name of the harness as it is kept.
pub(super) fn short(name: String) -> String {
    if name.len() <= NATIVE_BYTES {
        return name;
    }
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    format!("\0{:032x}", hasher.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_their_types() {
        let fields =
            || Fields::parse(r#"{"a":"x","n":7,"z":-1,"f":1.5,"b":true,"l":[1],"u":null}"#, "input").unwrap();
        assert_eq!(fields().text("a"), Ok(Some("x".to_owned())));
        assert_eq!(fields().text("gone"), Ok(None));
        assert_eq!(fields().count("n"), Ok(Some(7)));
        assert_eq!(fields().flag("b"), Ok(Some(true)));
        assert_eq!(fields().native_id("n"), Ok(Some(NativeId::Number(7.0_f64.to_bits()))));
        for fault in [
            fields().text("n").unwrap_err(),
            fields().text("u").unwrap_err(),
            fields().count("z").map(|_| ()).unwrap_err(),
            fields().count("f").map(|_| ()).unwrap_err(),
            fields().flag("a").map(|_| ()).unwrap_err(),
            fields().list("a").map(|_| ()).unwrap_err(),
            fields().native_id("u").map(|_| ()).unwrap_err(),
            fields().need_id("gone").unwrap_err(),
        ] {
            assert!(fault.message.starts_with("must be"), "{fault:?}");
        }
        assert_eq!(Fields::parse("[]", "input").err().map(|fault| fault.path), Some("input".to_owned()));
    }

    #[test]
    fn long_names_stay_apart_and_small() {
        let (one, other) = ("a".repeat(300), "a".repeat(301));
        assert!(short(one.clone()).len() < 40);
        assert_ne!(short(one.clone()), short(other));
        assert_eq!(short(one.clone()), short(one));
    }
}
