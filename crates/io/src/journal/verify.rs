//! Reading the whole journal and saying what is in it.
//!
//! Input: the journal as it was at one moment. Output: [`Verified`]. Never: changes anything, waits where it cannot lock.

use std::io::ErrorKind;

use serde::Serialize;

use super::engine::Engine;
use super::fault::Fault;
use super::scan::{FAULTS, LineProblem, Piece, Scanner};
use crate::lock::LockError;
use crate::storage::{File, Open};

/// Holes that are named; the rest are counted.
const HOLES: usize = 32;

/// Numbers that are missing between two entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hole {
    /// The number before it.
    pub after: u64,
    /// The number behind it.
    pub before: u64,
}

/// What is in a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether every line is an entry whose number increases.
    pub valid: bool,
    /// Its length in bytes.
    pub bytes: u64,
    /// Lines that are entries.
    pub entries: u64,
    /// The number of the first entry.
    pub first_sequence: Option<u64>,
    /// The number of the last one.
    pub last_sequence: Option<u64>,
    /// Where numbers are missing; that is no fault. At most 32.
    pub holes: Vec<Hole>,
    /// How many there are.
    pub hole_count: u64,
    /// What is wrong. At most 32, in the order of the file.
    pub problems: Vec<LineProblem>,
    /// How much is wrong.
    pub problem_count: u64,
    /// Whether the last line is torn.
    pub torn_tail: bool,
    /// Whether the lock was held when the length was taken. Without it (a read-only place) a torn last line may be one that is
    /// just being written.
    pub locked: bool,
}

/// The journal as it was at one moment.
pub(super) struct View {
    pub(super) file: Box<dyn File>,
    pub(super) length: u64,
    pub(super) locked: bool,
}

impl Engine {
    /// Checks every line.
    pub(super) fn verify(&mut self) -> Result<Verified, Fault> {
        let Some(view) = self.view()? else {
            return Ok(Verified { valid: true, locked: true, ..Verified::default() });
        };
        let mut verified = Verified { bytes: view.length, locked: view.locked, ..Verified::default() };
        Scanner::new(0, view.length, None)
            .run(&*view.file, &mut |piece, _| verified.take(&piece))
            .map_err(|error| self.io("read", &error))?;
        verified.valid = verified.problem_count == 0;
        Ok(verified)
    }

    /// The journal, and its length at a moment when nobody was writing. None where there is no journal.
    pub(super) fn view(&mut self) -> Result<Option<View>, Fault> {
        let acquired = self.locker.acquire();
        self.notices.append(&mut self.locker.take_notices());
        let held = match acquired {
            Ok(held) => Some(held),
            // What can only be read cannot be locked, and its end is what it is.
            Err(LockError::Io { error, .. })
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                None
            }
            Err(error) => return Err(Fault::lock(&self.path, &error)),
        };
        let locked = held.is_some();
        let view = self.open_if_there(Open::Read).and_then(|file| {
            let Some(file) = file else { return Ok(None) };
            let length = file.stat().map_err(|error| self.io("look at", &error))?.length;
            Ok(Some(View { file, length, locked }))
        });
        if let Some(held) = held {
            self.unlock(held);
        }
        view
    }
}

impl Verified {
    fn take(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Entry { entry, .. } => {
                if let Some(after) = self.last_sequence.filter(|last| last + 1 < entry.sequence) {
                    self.hole_count += 1;
                    if self.holes.len() < HOLES {
                        self.holes.push(Hole { after, before: entry.sequence });
                    }
                }
                self.entries += 1;
                self.first_sequence.get_or_insert(entry.sequence);
                self.last_sequence = Some(entry.sequence);
            }
            Piece::Blank => {}
            Piece::Unnumbered { problem, .. } | Piece::Bad { problem } | Piece::Torn { problem } => {
                self.torn_tail |= matches!(piece, Piece::Torn { .. });
                self.problem_count += 1;
                if self.problems.len() < FAULTS {
                    self.problems.push(problem.clone());
                }
            }
        }
    }
}
