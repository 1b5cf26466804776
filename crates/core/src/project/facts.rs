//! What the bridged events of one child add up to: turn, tools, waits, title, model, place, usage.
//!
//! Input: the `details` of bridged events, in order. Output: the facts of a row.
//! Invariant: the same events give the same facts, live or replayed. Never: decides a state.

use std::collections::VecDeque;
use std::hash::Hasher as _;

use serde::Serialize;
use siphasher::sip::SipHasher24;

use crate::agent::{ContextUse, Outcome};
use crate::bridge::OPEN_TURNS;
use crate::contract::{Moment, WaitingReason};
use crate::json::Json;

/// Turns that a row names.
pub const RECENT_TURNS: usize = 32;
/// Messages whose tokens a further line of theirs may replace.
const COUNTED: usize = 64;
/// Open tools and open waits that are kept by name.
pub const OPEN: usize = 64;
/// UTF-8 bytes of a text that is kept; a longer one is left out, never cut.
pub const FACT_BYTES: usize = 4096;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The provider.
    pub provider: Option<String>,
    /// The provider's id of the session.
    pub session_id: Option<String>,
    /// The version of the agent program.
    pub agent_version: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The model's id.
    pub model: Option<String>,
    /// Where it works.
    pub place: Place,
    /// The newest turn.
    pub turn: Option<Turn>,
    /// The turns that go on, the one opened last at the end.
    pub(super) open_turns: Vec<String>,
    /// All turns.
    pub turns: Turns,
    /// Tools.
    pub tools: Tools,
    /// Open waits.
    pub waits: Vec<Wait>,
    /// Tokens used.
    pub usage: Option<Usage>,
    /// How full its context is.
    pub context: Option<ContextUse>,
    /// How its process ended, where that was said.
    pub exit: Option<Exit>,
    /// The newest time of what said where it works and how full its context is.
    pub(super) placed_at: Option<Moment>,
    /// When the newest activity text of the record was observed.
    pub(super) active_at: Option<Moment>,
}

/// Where an agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch checked out there.
    pub branch: Option<String>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its id.
    pub turn_id: String,
    /// Whether it goes on.
    pub open: bool,
    /// How it ended, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// A turn in the list of recent ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PastTurn {
    /// Its id.
    pub turn_id: String,
    /// How it ended, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// All turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// How many there were.
    pub count: u64,
    /// The newest, oldest first.
    pub recent: VecDeque<PastTurn>,
}

/// Tool calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tools {
    /// How many were started.
    pub count: u64,
    /// Those that go on, oldest first.
    pub open: Vec<OpenTool>,
}

/// A tool call that goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenTool {
    /// The id of the call.
    pub tool_id: String,
    /// The tool's name.
    pub name: String,
    /// Since when.
    pub since: Moment,
    #[serde(skip)]
    pub(super) turn_id: Option<String>,
}

/// A wait that goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Its id.
    pub wait_id: String,
    /// What it waits for.
    pub reason: WaitingReason,
    /// Since when.
    pub since: Moment,
    /// Why, as the agent said it, where that is more than the word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip)]
    pub(super) turn_id: Option<String>,
}

/// Tokens used, each message counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Read, not from a cache.
    pub input: u64,
    /// Read from a cache or written to one.
    pub cached: u64,
    /// Written.
    pub output: u64,
    #[serde(skip)]
    pub(super) counted: VecDeque<(u64, [u64; 3])>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// When that was said.
    pub at: Moment,
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<String>,
}

/// What a `wait.started` waits for, from its state and reason.
#[must_use]
pub fn waiting_reason(state: Option<&str>, reason: Option<&str>) -> WaitingReason {
    match (state, reason.and_then(reason_word)) {
        (Some("blocked"), _) => WaitingReason::Blocked,
        (_, Some(reason)) => reason,
        _ => WaitingReason::Other,
    }
}

/// The word that a reason is, in whatever case it is written.
#[must_use]
pub fn reason_word(reason: &str) -> Option<WaitingReason> {
    WaitingReason::parse(&reason.trim().to_ascii_lowercase())
}

/// The text of the member `key`, where it is not too long.
fn said<'a>(json: &'a Json, key: &str) -> Option<&'a str> {
    json.text_at(key).filter(|text| text.len() <= FACT_BYTES)
}

