//! What became of inputs that made no event.
//!
//! Input: a reason for each. Output: a count of each reason, and the last diagnostics. Invariant: bounded.
//! Never: a native id or a text of the harness.

use std::collections::VecDeque;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Diagnostics kept.
const KEPT: usize = 32;

/// Why an input made no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Reason {
    /// After the end of everything.
    Disposed,
    /// No turn is on, and it needs one.
    NoTurn,
    /// A turn is on already.
    TurnOpen,
    /// Its turn has ended.
    Late,
    /// Its turn is not ours.
    ForeignTurn,
    /// It ends the turn of a sub-agent.
    ForeignScope,
    /// It is of an earlier turn that did not end by itself.
    Debt,
    /// It was seen before.
    Repeat,
    /// Its piece has ended.
    AfterEnd,
    /// Its text is not what was shown and more.
    Diverged,
    /// Its turn never was.
    NeverAccepted,
    /// Too much waited.
    Overflow,
    /// There are too many of its kind.
    TooMany,
    /// Its request is not open.
    NotOpen,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::Disposed,
        Self::NoTurn,
        Self::TurnOpen,
        Self::Late,
        Self::ForeignTurn,
        Self::ForeignScope,
        Self::Debt,
        Self::Repeat,
        Self::AfterEnd,
        Self::Diverged,
        Self::NeverAccepted,
        Self::Overflow,
        Self::TooMany,
        Self::NotOpen,
    ];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disposed => "disposed",
            Self::NoTurn => "no_turn",
            Self::TurnOpen => "turn_open",
            Self::Late => "late",
            Self::ForeignTurn => "foreign_turn",
            Self::ForeignScope => "foreign_scope",
            Self::Debt => "debt",
            Self::Repeat => "repeat",
            Self::AfterEnd => "after_end",
            Self::Diverged => "diverged",
            Self::NeverAccepted => "never_accepted",
            Self::Overflow => "overflow",
            Self::TooMany => "too_many",
            Self::NotOpen => "not_open",
        }
    }
}

/// Something noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// When.
    pub at: String,
    /// What: a reason, `unconfirmed` or `renamed`.
    pub reason: &'static str,
    /// What it was noticed of.
    pub input: &'static str,
    /// The turn that was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    counts: [u64; Reason::ALL.len()],
    kept: VecDeque<Diagnostic>,
}

impl Drops {
    /// Counts one, and keeps it.
    pub fn add(&mut self, reason: Reason, input: &'static str, at: &str, turn_id: Option<&str>) {
        self.counts[reason as usize] += 1;
        self.note(reason.as_str(), input, at, turn_id);
    }

    /// Keeps what is no drop.
    pub fn note(&mut self, reason: &'static str, input: &'static str, at: &str, turn_id: Option<&str>) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        let (at, turn_id) = (at.to_owned(), turn_id.map(str::to_owned));
        self.kept.push_back(Diagnostic { at, reason, input, turn_id });
    }

    /// How many of a reason.
    #[must_use]
    pub fn count(&self, reason: Reason) -> u64 {
        self.counts[reason as usize]
    }

    /// The last ones, in order.
    #[must_use]
    pub fn kept(&self) -> &VecDeque<Diagnostic> {
        &self.kept
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.counts.len()))?;
        for reason in Reason::ALL {
            map.serialize_entry(reason.as_str(), &self.count(reason))?;
        }
        map.end()
    }
}
