//! Corrections: what changes records other than the events of a child, and how each is written as an event.
//!
//! Input: a correction. Output: the record after it, and a `reconciliation` event with `details.lifecycle`.
//! Invariant: what is done live and what is replayed is one function. Never: writes what had no effect.

use std::borrow::Cow;

use super::authority::Entry;
use super::content::Content;
use super::dedupe::Name;
use super::projector::{Projector, RecordKey};
use super::record::{Asked, Corrections, Reconciliation, Stale};
use super::report::{Applied, Note, Status};
use super::stored::reason;
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::{Capabilities, Event, Kind, Lineage, Moment, State, WaitingReason};
use crate::json::Json;
use crate::redact::redact_note;

/// What a correction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Correct,
    Agree,
    Request,
    Unanswered,
    Stale,
    Spare,
    Lost,
    Miss,
    AdvanceEpoch,
    Admit,
    Checkpoint,
    Forget,
}

impl Op {
    const ALL: [Self; 12] = [
        Self::Correct,
        Self::Agree,
        Self::Request,
        Self::Unanswered,
        Self::Stale,
        Self::Spare,
        Self::Lost,
        Self::Miss,
        Self::AdvanceEpoch,
        Self::Admit,
        Self::Checkpoint,
        Self::Forget,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Agree => "agree",
            Self::Request => "request",
            Self::Unanswered => "unanswered",
            Self::Stale => "stale",
            Self::Spare => "spare",
            Self::Lost => "lost",
            Self::Miss => "miss",
            Self::AdvanceEpoch => "advance_epoch",
            Self::Admit => "admit",
            Self::Checkpoint => "checkpoint",
            Self::Forget => "forget",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.word() == word)
    }

    /// Whether it is known to its source, not to a record.
    pub(super) fn is_of_source(self, child: &str) -> bool {
        child == SOURCE_NOTE || self == Self::Forget
    }
}

/// Whom a correction is about.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) source: &'a str,
    pub(super) child: &'a str,
    pub(super) key: Option<RecordKey>,
}

/// See the module. Members that an operation does not use are nothing.
#[derive(Clone, Debug)]
pub(super) struct Correction<'a> {
    pub(super) op: Op,
    /// When it was made, or the snapshot observed.
    pub(super) at: Moment,
    /// When it counts as evidence.
    pub(super) counted: Moment,
    /// The state after it as the authority gives it, or the new epoch.
    pub(super) to: Option<Cow<'a, str>>,
    pub(super) waiting_reason: Option<WaitingReason>,
    pub(super) reason: Option<Cow<'a, str>>,
    pub(super) sequence: Option<u64>,
    pub(super) snapshot_id: Option<Cow<'a, str>>,
    pub(super) deadline: Option<Moment>,
    /// Evidence newer than this makes it void.
    pub(super) threshold: Option<Moment>,
    pub(super) misses: Option<u64>,
    /// The lineage of a child that is to be admitted.
    pub(super) lineage: Option<&'a Lineage<'a>>,
    /// The details of a snapshot's entry.
    pub(super) details: Option<&'a Json>,
}

impl<'a> Correction<'a> {
    pub(super) fn new(op: Op, at: Moment) -> Self {
        Self {
            op,
            at,
            counted: at,
            to: None,
            waiting_reason: None,
            reason: None,
            sequence: None,
            snapshot_id: None,
            deadline: None,
            threshold: None,
            misses: None,
            lineage: None,
            details: None,
        }
    }

    /// The correction that an event is, if it is one.
    pub(super) fn read(event: &'a Event<'a>) -> Option<Self> {
        let details = event.details.as_ref()?;
        let lifecycle = details.get("lifecycle")?;
        if event.kind != Kind::Reconciliation || event.sequence.is_some() {
            return None;
        }
        let text = |key| lifecycle.text_at(key).map(Cow::Borrowed);
        let moment = |key| lifecycle.text_at(key).and_then(Moment::parse);
        let integer = |key| match lifecycle.get(key) {
            Some(Json::Number(number)) => crate::json::safe_integer(*number),
            _ => None,
        };
        Some(Self {
            counted: event.observed_at.moment(),
            to: text("to"),
            waiting_reason: lifecycle.text_at("waitingReason").and_then(WaitingReason::parse),
            reason: text("reason"),
            sequence: integer("sequence"),
            snapshot_id: text("snapshotId"),
            deadline: moment("deadlineAt"),
            threshold: moment("threshold"),
            misses: integer("misses"),
            lineage: Some(&event.lineage),
            details: Some(details),
            ..Self::new(Op::parse(lifecycle.text_at("op")?)?, moment("at")?)
        })
    }

