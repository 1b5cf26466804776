//! Beginning the journal anew with what stands for all that was in it.
//!
//! Input: the journal, the lock held, and what makes the checkpoint. Output: the old file as `<path>.<n>`, a new one in its place.
//! Invariant: the path always names a whole journal; numbers go on. Never: rotates a journal that is damaged.

use std::io::ErrorKind;
use std::path::PathBuf;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::project::Projector;
use serde::Serialize;
use serde_json::json;

use super::engine::{Engine, append_all};
use super::fault::{Fault, FaultCode};
use super::line::{Draft, Entry};
use super::scan::{Piece, Scanner};
use crate::lock::Held;
use crate::storage::{File, Open};

/// What is made of a journal's entries, and what stands for all of them when the journal is rotated.
pub trait Projection: Send {
    /// Takes the next entry.
    fn take(&mut self, entry: &Entry<'_>);
    /// The events from which a new projection comes out the same.
    fn checkpoint(&self, at: Moment) -> Vec<Event<'static>>;
}

impl Projection for Projector {
    fn take(&mut self, entry: &Entry<'_>) {
        // What the projection refuses changes nothing in it, now as when it was live.
        let _ = self.replay(&entry.event, entry.received_at);
    }

    fn checkpoint(&self, at: Moment) -> Vec<Event<'static>> {
        Projector::checkpoint(self, at)
    }
}

/// How to rotate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// How many old files are kept, the newest ones; all where it is not given.
    pub keep: Option<u64>,
    /// Must be `false`: every program that writes this journal opens it by name under the lock and goes on from its last number.
    pub shared_writers: bool,
}

/// What a rotation has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotated {
    /// Where the old entries are. None where the journal was empty.
    pub old: Option<PathBuf>,
    /// Entries of the new journal.
    pub entries: u64,
    /// The number of the last one.
    pub last_sequence: Option<u64>,
    /// Old files that were removed.
    pub removed: Vec<PathBuf>,
}

impl Engine {
    /// Rotates the journal.
    pub(super) fn rotate(
        &mut self,
        rotation: Rotation,
        projection: &mut dyn Projection,
    ) -> Result<Rotated, Fault> {
        let refuse = |message: &str| Err(Fault::new(FaultCode::InvalidOption, &self.path, message));
        if rotation.shared_writers {
            return refuse(
                "rotate needs sharedWriters: false, the confirmation that every writer opens the journal by name under its \
                 lock and goes on from its last journalSequence",
            );
        }
        if rotation.keep == Some(0) {
            return refuse("keep must be 1 or more: the file that was just rotated is always kept");
        }
        if self.has_failed_sync {
            return Err(self.refuses_after_sync());
        }
        self.under_lock(|engine, held| engine.rotate_under_lock(held, rotation, projection))
    }

    fn rotate_under_lock(
        &mut self,
        held: &Held,
        rotation: Rotation,
        projection: &mut dyn Projection,
    ) -> Result<Rotated, Fault> {
        let Some(mut file) = self.open_if_there(Open::Append)? else { return Ok(Rotated::default()) };
        let length = self.catch_up(&mut *file)?.tail.length;
        if length == 0 {
            return Ok(Rotated::default());
        }
        let last = self.project(&*file, length, projection)?;
        // The old file is what a later reader has of the past: it must be whole on the medium before another takes its name.
        file.sync().map_err(|error| self.io("sync", &error))?;
        self.sweep_drafts();
        let draft = self.draft_path();
        let (old, number) = self.old_path(&*file)?;
        let entries = match self.write_checkpoint(&draft, last, &old, projection) {
            Ok(entries) => entries,
            Err(error) => {
                let _ = self.storage.remove_file(&draft);
                return Err(Fault::io("write", &draft, &error));
            }
        };
        let linked = self.must_hold(held).and_then(|()| match self.storage.link(&self.path, &old) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(Fault::io("keep the old journal as", &old, &error))
            }
            _ => self.sync_directory().map_err(|error| self.io("sync the folder of", &error)),
        });
        if let Err(fault) = linked {
            let _ = self.storage.remove_file(&draft);
            return Err(fault);
        }
        self.put_in_place(held, &draft)?;
        let removed = self.remove_old(rotation.keep, number)?;
        Ok(Rotated { old: Some(old), entries, last_sequence: last.map(|last| last + entries), removed })
    }

    /// Feeds all entries to the projection; the number of the last one.
    fn project(
        &self,
        file: &dyn File,
        length: u64,
        projection: &mut dyn Projection,
    ) -> Result<Option<u64>, Fault> {
        let mut scanner = Scanner::new(0, length, None);
        let mut problems = Vec::new();
        scanner
            .run(file, &mut |piece, _| match piece {
                Piece::Entry { entry, .. } => projection.take(&entry),
                Piece::Blank => {}
                Piece::Unnumbered { problem, .. } | Piece::Bad { problem } | Piece::Torn { problem } => {
                    if problems.len() < super::scan::FAULTS {
                        problems.push(problem);
                    }
                }
            })
            .map_err(|error| self.io("read", &error))?;
        if problems.is_empty() {
            return Ok(scanner.last());
        }
        Err(self.integrity(&problems, problems.len() as u64))
    }

    /// The name for the old file: the next free one, or the one that a rotation which was cut short has given it.
    fn old_path(&self, file: &dyn File) -> Result<(PathBuf, u64), Fault> {
        let newest = self.numbered("")?.last().copied();
        let stat = file.stat().map_err(|error| self.io("look at", &error))?;
        if let Some(newest) = newest {
            let path = self.beside(&format!(".{newest}"));
            if self.storage.stat(&path).is_ok_and(|old| old.is_same_file(&stat)) {
                return Ok((path, newest));
            }
        }
        let number = newest.map_or(1, |newest| newest + 1);
        Ok((self.beside(&format!(".{number}")), number))
    }

    /// Writes and syncs the new journal; how many entries it has.
    fn write_checkpoint(
        &self,
        draft: &std::path::Path,
        last: Option<u64>,
        old: &std::path::Path,
        projection: &mut dyn Projection,
    ) -> std::io::Result<u64> {
        let name = old.file_name().map(|name| name.to_string_lossy());
        let details = json!({ "journal": { "op": "rotate", "old": name, "lastSequence": last } });
        let mut lines = String::new();
        let mut number = last.unwrap_or(0);
        let mut file = self.storage.open(draft, Open::New)?;
        let at = Moment::from_unix_millis(self.system.now());
        let drafts = projection.checkpoint(at).into_iter().map(|event| Draft::new(&event, None));
        for line in std::iter::once(self.note("rotate", &details)).chain(drafts) {
            number += 1;
            line.write(number, &mut lines);
            lines.push('\n');
            if lines.len() > super::tail::COPY_BYTES {
                append_all(&mut *file, lines.as_bytes())?;
                lines.clear();
            }
        }
        append_all(&mut *file, lines.as_bytes())?;
        file.sync()?;
        Ok(number - last.unwrap_or(0))
    }

    fn remove_old(&self, keep: Option<u64>, newest: u64) -> Result<Vec<PathBuf>, Fault> {
        let Some(keep) = keep else { return Ok(Vec::new()) };
        let mut removed = Vec::new();
        for number in self.numbered("")?.into_iter().filter(|number| number + keep <= newest) {
            let path = self.beside(&format!(".{number}"));
            self.storage
                .remove_file(&path)
                .map_err(|error| Fault::io("remove the old journal", &path, &error))?;
            removed.push(path);
        }
        Ok(removed)
    }
}
