//! The end of the journal: what this instance remembers of it, and what others have added since.
//!
//! Input: the open file, the lock held. Output: its present end, or why nothing may be appended there.
//! Invariant: the cost is that of what others added; a file that is shorter or ends otherwise is read from its start.

use super::TornTail;
use super::engine::{Engine, append_all};
use super::fault::{Fault, FaultCode};
use super::scan::{FAULTS, LineProblem, Piece, Scanner};
use crate::storage::{File, Open, Stat};

/// Bytes before the end that must be as they were.
const TAIL_BYTES: u64 = 256;
/// Bytes copied at once.
pub(super) const COPY_BYTES: usize = 256 * 1024;

/// The end of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) length: u64,
    /// The number of the last entry.
    pub(super) last: Option<u64>,
    /// The last bytes.
    bytes: Vec<u8>,
}

impl Tail {
    pub(super) fn is_of(&self, stat: &Stat) -> bool {
        (self.device, self.inode) == (stat.device, stat.inode)
    }

    /// The number that the next entry gets.
    pub(super) fn next(&self) -> u64 {
        self.last.map_or(1, |last| last + 1)
    }

    /// The end after `added` was appended, whose last entry is `last`.
    pub(super) fn grown(mut self, added: &[u8], last: u64) -> Self {
        self.length += added.len() as u64;
        self.last = Some(last);
        self.bytes.extend_from_slice(&added[added.len().saturating_sub(cap())..]);
        self.bytes.drain(..self.bytes.len().saturating_sub(cap()));
        self
    }
}

fn cap() -> usize {
    usize::try_from(TAIL_BYTES).unwrap_or(usize::MAX)
}

/// What was found of the end.
pub(super) struct Caught {
    pub(super) tail: Tail,
    /// Whether others added something that may not be on the medium yet.
    pub(super) is_foreign: bool,
}

impl Engine {
    /// Reads what others added since this instance knew the end.
    pub(super) fn catch_up(&mut self, file: &mut dyn File) -> Result<Caught, Fault> {
        let stat = file.stat().map_err(|error| self.io("look at", &error))?;
        let known = self.tail.take().filter(|tail| tail.is_of(&stat) && tail.length <= stat.length);
        let known = match known {
            Some(tail)
                if read_before(file, tail.length).map_err(|error| self.io("read", &error))? == tail.bytes =>
            {
                Some(tail)
            }
            _ => None,
        };
        let (from, last) = known.as_ref().map_or((0, None), |tail| (tail.length, tail.last));
        if let Some(tail) = known.filter(|tail| tail.length == stat.length) {
            self.tail = Some(tail.clone());
            return Ok(Caught { tail, is_foreign: false });
        }
        let mut scanner = Scanner::new(from, stat.length, last);
        let mut problems = Vec::new();
        let mut count = 0_u64;
        let mut torn = None;
        let read = scanner.run(file, &mut |piece, _| match piece {
            Piece::Entry { .. } | Piece::Blank => {}
            Piece::Torn { problem } => torn = Some(problem),
            Piece::Unnumbered { problem, .. } | Piece::Bad { problem } => {
                count += 1;
                if problems.len() < FAULTS {
                    problems.push(problem);
                }
            }
        });
        read.map_err(|error| self.io("read", &error))?;
        if count > 0 {
            return Err(self.integrity(&problems, count + u64::from(torn.is_some())));
        }
        let mut length = stat.length;
        if let Some(torn) = torn {
            if self.options.torn_tail == TornTail::Error {
                return Err(self.integrity(&[torn], 1));
            }
            self.quarantine_tail(file, torn.offset, stat.length)?;
            length = torn.offset;
        }
        let bytes = read_before(file, length).map_err(|error| self.io("read", &error))?;
        let tail = Tail { device: stat.device, inode: stat.inode, length, last: scanner.last(), bytes };
        self.tail = Some(tail.clone());
        Ok(Caught { tail, is_foreign: length > 0 })
    }

    /// The error that a journal with bad lines answers appends with.
    pub(super) fn integrity(&self, problems: &[LineProblem], count: u64) -> Fault {
        let shown: Vec<String> = problems
            .iter()
            .take(4)
            .map(|problem| format!("{} at byte {}", problem.code, problem.offset))
            .collect();
        let more = count.saturating_sub(shown.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let torn_alone = matches!(problems, [only] if only.code == "truncated");
        let advice = if torn_alone {
            "the last line is torn, as a crash leaves one: open the journal with tornTail \"quarantine\", or repair it"
        } else {
            "repair it (`agent-lifecycle journal repair`); nothing is deleted"
        };
        Fault::new(
            FaultCode::Integrity,
            &self.path,
            format!("journal integrity: {} has {}{more}; {advice}", self.path.display(), shown.join(", ")),
        )
    }

    /// Copies the bytes from `from` to `to` into a new quarantine file, brings that to the medium, then cuts them off.
    fn quarantine_tail(&mut self, file: &mut dyn File, from: u64, to: u64) -> Result<(), Fault> {
        self.keep_in_quarantine(file, &[(from, to - from)])?;
        file.truncate(from).map_err(|error| self.io("cut the torn line off", &error))?;
        file.sync().map_err(|error| self.io("sync", &error))
    }

    /// Copies parts of the file into a new quarantine file and brings it and its name to the medium.
    pub(super) fn keep_in_quarantine(
        &mut self,
        file: &dyn File,
        parts: &[(u64, u64)],
    ) -> Result<std::path::PathBuf, Fault> {
        let number = self.numbered("quarantine-")?.last().map_or(1, |last| last + 1);
        let path = self.beside(&format!(".quarantine-{number}"));
        let failed = |error: &std::io::Error| Fault::io("write", &path, error);
        let mut kept = self.storage.open(&path, Open::New).map_err(|error| failed(&error))?;
        let mut write = || {
            for &(offset, length) in parts {
                copy(file, offset, offset + length, &mut *kept)?;
            }
            kept.sync()?;
            self.storage.sync_dir(self.directory())
        };
        match write() {
            Ok(()) => Ok(path),
            Err(error) => Err(self.without_quarantine(&path, failed(&error))),
        }
    }

    /// Removes a quarantine file whose bytes are still in the journal, because of a fault; the fault, which says so.
    pub(super) fn without_quarantine(&self, path: &std::path::Path, mut fault: Fault) -> Fault {
        let what = match self.storage.remove_file(path) {
            Ok(()) => "the quarantine file was removed again".to_owned(),
            Err(_) => format!("the quarantine file {} is of no use and can be removed", path.display()),
        };
        fault.message = format!("{}; the journal is as it was, and {what}", fault.message);
        fault
    }
}

/// Copies the bytes from `from` to `to`.
pub(super) fn copy(source: &dyn File, mut from: u64, to: u64, target: &mut dyn File) -> std::io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    while from < to {
        let room = usize::try_from(to - from).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let read = source.read_at(from, &mut buffer[..room])?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        append_all(target, &buffer[..read])?;
        from += read as u64;
    }
    Ok(())
}

/// The last bytes before `end`.
fn read_before(file: &dyn File, end: u64) -> std::io::Result<Vec<u8>> {
    let start = end.saturating_sub(TAIL_BYTES);
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or_default()];
    let mut filled = 0;
    while filled < bytes.len() {
        let read = file.read_at(start + filled as u64, &mut bytes[filled..])?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        filled += read;
    }
    Ok(bytes)
}
