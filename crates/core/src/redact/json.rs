//! Redaction of JSON: every text value, by its member's name or by what it says.
//!
//! Input: a JSON value. Output: the same value without secrets, and whether there were any.
//! Invariant: only text values change; names, numbers and structure stay.

use std::borrow::Cow;

use super::{REDACTED, Redactor, is_secret_key, redact_text};
use crate::json::Json;

/// Redacts by the built-in rules: a text is hidden whole where its member's name names a secret.
pub fn redact_json(json: &mut Json) -> bool {
    redact_with(json, redact_text)
}

impl Redactor {
    /// Redacts every text in `json`, as [`redact_json`] does, registered secrets included.
    pub fn json(&self, json: &mut Json) -> bool {
        redact_with(json, |text| self.text(text))
    }
}

fn redact_with(json: &mut Json, redact: impl Fn(&str) -> Cow<'_, str>) -> bool {
    let mut found = false;
    json.for_each_text(&mut |key, text| {
        if key.is_some_and(is_secret_key) {
            REDACTED.clone_into(text);
            found = true;
        } else if let Cow::Owned(redacted) = redact(text) {
            *text = redacted;
            found = true;
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::redact_json;
    use crate::json;

    #[test]
    fn names_and_texts_decide_and_only_texts_change() {
        for (given, expected) in [
            (r#"{"apiKey":"abc","n":1}"#, r#"{"apiKey":"[REDACTED]","n":1}"#),
            // Only texts: a count stays a count.
            (r#"{"token":5,"password":null}"#, r#"{"token":5,"password":null}"#),
            (r#"{"cookies":["a=b","c=d"]}"#, r#"{"cookies":["[REDACTED]","[REDACTED]"]}"#),
            (r#"{"credentials":{"user":"ann"}}"#, r#"{"credentials":{"user":"ann"}}"#),
            (r#"{"log":["password=hunter2 now"]}"#, r#"{"log":["password=[REDACTED] now"]}"#),
            (r#"{"maxTokens":"9"}"#, r#"{"maxTokens":"9"}"#),
        ] {
            let mut value = json::parse(given.as_bytes()).unwrap();
            assert_eq!(redact_json(&mut value), given != expected);
            assert_eq!(json::write(&value), expected);
        }
    }
}
