//! What a sequencer says to what, by the rules of docs/turns.md.

mod common;

use agent_lifecycle_core::runtime::sequencer::input::Input;
use agent_lifecycle_core::runtime::sequencer::waiting::WAITING;
use common::turns::{
    Turns, accepted, accepted_as, approval, begin, delta, seen, seen_of, terminal, terminal_of,
};
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
fn a_turn_from_its_begin_to_its_end() {
    let mut turns = in_turn();
    let said = turns.say([
        seen(json!({"kind": "reasoning", "nativeItemId": "r", "text": {"delta": "so "}})),
        seen(json!({"kind": "reasoning", "nativeItemId": "r", "done": true})),
        seen(delta(Some("m"), "All ")),
        seen(json!({"kind": "tool_call", "nativeItemId": 0, "toolName": "Bash", "args": {"command": "ls"}})),
        seen(json!({"kind": "tool_started", "nativeItemId": 0})),
        seen(json!({"kind": "tool_updated", "nativeItemId": 0, "text": {"delta": "a b "}})),
        seen(json!({"kind": "tool_finished", "nativeItemId": 0, "result": "ok"})),
        seen(json!({"kind": "usage", "usage": {"input": 5, "output": 1}})),
        seen(json!({"kind": "assistant", "nativeItemId": "m", "text": {"cumulative": "All done."}, "done": true})),
        seen(json!({"kind": "usage", "usage": {"output": 7}})),
        terminal("completed"),
    ]);
    assert_eq!(
        said,
        [
            "reasoning_started t1 contentIndex=0",
            "reasoning_delta t1 contentIndex=0 text=so ",
            "reasoning_finished t1 contentIndex=0",
            "assistant_delta t1 contentIndex=1 text=All ",
            r#"tool_call t1 args={"command":"ls"} argsComplete toolCallId=tool-3-1 toolName=Bash"#,
            "tool_execution_started t1 toolCallId=tool-3-1 toolName=Bash",
            "tool_execution_updated t1 partialResult=a b  toolCallId=tool-3-1 toolName=Bash",
            "tool_execution_finished t1 isError=false result=ok toolCallId=tool-3-1 toolName=Bash",
            "assistant_delta t1 contentIndex=1 text=done.",
            "assistant_message t1 contentIndex=1 text=All done.",
            r#"usage t1 usage={"input":5,"output":7}"#,
            DONE,
        ]
    );
    assert_eq!(turns.drops(), [""; 0]);
    assert_eq!(turns.stats()["events"], json!(13));
}

#[test]
fn an_event_says_whose_it_is() {
    let mut turns = Turns::nameless();
    turns.push(begin("t1"));
    let event = turns.push(json!({"input": "accepted", "turnId": "t1", "at": "2026-05-17T12:00:01+00:00"}));
    assert_eq!(
        event,
        [json!({"kind": "turn_started", "productSessionId": "ps_1", "generation": 3, "sequence": 1,
            "at": "2026-05-17T12:00:01Z", "turnId": "t1"})]
    );
}

