//! Taking the lock: the guard, then the directory, with its owner inside from the start.
//!
//! Input: what stands at the lock's place. Output: [`Held`], or an error that names path, owner and age after a bounded wait.
//! Never: moves a lock before its owner was judged dead, and keeps none that turns out to be another's.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use super::owner::{self, Record};
use super::{Held, LockError, Locker, Notice};
use crate::process::{self, Verdict};
use crate::storage::File;

/// Between two tries, and up to a half more.
const RETRY: Duration = Duration::from_millis(10);
/// The age at which a lock may be taken whose record proves that its owner is dead.
const PROVEN_STALE: Duration = Duration::from_secs(5);

/// What stands at the lock's place.
enum Found {
    Nothing,
    Owned { record: Record, verdict: Verdict, age: u64 },
    NoOwner { age: u64 },
}

impl Locker {
    /// Takes the lock, or says within the timeout who has it.
    pub fn acquire(&mut self) -> Result<Held, LockError> {
        let deadline = self.system.elapsed() + self.options.timeout;
        let (guard, has_waited) = self.take_guard(deadline)?;
        // A hold of ours that was never given back: its removal failed, or whoever held it panicked.
        if let Some(token) = self.unreleased.take() {
            self.give_back(&token);
        }
        let held = self.acquire_directory(deadline, guard, has_waited)?;
        self.unreleased = Some(held.token.clone());
        Ok(held)
    }

    fn acquire_directory(
        &mut self,
        deadline: Duration,
        guard: Option<Box<dyn File>>,
        mut has_waited: bool,
    ) -> Result<Held, LockError> {
        let token = self.new_token();
        let mut made = false;
        let outcome = loop {
            let found = match self.look_at_lock() {
                Ok(found) => found,
                Err(error) => break Err(error),
            };
            let words = match found {
                Found::Nothing => {
                    if !made && let Err(error) = self.make(&token) {
                        break Err(error);
                    }
                    made = true;
                    match self.place(&token) {
                        Ok(true) => return Ok(Held { token, guard, has_waited }),
                        Ok(false) => continue,
                        Err(error) => break Err(error),
                    }
                }
                Found::Owned { record, verdict: verdict @ Verdict::Dead { by_record, .. }, age }
                    if self.is_old(age, by_record) =>
                {
                    if let Err(error) = self.reclaim(&record) {
                        break Err(error);
                    }
                    // Where it could not be moved or put back, the wait must end all the same.
                    if !self.is_over(deadline) {
                        continue;
                    }
                    owner_words(&record, verdict, age)
                }
                Found::Owned { record, verdict, age } => owner_words(&record, verdict, age),
                Found::NoOwner { age } if self.is_old(age, false) => break Err(self.without_owner(age)),
                Found::NoOwner { age } => {
                    format!("it has no readable owner.json yet and is {} old", seconds(age))
                }
            };
            has_waited = true;
            if self.is_over(deadline) {
                break Err(self.timed_out(&words));
            }
            self.pause();
        };
        if made {
            self.remove(&self.names.made(&token));
        }
        outcome
    }

    fn look_at_lock(&self) -> Result<Found, LockError> {
        let lock = self.names.lock();
        let failed = |error| Self::io("look at the lock", lock)(error);
        let stat = match self.storage.stat(lock) {
            Ok(stat) => stat,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(failed(error)),
        };
        let now = self.system.now();
        let Some(record) = owner::read(&*self.storage, lock).map_err(failed)? else {
            return Ok(Found::NoOwner { age: owner::age(now, stat.modified, None) });
        };
        let verdict = process::judge(&record.owner, &self.identity, |pid| self.system.look(pid));
        let age = owner::age(now, stat.modified, record.created_at);
        Ok(Found::Owned { record, verdict, age })
    }

    pub(super) fn is_old(&self, age: u64, by_record: bool) -> bool {
        let limit = if by_record { self.options.stale.min(PROVEN_STALE) } else { self.options.stale };
        u128::from(age) >= limit.as_millis()
    }

