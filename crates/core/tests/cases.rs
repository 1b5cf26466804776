//! The cases of the field that a Claude Code journal or a stream can show, through the whole pipeline, under their ids.

use std::path::Path;

use agent_lifecycle_core::agent::Outcome;
use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::decode::{DiagnosticCode, JsonlParser};
use agent_lifecycle_core::pipeline::{JournalId, Outcome as Became, Pipeline};
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_core::project::{Config, Note, Projector, Status};
use agent_lifecycle_core::providers::claude_code::ClaudeCode;
use agent_lifecycle_core::providers::{Recognized, Role, Told, recognize};
use agent_lifecycle_fixtures::{Fixture, Format, Journals, fallback};
use serde_json::{Value, json};

/// A session that is read as it is written.
struct Story {
    pipeline: Pipeline,
    root: JournalId,
    agents: Vec<(String, JournalId)>,
    lines: u32,
    events: Vec<(Status, Option<Note>)>,
}

fn at(second: u32) -> Moment {
    Moment::parse("2026-03-02T08:00:00Z").unwrap().plus_millis(i64::from(second) * 1000)
}

impl Story {
    fn new() -> Self {
        let mut pipeline = Pipeline::new(Config::default(), Content::Titles);
        let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
        let root = pipeline.add_journal("root.jsonl", &ClaudeCode, recognized, Told::default());
        Self { pipeline, root, agents: Vec::new(), lines: 0, events: Vec::new() }
    }

    /// Adds a line to a journal at a second, with an id of its own.
    fn write(&mut self, journal: JournalId, second: u32, mut record: Value) {
        self.lines += 1;
        record["sessionId"] = "s".into();
        record["uuid"] = format!("uuid-{}", self.lines).into();
        record["timestamp"] = at(second).to_text().into();
        self.pipeline.push(journal, format!("{record}\n").as_bytes());
        let events = &mut self.events;
        self.pipeline.settle(fallback(), None, &mut |_: &Event<'_>, became: &Became| {
            let applied = became.as_ref().unwrap();
            events.push((applied.status, applied.note));
        });
    }

    fn say(&mut self, second: u32, record: Value) {
        self.write(self.root, second, record);
    }

    fn prompt(&mut self, second: u32) {
        let id = format!("p{second}");
        self.say(
            second,
            json!({"type": "user", "promptId": id, "message": {"role": "user", "content": "Go."}}),
        );
    }

    fn end_turn(&mut self, second: u32) {
        self.say(second, message(second, &json!([{"type": "text", "text": "Done."}]), "end_turn"));
    }

    fn call(&mut self, second: u32, id: &str, name: &str) {
        let block = json!([{"type": "tool_use", "id": id, "name": name, "input": {"description": id, "run_in_background": true}}]);
        self.say(second, message(second, &block, "tool_use"));
    }

    fn result(&mut self, second: u32, id: &str, details: &Value) {
        let block = json!([{"type": "tool_result", "tool_use_id": id, "content": "x"}]);
        let record =
            json!({"type": "user", "message": {"role": "user", "content": block}, "toolUseResult": details});
        self.say(second, record);
    }

    /// Launches a sub-agent in the background, with a journal of its own.
    fn launch(&mut self, second: u32, id: &str) {
        self.call(second, id, "Agent");
        let details = json!({"isAsync": true, "status": "async_launched", "agentId": format!("agent-{id}")});
        self.result(second, id, &details);
        let role = Role::Child { agent_id: format!("agent-{id}") };
        let recognized = Recognized { session_id: "s".to_owned(), role, parent: None };
        let journal =
            self.pipeline.add_journal(format!("{id}.jsonl"), &ClaudeCode, recognized, Told::default());
        self.agents.push((id.to_owned(), journal));
    }

    /// A line of a sub-agent's own.
    fn progress(&mut self, second: u32, id: &str) {
        let journal = self.agents.iter().find(|(known, _)| known == id).unwrap().1;
        let mut record = message(second, &json!([{"type": "text", "text": "..."}]), "tool_use");
        record["isSidechain"] = true.into();
        record["agentId"] = format!("agent-{id}").into();
        self.write(journal, second, record);
    }

    fn notify(&mut self, second: u32, id: &str, status: &str) {
        let text = format!(
            "<task-notification>\n<task-id>agent-{id}</task-id>\n<tool-use-id>{id}</tool-use-id>\n<status>{status}</status>\n</task-notification>"
        );
        self.say(second, json!({"type": "queue-operation", "operation": "enqueue", "content": text}));
    }

    fn rows(&mut self, second: u32) -> Vec<Row> {
        self.pipeline.projector_mut().mark_stale(at(second));
        rows(self.pipeline.projector().records(), self.pipeline.beside())
    }
}

