//! The lock of a journal: the shared directory protocol, and among programs of this package an operating system's lock around it.
//! `docs/journal-format.md` has the protocol step by step.
//!
//! Input: a path, a storage, a system. Output: [`Held`], or why not. Invariant: at most one of ours holds where the file system
//! has locks. Never: takes a lock from an owner that is not provably dead, removes a lock that is not its own.

mod acquire;
mod guard;
mod names;
mod notice;
mod owner;
mod release;
mod sweep;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use names::Names;
pub use notice::Notice;

use crate::process::Identity;
use crate::storage::{File, Storage, System};

/// How long to wait, and when a lock is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOptions {
    /// How long to wait for another holder.
    pub timeout: Duration,
    /// The age from which a lock of a dead owner may be taken. Where the record itself proves the death, five seconds do.
    pub stale: Duration,
    /// Whether the owner's record is brought to the medium, so that after a power cut the lock names its owner.
    pub sync_owner: bool,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5), stale: Duration::from_mins(5), sync_owner: true }
    }
}

/// Why the lock was not got.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else held it for all the time that was waited.
    TimedOut(String),
    /// It is old and has no readable owner file, so that nobody can tell whose it is.
    NoOwner(String),
    /// The file system refused a step.
    Io {
        /// What was to be done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(message) | Self::NoOwner(message) => f.write_str(message),
            Self::Io { doing, path, error } => write!(f, "cannot {doing} {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LockError {}

/// Takes and releases the lock of one journal. One thread uses it.
pub struct Locker {
    storage: Arc<dyn Storage>,
    system: Arc<dyn System>,
    identity: Identity,
    names: Names,
    options: LockOptions,
    notices: Vec<Notice>,
    has_told_no_guard: bool,
    /// Whether waiting must end at once, because the process ends.
    hurry: Arc<AtomicBool>,
    /// The token of the lock that is held, or that could not be removed.
    unreleased: Option<String>,
}

/// The lock is held. It is given back with [`Locker::release`]; dropped, the directory stays as that of a crashed program.
pub struct Held {
    token: String,
    guard: Option<Box<dyn File>>,
    has_waited: bool,
}

impl Held {
    /// Whether somebody else was met on the way.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.has_waited
    }
}

impl Locker {
    /// The lock of the journal at `path`, which should be canonical.
    #[must_use]
    pub fn new(
        storage: Arc<dyn Storage>,
        system: Arc<dyn System>,
        path: &Path,
        options: LockOptions,
    ) -> Self {
        Self {
            identity: system.identity(),
            storage,
            system,
            names: Names::of(path),
            options,
            notices: Vec::new(),
            has_told_no_guard: false,
            hurry: Arc::default(),
            unreleased: None,
        }
    }

    /// What happened beside the point since this was last called.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Whether the lock is still this hold's.
    pub fn check(&self, held: &Held) -> io::Result<bool> {
        owner::has_token(&*self.storage, self.names.lock(), &held.token)
    }

    /// Set to true by any thread, it ends every wait for the lock.
    #[must_use]
    pub fn hurry(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hurry)
    }

    /// Whether a wait until `deadline` is over.
    fn is_over(&self, deadline: Duration) -> bool {
        self.system.elapsed() >= deadline || self.hurry.load(Ordering::Relaxed)
    }

    fn new_token(&self) -> String {
        format!("{:016x}{:016x}", self.system.random(), self.system.random())
    }

    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LockError {
        move |error| LockError::Io { doing, path: path.to_owned(), error }
    }
}
