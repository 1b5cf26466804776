//! The Codex fixtures cut after every line, line by line, byte by byte and twice.
//!
//! What a row must show at a cut is read from the lines themselves, by the few rules of [`Truth`], and not from the code.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Applied, Config, Note, Projector, Status};
use agent_lifecycle_fixtures::{Fixture, Journals, fallback};
use common::cuts::{self, Line, now, read, values};
use serde_json::Value;

fn fixtures() -> Vec<Fixture> {
    let all = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    let all: Vec<_> = all.into_iter().filter(|fixture| fixture.name.starts_with("codex/")).collect();
    assert!(all.len() >= 12, "found {} fixtures", all.len());
    all
}

/// The lines of all journals as they were written: by time, those without one behind the line before them.
fn lines(fixture: &Fixture) -> Vec<Line> {
    let mut all = Vec::new();
    for (journal, bytes) in fixture.journals.iter().map(|journal| &journal.bytes).enumerate() {
        let mut time = None;
        for bytes in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A lone surrogate is no JSON for serde_json; nothing here reads that text.
            let record: Value =
                serde_json::from_str(&String::from_utf8_lossy(bytes).replace("\\ud83d", "")).unwrap();
            time = time.max(record["timestamp"].as_str().and_then(Moment::parse));
            all.push(Line { journal, bytes: bytes.to_vec(), record, time });
        }
    }
    all.sort_by_key(|line| line.time);
    all
}

/// What the lines of one journal say by themselves, of its newest life.
#[derive(Debug, Default)]
struct Truth {
    id: String,
    /// The second before which a turn is another thread's.
    copies_before: Option<i64>,
    lives: u32,
    open: Option<String>,
    ended: BTreeSet<String>,
    /// Its last end, where nothing was begun since.
    outcome: Option<&'static str>,
    closed: bool,
    tools: BTreeMap<String, bool>,
    waits: Vec<(String, &'static str)>,
    /// Sub-agents that it tells of, with their ends.
    told: BTreeMap<String, Option<&'static str>>,
}

impl Truth {
    fn of<'a>(lines: impl Iterator<Item = &'a Line>, is_child: bool) -> Self {
        let mut truth = Self::default();
        for line in lines {
            truth.add(&line.record, is_child);
        }
        truth
    }

    fn add(&mut self, record: &Value, is_child: bool) {
        let payload = record.get("payload").unwrap_or(record);
        let text = |member: &str| payload[member].as_str().unwrap_or_default().to_owned();
        if record["type"] == "session_meta" || (self.id.is_empty() && record.get("payload").is_none()) {
            if self.id.is_empty() {
                self.id = text("id");
                if payload["forked_from_id"].is_string() || payload["source"].is_object() {
                    let created = Moment::parse(&text("timestamp")).unwrap();
                    self.copies_before = Some(created.millis_since(Moment::from_unix_millis(0)) / 1000);
                }
            }
            return;
        }
        let kind = text("type");
        if let Some(created) = self.copies_before {
            if kind != "task_started" || payload["started_at"].as_i64().unwrap() < created {
                return;
            }
            self.copies_before = None;
        }
        match kind.as_str() {
            "task_started" => self.begin(text("turn_id"), is_child),
            // In the oldest format; nothing there names a turn.
            "message"
                if record.get("payload").is_none()
                    && payload["role"] == "user"
                    && !payload["content"][0]["text"].as_str().unwrap().starts_with('<') =>
            {
                self.begin("unnamed".to_owned(), is_child);
            }
            "task_complete" => self.end(&text("turn_id"), "success"),
            "turn_aborted" => self.end(&text("turn_id"), "cancelled"),
            "error" => self.end(&self.open.clone().unwrap(), "error"),
            "shutdown_complete" => self.closed = true,
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                self.tools.insert(text("call_id"), true);
            }
            "exec_approval_request" | "apply_patch_approval_request" => {
                self.waits.push((text("call_id"), "permission"));
            }
            "request_user_input" => self.waits.push((text("call_id"), "question")),
            "sub_agent_activity" => {
                let told = self.told.entry(text("agent_thread_id")).or_default();
                match text("kind").as_str() {
                    "completed" => *told = told.or(Some("completed")),
                    "interrupted" => *told = told.or(Some("cancelled")),
                    _ => {}
                }
            }
            kind if kind.ends_with("_output") || kind.ends_with("_end") => {
                self.waits.retain(|(id, _)| *id != text("call_id"));
                self.tools.entry(text("call_id")).and_modify(|open| *open = false);
            }
            _ => {}
        }
    }

    fn begin(&mut self, turn: String, is_child: bool) {
        let is_new_life = self.lives == 0 || self.closed || (is_child && self.open.is_none());
        if is_new_life {
            self.lives += 1;
            self.tools.clear();
        }
        for open in self.tools.values_mut() {
            *open = false;
        }
        (self.open, self.outcome, self.closed) = (Some(turn), None, false);
        self.waits.clear();
    }

    fn end(&mut self, turn: &str, outcome: &'static str) {
        if !self.ended.insert(turn.to_owned()) || self.open.as_deref() != Some(turn) {
            return;
        }
        self.open = None;
        self.outcome = Some(outcome);
        self.waits.clear();
        for open in self.tools.values_mut() {
            *open = false;
        }
    }

    fn ended_as(&self) -> State {
        match self.outcome {
            Some("success") => State::Completed,
            Some("error") => State::Failed,
            _ => State::Cancelled,
        }
    }

    fn state(&self, is_child: bool, live_children: usize) -> (State, Option<WaitingReason>) {
        let waits = self.waits.first().map(|(_, reason)| WaitingReason::parse(reason).unwrap());
        match (self.lives, &self.open) {
            (0, _) => (if is_child { State::Created } else { State::Starting }, None),
            (_, Some(_)) if waits.is_some() => (State::Waiting, waits),
            (_, Some(_)) => (State::Running, None),
            (_, None) if is_child || self.closed => (self.ended_as(), None),
            (_, None) if live_children > 0 => (State::Waiting, Some(WaitingReason::Child)),
            (_, None) => (State::Waiting, Some(WaitingReason::Prompt)),
        }
    }
}

