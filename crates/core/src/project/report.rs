//! What became of an event.
//!
//! Input: nothing. Output: the words for results and their notes, stable and listed in `docs/contract.md`.

use serde::{Serialize, Serializer};

use super::projector::RecordKey;

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Taken.
    Applied,
    /// Taken, although something before it is missing.
    Provisional,
    /// Seen before; nothing changed.
    Deduplicated,
    /// Older than what is known; nothing changed but the memory of it.
    OutOfOrder,
    /// Contradicts what is known; nothing changed.
    Conflict,
    /// The child has ended; kept as late evidence.
    TerminalImmutable,
    /// The child was marked stale.
    Stale,
}

impl Status {
    /// All, in declaration order.
    pub const ALL: [Self; 7] = [
        Self::Applied,
        Self::Provisional,
        Self::Deduplicated,
        Self::OutOfOrder,
        Self::Conflict,
        Self::TerminalImmutable,
        Self::Stale,
    ];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Provisional => "provisional",
            Self::Deduplicated => "deduplicated",
            Self::OutOfOrder => "out_of_order",
            Self::Conflict => "conflict",
            Self::TerminalImmutable => "terminal_immutable",
            Self::Stale => "stale",
        }
    }
}

/// How many events came to what. As JSON an object with a member for each word that occurred, `refused` among them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    by_status: [u64; Status::ALL.len()],
    refused: u64,
}

impl Counts {
    /// Counts an event; without a status, a refused one.
    pub fn add(&mut self, status: Option<Status>) {
        match status {
            Some(status) => self.by_status[status as usize] += 1,
            None => self.refused += 1,
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = Status::ALL.map(Status::as_str).into_iter().zip(self.by_status);
        serializer.collect_map(words.chain([("refused", self.refused)]).filter(|(_, count)| *count > 0))
    }
}

/// Why it became that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// The epoch was retired.
    EpochRetired,
    /// The epoch was never announced.
    EpochConflict,
    /// The identity is known with other content.
    IdentityConflict,
    /// Too old to tell whether it was seen.
    IdentityEvicted,
    /// The sequence is known; its content no longer is.
    IdentityUnchecked,
    /// Nothing is known of the child, and this cannot be its first event.
    UnknownChild,
    /// Sequences before this one are missing.
    SequenceGap,
    /// The state was reached over edges that are missing.
    MissingEdge,
    /// Not above the highest sequence.
    LateSequence,
    /// The child has ended.
    LateEvidence,
    /// The child has ended; this was observed before and fills in facts.
    History,
    /// The event gives another lineage than the first; the first stays.
    LineageChanged,
    /// The source entered this epoch.
    EpochAdvanced,
    /// Nothing was heard for too long.
    Silence,
}

impl Note {
    /// The stable text form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EpochRetired => "epoch_retired",
            Self::EpochConflict => "epoch_conflict",
            Self::IdentityConflict => "identity_conflict",
            Self::IdentityEvicted => "identity_evicted",
            Self::IdentityUnchecked => "identity_unchecked",
            Self::UnknownChild => "unknown_child",
            Self::SequenceGap => "sequence_gap",
            Self::MissingEdge => "missing_edge",
            Self::LateSequence => "late_sequence",
            Self::LateEvidence => "late_evidence",
            Self::History => "history",
            Self::LineageChanged => "lineage_changed",
            Self::EpochAdvanced => "epoch_advanced",
            Self::Silence => "silence",
        }
    }

    /// One sentence with the remedy.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::EpochRetired => "the source has left this epoch; the event changes nothing",
            Self::EpochConflict => {
                "the source never announced this epoch; advance the epoch, or name two live processes as two sources"
            }
            Self::IdentityConflict => "the same identity came with other content; the first stays",
            Self::IdentityEvicted => {
                "the event is older than the memory of ids and may be a repeat; it changes nothing"
            }
            Self::IdentityUnchecked => "the sequence was seen; whether with this content is no longer known",
            Self::UnknownChild => {
                "nothing is known of this child: its first event must be created or, for an external child, a state that is not terminal"
            }
            Self::SequenceGap => {
                "sequences before this one are missing; the state is provisional until they come"
            }
            Self::MissingEdge => {
                "no legal edge leads here from the last known state, but a missing event may explain it"
            }
            Self::LateSequence => "a higher sequence was seen before; the event changes no state",
            Self::LateEvidence => {
                "the child has ended and stays as it ended; the event is kept as late evidence"
            }
            Self::History => {
                "the child has ended; the event was observed before that and only fills in facts"
            }
            Self::LineageChanged => "a child keeps its first lineage; a new life is a new child",
            Self::EpochAdvanced => "the source entered a new epoch; its sequences start anew",
            Self::Silence => "nothing was heard for the whole freshness window; a reconciliation is open",
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What became of an event, and of which record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What became of it.
    pub status: Status,
    /// Why, where that is not plain.
    pub note: Option<Note>,
    /// Something else worth knowing.
    pub also: Option<Note>,
    /// The record it is about, where there is one.
    pub record: Option<RecordKey>,
}

impl Applied {
    pub(super) fn new(status: Status, note: Option<Note>, record: Option<RecordKey>) -> Self {
        Self { status, note, also: None, record }
    }
}