fn message(id: u32, content: &Value, stop: &str) -> Value {
    json!({"type": "assistant", "message": {
        "id": format!("m{id}"), "role": "assistant", "model": "opus", "content": content, "stop_reason": stop,
    }})
}

fn state(row: &Row) -> (State, Option<WaitingReason>) {
    (row.state, row.waiting_reason)
}

const PROMPT: (State, Option<WaitingReason>) = (State::Waiting, Some(WaitingReason::Prompt));
const CHILD: (State, Option<WaitingReason>) = (State::Waiting, Some(WaitingReason::Child));
const QUESTION: (State, Option<WaitingReason>) = (State::Waiting, Some(WaitingReason::Question));
const RUNNING: (State, Option<WaitingReason>) = (State::Running, None);

fn last_turn(row: &Row) -> Option<&'static str> {
    row.turn.as_ref()?.outcome.map(Outcome::as_str)
}

#[test]
fn s1_silence_is_stale_after_the_deadline_and_nothing_more() {
    let mut story = Story::new();
    story.prompt(0);
    assert!(!story.rows(119)[0].freshness.stale);
    let rows = story.rows(120);
    assert_eq!(state(&rows[0]), RUNNING);
    let freshness = &rows[0].freshness;
    assert_eq!(
        (freshness.stale, freshness.reason.as_deref(), freshness.reconcile),
        (true, Some("silence"), Some("unavailable"))
    );
    assert_eq!(state(&story.rows(1_000_000)[0]), RUNNING, "silence alone ends nothing");
}

#[test]
fn s2_parent_turn_ended_and_one_child_live() {
    let mut story = Story::new();
    story.prompt(0);
    story.launch(1, "one");
    story.progress(2, "one");
    story.end_turn(3);
    let rows = story.rows(4);
    assert_eq!((state(&rows[0]), rows[0].live_children, last_turn(&rows[0])), (CHILD, 1, Some("success")));
    assert!(rows[0].attention.is_none(), "nobody is asked for anything");
    assert_eq!(state(&rows[1]), RUNNING);
    story.notify(5, "one", "completed");
    let rows = story.rows(5);
    assert_eq!((state(&rows[0]), rows[0].live_children), (PROMPT, 0));
    assert_eq!((rows[1].state, rows[1].state_since), (State::Completed, at(5)));
    story.progress(7, "one");
    assert_eq!(story.events.last(), Some(&(Status::TerminalImmutable, Some(Note::LateEvidence))));
    let rows = story.rows(7);
    assert_eq!((rows[1].state, rows[1].state_since), (State::Completed, at(5)));
    assert!(rows[1].late_evidence > 0);
    assert_eq!((state(&rows[0]), rows.len()), (PROMPT, 2));
}

#[test]
fn s3_three_in_the_background() {
    let mut story = Story::new();
    story.prompt(0);
    for (second, id) in [(1, "one"), (2, "two"), (3, "three")] {
        story.launch(second, id);
    }
    let duration = json!({"type": "system", "subtype": "turn_duration", "pendingBackgroundAgentCount": 3});
    story.say(4, duration);
    let rows = story.rows(4);
    assert_eq!((state(&rows[0]), rows[0].live_children, last_turn(&rows[0])), (CHILD, 3, Some("success")));
    assert!(rows[1..].iter().all(|row| state(row) == RUNNING));
    for (second, id, live) in [(5, "two", 2), (6, "three", 1), (7, "one", 0)] {
        story.notify(second, id, "completed");
        assert_eq!(story.rows(second)[0].live_children, live);
    }
    let rows = story.rows(7);
    assert_eq!((state(&rows[0]), last_turn(&rows[0])), (PROMPT, Some("success")));
    assert!(rows[1..].iter().all(|row| row.state == State::Completed));
}

#[test]
fn s4_a_silent_sub_agent_is_stale_and_runs_again_with_its_next_line() {
    let mut story = Story::new();
    story.prompt(0);
    story.launch(1, "one");
    story.progress(2, "one");
    for (second, stale) in [(33, false), (181, true)] {
        let rows = story.rows(second);
        assert_eq!((state(&rows[1]), rows[1].freshness.stale), (RUNNING, stale));
        assert_eq!(state(&rows[0]), RUNNING, "the parent does not flicker");
    }
    story.progress(182, "one");
    let rows = story.rows(182);
    assert_eq!((state(&rows[1]), rows[1].freshness.stale), (RUNNING, false));
    assert_eq!(state(&rows[0]), RUNNING);
}

