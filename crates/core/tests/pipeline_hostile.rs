//! Sessions whose journals are odd: clocks that jump, copies, ids that are somebody else's, secrets.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Moment, State, WaitingReason};
use agent_lifecycle_core::json;
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::{Row, rows};
use agent_lifecycle_core::providers::claude_code::ClaudeCode;
use agent_lifecycle_core::providers::{Recognized, Role, Told};

const START: &str = "2026-03-02T08:00:00Z";

fn at(second: i64) -> String {
    Moment::parse(START).unwrap().plus_millis(second * 1000).to_text()
}

fn record(kind: &str, uuid: &str, time: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}","sessionId":"s","uuid":"{uuid}","timestamp":"{time}",{rest}}}"#) + "\n"
}

fn prompt(uuid: &str, time: &str) -> String {
    record(
        "user",
        uuid,
        time,
        &format!(r#""promptId":"p-{uuid}","message":{{"role":"user","content":"Go on."}}"#),
    )
}

fn call(uuid: &str, time: &str, tool: &str, name: &str) -> String {
    let block =
        format!(r#"{{"type":"tool_use","id":"{tool}","name":"{name}","input":{{"prompt":"Look."}}}}"#);
    record("assistant", uuid, time, &format!(r#""message":{{"id":"m-{uuid}","content":[{block}]}}"#))
}

fn result(uuid: &str, time: &str, tool: &str, rest: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{tool}","content":"x"}}"#);
    record("user", uuid, time, &format!(r#""message":{{"role":"user","content":[{block}]}}{rest}"#))
}

fn end(uuid: &str, time: &str) -> String {
    let message = r#"{"id":"last","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}"#;
    record("assistant", uuid, time, &format!(r#""message":{message}"#))
}

/// A journal: the agent whose it is, the launch that a file beside it names, and its text.
type Journal<'a> = (Option<&'a str>, Option<&'a str>, String);

/// The rows of session `s`, settled at once or after each journal.
fn read(journals: &[Journal<'_>], piecewise: bool) -> Vec<Row> {
    let now = Moment::parse("2026-06-01T00:00:00Z").unwrap();
    let mut pipeline = Pipeline::new(Config::default(), Content::Titles);
    let ids: Vec<_> = journals
        .iter()
        .enumerate()
        .map(|(number, (agent, launch, _))| {
            let role = agent.map_or(Role::Root, |agent| Role::Child { agent_id: agent.to_owned() });
            let recognized = Recognized { session_id: "s".to_owned(), role, parent: None };
            let told = Told { launch: launch.map(str::to_owned), title: None };
            pipeline.add_journal(format!("{number}"), &ClaudeCode, recognized, told)
        })
        .collect();
    for ((.., text), id) in journals.iter().zip(ids) {
        pipeline.push(id, text.as_bytes());
        if piecewise {
            pipeline.settle(now, Some(now), &mut |_, _| {});
        }
    }
    pipeline.settle(now, Some(now), &mut |_, _| {});
    rows(pipeline.projector().records(), pipeline.beside())
}

fn root(text: String) -> Journal<'static> {
    (None, None, text)
}

fn pairs(count: i64, first: i64) -> String {
    let pair = |n| {
        call(&format!("c{n}"), &at(n), &format!("t{n}"), "Bash")
            + &result(&format!("r{n}"), &at(n), &format!("t{n}"), "")
    };
    (first..first + count).map(pair).collect()
}

#[test]
fn a_clock_that_jumps_hides_no_record() {
    // Far ahead once, and back by an hour: the end is seen all the same, after more records than ids are remembered.
    for begin in [prompt("u", "2031-01-01T00:00:00Z"), prompt("u", &at(7200))] {
        let [row] = &read(&[root(begin + &pairs(700, 1) + &end("e", &at(800)))], false)[..] else {
            panic!("one row")
        };
        assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Prompt)));
        assert_eq!((row.tools.count, row.tools.open.len()), (Some(700), 0));
        // What is dated after the present is no evidence of the present.
        assert!(row.freshness.at <= Moment::parse(&at(7200)).unwrap(), "{}", row.freshness.at.to_text());
    }
}

#[test]
fn a_copy_of_a_session_says_nothing_twice() {
    let launched = prompt("u", &at(0)) + &call("l", &at(1), "ag", "Agent");
    let whole = launched.clone()
        + &result("r", &at(1), "ag", r#","toolUseResult":{"status":"completed"}"#)
        + &end("e", &at(3));
    for piecewise in [false, true] {
        for copies in [
            [whole.clone(), launched.clone()],
            [launched.clone(), whole.clone()],
            [whole.clone(), whole.clone()],
        ] {
            let rows = read(&copies.map(root), piecewise);
            let [root, child] = &rows[..] else { panic!("two rows: {}", json::write(&rows)) };
            assert_eq!((child.state, child.attempt, child.late_evidence), (State::Completed, 1, 0));
            assert_eq!((root.state, root.waiting_reason), (State::Waiting, Some(WaitingReason::Prompt)));
            assert_eq!(root.turns.count, 1);
        }
    }
}

#[test]
fn no_sub_agent_takes_the_place_of_its_session_or_of_a_note() {
    let below = || prompt("b", &at(2)) + &end("be", &at(3));
    for id in ["s", "@source"] {
        // By a file beside the journal, by its own id, and by the id of its launch.
        for (launch, journal) in [
            (String::new(), (Some("a"), Some(id), below())),
            (String::new(), (Some(id), None, below())),
            (
                call("l", &at(1), id, "Agent")
                    + &result("r", &at(4), id, r#","toolUseResult":{"status":"completed"}"#),
                (Some("other"), None, below()),
            ),
        ] {
            let rows = read(&[root(prompt("u", &at(0)) + &launch), journal], false);
            let root = rows.iter().find(|row| row.child_id == "s").unwrap();
            assert_eq!(
                (root.state, root.turn.as_ref().map(|turn| turn.open)),
                (State::Running, Some(true)),
                "{id}"
            );
            assert!(rows.iter().any(|row| row.parent_key.is_some()), "{id}: the sub-agent is shown");
        }
    }
}

#[test]
fn a_launch_has_one_journal() {
    let launches =
        prompt("u", &at(0)) + &call("l1", &at(1), "ag1", "Agent") + &call("l2", &at(1), "ag2", "Agent");
    let journal = |agent: &'static str| {
        (
            Some(agent),
            Some("ag1"),
            record("user", agent, &at(2), r#""message":{"role":"user","content":"Other."}"#),
        )
    };
    let rows = read(&[root(launches), journal("a"), journal("b")], false);
    let turns: Vec<(&str, u64)> =
        rows[1..].iter().map(|row| (row.child_id.as_str(), row.turns.count)).collect();
    assert_eq!(turns, [("ag1", 1), ("ag2", 0), ("b", 1)]);
}

#[test]
fn no_secret_of_a_journal_reaches_a_row() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let title =
        format!(r#"{{"type":"custom-title","sessionId":"s","customTitle":"use {secret} now"}}"#) + "\n";
    let input = format!(r#"{{"description":"export TOKEN={secret}","command":"x"}}"#);
    let block = format!(r#"{{"type":"tool_use","id":"t","name":"Bash","input":{input}}}"#);
    let tool = record("assistant", "a", &at(1), &format!(r#""message":{{"id":"m","content":[{block}]}}"#));
    let rows = read(&[root(prompt("u", &at(0)) + &title + &tool)], false);
    assert_eq!(rows[0].title.as_deref(), Some("use [REDACTED] now"));
    assert!(rows[0].activity.as_deref().unwrap().starts_with("Bash: "));
    assert!(!json::write(&rows).contains("abcdefghij"), "{}", json::write(&rows));
}
