//! Tool calls between their start and their result, in whatever order the two come.
//!
//! Input: the ids of calls and results. Output: the pair, once. Invariant: a call starts once and finishes once.
//! Never: holds more than [`OPEN`] open calls or [`EARLY`] results without a call; the oldest is given up.

use crate::agent::Outcome;
use crate::providers::bounded::{Bounded, Recent};

/// Open calls that are remembered.
const OPEN: usize = 1024;
/// Results before their call that are remembered.
const EARLY: usize = 1024;
/// Calls whose id is known to have been used, at least.
const SEEN: usize = 8192;

/// See the module.
#[derive(Debug)]
pub(super) struct Calls {
    open: Bounded<Call>,
    early: Bounded<CallResult>,
    seen: Recent,
    /// The call that started last.
    last: Option<u64>,
}

/// A call that waits for its result.
#[derive(Debug)]
pub(super) struct Call {
    /// Its id; for the launch of a sub-agent that goes on, that of its first launch.
    pub(super) id: String,
    pub(super) kind: CallKind,
    /// What it is called, where its result may yet launch a sub-agent.
    pub(super) title: Option<String>,
    /// The turn that made it.
    pub(super) turn: Option<u64>,
}

/// What a call is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// A tool.
    Tool,
    /// A tool that may turn out to have launched a sub-agent.
    Workflow,
    /// A message to another agent, which may start it again.
    Message,
    /// A question to the user.
    Question,
    /// The launch of a sub-agent.
    Launch {
        /// The call asked for one that runs beside its parent.
        in_background: bool,
    },
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct CallResult {
    pub(super) is_error: bool,
    pub(super) status: Status,
    pub(super) agent_id: Option<String>,
    /// The agent that a message started again.
    pub(super) resumed: Option<String>,
}

/// What `toolUseResult.status` tells of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Nothing.
    Absent,
    /// It runs beside its parent (`async_launched`).
    Launched,
    /// It has ended.
    Ended(Outcome),
    /// A word of another version, which tells of no end.
    Unknown,
}

impl Status {
    pub(super) fn of(word: Option<&str>) -> Self {
        match word {
            None => Self::Absent,
            Some("async_launched") => Self::Launched,
            Some("completed") => Self::Ended(Outcome::Success),
            Some("killed" | "cancelled" | "canceled") => Self::Ended(Outcome::Cancelled),
            Some("failed" | "error") => Self::Ended(Outcome::Error),
            Some(_) => Self::Unknown,
        }
    }

    /// What is left of it where it may speak of another result of the same record: it ends nothing.
    pub(super) fn of_several(self) -> Self {
        if self == Self::Launched { self } else { Self::Absent }
    }
}

impl Calls {
    pub(super) fn new() -> Self {
        Self { open: Bounded::new(OPEN), early: Bounded::new(EARLY), seen: Recent::new(SEEN), last: None }
    }

    /// Whether the call `key` starts now, for the first time.
    pub(super) fn starts(&mut self, key: u64) -> bool {
        self.seen.remember(key)
    }

    /// The result that came before the call; otherwise the call stays open.
    pub(super) fn open(&mut self, key: u64, call: Call) -> Option<(Call, CallResult)> {
        self.last = Some(key);
        if let Some(result) = self.early.remove(key) {
            return Some((call, result));
        }
        self.open.insert(key, call);
        None
    }

    /// The call that `result` ends; a result before its call is kept, one after the end is dropped.
    pub(super) fn close(&mut self, key: u64, result: CallResult) -> Option<(Call, CallResult)> {
        if let Some(call) = self.open.remove(key) {
            return Some((call, result));
        }
        if !self.seen.contains(key) {
            self.early.insert(key, result);
        }
        None
    }

    /// Takes a call that is open.
    pub(super) fn take(&mut self, key: u64) -> Option<Call> {
        self.open.remove(key)
    }

    /// Whether a call of `turn` is open.
    pub(super) fn any_open(&self, turn: u64) -> bool {
        self.open.values().any(|call| call.turn == Some(turn))
    }

    /// Takes the call that started last, where it is one of `turn` and has no result.
    pub(super) fn take_last(&mut self, turn: Option<u64>) -> Option<Call> {
        let key = self.last?;
        if self.open.get_mut(key)?.turn != turn {
            return None;
        }
        self.open.remove(key)
    }
}
