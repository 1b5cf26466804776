//! Secrets the host registers: the secrets once, then texts in and their spans out.
//! Each is looked for whole, and cut at the borders of a text: an end of it at the start, a beginning at the end.
//! Invariant: a text costs time linear in its length for each secret.
//! It must never show a secret in an error or in debug output.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;

use super::{Span, redact, rules};
use crate::text::units;

/// The length in UTF-16 units from which a registered secret can be told from harmless text.
const SHORTEST: usize = 8;
/// The length in UTF-16 units from which a piece of a secret at the border of a text is hidden.
const SHORTEST_PIECE: usize = 4;

/// A registered secret has fewer than eight UTF-16 units; hiding it would hide harmless text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretTooShort {
    /// Which of the given secrets it is, from zero.
    pub index: usize,
    /// How many UTF-16 units it has.
    pub units: usize,
}

impl fmt::Display for SecretTooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SecretTooShort { index, units } = self;
        write!(f, "registered secret {index} has {units} UTF-16 units, fewer than {SHORTEST}")
    }
}

impl std::error::Error for SecretTooShort {}

/// The built-in rules together with the secrets a host registered.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<Secret>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish()
    }
}

impl Redactor {
    /// Registers `secrets`. One that JSON writes with escapes is also found in that form.
    ///
    /// # Errors
    /// When a secret has fewer than eight UTF-16 units.
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Result<Redactor, SecretTooShort> {
        let mut all: Vec<Secret> = Vec::new();
        for (index, secret) in secrets.into_iter().enumerate() {
            let secret = secret.into();
            let units = units(&secret);
            if units < SHORTEST {
                return Err(SecretTooShort { index, units });
            }
            let quoted = serde_json::Value::from(secret.as_str()).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            for form in [secret.as_str(), escaped] {
                if all.iter().all(|known| known.text != form) {
                    all.push(Secret::new(form));
                }
            }
        }
        Ok(Redactor { secrets: all })
    }

    /// Redacts one whole text. Borrowed when nothing was found.
    ///
    /// Registered secrets are also hidden where a border of the text cuts them, from pieces of four UTF-16 units on.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact(text, |text| self.spans(text, true, true))
    }

    /// Hides registered secrets alone, and only whole ones. Borrowed when there is none.
    pub(super) fn registered<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact(text, |text| {
            let mut spans = Vec::new();
            self.secrets.iter().for_each(|secret| secret.find_whole(text, &mut spans));
            spans
        })
    }

    /// The spans of all secrets; pieces of registered ones at the borders that are borders of the whole text.
    pub(super) fn spans(&self, text: &str, is_start: bool, is_end: bool) -> Vec<Span> {
        let mut spans = rules::find(text);
        for secret in &self.secrets {
            secret.find_whole(text, &mut spans);
            // A character cut in two comes as a replacement character.
            if is_start {
                let from = text.len() - text.trim_start_matches('\u{FFFD}').len();
                let len = secret.end_at_start(&text[from..]);
                if units(&text[from..from + len]) >= SHORTEST_PIECE {
                    spans.push(Span::new(0, 0, from + len));
                }
            }
            if is_end {
                let shown = text.trim_end_matches('\u{FFFD}');
                let from = shown.len() - secret.start_at_end(shown);
                if units(&shown[from..]) >= SHORTEST_PIECE {
                    spans.push(Span::new(from, from, text.len()));
                }
            }
            if is_start && is_end && secret.holds(text) && units(text) >= SHORTEST_PIECE {
                spans.push(Span::new(0, 0, text.len()));
            }
        }
        spans
    }

    /// Where the longest beginning of a registered secret at the end of `text` begins.
    pub(super) fn open_from(&self, text: &str) -> usize {
        text.len() - self.secrets.iter().map(|secret| secret.start_at_end(text)).max().unwrap_or(0)
    }

    /// Whether all of `text` lies within a registered secret, so that its end could still follow.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.secrets.iter().any(|secret| secret.holds(text))
    }
}

/// One form of a registered secret with the border tables of Knuth, Morris and Pratt, read either way.
#[derive(Clone)]
struct Secret {
    text: String,
    finder: memmem::Finder<'static>,
    forward: Vec<usize>,
    backward: Vec<usize>,
}

