//! The Claude Code fixtures cut after every line, line by line, byte by byte and twice.
//!
//! What a row must show at a cut is read from the lines themselves, by the few rules of [`common::truth`], and not from the code.

mod common;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use agent_lifecycle_core::agent::Outcome;
use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Applied, Config, Projector, Status};
use agent_lifecycle_fixtures::{Fixture, Journals, fallback};
use common::cuts::{self, Line, now, read, values};
use common::truth::{Told, Truth};
use serde_json::Value;

fn fixtures() -> Vec<Fixture> {
    let all = Fixture::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")).unwrap();
    all.into_iter().filter(|fixture| fixture.name.starts_with("claude-code/")).collect()
}

/// The lines of each journal, in order.
fn lines(fixture: &Fixture) -> Vec<Vec<Line>> {
    let of_journal = |(journal, bytes): (usize, &[u8])| {
        let mut time = None;
        let line = |bytes: &[u8]| {
            let content = bytes.split(|byte| matches!(byte, 0 | b'\r' | b'\n')).next().unwrap_or_default();
            // A lone surrogate is no JSON for serde_json; nothing here reads that text.
            let text = String::from_utf8_lossy(content).replace("\\ud83d", "");
            let record = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or(Value::Null);
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

/// The sub-agent whose journal each one is.
fn agents(fixture: &Fixture) -> Vec<Option<String>> {
    let of_journal =
        |lines: Vec<Line>| lines.iter().find_map(|line| line.record["agentId"].as_str().map(str::to_owned));
    let below = lines(fixture).into_iter().skip(1).map(of_journal);
    std::iter::once(None).chain(below).collect()
}

fn truth(fixture: &Fixture, agents: &[Option<String>], lines: &[Line]) -> Truth {
    // A workflow's list of its agents is no transcript.
    let is_transcript = |line: &&Line| !fixture.journals[line.journal].path.ends_with("/journal.jsonl");
    let told = |line: &Line| Told {
        agent: agents[line.journal].clone(),
        launch: fixture.journals[line.journal].launch.clone(),
        record: line.record.clone(),
    };
    Truth::of(&lines.iter().filter(is_transcript).map(told).collect::<Vec<_>>())
}

/// Checks the rows after these lines, in the order in which they were written.
fn check(place: &str, truth: &Truth, rows: &[Row]) {
    let shown: BTreeSet<&str> = rows.iter().map(thing).collect();
    let known: BTreeSet<&str> = truth.agents.keys().map(String::as_str).collect();
    assert_eq!(shown, known, "{place}: what is shown");
    assert_eq!(rows.len(), shown.len(), "{place}: each once");
    for row in rows {
        let agent = &truth.agents[thing(row)];
        let place = format!("{place}: {}", row.child_id);
        let live = truth.live(thing(row));
        let waits = |reason| (State::Waiting, Some(reason));
        let expected = match (agent.ended, agent.parent.is_some(), agent.turns.is_empty()) {
            (Some(word), ..) => (State::parse(word).unwrap(), None),
            _ if !agent.questions.is_empty() => waits(WaitingReason::Question),
            (_, true, _) => (if agent.begun { State::Running } else { State::Created }, None),
            _ if agent.is_open => (State::Running, None),
            (_, _, true) => (State::Starting, None),
            _ if live > 0 => waits(WaitingReason::Child),
            _ => waits(WaitingReason::Prompt),
        };
        assert_eq!((row.state, row.waiting_reason), expected, "{place}: state");
        assert_eq!(row.attempt, agent.attempt, "{place}: attempt");
        assert_eq!(row.live_children, live, "{place}: live children");
        assert_eq!(row.late_evidence, 0, "{place}: late evidence");
        let parent =
            agent.parent.as_ref().map(|parent| rows.iter().find(|row| thing(row) == parent).unwrap());
        assert_eq!(row.parent_key, parent.map(|parent| parent.key.clone()), "{place}: parent");
        let mut open: Vec<&str> = row.tools.open.iter().map(|tool| tool.tool_id.as_str()).collect();
        open.sort_unstable();
        let going_on = agent.open_tools.iter().map(String::as_str).filter(|_| agent.ended.is_none());
        assert_eq!(open, going_on.collect::<Vec<_>>(), "{place}: open tools");
        let is_counted = row.tools.count.is_some() || agent.tools.is_some_and(|tools| tools > 0);
        assert_eq!(
            row.tools.count,
            agent.tools.filter(|_| is_counted).map(|tools| tools as u64),
            "{place}: tools"
        );
        let turns: Vec<(String, Option<&str>)> = row
            .turns
            .recent
            .iter()
            .map(|turn| (turn.turn_id.clone(), turn.outcome.map(Outcome::as_str)))
            .collect();
        assert_eq!(turns, agent.turns, "{place}: turns");
        let is_open = agent.is_open && agent.ended.is_none();
        assert_eq!(row.turn.as_ref().is_some_and(|turn| turn.open), is_open, "{place}: the turn");
    }
}

/// The id that all lives of an agent share.
fn thing(row: &Row) -> &str {
    row.child_id.split('#').next().unwrap()
}

#[test]
fn no_line_shows_what_the_next_ones_disprove() {
    for fixture in fixtures() {
        let (all, agents) = (interleaved(&fixture), agents(&fixture));
        for cut in 1..=all.len() {
            let lines = &all[..cut];
            let place = format!("{} after {cut} lines", fixture.name);
            check(&place, &truth(&fixture, &agents, lines), &read(&fixture, lines));
        }
    }
}

#[test]
fn no_cut_of_the_root_shows_what_the_next_lines_disprove() {
    for fixture in fixtures() {
        let (all, agents) = (interleaved(&fixture), agents(&fixture));
        let of_root: Vec<usize> = (0..all.len()).filter(|at| all[*at].journal == 0).collect();
        for cut in 1..=of_root.len() {
            // The sub-agents' journals are whole: they are ahead of what the root says of them.
            let kept = |at: &usize| all[*at].journal > 0 || *at <= of_root[cut - 1];
            let lines: Vec<Line> = (0..all.len()).filter(kept).map(|at| all[at].clone()).collect();
            let place = format!("{} after {cut} lines of the root", fixture.name);
            check(&place, &truth(&fixture, &agents, &lines), &read(&fixture, &lines));
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
    let fits = |became: &Applied| matches!(became.status, Status::Applied | Status::TerminalImmutable);
    cuts::in_pieces(fixture, &interleaved(fixture), size, fallback, fits, after_line)
}

/// Since when a state is, where that was estimated when it was told, stays until the next state: no event tells of it again.
fn keep_estimated(live: &Value, cut: &mut Value) {
    let estimated = Value::String(fallback().to_text());
    for (live, cut) in live.as_array().unwrap().iter().zip(cut.as_array_mut().unwrap()) {
        if live["stateSince"] == estimated {
            cut["stateSince"] = live["stateSince"].clone();
        }
    }
}

/// The events of each session without what an estimated time touches.
fn timeless(events: &[Event<'_>]) -> HashMap<String, Vec<String>> {
    let mut all: HashMap<String, Vec<String>> = HashMap::new();
    let short = |event: &Event<'_>| {
        format!(
            "{} {} {:?} {:?} {:?}",
            event.event_id, event.child_id, event.kind, event.state, event.activity
        )
    };
    for event in events {
        all.entry(event.source.to_string()).or_default().push(short(event));
    }
    all
}

/// The story whose sub-agents are shown as themselves first. What was told of them then is taken back, so its events are not those of
/// a reading in one piece, and of a launch that a result confirmed first it stays known since when it runs.
const LATE: &str = "claude-code/late-binding";

#[test]
fn no_line_read_in_pieces_shows_what_the_next_ones_disprove() {
    for fixture in fixtures() {
        let (all, agents) = (interleaved(&fixture), agents(&fixture));
        for size in [0, 7] {
            in_pieces(&fixture, size, fallback(), |at, journals| {
                let lines = &all[..all.len().min(at.saturating_add(1))];
                let place = format!("{} in pieces of {size} after line {at}", fixture.name);
                check(&place, &truth(&fixture, &agents, lines), &journals.rows(now()));
            });
        }
    }
}

#[test]
fn whole_by_line_and_by_byte_are_the_same_at_every_line() {
    let (early, late) = (fallback(), Moment::parse("2026-12-30T00:00:00Z").unwrap());
    for fixture in fixtures().into_iter().filter(|fixture| fixture.name != LATE) {
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
                    let mut cut = values(&read(&fixture, &all[..=at]));
                    keep_estimated(&live, &mut cut);
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
    for fixture in fixtures().into_iter().filter(|fixture| fixture.name != LATE) {
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
