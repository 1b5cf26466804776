//! Followed files and folders: what is new in them, as it comes.
//!
//! Input: paths, and requests for more. Output: events, each file's in its order.
//! Invariant: one thread and one watcher of the system for a process, whatever is followed.
//! Never: reads more of a file than was requested, or uses the processor while nothing changes.

mod client;
mod entry;
mod folder;
mod followed;
mod inbox;
#[cfg(target_os = "linux")]
mod inotify;
mod look;
mod notifier;
mod position;
#[cfg(test)]
mod tests;
mod watches;
mod worker;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use client::Client;
use inbox::{Command, Inbox, Target};
use notifier::MakeNotifier;
use worker::{Timing, Worker};

pub use client::Event;
pub use folder::{FolderOptions, FollowedFolder};
pub use followed::{Followed, Start};
pub use inbox::Key;
pub use position::{Chunk, ChunkKind, FileId, Position, Trail};

/// How often what the system tells of is looked at all the same.
const TIMING: Timing = Timing { sweep: Duration::from_secs(10), grace: Duration::from_secs(1) };
/// How long the end of the following thread is waited for. A look at a file system that hangs may take longer.
const STOP: Duration = Duration::from_secs(2);

/// How a file is followed.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// Where following begins.
    pub start: Start,
    /// Time between looks where the system does not tell of changes.
    pub poll: Duration,
    /// Bytes of a chunk at most.
    pub most_bytes: usize,
}

/// Follows files and folders for one consumer, until it is dropped.
pub struct Follower {
    client: Arc<Client>,
    hub: Arc<Hub>,
}

impl Follower {
    /// `wake` is called on the following thread after each event, and must return at once. It is not called any more when dropping
    /// the follower has returned.
    pub fn open(wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        static PROCESS: Mutex<Weak<Hub>> = Mutex::new(Weak::new());
        let mut process = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let hub = match process.upgrade() {
            Some(hub) => hub,
            None => Hub::start(notifier::system(), TIMING)?,
        };
        *process = Arc::downgrade(&hub);
        Ok(Self::of(hub, wake))
    }

    fn of(hub: Arc<Hub>, wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { client: Arc::new(Client::new(Box::new(wake))), hub }
    }

    /// Follows a file. Nothing is read until it is [requested](Self::request), but that the end is looked for where it starts there.
    pub fn add_file(&self, path: &Path, options: FileOptions) -> io::Result<Key> {
        let path = std::path::absolute(path)?;
        let followed = Followed::new(path.clone(), options.start, options.most_bytes);
        Ok(self.add(Target::File(followed, path), options.poll))
    }

    /// Follows the files below a folder; `poll` is the time between looks where the system does not tell of changes.
    pub fn add_folder(&self, path: &Path, options: FolderOptions, poll: Duration) -> io::Result<Key> {
        Ok(self.add(Target::Folder(FollowedFolder::new(std::path::absolute(path)?, options)), poll))
    }

    /// Asks for one more chunk of a file, or one more batch of paths. What was asked for already and is not there yet is not asked
    /// for twice.
    pub fn request(&self, key: Key) {
        self.hub.inbox.command(Command::Request(key));
    }

    /// Follows it no longer. Events that were on their way may still come.
    pub fn remove(&self, key: Key) {
        self.hub.inbox.command(Command::Remove(key));
    }

    /// Something that lets who waits for the next event go on without one.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.client))
    }

    /// The next event, which is waited for.
    #[must_use]
    pub fn next(&self, wait: Duration) -> Option<Event> {
        let (event, has_room) = self.client.take(wait);
        if has_room {
            self.hub.inbox.command(Command::Room(Arc::clone(&self.client)));
        }
        event
    }

    fn add(&self, target: Target, poll: Duration) -> Key {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let key = Key(NEXT.fetch_add(1, Ordering::Relaxed));
        let (client, target) = (Arc::clone(&self.client), Box::new(target));
        self.hub.inbox.command(Command::Add { key, client, target, poll });
        key
    }
}

/// See [`Follower::waker`].
pub struct Waker(Arc<Client>);

impl Waker {
    /// Lets who waits go on; where nobody does, the next one.
    pub fn wake(&self) {
        self.0.wake_taker();
    }
}

impl std::fmt::Debug for Waker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Waker")
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.client.close();
        self.hub.inbox.command(Command::Close(Arc::clone(&self.client)));
    }
}

/// The following thread, as long as somebody follows.
struct Hub {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
    ended: Arc<Ended>,
}

#[derive(Default)]
struct Ended {
    has_ended: Mutex<bool>,
    told: Condvar,
}

impl Hub {
    fn start(make: MakeNotifier, timing: Timing) -> io::Result<Arc<Self>> {
        let inbox = Arc::<Inbox>::default();
        let ended = Arc::<Ended>::default();
        let worker = Worker::new(Arc::clone(&inbox), make, timing);
        let end = TellEnd(Arc::clone(&ended));
        let run = move || {
            let _end = end;
            worker.run();
        };
        let thread = thread::Builder::new().name("agent-lifecycle-follow".to_owned()).spawn(run)?;
        Ok(Arc::new(Self { inbox, thread: Some(thread), ended }))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.inbox.stop();
        let has_ended = self.ended.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.told.wait_timeout_while(has_ended, STOP, |has_ended| !*has_ended);
        let (has_ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *has_ended && let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

struct TellEnd(Arc<Ended>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        *self.0.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.told.notify_all();
    }
}
