//! The turns of one agent: which is open, which came before it.
//!
//! Input: what starts and ends turns. Output: turn ids. Invariant: at most one turn is open, a turn id is used once.
//! Never: ends a turn by itself.

use super::bounded::Recent;
use super::ids::{fingerprint, id};

/// Turn ids and message ids that are remembered at least.
const REMEMBERED: usize = 8192;

/// See the module.
#[derive(Debug)]
pub(super) struct Turns {
    open: Option<Turn>,
    past: Option<Past>,
    used: Recent,
    messages: Recent,
}

#[derive(Debug)]
struct Turn {
    id: String,
    last_message: Option<u64>,
    last_record: Option<u64>,
}

/// The turn before the open one, or the last one.
#[derive(Debug)]
struct Past {
    turn: Turn,
    /// Whether it can go on: it ended, and no other turn followed.
    ended: bool,
}

/// Where an assistant line belongs.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// To the open turn.
    Open,
    /// To the past turn: a further line of its last message.
    Past,
    /// To no turn yet.
    New,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { open: None, past: None, used: Recent::new(REMEMBERED), messages: Recent::new(REMEMBERED) }
    }

    pub(super) fn open_id(&self) -> Option<&str> {
        self.open.as_ref().map(|turn| turn.id.as_str())
    }

    pub(super) fn past_id(&self) -> Option<&str> {
        self.past.as_ref().map(|past| past.turn.id.as_str())
    }

    /// The id for a turn that starts: `prompt_id` if no turn had it, else `fallback`.
    pub(super) fn id_for(&self, prompt_id: Option<&str>, fallback: &str) -> String {
        prompt_id
            .and_then(id)
            .filter(|prompt_id| !self.used.contains(fingerprint(prompt_id)))
            .or_else(|| id(fallback))
            .unwrap_or_default()
    }

    /// Opens the turn `id`; one that is still open is superseded.
    pub(super) fn start(&mut self, id: String) {
        self.used.remember(fingerprint(&id));
        if let Some(turn) = self.open.replace(Turn { id, last_message: None, last_record: None }) {
            self.past = Some(Past { turn, ended: false });
        } else if let Some(past) = &mut self.past {
            past.ended = false;
        }
    }

    /// Ends the open turn.
    pub(super) fn end(&mut self) {
        if let Some(turn) = self.open.take() {
            self.past = Some(Past { turn, ended: true });
        }
    }

    /// Opens the turn that just ended once more; its id.
    pub(super) fn resume(&mut self) -> Option<String> {
        if self.open.is_some() {
            return None;
        }
        let past = self.past.as_mut().filter(|past| past.ended)?;
        past.ended = false;
        let id = past.turn.id.clone();
        self.open = Some(Turn { id: id.clone(), last_message: None, last_record: past.turn.last_record });
        Some(id)
    }

    /// Places a line of the message `message`.
    pub(super) fn place(&mut self, message: Option<u64>) -> Place {
        let of_past = self.past.as_ref().is_some_and(|past| past.turn.last_message == message);
        if message.is_some() && of_past {
            return Place::Past;
        }
        let is_new = message.is_none_or(|message| self.messages.remember(message));
        match &mut self.open {
            Some(turn) => {
                turn.last_message = message;
                Place::Open
            }
            None if is_new => Place::New,
            None => Place::Past,
        }
    }

    /// Notes the message that the open turn was started by.
    pub(super) fn started_by(&mut self, message: Option<u64>) {
        if let Some(turn) = &mut self.open {
            turn.last_message = message;
        }
    }

    /// Notes the record just read, which is the parent of what the program writes next about the same turn.
    pub(super) fn read(&mut self, record: u64) {
        if let Some(turn) = self.open.as_mut().or(self.past.as_mut().map(|past| &mut past.turn)) {
            turn.last_record = Some(record);
        }
    }

    /// Whether a record whose parent is `parent` speaks of the past turn although another is open.
    pub(super) fn is_of_past(&self, parent: Option<u64>) -> bool {
        let last = self.past.as_ref().and_then(|past| past.turn.last_record);
        let open = self.open.as_ref().and_then(|turn| turn.last_record);
        parent.is_some() && parent == last && parent != open
    }
}
