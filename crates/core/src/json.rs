//! JSON as JavaScript reads it: numbers are doubles, the last duplicate key counts, lone surrogates are legal.
//!
//! Input: UTF-8 text. Output: a typed value through serde, or why there is none.
//! Invariant: what `JSON.parse` accepts within the depth limit is accepted here, and nothing else.
//! Never: recurses without a bound, panics.

pub(crate) mod quick;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

use crate::contract::limits::{JSON_DEPTH, SAFE_INTEGER};

/// Why a text is not JSON for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// Not UTF-8.
    InvalidUtf8,
    /// More than [`JSON_DEPTH`] levels.
    TooDeep,
    /// Not JSON.
    Malformed,
}

/// The text of `bytes`, where it is UTF-8 and not too deep to be read.
pub fn check(bytes: &[u8]) -> Result<&str, JsonFault> {
    let text = simdutf8::basic::from_utf8(bytes).map_err(|_| JsonFault::InvalidUtf8)?;
    // Each level takes two bytes, so a short text is never too deep.
    if bytes.len() > 2 * JSON_DEPTH && depth(bytes) > JSON_DEPTH {
        return Err(JsonFault::TooDeep);
    }
    Ok(text)
}

/// Reads one JSON text with `read`, a second time with a [repaired](repair) one where the first attempt failed.
pub fn read<T>(
    bytes: &[u8],
    read: impl Fn(&str, Repair) -> Result<T, serde_json::Error>,
) -> Result<T, JsonFault> {
    let text = check(bytes)?;
    if let Ok(value) = read(text, Repair::default()) {
        return Ok(value);
    }
    let (text, repair) = repair(text).ok_or(JsonFault::Malformed)?;
    read(&text, repair).map_err(|_| JsonFault::Malformed)
}

/// The JSON value in `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Json, JsonFault> {
    let value = read(bytes, |text, repair| {
        // The depth is checked before, so the reader's own, lower limit would only lose values.
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let mut value = Json::seed(JSON_DEPTH).deserialize(&mut reader)?;
        reader.end()?;
        if let (Some(stand_in), Some(value)) = (repair.stand_in, &mut value) {
            value.replace_character(stand_in, '\u{fffd}');
        }
        Ok(value)
    })?;
    value.ok_or(JsonFault::TooDeep)
}

/// The JSON text of `value`.
pub fn write(value: &impl Serialize) -> String {
    // Writing to memory fails only for maps whose keys are not text; ours are.
    serde_json::to_string(value).unwrap_or_default()
}

/// Whether the compact JSON text of `value` has more than `limit` bytes; stops counting there.
#[must_use]
pub fn length_exceeds(value: &Json, limit: usize) -> bool {
    value.most_bytes() > limit && serde_json::to_writer(Budget(limit), value).is_err()
}

/// Takes so many bytes and no more.
struct Budget(usize);

impl std::io::Write for Budget {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What was changed in a text before serde read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repair {
    /// The character, otherwise absent from the text, that stands for each lone surrogate.
    pub stand_in: Option<char>,
}

impl Repair {
    /// Whether `text` has a lone surrogate.
    #[must_use]
    pub fn has_lone_surrogate(self, text: &str) -> bool {
        self.stand_in.is_some_and(|c| text.contains(c))
    }

    /// `text` with U+FFFD for each lone surrogate.
    #[must_use]
    pub fn display(self, text: Cow<'_, str>) -> Cow<'_, str> {
        match self.stand_in {
            Some(c) if text.contains(c) => Cow::Owned(text.replace(c, "\u{fffd}")),
            _ => text,
        }
    }
}

/// The deepest level of objects and arrays, counted outside strings.
fn depth(bytes: &[u8]) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// The offset of the quote that closes the string opened at `open`, or of the end of the text.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// Rewrites what `JSON.parse` accepts and serde does not: a lone surrogate escape becomes [`Repair::stand_in`], a number beyond
/// the doubles becomes the `null` that `JSON.stringify` makes of it. `None` where there is neither.
#[must_use]
pub fn repair(text: &str) -> Option<(String, Repair)> {
    let edits = edits(text);
    if edits.is_empty() {
        return None;
    }
    let stand_in = absent_character(text)?;
    let mut repaired = String::with_capacity(text.len());
    let mut from = 0;
    for edit in &edits {
        repaired.push_str(&text[from..edit.range.start]);
        match edit.kind {
            EditKind::LoneSurrogate => repaired.push(stand_in),
            EditKind::BeyondDoubles => repaired.push_str("null"),
        }
        from = edit.range.end;
    }
    repaired.push_str(&text[from..]);
    let has_surrogate = edits.iter().any(|edit| edit.kind == EditKind::LoneSurrogate);
    Some((repaired, Repair { stand_in: has_surrogate.then_some(stand_in) }))
}

struct Edit {
    range: Range<usize>,
    kind: EditKind,
}

#[derive(PartialEq)]
enum EditKind {
    LoneSurrogate,
    BeyondDoubles,
}

fn edits(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let mut edits = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                lone_surrogates(bytes, at + 1..end, &mut edits);
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = bytes[at..].iter().position(|b| !is_part(b)).map_or(bytes.len(), |n| at + n);
                let token = &text[at..end];
                let is_number = serde_json::from_str::<IgnoredAny>(token).is_ok();
                if is_number && token.parse::<f64>().is_ok_and(f64::is_infinite) {
                    edits.push(Edit { range: at..end, kind: EditKind::BeyondDoubles });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    edits
}

/// The first character from U+E000 on that is in `text` neither as itself nor as an escape. Each such character takes three bytes or
/// more, so a text has room for fewer of them than are tried, unless it has all that there are (three megabytes and more).
fn absent_character(text: &str) -> Option<char> {
    const FIRST: u32 = 0xe000;
    const COUNT: usize = char::MAX as usize - FIRST as usize + 1;
    let bytes = text.as_bytes();
    let mut present = vec![false; COUNT.min(text.len() / 3 + 1)];
    let mut mark = |code: u32| {
        if let Some(slot) = code.checked_sub(FIRST).and_then(|at| present.get_mut(at as usize)) {
            *slot = true;
        }
    };
    text.chars().for_each(|c| mark(c.into()));
    for at in memchr::memmem::find_iter(bytes, b"\\u") {
        match (escaped_unit(bytes, at), escaped_unit(bytes, at + 6)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                mark(0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00));
            }
            (Some(unit), _) => mark(unit.into()),
            (None, _) => {}
        }
    }
    (FIRST..).zip(present).find(|(_, taken)| !taken).and_then(|(code, _)| char::from_u32(code))
}

/// The code unit of the escape `\uXXXX` at `at`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn lone_surrogates(bytes: &[u8], string: Range<usize>, edits: &mut Vec<Edit>) {
    let mut at = string.start;
    while let Some(found) = bytes.get(at..string.end).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match escaped_unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(escaped_unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                edits.push(Edit { range: at..at + 6, kind: EditKind::LoneSurrogate });
                6
            }
            _ => 2,
        };
    }
}

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
    fn most_bytes(&self) -> usize {
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
