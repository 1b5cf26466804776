//! One member of an object whose type is not trusted.
//!
//! Input: any JSON value. Output: a scalar as it is, a container by name only. Never: fails over a type.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::contract::limits::SAFE_INTEGER;

/// One member of an object whose type is not trusted: scalars are kept, containers are only named.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scalar<'a> {
    /// Not there.
    #[default]
    Absent,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Any string.
    Text(Cow<'a, str>),
    /// An array or object, read and dropped.
    Container,
}

impl<'a> Scalar<'a> {
    /// The text, where it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text itself, where it is text.
    #[must_use]
    pub fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, where it is a safe one of 0 or more (`1.0` and `1e0` are 1).
    #[must_use]
    pub fn safe_integer(&self) -> Option<u64> {
        match self {
            Self::Number(number) => safe_integer(*number),
            _ => None,
        }
    }

    /// Whether it is `true`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }
}

/// `number` as a safe integer of 0 or more.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked first, and 2^53 - 1 is a double"
)]
pub fn safe_integer(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=SAFE_INTEGER as f64).contains(&number)).then_some(number as u64)
}

struct ScalarVisitor<'r, 'de>(&'r mut Scalar<'de>);

impl<'de> ScalarVisitor<'_, 'de> {
    #[expect(clippy::unnecessary_wraps, reason = "every visit answers so")]
    fn set<E>(self, scalar: Scalar<'de>) -> Result<(), E> {
        *self.0 = scalar;
        Ok(())
    }
}

impl<'de> Visitor<'de> for ScalarVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.set(Scalar::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.set(Scalar::Bool(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.set(Scalar::Number(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are doubles")]
    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.set(Scalar::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript numbers are doubles")]
    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.set(Scalar::Number(value as f64))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<(), E> {
        self.set(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.set(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.set(Scalar::Container)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.set(Scalar::Container)
    }
}

/// Reads into this place: a scalar that is moved there after it is read costs more than reading it.
impl<'de> DeserializeSeed<'de> for &mut Scalar<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(ScalarVisitor(self))
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut scalar = Self::default();
        DeserializeSeed::deserialize(&mut scalar, deserializer)?;
        Ok(scalar)
    }
}