#[test]
fn s5_a_wait_ends_with_its_own_answer_only() {
    let mut story = Story::new();
    story.prompt(0);
    story.call(1, "a1", "AskUserQuestion");
    story.call(2, "a2", "ExitPlanMode");
    story.call(3, "other", "Bash");
    story.result(4, "other", &json!({}));
    let waits = |rows: &[Row]| rows[0].waits.iter().map(|wait| wait.wait_id.clone()).collect::<Vec<_>>();
    let rows = story.rows(4);
    assert_eq!((state(&rows[0]), waits(&rows)), (QUESTION, vec!["a1".to_owned(), "a2".to_owned()]));
    story.result(5, "a1", &json!({}));
    let rows = story.rows(5);
    assert_eq!((state(&rows[0]), waits(&rows)), (QUESTION, vec!["a2".to_owned()]));
    story.result(6, "a2", &json!({}));
    let rows = story.rows(6);
    assert_eq!((state(&rows[0]), rows[0].state_since, waits(&rows)), (RUNNING, at(6), vec![]));
}

#[test]
fn s7_a_killed_sub_agent_is_cancelled_and_one_that_was_left_is_live() {
    let mut story = Story::new();
    story.prompt(0);
    story.launch(1, "killed");
    story.launch(2, "left");
    story.end_turn(3);
    story.notify(4, "killed", "killed");
    let rows = story.rows(4000);
    assert_eq!(rows[1].state, State::Cancelled);
    // Nobody said that it ended: not completed, and not lost without an authority.
    assert_eq!((state(&rows[2]), rows[2].freshness.stale), (RUNNING, true));
    assert_eq!((state(&rows[0]), rows[0].live_children), (CHILD, 1));
}

#[test]
fn s11_lost_then_a_late_completion() {
    let event = |id: u32, kind: &str, state: &str| {
        json!({"schemaVersion": 1, "eventId": id.to_string(), "source": "a", "sourceEpoch": "e", "childId": "c",
            "lineage": {"rootChildId": "c", "attempt": 1, "external": false}, "kind": kind, "state": state,
            "observedAt": at(id).to_text(), "sequence": id})
        .to_string()
            + "\n"
    };
    let stream = [
        event(1, "created", "created"),
        event(2, "state_changed", "starting"),
        event(3, "terminal", "lost"),
        event(4, "terminal", "completed"),
    ];
    let (mut parser, mut projector) = (JsonlParser::default(), Projector::new(Config::default()));
    let mut became = Vec::new();
    parser.push(stream.concat().as_bytes(), &mut |event, _| {
        let applied = projector.apply(&event, None).unwrap();
        became.push((applied.status, applied.note));
    });
    assert_eq!(became.last(), Some(&(Status::TerminalImmutable, Some(Note::LateEvidence))));
    let rows = rows(projector.records(), &BesideAll::new());
    assert_eq!((rows[0].state, rows[0].state_since, rows[0].late_evidence), (State::Lost, at(3), 1));
}

#[test]
fn s13_old_journals_are_stale_and_never_red() {
    let mut idle = Story::new();
    idle.prompt(0);
    idle.end_turn(1);
    let mut working = Story::new();
    working.prompt(0);
    working.launch(1, "one");
    for story in [&mut idle, &mut working] {
        for row in story.rows(90 * 86_400) {
            assert!(!row.state.is_terminal() && row.freshness.stale, "{row:?}");
        }
    }
}

#[test]
fn d1_a_record_counts_when_its_line_ends() {
    let mut story = Story::new();
    story.prompt(0);
    let line = r#"{"type":"assistant","sessionId":"s","uuid":"d1","timestamp":"2026-03-02T08:00:01Z","message":{"id":"m","content":[{"type":"text","text":"spl"#;
    let mut none = 0;
    for piece in [line, "it\"}],\"stop_reason\":\"end_turn\"}}"] {
        story.pipeline.push(story.root, piece.as_bytes());
        story.pipeline.settle(fallback(), None, &mut |_, _| none += 1);
    }
    assert_eq!((none, state(&story.rows(1)[0])), (0, RUNNING));
    story.pipeline.push(story.root, b"\n{\"type\":\n");
    story.pipeline.settle(fallback(), None, &mut |_, _| {});
    assert_eq!(state(&story.rows(1)[0]), PROMPT);
    let (_, log) = story.pipeline.diagnostics().next().unwrap();
    let expected = log.kept().iter().map(|fault| (fault.code, fault.length)).collect::<Vec<_>>();
    assert_eq!(expected, [(DiagnosticCode::Malformed, 8)]);
}

#[test]
fn d3_a_lone_surrogate_does_not_lose_the_end_of_a_turn() {
    let mut story = Story::new();
    story.prompt(0);
    let line = r#"{"type":"assistant","sessionId":"s","uuid":"d3","timestamp":"2026-03-02T08:00:01Z","message":{"id":"m","content":[{"type":"text","text":"ok \ud83d"}],"stop_reason":"end_turn"}}"#;
    story.pipeline.push(story.root, format!("{line}\n").as_bytes());
    story.pipeline.settle(fallback(), None, &mut |_, _| {});
    let rows = story.rows(1);
    assert_eq!((state(&rows[0]), last_turn(&rows[0])), (PROMPT, Some("success")));
    assert!(rows[0].diagnostics.is_empty());
}

