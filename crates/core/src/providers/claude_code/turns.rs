//! The turns of one agent: which is open, which came before it.
//!
//! Input: what starts and ends turns. Output: turn ids. Invariant: at most one turn is open, a turn id is used once.
//! Never: ends a turn by itself.

use crate::providers::bounded::Recent;
use crate::providers::ids::{fingerprint, id};

/// Turn ids, message ids and records of a turn that are remembered at least.
const REMEMBERED: usize = 8192;

/// See the module.
#[derive(Debug)]
pub(super) struct Turns {
    open: Option<Turn>,
    /// The turn before the open one, or the last one.
    past: Option<Past>,
    used: Recent,
    messages: Recent,
}

#[derive(Debug)]
struct Turn {
    id: String,
    last_message: Option<u64>,
    /// Whether the agent has said anything in it.
    is_answered: bool,
    /// Its records since it was opened.
    records: Recent,
}

#[derive(Debug)]
struct Past {
    id: String,
    last_message: Option<u64>,
    /// Whether it came to an end, rather than giving way to the next turn.
    has_ended: bool,
}

impl Turn {
    fn new(id: String) -> Self {
        Self { id, last_message: None, is_answered: false, records: Recent::new(REMEMBERED) }
    }

    fn pass(self, has_ended: bool) -> Past {
        Past { id: self.id, last_message: self.last_message, has_ended }
    }

    fn answered_by(&mut self, message: Option<u64>) {
        self.last_message = message;
        self.is_answered = true;
    }
}

/// Where an assistant line belongs.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// To the open turn.
    Open,
    /// To the past turn: a further line of its last message.
    Past {
        /// The turn has come to an end.
        has_ended: bool,
    },
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

    /// Whether there was any.
    pub(super) fn any(&self) -> bool {
        self.open.is_some() || self.past.is_some()
    }

    pub(super) fn past_id(&self) -> Option<&str> {
        self.past.as_ref().map(|past| past.id.as_str())
    }

    /// The id for a turn that starts: `prompt_id` if no turn had it, else `fallback`.
    pub(super) fn id_for(&self, prompt_id: Option<&str>, fallback: &str) -> String {
        prompt_id
            .and_then(id)
            .filter(|prompt_id| !self.used.contains(fingerprint(prompt_id)))
            .or_else(|| id(fallback))
            .unwrap_or_default()
    }

    /// Opens the turn `id`; one that is still open is superseded, and given back.
    pub(super) fn start(&mut self, id: String) -> Option<String> {
        self.used.remember(fingerprint(&id));
        let superseded = self.open.replace(Turn::new(id))?;
        let id = superseded.id.clone();
        self.past = Some(superseded.pass(false));
        Some(id)
    }

    /// Ends the open turn.
    pub(super) fn end(&mut self) {
        if let Some(turn) = self.open.take() {
            self.past = Some(turn.pass(true));
        }
    }

    /// Opens the turn that just ended once more; its id.
    pub(super) fn resume(&mut self) -> Option<String> {
        if self.open.is_some() {
            return None;
        }
        let id = self.past.as_ref()?.id.clone();
        self.open = Some(Turn::new(id.clone()));
        Some(id)
    }

    /// Places a line of the message `message`.
    pub(super) fn place(&mut self, message: Option<u64>) -> Place {
        if let Some(past) = &self.past
            && message.is_some()
            && past.last_message == message
        {
            return Place::Past { has_ended: past.has_ended };
        }
        let is_new = message.is_none_or(|message| self.messages.remember(message));
        match &mut self.open {
            Some(turn) => {
                turn.answered_by(message);
                Place::Open
            }
            None if is_new => Place::New,
            None => Place::Past { has_ended: true },
        }
    }

    /// Notes the message that the open turn was started by.
    pub(super) fn started_by(&mut self, message: Option<u64>) {
        if let Some(turn) = &mut self.open {
            turn.answered_by(message);
        }
    }

    /// Notes a record of the open turn.
    pub(super) fn read(&mut self, record: u64) {
        if let Some(turn) = &mut self.open {
            turn.records.remember(record);
        }
    }

    /// Whether `record` is one of the open turn.
    pub(super) fn has(&self, record: u64) -> bool {
        self.open.as_ref().is_some_and(|turn| turn.records.contains(record))
    }

    /// The open turn, once the agent has said anything in it.
    pub(super) fn answered_id(&self) -> Option<&str> {
        self.open.as_ref().filter(|turn| turn.is_answered).map(|turn| turn.id.as_str())
    }
}
