//! What is known of one child.
//!
//! Input: nothing of its own; the projector fills it. Output: its public view as JSON.
//! Invariant: every member is backed by an event, a mark or an authority.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Serialize, Serializer};

use super::audit::Ring;
use super::content::Content;
use super::dedupe::Seen;
use super::facts::Facts;
use super::report::Note;
use crate::contract::{Capabilities, Capability, Kind, Lineage, Moment, State, WaitingReason};

/// Late events kept of one child.
pub const LATE: usize = 16;
/// Notes kept of one child.
pub const NOTES: usize = 16;
/// Snapshots in a row that left a child out whose times are kept.
pub(super) const MISSES: usize = 16;

/// What is known of one child.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its source.
    pub source: Box<str>,
    /// Its id.
    pub child_id: Box<str>,
    /// Where it comes from.
    pub lineage: Lineage<'static>,
    /// Its literal state.
    pub state: State,
    /// What it waits for.
    pub waiting_reason: Option<WaitingReason>,
    /// Since when it is in that state.
    pub state_since: Moment,
    /// When the first event about it was observed; an estimated time gives way to the first real one.
    pub started_at: Estimate,
    /// The newest activity text.
    pub activity: Option<String>,
    /// What its source can tell.
    pub capabilities: Capabilities,
    /// How fresh that is.
    pub freshness: Freshness,
    /// Whether a sequence between the first and the highest is missing.
    pub gap_detected: bool,
    /// An epoch that its source never announced and in which something about it was said.
    pub epoch_conflict: Option<Box<str>>,
    /// What came after its end.
    pub late_evidence: Option<Box<Ring<LateEvidence, LATE>>>,
    /// Notes about it.
    pub notes: Option<Box<Ring<NoteEvent, NOTES>>>,
    /// What bridged events add up to.
    pub facts: Option<Box<Facts>>,
    /// Its process, as the host sees it; no event says it, and no journal keeps it.
    pub process: Option<Process>,
    pub(super) seen: Seen,
    pub(super) last_state_sequence: Option<u64>,
    /// When its last state event was observed, also one that gave the same state again.
    pub(super) last_state_at: Moment,
    /// Whether it was due and spared, so that nothing is to look at it until something changes.
    pub(super) spared: bool,
    pub(super) authority: Option<Box<Authority>>,
}

impl Record {
    /// Whether an authority has said how it is.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.state == State::Lost
            || self.authority.as_ref().is_some_and(|authority| authority.entry_at.is_some())
    }
}

/// What snapshots and corrections left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Authority {
    /// When the newest snapshot whose entry about it was accepted was observed.
    pub(super) entry_at: Option<Moment>,
    /// Complete snapshots in a row that left it out.
    pub(super) missed: Option<Missed>,
    pub(super) corrections: Corrections,
}

/// Complete snapshots in a row that left a child out.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// How many, counted up to the grace count.
    pub(super) count: u64,
    /// When the newest of them were observed, oldest first, at most [`MISSES`]: evidence that comes late may be newer than some.
    pub(super) times: VecDeque<Moment>,
}

/// Corrections that were written: how many, and which of them are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Corrections {
    pub(super) count: u64,
    pub(super) seen: Seen,
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Whether it lives.
    pub alive: Alive,
}

/// Whether a process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Alive {
    /// It does, and it is the one that was recorded.
    Yes,
    /// It does not.
    No,
    /// Nothing tells.
    Unknown,
}

/// A moment, and whether it was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The moment.
    pub at: Moment,
    /// Whether it was estimated.
    pub estimated: bool,
}

/// How fresh the evidence of a child is.
#[derive(Clone, Debug)]
pub struct Freshness {
    /// The newest accepted activity, heartbeat or state event, or snapshot entry.
    pub newest: Estimate,
    /// Set while the child is stale.
    pub stale: Option<Box<Stale>>,
    /// Set while an authority is to be asked.
    pub reconciliation: Option<Box<Reconciliation>>,
}

/// Why a child is stale.
#[derive(Clone, Debug)]
pub struct Stale {
    /// Why: a note's word.
    pub reason: Cow<'static, str>,
    /// Evidence newer than this would have prevented the mark, and clears it.
    pub threshold: Moment,
}

/// A question to an authority that is open.
#[derive(Clone, Debug)]
pub struct Reconciliation {
    /// Why it was opened: a note's word, or what the host said.
    pub reason: Cow<'static, str>,
    /// Until when an answer is waited for.
    pub deadline: Moment,
    /// Evidence newer than this answers it; nothing where only an authority can.
    pub answered_after: Option<Moment>,
    /// What is known of the asking.
    pub asked: Asked,
}

/// What is known of the asking of an open question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// The projection opened it by itself; whether anybody asks is not known.
    Unasked,
    /// The host asks.
    Pending,
    /// The host asked, and no answer came.
    Unanswered,
}

