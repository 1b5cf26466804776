//! Applies events to records (contract section 3).
//!
//! Input: a normalised event and, where known, when it was received. Output: what became of it, or why it was refused.
//! Invariant: the checks run in the contract's order; a refused event records nothing. Never: reads a clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hashbrown::HashMap;

use super::audit::{Audit, Ring};
use super::content::{ContentHasher, HashKeys, is_estimated};
use super::dedupe::{Identity, Name, Seen};
use super::record::{Estimate, Freshness, NOTES, NoteEvent, Reconciliation, Record, Stale};
use super::report::{Applied, Note, Status};
use super::take::{Arrival, advanced_from, earlier, judge_identity};
use crate::contract::identity::{SOURCE_NOTE, identity};
use crate::contract::{Code, Event, Kind, Moment, Refusal, State};

/// Retired epochs remembered of one source.
pub const RETIRED: usize = 16;
/// Audit entries kept.
pub const AUDITS: usize = 256;

/// How a projector judges.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Milliseconds without evidence after which a child is stale.
    pub stale_after_ms: i64,
    /// Milliseconds that an authority has to answer.
    pub reconcile_deadline_ms: i64,
    /// Secret numbers for content hashes.
    pub hash_keys: HashKeys,
}

impl Default for Config {
    fn default() -> Self {
        Self { stale_after_ms: 120_000, reconcile_deadline_ms: 30_000, hash_keys: (0, 0) }
    }
}

/// Names a record of one projector; never names another one after that record is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    slot: u32,
    generation: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Projector {
    config: Config,
    hasher: ContentHasher,
    sources: HashMap<Box<str>, Source>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// When each live, unmarked record is to be looked at; may be too early, never too late.
    deadlines: BinaryHeap<Reverse<(Moment, RecordKey)>>,
    audit: Ring<Audit, AUDITS>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    /// In a box, so that a list of slots that grows moves and reserves no records.
    record: Option<Box<Record>>,
}

#[derive(Debug, Default)]
struct Source {
    epoch: Box<str>,
    retired: VecDeque<Box<str>>,
    children: HashMap<Box<str>, RecordKey>,
    /// What was said under `@source`.
    seen: Seen,
    /// The child that was not known when its event announced the present epoch, and what it has said.
    announcer: Option<(Box<str>, Seen)>,
    notes: Ring<NoteEvent, NOTES>,
}

