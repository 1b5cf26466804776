//! Reading the entries of a journal in batches.
//!
//! Input: the journal as it was when the replay began. Output: entries in order, and what is no entry, in its place.
//! Invariant: memory is one chunk. Never: stops at a bad line, delivers one that came later.

use std::io;

use super::engine::Engine;
use super::fault::Fault;
use super::line::Entry;
use super::scan::{LineProblem, Piece, Scanner};
use super::verify::View;

/// A replay that has begun.
pub struct Replay {
    view: Option<View>,
    scanner: Scanner,
}

/// What a replay hands over.
pub enum Replayed<'a> {
    /// An entry, the bytes of its line, and where that begins in the file.
    Entry(&'a Entry<'a>, &'a [u8], u64),
    /// Something that is no entry in its place.
    Problem(LineProblem),
}

impl Engine {
    /// Begins a replay of what is in the journal now.
    pub(super) fn replay(&mut self) -> Result<Replay, Fault> {
        let view = self.view()?;
        let length = view.as_ref().map_or(0, |view| view.length);
        Ok(Replay { view, scanner: Scanner::new(0, length, None) })
    }
}

impl Replay {
    /// Reads on, about a quarter of a megabyte. `false` when there is nothing more.
    pub fn step(&mut self, take: &mut dyn FnMut(Replayed<'_>)) -> io::Result<bool> {
        let Some(view) = &self.view else { return Ok(false) };
        let locked = view.locked;
        self.scanner.step(&*view.file, &mut |piece, (offset, _)| match piece {
            Piece::Entry { entry, bytes } => take(Replayed::Entry(&entry, bytes, offset)),
            Piece::Blank => {}
            // Where the lock could not be had, somebody may just be writing it.
            Piece::Torn { .. } if !locked => {}
            Piece::Unnumbered { problem, .. } | Piece::Bad { problem } | Piece::Torn { problem } => {
                take(Replayed::Problem(problem));
            }
        })
    }
}
