//! Replays a journal: events as they are applied, corrections as they were made.
//!
//! Input: the events of a journal in their order, each with when it was received. Output: what became of each.
//! Invariant: after it the projection is the one that wrote the journal. Never: revives a terminal record.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::checkpoint::{load_record, load_source, merge};
use super::corrections::{Correction, Op, Place};
use super::dedupe::Identity;
use super::projector::Projector;
use super::report::{Applied, Note, Status};
use super::take::advanced_from;
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::{Event, Moment, Refusal};
use crate::json::{Json, safe_integer};
use crate::reconcile::JournalLine;
use crate::redact::is_same_name;

/// Parts of one record in a checkpoint, at most.
const MOST_PARTS: u64 = 256;

/// A checkpoint of which parts are still to come.
#[derive(Debug)]
pub(super) struct Parts {
    source: Box<str>,
    child: Box<str>,
    at: Moment,
    next: u64,
    record: Json,
}

impl Projector {
    /// Takes an event of a journal. As [`apply`](Self::apply), but an event with `details.lifecycle` is the correction that it says,
    /// made again. `apply` keeps such an event as a note.
    pub fn replay(&mut self, event: &Event<'_>, received_at: Option<Moment>) -> Result<Applied, Refusal> {
        match Correction::read(event) {
            Some(correction) => Ok(self.redo(event, correction, received_at)),
            None => self.apply(event, received_at),
        }
    }

    /// Takes a line of a stream that may be a journal: of a journal as [`replay`](Self::replay), else as [`apply`](Self::apply).
    pub fn take_line(&mut self, line: &JournalLine<'_>) -> Result<Applied, Refusal> {
        match line.journal_sequence {
            Some(_) => self.replay(&line.event, line.received_at),
            None => self.apply(&line.event, line.received_at),
        }
    }

    fn redo(
        &mut self,
        event: &Event<'_>,
        mut correction: Correction<'_>,
        received_at: Option<Moment>,
    ) -> Applied {
        let arrival = self.arrival(event, received_at, true);
        let (is_present_epoch, key) = self.find(event);
        let place = Place { source: &event.source, child: &event.child_id, key };
        let op = correction.op;
        if !is_present_epoch {
            if op != Op::AdvanceEpoch || !self.announces(event) {
                return self.judge_epoch(&arrival, key);
            }
            correction.to = Some(Cow::Owned(event.source_epoch.to_string()));
        } else if op == Op::AdvanceEpoch {
            return Applied::new(Status::Deduplicated, None, None);
        }
        if op == Op::Checkpoint {
            return self.take_part(event, place, correction.at);
        }
        let known =
            self.corrections_of(place, op).map(|known| known.seen.identify(arrival.name, arrival.content));
        match known {
            _ if !is_present_epoch => {}
            Some(Identity::Same | Identity::Unchecked) => {
                return Applied::new(Status::Deduplicated, None, key);
            }
            Some(Identity::Different) => {
                return Applied::new(Status::Conflict, Some(Note::IdentityConflict), key);
            }
            Some(Identity::New | Identity::Evicted) | None => {}
        }
        let applied = self.perform(place, &correction);
        if applied.is_correction() {
            let place = Place { key: applied.record.or(key), ..place };
            self.commit(place, op, arrival.name, arrival.content);
        }
        applied
    }

    /// Whether the event moves its source from its present epoch to one where it never was.
    fn announces(&self, event: &Event<'_>) -> bool {
        let Some(source) = self.sources.get(event.source.as_ref()) else { return false };
        event.child_id == SOURCE_NOTE
            && advanced_from(event).is_some_and(|from| is_same_name(from, &source.epoch))
            && !source.has_left(&event.source_epoch)
    }

    /// One part of a checkpoint; the last one makes the record.
    fn take_part(&mut self, event: &Event<'_>, place: Place<'_>, at: Moment) -> Applied {
        let broken = Applied::new(Status::Conflict, Some(Note::CheckpointBroken), place.key);
        let lifecycle = event.details.as_ref().and_then(|details| details.get("lifecycle"));
        let Some(lifecycle) = lifecycle else { return broken };
        let integer = |key| match lifecycle.get(key) {
            Some(Json::Number(number)) => safe_integer(*number),
            _ => None,
        };
        let (Some(part), Some(parts), Some(piece)) =
            (integer("part"), integer("parts"), lifecycle.get("record"))
        else {
            return broken;
        };
        let open = self.parts.take();
        let mut record = match open {
            _ if part == 1 => Json::Object(Vec::new()),
            Some(open)
                if (&*open.source, &*open.child, open.at, open.next)
                    == (place.source, place.child, at, part) =>
            {
                open.record
            }
            _ => return broken,
        };
        merge(&mut record, piece.clone());
        if part < parts && parts <= MOST_PARTS {
            let (source, child) = (place.source.into(), place.child.into());
            self.parts = Some(Parts { source, child, at, next: part + 1, record });
            return Applied::new(Status::Applied, None, place.key);
        }
        let are_ours = lifecycle.text_at("keys").and_then(|keys| u64::from_str_radix(keys, 16).ok())
            == Some(self.hasher.fingerprint());
        if part == parts { self.restore(event, place, &record, are_ours).unwrap_or(broken) } else { broken }
    }

    /// Takes a checkpoint for what is known.
    fn restore(
        &mut self,
        event: &Event<'_>,
        place: Place<'_>,
        json: &Json,
        are_ours: bool,
    ) -> Option<Applied> {
        if place.child == SOURCE_NOTE {
            let source = self.sources.get_mut(place.source)?;
            load_source(source, json)?;
            if !are_ours {
                source.seen.forget_contents();
                if let Some((_, seen)) = &mut source.announcer {
                    seen.forget_contents();
                }
                if let Some(corrections) = &mut source.corrections {
                    corrections.seen.forget_contents();
                }
            }
            return Some(Applied::new(Status::Applied, None, None));
        }
        let mut record = load_record(event, json)?;
        if !are_ours {
            record.seen.forget_contents();
            if let Some(authority) = &mut record.authority {
                authority.corrections.seen.forget_contents();
            }
        }
        let (is_live, newest) = (!record.state.is_terminal(), record.freshness.newest.at);
        let is_watched = is_live && record.freshness.stale.is_none();
        let key = match place.key.and_then(|key| Some((key, self.get_mut(key)?))) {
            Some((key, known)) => {
                if known
                    .ended_at()
                    .is_some_and(|at| record.ended_at() != Some(at) || record.state != known.state)
                {
                    return Some(Applied::new(Status::TerminalImmutable, None, Some(key)));
                }
                record.process = known.process;
                *known = record;
                key
            }
            None => self.insert(record),
        };
        if is_watched {
            self.deadlines.push(Reverse((newest.plus_millis(self.config.stale_after_ms), key)));
        }
        Some(Applied::new(Status::Applied, None, Some(key)))
    }
}