impl Facts {
    /// Adds what the details of an event observed at `at` say. Of what stands in one place, history replaces nothing newer.
    pub fn fold(&mut self, details: &Json, at: Moment, is_history: bool) {
        if let Some(facts) = details.get("facts") {
            let is_older = is_history && Some(at) < self.placed_at;
            if ["agentVersion", "cwd", "branch", "context"].iter().any(|key| facts.get(key).is_some()) {
                self.placed_at = self.placed_at.max(Some(at));
            }
            self.fold_facts(facts, is_older);
        }
        if let Some(agent) = details.get("agent") {
            self.fold_agent(agent, said(details, "turnId"), at);
        }
    }

    fn fold_facts(&mut self, facts: &Json, is_older: bool) {
        let set = |slot: &mut Option<String>, key: &str| {
            if let Some(text) = said(facts, key).filter(|_| !is_older || slot.is_none()) {
                *slot = Some(text.to_owned());
            }
        };
        set(&mut self.provider, "provider");
        set(&mut self.session_id, "sessionId");
        set(&mut self.agent_version, "agentVersion");
        set(&mut self.place.cwd, "cwd");
        set(&mut self.place.branch, "branch");
        set(&mut self.title, "title");
        set(&mut self.model, "model");
        if let Some(context) = facts.get("context")
            && let Some(used) = tokens(context, "used").filter(|_| !is_older || self.context.is_none())
        {
            self.context = Some(ContextUse { used, window: tokens(context, "window") });
        }
        if let Some(Json::Array(turns)) = facts.get("superseded") {
            for turn in turns.iter().filter_map(Json::text) {
                self.close_turn(turn);
            }
        }
        if let Some(Json::Array(messages)) = facts.get("usage") {
            let usage = self.usage.get_or_insert_default();
            for message in messages {
                usage.add(message);
            }
        }
    }

    fn fold_agent(&mut self, agent: &Json, turn_id: Option<&str>, at: Moment) {
        let kind = said(agent, "kind").unwrap_or_default();
        if matches!(kind, "session.started" | "turn.started" | "tool.started" | "wait.started") {
            // What begins something after an exit is another process.
            self.exit.take_if(|exit| at > exit.at);
        }
        match kind {
            "session.started" | "agent.metadata" | "subagent.started" => {
                if let Some(title) = said(agent, "title") {
                    self.title = Some(title.to_owned());
                }
                if let Some(model) = agent.get("model").and_then(|model| said(model, "id")) {
                    self.model = Some(model.to_owned());
                }
            }
            "turn.started" => {
                if let Some(id) = said(agent, "turnId") {
                    self.start_turn(id);
                }
            }
            "agent.done" => {
                let outcome = said(agent, "outcome").and_then(Outcome::parse);
                self.end_turn(turn_id, outcome);
            }
            "tool.started" => {
                self.tools.count += 1;
                if let (Some(id), Some(name)) = (said(agent, "toolId"), said(agent, "name"))
                    && self.tools.open.len() < OPEN
                {
                    let (tool_id, name) = (id.to_owned(), name.to_owned());
                    let turn_id = self.turn_of(turn_id);
                    self.tools.open.push(OpenTool { tool_id, name, since: at, turn_id });
                }
            }
            "tool.finished" => {
                let id = said(agent, "toolId");
                self.tools.open.retain(|tool| Some(tool.tool_id.as_str()) != id);
            }
            "wait.started" => {
                if let Some(id) = said(agent, "waitId")
                    && self.waits.len() < OPEN
                    && !self.waits.iter().any(|wait| wait.wait_id == id)
                {
                    let reason = said(agent, "reason");
                    self.waits.push(Wait {
                        wait_id: id.to_owned(),
                        reason: waiting_reason(said(agent, "state"), reason),
                        since: at,
                        text: reason.filter(|text| reason_word(text).is_none()).map(str::to_owned),
                        turn_id: self.turn_of(turn_id),
                    });
                }
            }
            "wait.finished" => {
                let id = said(agent, "waitId");
                self.waits.retain(|wait| Some(wait.wait_id.as_str()) != id);
            }
            "agent.exited" => {
                let code = agent.get("exitCode").and_then(|code| match code {
                    #[expect(clippy::cast_possible_truncation, reason = "exit codes are within -255..255")]
                    Json::Number(code) => Some(*code as i32),
                    _ => None,
                });
                self.exit = Some(Exit { at, code, signal: said(agent, "signal").map(str::to_owned) });
            }
            _ => {}
        }
    }

