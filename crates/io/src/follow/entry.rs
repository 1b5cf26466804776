//! One followed file or folder as the following thread keeps it.
//!
//! Input: what became of a look. Output: when to look again.
//! Invariant: nothing is read that was not requested. Never: does anything itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Client;
use super::inbox::Target;

/// How long a file that lost its name is looked at often.
const ADRIFT: Duration = Duration::from_mins(1);

/// See the module.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Entry {
    pub(super) client: Arc<Client>,
    pub(super) target: Target,
    /// Time between looks where the system does not tell of changes.
    pub(super) poll: Duration,
    /// Folders whose watch it uses.
    pub(super) folders: Vec<PathBuf>,
    /// Paths whose changes concern it.
    pub(super) names: Vec<PathBuf>,
    /// A chunk or a batch was requested and not given yet.
    pub(super) is_requested: bool,
    /// There may be something new.
    pub(super) is_due: bool,
    /// It is in the queue of those that are looked at.
    pub(super) is_queued: bool,
    /// Nobody told of a change: what the next look finds was missed.
    pub(super) is_unprompted: bool,
    pub(super) is_suspect: bool,
    /// Of a folder it is not known where in it something may be new.
    pub(super) must_list: bool,
    pub(super) has_caught_up: bool,
    pub(super) is_unreadable: bool,
    pub(super) has_told_full: bool,
    pub(super) adrift_since: Option<Instant>,
    pub(super) timer: Option<Instant>,
    /// Its place among the open files.
    pub(super) opened: u64,
    /// Paths that appeared and were not told yet.
    pub(super) appeared: Vec<PathBuf>,
}

impl Entry {
    pub(super) fn new(client: Arc<Client>, target: Target, poll: Duration) -> Self {
        Self {
            client,
            target,
            poll,
            folders: Vec::new(),
            names: Vec::new(),
            is_requested: false,
            is_due: true,
            is_queued: false,
            is_unprompted: false,
            is_suspect: false,
            must_list: true,
            has_caught_up: false,
            is_unreadable: false,
            has_told_full: false,
            adrift_since: None,
            timer: None,
            opened: 0,
            appeared: Vec::new(),
        }
    }

    /// After a look that found `is_adrift`: whether it is to be looked at in another rhythm now.
    pub(super) fn drift(&mut self, is_adrift: bool, has_news: bool, now: Instant) -> bool {
        if is_adrift && (self.adrift_since.is_none() || has_news) {
            return self.adrift_since.replace(now).is_none();
        }
        !is_adrift && self.adrift_since.take().is_some()
    }

    /// Whether the open file has no name, so that nobody tells of its changes, and may still be written.
    pub(super) fn is_adrift(&self, now: Instant) -> bool {
        self.adrift_since.is_some_and(|since| now.duration_since(since) < ADRIFT)
    }
}
