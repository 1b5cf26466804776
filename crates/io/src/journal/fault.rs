//! Why the journal did not do what was asked.
//!
//! Input: what went wrong below. Output: a [`Fault`] with a stable code, the path, and what is known of the outcome.
//! Never: repeats the content of a line.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::lock::LockError;

/// Why. The text forms are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCode {
    /// Somebody else held the lock for all the time that was waited.
    LockTimeout,
    /// The lock is old and nobody can tell whose it is.
    LockWithoutOwner,
    /// The lock was not this program's any more.
    LockLost,
    /// The journal has content that is no valid line in its place.
    Integrity,
    /// A sync failed, now or earlier in this instance.
    SyncFailed,
    /// The system refused to read or write.
    Io,
    /// Another instance of this process has this journal open.
    SingleWriter,
    /// The instance was closed.
    Closed,
    /// Too much waits to be written.
    Busy,
    /// An option has a value that it cannot have.
    InvalidOption,
}

impl FaultCode {
    /// The stable text form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LockTimeout => "journal_lock_timeout",
            Self::LockWithoutOwner => "journal_lock_without_owner",
            Self::LockLost => "lock_lost",
            Self::Integrity => "journal_integrity",
            Self::SyncFailed => "journal_sync_failed",
            Self::Io => "journal_io",
            Self::SingleWriter => "journal_single_writer",
            Self::Closed => "journal_closed",
            Self::Busy => "journal_busy",
            Self::InvalidOption => "invalid_option",
        }
    }
}

/// What is known of an append that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing of it is in the journal.
    NotWritten,
    /// It may be in the journal, in whole or in part.
    Unknown,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stable code.
    pub code: FaultCode,
    /// One sentence or two: what, where, what to do.
    pub message: String,
    /// The journal.
    pub path: PathBuf,
    /// What is known of the append.
    pub outcome: Outcome,
    /// The first and last journalSequence of a group whose outcome is unknown.
    pub sequences: Option<(u64, u64)>,
}

impl Fault {
    pub(crate) fn new(code: FaultCode, path: &Path, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            path: path.to_owned(),
            outcome: Outcome::NotWritten,
            sequences: None,
        }
    }

    /// The answer to what is dropped without one: the journal was closed before it, or a panic came in its middle.
    pub(super) fn dropped(path: &Path) -> Self {
        if std::thread::panicking() {
            let message =
                format!("the journal's thread panicked at this, which is a bug: {}", path.display());
            return Self { outcome: Outcome::Unknown, ..Self::new(FaultCode::Io, path, message) };
        }
        let message = format!("the journal {} is closed; open it again", path.display());
        Self::new(FaultCode::Closed, path, message)
    }

    pub(super) fn unknown(mut self, first: u64, last: u64) -> Self {
        self.outcome = Outcome::Unknown;
        self.sequences = Some((first, last));
        self
    }

    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(FaultCode::Io, path, format!("cannot {doing} {}: {error}", path.display()))
    }

    pub(super) fn lock(path: &Path, error: &LockError) -> Self {
        let code = match error {
            LockError::TimedOut(_) => FaultCode::LockTimeout,
            LockError::NoOwner(_) => FaultCode::LockWithoutOwner,
            LockError::Io { .. } => FaultCode::Io,
        };
        Self::new(code, path, error.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
