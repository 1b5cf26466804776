//! Check 2 of the projector: the epochs of a source (contract section 3).
//!
//! Input: an event of another epoch, or an advance. Output: what became of it. Invariant: there is no way back to a retired epoch.
//! Never: changes the state of a record.

use std::borrow::Cow;

use super::audit::Audit;
use super::corrections::{Correction, Op, Place};
use super::dedupe::Seen;
use super::projector::{Projector, RETIRED, RecordKey};
use super::record::NoteEvent;
use super::report::{Applied, Note, Status};
use super::take::{Arrival, advanced_from};
use crate::contract::identity::{SOURCE_NOTE, identity};
use crate::contract::{Code, Moment, Refusal, State};
use crate::redact::{is_same_name, redact_text, safe_name};
use crate::text::fit;

/// An epoch in a message: UTF-16 code units of it.
const SHOWN_UNITS: usize = 64;

/// An epoch as messages name it: an identity, but from any hand.
pub(super) fn shown(epoch: &str) -> String {
    let safe = redact_text(epoch).replace(char::is_control, "\u{fffd}");
    let cut = fit(&safe, SHOWN_UNITS);
    format!("{cut}{}", if cut.len() < safe.len() { "..." } else { "" })
}

impl Projector {
    /// The sentence of a note on an event of `source`, with what the projection knows of it.
    #[must_use]
    pub fn message(&self, note: Note, source: &str) -> Cow<'static, str> {
        match self.epoch(source).filter(|_| note == Note::EpochConflict) {
            Some(epoch) => format!("{}; its present epoch is {}", note.message(), shown(epoch)).into(),
            None => note.message().into(),
        }
    }

    /// Moves a source from its present epoch `from` to the new epoch `to`; its records continue, their sequences start anew.
    pub fn advance_epoch(&mut self, source: &str, from: &str, to: &str, at: Moment) -> Result<(), Refusal> {
        let refuse = |path, message: String| Err(Refusal::new(Code::EpochMismatch, path, message));
        let Some(known) = self.sources.get(source) else {
            return refuse("$.source", "source is not known; its first event sets its epoch".to_owned());
        };
        if *known.epoch != *from {
            let present = shown(&known.epoch);
            return refuse(
                "$.from",
                format!("from must be the present epoch of the source, which is {present}"),
            );
        }
        if identity(to) != Ok(to) {
            let message =
                "to must be an epoch as events give it: trimmed, not blank, at most 512 bytes, no U+0000";
            return Err(Refusal::new(Code::InvalidId, "$.to", message));
        }
        if from == to || known.has_left(to) {
            return refuse("$.to", "to must be an epoch that the source was never in".to_owned());
        }
        let place = Place { source, child: SOURCE_NOTE, key: None };
        let to = Some(Cow::Borrowed(to));
        self.correct(place, &Correction { to, ..Correction::new(Op::AdvanceEpoch, at) });
        Ok(())
    }

    /// Check 2 for an event of another epoch than the present one of its source.
    pub(super) fn judge_epoch(&mut self, arrival: &Arrival<'_>, key: Option<RecordKey>) -> Applied {
        let event = arrival.event;
        let Some(source) = self.sources.get(event.source.as_ref()) else {
            return Applied::new(Status::Conflict, Some(Note::EpochConflict), key);
        };
        let deadline_ms = self.config.reconcile_deadline_ms;
        if source.has_left(&event.source_epoch) {
            if let Some(record) = key.and_then(|key| self.get_mut(key))
                && event.state.is_some_and(State::is_terminal)
            {
                record.keep_late(arrival, Note::EpochRetired);
                if !record.state.is_terminal() {
                    record.open_reconciliation(Note::EpochRetired, arrival.at.plus_millis(deadline_ms));
                }
            }
            return Applied::new(Status::OutOfOrder, Some(Note::EpochRetired), key);
        }
        if advanced_from(event).is_some_and(|from| is_same_name(from, &source.epoch)) {
            self.enter_epoch(&event.source, &event.source_epoch, event.observed_at.moment());
            match key.and_then(|key| self.get_mut(key)) {
                Some(record) => {
                    record.seen.insert(arrival.name, arrival.content);
                    record.note(event);
                }
                None => self.remember_announcer(arrival),
            }
            return Applied::new(Status::Applied, Some(Note::EpochAdvanced), key);
        }
        if let Some(record) = key.and_then(|key| self.get_mut(key)) {
            record.epoch_conflict = Some(safe_name(&event.source_epoch).into());
            if !record.state.is_terminal() {
                record.open_reconciliation(Note::EpochConflict, arrival.at.plus_millis(deadline_ms));
            }
        }
        Applied::new(Status::Conflict, Some(Note::EpochConflict), key)
    }

    pub(super) fn enter_epoch(&mut self, name: &str, to: &str, at: Moment) {
        let Some(source) = self.sources.get_mut(name) else { return };
        let from = std::mem::replace(&mut source.epoch, to.into());
        source.seen = Seen::default();
        source.announcer = None;
        if let Some(corrections) = &mut source.corrections {
            corrections.seen = Seen::default();
        }
        if source.retired.len() == RETIRED {
            source.retired.pop_front();
        }
        for key in source.children.values() {
            let record = self.slots.get_mut(key.slot as usize).and_then(|slot| slot.record.as_mut());
            if let Some(record) = record {
                record.restart_window();
                record.epoch_conflict.take_if(|epoch| is_same_name(epoch, to));
            }
        }
        self.audit.push(Audit {
            source: name.to_owned(),
            child_id: None,
            from: Some(from.to_string()),
            to: to.to_owned(),
            snapshot_id: None,
            observed_at: at.to_text(),
            reason: Note::EpochAdvanced.as_str(),
        });
        source.retired.push_back(safe_name(&from).into());
    }

    /// What announced an epoch is known to it, although no record is.
    fn remember_announcer(&mut self, arrival: &Arrival<'_>) {
        let event = arrival.event;
        let Some(source) = self.sources.get_mut(event.source.as_ref()) else { return };
        if event.child_id == SOURCE_NOTE {
            source.seen.insert(arrival.name, arrival.content);
            source.notes.push(NoteEvent::of(event));
        } else {
            let mut seen = Seen::default();
            seen.insert(arrival.name, arrival.content);
            source.announcer = Some((safe_name(&event.child_id).into(), seen));
        }
    }
}
