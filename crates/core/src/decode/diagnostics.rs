//! What was wrong with a stream, in the order of the input.
//!
//! Input: faults with their place. Output: a bounded list and the number of those beyond it.
//! Invariant: an excerpt is redacted and short. Never: keeps the bytes of a fault.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::contract::limits::{DIAGNOSTICS, RAW_UNITS};
use crate::redact::redact_excerpt;

/// What was wrong. The text forms are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosticCode {
    /// The line is not JSON.
    Malformed,
    /// The line is beyond the limit.
    Oversize,
    /// The stream ended inside a line.
    Truncated,
    /// The line is not UTF-8.
    InvalidUtf8,
    /// The line is nested more than 512 levels deep.
    TooDeep,
    /// The line is JSON but no schema-v1 event.
    InvalidEvent,
    /// The record was delivered; NUL bytes that followed it in its line were dropped.
    NulPadding,
}

impl DiagnosticCode {
    /// The stable text form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Oversize => "oversize",
            Self::Truncated => "truncated",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::TooDeep => "too_deep",
            Self::InvalidEvent => "invalid_event",
            Self::NulPadding => "nul_padding",
        }
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One fault of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What was wrong.
    pub code: DiagnosticCode,
    /// One sentence.
    pub message: String,
    /// Absolute offset of the line, in bytes.
    pub offset: u64,
    /// Its length in bytes, without the LF.
    pub length: u64,
    /// A redacted excerpt of at most 512 UTF-16 code units.
    pub raw: String,
}

/// The first faults of a stream, or the last, and how many there were.
#[derive(Clone, Debug, Default)]
pub struct DiagnosticLog {
    kept: Vec<Diagnostic>,
    counts: BTreeMap<&'static str, u64>,
    keeps_last: bool,
}

impl DiagnosticLog {
    /// A log that keeps the last faults; [`Default`] keeps the first.
    #[must_use]
    pub fn of_last() -> Self {
        Self { keeps_last: true, ..Self::default() }
    }

    /// Adds a fault of the line of `length` bytes at `offset` that begins with (or, unless `cut`, is) `bytes`.
    pub fn add(
        &mut self,
        code: DiagnosticCode,
        message: impl Into<String>,
        place: (u64, u64),
        bytes: &[u8],
        cut: bool,
    ) {
        *self.counts.entry(code.as_str()).or_default() += 1;
        let (offset, length) = place;
        // A fault may be found after one that stands behind it.
        let at = self.kept.partition_point(|other| other.offset <= offset);
        let is_full = self.kept.len() >= DIAGNOSTICS;
        if is_full && (!self.keeps_last || at == 0) {
            return;
        }
        let raw = redact_excerpt(bytes, RAW_UNITS, cut);
        self.kept.insert(at, Diagnostic { code, message: message.into(), offset, length, raw });
        if is_full {
            self.kept.remove(0);
        }
    }

    /// The faults that are kept, in input order.
    #[must_use]
    pub fn kept(&self) -> &[Diagnostic] {
        &self.kept
    }

    /// How many faults there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many faults there were of each code.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }
}
