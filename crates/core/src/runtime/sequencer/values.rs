//! Values of the harness on their way out.
//!
//! Input: texts and JSON of the harness. Output: the same, redacted and bounded. Invariant: what is cut says so.
//! Never: cuts before it has redacted, so that no cut makes half a secret.

use std::sync::Arc;

use crate::json::{Json, length_exceeds};
use crate::redact::{Redactor, StreamRedactor};
use crate::runtime::semantic::Bounded;
use crate::text::fit;

/// Bytes of a value as JSON.
pub const VALUE_BYTES: usize = 65_536;
/// UTF-16 code units of a message for people.
pub const MESSAGE_UNITS: usize = 4_000;
/// UTF-16 code units of a name: of a tool, of a code, of a signal.
pub const NAME_UNITS: usize = 256;

/// A message for people.
pub(super) fn message(redactor: &Redactor, text: &str) -> String {
    fit(&redactor.text(text), MESSAGE_UNITS).to_owned()
}

/// A name.
pub(super) fn name(redactor: &Redactor, text: &str) -> String {
    fit(&redactor.text(text), NAME_UNITS).to_owned()
}

/// A value: of one that is too large, its beginning where it is text, else nothing.
pub(super) fn bounded(redactor: &Redactor, value: Option<Json>) -> Bounded {
    let Some(mut value) = value else { return Bounded::default() };
    redactor.json(&mut value);
    if !length_exceeds(&value, VALUE_BYTES) {
        return Bounded { value: Some(value), truncated: false };
    }
    // Six bytes are the most that a character takes as an escape.
    let value = value.text().map(|text| Json::Text(fit(text, VALUE_BYTES / 6).to_owned()));
    Bounded { value, truncated: true }
}

/// A value that goes on: of each text only what no continuation can make a secret.
pub(super) fn open(redactor: &Arc<Redactor>, value: Option<Json>) -> Bounded {
    let value = value.map(|mut value| {
        value.for_each_text(&mut |_, text| {
            *text = StreamRedactor::new(Arc::clone(redactor)).push(text);
        });
        value
    });
    bounded(redactor, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_say_so() {
        let redactor = Redactor::default();
        let text = |len| Some(Json::Text("a".repeat(len)));
        assert!(!bounded(&redactor, text(VALUE_BYTES - 2)).truncated);
        let cut = bounded(&redactor, text(VALUE_BYTES - 1));
        assert!(cut.truncated && cut.value.is_some());
        let array = Json::Array(vec![Json::Text("a".repeat(VALUE_BYTES))]);
        assert_eq!(bounded(&redactor, Some(array)), Bounded { value: None, truncated: true });
        assert_eq!(bounded(&redactor, None), Bounded::default());
        assert_eq!(message(&redactor, &"a".repeat(5_000)).len(), MESSAGE_UNITS);
    }

    #[test]
    fn nothing_of_a_key_that_goes_on_is_shown() {
        let redactor = Arc::new(Redactor::new(["zq7-Kx9vW3!"]).unwrap());
        for (given, expected) in [
            ("use zq7-K", "use "),
            ("use zq7-Kx9vW3! now ", "use [REDACTED] now "),
            ("key is sk-abcd", "key is "),
        ] {
            let shown = open(&redactor, Some(Json::Text(given.to_owned())));
            assert_eq!(shown.value, Some(Json::Text(expected.to_owned())), "{given}");
        }
    }
}
