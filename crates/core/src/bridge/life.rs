//! What the bridge has made of one child so far.
//!
//! Input: what was emitted and what waits to be. Output: the state that the next step starts from. Invariant: bounded.

use std::collections::VecDeque;

use crate::agent::Outcome;
use crate::contract::{Moment, State, Timestamp, WaitingReason};
use crate::providers::{Facts, MessageUsage};

/// What the bridge has made of one child so far.
#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
#[derive(Debug, Default)]
pub(super) struct Life {
    pub(super) attempt: u64,
    pub(super) parent: Option<String>,
    pub(super) adopted_at: Option<Timestamp<'static>>,
    pub(super) is_adoption_estimated: bool,
    pub(super) state: Option<State>,
    pub(super) reason: Option<WaitingReason>,
    pub(super) ended_at: Option<Moment>,
    /// The turns that have not ended, the one opened last at the end.
    pub(super) turns: Vec<String>,
    /// Turns that gave way to others, until an event has told so.
    pub(super) superseded: Vec<String>,
    /// The end of its process or session, where a turn was open.
    pub(super) stopped: Option<Told>,
    pub(super) last_outcome: Option<Outcome>,
    /// The return of the call that launched it, so that its next turn's end is its own.
    pub(super) returned: Option<Told>,
    pub(super) waits: Vec<OpenWait>,
    /// Ids and names of calls without a result, the newest last.
    pub(super) tools: VecDeque<(String, String)>,
    /// Facts that no event has carried yet, the usage apart: of several messages each counts.
    pub(super) facts: Facts,
    pub(super) usage: Vec<MessageUsage>,
    /// All facts so far, and what it is called and runs on.
    pub(super) known: Facts,
    pub(super) title: Option<String>,
    pub(super) model: Option<String>,
    pub(super) announced: bool,
    /// Whether it is of an earlier process, so that whatever comes begins the next life.
    pub(super) is_former: bool,
    /// Its place in the session's order of time; the first life has none.
    pub(super) began: Option<Moment>,
    /// The place of what asked it to go on while it had not ended.
    pub(super) asked_again: Option<Moment>,
    /// The place of what showed that it runs, as long as it has done nothing but run since.
    pub(super) confirmed: Option<Moment>,
    /// Earlier lives, oldest first: what is read late of their time is theirs.
    pub(super) past: Vec<Life>,
    /// Whether a later life has begun.
    pub(super) is_past: bool,
    /// Names what was last told of an earlier life and is known of this one too, until an event has said so.
    pub(super) inherited: Option<u128>,
}

/// What ends a life once the turns before it have ended.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) at: Timestamp<'static>,
    pub(super) estimated: bool,
    /// Names it among all of the session.
    pub(super) name: u128,
}

#[derive(Debug)]
pub(super) struct OpenWait {
    pub(super) id: String,
    pub(super) turn: Option<String>,
    pub(super) reason: WaitingReason,
}

/// What the id of a wait for a permission begins with; the id of the call, or the name of the tool, follows.
pub const PERMISSION: &str = "permission:";

/// Calls without a result remembered of one child.
const TOOLS: usize = 64;
/// Open waits remembered of one child.
pub(super) const WAITS: usize = 64;
/// Open turns remembered of one child; a further one takes the place of the oldest.
pub const OPEN_TURNS: usize = 64;
/// Messages whose usage waits for an event to carry it.
const USAGES: usize = 32;

impl Life {
    /// A turn began at `at`, or goes on. What an earlier process left open has given way, and so have waits of turns that are not open.
    pub(super) fn open_turn(&mut self, id: &str, at: Moment) {
        if self.stopped.take_if(|stopped| stopped.at.moment() <= at).is_some() {
            self.superseded.append(&mut self.turns);
        }
        self.turns.retain(|open| open != id);
        if self.turns.len() == OPEN_TURNS {
            self.superseded.push(self.turns.remove(0));
        }
        self.turns.push(id.to_owned());
        let turns = &self.turns;
        self.waits.retain(|wait| wait.turn.as_ref().is_some_and(|turn| turns.contains(turn)));
    }

    /// A turn has given way to another, without an outcome.
    pub(super) fn supersede(&mut self, id: &str) {
        self.turns.retain(|open| open != id);
        self.superseded.push(id.to_owned());
        self.superseded.truncate(OPEN_TURNS);
    }

    /// Ends a turn; `false` where it is not open.
    pub(super) fn end_turn(&mut self, id: &str) -> bool {
        let open = self.turns.len();
        self.turns.retain(|turn| turn != id);
        self.turns.len() < open
    }

    /// A call began.
    pub(super) fn tool(&mut self, id: &str, name: &str) {
        if self.tools.len() == TOOLS {
            self.tools.pop_front();
        }
        self.tools.push_back((id.to_owned(), name.to_owned()));
    }

    /// A call has its result: the waits for a permission that it answers.
    pub(super) fn permission_waits(&mut self, tool_id: &str) -> Vec<String> {
        let at = self.tools.iter().position(|(id, _)| id == tool_id);
        let name = at.and_then(|at| self.tools.remove(at)).map(|(_, name)| name);
        let is_of = |wait: &&OpenWait| {
            let of = wait.id.strip_prefix(PERMISSION);
            of.is_some_and(|of| of == tool_id || Some(of) == name.as_deref())
        };
        self.waits.iter().filter(is_of).map(|wait| wait.id.clone()).collect()
    }

    /// Whether nothing has begun yet that this process could go on with.
    pub(super) fn is_to_begin(&self) -> bool {
        self.attempt == 0 || self.is_former
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.is_some_and(State::is_terminal)
    }

    /// Keeps facts for the next event. Whether so much waits that an event is due.
    pub(super) fn add(&mut self, facts: &Facts) -> bool {
        let Facts { agent_version, cwd, branch, usage, context } = facts;
        for kept in [&mut self.facts, &mut self.known] {
            let keep = |slot: &mut Option<String>, news: &Option<String>| {
                if news.is_some() {
                    slot.clone_from(news);
                }
            };
            keep(&mut kept.agent_version, agent_version);
            keep(&mut kept.cwd, cwd);
            keep(&mut kept.branch, branch);
            kept.context = context.or(kept.context);
        }
        if let Some(usage) = usage.clone() {
            self.usage.retain(|known| known.message_id != usage.message_id);
            self.usage.push(usage);
        }
        self.usage.len() >= USAGES
    }
}

pub(super) fn terminal(outcome: Outcome) -> State {
    match outcome {
        Outcome::Success => State::Completed,
        Outcome::Error => State::Failed,
        Outcome::Cancelled => State::Cancelled,
    }
}