#[test]
fn everything_open_is_closed_in_order_before_the_end() {
    let open = || {
        vec![
            approval("a", "t1"),
            tool("tool_started", "c"),
            tool("tool_call", "d"),
            seen(json!({"kind": "reasoning", "text": {"delta": "hm "}})),
            seen(delta(Some("m"), "half a sen")),
            seen(json!({"kind": "compaction_started"})),
            seen(json!({"kind": "usage", "usage": {"output": 2}})),
        ]
    };
    let closings = |truncated: &str| {
        vec![
            "compaction_end t1 inferred".to_owned(),
            "assistant_delta t1 contentIndex=1 text=sen".to_owned(),
            format!("assistant_message t1 contentIndex=1 text=half a sen{truncated}"),
            "reasoning_finished t1 contentIndex=0".to_owned(),
            "tool_execution_finished t1 inferred isError toolCallId=tool-3-1 toolName=Bash".to_owned(),
            "tool_execution_started t1 inferred toolCallId=tool-3-2 toolName=Bash".to_owned(),
            "tool_execution_finished t1 inferred isError toolCallId=tool-3-2 toolName=Bash".to_owned(),
            "approval_resolved t1 outcome=cleared requestId=a".to_owned(),
            r#"usage t1 usage={"output":2}"#.to_owned(),
        ]
    };
    let exit = json!({"input": "exit", "exitCode": 3, "signal": "SIGKILL", "message": "it fell"});
    let deadline = json!({"input": "deadline", "turnId": "t1"});
    let failed = json!({"input": "terminal", "status": "failed", "message": "no luck", "details": {"n": 1}});
    for (input, truncated, ends) in [
        (terminal("completed"), "", &[DONE][..]),
        (terminal("interrupted"), " truncated", &["turn_completed t1 confirmed status=interrupted"]),
        (
            failed,
            " truncated",
            &[r#"turn_failed t1 details={"adapter":{"n":1},"code":"failed"} message=no luck"#],
        ),
        (
            exit,
            " truncated",
            &[
                r#"turn_failed t1 details={"code":"exit","exitCode":3,"signal":"SIGKILL"} message=it fell"#,
                "adapter_lifecycle exitCode=3 message=it fell signal=SIGKILL state=crashed",
            ],
        ),
        (
            json!({"input": "exit", "expected": true}),
            " truncated",
            &["turn_completed t1 confirmed status=interrupted", "adapter_lifecycle state=stopped"],
        ),
        (
            json!({"input": "close"}),
            " truncated",
            &["turn_completed t1 confirmed=false status=interrupted", "adapter_lifecycle state=stopped"],
        ),
        (
            deadline,
            " truncated",
            &[r#"turn_failed t1 details={"code":"deadline"} message=the turn did not end in time"#],
        ),
    ] {
        let mut turns = in_turn();
        turns.say(open());
        let expected: Vec<String> =
            closings(truncated).into_iter().chain(ends.iter().map(|&end| end.to_owned())).collect();
        assert_eq!(turns.say([input.clone()]), expected, "{input}");
        assert_eq!(turns.stats()["turn"], Value::Null);
    }
}

#[test]
fn what_comes_before_the_turn_is_known_waits() {
    let early = || seen_of("t1", delta(None, "early "));
    let foreign = || seen_of("t9", delta(None, "foreign "));
    let started = |turn: &str| seen_of(turn, json!({"kind": "turn_started"}));
    let expected = ["turn_started t1", "assistant_delta t1 contentIndex=0 text=early "];
    // The name comes with the acceptance, before it, or after it.
    for inputs in [
        vec![begin("t1"), early(), foreign(), accepted_as("t1")],
        vec![begin("t1"), started("t1"), early(), foreign(), accepted("t1")],
        vec![begin("t1"), early(), accepted("t1"), foreign(), started("t1")],
        vec![begin("t1"), accepted("t1"), started("t1"), foreign(), early()],
    ] {
        let mut turns = Turns::named();
        assert_eq!(turns.say(inputs), expected);
        assert_eq!(turns.drops(), ["foreign_turn 1"]);
        assert_eq!(turns.stats()["waiting"], json!(0));
    }
    let mut turns = Turns::nameless();
    assert_eq!(turns.say([begin("t1"), early(), terminal("completed")]), [""; 0]);
    assert_eq!(turns.stats()["waiting"], json!(2));
    assert_eq!(
        turns.say([accepted("t1")]),
        [
            "turn_started t1",
            "assistant_delta t1 contentIndex=0 text=early ",
            "assistant_message t1 contentIndex=0 text=early ",
            DONE
        ]
    );
}

#[test]
fn the_257th_that_waits_fails_the_turn() {
    for (names_turns, accept) in [(true, false), (true, true), (false, false)] {
        let mut turns = Turns::new(names_turns, &[]);
        turns.push(begin("t1"));
        if accept {
            assert_eq!(turns.say([accepted("t1")]), ["turn_started t1"]);
        }
        for _ in 0..WAITING {
            assert_eq!(turns.say([seen(delta(None, "x "))]), [""; 0]);
        }
        assert_eq!(turns.stats()["waiting"], json!(256));
        let started = if accept { &[][..] } else { &["turn_started t1"] };
        let failed = r#"turn_failed t1 details={"code":"overflow"} message=too much came before it was known which turn it belongs to"#;
        let expected: Vec<&str> = started.iter().copied().chain([failed]).collect();
        assert_eq!(turns.say([seen(delta(None, "x "))]), expected);
        assert_eq!(turns.drops(), ["overflow 257"]);
        // Accepted after all: it has ended, and what the harness calls it is of that turn.
        assert_eq!(turns.say([accepted_as("t1"), begin("t2"), accepted_as("t2")]), ["turn_started t2"]);
        if names_turns {
            assert_eq!(
                turns.say([seen_of("t1", delta(None, "x ")), terminal_of("t1", "completed")]),
                [""; 0]
            );
            assert_eq!(turns.drops(), ["late 3", "overflow 257"]);
        }
    }
}

#[test]
fn what_waits_of_a_turn_that_never_was_is_dropped_but_not_what_belongs_to_none() {
    for input in [
        json!({"input": "rejected", "turnId": "t1"}),
        json!({"input": "deadline", "turnId": "t1"}),
        json!({"input": "exit", "expected": true}),
    ] {
        let mut turns = Turns::nameless();
        let warning = seen(json!({"kind": "warning", "code": "auth", "message": "log in first"}));
        assert_eq!(turns.say([begin("t1"), seen(delta(None, "x ")), warning]), [""; 0]);
        let said = turns.say([input.clone()]);
        assert_eq!(said[0], "warning code=auth message=log in first", "{input}");
        assert!(said.iter().all(|line| !line.contains("t1")), "{said:?}");
        assert_eq!(turns.drops(), ["never_accepted 1"]);
    }
}

#[test]
fn a_stale_terminal_never_ends_the_present_turn() {
    let mut turns = Turns::named();
    turns.say([begin("t1"), accepted_as("t1"), json!({"input": "deadline", "turnId": "t1"})]);
    turns.say([begin("t2"), accepted_as("t2")]);
    assert_eq!(turns.say([terminal_of("t1", "completed"), terminal_of("t9", "failed")]), [""; 0]);
    assert_eq!(turns.drops(), ["foreign_turn 1", "late 1"]);
    assert_eq!(turns.say([terminal_of("t2", "completed")]), ["turn_completed t2 confirmed status=completed"]);
    // The end of a sub-agent's turn is not ours, whatever it is called.
    let mut turns = in_turn();
    let sub = json!({"input": "terminal", "status": "failed", "scope": "sub"});
    assert_eq!(turns.say([sub]), [""; 0]);
    assert_eq!(turns.drops(), ["foreign_scope 1"]);
}

#[test]
fn a_turn_ended_by_its_deadline_leaves_a_debt() {
    let mut turns = in_turn();
    let deadline = |turn: &str| json!({"input": "deadline", "turnId": turn});
    turns.say([deadline("t1"), begin("t2"), accepted("t2")]);
    assert_eq!(turns.stats()["debts"], json!(1));
    // All of this is still of the first turn.
    assert_eq!(turns.say([seen(delta(None, "old ")), terminal("completed")]), [""; 0]);
    assert_eq!((turns.stats()["debts"].clone(), turns.drops()), (json!(0), vec!["debt 2".to_owned()]));
    assert_eq!(
        turns.say([seen(delta(None, "new ")), terminal("completed")]),
        [
            "assistant_delta t2 contentIndex=0 text=new ",
            "assistant_message t2 contentIndex=0 text=new ",
            "turn_completed t2 confirmed status=completed",
        ]
    );
    // Two debts are paid by two ends, and a process that is gone owes nothing.
    let mut turns = in_turn();
    turns.say([deadline("t1"), begin("t2"), accepted("t2"), deadline("t2"), begin("t3"), accepted("t3")]);
    assert_eq!(turns.stats()["debts"], json!(2));
    assert_eq!(turns.say([terminal("failed"), terminal("completed")]), [""; 0]);
    assert_eq!(turns.say([terminal("completed")]), ["turn_completed t3 confirmed status=completed"]);
    let mut turns = in_turn();
    turns.say([deadline("t1"), json!({"input": "exit"}), begin("t2"), accepted("t2")]);
    assert_eq!(turns.say([terminal("completed")]), ["turn_completed t2 confirmed status=completed"]);
    // One that was refused after its deadline never was.
    let mut turns = Turns::nameless();
    turns.say([
        begin("t1"),
        deadline("t1"),
        json!({"input": "rejected", "turnId": "t1"}),
        begin("t2"),
        accepted("t2"),
    ]);
    assert_eq!(turns.say([terminal("completed")]), ["turn_completed t2 confirmed status=completed"]);
}

#[test]
fn an_abort_ends_with_what_the_harness_says_or_unconfirmed() {
    let abort = || json!({"input": "abort"});
    let deadline = || json!({"input": "deadline", "turnId": "t1"});
    let mut turns = in_turn();
    assert_eq!(
        turns.say([approval("a", "t1"), abort()]),
        [
            r#"approval_requested t1 request={"decisions":[],"kind":"command","requestId":"a","turnId":"t1"}"#,
            "approval_resolved t1 outcome=aborted requestId=a",
        ]
    );
    assert_eq!(turns.stats()["turn"]["aborting"], json!(true));
    assert_eq!(turns.say([deadline()]), ["turn_completed t1 confirmed=false status=interrupted"]);
    let reasons: Vec<Value> = turns.stats()["diagnostics"].as_array().expect("a list").clone();
    assert_eq!(reasons[0]["reason"], json!("unconfirmed"));
    for (input, expected) in [
        (terminal("completed"), DONE),
        (terminal("interrupted"), "turn_completed t1 confirmed status=interrupted"),
        (json!({"input": "exit", "signal": "SIGKILL"}), "turn_completed t1 confirmed status=interrupted"),
    ] {
        let mut turns = in_turn();
        assert_eq!(turns.say([abort(), input])[0], expected);
    }
    // Idle, twice, and of a turn that has ended.
    let mut turns = Turns::nameless();
    assert_eq!(turns.say([abort()]), [""; 0]);
    turns.say([begin("t1"), accepted("t1"), abort(), abort(), terminal("completed")]);
    turns.push(json!({"input": "abort", "turnId": "t1"}));
    assert_eq!(turns.drops(), ["late 1", "no_turn 1", "repeat 1"]);
}

#[test]
fn turns_of_native_ids() {
    let place = |turns: &Turns, native: Option<&str>| {
        let place = turns.0.turn_of(native);
        (place.turn_id, place.is_over)
    };
    let t = |id: &str| Some(id.to_owned());
    let mut turns = Turns::named();
    assert_eq!(place(&turns, Some("native-t1")), (None, false));
    turns.say([
        begin("t1"),
        accepted_as("t1"),
        terminal_of("t1", "completed"),
        begin("t2"),
        accepted_as("t2"),
    ]);
    assert_eq!(place(&turns, Some("native-t1")), (t("t1"), true));
    assert_eq!(place(&turns, Some("native-t2")), (t("t2"), false));
    assert_eq!(place(&turns, Some("native-t9")), (t("t2"), false));
    assert_eq!(place(&turns, None), (t("t2"), false));
    let mut turns = in_turn();
    assert_eq!(place(&turns, None), (t("t1"), false));
    turns.say([json!({"input": "deadline", "turnId": "t1"}), begin("t2"), accepted("t2")]);
    assert_eq!(place(&turns, None), (t("t1"), true));
}

#[test]
fn nothing_is_said_after_disposal() {
    let mut turns = in_turn();
    turns.push(json!({"input": "close"}));
    let exit = json!({"input": "exit"});
    let late = [
        begin("t2"),
        accepted("t2"),
        seen(delta(None, "x ")),
        terminal("completed"),
        exit,
        json!({"input": "close"}),
    ];
    assert_eq!(turns.say(late), [""; 0]);
    assert_eq!(turns.drops(), ["disposed 6"]);
    // A process that had ended before has said so.
    let mut turns = Turns::nameless();
    assert_eq!(
        turns.say([json!({"input": "exit"}), json!({"input": "close"})]),
        ["adapter_lifecycle state=crashed"]
    );
}

#[test]
fn what_the_host_does_twice_counts_once() {
    let mut turns = in_turn();
    assert_eq!(turns.say([begin("t1"), begin("t2"), accepted("t1"), accepted("t5")]), [""; 0]);
    turns.say([terminal("completed"), begin("t1"), json!({"input": "rejected", "turnId": "t1"})]);
    assert_eq!(turns.drops(), ["late 1", "no_turn 1", "repeat 3", "turn_open 1"]);
    let mut turns = Turns::named();
    turns.say([begin("t1"), accepted_as("t1")]);
    turns.push(json!({"input": "accepted", "turnId": "t1", "nativeTurnId": "native-also"}));
    assert_eq!(turns.stats()["diagnostics"][0]["reason"], json!("renamed"));
    assert_eq!(turns.say([seen_of("also", delta(None, "x ")), seen_of("t1", delta(None, "y "))]).len(), 2);
}

#[test]
fn wrong_inputs_are_refused_by_member() {
    let fault = |text: &str| Input::parse(text).map(|_| ()).unwrap_err().path;
    for (input, path) in [
        ("[]", "input"),
        ("{", "input"),
        (r#"{"input":"close"}"#, "at"),
        (r#"{"input":"close","at":"yesterday"}"#, "at"),
        (r#"{"at":"2026-05-17T12:00:00Z"}"#, "input"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"sleep"}"#, "input"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"begin"}"#, "turnId"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"begin","turnId":""}"#, "turnId"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"terminal","status":"lost"}"#, "status"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"requestOpened"}"#, "approval"),
        (
            r#"{"at":"2026-05-17T12:00:00Z","input":"requestResolved","requestId":"r","outcome":"gone"}"#,
            "outcome",
        ),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"song"}"#, "kind"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"assistant","text":"x"}"#, "text"),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"assistant","text":{}}"#, "text"),
        (
            r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"usage","usage":{"input":-1}}"#,
            "usage.input",
        ),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"plan"}"#, "plan"),
        (
            r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"adapter","state":"crashed"}"#,
            "state",
        ),
        (r#"{"at":"2026-05-17T12:00:00Z","input":"observation","kind":"turn_started","scope":1}"#, "scope"),
    ] {
        assert_eq!(fault(input), path, "{input}");
    }
}
