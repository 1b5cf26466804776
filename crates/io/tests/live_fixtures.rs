//! Files that grow, in pieces and over restarts: the rows are those of one reading.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, State};
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_fixtures::Fixture;
use agent_lifecycle_io::monitor::live::Live;
use serde_json::Value;

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
                let found = differences(&rows, &expected);
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
    assert_eq!(shown(&kept), shown(&live.rows()), "{} {order:?}: its journal", fixture.name);
    live.rows()
}

#[test]
fn the_order_in_which_journals_are_read_does_not_matter() {
    let mut wrong = Vec::new();
    let mut played = 0;
    for fixture in all().iter().filter(|fixture| fixture.journals.len() > 1) {
        let mut whole = fixture.run(&mut |_, _| {});
        let expected = shown(&whole.rows(end(fixture)));
        for order in orders(fixture.journals.len()) {
            for restart in [None, Some(1), Some(2)] {
                let found = shown(&play_in_order(fixture, &order, restart));
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

/// Plays pieces of the journals of a fixture in any order, whatever their times, with restarts of the monitor in between.
fn play_shuffled(fixture: &Fixture, seed: u64) -> Vec<Row> {
    let now = end(fixture);
    let mut numbers = Numbers(seed);
    let path = |journal: usize| -> PathBuf { fixture.folder.join(&fixture.journals[journal].path) };
    let mut live = Live::new(config(), Content::Titles, None, true);
    let mut record = Vec::new();
    let mut written = vec![0; fixture.journals.len()];
    let mut ended = HashMap::new();
    loop {
        let unread: Vec<usize> =
            (0..written.len()).filter(|&at| written[at] < fixture.journals[at].bytes.len()).collect();
        if unread.is_empty() {
            break;
        }
        let journal = unread[numbers.below(unread.len())];
        let bytes = &fixture.journals[journal].bytes;
        let piece = 1 + numbers.below(bytes.len().div_ceil(3)).min(bytes.len() - written[journal] - 1);
        live.take(&path(journal), &bytes[written[journal]..written[journal] + piece], now);
        written[journal] += piece;
        if numbers.below(3) > 0 {
            live.settle(now);
            assert_none_revives(&live.rows(), &mut ended, fixture);
        }
        if numbers.below(6) == 0 {
            live.settle(now);
            record.extend(live.take_record());
            live = Live::new(config(), Content::Titles, Some(replayed(&record)), true);
            for (journal, written) in written.iter().enumerate().filter(|(_, written)| **written > 0) {
                live.take(&path(journal), &fixture.journals[journal].bytes[..*written], now);
            }
            live.settle(now);
        }
    }
    live.settle(now);
    live.tick(now, false);
    live.rows()
}

/// What has ended stays so.
fn assert_none_revives(rows: &[Row], ended: &mut HashMap<String, State>, fixture: &Fixture) {
    for row in rows {
        let key = format!("{}/{}", row.source, row.child_id);
        if row.state.is_terminal() {
            ended.insert(key, row.state);
        } else if let Some(state) = ended.get(&key) {
            panic!("{}: {key} was {state:?} and is {:?}", fixture.name, row.state);
        }
    }
}

#[test]
fn the_order_in_which_pieces_are_read_does_not_matter() {
    let mut wrong = Vec::new();
    for fixture in all().iter().filter(|fixture| fixture.journals.len() > 1) {
        let mut whole = fixture.run(&mut |_, _| {});
        let expected = shown(&whole.rows(end(fixture)));
        for seed in 1..=32 {
            let found = differences(&shown(&play_shuffled(fixture, seed)), &expected);
            wrong.extend(found.iter().map(|text| format!("{} [{seed}] {text}", fixture.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A fixture as it was after these of its steps: the lines that were written.
fn cut(fixture: &Fixture, steps: &[(Moment, usize, usize)]) -> Fixture {
    let mut cut = fixture.clone();
    for (at, journal) in cut.journals.iter_mut().enumerate() {
        let written = steps.iter().filter(|(_, journal, _)| *journal == at).map(|(_, _, end)| *end);
        journal.bytes.truncate(written.max().unwrap_or(0));
    }
    cut
}

#[test]
fn the_order_does_not_matter_while_agents_work() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for fixture in all().iter().filter(|fixture| fixture.journals.len() > 1) {
        let steps = steps(fixture);
        for count in (1..steps.len()).step_by(2) {
            let cut = cut(fixture, &steps[..count]);
            // Before the first time that a journal gives, all its times are guesses.
            let is_timed = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').any(|line| time(line).is_some());
            if !cut.journals.iter().all(|journal| journal.bytes.is_empty() || is_timed(&journal.bytes)) {
                continue;
            }
            let mut whole = cut.run(&mut |_, _| {});
            let expected = shown(&whole.rows(end(&cut)));
            for seed in 1..=3 {
                played += 1;
                let found = differences(&shown(&play_shuffled(&cut, seed)), &expected);
                wrong.extend(found.iter().map(|text| format!("{} [{count}/{seed}] {text}", fixture.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played > 100, "{played}");
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
