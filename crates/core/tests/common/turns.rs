//! Inputs of a sequencer as JSON in, its events as JSON out, and in short lines for tables.

use agent_lifecycle_core::json;
use agent_lifecycle_core::runtime::sequencer::input::Input;
use agent_lifecycle_core::runtime::sequencer::{Sequencer, Session};
use serde_json::{Value, json};

/// The time of inputs that give none.
pub(crate) const AT: &str = "2026-05-17T12:00:00Z";

/// A sequencer for tests.
pub(crate) struct Turns(pub(crate) Sequencer);

impl Turns {
    /// For a harness that names its turns.
    pub(crate) fn named() -> Self {
        Self::new(true, &[])
    }

    /// For one that does not.
    pub(crate) fn nameless() -> Self {
        Self::new(false, &[])
    }

    pub(crate) fn new(names_turns: bool, secrets: &[&str]) -> Self {
        let session = Session { product_session_id: "ps_1".to_owned(), generation: 3, names_turns };
        let secrets = secrets.iter().map(|&secret| secret.to_owned()).collect();
        Self(Sequencer::new(session, secrets).expect("the secrets are long enough"))
    }

    /// What one input makes.
    pub(crate) fn push(&mut self, mut input: Value) -> Vec<Value> {
        if input.get("at").is_none() {
            input["at"] = json!(AT);
        }
        let input = Input::parse(&input.to_string()).unwrap_or_else(|fault| panic!("{input}: {fault:?}"));
        let events = self.0.push(input);
        serde_json::from_str(&json::write(&events)).expect("events are JSON")
    }

    /// What several inputs make, each event as a line.
    pub(crate) fn say(&mut self, inputs: impl IntoIterator<Item = Value>) -> Vec<String> {
        inputs.into_iter().flat_map(|input| self.push(input)).map(|event| line(&event)).collect()
    }

    /// Whatever is counted and not 0: `reason count`.
    pub(crate) fn drops(&self) -> Vec<String> {
        let stats: Value = serde_json::from_str(&json::write(&self.0.stats())).expect("stats are JSON");
        let counts = stats["dropped"].as_object().expect("counts by reason");
        let counts = counts.iter().filter(|(_, count)| **count != json!(0));
        counts.map(|(reason, count)| format!("{reason} {count}")).collect()
    }

    pub(crate) fn stats(&self) -> Value {
        serde_json::from_str(&json::write(&self.0.stats())).expect("stats are JSON")
    }
}

/// An event as a line: its kind, its turn, and its other members by name.
pub(crate) fn line(event: &Value) -> String {
    let members = event.as_object().expect("an event is an object");
    let known = ["kind", "productSessionId", "generation", "sequence", "at", "turnId"];
    let mut line = members["kind"].as_str().expect("a kind").to_owned();
    line.extend(members.get("turnId").map(|turn| format!(" {}", turn.as_str().unwrap_or_default())));
    let mut rest: Vec<_> = members.iter().filter(|(name, _)| !known.contains(&name.as_str())).collect();
    rest.sort_by_key(|(name, _)| name.as_str());
    for (name, value) in rest {
        line = match value {
            Value::Bool(true) => format!("{line} {name}"),
            Value::String(text) => format!("{line} {name}={text}"),
            value => format!("{line} {name}={value}"),
        };
    }
    line
}

pub(crate) fn begin(turn: &str) -> Value {
    json!({"input": "begin", "turnId": turn})
}

pub(crate) fn accepted(turn: &str) -> Value {
    json!({"input": "accepted", "turnId": turn})
}

/// Accepted under the name `native-<turn>`.
pub(crate) fn accepted_as(turn: &str) -> Value {
    json!({"input": "accepted", "turnId": turn, "nativeTurnId": format!("native-{turn}")})
}

/// An observation; `more` has its kind and members.
pub(crate) fn seen(more: impl Into<Value>) -> Value {
    let mut input = more.into();
    input["input"] = json!("observation");
    input
}

/// An observation of the turn `native-<turn>`.
pub(crate) fn seen_of(turn: &str, more: impl Into<Value>) -> Value {
    let mut input = seen(more);
    input["nativeTurnId"] = json!(format!("native-{turn}"));
    input
}

pub(crate) fn delta(item: Option<&str>, text: &str) -> Value {
    let mut more = json!({"kind": "assistant", "text": {"delta": text}});
    if let Some(item) = item {
        more["nativeItemId"] = json!(item);
    }
    more
}

pub(crate) fn terminal(status: &str) -> Value {
    json!({"input": "terminal", "status": status})
}

pub(crate) fn terminal_of(turn: &str, status: &str) -> Value {
    json!({"input": "terminal", "status": status, "nativeTurnId": format!("native-{turn}")})
}

pub(crate) fn approval(id: &str, turn: &str) -> Value {
    json!({"input": "requestOpened", "approval": {"requestId": id, "turnId": turn, "kind": "command", "decisions": []}})
}

pub(crate) fn resolved(id: &str, outcome: &str) -> Value {
    json!({"input": "requestResolved", "requestId": id, "outcome": outcome})
}
