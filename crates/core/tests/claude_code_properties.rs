//! Whatever a journal holds: no panic, no event beyond the limits, no second turn at once, the same items every time.

use agent_lifecycle_core::agent::AgentEvent;
use agent_lifecycle_core::agent::event::limits;
use agent_lifecycle_core::json::Json;
use agent_lifecycle_core::providers::Role;
use agent_lifecycle_core::providers::claude_code::{Mapper, read, recognize};
use agent_lifecycle_core::providers::{Mapped, Said};
use agent_lifecycle_core::text::units;
use proptest::prelude::*;

/// Texts that mean something, texts that almost do, and texts of hostile length.
fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "",
        " ",
        "a",
        "b",
        "p1",
        "p2",
        "t1",
        "t2",
        "m1",
        "m2",
        "Agent",
        "Task",
        "Workflow",
        "Bash",
        "AskUserQuestion",
        "text",
        "tool_use",
        "tool_result",
        "end_turn",
        "completed",
        "async_launched",
        "turn_duration",
        "api_error",
        "queued_command",
        "enqueue",
        "<synthetic>",
        "2026-03-01T10:00:00.000Z",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "Stop hook feedback: no",
        "<command-name>/x</command-name>",
        "<command-name>",
        "<local-command-stdout>x",
        "<system-reminder>x",
        "<system-reminder>x</system-reminder>y",
        "<task-notification><task-id>a</task-id><tool-use-id>t1</tool-use-id><status>killed</status></task-notification>",
        "<task-notification><status>",
        "</task-notification><task-notification>",
    ]);
    prop_oneof![
        8 => words.prop_map(str::to_owned),
        1 => any::<String>(),
        1 => (prop::sample::select(vec!["x", "é", "字", "😀", "\0"]), prop::sample::select(vec![256_usize, 257, 513, 1025, 4097])).prop_map(|(c, n)| c.repeat(n)),
    ]
}

fn odd() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        prop::num::f64::NORMAL.prop_map(Json::Number),
        text().prop_map(Json::Text),
        Just(Json::Array(vec![])),
        Just(Json::Object(vec![])),
    ]
}

/// The member `name`, mostly with a value of the right kind, sometimes of another, sometimes absent.
fn member(name: &'static str, right: BoxedStrategy<Json>) -> BoxedStrategy<Option<(String, Json)>> {
    prop_oneof![6 => right.prop_map(Some), 1 => odd().prop_map(Some), 3 => Just(None)]
        .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        .boxed()
}

fn object(members: Vec<BoxedStrategy<Option<(String, Json)>>>) -> BoxedStrategy<Json> {
    members.prop_map(|members| Json::Object(members.into_iter().flatten().collect())).boxed()
}

fn texts() -> BoxedStrategy<Json> {
    text().prop_map(Json::Text).boxed()
}

fn flag() -> BoxedStrategy<Json> {
    any::<bool>().prop_map(Json::Bool).boxed()
}

fn content() -> BoxedStrategy<Json> {
    let input = object(["description", "prompt", "file_path"].map(|name| member(name, texts())).into());
    let mut members: Vec<_> =
        ["type", "type", "text", "id", "name", "tool_use_id"].map(|name| member(name, texts())).into();
    members.extend([member("input", input), member("is_error", flag())]);
    let blocks = prop::collection::vec(object(members), 0..4).prop_map(Json::Array);
    prop_oneof![texts(), blocks].boxed()
}

