//! Redaction: text in, the same text with every secret replaced by [`REDACTED`] out.
//! The rules read the text as it came and only name spans; this module joins the spans and replaces them.
//! Invariant: time linear in the text, and redacting twice is redacting once.
//! It must never panic, and never show a part of a secret that it found.

mod assign;
mod excerpt;
mod filter;
mod harmless;
mod json;
mod keys;
mod names;
mod rules;
mod secrets;
mod stream;
mod tail;
mod value;

use std::borrow::Cow;

use memchr::memmem;

pub use json::redact_json;
pub use keys::is_secret_key;
pub use names::{is_same_name, redact_note, safe_name};
pub use secrets::{Redactor, SecretTooShort};
pub use stream::StreamRedactor;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Redacts by the built-in text rules alone. Borrowed when nothing was found.
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    redact(text, rules::find)
}

/// For diagnostics: `bytes` as lossy UTF-8, redacted, then cut to `max_units` UTF-16 units between characters.
///
/// JSON escapes of printable ASCII are decoded first, and shown decoded. A line that is nothing but a line of a PEM
/// block is hidden, and so is a key of a known kind that the end of the line cuts.
///
/// `cut` says that `bytes` is only the beginning of a longer text. A secret may then be cut at its end, where no
/// rule can know it yet, so what a continuation could make one is left out: at least the last run of characters
/// without white space or a double quote.
#[must_use]
pub fn redact_excerpt(bytes: &[u8], max_units: usize, cut: bool) -> String {
    let text = excerpt::decoded(String::from_utf8_lossy(bytes));
    if !cut && excerpt::is_pem_line(&text) {
        return shorten(REDACTED, max_units);
    }
    if !cut {
        let text = redact_text(&text);
        return match excerpt::cut_key(&text) {
            Some(start) => shorten(&(text[..start].to_owned() + REDACTED), max_units),
            None => shorten(&text, max_units),
        };
    }
    let spans = settle(&text, rules::find(&text));
    let shown = tail::open_from(&text).max(spans.last().map_or(0, |span| span.end));
    shorten(&redact_text(&splice(&text[..shown], &spans)), max_units)
}

/// A secret at `start..end`. `context` is where the text begins that made it one (the key, the scheme).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    context: usize,
    start: usize,
    end: usize,
}

impl Span {
    fn new(context: usize, start: usize, end: usize) -> Span {
        Span { context, start, end }
    }
}

/// How often a text is read at most. A replacement ends a word, so that what stood glued to a secret (`...sk-...`)
/// can be a secret after it; a third reading finds nothing in any text that was not made for it.
const READINGS: usize = 4;

/// Replaces what `find` names until it names nothing new.
fn redact(text: &str, find: impl Fn(&str) -> Vec<Span>) -> Cow<'_, str> {
    let mut spans = find(text);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = Cow::Borrowed(text);
    for _ in 0..READINGS {
        spans = settle(&out, spans);
        if spans.is_empty() {
            break;
        }
        out = Cow::Owned(splice(&out, &spans));
        spans = find(&out);
    }
    out
}

fn splice(text: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut shown = 0;
    for span in spans {
        out.push_str(&text[shown..span.start]);
        out.push_str(REDACTED);
        shown = span.end;
    }
    out.push_str(&text[shown..]);
    out
}

/// Sorts the spans, joins those that meet, and widens one that cuts a [`REDACTED`] already in the text to all of it.
/// Empty spans go, and those that hold nothing but a replacement.
fn settle(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    let mut marks =
        memmem::find_iter(text.as_bytes(), REDACTED).map(|at| (at, at + REDACTED.len())).peekable();
    spans.retain(|span| span.start < span.end);
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    let mut last_mark = None;
    for mut span in spans {
        // The marks that begin before this span ends; only the first and the last of them can stick out of it.
        while let Some(mark) = marks.next_if(|mark| mark.0 < span.end) {
            if mark.1 > span.start {
                span.start = span.start.min(mark.0);
                span.context = span.context.min(mark.0);
                span.end = span.end.max(mark.1);
            }
            last_mark = Some(mark);
        }
        if let Some((from, to)) = last_mark
            && to > span.start
            && from < span.end
        {
            span.start = span.start.min(from);
            span.context = span.context.min(from);
            span.end = span.end.max(to);
        }
        match out.last_mut() {
            Some(before) if span.start <= before.end => {
                before.end = before.end.max(span.end);
                before.context = before.context.min(span.context);
            }
            _ => out.push(span),
        }
    }
    out.retain(|span| &text[span.start..span.end] != REDACTED);
    out
}

/// Cuts to `max_units` UTF-16 units, between characters and never inside a replacement.
fn shorten(text: &str, max_units: usize) -> String {
    let mut end = crate::text::fit(text, max_units).len();
    // A replacement that the cut would go through begins less than its own length before it.
    let from = (0..=end).rev().find(|&at| end - at >= REDACTED.len() || at == 0).unwrap_or(0);
    for at in from..end {
        if text.as_bytes()[at..].starts_with(REDACTED.as_bytes()) && at + REDACTED.len() > end {
            end = at;
            break;
        }
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(text: &str, spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let spans = spans.iter().map(|&(start, end)| Span::new(start, start, end)).collect();
        settle(text, spans).iter().map(|span| (span.start, span.end)).collect()
    }

    #[test]
    fn spans_that_meet_are_one() {
        assert_eq!(settled("abcdefgh", &[(4, 6), (0, 2), (2, 3)]), [(0, 3), (4, 6)]);
        assert_eq!(settled("abcdefgh", &[(0, 8), (2, 3), (5, 5)]), [(0, 8)]);
    }

    #[test]
    fn a_replacement_is_never_cut() {
        assert_eq!(settled("x[REDACTED]y", &[(0, 3)]), [(0, 11)]);
        assert_eq!(settled("x[REDACTED]y", &[(9, 12)]), [(1, 12)]);
        assert_eq!(settled("x[REDACTED]y", &[(2, 5), (6, 8)]), []);
        assert_eq!(shorten("ab[REDACTED]", 11), "ab");
        assert_eq!(shorten("ab[REDACTED]", 12), "ab[REDACTED]");
        assert_eq!(shorten("ab[REDACTED]cd", 13), "ab[REDACTED]c");
    }

    #[test]
    fn units_are_utf16_and_characters_stay_whole() {
        assert_eq!(shorten("a\u{1F600}b", 2), "a");
        assert_eq!(shorten("a\u{1F600}b", 3), "a\u{1F600}");
        assert_eq!(shorten("\u{e9}\u{e9}", 1), "\u{e9}");
        assert_eq!(shorten("ab", 0), "");
    }
}