fn check(place: &str, rows: &[Row], lines: &[Line], journals: usize, last: &[Row]) {
    let truths: Vec<Truth> = (0..journals)
        .map(|at| Truth::of(lines.iter().filter(|line| line.journal == at), at > 0))
        .filter(|truth| !truth.id.is_empty())
        .collect();
    let (root, children) = truths.split_first().unwrap();
    let mut expected: BTreeMap<String, (State, Option<&Truth>)> = BTreeMap::new();
    for child in children {
        expected.insert(child.id.clone(), (child.state(true, 0).0, Some(child)));
    }
    for (id, end) in &root.told {
        let state = end.map_or(State::Created, |end| State::parse(end).unwrap());
        expected.entry(id.clone()).or_insert((state, None));
    }
    let live = expected.values().filter(|(state, _)| !state.is_terminal()).count();
    // Children of children count for their own parents.
    let nested = rows.iter().filter(|row| {
        row.parent_key.as_ref().is_some_and(|parent| *parent != rows[0].key) && !row.state.is_terminal()
    });
    let direct = live - nested.count();
    let row = &rows[0];
    assert_eq!((row.state, row.waiting_reason), root.state(false, direct), "{place}: the root");
    assert_eq!(row.live_children, direct, "{place}: live children");
    let shown: BTreeSet<String> = rows[1..].iter().map(base).collect();
    assert_eq!(shown, expected.keys().cloned().collect(), "{place}: the children");
    for row in &rows[1..] {
        let (state, truth) = expected[&base(row)];
        assert_eq!(row.state, state, "{place}: {}", row.key);
        if let Some(truth) = truth {
            tools(place, row, truth);
        }
    }
    tools(place, row, root);
    for row in rows {
        assert_eq!(row.late_evidence, 0, "{place}: {}", row.key);
        // What is said of an end at a cut is what is said of it in the end.
        let Some(end) = last.iter().find(|end| end.key == row.key) else { continue };
        assert!(!row.state.is_terminal() || row.state == end.state, "{place}: {}", row.key);
        for (turn, end) in row.turns.recent.iter().zip(&end.turns.recent) {
            assert_eq!(turn.turn_id, end.turn_id, "{place}");
            assert!(
                turn.outcome.is_none() || turn.outcome == end.outcome,
                "{place}: {turn:?} became {end:?}"
            );
        }
    }
}

/// The thread of a row, whichever life of it.
fn base(row: &Row) -> String {
    row.child_id.split('#').next().unwrap().to_owned()
}

