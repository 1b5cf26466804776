//! The pieces of a turn: messages, reasoning, calls, compactions and requests, by the rules of docs/turns.md.

mod common;

use agent_lifecycle_core::runtime::sequencer::pieces::PIECES;
use agent_lifecycle_core::runtime::sequencer::text::TEXT_BYTES;
use agent_lifecycle_core::runtime::sequencer::turn::{REQUESTS, SCOPES};
use common::turns::{Turns, accepted, approval, begin, delta, resolved, seen, terminal};
use serde_json::{Value, json};

/// A nameless harness in a turn `t1`.
fn in_turn() -> Turns {
    let mut turns = Turns::nameless();
    assert_eq!(turns.say([begin("t1"), accepted("t1")]), ["turn_started t1"]);
    turns
}

fn tool(kind: &str, item: &str) -> Value {
    seen(json!({"kind": kind, "nativeItemId": item, "toolName": "Bash"}))
}

const DONE: &str = "turn_completed t1 confirmed status=completed";

#[test]
fn repeats_are_known_by_native_identity_or_cumulative_text_only() {
    let cumulative =
        |text: &str| seen(json!({"kind": "assistant", "nativeItemId": "m", "text": {"cumulative": text}}));
    let mut turns = in_turn();
    assert_eq!(
        turns.say([cumulative("one "), cumulative("one "), cumulative("one two "), cumulative("one ")]),
        ["assistant_delta t1 contentIndex=0 text=one ", "assistant_delta t1 contentIndex=0 text=two "]
    );
    assert_eq!(turns.say([cumulative("won two three")]), [""; 0]);
    assert_eq!(turns.drops(), ["diverged 1", "repeat 2"]);
    // Deltas that are equal are two, unless they have the same id.
    let named = |id: u32| seen(json!({"kind": "assistant", "nativeEventId": id, "text": {"delta": "ha "}}));
    let mut turns = in_turn();
    let ha = "assistant_delta t1 contentIndex=0 text=ha ";
    assert_eq!(
        turns.say([seen(delta(None, "ha ")), seen(delta(None, "ha ")), named(1), named(1), named(2)]),
        [ha; 4]
    );
    assert_eq!(turns.drops(), ["repeat 1"]);
    // A tool that has ended has ended, and so has a message; without an id nobody can tell.
    let mut turns = in_turn();
    let finish = json!({"kind": "tool_finished", "nativeItemId": "c"});
    turns.say([
        tool("tool_call", "c"),
        tool("tool_call", "c"),
        tool("tool_started", "c"),
        tool("tool_started", "c"),
    ]);
    turns.say([seen(finish.clone()), seen(finish), tool("tool_started", "c"), tool("tool_updated", "c")]);
    turns.say([seen(
        json!({"kind": "assistant", "nativeItemId": "m", "text": {"cumulative": "x"}, "done": true}),
    )]);
    turns.say([
        seen(delta(Some("m"), "y")),
        seen(json!({"kind": "assistant", "nativeItemId": "m", "done": true})),
    ]);
    assert_eq!(turns.drops(), ["after_end 3", "repeat 4"]);
    let anonymous = || seen(json!({"kind": "tool_finished", "toolName": "Bash"}));
    assert_eq!(turns.say([anonymous(), anonymous()]).len(), 6);
}

#[test]
fn a_missing_start_is_inserted_and_says_so() {
    let mut turns = in_turn();
    assert_eq!(
        turns.say([
            seen(json!({"kind": "tool_finished", "nativeItemId": 7, "isError": true, "result": "no"})),
            seen(json!({"kind": "tool_started", "nativeItemId": "7", "toolName": "Read"})),
            seen(json!({"kind": "compaction_finished"})),
        ]),
        [
            "tool_call t1 argsComplete=false inferred toolCallId=tool-3-1 toolName=unknown",
            "tool_execution_started t1 inferred toolCallId=tool-3-1 toolName=unknown",
            "tool_execution_finished t1 isError result=no toolCallId=tool-3-1 toolName=unknown",
            "tool_call t1 argsComplete=false inferred toolCallId=tool-3-2 toolName=Read",
            "tool_execution_started t1 toolCallId=tool-3-2 toolName=Read",
            "compaction_start t1 inferred",
            "compaction_end t1",
        ]
    );
    // A call that comes after its start is late: its place is before it.
    assert_eq!(
        turns.say([seen(json!({"kind": "tool_call", "nativeItemId": "7", "toolName": "Read", "args": 1}))]),
        [""; 0]
    );
    assert_eq!(turns.drops(), ["late 1"]);
}

