//! Putting a whole new file in the journal's place, and doing that after a failed sync.
//!
//! A system whose sync failed may have forgotten the bytes and call the next sync a success. So they are not synced again but
//! written again, to a new file. A mark beside the journal tells every later holder, in whatever process.
//! Invariant: nothing is acknowledged while the mark is there. Never: leaves the journal's name without a file.

use std::io::ErrorKind;
use std::path::Path;

use super::engine::Engine;
use super::fault::Fault;
use super::tail::copy;
use crate::lock::Held;
use crate::storage::Open;

impl Engine {
    /// Notes for later holders that what stands from `offset` on may not be on the medium.
    pub(super) fn mark_unsynced(&self, offset: u64) {
        self.unsynced.add(&self.path);
        // The disk just failed; where the mark cannot be written either, this process still knows.
        let _ = self.storage.write_new(&self.mark(), format!("{{\"from\":{offset}}}\n").as_bytes(), false);
    }

    /// Writes the journal anew if a sync of it has failed, and sweeps what crashed holders left.
    pub(super) fn mend(&mut self, held: &Held) -> Result<(), Fault> {
        let is_marked = match self.storage.stat(&self.mark()) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => self.unsynced.has(&self.path),
            Err(error) => return Err(self.io("look beside", &error)),
        };
        if !is_marked {
            return Ok(());
        }
        if let Some(file) = self.open_if_there(Open::Read)? {
            let length = file.stat().map_err(|error| self.io("look at", &error))?.length;
            let draft = self.draft_path();
            let written = self.storage.open(&draft, Open::New).and_then(|mut new| {
                copy(&*file, 0, length, &mut *new)?;
                new.sync()
            });
            if let Err(error) = written {
                let _ = self.storage.remove_file(&draft);
                return Err(self.io("write a new file after a failed sync of", &error));
            }
            self.put_in_place(held, &draft)?;
        }
        match self.storage.remove_file(&self.mark()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(self.io("remove the mark of a failed sync of", &error));
            }
            _ => {}
        }
        self.unsynced.forget(&self.path);
        Ok(())
    }

    /// Gives a file that is wholly written and synced the journal's name.
    pub(super) fn put_in_place(&mut self, held: &Held, draft: &Path) -> Result<(), Fault> {
        self.tail = None;
        let outcome = self.must_hold(held).and_then(|()| {
            self.storage
                .rename(draft, &self.path)
                .map_err(|error| self.io("put a new file in the place of", &error))
        });
        if outcome.is_err() {
            let _ = self.storage.remove_file(draft);
        }
        outcome?;
        self.sync_directory().map_err(|error| self.io("sync the folder of", &error))?;
        if self.locker.check(held).map_err(|error| self.io("check the lock of", &error))? {
            return Ok(());
        }
        Err(self.lost("the journal was replaced by a whole new file, and what others wrote meanwhile may be missing from it"))
    }

    /// Removes drafts of holders that crashed. Called under the lock, when nobody is writing one.
    pub(super) fn sweep_drafts(&self) {
        let own = self.beside(".");
        let own = own.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        for name in self.storage.list(self.directory()).unwrap_or_default() {
            let Some(token) =
                name.as_encoded_bytes().strip_prefix(&own[..]).and_then(|rest| rest.strip_suffix(b".draft"))
            else {
                continue;
            };
            if token.len() == 16 && token.iter().all(u8::is_ascii_hexdigit) {
                let _ = self.storage.remove_file(&self.directory().join(name));
            }
        }
    }

    fn mark(&self) -> std::path::PathBuf {
        self.beside(".unsynced")
    }
}
