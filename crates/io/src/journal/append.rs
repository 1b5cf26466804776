//! Appending a group of events: one write and one sync under the lock, fenced on both sides.
//!
//! Input: drafts, the lock held. Output: their numbers, once they are as safe as promised.
//! Invariant: check token and end, write, sync, check, acknowledge. Never: writes at a position, acknowledges what is unsure.

use std::io::{self, ErrorKind};

use agent_lifecycle_core::contract::limits::SAFE_INTEGER;

use super::engine::Engine;
use super::fault::{Fault, FaultCode};
use super::line::Draft;
use super::tail::Tail;
use crate::lock::Held;
use crate::storage::{File, Open};

/// The journal as it is open for one hold.
pub(super) struct Opened {
    file: Box<dyn File>,
}

impl Engine {
    /// Opens the journal by name, which every holder does after it has the lock.
    pub(super) fn open_to_append(&mut self) -> Result<Opened, Fault> {
        if let Some(file) = self.open_if_there(Open::Append)? {
            return Ok(Opened { file });
        }
        self.is_directory_synced = false;
        let file = self.open(Open::AppendOrNew)?;
        Ok(Opened { file })
    }

    /// Appends the group and answers with the first number; the others follow it one by one.
    pub(super) fn append(
        &mut self,
        held: &Held,
        opened: &mut Opened,
        group: &[&Draft],
    ) -> Result<u64, Fault> {
        if self.has_failed_sync {
            return Err(self.refuses_after_sync());
        }
        let file = &mut *opened.file;
        let caught = self.catch_up(file)?;
        let tail = caught.tail;
        if caught.is_foreign {
            self.meet();
            // Two writes that are both unsynced may reach the medium in any order; what others left comes first.
            if self.fsyncs() {
                file.sync().map_err(|error| self.sync_failed(&error, &tail, None))?;
            }
        }
        let first = tail.next();
        let last = first + group.len() as u64 - 1;
        if last > SAFE_INTEGER {
            let message = format!(
                "journal integrity: the numbers of {} are used up: its last line has one so high that none can follow; move the file away to begin anew",
                self.path.display()
            );
            return Err(Fault::new(FaultCode::Integrity, &self.path, message));
        }
        let mut lines = String::with_capacity(group.iter().map(|draft| draft.size()).sum());
        for (draft, number) in group.iter().zip(first..) {
            draft.write(number, &mut lines);
            lines.push('\n');
        }
        self.must_be_at(held, file, &tail)?;
        match file.reserve(lines.len() as u64) {
            Err(error) if error.kind() != ErrorKind::Unsupported => {
                return Err(self.io("make room in", &error));
            }
            _ => {}
        }
        self.tail = None;
        if let Err((written, error)) = self.write(file, lines.as_bytes()) {
            return Err(self.undo(held, file, &tail, written, &error, (first, last)));
        }
        if self.fsyncs() {
            let synced = file
                .sync()
                .and_then(|()| if self.is_directory_synced { Ok(()) } else { self.sync_directory() });
            synced.map_err(|error| self.sync_failed(&error, &tail, Some((first, last))))?;
        }
        let grown = tail.grown(lines.as_bytes(), last);
        self.must_still_be_at(held, file, &grown).map_err(|fault| fault.unknown(first, last))?;
        self.tail = Some(grown);
        Ok(first)
    }

    /// Before a write: the lock is ours, and the file with the journal's name ends where we think.
    fn must_be_at(&self, held: &Held, file: &dyn File, tail: &Tail) -> Result<(), Fault> {
        self.must_hold(held)?;
        if self.ends_at(file, tail)? {
            return Ok(());
        }
        Err(self.lost("somebody wrote to it meanwhile, and nothing was written by this program"))
    }

    /// After it.
    fn must_still_be_at(&self, held: &Held, file: &dyn File, tail: &Tail) -> Result<(), Fault> {
        let unknown =
            "what was being appended is written, but whether it stays is unknown; look for it with replay";
        let is_ours = self.locker.check(held).map_err(|error| self.io("check the lock of", &error))?;
        if is_ours && self.ends_at(file, tail)? {
            return Ok(());
        }
        Err(self.lost(unknown))
    }

    fn ends_at(&self, file: &dyn File, tail: &Tail) -> Result<bool, Fault> {
        let open = file.stat().map_err(|error| self.io("look at", &error))?;
        let named = match self.storage.stat(&self.path) {
            Ok(named) => named,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.io("look at", &error)),
        };
        Ok(open.is_same_file(&named) && open.length == tail.length)
    }

    /// Writes all, or says how much was written.
    fn write(&self, file: &mut dyn File, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < lines.len() {
            match file.append(&lines[written..]) {
                Ok(0) => return Err((written, ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err((written, error)),
            }
            // A second write must not reach the medium before the first.
            if written < lines.len() && self.fsyncs() {
                file.sync().map_err(|error| (written, error))?;
            }
        }
        Ok(())
    }

    /// Cuts off what a failed write left, if the lock and the end are still ours.
    fn undo(
        &mut self,
        held: &Held,
        file: &mut dyn File,
        tail: &Tail,
        written: usize,
        error: &io::Error,
        sequences: (u64, u64),
    ) -> Fault {
        let fault = self.io("append to", error);
        if written == 0 {
            self.tail = Some(tail.clone());
            return fault;
        }
        let end = tail.length + written as u64;
        let is_ours = self.locker.check(held).unwrap_or(false)
            && file.stat().is_ok_and(|stat| stat.length == end && tail.is_of(&stat));
        if is_ours && file.truncate(tail.length).is_ok() && file.sync().is_ok() {
            return Fault {
                message: format!("{fault}; the {written} bytes that were written of it were cut off again"),
                ..fault
            };
        }
        let message = format!(
            "{fault}; {written} bytes of it stand from byte {} on and could not be cut off",
            tail.length
        );
        Fault { message, ..fault }.unknown(sequences.0, sequences.1)
    }

    /// From here on nothing is appended by this instance, and whoever opens the journal writes it anew first.
    fn sync_failed(&mut self, error: &io::Error, tail: &Tail, group: Option<(u64, u64)>) -> Fault {
        self.has_failed_sync = true;
        self.tail = None;
        self.mark_unsynced(tail.length);
        let what = match group {
            Some((first, last)) => format!(
                "whether the entries {first} to {last} are on the disk is unknown; close this instance and open the \
                 journal again, which writes them anew"
            ),
            None => "nothing was appended; close this instance and open the journal again".to_owned(),
        };
        let message = format!("cannot sync {}: {error}; {what}", self.path.display());
        let fault = Fault::new(FaultCode::SyncFailed, &self.path, message);
        match group {
            Some((first, last)) => fault.unknown(first, last),
            None => fault,
        }
    }

    pub(super) fn refuses_after_sync(&self) -> Fault {
        let message = format!(
            "an earlier sync of {} failed, so nothing more is appended by this instance; close it and open the journal again",
            self.path.display()
        );
        Fault::new(FaultCode::SyncFailed, &self.path, message)
    }
}
