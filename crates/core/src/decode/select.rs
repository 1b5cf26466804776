//! Which records a caller wants, by the strings of their top-level members.
//!
//! Input: one JSON text. Output: whether it is wanted, judged as `JSON.parse` would see it (escapes, the last duplicate), or why it
//! is no JSON. Invariant: every text is read to its end, wanted or not. Never: makes a value of it.

use super::validate::members;
use crate::json::JsonFault;

/// How many members a selection may name.
pub const SELECT_MEMBERS: usize = 64;

/// A record is wanted where each member that is named here is one of its strings.
#[derive(Clone, Debug)]
pub struct Select {
    members: Vec<(Text, Vec<Text>)>,
}

impl Select {
    /// Takes the names of members, each with its strings, as the UTF-16 code units that JavaScript has: a lone surrogate is a
    /// legal part of them. `None` for no member or more than [`SELECT_MEMBERS`].
    #[must_use]
    pub fn new(members: impl IntoIterator<Item = (Vec<u16>, Vec<Vec<u16>>)>) -> Option<Self> {
        let texts = |strings: Vec<Vec<u16>>| strings.into_iter().map(Text::new).collect();
        let members: Vec<_> =
            members.into_iter().map(|(name, strings)| (Text::new(name), texts(strings))).collect();
        (1..=SELECT_MEMBERS).contains(&members.len()).then_some(Self { members })
    }

    /// Whether a record is wanted.
    pub fn wants(&self, record: &[u8]) -> Result<bool, JsonFault> {
        // A bit for each named member.
        let mut matched = 0_u64;
        members(record, &mut |key, value| {
            for (at, (name, strings)) in self.members.iter().enumerate() {
                if name.is(key) {
                    let string = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
                    let is_match = string.is_some_and(|token| strings.iter().any(|text| text.is(token)));
                    matched = matched & !(1 << at) | u64::from(is_match) << at;
                }
            }
        })?;
        Ok(matched.count_ones() as usize == self.members.len())
    }
}

/// A text to compare string tokens with.
#[derive(Clone, Debug)]
struct Text {
    units: Vec<u16>,
    /// Not there where a lone surrogate is part of the text.
    utf8: Option<String>,
}

impl Text {
    fn new(units: Vec<u16>) -> Self {
        Self { utf8: String::from_utf16(&units).ok(), units }
    }

    /// Whether this is the text of a valid string token, given without its quotes.
    fn is(&self, token: &[u8]) -> bool {
        // An escape takes two bytes or more for each unit, and no unit takes more than three bytes.
        if token.len() < self.units.len() {
            return false;
        }
        if memchr::memchr(b'\\', token).is_none() {
            return self.utf8.as_ref().is_some_and(|text| text.as_bytes() == token);
        }
        units(token) == self.units
    }
}

/// The code units of a valid string token.
fn units(token: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(token.len());
    let mut rest = std::str::from_utf8(token).unwrap_or_default();
    while let Some((plain, escape)) = rest.split_once('\\') {
        units.extend(plain.encode_utf16());
        let (length, unit) = match escape.as_bytes() {
            [b'u', digits @ ..] => {
                let hex = digits.iter().take(4).filter_map(|&digit| char::from(digit).to_digit(16));
                (5, hex.fold(0, |unit, digit| unit << 4 | digit as u16))
            }
            [letter, ..] => (1, u16::from(escaped(*letter))),
            [] => break,
        };
        units.push(unit);
        rest = escape.get(length..).unwrap_or_default();
    }
    units.extend(rest.encode_utf16());
    units
}

/// The character that a backslash and a letter stand for.
fn escaped(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}
