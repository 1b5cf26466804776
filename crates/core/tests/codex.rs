//! Codex rollouts: each kind of record, alone and with its neighbours, to the items that it must give.

mod common;

use agent_lifecycle_core::providers::codex::Codex;
use agent_lifecycle_core::providers::{Provider, Recognized, Role, Told};
use common::claude::short;
use common::codex::*;
use serde_json::{Value, json};

#[test]
fn turns() {
    check(&[start("t"), done("t")], &["turn t @t", "done success @t"]);
    check(
        &[
            event("turn_started", json!({"turn_id": "t"})),
            event("turn_complete", json!({"turn_id": "t", "last_agent_message": "Fine."})),
        ],
        &["turn t @t", "done success \"Fine.\" @t"],
    );
    // S6.
    let abort = |turn: &str| event("turn_aborted", json!({"turn_id": turn, "reason": "interrupted"}));
    check(
        &[start("t1"), abort("t1"), start("t2")],
        &["turn t1 @t1", "done cancelled \"interrupted\" @t1", "turn t2 @t2"],
    );
    check(
        &[start("t1"), start("t2"), abort("t1"), call("c"), done("t2"), done("t1")],
        &[
            "turn t1 @t1",
            "turn t2 @t2",
            "done cancelled \"interrupted\" @t1",
            "tool c exec_command @t2",
            "done success @t2",
        ],
    );
    // A start and an end count once; an end without a start had one.
    check(&[start("t"), start("t"), done("t"), done("t")], &["turn t @t", "activity @t", "done success @t"]);
    check(&[done("t")], &["turn t @t", "done success @t"]);
    // Without ids they are counted.
    check(
        &[event("task_started", json!({})), event("task_complete", json!({}))],
        &["turn task:1 @task:1", "done success @task:1"],
    );
    check(&[event("task_complete", json!({})), event("turn_aborted", json!({}))], &[]);
    // An error ends the turn, and what follows is no success.
    let error = event("error", json!({"message": "too busy"}));
    check(&[start("t"), error.clone(), done("t")], &["turn t @t", "done error \"too busy\" @t"]);
    check(&[error], &[]);
}

#[test]
fn d3_a_lone_surrogate_ends_the_turn_all_the_same() {
    let line = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"ok \ud83d"}}"#;
    check(&[start("t"), line.to_owned()], &["turn t @t", "done success \"ok \u{fffd}\" @t"]);
}

#[test]
fn prompts() {
    check(
        &[start("t"), prompt("Go."), prompt("Faster."), done("t"), prompt("Hm.")],
        &["turn t @t", "prompt \"Go.\" @t", "activity @t", "done success @t"],
    );
    let completed = |kind: &str| {
        let content = json!([{"type": "image"}, {"type": "text", "text": "Go."}]);
        event("item_completed", json!({"item": {"type": kind, "content": content}, "turn_id": "t"}))
    };
    check(
        &[start("t"), completed("AgentMessage"), completed("UserMessage")],
        &["turn t @t", "activity @t", "prompt \"Go.\" @t"],
    );
    // A version that marks no starts: work on a prompt starts a turn, and the end that names none is its end.
    check(
        &[
            prompt("Go."),
            call("c"),
            event("turn_aborted", json!({})),
            prompt("Again."),
            prompt("More."),
            call("d"),
        ],
        &[
            "activity",
            "turn user:1 \"Go.\" @user:1",
            "tool c exec_command @user:1",
            "done cancelled @user:1",
            "activity",
            "activity",
            "turn user:2 \"Again.\" @user:2",
            "tool d exec_command @user:2",
        ],
    );
    // One that records starts, and the prompt before the first: no turn of its own.
    check(
        &[prompt("Go."), start("t"), prompt("Faster."), done("t")],
        &["activity", "turn t \"Go.\" @t", "activity @t", "done success @t"],
    );
}

#[test]
fn tools_and_their_outcomes() {
    let end = |kind: &str, rest: Value| {
        let mut payload = rest;
        payload["call_id"] = "c".into();
        event(kind, payload)
    };
    for (record, outcome) in [
        (end("exec_command_end", json!({"exit_code": 0})), "success"),
        (end("exec_command_end", json!({"exit_code": 0, "status": "declined"})), "cancelled"),
        (end("exec_command_end", json!({"exit_code": 2, "status": "completed"})), "error"),
        (end("exec_command_end", json!({"status": "failed"})), "error"),
        (end("exec_command_end", json!({"exit_code": "0"})), "-"),
        (end("patch_apply_end", json!({"success": true})), "success"),
        (end("patch_apply_end", json!({"success": false, "status": "completed"})), "error"),
        (end("mcp_tool_call_end", json!({"result": {"Ok": {"content": []}}})), "success"),
        (end("mcp_tool_call_end", json!({"result": {"Ok": {"isError": true}}})), "error"),
        (end("mcp_tool_call_end", json!({"result": {"Err": "no server"}})), "error"),
        (end("mcp_tool_call_end", json!({"result": "odd"})), "-"),
        (output("c"), "-"),
        (item("custom_tool_call_output", json!({"call_id": "c"})), "-"),
    ] {
        let finished = format!("finished c {outcome}");
        let named = ["tool c exec_command", &finished];
        check(&[call("c"), record.clone(), output("c"), record.clone()], &named);
        // The end before the call; a later output takes no outcome away.
        check(&[record, output("c"), call("c"), call("c")], &named);
    }
    check(
        &[
            item("custom_tool_call", json!({"call_id": "p", "name": "apply_patch", "status": "completed"})),
            item("local_shell_call", json!({"id": "l", "status": "completed"})),
            item("function_call", json!({"name": "spawn_agent"})),
            output("unknown"),
        ],
        &["tool p apply_patch", "tool l local_shell_call"],
    );
}

