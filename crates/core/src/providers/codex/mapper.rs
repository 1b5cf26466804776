//! The records of one journal, in order, as agent events.
//!
//! Input: records. Output: [`Mapped`] items. Invariant: the same records give the same items; copied records give none.
//! Never: reads a text that a person or a model wrote as anything but a text.

use super::approvals::Approvals;
use super::facts::Known;
use super::history::History;
use super::record::{Record, filled};
use super::shapes::{FirstText, Payload};
use super::tools::{Tools, outcome};
use super::turns::{Prompt, Turns};
use super::usage::Usage;
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Outcome};
use crate::contract::Moment;
use crate::json::Scalar;
use crate::providers::ids::id;
use crate::providers::say::{Say, Source, cut};
use crate::providers::shape::Shape;
use crate::providers::{Mapped, Role, Said, Told};

/// See the module. One mapper per journal.
#[derive(Debug)]
pub(super) struct Mapper {
    pub(super) session_id: String,
    pub(super) role: Role,
    pub(super) parent: Option<String>,
    has_begun: bool,
    history: History,
    pub(super) turns: Turns,
    tools: Tools,
    approvals: Approvals,
    usage: Usage,
    pub(super) known: Known,
    /// A prompt before any turn: of a turn whose start follows, or of one whose start this version does not record.
    held: Option<Held>,
    /// Whether the session was closed, and nothing has begun since.
    has_stopped: bool,
}

#[derive(Debug)]
struct Held {
    prompt_text: Option<String>,
}

impl Mapper {
    /// A mapper that has read nothing.
    pub(super) fn new(session_id: String, role: Role, parent: Option<String>, told: &Told) -> Self {
        Self {
            session_id,
            role,
            parent,
            has_begun: false,
            history: History::default(),
            turns: Turns::new(),
            tools: Tools::new(),
            approvals: Approvals::default(),
            usage: Usage::default(),
            known: Known::new(told.title.as_deref()),
            held: None,
            has_stopped: false,
        }
    }

