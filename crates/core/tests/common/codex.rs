//! Codex rollouts written by hand.

use agent_lifecycle_core::providers::codex::Codex;
use agent_lifecycle_core::providers::{Mapped, Provider, Reader, Told};
use serde_json::{Value, json};

use super::claude::short;

pub(crate) const META: &str = r#"{"timestamp":"2026-03-02T08:00:00.500Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-03-02T08:00:00.500Z"}}"#;
/// The second of [`META`].
pub(crate) const SECOND: u64 = 1_772_438_400;

pub(crate) fn event(kind: &str, mut payload: Value) -> String {
    payload["type"] = kind.into();
    json!({"type": "event_msg", "payload": payload}).to_string()
}

pub(crate) fn item(kind: &str, mut payload: Value) -> String {
    payload["type"] = kind.into();
    json!({"type": "response_item", "payload": payload}).to_string()
}

pub(crate) fn start(turn: &str) -> String {
    event("task_started", json!({"turn_id": turn, "started_at": SECOND + 1}))
}

pub(crate) fn done(turn: &str) -> String {
    event("task_complete", json!({"turn_id": turn}))
}

pub(crate) fn call(id: &str) -> String {
    item("function_call", json!({"name": "exec_command", "call_id": id, "arguments": "{}"}))
}

pub(crate) fn output(id: &str) -> String {
    item("function_call_output", json!({"call_id": id, "output": "Process exited with code 0"}))
}

pub(crate) fn prompt(text: &str) -> String {
    event("user_message", json!({"message": text}))
}

pub(crate) fn child_meta() -> String {
    json!({"type": "session_meta", "payload": {"id": "c", "timestamp": "2026-03-02T08:00:00.500Z",
        "source": {"subagent": {"thread_spawn": {"parent_thread_id": "s", "agent_nickname": "Gull"}}}}})
    .to_string()
}

pub(crate) fn reader(first: &str, told: Told) -> Box<dyn Reader> {
    Codex.reader(&Codex.recognize(first.as_bytes()).unwrap(), told)
}

pub(crate) fn feed(reader: &mut dyn Reader, lines: &[String]) -> Vec<Mapped> {
    let (mut out, mut offset) = (Vec::new(), 0);
    for line in lines {
        reader.read(line.as_bytes(), offset, &|_| false, &mut out).unwrap();
        offset += line.len() as u64 + 1;
    }
    out
}

/// What `lines` give after `first`.
pub(crate) fn items_after(first: &str, lines: &[String]) -> Vec<String> {
    let all: Vec<String> = [first.to_owned()].into_iter().chain(lines.iter().cloned()).collect();
    let items: Vec<String> = feed(&mut *reader(first, Told::default()), &all).iter().map(short).collect();
    let start = items.iter().position(|item| item == "session" || item.starts_with("launch")).unwrap();
    items[start + 1..].to_vec()
}

#[track_caller]
pub(crate) fn check(lines: &[String], expected: &[&str]) {
    assert_eq!(items_after(META, lines), expected);
}
