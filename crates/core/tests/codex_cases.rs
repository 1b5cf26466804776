//! The cases of the field that a Codex rollout can show, through the whole pipeline, under their ids; and orders of reading.

use agent_lifecycle_core::agent::Outcome;
use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::{JournalId, Pipeline};
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::{Row, rows};
use agent_lifecycle_core::providers::{Provider, Told, codex::Codex};
use agent_lifecycle_fixtures::fallback;
use serde_json::{Value, json};

/// A session that is read as it is written.
struct Story {
    pipeline: Pipeline,
}

fn at(second: u32) -> String {
    format!("2026-03-02T08:{:02}:{:02}.000Z", second / 60, second % 60)
}

fn meta(thread: &str, parent: Option<&str>) -> Value {
    let mut payload = json!({"id": thread, "timestamp": at(0), "session_id": "s"});
    if let Some(parent) = parent {
        payload["source"] = json!({"subagent": {"thread_spawn": {"parent_thread_id": parent}}});
    }
    json!({"type": "session_meta", "payload": payload})
}

fn event(kind: &str, mut payload: Value) -> Value {
    payload["type"] = kind.into();
    json!({"type": "event_msg", "payload": payload})
}

fn start(turn: &str) -> Value {
    event("task_started", json!({"turn_id": turn, "started_at": 1_772_438_400}))
}

fn done(turn: &str) -> Value {
    event("task_complete", json!({"turn_id": turn}))
}

fn abort(turn: &str) -> Value {
    event("turn_aborted", json!({"turn_id": turn, "reason": "interrupted"}))
}

fn activity(kind: &str) -> Value {
    event("sub_agent_activity", json!({"kind": kind, "agent_thread_id": "c"}))
}

impl Story {
    fn new() -> Self {
        Self { pipeline: Pipeline::new(Config::default(), Content::Titles) }
    }

    fn journal(&mut self, thread: &str, parent: Option<&str>) -> JournalId {
        let recognized = Codex.recognize(meta(thread, parent).to_string().as_bytes()).unwrap();
        self.pipeline.add_journal(format!("{thread}.jsonl"), &Codex, recognized, Told::default())
    }

    fn write(&mut self, journal: JournalId, second: u32, mut record: Value) {
        record["timestamp"] = at(second).into();
        self.pipeline.push(journal, format!("{record}\n").as_bytes());
    }

    fn settle(&mut self) -> Vec<Row> {
        self.pipeline.settle(fallback(), None, &mut |_, became| {
            became.as_ref().unwrap();
        });
        self.pipeline.projector_mut().mark_stale(Moment::parse(&at(60)).unwrap());
        rows(self.pipeline.projector().records(), self.pipeline.beside())
    }

    fn say(&mut self, journal: JournalId, second: u32, record: Value) -> Vec<Row> {
        self.write(journal, second, record);
        self.settle()
    }
}

fn state(row: &Row) -> (State, Option<WaitingReason>) {
    (row.state, row.waiting_reason)
}

const PROMPT: (State, Option<WaitingReason>) = (State::Waiting, Some(WaitingReason::Prompt));
const RUNNING: (State, Option<WaitingReason>) = (State::Running, None);

fn outcomes(row: &Row) -> Vec<Option<&'static str>> {
    row.turns.recent.iter().map(|turn| turn.outcome.map(Outcome::as_str)).collect()
}

#[test]
fn s6_an_aborted_turn_is_cancelled_and_a_next_one_runs() {
    let mut story = Story::new();
    let root = story.journal("s", None);
    assert_eq!(state(&story.say(root, 0, meta("s", None))[0]), (State::Starting, None));
    assert_eq!(state(&story.say(root, 1, start("t1"))[0]), RUNNING);
    let rows = story.say(root, 2, abort("t1"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (PROMPT, vec![Some("cancelled")]));
    let rows = story.say(root, 3, start("t2"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (RUNNING, vec![Some("cancelled"), None]));
    // The end of a turn that is over ends nothing else.
    assert_eq!(state(&story.say(root, 4, abort("t1"))[0]), RUNNING);
    let rows = story.say(root, 5, done("t2"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (PROMPT, vec![Some("cancelled"), Some("success")]));
}

#[test]
fn d3_a_lone_surrogate_does_not_lose_the_end_of_a_turn() {
    let mut story = Story::new();
    let root = story.journal("s", None);
    story.write(root, 0, meta("s", None));
    story.write(root, 1, start("t"));
    let line = r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"ok \ud83d"}}"#;
    story.pipeline.push(root, format!("{line}\n").as_bytes());
    let rows = story.settle();
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (PROMPT, vec![Some("success")]));
    assert!(rows[0].diagnostics.is_empty());
}