    /// Reads the next record, whose line begins at `offset`.
    pub(super) fn record(&mut self, record: &Record<'_>, offset: u64, out: &mut Vec<Mapped>) {
        let time = record.timestamp();
        let mut say = Say::new(Source { offset, uuid: None, time }, out);
        let kind = record.known_type().unwrap_or_default();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin(record, &mut say);
            if kind == "session_meta" {
                return;
            }
        }
        let payload = &record.payload;
        if kind == "session_meta" {
            return self.history.another_meta();
        }
        if self.is_copy(kind, payload, time.and_then(Moment::parse)) {
            if let Shape(Some(info)) = &payload.info {
                self.usage.skip(info);
            }
            return;
        }
        self.work_on_held(kind, payload, &mut say);
        say.turn = filled(&payload.turn_id).and_then(id).or_else(|| self.turns.open_id().map(str::to_owned));
        match kind {
            "turn_context" => {
                let runs = self.role == Role::Root || self.turns.open_id().is_some();
                self.known.turn(payload, runs, &mut say);
            }
            "event_msg/task_started" | "event_msg/turn_started" => {
                self.turn_started(payload, &mut say);
            }
            "event_msg/task_complete" | "event_msg/turn_complete" => {
                self.end_turn(payload, Outcome::Success, &payload.last_agent_message, &mut say);
            }
            "event_msg/turn_aborted" => {
                self.end_turn(payload, Outcome::Cancelled, &payload.reason, &mut say);
            }
            "event_msg/error" => self.end_turn(payload, Outcome::Error, &payload.message, &mut say),
            "event_msg/user_message" => self.hear(payload.message.text(), &mut say),
            "response_item/message" if record.is_bare => self.bare_message(payload, &mut say),
            "event_msg/item_completed" => self.item(payload, &mut say),
            "event_msg/sub_agent_activity" => {
                let Payload { activity, agent_thread_id, agent_path, .. } = payload;
                self.activity(activity, agent_thread_id, agent_path, &mut say);
            }
            "event_msg/token_count" => {
                if let Shape(Some(info)) = &payload.info {
                    self.usage.count(info, &mut say);
                }
            }
            "event_msg/shutdown_complete" => self.stop(&mut say),
            _ => self.call(kind, payload, &mut say),
        }
        if self.turns.open_id().is_some() {
            say.activity_unless_event();
        }
    }

    fn begin(&mut self, first: &Record<'_>, say: &mut Say<'_>) {
        if first.known_type() == Some("session_meta") {
            self.history = History::of(&first.payload, first.timestamp().and_then(Moment::parse));
            self.known.session(&first.payload, say);
        }
        match self.role {
            Role::Root => {
                let title = self.known.title.clone();
                say.event(AgentEvent::SessionStarted { title, prompt_text: None, model: None });
            }
            Role::Child { .. } => self.own_start(&first.payload, say),
        }
    }

    fn is_copy(&mut self, kind: &str, payload: &Payload<'_>, time: Option<Moment>) -> bool {
        match kind {
            "event_msg/task_started" | "event_msg/turn_started" => self.history.holds_start(payload, time),
            _ => self.history.is_open(),
        }
    }

    fn turn_started(&mut self, start: &Payload<'_>, say: &mut Say<'_>) {
        let turn_id = filled(&start.turn_id).and_then(id).unwrap_or_else(|| self.turns.name("task"));
        let goes_on = self.goes_on();
        let Some(superseded) = self.turns.start(&turn_id) else { return };
        self.known.window(start);
        let held = self.held.take();
        if held.is_some() {
            // The first prompt of the turn; a later one is steering.
            self.turns.prompt();
        }
        self.open_turn(turn_id, superseded, held.and_then(|held| held.prompt_text), goes_on, say);
    }

    /// Whether a turn that starts now is not the first of its life. A closed session has left no turn open.
    fn goes_on(&mut self) -> bool {
        if self.has_stopped {
            self.turns.give_up();
        }
        self.turns.has_run || self.has_stopped
    }

    /// Says that a turn began; `goes_on` where the agent may have ended before, of which others can know more.
    fn open_turn(
        &mut self,
        turn_id: String,
        superseded: Vec<String>,
        prompt_text: Option<String>,
        goes_on: bool,
        say: &mut Say<'_>,
    ) {
        self.has_stopped = false;
        for turn_id in superseded {
            say.said(Said::Superseded { turn_id });
        }
        self.approvals.keep(|turn| self.turns.is_open(turn));
        say.turn = Some(turn_id.clone());
        if goes_on {
            self.usage.start_again();
            // Of a session its turn says so.
            if self.role != Role::Root {
                say.said(Said::StartedAgain);
            }
        }
        say.event(AgentEvent::TurnStarted { turn_id, agent_id: None, prompt_text });
        self.known.runs(say);
    }

    fn end_turn(&mut self, end: &Payload<'_>, outcome: Outcome, summary: &Scalar<'_>, say: &mut Say<'_>) {
        let named = filled(&end.turn_id).and_then(id);
        // An end without a start, as where the lines before are lost: there was such a turn.
        let is_untold = named.clone().filter(|_| !self.turns.has_run);
        if let Some(turn_id) = is_untold
            && let Some(superseded) = self.turns.start(&turn_id)
        {
            self.open_turn(turn_id, superseded, None, false, say);
        }
        let Some(ended) = self.turns.end(named) else { return };
        self.approvals.end_turn(&ended);
        say.turn = Some(ended);
        let summary = summary.text().and_then(|text| cut(text, limits::TEXT));
        say.event(AgentEvent::Done { outcome, agent_id: None, summary: summary.clone() });
        self.own_end(outcome, summary, say);
    }

    /// A prompt. Before any turn it waits for what shows which turn it is of.
    fn hear(&mut self, text: Option<&str>, say: &mut Say<'_>) {
        let prompt_text = text.and_then(|text| cut(text, limits::TEXT));
        if self.turns.is_marked() {
            self.prompt(prompt_text, say);
        } else {
            self.held.get_or_insert(Held { prompt_text });
            say.said(Said::Activity);
        }
    }

    /// The start of a turn takes a held prompt; work without one shows that this version records no starts.
    fn work_on_held(&mut self, kind: &str, payload: &Payload<'_>, say: &mut Say<'_>) {
        let is_beside = match kind {
            "turn_context"
            | "world_state"
            | "compacted"
            | "event_msg/token_count"
            | "event_msg/task_started"
            | "event_msg/turn_started"
            | "event_msg/user_message"
            | "" => true,
            "event_msg/item_completed" => {
                matches!(&payload.item, Shape(Some(item)) if item.kind.text() == Some("UserMessage"))
            }
            "response_item/message" => payload.role.text() != Some("assistant"),
            _ => false,
        };
        if !is_beside && let Some(Held { prompt_text }) = self.held.take() {
            self.prompt(prompt_text, say);
        }
    }

    fn prompt(&mut self, prompt_text: Option<String>, say: &mut Say<'_>) {
        match self.turns.prompt() {
            Prompt::Starts => {
                let turn_id = self.turns.name("user");
                let goes_on = self.goes_on();
                let superseded = self.turns.start_unmarked(&turn_id);
                self.open_turn(turn_id, superseded, prompt_text, goes_on, say);
            }
            Prompt::First if prompt_text.is_some() => {
                say.event(AgentEvent::Metadata { agent_id: None, title: None, prompt_text, model: None });
            }
            Prompt::First | Prompt::Steering => {}
        }
    }

    /// The oldest format: what the user says is a message among others, and so is what the program adds in the user's name.
    fn bare_message(&mut self, message: &Payload<'_>, say: &mut Say<'_>) {
        if message.role.text() != Some("user") {
            return;
        }
        let FirstText(text) = &message.content;
        let text = text.as_deref();
        let is_added = |text: &str| {
            let added = ["<user_instructions>", "<environment_context>"];
            added.iter().any(|start| text.trim_start().starts_with(start))
        };
        if !text.is_some_and(is_added) {
            self.prompt(text.and_then(|text| cut(text, limits::TEXT)), say);
        }
    }

    fn item(&mut self, completed: &Payload<'_>, say: &mut Say<'_>) {
        let Shape(Some(item)) = &completed.item else { return };
        match item.kind.text() {
            Some("UserMessage") => self.hear(item.content.0.as_deref(), say),
            Some("SubAgentActivity") => {
                self.activity(&item.activity, &item.agent_thread_id, &item.agent_path, say);
            }
            _ => {}
        }
    }

    fn call(&mut self, kind: &str, payload: &Payload<'_>, say: &mut Say<'_>) {
        match kind {
            "response_item/function_call"
            | "response_item/custom_tool_call"
            | "response_item/local_shell_call" => self.tools.start(payload, say),
            "response_item/function_call_output"
            | "response_item/custom_tool_call_output"
            | "response_item/local_shell_call_output" => {
                self.approvals.settle(payload, say);
                self.tools.finish(payload, None, say);
            }
            "event_msg/exec_command_end" | "event_msg/patch_apply_end" | "event_msg/mcp_tool_call_end" => {
                self.approvals.settle(payload, say);
                self.tools.finish(payload, outcome(payload), say);
            }
            "event_msg/exec_command_begin" | "event_msg/patch_apply_begin" => {
                self.approvals.settle(payload, say);
            }
            "event_msg/exec_approval_request"
            | "event_msg/apply_patch_approval_request"
            | "event_msg/request_permissions" => self.approvals.ask(payload, "permission", say),
            "event_msg/request_user_input" | "event_msg/elicitation_request" => {
                self.approvals.ask(payload, "question", say);
            }
            _ => {}
        }
    }

    /// The session was closed. A sub-agent that has ended has nothing more to end.
    fn stop(&mut self, say: &mut Say<'_>) {
        let has_ended = self.role != Role::Root && self.turns.has_run && self.turns.open_id().is_none();
        if !has_ended && !std::mem::replace(&mut self.has_stopped, true) {
            say.event(AgentEvent::SessionStopped { reason: None });
        }
    }
}