#[test]
fn content_indexes_are_by_first_sight_and_scopes_apart() {
    let of = |scope: Option<&str>, text: &str| {
        let mut more = delta(Some("i"), text);
        if let Some(scope) = scope {
            more["scope"] = json!(scope);
        }
        seen(more)
    };
    let mut turns = in_turn();
    assert_eq!(
        turns.say([
            of(Some("sub"), "a "),
            of(None, "b "),
            of(Some("other"), "c "),
            of(Some("sub"), "d "),
            of(None, "e ")
        ]),
        [
            "assistant_delta t1 contentIndex=0 scope=scope-1 text=a ",
            "assistant_delta t1 contentIndex=1 text=b ",
            "assistant_delta t1 contentIndex=2 scope=scope-2 text=c ",
            "assistant_delta t1 contentIndex=0 scope=scope-1 text=d ",
            "assistant_delta t1 contentIndex=1 text=e ",
        ]
    );
    for at in 2..=SCOPES {
        turns.push(of(Some(&format!("more-{at}")), "x "));
    }
    assert_eq!(turns.drops(), ["too_many 1"]);
}

#[test]
fn a_message_that_was_revised_is_what_counts() {
    let end = |text: &str| seen(json!({"kind": "assistant", "text": {"cumulative": text}, "done": true}));
    let mut turns = in_turn();
    assert_eq!(
        turns.say([seen(delta(None, "a draft ")), end("the text")]),
        [
            "assistant_delta t1 contentIndex=0 text=a draft ",
            "assistant_message t1 contentIndex=0 text=the text"
        ]
    );
    assert_eq!(turns.say([end("whole")]), ["assistant_message t1 contentIndex=1 text=whole"]);
}

#[test]
fn a_text_that_is_longer_than_what_is_kept_is_cut_and_says_so() {
    let mut turns = in_turn();
    let piece = "word ".repeat(20_000);
    let deltas = TEXT_BYTES / piece.len() + 1;
    let said: Vec<Value> = (0..deltas).flat_map(|_| turns.push(seen(delta(None, &piece)))).collect();
    assert_eq!(said.len(), deltas);
    let message = &turns.push(seen(json!({"kind": "assistant", "done": true})))[0];
    assert_eq!(message["truncated"], json!(true));
    assert_eq!(message["text"].as_str().map(str::len), Some(TEXT_BYTES));
    // What one message took is free again.
    let next = turns.push(seen(json!({"kind": "assistant", "text": {"delta": "short"}, "done": true})));
    assert_eq!(
        next.last().map(|event| (event["text"].clone(), event.get("truncated").is_none())),
        Some((json!("short"), true))
    );
    let long = turns.push(seen(
        json!({"kind": "assistant", "text": {"cumulative": "é".repeat(TEXT_BYTES)}, "done": true}),
    ));
    assert_eq!(long[0]["text"].as_str().map(str::len), Some(TEXT_BYTES));
    assert_eq!(long[0]["truncated"], json!(true));
}

#[test]
fn more_pieces_and_requests_than_there_may_be_are_dropped() {
    let mut turns = in_turn();
    for at in 0..PIECES {
        assert_eq!(turns.push(seen(json!({"kind": "tool_finished", "nativeItemId": at}))).len(), 3);
    }
    assert_eq!(turns.say([tool("tool_started", "one more")]), [""; 0]);
    assert_eq!(turns.drops(), ["too_many 1"]);
    let mut turns = in_turn();
    for at in 0..REQUESTS {
        assert_eq!(turns.push(approval(&format!("r{at}"), "t1")).len(), 1);
    }
    assert_eq!(
        turns.say([approval("r0", "t1"), approval("more", "t1"), resolved("more", "cleared")]),
        [""; 0]
    );
    assert_eq!(turns.drops(), ["not_open 1", "repeat 1", "too_many 1"]);
}

#[test]
fn requests_have_a_turn_or_none() {
    let mut turns = Turns::nameless();
    let question = json!({"input": "requestOpened", "userInput": {"requestId": "q", "questions": [{"id": "n", "question": "Who?"}]}});
    let opened =
        r#"user_input_requested request={"questions":[{"id":"n","question":"Who?"}],"requestId":"q"}"#;
    assert_eq!(turns.say([question]), [opened]);
    // It outlives turns; a request that waits for its turn is told with it.
    turns.say([begin("t1"), approval("a", "t1"), resolved("a", "responded")]);
    assert_eq!(turns.stats()["waiting"], json!(2));
    assert_eq!(
        turns.say([accepted("t1"), terminal("completed")]),
        [
            "turn_started t1",
            r#"approval_requested t1 request={"decisions":[],"kind":"command","requestId":"a","turnId":"t1"}"#,
            "approval_resolved t1 outcome=responded requestId=a",
            DONE,
        ]
    );
    let answer =
        json!({"input": "requestResolved", "requestId": "q", "outcome": "responded", "answered": ["n"]});
    assert_eq!(turns.say([answer]), [r#"user_input_resolved answered=["n"] outcome=responded requestId=q"#]);
    assert_eq!(turns.say([approval("b", "t1"), approval("c", "t7")]), [""; 0]);
    assert_eq!(turns.drops(), ["late 1", "no_turn 1"]);
    // What is open outside of turns ends with the process.
    turns.push(
        json!({"input": "requestOpened", "approval": {"requestId": "d", "kind": "unknown", "decisions": []}}),
    );
    assert_eq!(
        turns.say([json!({"input": "exit"}), json!({"input": "exit"})]),
        ["approval_resolved outcome=cleared requestId=d", "adapter_lifecycle state=crashed"]
    );
}