fn tools(place: &str, row: &Row, truth: &Truth) {
    let count = truth.tools.len() as u64;
    assert_eq!(row.tools.count.unwrap_or(0), count, "{place}: tools of {}", row.key);
    let mut open: Vec<&str> = row.tools.open.iter().map(|tool| tool.tool_id.as_str()).collect();
    open.sort_unstable();
    let expected: Vec<&str> =
        truth.tools.iter().filter(|(_, open)| **open).map(|(id, _)| id.as_str()).collect();
    if !row.state.is_terminal() {
        assert_eq!(open, expected, "{place}: open tools of {}", row.key);
    }
}

#[test]
fn no_cut_shows_what_the_next_lines_disprove() {
    for fixture in fixtures() {
        let all = lines(&fixture);
        let last = read(&fixture, &all);
        for cut in 1..=all.len() {
            let place = format!("{} after {cut} lines", fixture.name);
            check(&place, &read(&fixture, &all[..cut]), &all[..cut], fixture.journals.len(), &last);
        }
        // A root that is read late changes nothing of what its sub-agents tell of themselves.
        let (root, below): (Vec<&Line>, Vec<&Line>) = all.iter().partition(|line| line.journal == 0);
        for cut in 1..=root.len() {
            let rows = read(&fixture, root[..cut].iter().copied().chain(below.iter().copied()));
            for row in last.iter().filter(|row| row.parent_key.is_some() && row.turn.is_some()) {
                let found = rows.iter().find(|found| found.key == row.key).unwrap();
                let state = (found.state, found.attempt, found.late_evidence, &found.turn, &found.parent_key);
                let expected = (row.state, row.attempt, row.late_evidence, &row.turn, &row.parent_key);
                assert_eq!(state, expected, "{} with {cut} lines of the root", fixture.name);
            }
        }
    }
}

/// Reads lines in pieces of `size` bytes (0: whole lines), settling after each, and hands over the rows after each line.
fn in_pieces(
    fixture: &Fixture,
    size: usize,
    fallback: Moment,
    after_line: impl FnMut(usize, &mut Journals),
) -> Vec<Event<'static>> {
    let fits = |became: &Applied| match became.status {
        Status::Applied => became.note.is_none(),
        Status::TerminalImmutable => became.note == Some(Note::History),
        _ => false,
    };
    cuts::in_pieces(fixture, &lines(fixture), size, fallback, fits, after_line)
}

#[test]
fn whole_by_line_and_by_byte_are_the_same_at_every_line() {
    let (early, late) = (fallback(), Moment::parse("2026-12-30T00:00:00Z").unwrap());
    for fixture in fixtures() {
        let mut whole = Vec::new();
        let rows = fixture.run(&mut |event, _| whole.push(event.to_static())).rows(now());
        let all = lines(&fixture);
        let ids: HashSet<&str> = whole.iter().map(|event| event.event_id.as_ref()).collect();
        assert_eq!(ids.len(), whole.len(), "{}: an id twice", fixture.name);
        for (size, fallback) in [(0, early), (0, late), (1, early)] {
            let mut seen = Value::Null;
            let events = in_pieces(&fixture, size, fallback, |at, journals| {
                let live = values(&journals.rows(now()));
                if at < all.len() && fallback == early {
                    let cut = values(&read(&fixture, &all[..=at]));
                    assert_eq!(live, cut, "{} after line {at} in pieces of {size}", fixture.name);
                }
                seen = live;
            });
            assert_eq!(seen, values(&rows), "{} in pieces of {size}", fixture.name);
            assert_eq!(events, whole, "{} in pieces of {size}", fixture.name);
        }
    }
}

#[test]
fn a_second_reading_changes_nothing() {
    for fixture in fixtures() {
        let mut whole = Vec::new();
        fixture.run(&mut |event, _| whole.push(event.to_static()));
        let by_line = in_pieces(&fixture, 0, fallback(), |_, _| {});
        for (first, second) in [(&whole, &whole), (&whole, &by_line), (&by_line, &whole)] {
            let mut projector = Projector::new(Config::default());
            for event in first {
                projector.apply(event, None).unwrap();
            }
            for event in second {
                let became = projector.apply(event, None).unwrap();
                assert_eq!(became.status, Status::Deduplicated, "{}: {event:?} {became:?}", fixture.name);
            }
        }
    }
}
