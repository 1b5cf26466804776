//! Rewrites what `JSON.parse` accepts and `serde_json` does not.
//!
//! Input: JSON text. Output: text that `serde_json` reads, and what stands for each lone surrogate in it.
//! Invariant: a text without such places is not touched. Never: takes time beyond the length of the text.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::string_end;

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
