//! The Claude Code fixtures cut after every line, line by line, byte by byte and twice.
//!
//! What a row must show at a cut is read from the lines themselves, by the few rules of [`Truth`], and not from the code.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::Outcome as Became;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Config, Projector, Status};
use agent_lifecycle_core::providers::claude_code::ClaudeCode;
use agent_lifecycle_fixtures::{Fixture, Journals, fallback};
use serde_json::Value;

fn fixtures() -> Vec<Fixture> {
    let all = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    all.into_iter().filter(|fixture| fixture.name.starts_with("claude-code/")).collect()
}

/// Late enough for everything to be stale: no row then differs for its age.
fn now() -> Moment {
    Moment::parse("2026-12-31T00:00:00Z").unwrap()
}

/// A line of a journal, and the highest time in its journal up to it.
#[derive(Clone, Debug)]
struct Line {
    journal: usize,
    bytes: Vec<u8>,
    record: Value,
    time: Option<Moment>,
}

/// The lines of each journal, in order.
fn lines(fixture: &Fixture) -> Vec<Vec<Line>> {
    let of_journal = |(journal, bytes): (usize, &[u8])| {
        let mut time = None;
        let line = |bytes: &[u8]| {
            let content = bytes.split(|byte| matches!(byte, 0 | b'\r' | b'\n')).next().unwrap_or_default();
            // A lone surrogate is no JSON for serde_json; nothing here reads that text.
            let text = String::from_utf8_lossy(content).replace("\\ud83d", "");
            let record = serde_json::from_str(&text).unwrap_or(Value::Null);
            time = time.max(record["timestamp"].as_str().and_then(Moment::parse));
            Line { journal, bytes: bytes.to_vec(), record, time }
        };
        bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect()
    };
    fixture.journals.iter().map(|journal| journal.bytes.as_slice()).enumerate().map(of_journal).collect()
}

/// All lines as they were written: by time, those without one behind the line before them.
fn interleaved(fixture: &Fixture) -> Vec<Line> {
    let mut all: Vec<Line> = lines(fixture).into_iter().flatten().collect();
    all.sort_by_key(|line| line.time);
    all
}

/// The rows after these lines were read at once.
fn read<'a>(fixture: &Fixture, lines: impl IntoIterator<Item = &'a Line>) -> Vec<Row> {
    let mut journals = Journals::new(&ClaudeCode, &fixture.journals);
    for line in lines {
        journals.push(line.journal, &line.bytes);
    }
    journals.settle(fallback(), &mut |_, _| {});
    journals.rows(now())
}

fn values(rows: &[Row]) -> Value {
    serde_json::to_value(rows).unwrap()
}

/// What the lines of one journal say by themselves.
#[derive(Debug, Default)]
struct Truth {
    launched: Vec<String>,
    tools: BTreeMap<String, bool>,
    questions: BTreeSet<String>,
    ended: HashSet<String>,
    open: bool,
    any_turn: bool,
}

impl Truth {
    fn of<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Self {
        let mut truth = Self::default();
        lines.into_iter().for_each(|line| truth.add(&line.record));
        truth
    }

    fn add(&mut self, record: &Value) {
        let content = &record["message"]["content"];
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        if record["type"] == "user" && content.is_string() {
            (self.open, self.any_turn) = (true, true);
        }
        for block in blocks {
            let id = |member: &str| block[member].as_str().unwrap_or_default().to_owned();
            match (block["type"].as_str(), block["name"].as_str()) {
                (Some("tool_use"), Some("Agent")) => self.launched.push(id("id")),
                (Some("tool_use"), Some("AskUserQuestion" | "ExitPlanMode")) => {
                    self.questions.insert(id("id"));
                }
                (Some("tool_use"), Some(_)) => {
                    self.tools.insert(id("id"), true);
                }
                (Some("tool_result"), _) => {
                    let id = id("tool_use_id");
                    self.questions.remove(&id);
                    self.tools.entry(id.clone()).and_modify(|open| *open = false);
                    self.ended.insert(id);
                }
                (Some("text"), _) if record["type"] == "user" => self.open = false,
                _ => {}
            }
        }
        if record["message"]["stop_reason"] == "end_turn" || record["isApiErrorMessage"] == true {
            self.open = false;
        }
    }

