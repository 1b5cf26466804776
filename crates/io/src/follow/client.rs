//! The events of one follower on their way from the following thread.
//!
//! Input: events. Output: the same in their order, and a call that there are some.
//! Invariant: a queue of 4 MiB or more takes no further chunk. Never: calls after it was closed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::inbox::Key;
use super::position::Chunk;

/// Bytes that wait to be taken.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What a follower is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file has new bytes. The next ones come when they are requested.
    Chunk {
        /// The file.
        file: Key,
        /// The bytes.
        chunk: Chunk,
    },
    /// Files that were not there before. The next ones come when they are requested.
    Appeared {
        /// The folder below which they are.
        folder: Key,
        /// At most 256, by name.
        paths: Vec<PathBuf>,
    },
    /// Everything that was there when following began was told. Once for each file and folder.
    CaughtUp {
        /// The file or folder.
        key: Key,
    },
    /// It cannot be read for now. Once until it can be read again; it is tried again.
    Unreadable {
        /// The file or folder.
        key: Key,
        /// Why.
        message: String,
    },
    /// The system does not tell of changes; the file or folder is looked at regularly instead. Once for each follower.
    Polling {
        /// Where it was seen first.
        key: Key,
        /// Why.
        message: String,
    },
    /// A folder has more files than are followed. Once for each folder.
    Full {
        /// The folder.
        key: Key,
    },
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Chunk { chunk, .. } => chunk.bytes.len(),
            _ => 0,
        }
    }
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    /// The following thread waits for room.
    is_awaited: bool,
    /// Who waits for an event.
    listeners: usize,
    is_closed: bool,
    /// Who waits is to look after something else.
    is_woken: bool,
}

/// See the module.
pub(super) struct Client {
    queue: Mutex<Queue>,
    arrived: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
    has_warned: AtomicBool,
}

impl Client {
    /// `wake` is called on the following thread after each event; it must return at once.
    pub(super) fn new(wake: Box<dyn Fn() + Send + Sync>) -> Self {
        Self { queue: Mutex::default(), arrived: Condvar::new(), wake, has_warned: AtomicBool::new(false) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was not told yet that the system does not tell of changes.
    pub(super) fn is_first_warning(&self) -> bool {
        !self.has_warned.swap(true, Ordering::Relaxed)
    }

    /// Whether a chunk may be added. Where not, the thread is told when there is room.
    pub(super) fn has_room(&self) -> bool {
        let mut queue = self.queue();
        queue.is_awaited |= queue.bytes >= MOST_BYTES;
        queue.bytes < MOST_BYTES
    }

    pub(super) fn push(&self, event: Event) {
        let mut queue = self.queue();
        if queue.is_closed {
            return;
        }
        queue.bytes += event.bytes();
        queue.events.push_back(event);
        // Under the lock: nobody is called after closing.
        (self.wake)();
        if queue.listeners > 0 {
            self.arrived.notify_one();
        }
    }

    /// The next event, and whether the following thread is to be told that there is room.
    pub(super) fn take(&self, wait: Duration) -> (Option<Event>, bool) {
        let until = Instant::now() + wait;
        let mut queue = self.queue();
        while queue.events.is_empty() && !queue.is_closed && !std::mem::take(&mut queue.is_woken) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue.listeners += 1;
            (queue, _) = self.arrived.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner);
            queue.listeners -= 1;
        }
        let event = queue.events.pop_front();
        queue.bytes -= event.as_ref().map_or(0, Event::bytes);
        let has_room = queue.is_awaited && queue.bytes < MOST_BYTES / 2;
        queue.is_awaited &= !has_room;
        (event, has_room)
    }

    #[cfg(test)]
    pub(super) fn waiting_bytes(&self) -> usize {
        self.queue().bytes
    }

    /// Lets who waits for an event go on without one.
    pub(super) fn wake_taker(&self) {
        self.queue().is_woken = true;
        self.arrived.notify_all();
    }

    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.is_closed = true;
        queue.events.clear();
        queue.bytes = 0;
        self.arrived.notify_all();
    }
}
