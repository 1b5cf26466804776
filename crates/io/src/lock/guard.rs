//! The guard: an operating system's lock on `<path>.lock.guard`, by which programs of this package exclude each other.
//!
//! Input: a deadline. Output: the locked file, or that the file system has no locks. Invariant: the file that is locked is the one
//! that has the name. Never: waits in the system, removes or renames the file.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::{LockError, Locker, Notice};
use crate::storage::{File, Open};

/// Who holds it is written there for others to read; more than this is not that.
const HOLDER_BYTES: usize = 1024;

/// What became of one try.
enum Try {
    Locked(Box<dyn File>),
    Busy,
    NoLocks,
}

impl Locker {
    /// Takes the guard, or none where the file system has none. The second value says whether it was busy.
    pub(super) fn take_guard(
        &mut self,
        deadline: Duration,
    ) -> Result<(Option<Box<dyn File>>, bool), LockError> {
        let path = self.names.guard();
        let mut has_waited = false;
        loop {
            match self.try_guard(&path)? {
                Try::Locked(mut file) => {
                    self.sign(&mut *file);
                    return Ok((Some(file), has_waited));
                }
                Try::NoLocks => {
                    if !std::mem::replace(&mut self.has_told_no_guard, true) {
                        self.notices.push(Notice::NoGuard(path));
                    }
                    return Ok((None, has_waited));
                }
                Try::Busy if self.is_over(deadline) => {
                    return Err(self.timed_out(&self.guard_holder(&path)));
                }
                Try::Busy => {
                    has_waited = true;
                    self.pause();
                }
            }
        }
    }

    /// The guard, if it is free now.
    pub(super) fn guard_if_free(&mut self) -> Option<Box<dyn File>> {
        let path = self.names.guard();
        match self.try_guard(&path) {
            Ok(Try::Locked(mut file)) => {
                self.sign(&mut *file);
                Some(file)
            }
            _ => None,
        }
    }

    fn try_guard(&self, path: &Path) -> Result<Try, LockError> {
        let mut file =
            self.storage.open(path, Open::AppendOrNew).map_err(Self::io("open the lock's guard", path))?;
        match file.try_lock() {
            Ok(true) => {}
            Ok(false) => return Ok(Try::Busy),
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(Try::NoLocks),
            Err(error) => return Err(Self::io("lock the lock's guard", path)(error)),
        }
        // Somebody may have removed the name meanwhile; a lock on a file without a name excludes nobody.
        let locked = file.stat().map_err(Self::io("look at the lock's guard", path))?;
        match self.storage.stat(path) {
            Ok(named) if named.is_same_file(&locked) => Ok(Try::Locked(file)),
            Ok(_) => Ok(Try::Busy),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Try::Busy),
            Err(error) => Err(Self::io("look at the lock's guard", path)(error)),
        }
    }

    /// Writes into the guard who holds it, where that is not there already. Only messages use it, so that a failure is no fault.
    fn sign(&self, file: &mut dyn File) {
        let signature = format!("{{\"pid\":{}}}\n", self.identity.pid);
        let mut present = vec![0; HOLDER_BYTES];
        let is_signed =
            file.read_at(0, &mut present).is_ok_and(|length| &present[..length] == signature.as_bytes());
        if !is_signed && file.truncate(0).is_ok() {
            let _ = file.append(signature.as_bytes());
        }
    }

    /// Who holds the guard, in words.
    fn guard_holder(&self, path: &Path) -> String {
        let pid = self.storage.read(path, HOLDER_BYTES).ok().and_then(|content| {
            serde_json::from_slice::<serde_json::Value>(&content).ok()?.get("pid")?.as_i64()
        });
        match pid {
            Some(pid) => format!("the guard {} is held by pid {pid}", path.display()),
            None => format!("the guard {} is held by another program", path.display()),
        }
    }
}