impl Secret {
    fn new(text: &str) -> Secret {
        let bytes = text.as_bytes();
        let len = bytes.len();
        Secret {
            text: text.to_owned(),
            finder: memmem::Finder::new(bytes).into_owned(),
            forward: borders(len, |at| bytes[at]),
            backward: borders(len, |at| bytes[len - 1 - at]),
        }
    }

    fn find_whole(&self, text: &str, spans: &mut Vec<Span>) {
        let bytes = self.text.as_bytes();
        let Some(first) = self.finder.find(text.as_bytes()) else { return };
        let mut matched = 0;
        let mut open: Option<Span> = None;
        for (at, &byte) in text.as_bytes().iter().enumerate().skip(first) {
            matched = step(&self.forward, |at| bytes[at], matched, byte);
            if matched == bytes.len() {
                let place = at + 1 - matched;
                // Places that overlap are one span, or a secret that repeats itself would give one per byte.
                match &mut open {
                    Some(span) if place <= span.end => span.end = at + 1,
                    _ => spans.extend(open.replace(Span::new(place, place, at + 1))),
                }
            }
        }
        spans.extend(open);
    }

    /// The length of the longest beginning of the secret, not all of it, that `text` ends with.
    fn start_at_end(&self, text: &str) -> usize {
        let bytes = self.text.as_bytes();
        let from = text.len().saturating_sub(bytes.len() - 1);
        let tail = &text.as_bytes()[from..];
        tail.iter().fold(0, |matched, &byte| step(&self.forward, |at| bytes[at], matched, byte))
    }

    /// The length of the longest end of the secret, not all of it, that `text` starts with.
    fn end_at_start(&self, text: &str) -> usize {
        let bytes = self.text.as_bytes();
        let last = bytes.len() - 1;
        let head = &text.as_bytes()[..text.len().min(last)];
        head.iter().rev().fold(0, |matched, &byte| step(&self.backward, |at| bytes[last - at], matched, byte))
    }

    fn holds(&self, text: &str) -> bool {
        text.len() < self.text.len() && memmem::find(self.text.as_bytes(), text.as_bytes()).is_some()
    }
}

/// For every length, how long the longest border of that beginning is.
fn borders(len: usize, byte: impl Fn(usize) -> u8 + Copy) -> Vec<usize> {
    let mut table = vec![0; len];
    for at in 1..len {
        table[at] = step(&table, byte, table[at - 1], byte(at));
    }
    table
}

/// One step of the search: how much of the pattern ends with `next` when `matched` of it ended before.
fn step(table: &[usize], byte: impl Fn(usize) -> u8, mut matched: usize, next: u8) -> usize {
    loop {
        if matched < table.len() && byte(matched) == next {
            return matched + 1;
        }
        if matched == 0 {
            return 0;
        }
        matched = table[matched - 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_at_the_borders_are_the_longest() {
        let secret = Secret::new("abcabcab");
        assert_eq!(secret.start_at_end("xxabcabcab"), 5);
        assert_eq!(secret.start_at_end("xxabca"), 4);
        assert_eq!(secret.start_at_end("x"), 0);
        assert_eq!(secret.end_at_start("bcabx"), 4);
        assert_eq!(secret.end_at_start("abcabcab"), 5);
        assert_eq!(secret.end_at_start(""), 0);
    }

    #[test]
    fn overlapping_places_are_all_found() {
        let mut spans = Vec::new();
        Secret::new("aaaaaaaa").find_whole("xaaaaaaaaaay", &mut spans);
        assert_eq!(spans, [Span::new(1, 1, 11)]);
    }

    #[test]
    fn nothing_of_a_secret_is_printed() {
        let redactor = Redactor::new(["not-a-real-secret"]).expect("it is long enough");
        assert_eq!(format!("{redactor:?}"), "Redactor { secrets: 1 }");
        let error = Redactor::new(["long enough", "short"]).expect_err("the second is too short");
        assert_eq!(error, SecretTooShort { index: 1, units: 5 });
        assert_eq!(error.to_string(), "registered secret 1 has 5 UTF-16 units, fewer than 8");
    }
}
