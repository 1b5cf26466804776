//! Builders and checks that several test binaries share.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod authority;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod cuts;
pub(crate) mod display;
pub(crate) mod hermes;
pub(crate) mod journals;
pub(crate) mod projection;
pub(crate) mod secrets;
pub(crate) mod streams;
pub(crate) mod truth;
pub(crate) mod turn_rules;
pub(crate) mod turns;

use agent_lifecycle_core::contract::{Event, Refusal};
use serde_json::Value;

/// The members of a valid event and their JSON texts.
const VALID: [(&str, &str); 8] = [
    ("schemaVersion", "1"),
    ("eventId", r#""e1""#),
    ("source", r#""s""#),
    ("sourceEpoch", r#""p1""#),
    ("childId", r#""c""#),
    ("lineage", r#"{"rootChildId":"c","attempt":1,"external":false}"#),
    ("kind", r#""heartbeat""#),
    ("observedAt", r#""2026-05-17T22:29:21Z""#),
];

/// The JSON text of a valid heartbeat with some members replaced or added; an empty text leaves a member out.
pub(crate) fn event_text(changes: &[(&str, &str)]) -> String {
    let mut members: Vec<(&str, &str)> = VALID.to_vec();
    for &(name, text) in changes {
        match members.iter_mut().find(|(known, _)| *known == name) {
            Some(member) => member.1 = text,
            None => members.push((name, text)),
        }
    }
    members.retain(|(_, text)| !text.is_empty());
    let members: Vec<String> = members.iter().map(|(name, text)| format!("{name:?}:{text}")).collect();
    format!("{{{}}}", members.join(","))
}

/// What the contract makes of an event: the JSON that it writes, or the code and path of the refusal.
pub(crate) fn normalized(text: &str) -> Result<Value, (String, String)> {
    match Event::from_json(text.as_bytes()) {
        Ok(event) => Ok(serde_json::from_str(&event.to_json()).unwrap()),
        Err(fault) => {
            let Refusal { code, path, message } = fault.into();
            assert!(!message.is_empty());
            Err((code.as_str().to_owned(), path.into_owned()))
        }
    }
}

/// JSON nested `levels` deep: objects with the member `a`, the innermost an empty one.
pub(crate) fn nested(levels: usize) -> String {
    format!("{}{{}}{}", r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1))
}
