//! Refusals: why an event was not accepted, as data.
//!
//! A refusal names a stable code, the member's path and what to do. It never contains the offending value.

use std::borrow::Cow;
use std::fmt;

/// Why something was refused. The text form ([`Code::as_str`]) is stable and listed in `docs/contract.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Not a JSON object, or not representable as JSON.
    InvalidEvent,
    /// `schemaVersion` is not the number 1.
    InvalidSchemaVersion,
    /// An identity is missing, blank, too long, or has a NUL or a lone surrogate.
    InvalidId,
    /// `lineage` is missing or one of its members is wrong.
    InvalidLineage,
    /// `kind` is not one of the seven.
    InvalidKind,
    /// `state` is missing, unknown, or not allowed for this kind.
    InvalidState,
    /// `waitingReason` is unknown, or the state is not `waiting`.
    InvalidWaitingReason,
    /// A time is not RFC 3339 UTC.
    InvalidTimestamp,
    /// `sequence` is not a safe integer of 0 or more.
    InvalidSequence,
    /// `activity` is not text.
    InvalidActivity,
    /// `details` is not a JSON object, or too deep or too large.
    InvalidDetails,
    /// `capabilities` has a value other than `known` and `unknown`.
    InvalidCapabilities,
    /// More than 512 levels of JSON.
    TooDeep,
    /// The state graph has no such edge.
    IllegalTransition,
    /// A second `created` for a child that exists.
    AlreadyCreated,
    /// `advanceEpoch` or a snapshot names another epoch than the present one, or a retired one.
    EpochMismatch,
    /// Not a snapshot: no object, or no list of children, or one that is not what its coverage says.
    InvalidSnapshot,
    /// `complete` is not true: nothing may be concluded from it.
    IncompleteSnapshot,
}

impl Code {
    /// The stable text form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidEvent => "invalid_event",
            Self::InvalidSchemaVersion => "invalid_schema_version",
            Self::InvalidId => "invalid_id",
            Self::InvalidLineage => "invalid_lineage",
            Self::InvalidKind => "invalid_kind",
            Self::InvalidState => "invalid_state",
            Self::InvalidWaitingReason => "invalid_waiting_reason",
            Self::InvalidTimestamp => "invalid_timestamp",
            Self::InvalidSequence => "invalid_sequence",
            Self::InvalidActivity => "invalid_activity",
            Self::InvalidDetails => "invalid_details",
            Self::InvalidCapabilities => "invalid_capabilities",
            Self::TooDeep => "too_deep",
            Self::IllegalTransition => "illegal_transition",
            Self::AlreadyCreated => "already_created",
            Self::EpochMismatch => "epoch_mismatch",
            Self::InvalidSnapshot => "invalid_snapshot",
            Self::IncompleteSnapshot => "incomplete_snapshot",
        }
    }
}

/// A refused input: nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// The member, as `$`, `$.kind` or `$.lineage.attempt`.
    pub path: Cow<'static, str>,
    /// One sentence that names the member and the remedy.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, path: &'static str, message: impl Into<String>) -> Self {
        Self { code, path: Cow::Borrowed(path), message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for Refusal {}
