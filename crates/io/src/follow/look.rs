//! What the following thread does when it looks at a file or a folder.
//!
//! Input: what is due and was requested. Output: one event, and perhaps what is to be said of it.
//! Invariant: at most 512 files are open. Never: looks where the client has no room.

use std::io;
use std::mem;
use std::path::Path;
use std::time::Instant;

use super::client::Event;
use super::inbox::{Key, Target};
use super::position::Chunk;
use super::worker::{Worker, enter};

/// Files that are kept open.
const MOST_OPEN: usize = 512;
/// Paths in one event.
const MOST_PATHS: usize = 256;

impl Worker {
    pub(super) fn look(&mut self, key: Key) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.is_queued = false;
        if !entry.client.has_room() {
            self.stalled.push(key);
            return;
        }
        let looked = match &entry.target {
            Target::File(..) => self.look_at_file(key),
            Target::Folder(_) => {
                self.look_at_folder(key);
                Ok(())
            }
        };
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let was_unreadable = mem::replace(&mut entry.is_unreadable, looked.is_err());
        if let Err(error) = looked {
            entry.is_due = false;
            if !was_unreadable {
                entry.client.push(Event::Unreadable { key, message: error.to_string() });
            }
        }
        if was_unreadable != entry.is_unreadable {
            self.schedule(key);
        }
    }

    fn look_at_file(&mut self, key: Key) -> io::Result<()> {
        let chunk = match self.poll_file(key) {
            Err(error) if is_out_of_files(&error) => {
                for (_, other) in mem::take(&mut self.open) {
                    self.release(other);
                }
                self.poll_file(key)?
            }
            polled => polled?,
        };
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(()) };
        let Target::File(followed, _) = &entry.target else { return Ok(()) };
        let (is_open, is_adrift) = (followed.is_open(), followed.is_adrift());
        let is_end = chunk.as_ref().is_some_and(|chunk| followed.is_end(chunk));
        let mut reschedule = entry.drift(is_adrift, chunk.is_some(), Instant::now());
        if let Some(chunk) = chunk {
            entry.is_requested = false;
            if entry.has_caught_up && entry.is_unprompted && entry.adrift_since.is_none() {
                entry.is_suspect = true;
                entry.is_unprompted = false;
                reschedule = true;
            }
            // It was read to its end: of what comes then somebody tells.
            if is_end && entry.has_caught_up && !is_adrift {
                entry.is_due = false;
                entry.is_unprompted = false;
            }
            entry.client.push(Event::Chunk { file: key, chunk });
        } else {
            entry.is_due = false;
            entry.is_unprompted = false;
            if !mem::replace(&mut entry.has_caught_up, true) {
                entry.client.push(Event::CaughtUp { key });
            }
        }
        self.keep_open(key, is_open);
        if reschedule {
            self.schedule(key);
        }
        Ok(())
    }

    fn poll_file(&mut self, key: Key) -> io::Result<Option<Chunk>> {
        let Some(entry) = self.entries.get_mut(&key) else { return Ok(None) };
        let Target::File(followed, _) = &mut entry.target else { return Ok(None) };
        if entry.is_unprompted && entry.has_caught_up && followed.is_as_it_was() {
            return Ok(None);
        }
        followed.poll()
    }

    fn look_at_folder(&mut self, key: Key) {
        let Self { entries, watches, below, .. } = self;
        let Some(entry) = entries.get_mut(&key) else { return };
        let Target::Folder(followed) = &mut entry.target else { return };
        let before = (entry.appeared.len(), entry.folders.len());
        if mem::take(&mut entry.must_list) {
            let mut enter = |folder: &Path| enter(watches, below, &mut entry.folders, key, folder);
            entry.appeared.extend(followed.poll(&mut enter));
        }
        let is_full = followed.is_full();
        let mut reschedule = entry.folders.len() != before.1;
        if entry.appeared.len() > before.0 && entry.has_caught_up && entry.is_unprompted {
            entry.is_suspect = true;
            reschedule = true;
        }
        entry.is_unprompted = false;
        entry.appeared.sort();
        entry.appeared.dedup();
        if entry.appeared.is_empty() {
            entry.is_due = false;
            if !mem::replace(&mut entry.has_caught_up, true) {
                entry.client.push(Event::CaughtUp { key });
            }
        } else {
            let paths = entry.appeared.drain(..entry.appeared.len().min(MOST_PATHS)).collect();
            entry.is_requested = false;
            entry.client.push(Event::Appeared { folder: key, paths });
        }
        if is_full && !mem::replace(&mut entry.has_told_full, true) {
            entry.client.push(Event::Full { key });
        }
        if reschedule {
            self.warn(key);
            self.schedule(key);
        }
    }

    /// Of the open files those stay open that were looked at last.
    fn keep_open(&mut self, key: Key, is_open: bool) {
        self.looks += 1;
        let Some(entry) = self.entries.get_mut(&key) else { return };
        self.open.remove(&mem::replace(&mut entry.opened, self.looks));
        if is_open {
            self.open.insert(self.looks, key);
        }
        if self.open.len() > MOST_OPEN
            && let Some((_, oldest)) = self.open.pop_first()
        {
            self.release(oldest);
        }
    }

    fn release(&mut self, key: Key) {
        if let Some(Target::File(followed, _)) = self.entries.get_mut(&key).map(|entry| &mut entry.target) {
            followed.release();
        }
    }
}

/// Whether no file can be opened because too many are open.
fn is_out_of_files(error: &io::Error) -> bool {
    #[cfg(unix)]
    const NUMBERS: [i32; 2] =
        [rustix::io::Errno::MFILE.raw_os_error(), rustix::io::Errno::NFILE.raw_os_error()];
    #[cfg(not(unix))]
    const NUMBERS: [i32; 1] = [4];
    error.raw_os_error().is_some_and(|number| NUMBERS.contains(&number))
}
