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
    /// The reconciliation is still open; its deadline has not passed.
    ReconciliationPending,
    /// The authority said that the child is gone.
    ReconciliationFailed,
    /// Asking got no answer.
    ReconciliationUnanswered,
    /// A snapshot changed the state.
    AuthoritativeSnapshot,
    /// A snapshot made the child known.
    SnapshotAdmitted,
    /// The entry of a snapshot is older than what is known.
    SnapshotOutdated,
    /// The snapshot was seen before, or a newer one was.
    SnapshotRepeated,
    /// A snapshot gives another state to a child that has ended.
    EndContradicted,
    /// Complete snapshots in a row left the child out.
    CompleteSnapshotMissing,
    /// A part of a checkpoint is missing, or cannot be read.
    CheckpointBroken,
    /// The process ended in an open turn.
    ExitWithOpenTurn,
}

impl Note {
    /// All, in declaration order.
    pub const ALL: [Self; 25] = [
        Self::EpochRetired,
        Self::EpochConflict,
        Self::IdentityConflict,
        Self::IdentityEvicted,
        Self::IdentityUnchecked,
        Self::UnknownChild,
        Self::SequenceGap,
        Self::MissingEdge,
        Self::LateSequence,
        Self::LateEvidence,
        Self::History,
        Self::LineageChanged,
        Self::EpochAdvanced,
        Self::Silence,
        Self::ReconciliationPending,
        Self::ReconciliationFailed,
        Self::ReconciliationUnanswered,
        Self::AuthoritativeSnapshot,
        Self::SnapshotAdmitted,
        Self::SnapshotOutdated,
        Self::SnapshotRepeated,
        Self::EndContradicted,
        Self::CompleteSnapshotMissing,
        Self::CheckpointBroken,
        Self::ExitWithOpenTurn,
    ];

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
            Self::ReconciliationPending => "reconciliation_pending",
            Self::ReconciliationFailed => "reconciliation_failed",
            Self::ReconciliationUnanswered => "reconciliation_unanswered",
            Self::AuthoritativeSnapshot => "authoritative_snapshot",
            Self::SnapshotAdmitted => "snapshot_admitted",
            Self::SnapshotOutdated => "snapshot_outdated",
            Self::SnapshotRepeated => "snapshot_repeated",
            Self::EndContradicted => "end_contradicted",
            Self::CompleteSnapshotMissing => "complete_snapshot_missing",
            Self::CheckpointBroken => "checkpoint_broken",
            Self::ExitWithOpenTurn => "exit_with_open_turn",
        }
    }

    /// The note with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|note| note.as_str() == word)
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
            Self::ReconciliationPending => {
                "the deadline of the reconciliation has not passed; say it again then, unless evidence comes"
            }
            Self::ReconciliationFailed => "the authority said that the child is gone: it is lost",
            Self::ReconciliationUnanswered => {
                "nobody answered; that says nothing about the child, so ask again later"
            }
            Self::AuthoritativeSnapshot => "a complete snapshot corrected the state",
            Self::SnapshotAdmitted => {
                "a complete snapshot made this child known; what it did before is unknown"
            }
            Self::SnapshotOutdated => "newer evidence of the child is known; the entry changes nothing",
            Self::SnapshotRepeated => {
                "the snapshot was seen before, or is older than the last accepted one; it changes nothing"
            }
            Self::EndContradicted => {
                "the child has ended and stays as it ended, although the snapshot gives another state"
            }
            Self::CheckpointBroken => {
                "a part of a checkpoint is missing or cannot be read; what was known stays"
            }
            Self::CompleteSnapshotMissing => {
                "complete snapshots in a row left the child out; that ends nothing, a reconciliation is open"
            }
            Self::ExitWithOpenTurn => {
                "the process ended in an open turn, which is no outcome: a reconciliation is open, ask an authority"
            }
        }
    }
}

/// What the answer to a question says about a child that is not known.
pub const NOBODY: &str =
    "no child of this source and id is known, so there is nothing to ask about; check both names";

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

    /// Whether events are missing that only a complete snapshot can make up for.
    #[must_use]
    pub fn wants_snapshot(&self) -> bool {
        matches!(self.note, Some(Note::UnknownChild | Note::SequenceGap | Note::MissingEdge))
    }

    /// Whether something changed that no event of the child said.
    pub(super) fn is_correction(&self) -> bool {
        matches!(self.status, Status::Applied | Status::Stale)
    }
}