impl Asked {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unasked => "unasked",
            Self::Pending => "pending",
            Self::Unanswered => "unanswered",
        }
    }

    /// What this word means.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Unasked, Self::Pending, Self::Unanswered].into_iter().find(|asked| asked.as_str() == word)
    }
}

/// An event that came after the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LateEvidence {
    /// Its id.
    pub event_id: Box<str>,
    /// What it said.
    pub kind: Kind,
    /// The state it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// When it was observed.
    pub observed_at: Moment,
    /// Why it came to nothing.
    pub code: Note,
    #[serde(skip)]
    pub(super) content: Content,
}

/// A note about a child or a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteEvent {
    /// Its id.
    pub event_id: Box<str>,
    /// `reconciliation` or `diagnostic`.
    pub kind: Kind,
    /// When it was observed.
    pub observed_at: Moment,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Box<str>>,
}

impl Record {
    /// When it ended, where it has.
    #[must_use]
    pub fn ended_at(&self) -> Option<Moment> {
        self.state.is_terminal().then_some(self.state_since)
    }

    /// What came of asking about it: `pending` or `unanswered` where there is somebody to ask, `unavailable` where it is stale or its
    /// process ended in an open turn and there is nobody, nothing where there is no question.
    #[must_use]
    pub fn reconcile(&self) -> Option<&'static str> {
        let open = self.freshness.reconciliation.as_deref();
        let is_exit = open.is_some_and(|open| open.reason == Note::ExitWithOpenTurn.as_str());
        let is_due = self.freshness.stale.is_some() || is_exit;
        let has_snapshots = self.capabilities.snapshot == Capability::Known
            || self
                .authority
                .as_ref()
                .is_some_and(|authority| authority.entry_at.is_some() || authority.missed.is_some());
        match open.map(|open| open.asked) {
            Some(Asked::Unanswered) => Some("unanswered"),
            Some(Asked::Pending) => Some("pending"),
            Some(Asked::Unasked) if has_snapshots => Some("pending"),
            _ => is_due.then_some("unavailable"),
        }
    }

    /// Whether its process lives, as the host sees it; where that does not tell, it does not once an exit was said.
    #[must_use]
    pub fn process_alive(&self) -> Alive {
        let has_exited = self.facts.as_ref().is_some_and(|facts| facts.exit.is_some());
        match self.process.map_or(Alive::Unknown, |process| process.alive) {
            Alive::Unknown if has_exited => Alive::No,
            alive => alive,
        }
    }

    /// Whether silence says nothing about it: it waits for its user, and its process lives.
    #[must_use]
    pub fn is_idle_and_alive(&self) -> bool {
        self.state == State::Waiting
            && self.waiting_reason == Some(WaitingReason::Prompt)
            && self.lineage.parent_child_id.is_none()
            && self.process.is_some_and(|process| process.alive == Alive::Yes)
    }

    pub(super) fn authority(&mut self) -> &mut Authority {
        self.authority.get_or_insert_default()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("childId", &self.child_id)?;
        map.serialize_entry("lineage", &self.lineage)?;
        map.serialize_entry("state", &self.state)?;
        if let Some(reason) = self.waiting_reason {
            map.serialize_entry("waitingReason", &reason)?;
        }
        map.serialize_entry("stateSince", &self.state_since)?;
        map.serialize_entry("startedAt", &self.started_at.at)?;
        map.serialize_entry("freshAt", &self.freshness.newest.at)?;
        map.serialize_entry("stale", &self.freshness.stale.is_some())?;
        if let Some(stale) = &self.freshness.stale {
            map.serialize_entry("staleReason", &stale.reason)?;
        }
        if let Some(open) = &self.freshness.reconciliation {
            map.serialize_entry("reconciliation", open)?;
        }
        if let Some(activity) = &self.activity {
            map.serialize_entry("activity", activity)?;
        }
        map.serialize_entry("capabilities", &self.capabilities)?;
        map.serialize_entry("gapDetected", &self.gap_detected)?;
        map.serialize_entry("epochConflict", &self.epoch_conflict)?;
        if let Some(sequence) = self.seen.highest() {
            map.serialize_entry("highestSequence", &sequence)?;
        }
        map.serialize_entry("lateEvidence", &self.late_evidence.as_deref().unwrap_or(&Ring::default()))?;
        map.serialize_entry("notes", &self.notes.as_deref().unwrap_or(&Ring::default()))?;
        map.end()
    }
}

impl Serialize for Reconciliation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("reason", &self.reason)?;
        map.serialize_entry("deadlineAt", &self.deadline)?;
        if self.asked != Asked::Unasked {
            map.serialize_entry("asked", &self.asked)?;
        }
        map.end()
    }
}
