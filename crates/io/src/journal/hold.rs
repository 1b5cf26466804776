//! Holding the lock for an operation, and being fair to others while operations follow each other.
//!
//! Input: an operation. Output: what it answers; the lock is given back whatever that is.
//! Invariant: what a failed sync left unsure is mended before anything else happens under the lock.

use std::io;
use std::time::Duration;

use super::engine::Engine;
use super::fault::{Fault, FaultCode};
use crate::lock::{Held, LockError};

/// How long one hold may go on while there is something to do, if others were met, and if not.
const CONTENDED: Duration = Duration::from_millis(100);
const ALONE: Duration = Duration::from_secs(1);
/// Others that were met so long ago are taken to be gone.
const MET: Duration = Duration::from_mins(1);
/// The pause after a long hold, and up to as much more. Programs of the plain protocol try about every 10 ms.
const PAUSE: Duration = Duration::from_millis(10);

impl Engine {
    /// Runs `act` under the lock.
    pub(super) fn under_lock<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &Held) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let held = self.lock()?;
        let outcome = self.mend(&held).and_then(|()| act(self, &held));
        self.unlock(held);
        outcome
    }

    /// Takes the lock.
    pub(super) fn lock(&mut self) -> Result<Held, Fault> {
        let acquired = self.locker.acquire();
        self.notices.append(&mut self.locker.take_notices());
        match acquired {
            Ok(held) => {
                if held.has_waited() {
                    self.meet();
                }
                Ok(held)
            }
            Err(error) => {
                if matches!(error, LockError::TimedOut(_)) {
                    self.meet();
                }
                Err(Fault::lock(&self.path, &error))
            }
        }
    }

    /// Gives the lock back.
    pub(super) fn unlock(&mut self, held: Held) {
        self.locker.release(held);
        self.notices.append(&mut self.locker.take_notices());
    }

    /// Notes that there are others.
    pub(super) fn meet(&mut self) {
        self.met_other = Some(self.system.elapsed());
    }

    /// Whether a hold that began at `since` must end, although there is more to do.
    pub(super) fn must_pause(&self, since: Duration) -> bool {
        let now = self.system.elapsed();
        let has_met = self.met_other.is_some_and(|at| now.saturating_sub(at) < MET);
        now.saturating_sub(since) >= if has_met { CONTENDED } else { ALONE }
    }

    /// Lets others have the lock.
    pub(super) fn pause_for_others(&self) {
        let most = u64::try_from(PAUSE.as_micros()).unwrap_or(1);
        self.system.sleep(PAUSE + Duration::from_micros(self.system.random() % most));
    }

    /// Refuses where the lock is not this hold's any more.
    pub(super) fn must_hold(&self, held: &Held) -> Result<(), Fault> {
        if self.locker.check(held).map_err(|error| self.io("check the lock of", &error))? {
            return Ok(());
        }
        Err(self.lost("nothing was written"))
    }

    /// The error that a lost lock is answered with.
    pub(super) fn lost(&self, outcome: &str) -> Fault {
        let message = format!(
            "the lock of {} was taken from this program while it held it (removed by hand, or by a program that broke the \
             protocol); {outcome}",
            self.path.display()
        );
        Fault::new(FaultCode::LockLost, &self.path, message)
    }

    /// Brings the names in the journal's directory to the medium.
    pub(super) fn sync_directory(&mut self) -> io::Result<()> {
        self.storage.sync_dir(self.directory())?;
        self.is_directory_synced = true;
        Ok(())
    }
}
