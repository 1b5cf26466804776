//! What is known of one child.
//!
//! Input: nothing of its own; the projector fills it. Output: its public view as JSON.
//! Invariant: every member is backed by an event, a mark or an authority.

use serde::{Serialize, Serializer};

use super::audit::Ring;
use super::content::Content;
use super::dedupe::Seen;
use super::facts::Facts;
use super::report::Note;
use crate::contract::{Capabilities, Kind, Lineage, Moment, State, WaitingReason};

/// Late events kept of one child.
pub const LATE: usize = 16;
/// Notes kept of one child.
pub const NOTES: usize = 16;

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
    pub(super) seen: Seen,
    pub(super) last_state_sequence: Option<u64>,
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
#[derive(Clone, Copy, Debug)]
pub struct Freshness {
    /// The newest accepted activity, heartbeat or state event.
    pub newest: Estimate,
    /// Set while the child is stale.
    pub stale: Option<Stale>,
    /// Set while an authority is to be asked.
    pub reconciliation: Option<Reconciliation>,
}

/// Why a child is stale.
#[derive(Clone, Copy, Debug)]
pub struct Stale {
    /// Why.
    pub reason: Note,
    /// Evidence newer than this would have prevented the mark, and clears it.
    pub threshold: Moment,
}

/// A question to an authority that is open.
#[derive(Clone, Copy, Debug)]
pub struct Reconciliation {
    /// Why it was opened.
    pub reason: Note,
    /// Until when an answer is waited for.
    pub deadline: Moment,
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
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("reason", &self.reason)?;
        map.serialize_entry("deadlineAt", &self.deadline)?;
        map.end()
    }
}
