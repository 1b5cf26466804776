//! Journals of a fixture that are cut after a line, or pushed in pieces.

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::pipeline::Outcome;
use agent_lifecycle_core::project::Applied;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_fixtures::{Fixture, Format, Journals, fallback};
use serde_json::Value;

/// A line of a journal, and the highest time in its journal up to it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) journal: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) record: Value,
    pub(crate) time: Option<Moment>,
}

/// Late enough for everything to be stale: no row then differs for its age.
pub(crate) fn now() -> Moment {
    Moment::parse("2026-12-31T00:00:00Z").unwrap()
}

pub(crate) fn values(rows: &[Row]) -> Value {
    serde_json::to_value(rows).unwrap()
}

fn journals(fixture: &Fixture) -> Journals {
    let Format::Journals(provider) = fixture.format else { panic!("{} has no journals", fixture.name) };
    Journals::new(provider, &fixture.journals)
}

/// The rows after these lines were read at once.
pub(crate) fn read<'a>(fixture: &Fixture, lines: impl IntoIterator<Item = &'a Line>) -> Vec<Row> {
    let mut journals = journals(fixture);
    for line in lines {
        journals.push(line.journal, &line.bytes);
    }
    journals.settle(fallback(), &mut |_, _| {});
    journals.rows(now())
}

/// The events of `lines`, pushed in pieces of `size` (0 for whole lines) and settled after each; each must become what `fits` says.
pub(crate) fn in_pieces(
    fixture: &Fixture,
    lines: &[Line],
    size: usize,
    fallback: Moment,
    fits: impl Fn(&Applied) -> bool,
    mut after_line: impl FnMut(usize, &mut Journals),
) -> Vec<Event<'static>> {
    let mut journals = journals(fixture);
    let mut events = Vec::new();
    let mut on_event = |event: &Event<'_>, became: &Outcome| {
        let became = became.as_ref().unwrap();
        assert!(fits(became) && became.also.is_none(), "{}: {event:?} became {became:?}", fixture.name);
        events.push(event.to_static());
    };
    for (at, line) in lines.iter().enumerate() {
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
