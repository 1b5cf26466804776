//! What a source can tell about a child.
//!
//! Input: the `capabilities` of an event. Output: each known or unknown. Invariant: what is not said is unknown.

use serde::Serialize;

use super::error::{Code, Refusal};
use super::raw::{Nested, RawCapabilities};
use crate::json::Scalar;

/// Whether something can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Said to be there.
    Known,
    /// Not said.
    #[default]
    Unknown,
}

impl Capability {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
        }
    }

    /// The capability with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Known, Self::Unknown].into_iter().find(|capability| capability.as_str() == word)
    }
}

/// What a source can tell about a child; what it does not say is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// All events since the start are there.
    pub history: Capability,
    /// Heartbeats are sent.
    pub heartbeat: Capability,
    /// Complete snapshots can be had.
    pub snapshot: Capability,
    /// It can be cancelled.
    pub cancel: Capability,
    /// A terminal state comes with its cause.
    pub terminal_cause: Capability,
}

impl Capabilities {
    /// What `capabilities` says; what it leaves out is unknown.
    pub(super) fn read(raw: &Nested<RawCapabilities<'_>>) -> Result<Capabilities, Refusal> {
        let raw = match raw {
            Nested::Absent => return Ok(Capabilities::default()),
            Nested::Object(raw) => raw,
            Nested::Other => {
                let message = "capabilities must be an object, or absent";
                return Err(Refusal::new(Code::InvalidCapabilities, "$.capabilities", message));
            }
        };
        let capability = |member: &Scalar<'_>, path: &'static str| match member {
            Scalar::Absent => Ok(Capability::Unknown),
            given => given.text().and_then(Capability::parse).ok_or_else(|| {
                let message = format!("{} must be known or unknown", &path["$.capabilities.".len()..]);
                Refusal::new(Code::InvalidCapabilities, path, message)
            }),
        };
        Ok(Capabilities {
            history: capability(&raw.history, "$.capabilities.history")?,
            heartbeat: capability(&raw.heartbeat, "$.capabilities.heartbeat")?,
            snapshot: capability(&raw.snapshot, "$.capabilities.snapshot")?,
            cancel: capability(&raw.cancel, "$.capabilities.cancel")?,
            terminal_cause: capability(&raw.terminal_cause, "$.capabilities.terminalCause")?,
        })
    }

    /// What either says is known: leaving something out of a later event takes nothing back.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let either = |one, other| if one == Capability::Known { one } else { other };
        Self {
            history: either(self.history, other.history),
            heartbeat: either(self.heartbeat, other.heartbeat),
            snapshot: either(self.snapshot, other.snapshot),
            cancel: either(self.cancel, other.cancel),
            terminal_cause: either(self.terminal_cause, other.terminal_cause),
        }
    }
}
