//! Reading a journal's lines in order, and saying of each whether it is one.
//!
//! Input: an open file and the part of it that counts. Output: each line as a [`Piece`], in order.
//! Invariant: memory is one chunk and one line. Never: stops at a bad line, changes anything.

use std::io;

use agent_lifecycle_core::contract::identity::trim;
use agent_lifecycle_core::contract::limits::LINE_BYTES;
use agent_lifecycle_core::decode::{Frame, Framer};
use serde::Serialize;

use super::line::{self, Entry};
use crate::storage::File;

/// Bytes read at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Faults that are named; the rest are counted.
pub const FAULTS: usize = 32;

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineProblem {
    /// `malformed`, `oversize`, `truncated`, `invalid_utf8`, `too_deep`, `invalid_event`, `no_sequence` or `not_increasing`.
    pub code: &'static str,
    /// Offset of the line in the file, in bytes.
    pub offset: u64,
    /// Its length in bytes, without the LF.
    pub length: u64,
    /// One sentence.
    pub message: String,
}

/// One line of the file.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is borrowed on")]
pub(super) enum Piece<'a> {
    /// An entry whose number increases.
    Entry { entry: Entry<'a>, bytes: &'a [u8] },
    /// An event whose number does not increase, or that has none.
    Unnumbered { event_bytes: &'a [u8], problem: LineProblem },
    /// White space.
    Blank,
    /// No entry at all, ended by an LF.
    Bad { problem: LineProblem },
    /// Bytes at the end that no LF ends.
    Torn { problem: LineProblem },
}

/// Where a line is: offset, and length with its LF.
pub(super) type Place = (u64, u64);

/// Reads lines one chunk at a time.
pub(super) struct Scanner {
    framer: Framer,
    /// Where in the file the framer's offset 0 is.
    base: u64,
    /// The next byte to be read, and the end.
    next: u64,
    end: u64,
    last: Option<u64>,
    buffer: Vec<u8>,
    has_ended: bool,
}

impl Scanner {
    /// The lines from `start`, which must be the start of a line, to `end`, after a line with the number `last`.
    pub(super) fn new(start: u64, end: u64, last: Option<u64>) -> Self {
        // The LF before the start is read too: a byte order mark is one at the start of the file only.
        let base = start.saturating_sub(1);
        Self {
            framer: Framer::new(LINE_BYTES),
            base,
            next: base,
            end,
            last,
            buffer: vec![0; CHUNK_BYTES],
            has_ended: false,
        }
    }

    /// The number of the last entry so far.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Reads on and hands over the lines that are complete with it. `false` at the end.
    pub(super) fn step(
        &mut self,
        file: &dyn File,
        take: &mut dyn FnMut(Piece<'_>, Place),
    ) -> io::Result<bool> {
        let Self { framer, base, next, end, last, buffer, has_ended } = self;
        if *has_ended {
            return Ok(false);
        }
        let room = usize::try_from(end.saturating_sub(*next)).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let read = if room == 0 { 0 } else { file.read_at(*next, &mut buffer[..room])? };
        if read == 0 {
            *has_ended = true;
            // Whatever is left has no LF, over-long or not.
            framer.end(&mut |frame| {
                let (Frame::Unterminated { offset, length, .. }
                | Frame::Oversize { offset, length, .. }
                | Frame::Line { offset, length, .. }) = frame;
                let message = "the file ends inside this line".to_owned();
                let problem = LineProblem { code: "truncated", offset: *base + offset, length, message };
                take(Piece::Torn { problem }, (*base + offset, length));
            });
        } else {
            framer.push(&buffer[..read], &mut |frame| piece(&frame, *base, last, take));
            *next += read as u64;
        }
        Ok(!*has_ended)
    }

    /// Reads all that is left.
    pub(super) fn run(&mut self, file: &dyn File, take: &mut dyn FnMut(Piece<'_>, Place)) -> io::Result<()> {
        while self.step(file, take)? {}
        Ok(())
    }
}

fn piece(frame: &Frame<'_>, base: u64, last: &mut Option<u64>, take: &mut dyn FnMut(Piece<'_>, Place)) {
    match *frame {
        Frame::Line { offset, length, bytes, padding } => {
            let place = (base + offset, length + 1);
            let problem = |code, message: String| LineProblem { code, offset: place.0, length, message };
            let is_blank = bytes.first() != Some(&b'{')
                && std::str::from_utf8(bytes).is_ok_and(|text| trim(text).is_empty());
            if padding > 0 {
                let message = format!("the line has {padding} NUL bytes, as a crash leaves them");
                let problem = problem("malformed", message);
                return match line::read(bytes) {
                    Err(line::LineFault::NotEvent(_)) => take(Piece::Bad { problem }, place),
                    _ => take(Piece::Unnumbered { event_bytes: bytes, problem }, place),
                };
            }
            if is_blank {
                return take(Piece::Blank, place);
            }
            match line::read(bytes) {
                Ok(entry) if last.is_none_or(|last| entry.sequence > last) => {
                    *last = Some(entry.sequence);
                    take(Piece::Entry { entry, bytes }, place);
                }
                Ok(entry) => {
                    let message = format!(
                        "journalSequence {} does not increase: {} came before it",
                        entry.sequence,
                        last.unwrap_or_default()
                    );
                    let problem = problem("not_increasing", message);
                    take(Piece::Unnumbered { event_bytes: bytes, problem }, place);
                }
                Err(fault @ line::LineFault::NoSequence) => {
                    let problem = problem(fault.code(), fault.message());
                    take(Piece::Unnumbered { event_bytes: bytes, problem }, place);
                }
                Err(fault) => {
                    let problem = problem(fault.code(), fault.message());
                    take(Piece::Bad { problem }, place);
                }
            }
        }
        Frame::Oversize { offset, length, .. } => {
            let place = (base + offset, length + 1);
            let message = format!("the line of {length} bytes is beyond the limit of {LINE_BYTES}");
            let problem = LineProblem { code: "oversize", offset: place.0, length, message };
            take(Piece::Bad { problem }, place);
        }
        // Only the end of the stream gives these, see `step`.
        Frame::Unterminated { .. } => {}
    }
}
