//! Applies events to records (contract section 3).
//!
//! Input: a normalised event and, where known, when it was received. Output: what became of it, or why it was refused.
//! Invariant: the checks run in the contract's order; a refused event records nothing. Never: reads a clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hashbrown::HashMap;

use super::audit::{Audit, Ring};
use super::changes::{Changes, Reported};
use super::content::{ContentHasher, HashKeys, is_estimated};
use super::dedupe::{Identity, Name, Seen};
use super::record::{Corrections, Estimate, Freshness, NOTES, NoteEvent, Record};
use super::replay::Parts;
use super::report::{Applied, Note, Status};
use super::snapshots::Accepted;
use super::take::{Arrival, earlier, is_exit, judge_identity};
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::{Code, Event, Kind, Moment, Refusal, State};
use crate::redact::{is_same_name, safe_name};

/// Retired epochs remembered of one source.
pub const RETIRED: usize = 16;
/// Audit entries kept.
pub const AUDITS: usize = 256;

/// Complete snapshots in a row that leave a child out before it is stale, by default.
pub const GRACE_SNAPSHOTS: u64 = 2;

/// How a projector judges.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Milliseconds without evidence after which a child is stale.
    pub stale_after_ms: i64,
    /// Milliseconds that an authority has to answer.
    pub reconcile_deadline_ms: i64,
    /// Complete snapshots in a row that leave a child out before it is stale.
    pub grace_snapshots: u64,
    /// Secret numbers for content hashes.
    pub hash_keys: HashKeys,
    /// Whether corrections are kept as events for [`Projector::take_corrections`]; who says so has to take them.
    pub corrections: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stale_after_ms: 120_000,
            reconcile_deadline_ms: 30_000,
            grace_snapshots: GRACE_SNAPSHOTS,
            hash_keys: (0, 0),
            corrections: false,
        }
    }
}

/// Names a record of one projector; never names another one after that record is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Projector {
    pub(super) config: Config,
    pub(super) hasher: ContentHasher,
    pub(super) sources: HashMap<Box<str>, Source>,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    /// When each live, unmarked record is to be looked at; may be too early, never too late.
    pub(super) deadlines: BinaryHeap<Reverse<(Moment, RecordKey)>>,
    /// Silence before this does not count.
    pub(super) window: Option<Moment>,
    pub(super) audit: Ring<Audit, AUDITS>,
    pub(super) corrections: Vec<Event<'static>>,
    pub(super) changes: Changes,
    pub(super) parts: Option<Parts>,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) generation: u32,
    /// In a box, so that a list of slots that grows moves and reserves no records.
    pub(super) record: Option<Box<Record>>,
}

#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) epoch: Box<str>,
    /// The names of epochs that it has left.
    pub(super) retired: VecDeque<Box<str>>,
    pub(super) children: HashMap<Box<str>, RecordKey>,
    /// What was said under `@source`.
    pub(super) seen: Seen,
    /// The child that was not known when its event announced the present epoch, and what it has said.
    pub(super) announcer: Option<(Box<str>, Seen)>,
    pub(super) notes: Ring<NoteEvent, NOTES>,
    pub(super) snapshots: Option<Box<Accepted>>,
    pub(super) corrections: Option<Box<Corrections>>,
    /// Whether something may have changed since somebody last asked for changes.
    pub(super) is_touched: bool,
    /// How often something had changed in the projection when it last did so here.
    pub(super) touched_at: u64,
    pub(super) reported: Option<Box<Reported>>,
}

impl Source {
    /// Whether it was in this epoch before.
    pub(super) fn has_left(&self, epoch: &str) -> bool {
        let name = safe_name(epoch);
        self.retired.iter().any(|retired| **retired == *name)
    }
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
            window: None,
            audit: Ring::default(),
            corrections: Vec::new(),
            changes: Changes::new(config.hash_keys),
            parts: None,
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
        let arrival = self.arrival(event, received_at, is_first);
        let (is_present_epoch, key) = self.find(event);
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

    pub(super) fn arrival<'a>(
        &mut self,
        event: &'a Event<'a>,
        received_at: Option<Moment>,
        is_first: bool,
    ) -> Arrival<'a> {
        let content = self.hasher.event(event);
        let name = match event.sequence {
            Some(sequence) => Name::Sequence(sequence),
            None => Name::Id(self.hasher.id(&event.event_id), event.observed_at.moment()),
        };
        Arrival { event, name, content, at: earlier(event.observed_at.moment(), received_at), is_first }
    }

    /// Whether the event is of the present epoch of its source, and the record of its child. A source that is not known becomes so.
    pub(super) fn find(&mut self, event: &Event<'_>) -> (bool, Option<RecordKey>) {
        if let Some(source) = self.sources.get_mut(event.source.as_ref()) {
            self.changes.touch(&event.source, source);
            return (
                *source.epoch == *event.source_epoch,
                source.children.get(event.child_id.as_ref()).copied(),
            );
        }
        let source = Source { epoch: event.source_epoch.as_ref().into(), ..Source::default() };
        let source = self.sources.entry(event.source.as_ref().into()).or_insert(source);
        self.changes.touch(&event.source, source);
        (true, None)
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
        let said = announcer.filter(|(child, _)| is_same_name(child, &event.child_id)).map(|(_, seen)| seen);
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
            process: None,
            seen,
            last_state_sequence: event.sequence,
            last_state_at: event.observed_at.moment(),
            spared: false,
            authority: None,
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
        let before = record.watch();
        record.seen.insert(arrival.name, arrival.content);
        record.gap_detected |= gap;
        record.take(arrival);
        let is_exit = is_exit(event);
        if is_exit {
            record.open_exit(arrival.at, config.reconcile_deadline_ms);
        }
        let (status, note) = match (missing_edge, gap) {
            (true, _) => (Status::Provisional, Some(Note::MissingEdge)),
            (false, true) => (Status::Provisional, Some(Note::SequenceGap)),
            (false, false) => (Status::Applied, is_exit.then_some(Note::ExitWithOpenTurn)),
        };
        let mut applied = Applied::new(status, note, Some(key));
        applied.also = (record.lineage != event.lineage).then_some(Note::LineageChanged);
        self.watch_again(key, before);
        self.spare(key);
        Ok(applied)
    }
}