    /// Makes a lock beside the lock's place.
    fn make(&self, token: &str) -> Result<(), LockError> {
        let made = self.names.made(token);
        self.storage.make_dir(&made).map_err(Self::io("make the lock", &made))?;
        let file = owner::file(&made);
        let record = owner::write(&self.identity, token, self.system.now());
        self.storage.write_new(&file, record.as_bytes(), self.options.sync_owner).map_err(|error| {
            self.remove(&made);
            Self::io("write the lock's owner", &file)(error)
        })
    }

    /// Puts what was made in the lock's place, unless that is taken.
    fn place(&self, token: &str) -> Result<bool, LockError> {
        self.put(&self.names.made(token)).map_err(Self::io("take the lock", self.names.lock()))
    }

    /// Moves a lock to the lock's place, unless that is taken.
    fn put(&self, from: &Path) -> io::Result<bool> {
        let lock = self.names.lock();
        match self.storage.rename_new(from, lock) {
            Ok(()) => return Ok(true),
            Err(error) if is_taken(&error) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
        // The plain protocol: whoever makes the directory holds it. The owner comes in by one rename.
        match self.storage.make_dir(lock) {
            Ok(()) => {}
            Err(error) if is_taken(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        match self.storage.rename(&owner::file(from), &owner::file(lock)) {
            Ok(()) => {
                self.remove(from);
                Ok(true)
            }
            // What was moved had no owner file, as a lock that is just being made has none.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.remove(from);
                Ok(true)
            }
            Err(error) => {
                let _ = self.storage.remove_dir(lock);
                Err(error)
            }
        }
    }

    /// Moves the lock of a dead owner away and removes it; if what was moved is another's, puts it back.
    fn reclaim(&mut self, seen: &Record) -> Result<(), LockError> {
        let lock = self.names.lock();
        let stale = self.names.stale(&self.new_token());
        match self.storage.rename(lock, &stale) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Self::io("move away the lock of a dead owner", lock)(error)),
        }
        let is_seen = owner::has_token(&*self.storage, &stale, &seen.token)
            .map_err(Self::io("look at the lock that was moved", &stale))?;
        if is_seen {
            self.remove(&stale);
        } else {
            self.put_back(&stale);
        }
        Ok(())
    }

    /// Puts a lock that was moved and is another's in its place again.
    pub(super) fn put_back(&mut self, moved: &Path) {
        if !self.put(moved).unwrap_or(false) {
            self.notices.push(Notice::RestoreFailed(moved.to_owned()));
        }
    }

    /// Removes a lock that is out of the way. What cannot be removed is swept later.
    pub(super) fn remove(&self, directory: &Path) {
        let _ = self.storage.remove_file(&owner::file(directory));
        if self.storage.remove_dir(directory).is_ok() {
            return;
        }
        // Another program may have put more into it.
        for name in self.storage.list(directory).unwrap_or_default() {
            let _ = self.storage.remove_file(&directory.join(name));
        }
        let _ = self.storage.remove_dir(directory);
    }

    pub(super) fn pause(&self) {
        let half = u64::try_from(RETRY.as_micros() / 2).unwrap_or(1).max(1);
        self.system.sleep(RETRY + Duration::from_micros(self.system.random() % half));
    }

    pub(super) fn timed_out(&self, holder: &str) -> LockError {
        LockError::TimedOut(format!(
            "journal lock timeout: {} was not free for {} ms: {holder}",
            self.names.lock().display(),
            self.options.timeout.as_millis()
        ))
    }

    fn without_owner(&self, age: u64) -> LockError {
        LockError::NoOwner(format!(
            "journal lock timeout: {lock} is {age} old and has no readable owner.json, so nobody can tell whose it is; \
             if no program uses the journal, remove {lock} by hand",
            lock = self.names.lock().display(),
            age = seconds(age)
        ))
    }
}

/// What the place being taken looks like: a directory with an owner, without, or something that is no directory.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory)
}

fn owner_words(record: &Record, verdict: Verdict, age: u64) -> String {
    let host = record.owner.host_name.as_deref().map(|host| format!(" on {host}")).unwrap_or_default();
    format!(
        "its owner, pid {}{host}, has held it for {} and {}",
        record.written_pid,
        seconds(age),
        verdict.words()
    )
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03} s", millis / 1000, millis % 1000)
}
