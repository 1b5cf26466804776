//! JSON as JavaScript reads it: numbers are doubles, the last duplicate key counts, lone surrogates are legal.
//!
//! Input: UTF-8 text. Output: a typed value through serde, or why there is none.
//! Invariant: what `JSON.parse` accepts within the depth limit is accepted here, and nothing else.
//! Never: recurses without a bound, panics.

mod late;
pub(crate) mod quick;
mod repair;
mod scalar;
pub(crate) mod string;
mod value;

use std::marker::PhantomData;

use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

use crate::contract::limits::JSON_DEPTH;

pub(crate) use late::Late;
pub use repair::{Repair, repair};
pub use scalar::{Scalar, safe_integer};
pub use value::{Json, JsonSeed};

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
    if bytes.len() > 2 * JSON_DEPTH && is_too_deep(bytes) {
        return Err(JsonFault::TooDeep);
    }
    Ok(text)
}

/// Whether a text has more than [`JSON_DEPTH`] levels, also where it is broken.
#[must_use]
pub fn is_too_deep(bytes: &[u8]) -> bool {
    // To count all openers is far quicker than to tell strings from the rest.
    bytes.len() > JSON_DEPTH && openers(bytes) > JSON_DEPTH && depth(bytes) > JSON_DEPTH
}

fn openers(bytes: &[u8]) -> usize {
    // `[` and `{` differ in one bit. Sums of a byte, so that the compiler counts many at a time.
    let block_sum = |block: &[u8]| block.iter().map(|&byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    bytes.chunks(128).map(|block| usize::from(block_sum(block))).sum()
}

/// The value of `text`, by the quick reader where that reads it.
pub(crate) fn from_text<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    quick::read(text, PhantomData).map_or_else(|| serde_json::from_str(text), Ok)
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

/// The deepest level of objects and arrays, counted outside strings.
#[must_use]
pub fn depth(bytes: &[u8]) -> usize {
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
