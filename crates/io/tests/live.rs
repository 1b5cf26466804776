//! One live session, or one stream, and what becomes of its rows: owners, answers, replaced files, and what is behind a state.

use std::path::Path;

use agent_lifecycle_core::agent::AgentEvent;
use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::Telling;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::providers::Said;
use agent_lifecycle_io::evidence::Process;
use agent_lifecycle_io::monitor::live::Live;
use agent_lifecycle_io::monitor::questions::Answer;
use agent_lifecycle_io::process::{Alive, Death, Owner, Verdict};
use serde_json::{Value, json};

fn config() -> Config {
    Config { corrections: true, ..Config::default() }
}

fn line(second: u32, record: Value) -> String {
    let mut record = record;
    record["sessionId"] = "s".into();
    record["uuid"] = format!("u{second}").into();
    record["timestamp"] = format!("2026-03-02T08:00:{second:02}Z").into();
    record.to_string() + "\n"
}

fn at(second: i64) -> Moment {
    Moment::parse("2026-03-02T08:00:00Z").unwrap().plus_millis(second * 1000)
}

fn prompted() -> Live {
    let mut live = Live::new(config(), Content::Titles, None, true);
    let prompt = json!({"type": "user", "promptId": "p", "message": {"role": "user", "content": "Go."}});
    live.take(Path::new("/nowhere/s.jsonl"), line(1, prompt).as_bytes(), at(1));
    live.settle(at(1));
    live
}

fn process(alive: Option<bool>) -> std::collections::HashMap<(&'static str, String), Process> {
    [(("claude-code", "s".to_owned()), Process { pid: 7, alive, started_at: None })].into()
}

#[test]
fn a_dead_owner_of_an_open_turn_is_lost_after_the_deadline_and_not_before() {
    let mut live = prompted();
    live.set_processes(process(Some(true)), at(2));
    assert_eq!(live.rows()[0].evidence.pid, Some(7));
    live.set_processes(process(Some(false)), at(3));
    live.set_processes(process(Some(false)), at(4));
    live.tick(at(32), false);
    assert_eq!((live.rows()[0].state, live.take_questions(|_| true, at(32)).len()), (State::Running, 1));
    live.tick(at(33), false);
    assert_eq!(live.rows()[0].state, State::Lost);
    assert_eq!(live.rows()[0].late_evidence, 0);
}

#[test]
fn an_answer_gone_waits_for_the_deadline_and_evidence_cancels_it() {
    for cancelled in [false, true] {
        let mut live = prompted();
        live.tick(at(121), false);
        let asked = live.take_questions(|_| true, at(121));
        assert_eq!(live.rows()[0].freshness.reconcile, Some("pending"));
        let [question] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((question.child_id.as_str(), question.reason.as_str()), ("s", "silence"));
        assert!(live.take_questions(|_| true, at(121)).is_empty(), "asked once");
        live.answer("claude-code/s", "s", Answer::Gone, at(130));
        assert_eq!(live.rows()[0].state, State::Running);
        if cancelled {
            let record = json!({"type": "assistant", "timestamp": "2026-03-02T08:02:11Z", "sessionId": "s", "uuid": "late",
                "message": {"id": "m", "content": [{"type": "text", "text": "On it."}]}});
            live.take(Path::new("/nowhere/s.jsonl"), (record.to_string() + "\n").as_bytes(), at(131));
            live.settle(at(131));
        }
        live.tick(at(152), false);
        let state = live.rows()[0].state;
        assert_eq!(state, if cancelled { State::Running } else { State::Lost });
    }
}

#[test]
fn no_answer_is_said_and_ends_nothing() {
    let mut live = prompted();
    live.tick(at(121), false);
    live.take_questions(|_| true, at(121));
    live.answer("claude-code/s", "s", Answer::None, at(151));
    live.tick(at(10_000), false);
    let row = &live.rows()[0];
    assert_eq!((row.state, row.freshness.reconcile), (State::Running, Some("unanswered")));
}

#[test]
fn a_replaced_file_is_read_anew() {
    let mut live = prompted();
    let path = Path::new("/nowhere/s.jsonl");
    live.replace(path);
    let prompt = json!({"type": "user", "promptId": "p", "message": {"role": "user", "content": "Go."}});
    let done = json!({"type": "assistant", "message": {"id": "m", "stop_reason": "end_turn", "content": []}});
    live.take(path, (line(1, prompt) + &line(2, done)).as_bytes(), at(3));
    live.settle(at(3));
    let rows = live.rows();
    assert_eq!((rows.len(), rows[0].turns.count), (1, 1));
    assert_eq!(rows[0].waiting_reason, Some(WaitingReason::Prompt));
}

