//! Sweeping what crashed programs left beside the lock.
//!
//! Input: the names beside it. Output: none; what cannot be removed stays. Invariant: only what is old and names a provably dead
//! owner goes. Never: touches the lock itself, waits.

use super::{Locker, owner};
use crate::process::{self, Verdict};

impl Locker {
    /// Removes leftovers of dead owners, if no other program of this package is at work on the lock.
    pub fn sweep(&mut self) {
        let Some(_guard) = self.guard_if_free() else { return };
        for name in self.storage.list(self.names.directory()).unwrap_or_default() {
            if !self.names.is_leftover(&name) {
                continue;
            }
            let path = self.names.directory().join(name);
            let Ok(stat) = self.storage.stat(&path) else { continue };
            let Ok(Some(record)) = owner::read(&*self.storage, &path) else { continue };
            let verdict = process::judge(&record.owner, &self.identity, |pid| self.system.look(pid));
            let age = owner::age(self.system.now(), stat.modified, record.created_at);
            if matches!(verdict, Verdict::Dead { by_record, .. } if self.is_old(age, by_record)) {
                self.remove(&path);
            }
        }
    }
}
