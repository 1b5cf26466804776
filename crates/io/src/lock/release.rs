//! Giving the lock back: only if it is still ours, and in steps that never leave a lock without an owner.
//!
//! Input: a hold. Output: whether the lock was still its own. Never: removes a lock before it is out of the way and known as ours.

use std::io::{self, ErrorKind};

use super::owner;
use super::{Held, Locker, Notice};

impl Locker {
    /// Gives the lock back. `false` where it was not ours any more; a notice tells.
    pub fn release(&mut self, held: Held) -> bool {
        let Held { token, guard, has_waited: _ } = held;
        self.unreleased = None;
        let was_ours = self.give_back(&token);
        drop(guard);
        was_ours
    }

    pub(super) fn give_back(&mut self, token: &str) -> bool {
        let lock = self.names.lock().to_owned();
        match self.move_away(token) {
            Ok(true) => true,
            Ok(false) => {
                self.notices.push(Notice::LostAtRelease(lock));
                false
            }
            Err(_) => {
                self.unreleased = Some(token.to_owned());
                self.notices.push(Notice::NotReleased(lock));
                false
            }
        }
    }

    fn move_away(&mut self, token: &str) -> io::Result<bool> {
        let released = self.names.released(token);
        if !owner::has_token(&*self.storage, self.names.lock(), token)? {
            return Ok(false);
        }
        match self.storage.rename(self.names.lock(), &released) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_ours = owner::has_token(&*self.storage, &released, token)?;
        if is_ours {
            self.remove(&released);
        } else {
            self.put_back(&released);
        }
        Ok(is_ours)
    }
}
