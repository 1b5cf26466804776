//! Foreign text as part of a display.
//!
//! Input: text that anybody may have written. Output: text on one line, without secrets, of a bounded width.
//! Invariant: what is shown cannot move a cursor, hide or reorder text. Never: panics, cuts inside a character.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::redact::redact_text;
use crate::text::fit;

/// UTF-16 code units that a text may have for each of its columns: marks without a width are bounded too.
const UNITS_OF_A_COLUMN: usize = 4;

/// `text` for a display: secrets replaced, made inert, cut to `columns`.
#[must_use]
pub(super) fn safe(text: &str, columns: usize) -> String {
    // Twice: what an invisible character cut in two is a secret only after that is gone.
    let text = inert(&redact_text(text));
    let text = redact_text(&text);
    let bounded = fit(&text, columns * UNITS_OF_A_COLUMN);
    if bounded.len() == text.len() { cut(&text, columns) } else { cut(&format!("{bounded}…"), columns) }
}

/// How many there are of something: `1 child`, `3 children`.
#[must_use]
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `text` on one line without anything that moves a cursor, hides or reorders text.
#[must_use]
pub fn inert(text: &str) -> String {
    let visible = |c: char| match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => Some(' '),
        _ if c.is_control() => None,
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{61c}'
        | '\u{ad}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => None,
        _ => Some(c),
    };
    text.chars().filter_map(visible).collect()
}

/// The beginning of `text` that fits `columns`, with `…` where something was cut off.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut width = 0;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width + 1 > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// A span of time in its two largest fitting words: `4 s`, `3 min`, `5 h`, `12 d`.
#[must_use]
pub fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
