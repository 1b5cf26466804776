//! Redaction of JSON: every text value, by its member's name or by what it says.
//!
//! Input: a JSON value. Output: the same value without secrets, and whether there were any.
//! Invariant: only text values change; names, numbers and structure stay. But a name that holds a registered secret
//! changes too.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{REDACTED, Redactor, is_secret_key, redact_text};
use crate::json::Json;

/// Redacts by the built-in rules: a text is hidden whole where its member's name names a secret.
pub fn redact_json(json: &mut Json) -> bool {
    redact_with(json, redact_text)
}

impl Redactor {
    /// Redacts every text in `json`, as [`redact_json`] does, registered secrets included.
    ///
    /// Registered secrets are hidden in names too, where they are whole. Names that become equal are one, with the value
    /// of the last.
    pub fn json(&self, json: &mut Json) -> bool {
        // By the names as they were.
        let found = redact_with(json, |text| self.text(text));
        self.names(json) || found
    }

    fn names(&self, json: &mut Json) -> bool {
        match json {
            Json::Array(items) => {
                let mut found = false;
                for item in items {
                    found |= self.names(item);
                }
                found
            }
            Json::Object(members) => {
                let mut renamed = false;
                let mut found = false;
                for (name, value) in members.iter_mut() {
                    if let Cow::Owned(redacted) = self.registered(name) {
                        *name = redacted;
                        renamed = true;
                    }
                    found |= self.names(value);
                }
                if renamed {
                    keep_last(members);
                }
                found || renamed
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => false,
        }
    }
}

/// Of members with the same name keeps the first place and the last value, as JSON does.
fn keep_last(members: &mut Vec<(String, Json)>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
    for (name, value) in members.drain(..) {
        if let Some(&place) = places.get(&name) {
            kept[place].1 = value;
        } else {
            places.insert(name.clone(), kept.len());
            kept.push((name, value));
        }
    }
    *members = kept;
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
    use super::{Redactor, redact_json};
    use crate::json;

    #[test]
    fn registered_secrets_are_hidden_in_names() {
        let redactor = Redactor::new(["zq7-Kx9vW3", "caf\u{e9}-\"secret\""]).unwrap();
        for (given, expected) in [
            (r#"{"zq7-Kx9vW3":1}"#, r#"{"[REDACTED]":1}"#),
            (r#"[{"a":{"x zq7-Kx9vW3 y":"b"}}]"#, r#"[{"a":{"x [REDACTED] y":"b"}}]"#),
            (r#"{"caf\u00e9-\"secret\"":1}"#, r#"{"[REDACTED]":1}"#),
            (r#"{"a":0,"zq7-Kx9vW3":1,"b":2,"caf\u00e9-\"secret\"":3}"#, r#"{"a":0,"[REDACTED]":3,"b":2}"#),
            // A name decides as it was, and no rule but registration changes one.
            (r#"{"zq7-Kx9vW3 token":"x"}"#, r#"{"[REDACTED] token":"[REDACTED]"}"#),
            (r#"{"zq7-":1,"sk-abcdefgh0123":2}"#, r#"{"zq7-":1,"sk-abcdefgh0123":2}"#),
        ] {
            let mut value = json::parse(given.as_bytes()).unwrap();
            assert_eq!(redactor.json(&mut value), given != expected);
            assert_eq!(json::write(&value), expected);
            assert!(!redactor.json(&mut value) || given.contains("token"), "again: {given}");
            assert_eq!(json::write(&value), expected);
        }
    }

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
