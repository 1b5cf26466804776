//! Linux tells of changes in folders, without a thread between it and the following one.
//!
//! Input: folders to be watched. Output: changed paths, read by whoever waits for them.
//! Invariant: a full queue of the system is said to be one. Never: tells of what was only read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
use rustix::io::Errno;

use super::inbox::{Inbox, News};
use super::notifier::Notifier;

/// Bytes that are read of the system's queue at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long is waited where waiting for the system fails.
const UNABLE: Duration = Duration::from_millis(100);
/// Something happened to a watched folder itself.
const OF_FOLDER: ReadFlags =
    ReadFlags::IGNORED.union(ReadFlags::DELETE_SELF).union(ReadFlags::MOVE_SELF).union(ReadFlags::UNMOUNT);

/// See the module.
pub(super) struct Inotify {
    system: OwnedFd,
    /// Becomes readable when something comes into the inbox.
    bell: Arc<OwnedFd>,
    /// Which folder each watch is of. One folder may have several paths.
    folders: HashMap<i32, Vec<PathBuf>>,
    watches: HashMap<PathBuf, i32>,
    buffer: Box<[MaybeUninit<u8>]>,
}

impl Inotify {
    pub(super) fn new(inbox: &Inbox) -> io::Result<Self> {
        let system = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let rung = Arc::clone(&bell);
        inbox.set_bell(Arc::new(move || {
            // It cannot be full: it is read after each time that it was waited for.
            let _ = rustix::io::write(&rung, &1_u64.to_ne_bytes());
        }));
        Ok(Self {
            system,
            bell,
            folders: HashMap::new(),
            watches: HashMap::new(),
            buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES].into_boxed_slice(),
        })
    }

    /// Waits until there are changes, until the bell rings, or until the time has come.
    fn poll(&self, until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut awaited = [PollFd::new(&self.system, PollFlags::IN), PollFd::new(&*self.bell, PollFlags::IN)];
        // An interrupted wait is a short one. One that cannot be made must not become a loop that burns the processor.
        match poll(&mut awaited, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => std::thread::sleep(UNABLE),
        }
    }

    /// Adds what changed since this was last called, as much as is read at once: the next wait is over at once where there is more.
    fn read(&mut self, news: &mut News) {
        let Self { system, folders, watches, buffer, .. } = self;
        let mut reader = Reader::new(system.as_fd(), buffer);
        let mut is_first = true;
        // What was read and not looked at would be lost.
        while is_first || !reader.is_buffer_empty() {
            is_first = false;
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR | Errno::AGAIN) => return,
                Err(_) => {
                    news.lost = true;
                    return;
                }
            };
            let what = event.events();
            news.lost |= what.contains(ReadFlags::QUEUE_OVERFLOW);
            let Some(paths) = folders.get(&event.wd()) else { continue };
            match event.file_name() {
                Some(name) => {
                    let name = OsStr::from_bytes(name.to_bytes());
                    news.change(paths.iter().map(|path| path.join(name)));
                }
                None if what.intersects(OF_FOLDER) => news.change(paths.iter().cloned()),
                None => {}
            }
            if what.contains(ReadFlags::IGNORED) {
                for path in folders.remove(&event.wd()).unwrap_or_default() {
                    watches.remove(&path);
                }
            }
        }
    }
}

impl Notifier for Inotify {
    fn watch(&mut self, folder: &Path, _: bool) -> io::Result<()> {
        // What is read is not told: reading is what we do ourselves.
        let changes = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let watch = match add_watch(&self.system, folder, changes) {
            Err(Errno::NOSPC) => {
                let message = "the system's limit of watches is reached";
                return Err(io::Error::new(ErrorKind::StorageFull, message));
            }
            made => made?,
        };
        if self.watches.insert(folder.to_owned(), watch) != Some(watch) {
            self.folders.entry(watch).or_default().push(folder.to_owned());
        }
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        let Some(watch) = self.watches.remove(folder) else { return };
        let Some(paths) = self.folders.get_mut(&watch) else { return };
        paths.retain(|path| path != folder);
        if paths.is_empty() {
            self.folders.remove(&watch);
            // The system took it away with a folder that is gone.
            let _ = remove_watch(&self.system, watch);
        }
    }

    fn wait(&mut self, inbox: &Inbox, until: Option<Instant>) -> News {
        let awaits = inbox.await_bell();
        if awaits {
            self.poll(until);
        }
        let (mut news, was_rung) = inbox.take_now();
        if awaits && was_rung {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        self.read(&mut news);
        news
    }
}
