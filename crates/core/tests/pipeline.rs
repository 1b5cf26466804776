//! Journals through the pipeline: what a record without a time gets, what a row keeps of the last line, chunks and order.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::{Outcome, Pipeline};
use agent_lifecycle_core::project::rows::{Row, rows};
use agent_lifecycle_core::project::{Config, Status};
use agent_lifecycle_core::providers::{Told, recognize};

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// The rows of a root's journal that was read at once, without marking anything stale.
fn rows_of(journal: &str) -> Vec<Row> {
    let mut pipeline = Pipeline::new(Config::default(), Content::Titles);
    let id = {
        let (provider, recognized) = recognize(journal.as_bytes()).unwrap();
        pipeline.add_journal("root.jsonl", provider, recognized, Told::default())
    };
    pipeline.push(id, journal.as_bytes());
    pipeline.settle(at("2026-01-01T00:00:00Z"), None, &mut |_: &Event<'_>, outcome: &Outcome| {
        assert_eq!(outcome.as_ref().unwrap().status, Status::Applied);
    });
    rows(pipeline.projector().records(), pipeline.beside())
}

fn user(second: u32) -> String {
    format!(
        r#"{{"type":"user","sessionId":"s","uuid":"u{second}","timestamp":"2026-03-02T08:00:{second:02}Z","promptId":"p{second}","message":{{"role":"user","content":"Go on."}}}}"#
    )
}

fn assistant(second: u32, stop: &str, output: u32) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"s","uuid":"a{second}","timestamp":"2026-03-02T08:00:{second:02}Z","message":{{"id":"m","role":"assistant","model":"opus","content":[{{"type":"text","text":"Done."}}],"stop_reason":{stop},"usage":{{"input_tokens":1,"output_tokens":{output}}}}}}}"#
    )
}

const TITLE: &str = r#"{"type":"ai-title","aiTitle":"A title","sessionId":"s"}"#;

fn system(second: u32) -> String {
    format!(
        r#"{{"type":"system","subtype":"turn_duration","sessionId":"s","uuid":"s{second}","timestamp":"2026-03-02T08:00:{second:02}Z"}}"#
    )
}

#[test]
fn usage_is_that_of_the_last_line_of_a_message_although_nothing_follows() {
    let end = r#""end_turn""#;
    for second_stop in [end, "null"] {
        let journal = [user(1), assistant(2, end, 10), assistant(3, second_stop, 25), String::new()];
        let rows = rows_of(&journal.join("\n"));
        assert_eq!(rows[0].usage.as_ref().map(|usage| usage.output), Some(25));
        assert_eq!(rows[0].freshness.at, at("2026-03-02T08:00:03Z"));
    }
}

#[test]
fn an_untimed_record_takes_the_time_of_the_record_before_it_whatever_that_said() {
    let end = r#""end_turn""#;
    let journal = [user(1), assistant(2, end, 1), system(7), TITLE.to_owned(), String::new()];
    let rows = rows_of(&journal.join("\n"));
    assert_eq!(rows[0].title.as_deref(), Some("A title"));
    assert_eq!(rows[0].freshness.at, at("2026-03-02T08:00:07Z"));
    // The end of the turn is that of the message all the same.
    assert_eq!(rows[0].state_since, at("2026-03-02T08:00:02Z"));
}

#[test]
fn an_untimed_first_record_takes_the_first_time_that_follows_whatever_has_it() {
    let journal = [TITLE.to_owned(), system(1), user(5), String::new()];
    let rows = rows_of(&journal.join("\n"));
    assert_eq!(rows[0].started_at, at("2026-03-02T08:00:01Z"));
    assert_eq!(rows[0].freshness.at, at("2026-03-02T08:00:05Z"));
}

#[test]
fn a_session_has_a_bounded_number_of_children() {
    const LAUNCHES: u32 = 17_000;
    let launch = |launch: u32| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","uuid":"l{launch}","timestamp":"2026-03-02T08:00:02.{launch:05}Z","message":{{"id":"m","content":[{{"type":"tool_use","id":"t{launch}","name":"Agent","input":{{"prompt":"Look."}}}}]}}}}"#
        )
    };
    let lines: Vec<String> = std::iter::once(user(1)).chain((0..LAUNCHES).map(launch)).collect();
    let rows = rows_of(&(lines.join("\n") + "\n"));
    assert_eq!(rows.len(), agent_lifecycle_core::bridge::CHILDREN);
    let beyond = u64::from(LAUNCHES) + 1 - rows.len() as u64;
    assert_eq!(rows[0].diagnostics.get("too_many_children"), Some(&beyond));
    assert_eq!(rows[0].live_children, rows.len() - 1);
}

#[test]
fn a_superseded_turn_leaves_nothing_open() {
    let call = |uuid: &str, tool: &str, name: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","uuid":"{uuid}","timestamp":"2026-03-02T08:00:02Z","message":{{"id":"m","content":[{{"type":"tool_use","id":"{tool}","name":"{name}","input":{{}}}}]}}}}"#
        )
    };
    let begun = [user(1), call("b", "t1", "Bash"), call("q", "t2", "AskUserQuestion")];
    let [row] = &rows_of(&(begun.join("\n") + "\n"))[..] else { panic!("one row") };
    assert_eq!((row.tools.open.len(), row.waits.len()), (1, 1));
    assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Question)));

    let superseded = [begun.join("\n"), user(3)].join("\n") + "\n";
    let [row] = &rows_of(&superseded)[..] else { panic!("one row") };
    assert_eq!((row.tools.open.len(), row.waits.len()), (0, 0));
    assert_eq!((row.state, row.waiting_reason), (State::Running, None));
    assert_eq!(row.turns.recent.iter().map(|turn| turn.outcome).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn a_late_line_of_an_earlier_message_counts_its_tokens_once() {
    let says = |uuid: &str, message: &str, tokens: u32| {
        format!(
            r#"{{"type":"assistant","sessionId":"s","uuid":"{uuid}","timestamp":"2026-03-02T08:00:02Z","message":{{"id":"{message}","usage":{{"input_tokens":{tokens},"output_tokens":1}},"content":[{{"type":"text","text":"x"}}]}}}}"#
        )
    };
    let lines =
        [user(1), says("a", "m1", 100), says("b", "m2", 10), says("c", "m1", 100), says("d", "m2", 20)];
    let [row] = &rows_of(&(lines.join("\n") + "\n"))[..] else { panic!("one row") };
    let usage = row.usage.clone().unwrap();
    assert_eq!((usage.input, usage.cached, usage.output), (120, 0, 2));
}