    /// Its `details`: the operation, and what of the details of a snapshot's entry adds to facts.
    fn details(&self, op: Op, from: Option<&str>, to: Option<&str>) -> Json {
        let word = |text: &str| Json::Text(text.to_owned());
        #[expect(clippy::cast_precision_loss, reason = "sequences are safe integers")]
        let number = |number: u64| Json::Number(number as f64);
        let time = |at: Moment| Json::Text(at.to_text());
        let mut members = vec![("op", word(op.word()))];
        let optional = [
            ("reason", self.reason.as_deref().map(word)),
            ("sequence", self.sequence.map(number)),
            ("snapshotId", self.snapshot_id.as_deref().map(word)),
            ("deadlineAt", self.deadline.map(time)),
            ("threshold", self.threshold.map(time)),
            ("misses", self.misses.map(number)),
            ("waitingReason", self.waiting_reason.map(|reason| word(reason.as_str()))),
            ("at", Some(time(self.at))),
        ];
        members.push(("from", from.map_or(Json::Null, word)));
        members.push(("to", to.map_or(Json::Null, word)));
        members.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        let mut all = vec![("lifecycle".to_owned(), object(members))];
        if op == Op::AdvanceEpoch {
            // So that a reader who does not replay follows the source into its epoch.
            all.push(("epochAdvance".to_owned(), object(vec![("from", from.map_or(Json::Null, word))])));
        }
        if let Some(Json::Object(said)) = self.details {
            let adds = |key: &str| ["agent", "facts", "turnId"].contains(&key);
            all.extend(said.iter().filter(|(key, _)| adds(key)).cloned());
        }
        let mut details = Json::Object(all);
        redact_note(&mut details);
        details
    }
}

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// What is remembered while a correction is made, to write it.
struct Before {
    from: Option<String>,
    lineage: Lineage<'static>,
}