#[test]
fn what_is_behind_a_row_can_be_told() {
    let live = prompted();
    let told = live.explain("claude-code/s").unwrap();
    assert_eq!(told.evidence.last().unwrap().effect, "running");
    assert_eq!(told.evidence[0].journal.as_deref(), Some("/nowhere/s.jsonl"));
    assert!(live.explain("claude-code/t").is_none());
}

#[test]
fn a_publisher_that_is_provably_dead_is_lost_after_the_deadline_and_a_living_one_is_shown() {
    let event = |id: &str, child: &str, rest: &str| {
        let lineage = r#"{"rootChildId":"c","attempt":1,"external":false}"#;
        format!(
            r#"{{"schemaVersion":1,"eventId":"{id}","source":"mine/1","sourceEpoch":"e","childId":"{child}","lineage":{lineage},"observedAt":"2026-03-02T08:00:00Z",{rest}}}"#
        ) + "\n"
    };
    let owner = r#""kind":"diagnostic","details":{"owner":{"pid":77,"processStartTime":5}}"#;
    let stream = event("owner", "@source", owner)
        + &event("1", "c", r#""kind":"created","state":"created""#)
        + &event("2", "c", r#""kind":"state_changed","state":"starting""#);
    let turn = r#""kind":"state_changed","state":"running","details":{"agent":{"kind":"turn.started","turnId":"t"}}"#;
    let done = r#""kind":"state_changed","state":"waiting","waitingReason":"prompt","details":{"agent":{"kind":"agent.done","outcome":"success"},"turnId":"t"}"#;
    let dead = Verdict::Dead { why: Death::NoSuchPid, by_record: true };
    // Without an open turn its last turn's outcome is its own; without a turn ever it was nothing's success.
    for (more, state) in [
        (String::new(), State::Cancelled),
        (event("3", "c", turn) + &event("4", "c", done), State::Completed),
    ] {
        let mut live = Live::new(config(), Content::Titles, None, true);
        live.take(Path::new("/nowhere/mine.jsonl"), (stream.clone() + &more).as_bytes(), at(0));
        for second in [2, 4] {
            live.look_at_owners(|_| dead, at(second));
            assert_eq!((live.rows()[0].state, live.rows()[0].late_evidence), (state, 0));
        }
    }
    let stream = stream + &event("3", "c", turn);
    let mut live = Live::new(config(), Content::Titles, None, true);
    live.take(Path::new("/nowhere/mine.jsonl"), stream.as_bytes(), at(0));
    let seen = |verdict: Verdict| {
        move |owner: &Owner| {
            assert_eq!((owner.pid, owner.process_start_time), (Some(77), Some(5)));
            verdict
        }
    };
    live.look_at_owners(seen(Verdict::Alive(Alive::Running)), at(1));
    assert_eq!((live.rows()[0].evidence.pid, live.rows()[0].state), (Some(77), State::Running));
    for second in [2, 4, 6] {
        live.look_at_owners(seen(dead), at(second));
        live.tick(at(second), false);
    }
    assert_eq!(live.rows()[0].state, State::Running);
    live.tick(at(32), false);
    assert_eq!(live.rows()[0].state, State::Lost);
}

/// An event of the publisher `mine/1`, a line long.
fn published(id: &str, child: &str, second: u32, rest: &str) -> String {
    let lineage = r#"{"rootChildId":"c","attempt":1,"external":false}"#;
    format!(
        r#"{{"schemaVersion":1,"eventId":"{id}","source":"mine/1","sourceEpoch":"e","childId":"{child}","lineage":{lineage},"observedAt":"2026-03-02T08:00:{second:02}Z",{rest}}}"#
    ) + "\n"
}

#[test]
fn what_is_behind_a_row_of_a_stream_is_told_event_by_event() {
    let path = Path::new("/nowhere/mine.jsonl");
    let lines = [
        published("1", "c", 0, r#""kind":"created","state":"created","sequence":1"#),
        published("2", "c", 1, r#""kind":"state_changed","state":"starting","sequence":2"#),
        published("3", "c", 2, r#""kind":"state_changed","state":"running","sequence":3"#),
        published("4", "c", 3, r#""kind":"heartbeat","sequence":4"#),
        published("5", "c", 4, r#""kind":"state_changed","state":"created","sequence":5"#),
        published("n", "stranger", 5, r#""kind":"heartbeat""#),
    ];
    let offset = |line: usize| lines[..line].iter().map(String::len).sum::<usize>();
    let mut live = Live::new(config(), Content::Titles, None, false);
    live.take(path, lines.concat().as_bytes(), at(5));
    let told = serde_json::to_value(live.explain("mine/1#c").unwrap()).unwrap();
    let evidence = |line: usize, kind: &str, effect: &str| {
        json!({"journal": path, "offset": offset(line), "recordType": kind, "eventId": (line + 1).to_string(),
            "sequence": line + 1, "at": format!("2026-03-02T08:00:{line:02}Z"), "effect": effect})
    };
    assert_eq!(
        told["evidence"],
        // `state_changed` to `created` is no event at all, so that it led to nothing.
        json!([
            evidence(0, "created", "created"),
            evidence(1, "state_changed", "starting"),
            evidence(2, "state_changed", "running"),
            evidence(3, "heartbeat", "evidence"),
        ])
    );
    assert_eq!(
        told["freshness"],
        json!({"at": "2026-03-02T08:00:03Z", "evidence": evidence(3, "heartbeat", "evidence")})
    );
    assert_eq!((&told["reconciliation"], &told["lateEvidence"]["count"]), (&Value::Null, &json!(0)));
    assert!(live.explain("mine/1#stranger").is_none(), "nothing is kept of children that there are not");
}

#[test]
fn an_open_question_a_loss_and_late_evidence_are_told() {
    let path = Path::new("/nowhere/mine.jsonl");
    let lines = [
        published("1", "c", 0, r#""kind":"created","state":"created""#),
        published("2", "c", 1, r#""kind":"state_changed","state":"starting""#),
        published("3", "c", 2, r#""kind":"state_changed","state":"running""#),
    ];
    let late = published("4", "c", 59, r#""kind":"terminal","state":"completed""#);
    let mut live = Live::new(config(), Content::Titles, None, false);
    live.take(path, lines.concat().as_bytes(), at(2));
    live.tick(at(122), false);
    let told = |live: &Live| serde_json::to_value(live.explain("mine/1#c").unwrap()).unwrap();
    let question =
        |asked: &str| json!({"reason": "silence", "deadlineAt": "2026-03-02T08:02:32Z", "asked": asked});
    assert_eq!(
        (&told(&live)["stale"], &told(&live)["reconciliation"]),
        (&json!("silence"), &question("unasked"))
    );
    live.take_questions(|_| true, at(122));
    assert_eq!(told(&live)["reconciliation"], question("pending"));
    live.answer("mine/1", "c", Answer::Gone, at(123));
    live.tick(at(152), false);
    live.take(path, late.as_bytes(), at(153));
    let told = told(&live);
    let by: Vec<_> = told["evidence"].as_array().unwrap()[3..]
        .iter()
        .map(|step| {
            (
                step["recordType"].as_str().unwrap(),
                step["effect"].as_str().unwrap(),
                step["journal"].is_null(),
            )
        })
        .collect();
    assert_eq!(by, [("authority", "lost", true), ("terminal", "late_evidence", false)]);
    assert_eq!(told["evidence"][3]["at"], "2026-03-02T08:02:32Z");
    assert_eq!(
        told["lateEvidence"]["recent"],
        json!([{"eventId": "4", "kind": "terminal", "state": "completed", "observedAt": "2026-03-02T08:00:59Z",
            "code": "late_evidence"}])
    );
    assert_eq!(told["freshness"]["evidence"]["eventId"], "3");
}

/// A prompt and its answer, each a turn of its own.
fn turn(prompted: u32, answered: u32) -> [String; 2] {
    let id = format!("p{prompted}");
    let prompt = json!({"type": "user", "promptId": id, "message": {"role": "user", "content": "Go."}});
    let answer = json!({"type": "assistant", "message": {
        "id": format!("m{answered}"), "model": "m", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Done."}],
    }});
    [line(prompted, prompt), line(answered, answer)]
}

#[test]
fn a_session_whose_end_a_hook_told_before_its_last_turns_were_read_is_completed_by_them() {
    let lines = [turn(1, 2), turn(3, 4), turn(5, 6)].concat();
    // Only where a turn is open does the end of the session wait for more.
    for read in [1, 3, 5] {
        let mut live = Live::new(config(), Content::Titles, None, true);
        let path = Path::new("/nowhere/s.jsonl");
        let now = at(8);
        live.take(path, lines[..read].concat().as_bytes(), now);
        live.settle(now);
        let said = Said::Event(AgentEvent::SessionStopped { reason: None });
        let telling = Telling { agent: None, said, name: &[b"h"], record: "hook", at: at(7) };
        assert!(live.tell(("claude-code", "s"), &telling));
        assert_eq!(live.rows()[0].state, State::Running, "{read}");
        live.take(path, lines[read..].concat().as_bytes(), now);
        live.settle(now);
        let row = &live.rows()[0];
        assert_eq!((row.state, row.state_since, row.turns.count), (State::Completed, at(7), 3), "{read}");
        assert_eq!((row.late_evidence, row.freshness.reconcile), (0, None), "{read}");
    }
}