#[test]
fn a_session_that_does_not_end_its_turn_before_it_is_closed_is_asked_about() {
    let mut story = Story::new();
    let root = story.journal("s", None);
    story.write(root, 0, meta("s", None));
    story.write(root, 1, start("t"));
    let rows = story.say(root, 2, event("shutdown_complete", json!({})));
    assert!(!rows[0].state.is_terminal(), "nobody said how the turn ended");
    let rows = story.say(root, 3, done("t"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (PROMPT, vec![Some("success")]));
}

/// Both journals tell of one sub-agent that ran from second 1 to second 5: whichever is read first, it had one life and one end.
#[test]
fn two_journals_about_one_sub_agent_in_any_order_of_reading() {
    for order in [[0, 1], [1, 0], [2, 2]] {
        let mut story = Story::new();
        let (root, child) = (story.journal("s", None), story.journal("c", Some("s")));
        for turn in order {
            if turn != 1 {
                for (second, record) in [
                    (0, meta("s", None)),
                    (0, start("r")),
                    (1, activity("started")),
                    (6, activity("completed")),
                ] {
                    story.write(root, second, record);
                }
            }
            if turn != 0 {
                for (second, record) in [(2, meta("c", Some("s"))), (3, start("t")), (5, done("t"))] {
                    story.write(child, second, record);
                }
            }
            story.settle();
            if turn == 2 {
                break;
            }
        }
        let rows = story.settle();
        let [_, child] = &rows[..] else { panic!("{order:?}: {rows:?}") };
        assert_eq!((child.state, child.attempt, child.late_evidence), (State::Completed, 1, 0), "{order:?}");
        assert_eq!(child.parent_key.as_deref(), Some("codex/s"), "{order:?}");
    }
}

#[test]
fn an_interrupted_sub_agent_that_is_prompted_again_is_a_second_attempt() {
    let mut story = Story::new();
    let (root, child) = (story.journal("s", None), story.journal("c", Some("s")));
    story.write(root, 0, meta("s", None));
    story.write(root, 0, start("r"));
    story.write(child, 1, meta("c", Some("s")));
    let rows = story.settle();
    assert_eq!(state(&rows[1]), (State::Created, None));
    assert_eq!(state(&story.say(child, 2, start("t"))[1]), RUNNING);
    let rows = story.say(root, 4, activity("interrupted"));
    assert_eq!((rows[1].state, rows[0].live_children), (State::Cancelled, 0));
    let rows = story.say(child, 6, start("u"));
    assert_eq!((state(&rows[1]), rows[1].attempt, rows[0].live_children), (RUNNING, 2, 1));
    let rows = story.say(child, 8, done("u"));
    assert_eq!((rows[1].state, rows[1].attempt, rows[1].turns.count), (State::Completed, 2, 1));
}

#[test]
fn a_sub_agent_ends_with_its_last_open_turn() {
    let mut story = Story::new();
    let (root, child) = (story.journal("s", None), story.journal("c", Some("s")));
    story.write(root, 0, meta("s", None));
    story.write(root, 1, start("r"));
    story.write(child, 2, meta("c", Some("s")));
    story.write(child, 3, start("t"));
    story.write(child, 4, start("u"));
    let rows = story.say(child, 5, abort("u"));
    assert_eq!((state(&rows[1]), rows[0].live_children), (RUNNING, 1));
    assert_eq!(outcomes(&rows[1]), [None, Some("cancelled")]);
    let rows = story.say(child, 6, done("t"));
    assert_eq!((rows[1].state, rows[1].attempt, rows[1].late_evidence), (State::Completed, 1, 0));
    assert_eq!(outcomes(&rows[1]), [Some("success"), Some("cancelled")]);
    // The root alike, and what it does late counts for the turn that is left.
    story.write(root, 7, start("r2"));
    let rows = story.say(root, 8, done("r2"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (RUNNING, vec![None, Some("success")]));
    let call = json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "x"}});
    assert_eq!(story.say(root, 9, call)[0].tools.open.len(), 1);
    let rows = story.say(root, 10, abort("r"));
    assert_eq!((state(&rows[0]), rows[0].tools.open.len()), (PROMPT, 0));
    assert_eq!(outcomes(&rows[0]), [Some("cancelled"), Some("success")]);
}

#[test]
fn a_closed_session_leaves_no_turn_open() {
    let mut story = Story::new();
    let root = story.journal("s", None);
    story.write(root, 0, meta("s", None));
    story.write(root, 1, start("t"));
    story.write(root, 2, event("shutdown_complete", json!({})));
    story.write(root, 3, start("u"));
    let rows = story.say(root, 4, done("u"));
    assert_eq!((state(&rows[0]), outcomes(&rows[0])), (PROMPT, vec![None, Some("success")]));
}

#[test]
fn the_session_is_not_its_own_sub_agent() {
    let mut story = Story::new();
    let (root, child) = (story.journal("s", None), story.journal("c", Some("s")));
    let about =
        |thread: &str| event("sub_agent_activity", json!({"kind": "started", "agent_thread_id": thread}));
    story.write(root, 0, meta("s", None));
    story.write(root, 1, start("r"));
    story.write(root, 2, about("s"));
    story.write(child, 3, meta("c", Some("s")));
    story.write(child, 4, start("t"));
    story.write(child, 5, about("s"));
    let rows = story.say(child, 6, about("c"));
    assert_eq!(rows.iter().map(|row| row.child_id.as_str()).collect::<Vec<_>>(), ["s", "c"]);
}
