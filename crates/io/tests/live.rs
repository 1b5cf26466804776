//! Files that grow, in pieces and over restarts: the rows are those of one reading.

use std::path::{Path, PathBuf};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_fixtures::Fixture;
use agent_lifecycle_io::evidence::Process;
use agent_lifecycle_io::monitor::live::Live;
use agent_lifecycle_io::monitor::questions::Answer;
use agent_lifecycle_io::process::{Alive, Death, Owner, Verdict};
use serde_json::{Value, json};

fn config() -> Config {
    Config { corrections: true, ..Config::default() }
}

/// A generator of numbers below a bound, the same at every run (xorshift64*, Vigna 2016).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % bound
    }
}

/// The time that a line gives first; it may be no JSON for serde.
fn time(line: &[u8]) -> Option<Moment> {
    let text = String::from_utf8_lossy(line);
    Moment::parse(text.split_once(r#""timestamp":""#)?.1.split_once('"')?.0)
}

/// Where each journal ends when a line was written, in the order in which the lines were: by the highest time so far, then by path.
fn steps(fixture: &Fixture) -> Vec<(Moment, usize, usize)> {
    let mut steps = Vec::new();
    for (journal, file) in fixture.journals.iter().enumerate() {
        let (mut end, mut highest) = (0, None);
        let mut untimed = Vec::new();
        for line in file.bytes.split_inclusive(|byte| *byte == b'\n') {
            end += line.len();
            highest = time(line).max(highest);
            match highest {
                Some(highest) => {
                    steps.extend(untimed.drain(..).map(|end| (highest, journal, end)));
                    steps.push((highest, journal, end));
                }
                None => untimed.push(end),
            }
        }
        steps.extend(untimed.into_iter().map(|end| (Moment::from_unix_millis(0), journal, end)));
    }
    steps.sort_by_key(|(at, journal, _)| (*at, *journal));
    steps
}

fn shown(rows: &[Row]) -> Value {
    let mut rows = serde_json::to_value(rows).unwrap();
    for row in rows.as_array_mut().unwrap() {
        // One reading names files by the fixture, a live one by the disk; faults are counted anew by each reading.
        row["transcript"] = Value::Null;
        row["diagnostics"] = Value::Null;
    }
    rows
}

fn all() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let all = Fixture::all(&folder).unwrap();
    all.into_iter().filter(|fixture| !fixture.name.starts_with("schema-v1/")).collect()
}

fn end(fixture: &Fixture) -> Moment {
    steps(fixture).last().unwrap().0.plus_millis(1000)
}

/// Plays a fixture into a live projection in pieces, with restarts after these parts of it; the rows at the end.
fn play(fixture: &Fixture, seed: u64, restarts: &[usize]) -> Vec<Row> {
    let mut numbers = Numbers(seed);
    let path = |journal: usize| -> PathBuf { fixture.folder.join(&fixture.journals[journal].path) };
    let mut live = Live::new(config(), Content::Titles, None, true);
    let mut record: Vec<(Event<'static>, Option<Moment>)> = Vec::new();
    let mut written = vec![0; fixture.journals.len()];
    let steps = steps(fixture);
    for (number, &(at, journal, end)) in steps.iter().enumerate() {
        // A piece of the line, then perhaps its rest now, perhaps with the next.
        let bytes = &fixture.journals[journal].bytes;
        while written[journal] < end {
            let piece = 1 + numbers.below(end - written[journal]);
            live.take(&path(journal), &bytes[written[journal]..written[journal] + piece], at);
            written[journal] += piece;
            if numbers.below(3) == 0 {
                live.settle(at);
            }
        }
        if numbers.below(2) == 0 {
            live.settle(at);
            live.tick(at, false);
        }
        if restarts.iter().any(|part| number == steps.len() * part / 4) {
            live.settle(at);
            record.extend(live.take_record());
            live = Live::new(config(), Content::Titles, Some(replayed(&record)), true);
            for (journal, written) in written.iter().enumerate().filter(|(_, written)| **written > 0) {
                live.take(&path(journal), &fixture.journals[journal].bytes[..*written], at);
            }
            live.settle(at);
        }
    }
    live.settle(self::end(fixture));
    live.tick(self::end(fixture), false);
    live.rows()
}

/// The members in which two lists of rows differ.
fn differences(found: &Value, expected: &Value) -> Vec<String> {
    let keys = |rows: &Value| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row["key"].clone()).collect()
    };
    if keys(found) != keys(expected) {
        return vec![format!("keys {:?}, not {:?}", keys(found), keys(expected))];
    }
    let rows = found.as_array().unwrap().iter().zip(expected.as_array().unwrap());
    rows.flat_map(|(found, expected)| {
        let members = found.as_object().unwrap().iter().filter(|(name, value)| expected[*name] != **value);
        members
            .map(|(name, value)| format!("{} {name}: {value}, not {}", found["childId"], expected[name]))
            .collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn pieces_and_restarts_do_not_matter() {
    let mut wrong = Vec::new();
    for fixture in all() {
        let mut whole = fixture.run(&mut |_, _| {});
        let expected = shown(&whole.rows(end(&fixture)));
        for seed in 1..=4 {
            for restarts in [&[][..], &[2], &[1, 3]] {
                let rows = shown(&play(&fixture, seed, restarts));
                let mut found = differences(&rows, &expected);
                // What is read under its launch after that has ended is history, which says neither what it did last nor since when.
                let is_late = |text: &String| text.contains(" activity: ") || text.contains(" stateSince: ");
                found.retain(|text| !(fixture.name.ends_with("/late-binding") && is_late(text)));
                wrong.extend(found.iter().map(|text| format!("{} {seed} {restarts:?} {text}", fixture.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What an own journal of these entries gives.
fn replayed(record: &[(Event<'static>, Option<Moment>)]) -> Pipeline {
    let mut before = Pipeline::new(config(), Content::Titles);
    let journal = before.add_stream("own.jsonl");
    for (event, received_at) in record {
        before.take_entry(event, *received_at, journal, 0).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    }
    before
}

/// Some orders of `count` things: the given one, the reverse, and each thing first with the rest shuffled.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut numbers = Numbers(7);
    let mut orders = vec![(0..count).collect::<Vec<_>>(), (0..count).rev().collect()];
    for first in 0..count {
        let mut rest: Vec<usize> = (0..count).filter(|other| *other != first).collect();
        let mut order = vec![first];
        while !rest.is_empty() {
            order.push(rest.swap_remove(numbers.below(rest.len())));
        }
        orders.push(order);
    }
    orders
}

/// Plays whole journals of a fixture into a live projection in an order, with a restart after the first `restart` of them.
fn play_in_order(fixture: &Fixture, order: &[usize], restart: Option<usize>) -> Vec<Row> {
    let now = end(fixture);
    let take = |live: &mut Live, journals: &[usize]| {
        for &journal in journals {
            let journal = &fixture.journals[journal];
            live.take(&fixture.folder.join(&journal.path), &journal.bytes, now);
            live.settle(now);
        }
    };
    let mut live = Live::new(config(), Content::Titles, None, true);
    take(&mut live, &order[..restart.unwrap_or(0)]);
    let mut record = live.take_record();
    if restart.is_some() {
        live = Live::new(config(), Content::Titles, Some(replayed(&record)), true);
    }
    take(&mut live, order);
    live.tick(now, false);
    record.extend(live.take_record());
    let kept = rows(replayed(&record).projector().records(), &BesideAll::new());
    assert_eq!(who_is_whose(&kept), who_is_whose(&live.rows()), "{} {order:?}: its journal", fixture.name);
    live.rows()
}

/// What does not depend on how much of the session was read when an agent was first shown.
fn who_is_whose(rows: &[Row]) -> Value {
    let mut rows = shown(rows);
    for row in rows.as_array_mut().unwrap() {
        // What is read after the end of its agent was told is history, which says neither what it did last nor since when.
        let kept = [
            "key",
            "childId",
            "parentKey",
            "rootKey",
            "sessionId",
            "title",
            "model",
            "state",
            "liveChildren",
        ];
        row.as_object_mut().unwrap().retain(|member, _| kept.contains(&member.as_str()));
    }
    rows
}

#[test]
fn the_order_in_which_journals_are_read_does_not_matter() {
    let mut wrong = Vec::new();
    let mut played = 0;
    for fixture in all().iter().filter(|fixture| fixture.journals.len() > 1) {
        let mut whole = fixture.run(&mut |_, _| {});
        let expected = who_is_whose(&whole.rows(end(fixture)));
        for order in orders(fixture.journals.len()) {
            for restart in [None, Some(1), Some(2)] {
                let found = who_is_whose(&play_in_order(fixture, &order, restart));
                let found = differences(&found, &expected);
                wrong.extend(
                    found.iter().map(|text| format!("{} {order:?} {restart:?} {text}", fixture.name)),
                );
                played += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played > 100, "{played}");
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

#[test]
fn a_journal_that_is_replaced_by_the_same_bytes_changes_nothing() {
    for fixture in all() {
        let path = |journal: usize| fixture.folder.join(&fixture.journals[journal].path);
        let mut live = Live::new(config(), Content::Titles, None, true);
        let end = end(&fixture);
        for (journal, file) in fixture.journals.iter().enumerate() {
            live.take(&path(journal), &file.bytes, end);
        }
        live.settle(end);
        let before = shown(&live.rows());
        for (journal, file) in fixture.journals.iter().enumerate() {
            live.replace(&path(journal));
            // Cut inside its first line, and the rest a moment later.
            live.take(&path(journal), &file.bytes[..10], end);
            live.settle(end);
            live.take(&path(journal), &file.bytes[10..], end);
            live.settle(end);
        }
        let found = differences(&shown(&live.rows()), &before);
        assert!(found.is_empty(), "{}: {found:?}", fixture.name);
    }
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