    fn open_tools(&self) -> Vec<&str> {
        self.tools.iter().filter(|(_, open)| **open).map(|(id, _)| id.as_str()).collect()
    }
}

fn open_tools(row: &Row) -> Vec<&str> {
    let mut open: Vec<&str> = row.tools.open.iter().map(|tool| tool.tool_id.as_str()).collect();
    open.sort_unstable();
    open
}

/// Checks the rows after `root` lines of the root and the lines `below` of its sub-agents; `last` is how it all ended.
fn check(place: &str, rows: &[Row], root: &[Line], below: &[Vec<Line>], launches: &[String], last: &[Row]) {
    let truth = Truth::of(root);
    let Some((row, children)) = rows.split_first() else {
        assert!(root.is_empty(), "{place}: no row");
        return;
    };
    let begun: Vec<&String> =
        launches.iter().zip(below).filter(|(_, lines)| !lines.is_empty()).map(|(launch, _)| launch).collect();
    let known: BTreeSet<&String> = truth.launched.iter().chain(begun).collect();
    let live = known.iter().filter(|id| !truth.ended.contains(**id)).count();
    let expected = match (truth.questions.is_empty(), truth.open, truth.any_turn) {
        (false, ..) => (State::Waiting, Some(WaitingReason::Question)),
        (true, true, _) => (State::Running, None),
        (true, false, true) if live > 0 => (State::Waiting, Some(WaitingReason::Child)),
        (true, false, true) => (State::Waiting, Some(WaitingReason::Prompt)),
        (true, false, false) => (State::Starting, None),
    };
    assert_eq!((row.state, row.waiting_reason), expected, "{place}: the root");
    assert_eq!(open_tools(row), truth.open_tools(), "{place}: open tools of the root");
    assert_eq!(row.tools.count, Some(truth.tools.len() as u64), "{place}: tools of the root");
    assert_eq!(row.live_children, live, "{place}: live children");
    assert_eq!(row.turn.as_ref().is_some_and(|turn| turn.open), truth.open, "{place}: the turn");
    for (turn, end) in row.turns.recent.iter().zip(&last[0].turns.recent) {
        assert_eq!(turn.turn_id, end.turn_id, "{place}");
        assert!(turn.outcome.is_none() || turn.outcome == end.outcome, "{place}: {turn:?} became {end:?}");
    }
    let shown: BTreeSet<&String> = children.iter().map(|child| &child.child_id).collect();
    assert_eq!(shown, known, "{place}: the children");
    for child in children {
        let own = launches.iter().position(|launch| *launch == child.child_id).map(|at| &below[at]);
        let own = own.filter(|lines| !lines.is_empty());
        let expected = match own {
            _ if truth.ended.contains(&child.child_id) => State::Completed,
            Some(_) => State::Running,
            None => State::Created,
        };
        assert_eq!(child.state, expected, "{place}: {}", child.child_id);
        let truth = Truth::of(own.into_iter().flatten());
        assert_eq!(
            child.tools.count.unwrap_or(0),
            truth.tools.len() as u64,
            "{place}: tools of {}",
            child.child_id
        );
        if !child.state.is_terminal() {
            assert_eq!(open_tools(child), truth.open_tools(), "{place}: open tools of {}", child.child_id);
        }
        assert_eq!(child.late_evidence, 0, "{place}: {}", child.child_id);
    }
}

fn launches(fixture: &Fixture) -> Vec<String> {
    fixture.journals[1..].iter().map(|journal| journal.launch.clone().unwrap()).collect()
}

