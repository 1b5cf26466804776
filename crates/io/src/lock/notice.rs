//! What a lock tells beside its answers: warnings that stop nobody.
//!
//! Input: what happened. Output: a stable word, and a sentence for people.

use std::fmt;
use std::path::PathBuf;

/// What happened beside the point and should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The file system has no locks: programs of this package exclude each other by the directory alone.
    NoGuard(PathBuf),
    /// A lock was moved that turned out to be another's, and its place was taken before it could be put back.
    RestoreFailed(PathBuf),
    /// At release the lock was another's or gone; nothing was removed.
    LostAtRelease(PathBuf),
    /// The lock could not be removed; it is tried again before the next hold.
    NotReleased(PathBuf),
}

impl Notice {
    /// The stable word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoGuard(_) => "lock_guard_unavailable",
            Self::RestoreFailed(_) => "lock_restore_failed",
            Self::LostAtRelease(_) => "lock_lost",
            Self::NotReleased(_) => "lock_not_released",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGuard(path) => write!(
                f,
                "the file system of {} has no locks; several writers exclude each other by the lock directory alone",
                path.display()
            ),
            Self::RestoreFailed(path) => write!(
                f,
                "a lock that was moved to {} is of a live owner and could not be put back, for its place was taken; \
                 its owner will find that it has lost it",
                path.display()
            ),
            Self::LostAtRelease(path) => write!(
                f,
                "the lock {} was not this program's any more when it was to be released; it was left alone",
                path.display()
            ),
            Self::NotReleased(path) => {
                write!(f, "the lock {} could not be removed; it is tried again", path.display())
            }
        }
    }
}
