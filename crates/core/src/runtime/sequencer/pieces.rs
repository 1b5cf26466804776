//! The pieces of a turn: messages, reasoning, calls and compactions, by what names them.
//!
//! Input: a kind, a sub-agent and the harness's id. Output: the open piece, a new one, or that it has ended.
//! Invariant: a piece ends once, and its numbers are never used again. Never: more pieces than its limits.

use hashbrown::HashMap;

use super::drops::Reason;
use super::text::TextPiece;
use super::tools::ToolPiece;
use crate::runtime::fields::NativeId;

/// Pieces with an id that are remembered of one turn.
pub const PIECES: usize = 4096;
/// Pieces that are open at a time.
pub const OPEN: usize = 1024;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Tool,
    Compaction,
}

/// What names a piece, where the harness has an id for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// The sub-agent, by first sight; 0 is the session's own agent.
    pub(super) scope: usize,
    pub(super) item: NativeId,
}

/// An open piece.
#[derive(Debug)]
pub(super) enum Content {
    Text(TextPiece),
    Tool(ToolPiece),
    Compaction,
}

/// An open piece, and what names it.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) scope: usize,
    key: Option<Key>,
    pub(super) content: Content,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// By first sight.
    open: Vec<Piece>,
    /// Each id that was seen, and whether its piece has ended.
    known: HashMap<Key, bool>,
}

impl Pieces {
    /// Where the open piece is that a key, or without one `is_meant`, names; `None` where there is none yet.
    pub(super) fn find(
        &self,
        kind: Kind,
        scope: usize,
        item: Option<&NativeId>,
        is_meant: impl Fn(&Piece) -> bool,
    ) -> Result<Option<usize>, Reason> {
        if let Some(item) = item {
            let key = Key { kind, scope, item: item.clone() };
            return match self.known.get(&key) {
                Some(true) => Err(Reason::AfterEnd),
                Some(false) => Ok(self.open.iter().position(|piece| piece.key.as_ref() == Some(&key))),
                None => Ok(None),
            };
        }
        let is_unnamed = |piece: &Piece| piece.key.is_none() && piece.kind == kind && piece.scope == scope;
        Ok(self.open.iter().position(|piece| is_unnamed(piece) && is_meant(piece)))
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self, item: Option<&NativeId>) -> bool {
        self.open.len() < OPEN && (item.is_none() || self.known.len() < PIECES)
    }

    /// A new piece; where it is.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        scope: usize,
        item: Option<&NativeId>,
        content: Content,
    ) -> usize {
        let key = item.map(|item| Key { kind, scope, item: item.clone() });
        if let Some(key) = &key {
            self.known.insert(key.clone(), false);
        }
        self.open.push(Piece { kind, scope, key, content });
        self.open.len() - 1
    }

    pub(super) fn get(&mut self, at: usize) -> &mut Piece {
        &mut self.open[at]
    }

    /// Ends a piece.
    pub(super) fn end(&mut self, at: usize) -> Piece {
        let piece = self.open.remove(at);
        if let Some(key) = &piece.key {
            self.known.insert(key.clone(), true);
        }
        piece
    }

    /// Ends the first open piece of a kind.
    pub(super) fn end_first(&mut self, kind: Kind) -> Option<Piece> {
        let at = self.open.iter().position(|piece| piece.kind == kind)?;
        Some(self.end(at))
    }

    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = &mut Piece> {
        self.open.iter_mut()
    }
}