#[test]
fn d4_a_line_of_16_mib_is_one_diagnostic() {
    let mut story = Story::new();
    story.prompt(0);
    let block = vec![b'x'; 1 << 20];
    story.pipeline.push(story.root, b"{\"type\":\"user\",\"text\":\"");
    for _ in 0..16 {
        story.pipeline.push(story.root, &block);
    }
    story.pipeline.push(story.root, b"\"}\n");
    story.end_turn(1);
    assert_eq!(state(&story.rows(1)[0]), PROMPT);
    let (_, log) = story.pipeline.diagnostics().next().unwrap();
    let [fault] = log.kept() else { panic!("{log:?}") };
    assert_eq!((fault.code, fault.length), (DiagnosticCode::Oversize, (16 << 20) + 25));
    assert!(fault.offset > 0);
}

/// The rows of a fixture's journals with other bytes, read in chunks of `size`.
fn read(fixture: &Fixture, change: impl Fn(&[u8]) -> Vec<u8>, size: usize) -> Value {
    let Format::Journals(provider) = fixture.format else { panic!("{} has no journals", fixture.name) };
    let mut journals = Journals::new(provider, &fixture.journals);
    for (at, journal) in fixture.journals.iter().enumerate() {
        for chunk in change(&journal.bytes).chunks(size) {
            journals.push(at, chunk);
        }
    }
    journals.end();
    journals.settle(fallback(), &mut |_, _| {});
    serde_json::to_value(journals.rows(at(1_000_000))).unwrap()
}

fn with_journals() -> impl Iterator<Item = Fixture> {
    let fixtures = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    fixtures.into_iter().filter(|fixture| matches!(fixture.format, Format::Journals(_)))
}

#[test]
fn d7_chunks_do_not_matter() {
    for fixture in with_journals() {
        let whole = read(&fixture, <[u8]>::to_vec, usize::MAX);
        for size in [1, 7, 4096, 65_536] {
            assert_eq!(read(&fixture, <[u8]>::to_vec, size), whole, "{} in chunks of {size}", fixture.name);
        }
    }
}

#[test]
fn d8_a_byte_order_mark_and_crlf_do_not_matter() {
    let crlf = |bytes: &[u8]| -> Vec<u8> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let ended = lines.flat_map(|line| match line.strip_suffix(b"\n") {
            Some(line) => [line.strip_suffix(b"\r").unwrap_or(line), b"\r\n"].concat(),
            None => line.to_vec(),
        });
        b"\xef\xbb\xbf".iter().copied().chain(ended).collect()
    };
    for fixture in with_journals() {
        let plain = read(&fixture, <[u8]>::to_vec, 4096);
        for size in [1, 2, 4096] {
            assert_eq!(read(&fixture, crlf, size), plain, "{} in chunks of {size}", fixture.name);
        }
    }
}

#[test]
fn d9_nul_padding_loses_no_record() {
    let padded = |bytes: &[u8]| {
        let mut padded = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            padded.extend_from_slice(content);
            padded.extend_from_slice(b"\0\0\0\0\n");
        }
        padded.extend_from_slice(&[0; 4096]);
        padded
    };
    for fixture in with_journals().filter(|fixture| !fixture.name.ends_with("nul-padding-and-junk")) {
        let (mut plain, mut found) = (read(&fixture, <[u8]>::to_vec, 4096), read(&fixture, padded, 4096));
        if let [journal] = &fixture.journals[..] {
            let lines = journal.bytes.split(|byte| *byte == b'\n').count() - 1;
            // A sub-agent that only its parent tells of has no journal.
            let own = found.as_array().unwrap().iter().filter(|row| !row["transcript"].is_null());
            assert!(own.clone().count() > 0, "{}", fixture.name);
            for row in own {
                let expected = json!({"nul_padding": lines, "truncated": 1});
                assert_eq!(row["diagnostics"], expected, "{}", fixture.name);
            }
        }
        for row in found.as_array_mut().unwrap().iter_mut().chain(plain.as_array_mut().unwrap()) {
            row["diagnostics"] = Value::Null;
        }
        assert_eq!(found, plain, "{}", fixture.name);
    }
}

#[test]
fn d10_nothing_is_no_record_and_no_error() {
    for bytes in [&b""[..], b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n \t\n"] {
        assert!(recognize(bytes).is_none());
        let mut story = Story::new();
        story.pipeline.push(story.root, bytes);
        story.pipeline.end(story.root);
        story.pipeline.settle(fallback(), None, &mut |event, _| panic!("{event:?}"));
        assert!(story.rows(1).is_empty());
        assert!(story.pipeline.diagnostics().all(|(_, log)| log.total() == 0));
    }
}