    /// The turn that something belongs to: the one that is named, else the one opened last.
    fn turn_of(&self, named: Option<&str>) -> Option<String> {
        named.or(self.open_turns.last().map(String::as_str)).map(str::to_owned)
    }

    /// Opens a turn beside those that are open. The same one again goes on.
    fn start_turn(&mut self, id: &str) {
        let is_open = self.open_turns.iter().any(|turn| turn == id);
        let again = is_open || self.turn.as_ref().is_some_and(|turn| turn.turn_id == id);
        self.turn = Some(Turn { turn_id: id.to_owned(), open: true, outcome: None });
        self.open_turns.retain(|turn| turn != id);
        if self.open_turns.len() == OPEN_TURNS {
            self.open_turns.remove(0);
        }
        self.open_turns.push(id.to_owned());
        self.waits.retain(|wait| is_of(&self.open_turns, wait.turn_id.as_ref()));
        self.tools.open.retain(|tool| again || is_of(&self.open_turns, tool.turn_id.as_ref()));
        if again {
            self.record_outcome(id, None);
            return;
        }
        self.turns.count += 1;
        if self.turns.recent.len() == RECENT_TURNS {
            self.turns.recent.pop_front();
        }
        self.turns.recent.push_back(PastTurn { turn_id: id.to_owned(), outcome: None });
    }

    /// Ends the turn `id`, else the one opened last, with its waits; what its tools do is then no longer known to go on.
    fn end_turn(&mut self, id: Option<&str>, outcome: Option<Outcome>) {
        let newest = || self.turn.as_ref().map(|turn| turn.turn_id.clone());
        let Some(ended) = self.turn_of(id).or_else(newest) else { return };
        self.close_turn(&ended);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.turn_id == ended) {
            turn.outcome = outcome;
        }
        self.record_outcome(&ended, outcome);
        self.waits.retain(|wait| wait.turn_id.as_ref().is_some_and(|turn| *turn != ended));
    }

    /// A turn goes on no longer.
    fn close_turn(&mut self, id: &str) {
        let Some(at) = self.open_turns.iter().position(|turn| turn == id) else { return };
        self.open_turns.remove(at);
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.turn_id == id) {
            turn.open = false;
        }
        self.tools.open.retain(|tool| is_of(&self.open_turns, tool.turn_id.as_ref()));
    }

    fn record_outcome(&mut self, id: &str, outcome: Option<Outcome>) {
        if let Some(turn) = self.turns.recent.iter_mut().rev().find(|turn| turn.turn_id == id) {
            turn.outcome = outcome;
        }
    }
}

/// Whether it belongs to one of the turns.
fn is_of(turns: &[String], turn: Option<&String>) -> bool {
    turn.is_some_and(|turn| turns.contains(turn))
}

/// A number of tokens.
fn tokens(counts: &Json, key: &str) -> Option<u64> {
    match counts.get(key) {
        Some(Json::Number(number)) => crate::json::safe_integer(*number),
        _ => None,
    }
}

impl Usage {
    /// Adds the tokens of a message; a later count of the same message replaces the earlier one.
    fn add(&mut self, usage: &Json) {
        let Some(message) = said(usage, "messageId") else { return };
        let tokens = ["input", "cached", "output"].map(|key| tokens(usage, key).unwrap_or(0));
        let mut hasher = SipHasher24::new();
        hasher.write(message.as_bytes());
        let message = hasher.finish();
        let known = self.counted.iter().position(|(counted, _)| *counted == message);
        let [input, cached, output] =
            known.and_then(|at| self.counted.remove(at)).map_or([0; 3], |(_, counted)| counted);
        let replace = |sum: u64, new: u64, old: u64| sum.saturating_add(new).saturating_sub(old);
        self.input = replace(self.input, tokens[0], input);
        self.cached = replace(self.cached, tokens[1], cached);
        self.output = replace(self.output, tokens[2], output);
        if self.counted.len() == COUNTED {
            self.counted.pop_front();
        }
        self.counted.push_back((message, tokens));
    }
}
