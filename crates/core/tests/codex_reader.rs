//! Codex rollouts: whose they are, what is counted of them, and that they do not grow their reader.

mod common;

use agent_lifecycle_core::providers::{Line, Recognized, RecordFault, Role, Told, native_id, recognize};
use common::codex::*;
use serde_json::{Value, json};

#[test]
fn unknown_records_are_counted_and_odd_members_are_absent() {
    let mut reader = reader(META, Told::default());
    let unknown = [
        json!({"type": "event_msg", "payload": {"type": "brand_new"}}),
        json!({"type": "event_msg", "payload": {}}),
        json!({"type": "brand_new", "payload": {"type": "task_started", "turn_id": "x"}}),
        json!({"type": "task_started", "turn_id": "x"}),
        json!({"type": 7}),
        json!({}),
    ];
    let odd = [
        json!({"type": "event_msg", "payload": {"type": "task_started", "turn_id": {"a": 1}, "started_at": "soon", "item": 3}}),
        json!({"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": [1], "last_token_usage": {"input_tokens": -4}}}}),
        json!({"type": "response_item", "payload": {"type": "function_call", "name": 9, "call_id": "c", "content": {"a": [1]}}}),
        json!({"type": "world_state", "payload": {"anything": 1}}),
        json!({"type": "compacted", "payload": {"message": ["x"]}}),
    ];
    let mut kinds = Vec::new();
    for line in unknown.iter().chain(&odd) {
        let line = line.to_string();
        let Line::Read { record, .. } = reader.read(line.as_bytes(), 0, &|_| false, &mut Vec::new()).unwrap()
        else {
            panic!("{line}")
        };
        kinds.push(record);
    }
    assert_eq!(kinds[..6], ["other"; 6]);
    assert_eq!(
        kinds[6..],
        [
            "event_msg/task_started",
            "event_msg/token_count",
            "response_item/function_call",
            "world_state",
            "compacted"
        ]
    );
    assert_eq!((reader.owners()[0].records, reader.owners()[0].unknown_records), (11, 6));
    for (line, fault) in [("[1]", RecordFault::NotAnObject), ("3", RecordFault::NotAnObject)] {
        assert_eq!(reader.read(line.as_bytes(), 0, &|_| false, &mut Vec::new()), Err(fault));
    }
    assert!(matches!(reader.read(b"{", 0, &|_| false, &mut Vec::new()), Err(RecordFault::Json(_))));
}

#[test]
fn whose_journal_it_is() {
    let of =
        |head: &str| recognize(head.as_bytes()).map(|(provider, recognized)| (provider.name(), recognized));
    let root =
        |id: &str| Some(("codex", Recognized { session_id: id.to_owned(), role: Role::Root, parent: None }));
    let child = |session: &str, id: &str, parent: &str| {
        let role = Role::Child { agent_id: id.to_owned() };
        Some(("codex", Recognized { session_id: session.to_owned(), role, parent: Some(parent.to_owned()) }))
    };
    let meta = |payload: Value| json!({"ordinal": 1, "type": "session_meta", "payload": payload}).to_string();
    for (head, expected) in [
        (META.to_owned(), root("s")),
        (format!("\u{feff}\r\n\n{META}\r\n"), root("s")),
        (format!("{META}\n{}", meta(json!({"id": "other"}))), root("s")),
        (meta(json!({"id": "s", "source": "cli", "session_id": "s"})), root("s")),
        (meta(json!({"id": "s", "source": {"subagent": "review"}})), root("s")),
        (meta(json!({"id": "f", "forked_from_id": "s"})), root("f")),
        (
            meta(
                json!({"id": "c", "session_id": "r", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}),
            ),
            child("r", "c", "p"),
        ),
        (
            meta(json!({"id": "c", "parent_thread_id": "p", "thread_source": "subagent"})),
            child("p", "c", "p"),
        ),
        (meta(json!({"id": "c", "session_id": "r", "thread_source": "subagent"})), child("r", "c", "r")),
        (r#"{"id":"o","timestamp":"2025-05-01T10:00:00Z","git":{}}"#.to_owned(), root("o")),
        (meta(json!({"id": " "})), None),
        (meta(json!({"id": 3})), None),
        (r#"{"id":"o","timestamp":"2025-05-01T10:00:00Z"}"#.to_owned(), None),
        (r#"{"id":"o","git":{}}"#.to_owned(), None),
        // Not the first record: it could be a copy of another thread's.
        (format!("{}\n{META}", start("t")), None),
        (format!("{{\"type\n{META}"), None),
        (start("t"), None),
        (String::new(), None),
        (r#"{"type":"user","sessionId":"s"}"#.to_owned(), None),
    ] {
        assert_eq!(of(&head), expected, "{head}");
    }
    let long = "x".repeat(300);
    assert_eq!(of(&meta(json!({"id": long}))), root(&native_id(&long).unwrap()));
}

/// No line is long, so what a reader keeps shows in the process.
#[global_allocator]
static PEAK: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

#[test]
fn hostile_journals_do_not_grow_the_reader() {
    let mut reader = reader(META, Told::default());
    let mut out = Vec::new();
    let mut read = |from: u64| {
        for n in from..from + 20_000 {
            let id = format!("{n}-{}", "x".repeat(200));
            let approval = event(
                "exec_approval_request",
                json!({"call_id": format!("a{id}"), "turn_id": format!("u{id}")}),
            );
            let child = event("sub_agent_activity", json!({"kind": "started", "agent_thread_id": id}));
            for line in
                [start(&id), call(&id), output(&format!("o{id}")), approval, child, done(&format!("d{id}"))]
            {
                reader.read(line.as_bytes(), 0, &|_| false, &mut out).unwrap();
                out.clear();
            }
        }
        PEAK.current_usage()
    };
    let early = read(0);
    let late = read(20_000);
    assert!(late < early + 512 * 1024, "{early} bytes, then {late}");
}