impl Projector {
    /// Corrections since this was last called, oldest first, as events; see [`Config::corrections`](super::Config::corrections).
    pub fn take_corrections(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.corrections)
    }

    /// Makes a correction, and keeps it as an event where it had an effect.
    pub(super) fn correct(&mut self, place: Place<'_>, correction: &Correction<'_>) -> Applied {
        let before = self.config.corrections.then(|| self.before(place, correction));
        let applied = self.perform(place, correction);
        if let Some(before) = before
            && applied.is_correction()
        {
            let place = Place { key: applied.record.or(place.key), ..place };
            let event = self.event_of(place, correction, &applied, before);
            let arrival = self.arrival(&event, None, true);
            let (name, content) = (arrival.name, arrival.content);
            self.commit(place, correction.op, name, content);
            self.corrections.push(event);
        }
        applied
    }

    fn before(&self, place: Place<'_>, correction: &Correction<'_>) -> Before {
        if let Some(record) = place.key.and_then(|key| self.get(key)) {
            let from = Some(record.state.as_str().to_owned());
            return Before { from, lineage: record.lineage.clone() };
        }
        let lineage = match correction.lineage {
            Some(lineage) => lineage.to_static(),
            None => source_lineage(),
        };
        let is_source = place.child == SOURCE_NOTE;
        Before { from: self.epoch(place.source).filter(|_| is_source).map(str::to_owned), lineage }
    }

    fn event_of(
        &self,
        place: Place<'_>,
        correction: &Correction<'_>,
        applied: &Applied,
        before: Before,
    ) -> Event<'static> {
        let record = place.key.and_then(|key| self.get(key));
        let epoch = self.epoch(place.source).unwrap_or_default();
        let op = match applied.note {
            Some(Note::AuthoritativeSnapshot) => Op::Correct,
            Some(Note::SnapshotAdmitted) => Op::Admit,
            _ => correction.op,
        };
        let to = match record {
            Some(record) => Some(record.state.as_str()),
            None if place.child == SOURCE_NOTE => Some(epoch),
            None => None,
        };
        let count = self.corrections_of(place, correction.op).map_or(0, |corrections| corrections.count);
        let details = correction.details(op, before.from.as_deref(), to);
        let id = format!("{}/{count}/{}", op.word(), correction.at.to_text());
        note_event(place, epoch, id, before.lineage, correction.counted, details)
    }

    pub(super) fn corrections_of(&self, place: Place<'_>, op: Op) -> Option<&Corrections> {
        if op.is_of_source(place.child) {
            return self.sources.get(place.source)?.corrections.as_deref();
        }
        let record = self.get(place.key?)?;
        record.authority.as_ref().map(|authority| &authority.corrections)
    }

    pub(super) fn corrections_of_mut(&mut self, place: Place<'_>, op: Op) -> Option<&mut Corrections> {
        if op.is_of_source(place.child) {
            return Some(self.sources.get_mut(place.source)?.corrections.get_or_insert_default());
        }
        let record = self.get_mut(place.key?)?;
        Some(&mut record.authority().corrections)
    }

    /// Remembers a correction that was made.
    pub(super) fn commit(&mut self, place: Place<'_>, op: Op, name: Name, content: Content) {
        if let Some(corrections) = self.corrections_of_mut(place, op) {
            corrections.count += 1;
            corrections.seen.insert(name, content);
        }
    }

    /// Makes a correction, whether live or replayed.
    pub(super) fn perform(&mut self, place: Place<'_>, correction: &Correction<'_>) -> Applied {
        self.touch(place.source);
        let Correction { op, at, .. } = *correction;
        match op {
            Op::AdvanceEpoch => {
                self.enter_epoch(place.source, correction.to.as_deref().unwrap_or_default(), at);
                return Applied::new(Status::Applied, Some(Note::EpochAdvanced), None);
            }
            Op::Agree if place.child == SOURCE_NOTE => {
                self.accept_snapshot(place.source, correction.snapshot_id.as_deref(), at);
                return Applied::new(Status::Applied, None, None);
            }
            _ => {}
        }
        let Some(key) = place.key else {
            return if op == Op::Admit { self.admit(place, correction) } else { Self::unknown_child() };
        };
        if op == Op::Forget {
            self.take_out(key);
            return Applied::new(Status::Applied, None, None);
        }
        let Some((watch, from)) = self.get(key).map(|record| (record.watch(), record.state)) else {
            return Self::unknown_child();
        };
        let (status, note) = self.perform_on(key, correction);
        self.watch_again(key, watch);
        if let Some(why @ (Note::AuthoritativeSnapshot | Note::ReconciliationFailed)) = note {
            self.audit_change(place, Some(from), why, correction);
        }
        Applied::new(status, note, Some(key))
    }

    fn perform_on(&mut self, key: RecordKey, correction: &Correction<'_>) -> (Status, Option<Note>) {
        let deadline_ms = self.config.reconcile_deadline_ms;
        let stale_after_ms = self.config.stale_after_ms;
        let nothing = (Status::Conflict, Some(Note::UnknownChild));
        let Some(record) = self.get_mut(key) else { return nothing };
        let Correction { op, at, counted, waiting_reason, sequence, details, .. } = *correction;
        let deadline = correction.deadline.unwrap_or(at.plus_millis(deadline_ms));
        match op {
            Op::Request => record.request(Reconciliation {
                reason: reason(correction.reason.as_deref().unwrap_or(Note::Silence.as_str())),
                deadline,
                answered_after: correction.threshold,
                asked: Asked::Pending,
            }),
            Op::Unanswered => record.unanswered(),
            Op::Stale => {
                let threshold = correction.threshold.unwrap_or(at.plus_millis(-stale_after_ms));
                record.mark(
                    Stale {
                        reason: reason(correction.reason.as_deref().unwrap_or(Note::Silence.as_str())),
                        threshold,
                    },
                    deadline,
                )
            }
            Op::Lost => record.lose(at),
            Op::Spare => record.spare(),
            Op::Miss => record.miss(correction.misses.unwrap_or(0), at),
            Op::Correct | Op::Agree | Op::Admit => {
                let state = correction.to.as_deref().and_then(State::parse).unwrap_or(record.state);
                let entry = Entry { state, waiting_reason, sequence, details, observed_at: at, at: counted };
                record.accept(&entry)
            }
            Op::AdvanceEpoch | Op::Checkpoint | Op::Forget => nothing,
        }
    }
}

/// The lineage of notes about a source.
pub(super) fn source_lineage() -> Lineage<'static> {
    Lineage {
        root_child_id: Cow::Borrowed(SOURCE_NOTE),
        parent_child_id: None,
        attempt: 0,
        external: false,
        adopted_at: None,
    }
}

/// A `reconciliation` event.
pub(super) fn note_event(
    place: Place<'_>,
    epoch: &str,
    id: String,
    lineage: Lineage<'static>,
    at: Moment,
    details: Json,
) -> Event<'static> {
    Event {
        event_id: Cow::Owned(id),
        source: Cow::Owned(place.source.to_owned()),
        source_epoch: Cow::Owned(epoch.to_owned()),
        child_id: Cow::Owned(place.child.to_owned()),
        lineage,
        kind: Kind::Reconciliation,
        state: None,
        waiting_reason: None,
        observed_at: at.into(),
        sequence: None,
        activity: None,
        details: Some(details),
        capabilities: Capabilities::default(),
    }
}