#[test]
fn no_cut_shows_what_the_next_lines_disprove() {
    for fixture in fixtures() {
        let all = lines(&fixture);
        let (root, below) = all.split_first().unwrap();
        let last = read(&fixture, all.iter().flatten());
        let launches = launches(&fixture);
        for cut in 0..=root.len() {
            let root = &root[..cut];
            let time = root.iter().filter_map(|line| line.time).max();
            let until = |lines: &Vec<Line>| -> Vec<Line> {
                lines.iter().filter(|line| line.time <= time).cloned().collect()
            };
            let as_far: Vec<Vec<Line>> = below.iter().map(until).collect();
            for (which, below) in [("as far as the root", &as_far[..]), ("whole", below)] {
                if root.is_empty() && below.iter().all(Vec::is_empty) {
                    continue;
                }
                let rows = read(&fixture, root.iter().chain(below.iter().flatten()));
                let place = format!("{} after {cut} lines, sub-agents {which}", fixture.name);
                if root.is_empty() {
                    // What only sub-agents tell: each of them runs, nothing ended, and of the root nothing is known.
                    assert!(rows.iter().all(|row| !row.state.is_terminal()), "{place}");
                    assert_eq!(rows.len(), below.len(), "{place}");
                } else {
                    check(&place, &rows, root, below, &launches, &last);
                }
            }
        }
    }
}

/// Reads lines in pieces of `size` bytes (0: whole lines), settling after each, and hands over the rows after each line.
fn in_pieces(
    fixture: &Fixture,
    size: usize,
    fallback: Moment,
    mut after_line: impl FnMut(usize, &mut Journals),
) -> Vec<Event<'static>> {
    let mut journals = Journals::new(&ClaudeCode, &fixture.journals);
    let mut events = Vec::new();
    let mut on_event = |event: &Event<'_>, became: &Became| {
        let became = became.as_ref().unwrap();
        assert!(
            matches!(became.status, Status::Applied | Status::TerminalImmutable) && became.also.is_none(),
            "{}: {event:?} became {became:?}",
            fixture.name
        );
        events.push(event.to_static());
    };
    for (at, line) in interleaved(fixture).iter().enumerate() {
        let size = if size == 0 { line.bytes.len() } else { size };
        for piece in line.bytes.chunks(size) {
            journals.push(line.journal, piece);
            journals.settle(fallback, &mut on_event);
        }
        after_line(at, &mut journals);
    }
    journals.end();
    journals.settle(fallback, &mut on_event);
    after_line(usize::MAX, &mut journals);
    events
}

/// Events without what an estimated time touches.
fn timeless(events: &[Event<'_>]) -> Vec<String> {
    let short = |event: &Event<'_>| {
        format!(
            "{} {} {:?} {:?} {:?}",
            event.event_id, event.child_id, event.kind, event.state, event.activity
        )
    };
    events.iter().map(short).collect()
}

#[test]
fn whole_by_line_and_by_byte_are_the_same_at_every_line() {
    let (early, late) = (fallback(), Moment::parse("2026-12-30T00:00:00Z").unwrap());
    for fixture in fixtures() {
        let mut whole = Vec::new();
        let rows = fixture.run(&mut |event, _| whole.push(event.to_static())).rows(now());
        let all = interleaved(&fixture);
        let ids: HashSet<&str> = whole.iter().map(|event| event.event_id.as_ref()).collect();
        assert_eq!(ids.len(), whole.len(), "{}: an id twice", fixture.name);
        for (size, fallback) in [(0, early), (0, late), (1, early)] {
            let mut seen = Value::Null;
            let events = in_pieces(&fixture, size, fallback, |at, journals| {
                // What marks stale is asked of a copy in effect: the fresh evidence of the next line takes the mark away.
                let live = values(&journals.rows(now()));
                if at < all.len() && fallback == early {
                    let cut = values(&read(&fixture, &all[..=at]));
                    assert_eq!(live, cut, "{} after line {at} in pieces of {size}", fixture.name);
                }
                seen = live;
            });
            assert_eq!(seen, values(&rows), "{} in pieces of {size}", fixture.name);
            assert_eq!(timeless(&events), timeless(&whole), "{} in pieces of {size}", fixture.name);
        }
    }
}

#[test]
fn a_second_reading_changes_nothing() {
    for fixture in fixtures() {
        let mut whole = Vec::new();
        fixture.run(&mut |event, _| whole.push(event.to_static()));
        let by_line = in_pieces(&fixture, 0, fallback(), |_, _| {});
        for (first, second) in
            [(&whole, &whole), (&whole, &by_line), (&by_line, &whole), (&by_line, &by_line)]
        {
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
