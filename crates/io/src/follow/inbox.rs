//! What the following thread is told: by those who follow, and by the system.
//!
//! Input: commands and changed paths, from any thread. Output: all of them at once, for the following thread.
//! Invariant: a change is kept until it is taken; of more than 16,384 paths it is kept that anything may have changed.
//! Never: blocks who tells.

use std::collections::HashSet;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::client::Client;
use super::folder::FollowedFolder;
use super::followed::Followed;

/// Changed paths that are kept one by one.
const MOST_PATHS: usize = 16_384;

/// Names a followed file or folder. No two of a process are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u64);

/// What is followed.
#[derive(Debug)]
pub(super) enum Target {
    File(Followed, PathBuf),
    Folder(FollowedFolder),
}

/// What somebody wants.
pub(super) enum Command {
    Add {
        key: Key,
        client: Arc<Client>,
        target: Target,
        poll: std::time::Duration,
    },
    /// One more chunk, or one more batch of paths.
    Request(Key),
    Remove(Key),
    /// The client took events, so that there is room for others.
    Room(Arc<Client>),
    /// The client is gone with everything that it follows.
    Close(Arc<Client>),
}

/// What came since the last time.
#[derive(Default)]
pub(super) struct News {
    pub(super) commands: Vec<Command>,
    pub(super) changed: HashSet<PathBuf>,
    /// Changes were lost: anything may be different.
    pub(super) lost: bool,
    pub(super) stop: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Inbox {
    news: Mutex<News>,
    arrived: Condvar,
}

impl Inbox {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn command(&self, command: Command) {
        self.news().commands.push(command);
        self.arrived.notify_one();
    }

    pub(super) fn changed(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut news = self.news();
        news.changed.extend(paths);
        if news.changed.len() > MOST_PATHS {
            news.changed = HashSet::new();
            news.lost = true;
        }
        drop(news);
        self.arrived.notify_one();
    }

    pub(super) fn lost(&self) {
        self.news().lost = true;
        self.arrived.notify_one();
    }

    pub(super) fn stop(&self) {
        self.news().stop = true;
        self.arrived.notify_one();
    }

    /// Waits until there is something, or until the time has come.
    pub(super) fn take(&self, until: Option<Instant>) -> News {
        let mut news = self.news();
        while news.commands.is_empty() && news.changed.is_empty() && !news.lost && !news.stop {
            let Some(until) = until else {
                news = self.arrived.wait(news).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (news, _) = self.arrived.wait_timeout(news, left).unwrap_or_else(PoisonError::into_inner);
        }
        mem::take(&mut news)
    }
}
