//! The turns of one thread: the open one, and which have ended.
//!
//! Input: starts, prompts and ends. Output: which turn each of them is about. Invariant: a turn ends once.
//! Never: remembers more than [`ENDED`] ended turns.

use crate::providers::bounded::Recent;
use crate::providers::ids::fingerprint;

/// Ended turns that are remembered, at least.
const ENDED: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Turns {
    open: Option<Open>,
    ended: Recent,
    /// Whether any turn was started.
    pub(super) has_run: bool,
    /// Whether the starts of turns are recorded.
    is_marked: bool,
    /// Turns without an id of their own.
    unnamed: u64,
}

#[derive(Debug)]
struct Open {
    id: String,
    /// Whether its start was recorded; else a prompt began it, and nothing names its end.
    is_marked: bool,
    has_prompt: bool,
}

/// What a prompt is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// The first of the open turn.
    First,
    /// It starts a turn: the journal does not record starts.
    Starts,
    /// One more for the open turn, or for none.
    Steering,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { open: None, ended: Recent::new(ENDED), has_run: false, is_marked: false, unnamed: 0 }
    }

    pub(super) fn open_id(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.id.as_str())
    }

    /// The id of a turn that no record names: what began it, and how many there were.
    pub(super) fn name(&mut self, began_by: &str) -> String {
        self.unnamed += 1;
        format!("{began_by}:{}", self.unnamed)
    }

    /// Starts a turn that a record names; `false` where it is open or has ended already.
    pub(super) fn start(&mut self, id: &str) -> bool {
        self.is_marked = true;
        if self.open_id() == Some(id) || self.ended.contains(fingerprint(id)) {
            return false;
        }
        self.open = Some(Open { id: id.to_owned(), is_marked: true, has_prompt: false });
        self.has_run = true;
        true
    }

    /// Starts the turn of a prompt.
    pub(super) fn start_unmarked(&mut self, id: &str) {
        self.open = Some(Open { id: id.to_owned(), is_marked: false, has_prompt: true });
        self.has_run = true;
    }

    pub(super) fn prompt(&mut self) -> Prompt {
        if !self.is_marked {
            return Prompt::Starts;
        }
        match &mut self.open {
            Some(open) if !open.has_prompt => {
                open.has_prompt = true;
                Prompt::First
            }
            _ => Prompt::Steering,
        }
    }

    /// Ends the turn `id`, else the open one, and says which; `None` where that has ended or there is none.
    pub(super) fn end(&mut self, id: Option<String>) -> Option<String> {
        let unmarked = self.open.as_ref().filter(|open| !open.is_marked).map(|open| open.id.clone());
        let id = unmarked.or(id).or_else(|| self.open_id().map(str::to_owned))?;
        if !self.ended.remember(fingerprint(&id)) {
            return None;
        }
        self.open.take_if(|open| open.id == id);
        Some(id)
    }
}