#[test]
fn approvals_end_with_their_own_call_or_turn() {
    let ask = |kind: &str, rest: Value| event(kind, rest);
    let of = |call: &str| json!({"call_id": call, "turn_id": "t"});
    check(
        &[
            start("t"),
            ask("exec_approval_request", of("a")),
            ask("apply_patch_approval_request", of("b")),
            ask("request_permissions", of("c")),
            ask("request_user_input", of("d")),
            ask("exec_approval_request", of("a")),
            output("other"),
            event("exec_command_begin", json!({"call_id": "a"})),
            event("patch_apply_end", json!({"call_id": "b", "success": true})),
            output("d"),
            done("t"),
            output("c"),
        ],
        &[
            "turn t @t",
            "wait a \"permission\" @t",
            "wait b \"permission\" @t",
            "wait c \"permission\" @t",
            "wait d \"question\" @t",
            "activity @t",
            "activity @t",
            "waited a @t",
            "waited b @t",
            "waited d @t",
            "done success @t",
        ],
    );
    // The ids of a server begin at 0 in each turn (A1), and its own call ends what it asked.
    let elicit = |id: u64| event("elicitation_request", json!({"server_name": "tides", "id": id}));
    let server = |name: &str| {
        event("mcp_tool_call_end", json!({"call_id": "m", "invocation": {"server": name, "tool": "x"}}))
    };
    check(
        &[start("t"), elicit(0), start("u"), elicit(0), server("moons"), server("tides")],
        &[
            "turn t @t",
            "wait t/0 \"question\" @t",
            "turn u @u",
            "wait u/0 \"question\" @u",
            "activity @u",
            "waited t/0 @u",
            "waited u/0 @u",
        ],
    );
}

fn tokens(total: Option<[u64; 3]>, last: [u64; 3]) -> String {
    let counts = |[input, cached, output]: [u64; 3]| json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": input + output});
    let info = json!({"total_token_usage": total.map(counts), "last_token_usage": counts(last), "model_context_window": 1000});
    event("token_count", json!({"info": info}))
}

#[test]
fn tokens_count_once() {
    let usage = |items: Vec<String>| -> Vec<String> {
        items.into_iter().filter_map(|item| Some(item.strip_prefix("facts ")?.to_owned())).collect()
    };
    let lines = [
        start("t"),
        event("token_count", json!({"info": null})),
        tokens(Some([100, 40, 5]), [100, 40, 5]),
        tokens(Some([100, 40, 5]), [100, 40, 5]),
        tokens(Some([250, 90, 15]), [150, 50, 10]),
        // The total went back, as after a restart: it counts on from what was.
        tokens(Some([30, 0, 1]), [30, 0, 1]),
        tokens(None, [7, 0, 1]),
    ];
    assert_eq!(
        usage(items_after(META, &lines)),
        [
            "\"total:0 60/40/5\" context 105/1000 @t",
            "\"total:0 160/90/15\" context 160/1000 @t",
            "\"total:0 190/90/16\" context 31/1000 @t",
            "\"total:0 197/90/17\" context 8/1000 @t",
        ]
    );
    // A new life counts its own.
    let lines = [
        start("t"),
        tokens(Some([100, 0, 5]), [100, 0, 5]),
        done("t"),
        start("u"),
        tokens(Some([150, 0, 6]), [50, 0, 1]),
    ];
    assert_eq!(
        usage(items_after(META, &lines)),
        ["\"total:0 100/0/5\" context 105/1000 @t", "\"total:1 50/0/1\" context 51/1000 @u"]
    );
}

#[test]
fn sub_agents_in_their_parents_journal() {
    let activity = |kind: &str| {
        event("sub_agent_activity", json!({"kind": kind, "agent_thread_id": "k", "agent_path": "/root/k"}))
    };
    let item = |kind: &str| {
        event(
            "item_completed",
            json!({"item": {"type": "SubAgentActivity", "kind": kind, "agent_thread_id": "k"}}),
        )
    };
    check(
        &[start("t"), activity("started"), activity("interacted"), activity("interrupted"), activity("new")],
        &["turn t @t", "launch k \"/root/k\" @t", "activity @t", "ended k cancelled @t", "activity @t"],
    );
    check(
        &[item("started"), item("completed"), event("sub_agent_activity", json!({"kind": "started"}))],
        &["launch k", "ended k success"],
    );
}

