//! Schema-v1 events beside the journals of agents: streams, journals of publishers, and what a host gives.
//!
//! Input: events, each with its place. Output: what became of each. Invariant: whatever changes a state can be explained afterwards.
//! Never: makes a correction again that no journal holds.

use super::{Outcome, Pipeline};
use crate::bridge::hermes::refused;
use crate::contract::{Event, Moment, State};
use crate::project::Status;
use crate::project::explain::{Origin, Place};
use crate::reconcile::JournalLine;

/// Names a stream of one pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamId(usize);

impl Pipeline {
    /// Adds a stream of schema-v1 events by its path.
    pub fn add_stream(&mut self, path: impl Into<String>) -> StreamId {
        StreamId(self.explainer.add_stream(path.into()))
    }

    /// Takes a line of a stream that begins at an offset, in bytes; the corrections of a journal are made again.
    pub fn take_line(&mut self, line: &JournalLine<'_>, stream: StreamId, offset: u64) -> Outcome {
        let outcome = self.projector.take_line(line);
        self.note(&line.event, &outcome, Place::Stream(stream.0, offset), None, line.received_at);
        outcome
    }

    /// Takes an entry of a journal, as [`take_line`](Self::take_line).
    pub fn take_entry(
        &mut self,
        event: &Event<'_>,
        received_at: Option<Moment>,
        stream: StreamId,
        offset: u64,
    ) -> Outcome {
        let outcome = self.projector.replay(event, received_at);
        self.note(event, &outcome, Place::Stream(stream.0, offset), None, received_at);
        outcome
    }

    /// Takes an event that stands in no file: one of a host, or what a dead process comes to. `record` says which.
    pub fn take_event(
        &mut self,
        event: &Event<'_>,
        received_at: Option<Moment>,
        record: Option<&'static str>,
    ) -> Outcome {
        let outcome = self.projector.apply(event, received_at);
        let place = if record.is_some() { Place::Beside } else { Place::Given };
        self.note(event, &outcome, place, record, received_at);
        outcome
    }

    /// Remembers nothing of children that there are not: a stream may name any number of them.
    fn note(
        &mut self,
        event: &Event<'_>,
        outcome: &Outcome,
        place: Place,
        record: Option<&'static str>,
        received_at: Option<Moment>,
    ) {
        if self.projector.record(&event.source, &event.child_id).is_some() {
            let origin = Origin { place, record: record.unwrap_or(event.kind.as_str()) };
            self.explainer.note(event, outcome, origin, received_at);
            self.count_refused(event, outcome);
        }
    }

    /// What an adapter did not understand of a child stands in its row.
    fn count_refused(&mut self, event: &Event<'_>, outcome: &Outcome) {
        let is_news = outcome.as_ref().is_ok_and(|applied| applied.status == Status::Applied);
        if let Some(code) = refused(event).filter(|_| is_news) {
            let child = (event.source.to_string(), event.child_id.to_string());
            *self.beside.entry(child).or_default().diagnostics.entry(code).or_default() += 1;
        }
    }

    /// Says by what a child was lost, which no event tells: an `authority`, or a dead `process`.
    pub fn note_lost(&mut self, child: (&str, &str), by: &'static str, at: Moment) {
        self.explainer.note_end(child, State::Lost, by, at);
    }

    /// Drops children that ended before a time, and what explains them; how many.
    pub fn forget(&mut self, before: Moment) -> usize {
        let removed = self.projector.forget(before);
        for (source, child) in &removed {
            self.explainer.forget(source, child);
            self.beside.remove(&(source.to_string(), child.to_string()));
        }
        removed.len()
    }
}
