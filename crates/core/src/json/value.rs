//! A whole JSON value of bounded depth.
//!
//! Input: JSON through serde. Output: a [`Json`], its object members in order and unique, or nothing where it is too deep.
//! Invariant: written and read again it is the same. Never: takes quadratic time over many members.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::scalar::safe_integer;

/// A JSON value of bounded depth, its object members in order and unique.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A double; never infinite, never NaN, never -0.
    Number(f64),
    /// Text.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member `key` of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, where it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of the member `key`.
    #[must_use]
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// More bytes than its compact JSON text can have: an escape takes six, a number at most 24.
    pub(super) fn most_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 24,
            Self::Text(text) => 6 * text.len() + 2,
            Self::Array(items) => items.iter().map(|item| item.most_bytes() + 1).sum::<usize>() + 2,
            Self::Object(members) => {
                members.iter().map(|(key, value)| 6 * key.len() + 4 + value.most_bytes()).sum::<usize>() + 2
            }
        }
    }

    /// Calls `visit` on every text value with the name of the object member it is the value of, if of one.
    pub fn for_each_text(&mut self, visit: &mut impl FnMut(Option<&str>, &mut String)) {
        self.walk_texts(None, visit);
    }

    fn walk_texts(&mut self, key: Option<&str>, visit: &mut impl FnMut(Option<&str>, &mut String)) {
        match self {
            Self::Text(text) => visit(key, text),
            // The items of an array are values of the array's member: `"tokens_secret": ["x"]`.
            Self::Array(items) => items.iter_mut().for_each(|item| item.walk_texts(key, visit)),
            Self::Object(members) => {
                for (name, value) in members {
                    value.walk_texts(Some(name), visit);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// Replaces one character by another in every text and key. Keys that become equal are one key, with the last one's value.
    pub fn replace_character(&mut self, from: char, to: char) {
        let replace = |text: &mut String| {
            if text.contains(from) {
                *text = text.replace(from, to.encode_utf8(&mut [0; 4]));
            }
        };
        match self {
            Self::Text(text) => replace(text),
            Self::Array(items) => items.iter_mut().for_each(|item| item.replace_character(from, to)),
            Self::Object(members) => {
                let is_renamed = members.iter().any(|(key, _)| key.contains(from));
                for (key, value) in members.iter_mut() {
                    replace(key);
                    value.replace_character(from, to);
                }
                if is_renamed {
                    let mut unique = Members::default();
                    members.drain(..).for_each(|(key, value)| unique.set(key, Some(value)));
                    members.extend(unique.list.into_iter().filter_map(|(key, value)| Some((key, value?))));
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }

    /// Reads a value to at most `levels` levels of objects and arrays; beyond it, `None` (the text is still read to its end).
    #[must_use]
    pub fn seed(levels: usize) -> JsonSeed {
        JsonSeed { levels }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => match (safe_integer(*number), safe_integer(-*number)) {
                (Some(integer), _) => serializer.serialize_u64(integer),
                (_, Some(integer)) => serializer.serialize_i64(-integer.cast_signed()),
                _ => serializer.serialize_f64(*number),
            },
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

/// See [`Json::seed`].
#[derive(Clone, Copy)]
pub struct JsonSeed {
    levels: usize,
}

impl<'de> DeserializeSeed<'de> for JsonSeed {
    type Value = Option<Json>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed {
    type Value = Option<Json>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Json::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Json::Bool(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        // -0 is 0 to JSON.stringify.
        Ok(Some(Json::Number(if value == 0.0 { 0.0 } else { value })))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are doubles")]
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(Json::Number(value as f64)))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are doubles")]
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(Json::Number(value as f64)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(Json::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        let mut items = Some(Vec::new());
        while let Some(item) = seq.next_element_seed(Self { levels })? {
            match (&mut items, item) {
                (Some(items), Some(item)) => items.push(item),
                _ => items = None,
            }
        }
        Ok(items.map(Json::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        let mut members = Members::default();
        while let Some(key) = map.next_key::<String>()? {
            members.set(key, map.next_value_seed(Self { levels })?);
        }
        Ok(members.finish())
    }
}

/// Object members while they are read: a repeated key replaces the value and keeps the first place, as in JavaScript.
#[derive(Default)]
struct Members {
    list: Vec<(String, Option<Json>)>,
    index: Option<hashbrown::HashMap<String, usize>>,
}

impl Members {
    /// Above this many members, keys are found by an index, so that a hostile object costs no quadratic time.
    const SCANNED: usize = 16;

    fn set(&mut self, key: String, value: Option<Json>) {
        let place = match &self.index {
            Some(index) => index.get(&key).copied(),
            None => self.list.iter().position(|(name, _)| *name == key),
        };
        if let Some(place) = place {
            self.list[place].1 = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(key.clone(), self.list.len());
        }
        self.list.push((key, value));
        if self.index.is_none() && self.list.len() > Self::SCANNED {
            self.index =
                Some(self.list.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect());
        }
    }

    fn finish(self) -> Option<Json> {
        let members = self.list.into_iter().map(|(key, value)| Some((key, value?)));
        members.collect::<Option<Vec<_>>>().map(Json::Object)
    }
}