impl Projector {
    /// An empty projection.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            hasher: ContentHasher::new(config.hash_keys),
            sources: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            deadlines: BinaryHeap::new(),
            audit: Ring::default(),
        }
    }

    /// Applies one event. `received_at` is when it reached this program; a future `observedAt` does not count beyond it.
    pub fn apply(&mut self, event: &Event<'_>, received_at: Option<Moment>) -> Result<Applied, Refusal> {
        self.judge(event, received_at, false)
    }

    /// As [`apply`](Self::apply), for a caller who knows that this projection is told the event for the first time: one that is older
    /// than the memory of ids, as a clock that was set back makes them, is then no repeat.
    pub fn apply_once(&mut self, event: &Event<'_>, received_at: Option<Moment>) -> Result<Applied, Refusal> {
        self.judge(event, received_at, true)
    }

    fn judge(
        &mut self,
        event: &Event<'_>,
        received_at: Option<Moment>,
        is_first: bool,
    ) -> Result<Applied, Refusal> {
        let content = self.hasher.event(event);
        let name = match event.sequence {
            Some(sequence) => Name::Sequence(sequence),
            None => Name::Id(self.hasher.id(&event.event_id), event.observed_at.moment()),
        };
        let arrival =
            Arrival { event, name, content, at: earlier(event.observed_at.moment(), received_at), is_first };
        let (is_present_epoch, key) = if let Some(source) = self.sources.get(event.source.as_ref()) {
            (*source.epoch == *event.source_epoch, source.children.get(event.child_id.as_ref()).copied())
        } else {
            let source = Source { epoch: event.source_epoch.as_ref().into(), ..Source::default() };
            self.sources.insert(event.source.as_ref().into(), source);
            (true, None)
        };
        if !is_present_epoch {
            return Ok(self.judge_epoch(&arrival, key));
        }
        if event.child_id == SOURCE_NOTE {
            return Ok(self.note_source(&arrival));
        }
        match key {
            Some(key) => self.apply_to(key, &arrival),
            None => Ok(self.apply_first(&arrival)),
        }
    }

    /// The record of a child.
    #[must_use]
    pub fn record(&self, source: &str, child_id: &str) -> Option<&Record> {
        self.get(self.key(source, child_id)?)
    }

    /// The record named by `key`, unless it was forgotten.
    #[must_use]
    pub fn get(&self, key: RecordKey) -> Option<&Record> {
        let slot = self.slots.get(key.slot as usize)?;
        slot.record.as_deref().filter(|_| slot.generation == key.generation)
    }

    /// All records, in the order in which they were first seen, but for places of forgotten ones.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.slots.iter().filter_map(|slot| slot.record.as_deref())
    }

    /// The present epoch of a source.
    #[must_use]
    pub fn epoch(&self, source: &str) -> Option<&str> {
        self.sources.get(source).map(|source| source.epoch.as_ref())
    }

    /// Notes about a source itself.
    #[must_use]
    pub fn source_notes(&self, source: &str) -> Option<&Ring<NoteEvent, NOTES>> {
        self.sources.get(source).map(|source| &source.notes)
    }

    /// What authorities changed.
    #[must_use]
    pub fn audit(&self) -> &Ring<Audit, AUDITS> {
        &self.audit
    }

    /// Marks each live child whose evidence is `stale_after_ms` old or older, once, and opens a reconciliation.
    pub fn mark_stale(&mut self, now: Moment) -> Vec<Applied> {
        let threshold = now.plus_millis(-self.config.stale_after_ms);
        let deadline = now.plus_millis(self.config.reconcile_deadline_ms);
        let mut marked = Vec::new();
        while let Some(&Reverse((due, key))) = self.deadlines.peek()
            && due <= now
        {
            self.deadlines.pop();
            let Some(record) = self.get_mut(key) else { continue };
            if record.state.is_terminal() || record.freshness.stale.is_some() {
                continue;
            }
            let newest = record.freshness.newest.at;
            if newest > threshold {
                let due = newest.plus_millis(self.config.stale_after_ms);
                self.deadlines.push(Reverse((due, key)));
                continue;
            }
            record.freshness.stale = Some(Stale { reason: Note::Silence, threshold });
            record.freshness.reconciliation.get_or_insert(Reconciliation { reason: Note::Silence, deadline });
            marked.push(Applied::new(Status::Stale, Some(Note::Silence), Some(key)));
        }
        marked
    }

    /// Moves a source from its present epoch `from` to the new epoch `to`; its records continue, their sequences start anew.
    pub fn advance_epoch(&mut self, source: &str, from: &str, to: &str, at: Moment) -> Result<(), Refusal> {
        let refuse = |path, message: String| Err(Refusal::new(Code::EpochMismatch, path, message));
        let Some(known) = self.sources.get(source) else {
            return refuse("$.source", "source is not known; its first event sets its epoch".to_owned());
        };
        if *known.epoch != *from {
            return refuse("$.from", "from must be the present epoch of the source".to_owned());
        }
        if identity(to) != Ok(to) {
            let message =
                "to must be an epoch as events give it: trimmed, not blank, at most 512 bytes, no U+0000";
            return Err(Refusal::new(Code::InvalidId, "$.to", message));
        }
        if from == to || known.retired.iter().any(|retired| **retired == *to) {
            return refuse("$.to", "to must be an epoch that the source was never in".to_owned());
        }
        self.enter_epoch(source, to, at);
        Ok(())
    }

    /// Drops terminal records that ended before `before`, and names them.
    pub fn forget(&mut self, before: Moment) -> Vec<(Box<str>, Box<str>)> {
        let mut removed = Vec::new();
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if let Some(record) =
                slot.record.take_if(|record| record.ended_at().is_some_and(|at| at < before))
            {
                slot.generation += 1;
                self.free.push(u32::try_from(at).unwrap_or(u32::MAX));
                if let Some(source) = self.sources.get_mut(&record.source) {
                    source.children.remove(&record.child_id);
                }
                removed.push((record.source, record.child_id));
            }
        }
        removed
    }

    /// Drops a record, whatever its state, as if nothing had been said of it.
    pub fn remove(&mut self, source: &str, child_id: &str) -> bool {
        let Some(key) = self.sources.get_mut(source).and_then(|source| source.children.remove(child_id))
        else {
            return false;
        };
        let slot = &mut self.slots[key.slot as usize];
        slot.generation += 1;
        self.free.push(key.slot);
        slot.record.take().is_some()
    }

    fn key(&self, source: &str, child_id: &str) -> Option<RecordKey> {
        self.sources.get(source)?.children.get(child_id).copied()
    }

    fn get_mut(&mut self, key: RecordKey) -> Option<&mut Record> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        slot.record.as_deref_mut().filter(|_| slot.generation == key.generation)
    }

    /// Check 2 for an event of another epoch than the present one of its source.
    fn judge_epoch(&mut self, arrival: &Arrival<'_>, key: Option<RecordKey>) -> Applied {
        let event = arrival.event;
        let Some(source) = self.sources.get(event.source.as_ref()) else {
            return Applied::new(Status::Conflict, Some(Note::EpochConflict), key);
        };
        let deadline_ms = self.config.reconcile_deadline_ms;
        if source.retired.iter().any(|retired| **retired == *event.source_epoch) {
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
        if advanced_from(event).is_some_and(|from| *from == *source.epoch) {
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
            record.epoch_conflict = Some(event.source_epoch.as_ref().into());
            if !record.state.is_terminal() {
                record.open_reconciliation(Note::EpochConflict, arrival.at.plus_millis(deadline_ms));
            }
        }
        Applied::new(Status::Conflict, Some(Note::EpochConflict), key)
    }

    fn enter_epoch(&mut self, name: &str, to: &str, at: Moment) {
        let Some(source) = self.sources.get_mut(name) else { return };
        let from = std::mem::replace(&mut source.epoch, to.into());
        source.seen = Seen::default();
        source.announcer = None;
        if source.retired.len() == RETIRED {
            source.retired.pop_front();
        }
        for key in source.children.values() {
            let record = self.slots.get_mut(key.slot as usize).and_then(|slot| slot.record.as_mut());
            if let Some(record) = record {
                record.restart_window();
                record.epoch_conflict.take_if(|epoch| **epoch == *to);
            }
        }
        self.audit.push(Audit {
            source: name.to_owned(),
            from: from.to_string(),
            to: to.to_owned(),
            observed_at: at.to_text(),
            reason: Note::EpochAdvanced.as_str(),
        });
        source.retired.push_back(from);
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
            source.announcer = Some((event.child_id.as_ref().into(), seen));
        }
    }

    /// A note under the reserved child id: check 3 only.
    fn note_source(&mut self, arrival: &Arrival<'_>) -> Applied {
        let Some(source) = self.sources.get_mut(arrival.event.source.as_ref()) else {
            return Applied::new(Status::Conflict, Some(Note::UnknownChild), None);
        };
        if let Some(applied) = judge_identity(source.seen.identify(arrival.name, arrival.content), None) {
            return applied;
        }
        source.seen.insert(arrival.name, arrival.content);
        source.notes.push(NoteEvent::of(arrival.event));
        Applied::new(Status::Applied, None, None)
    }

    /// Checks 3 and 6 for a child that is not known.
    fn apply_first(&mut self, arrival: &Arrival<'_>) -> Applied {
        let event = arrival.event;
        let announcer =
            self.sources.get_mut(event.source.as_ref()).and_then(|source| source.announcer.as_mut());
        let said = announcer.filter(|(child, _)| **child == *event.child_id).map(|(_, seen)| seen);
        if let Some(seen) = &said
            && let Some(applied) = judge_identity(seen.identify(arrival.name, arrival.content), None)
        {
            return applied;
        }
        let opens = match event.state {
            Some(State::Created) => true,
            Some(state) => event.lineage.external && !state.is_terminal(),
            None => false,
        };
        let (true, Some(state)) = (opens, event.state) else {
            return Applied::new(Status::Conflict, Some(Note::UnknownChild), None);
        };
        let seen = said.map(std::mem::take).unwrap_or_default();
        let estimated = event.details.as_ref().is_some_and(is_estimated);
        let mut record = Record {
            source: event.source.as_ref().into(),
            child_id: event.child_id.as_ref().into(),
            lineage: event.lineage.to_static(),
            state,
            waiting_reason: event.waiting_reason,
            state_since: event.observed_at.moment(),
            started_at: Estimate { at: event.observed_at.moment(), estimated },
            activity: event.activity.as_deref().map(str::to_owned),
            capabilities: event.capabilities,
            freshness: Freshness {
                newest: Estimate { at: arrival.at, estimated },
                stale: None,
                reconciliation: None,
            },
            gap_detected: false,
            epoch_conflict: None,
            late_evidence: None,
            notes: None,
            facts: None,
            seen,
            last_state_sequence: event.sequence,
        };
        record.seen.insert(arrival.name, arrival.content);
        record.gap_detected = record.seen.has_hole();
        record.fold(event);
        let gap = record.gap_detected.then_some(Note::SequenceGap);
        let status = if gap.is_some() { Status::Provisional } else { Status::Applied };
        let key = self.insert(record);
        self.deadlines.push(Reverse((arrival.at.plus_millis(self.config.stale_after_ms), key)));
        Applied::new(status, gap, Some(key))
    }

    fn insert(&mut self, record: Record) -> RecordKey {
        let (source, child_id) = (record.source.clone(), record.child_id.clone());
        let key = if let Some(slot) = self.free.pop() {
            let generation = self.slots[slot as usize].generation;
            self.slots[slot as usize].record = Some(Box::new(record));
            RecordKey { slot, generation }
        } else {
            self.slots.push(Slot { generation: 0, record: Some(Box::new(record)) });
            RecordKey { slot: u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX), generation: 0 }
        };
        self.sources.entry(source).or_default().children.insert(child_id, key);
        key
    }

    /// Checks 3 to 8 for a child that is known.
    fn apply_to(&mut self, key: RecordKey, arrival: &Arrival<'_>) -> Result<Applied, Refusal> {
        let config = self.config;
        let Some(record) = self.get_mut(key) else {
            return Ok(Applied::new(Status::Conflict, Some(Note::UnknownChild), None));
        };
        let identity = match record.seen.identify(arrival.name, arrival.content) {
            Identity::Evicted if arrival.is_first => Identity::New,
            identity => identity,
        };
        if let Some(applied) = judge_identity(identity, Some(key)) {
            return Ok(applied);
        }
        let event = arrival.event;
        if let Some(ended_at) = record.ended_at() {
            return Ok(record.take_late(arrival, ended_at, key));
        }
        if let Some(sequence) = event.sequence
            && record.seen.highest().is_some_and(|highest| sequence < highest)
        {
            record.take_unordered(arrival, config.reconcile_deadline_ms);
            return Ok(Applied::new(Status::OutOfOrder, Some(Note::LateSequence), Some(key)));
        }
        if event.kind == Kind::Created {
            return Err(Refusal::new(
                Code::AlreadyCreated,
                "$.kind",
                "kind created is only for a child that is not known yet; a new life is a new child, <id>#<attempt>",
            ));
        }
        let gap = event
            .sequence
            .is_some_and(|sequence| record.seen.highest().is_some_and(|highest| sequence > highest + 1));
        let missing_edge = match event.state {
            Some(next) => record.judge_edge(next, event.sequence)?,
            None => false,
        };
        let before = record.freshness;
        record.seen.insert(arrival.name, arrival.content);
        record.gap_detected |= gap;
        record.take(arrival);
        let note = match (missing_edge, gap) {
            (true, _) => Some(Note::MissingEdge),
            (false, true) => Some(Note::SequenceGap),
            (false, false) => None,
        };
        let status = if note.is_some() { Status::Provisional } else { Status::Applied };
        let mut applied = Applied::new(status, note, Some(key));
        applied.also = (record.lineage != event.lineage).then_some(Note::LineageChanged);
        let Freshness { newest, stale, .. } = record.freshness;
        if stale.is_none() && (before.stale.is_some() || newest.at < before.newest.at) {
            self.deadlines.push(Reverse((newest.at.plus_millis(config.stale_after_ms), key)));
        }
        Ok(applied)
    }
}