fn record() -> BoxedStrategy<Json> {
    let kinds =
        ["user", "assistant", "system", "attachment", "queue-operation", "ai-title", "last-prompt", "other"];
    let kind = prop::sample::select(kinds.to_vec()).prop_map(|kind| Json::Text(kind.to_owned())).boxed();
    let message = object(vec![
        member("id", texts()),
        member("model", texts()),
        member("stop_reason", texts()),
        member("content", content()),
        member(
            "usage",
            object(vec![member("input_tokens", odd().boxed()), member("output_tokens", odd().boxed())]),
        ),
    ]);
    let attachment = object(vec![member("type", texts()), member("prompt", content())]);
    let result = object(vec![member("status", texts()), member("agentId", texts())]);
    let mut members = vec![
        member("type", kind),
        member("message", message),
        member("attachment", attachment),
        member("toolUseResult", result),
    ];
    members.extend(
        [
            "sessionId",
            "uuid",
            "parentUuid",
            "promptId",
            "timestamp",
            "version",
            "cwd",
            "gitBranch",
            "subtype",
            "operation",
            "content",
            "aiTitle",
            "lastPrompt",
            "agentId",
        ]
        .map(|name| member(name, texts())),
    );
    members.extend(["isMeta", "isSidechain", "isApiErrorMessage", "isCompactSummary"].map(|name| {
        let mostly_false = prop::bool::weighted(0.2).prop_map(Json::Bool).boxed();
        member(name, mostly_false)
    }));
    object(members)
}

/// Every text of an event has 1 to its limit of units.
fn assert_within_limits(event: &AgentEvent) {
    let Json::Object(members) = event.to_json() else { panic!("an event is an object") };
    for (name, value) in &members {
        let limit = match name.as_str() {
            "turnId" | "toolId" | "waitId" | "subagentId" | "agentId" | "parentAgentId" => limits::ID,
            "title" => limits::TITLE,
            "promptText" | "summary" => limits::TEXT,
            "reason" | "description" => limits::REASON,
            "name" => limits::TOOL_NAME,
            "kind" | "outcome" | "state" => 32,
            "model" => {
                let id = value.text_at("id").unwrap();
                assert!((1..=limits::ID).contains(&units(id)));
                continue;
            }
            other => panic!("unexpected member {other}"),
        };
        let text = value.text().unwrap();
        assert!((1..=limit).contains(&units(text)), "{name}: {} units", units(text));
    }
}

/// At most one turn is open, and only the open one ends.
fn assert_turns_alternate(items: &[Mapped]) {
    let mut open: Option<&str> = None;
    for item in items {
        match &item.said {
            Said::Event(AgentEvent::TurnStarted { turn_id, .. }) => {
                assert_ne!(open, Some(turn_id.as_str()));
                open = Some(turn_id);
            }
            Said::Event(AgentEvent::Done { .. }) => {
                assert!(open.is_some() && open == item.context.turn_id.as_deref());
                open = None;
            }
            _ => {}
        }
    }
}

fn map(role: &Role, lines: &[Vec<u8>]) -> Vec<Mapped> {
    let mut mapper = Mapper::new(role.clone());
    let mut out = Vec::new();
    for (line, offset) in lines.iter().zip(0..) {
        let before = out.len();
        read(line, |record| mapper.record(record, offset, &mut out)).unwrap();
        for (item, index) in out[before..].iter().zip(0..) {
            assert_eq!((item.context.offset, item.context.index), (offset, index));
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_records_keep_the_rules(records in prop::collection::vec(record(), 1..16), is_child in any::<bool>()) {
        let lines: Vec<Vec<u8>> =
            records.iter().map(|record| agent_lifecycle_core::json::write(record).into_bytes()).collect();
        let role = if is_child { Role::Child { agent_id: "a".into() } } else { Role::Root };
        let items = map(&role, &lines);
        for item in &items {
            if let Said::Event(event) = &item.said {
                assert_within_limits(event);
            }
            for id in [&item.context.turn_id, &item.context.uuid].into_iter().flatten() {
                assert!((1..=limits::ID).contains(&units(id)));
            }
        }
        assert_turns_alternate(&items);
        prop_assert_eq!(&items, &map(&role, &lines));
        let _ = recognize(&lines.join(&b'\n'));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, |_| ());
        let _ = recognize(&bytes);
    }
}
