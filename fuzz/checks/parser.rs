//! Any bytes through the parser into a projection.
//!
//! Input: one byte for the limit of a line, one for the number of chunk sizes, the sizes, then the stream. Invariants: chunking does
//! not matter, a written event is the same event, what is said twice counts once, nothing revives the ended.

use agent_lifecycle_core::contract::{Event, State};
use agent_lifecycle_core::decode::{Diagnostic, JsonlParser};
use agent_lifecycle_core::project::{Config, Projector, Status};
use agent_lifecycle_core::{json, text};

/// Panics where an invariant does not hold.
pub(crate) fn check(input: &[u8]) {
    let Some((&[limit, count], rest)) = input.split_first_chunk() else { return };
    let Some((sizes, stream)) = rest.split_at_checked(usize::from(count & 7)) else { return };
    let limit = match usize::from(limit & 15) {
        0 => 262_144,
        few => 64 * few,
    };
    let (events, diagnostics) = parse(limit, stream.chunks(stream.len().max(1)));
    let pieces = Pieces { rest: stream, sizes: sizes.iter().cycle() };
    let (again, diagnostics_again) = parse(limit, pieces);
    assert_eq!((&events, &diagnostics), (&again, &diagnostics_again), "chunking matters");
    for fault in &diagnostics {
        assert!(text::units(&fault.raw) <= 512 && fault.offset + fault.length <= stream.len() as u64);
    }
    project(&events);
}

fn parse<'a>(limit: usize, chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<Event<'static>>, Vec<Diagnostic>) {
    let (mut parser, mut events) = (JsonlParser::new(limit), Vec::new());
    for chunk in chunks {
        parser.push(chunk, &mut |event, _| events.push(event.to_static()));
    }
    parser.end();
    (events, parser.diagnostics().kept().to_vec())
}

fn project(events: &[Event<'_>]) {
    let mut projector = Projector::new(Config::default());
    for event in events {
        let written = event.to_json();
        assert_eq!(Event::from_json(written.as_bytes()).as_ref(), Ok(event), "{written}");
        let state = |projector: &Projector| {
            projector.record(&event.source, &event.child_id).map(|record| record.state)
        };
        let before = state(&projector);
        let first = projector.apply(event, None);
        let after = state(&projector);
        if before.is_some_and(State::is_terminal) {
            assert_eq!(before, after, "an ended child was revived");
        }
        let second = projector.apply(event, None);
        match (first, second) {
            (Ok(_), Ok(second)) => {
                assert!(!matches!(second.status, Status::Applied | Status::Provisional), "counted twice");
            }
            (first, second) => assert_eq!(first, second),
        }
        assert_eq!(state(&projector), after);
        projector.mark_stale(event.observed_at.moment());
    }
    for record in projector.records() {
        assert!(!json::write(record).is_empty());
    }
}

/// A stream in pieces of the given sizes, over and over.
struct Pieces<'a> {
    rest: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let size = self.sizes.next().map_or(1, |size| usize::from(*size) + 1);
        let (piece, rest) = self.rest.split_at(size.min(self.rest.len()));
        self.rest = rest;
        (!piece.is_empty()).then_some(piece)
    }
}
