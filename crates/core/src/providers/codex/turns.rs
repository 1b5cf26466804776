//! The turns of one thread: which are open, and which have ended.
//!
//! Input: starts, prompts and ends. Output: which turn each of them is about. Invariant: a turn ends once, and no other with it.
//! Never: remembers more than [`OPEN`] open turns, or twice [`ENDED`] ended ones.

use crate::providers::bounded::Recent;
use crate::providers::ids::fingerprint;

/// Open turns that are remembered; a further one takes the place of the oldest.
const OPEN: usize = 64;
/// Ended turns that are remembered, at least.
const ENDED: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Turns {
    /// The one opened last at the end.
    open: Vec<Open>,
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
        Self { open: Vec::new(), ended: Recent::new(ENDED), has_run: false, is_marked: false, unnamed: 0 }
    }

    /// The turn opened last that has not ended.
    pub(super) fn open_id(&self) -> Option<&str> {
        self.open.last().map(|open| open.id.as_str())
    }

    /// Whether the starts of turns are recorded.
    pub(super) fn is_marked(&self) -> bool {
        self.is_marked
    }

    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.iter().any(|open| open.id == id)
    }

    /// The id of a turn that no record names: what began it, and how many there were.
    pub(super) fn name(&mut self, began_by: &str) -> String {
        self.unnamed += 1;
        format!("{began_by}:{}", self.unnamed)
    }

    /// Starts a turn that a record names, and gives those that gave way to it; `None` where it is open or has ended already.
    pub(super) fn start(&mut self, id: &str) -> Option<Vec<String>> {
        self.is_marked = true;
        if self.is_open(id) || self.ended.contains(fingerprint(id)) {
            return None;
        }
        Some(self.open(Open { id: id.to_owned(), is_marked: true, has_prompt: false }))
    }

    /// Starts the turn of a prompt, and gives those that gave way to it.
    pub(super) fn start_unmarked(&mut self, id: &str) -> Vec<String> {
        self.open(Open { id: id.to_owned(), is_marked: false, has_prompt: true })
    }

    /// Nothing names the end of a turn whose start was not recorded, so any other one takes its place.
    fn open(&mut self, turn: Open) -> Vec<String> {
        let mut superseded: Vec<String> =
            self.open.extract_if(.., |open| !open.is_marked).map(|open| open.id).collect();
        if self.open.len() == OPEN {
            superseded.push(self.open.remove(0).id);
        }
        self.open.push(turn);
        self.has_run = true;
        superseded
    }

    /// Gives up the open turns: what they ran in is over.
    pub(super) fn give_up(&mut self) {
        self.open.clear();
    }

    pub(super) fn prompt(&mut self) -> Prompt {
        if !self.is_marked {
            return Prompt::Starts;
        }
        match self.open.last_mut() {
            Some(open) if !open.has_prompt => {
                open.has_prompt = true;
                Prompt::First
            }
            _ => Prompt::Steering,
        }
    }

    /// Ends the turn `id`, else the one opened last, and says which; `None` where that has ended or there is none.
    pub(super) fn end(&mut self, id: Option<String>) -> Option<String> {
        let unmarked = self.open.last().filter(|open| !open.is_marked).map(|open| open.id.clone());
        let id = unmarked.or(id).or_else(|| self.open_id().map(str::to_owned))?;
        if !self.ended.remember(fingerprint(&id)) {
            return None;
        }
        self.open.retain(|open| open.id != id);
        Some(id)
    }
}