#[test]
fn a_sub_agents_own_journal() {
    let meta = child_meta();
    let recognized = Codex.recognize(meta.as_bytes()).unwrap();
    let role = Role::Child { agent_id: "c".to_owned() };
    assert_eq!(recognized, Recognized { session_id: "s".to_owned(), role, parent: Some("s".to_owned()) });
    let first = feed(&mut *reader(&meta, Told::default()), std::slice::from_ref(&meta));
    assert_eq!(first.iter().map(short).collect::<Vec<_>>(), ["launch c \"Gull\""]);
    let lines = [
        start("t"),
        event("error", json!({"message": "no"})),
        done("t"),
        event("shutdown_complete", json!({})),
        start("u"),
        event("turn_aborted", json!({"turn_id": "u"})),
    ];
    assert_eq!(
        items_after(&meta, &lines),
        [
            "turn t @t",
            "done error \"no\" @t",
            "ended c error \"no\" @t",
            "started again @u",
            "turn u @u",
            "done cancelled @u",
            "ended c cancelled @u",
        ]
    );
    // It runs when its turn starts; the model of a context before that waits, where it is none of copied history.
    let context = json!({"type": "turn_context", "payload": {"model": "m", "effort": "low"}}).to_string();
    let review = json!({"type": "session_meta", "payload": {"id": "c", "parent_thread_id": "s", "thread_source": "subagent"}});
    let lines = [context, start("t")];
    assert_eq!(items_after(&review.to_string(), &lines), ["turn t @t", "metadata model m @t"]);
    assert_eq!(items_after(&meta, &lines), ["turn t @t"]);
}

#[test]
fn d5_copied_history_is_not_live() {
    let fork = META.replace(r#""id":"s","#, r#""id":"s","forked_from_id":"p","#);
    let parent = META.replace(r#""id":"s""#, r#""id":"p""#);
    let at =
        |second: u64| event("task_started", json!({"turn_id": format!("t{second}"), "started_at": second}));
    let copied = [
        parent.clone(),
        at(SECOND - 1),
        prompt("Old."),
        call("old"),
        tokens(Some([500, 0, 9]), [500, 0, 9]),
        done("t1772438399"),
    ];
    let live = [at(SECOND), call("new"), tokens(Some([600, 0, 10]), [100, 0, 1])];
    assert_eq!(items_after(&fork, &copied), [""; 0]);
    assert_eq!(
        items_after(&fork, &[&copied[..], &live].concat()),
        [
            "turn t1772438400 @t1772438400",
            "tool new exec_command @t1772438400",
            "facts \"total:0 100/0/1\" context 101/1000 @t1772438400",
            "activity @t1772438400",
        ]
    );
    // A version without `started_at`: with copies nothing tells a live turn; without, the record's own time does.
    let bare = |time: &str| {
        format!(
            r#"{{"timestamp":"{time}","type":"event_msg","payload":{{"type":"task_started","turn_id":"t"}}}}"#
        )
    };
    assert_eq!(items_after(&fork, &[parent, bare("2026-03-02T08:00:01Z")]), [""; 0]);
    assert_eq!(items_after(&fork, &[bare("2026-03-02T07:59:59Z")]), [""; 0]);
    assert_eq!(items_after(&fork, &[bare("2026-03-02T08:00:00Z")]), ["turn t @t"]);
}

#[test]
fn a_session_that_was_closed_and_goes_on() {
    let stop = event("shutdown_complete", json!({}));
    let told = Told { launch: None, title: Some("Chart".to_owned()) };
    let lines = [META.to_owned(), start("t"), done("t"), stop.clone(), stop, start("u")];
    let items: Vec<String> = feed(&mut *reader(META, told), &lines).iter().map(short).collect();
    let stopped = "SessionStopped { reason: None }";
    assert_eq!(items, ["session \"Chart\"", "turn t @t", "done success @t", stopped, "turn u @u"]);
}

#[test]
fn the_oldest_format() {
    let meta = r#"{"id":"s","timestamp":"2025-05-01T10:00:00.000Z","instructions":null}"#;
    let user = |text: &str| {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            .to_string()
    };
    let lines = [
        user("<user_instructions>\n"),
        user("<environment_context>"),
        json!({"record_type": "state"}).to_string(),
        user("Go."),
        json!({"type": "function_call", "name": "shell", "call_id": "c"}).to_string(),
        json!({"type": "function_call_output", "call_id": "c", "output": "x"}).to_string(),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}).to_string(),
    ];
    assert_eq!(
        items_after(meta, &lines),
        ["turn user:1 \"Go.\" @user:1", "tool c shell @user:1", "finished c - @user:1", "activity @user:1"]
    );
    let mut reader = reader(meta, Told::default());
    feed(&mut *reader, &[&[meta.to_owned()], &lines[..]].concat());
    assert_eq!((reader.owners()[0].records, reader.owners()[0].unknown_records), (8, 0));
}
