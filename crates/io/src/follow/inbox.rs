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
        target: Box<Target>,
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

impl News {
    fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.changed.is_empty() && !self.lost && !self.stop
    }

    /// Keeps changed paths, as far as there is room.
    pub(super) fn change(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.changed.extend(paths);
        if self.changed.len() > MOST_PATHS {
            self.changed = HashSet::new();
            self.lost = true;
        }
    }
}

#[derive(Default)]
struct State {
    news: News,
    /// What is rung for somebody who waits for more than the inbox.
    bell: Option<Bell>,
    /// Somebody waits for the bell.
    is_awaited: bool,
}

/// Rings where news came.
pub(super) type Bell = Arc<dyn Fn() + Send + Sync>;

/// See the module.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    arrived: Condvar,
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: impl FnOnce(&mut News)) {
        let mut state = self.state();
        what(&mut state.news);
        let is_awaited = mem::take(&mut state.is_awaited);
        let bell = state.bell.clone();
        drop(state);
        match bell {
            Some(bell) if is_awaited => bell(),
            // It looks before it waits.
            Some(_) => {}
            None => self.arrived.notify_one(),
        }
    }

    pub(super) fn command(&self, command: Command) {
        self.tell(|news| news.commands.push(command));
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn changed(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.tell(|news| news.change(paths));
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn lost(&self) {
        self.tell(|news| news.lost = true);
    }

    pub(super) fn stop(&self) {
        self.tell(|news| news.stop = true);
    }

    /// `bell` is rung once for each time that somebody [waits for it](Self::await_bell), where something comes.
    pub(super) fn set_bell(&self, bell: Bell) {
        self.state().bell = Some(bell);
    }

    /// Whether there is nothing, so that the bell will ring when something comes.
    pub(super) fn await_bell(&self) -> bool {
        let mut state = self.state();
        state.is_awaited = state.news.is_empty();
        state.is_awaited
    }

    /// What there is; nobody waits for the bell any more. The second says whether it was rung.
    pub(super) fn take_now(&self) -> (News, bool) {
        let mut state = self.state();
        let was_rung = !mem::take(&mut state.is_awaited);
        (mem::take(&mut state.news), was_rung)
    }

    /// Waits until there is something, or until the time has come.
    pub(super) fn take(&self, until: Option<Instant>) -> News {
        let mut state = self.state();
        while state.news.is_empty() {
            let Some(until) = until else {
                state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (state, _) = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        mem::take(&mut state.news)
    }
}
