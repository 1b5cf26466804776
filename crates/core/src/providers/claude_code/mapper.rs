//! The records of one journal and session, in order, as agent events.
//!
//! Input: records. Output: [`Mapped`] items. Invariant: the same records give the same items; a record whose uuid was seen gives
//! none. Never: reads a text that a person or a model wrote as anything but a text.

use super::calls::Calls;
use super::facts::Known;
use super::notification::Notification;
use super::record::{Record, Sender, filled};
use super::reports::{Reports, Way};
use super::turns::{Place, Turns};
use super::user_text::{UserText, prompt};
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Outcome};
use crate::contract::Moment;
use crate::providers::bounded::Recent;
use crate::providers::ids::{fingerprint, id};
use crate::providers::launches::{Launches, Orphan, PromptKey};
use crate::providers::say::{Say, Source, cut};
use crate::providers::{Mapped, Role, Said};

/// Records whose uuid is remembered, at least; a resumed session repeats its own records, so the latest matter.
const UUIDS: usize = 65_536;

/// See the module. One mapper per journal and session.
#[derive(Debug)]
pub struct Mapper {
    pub(super) role: Role,
    has_begun: bool,
    uuids: Recent,
    pub(super) turns: Turns,
    pub(super) calls: Calls,
    /// The sub-agents that it launched.
    pub launches: Launches,
    pub(super) reports: Reports,
    pub(super) known: Known,
    /// The command that the next meta line may carry out.
    command: Option<Command>,
    /// The `promptId` of the user line before.
    user_prompt_id: Option<String>,
    /// The last `promptId` that any record had.
    pub(super) context_prompt: Option<u64>,
    /// Whether a user line asked for an answer that no turn has taken up.
    is_asked: bool,
    first_prompt: Option<FirstPrompt>,
}

#[derive(Debug)]
struct Command {
    prompt: String,
    prompt_id: Option<String>,
}

#[derive(Debug)]
struct FirstPrompt {
    key: PromptKey,
    time: Option<Moment>,
}

impl Mapper {
    /// A mapper that has read nothing.
    #[must_use]
    pub fn new(role: Role) -> Self {
        Self {
            role,
            has_begun: false,
            uuids: Recent::new(UUIDS),
            turns: Turns::new(),
            calls: Calls::new(),
            launches: Launches::new(),
            reports: Reports::new(),
            known: Known::default(),
            command: None,
            user_prompt_id: None,
            context_prompt: None,
            is_asked: false,
            first_prompt: None,
        }
    }

    /// What a launcher needs to know of this sub-agent's journal to claim it.
    #[must_use]
    pub fn orphan(&self) -> Option<Orphan> {
        let Role::Child { agent_id } = &self.role else { return None };
        let first = self.first_prompt.as_ref()?;
        Some(Orphan { agent_id: id(agent_id)?, first_time: first.time, prompt: first.key })
    }

    /// Whether a record with this uuid was read.
    pub(super) fn has_read(&self, uuid: u64) -> bool {
        self.uuids.contains(uuid)
    }

    /// Reads the next record, whose line begins at `offset`.
    pub fn record(&mut self, record: &Record<'_>, offset: u64, out: &mut Vec<Mapped>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let uuid = filled(&record.uuid).map(fingerprint);
        if uuid.is_some_and(|uuid| !self.uuids.remember(uuid)) {
            return;
        }
        let source = Source { offset, uuid: filled(&record.uuid), time: record.timestamp() };
        let mut say = Say::new(source, out);
        if self.role == Role::Root && is_first {
            say.event(AgentEvent::SessionStarted { title: None, prompt_text: None, model: None });
        }
        say.turn = self.turns.open_id().map(str::to_owned);
        self.known.program(record, &mut say);
        match record.record_type() {
            Some("user") => self.user(record, offset, &mut say),
            Some("assistant") => self.assistant(record, offset, &mut say),
            Some("system") => self.system(record, &mut say),
            Some("attachment") => self.attachment(record, &mut say),
            Some("queue-operation") if record.operation.text() == Some("enqueue") => {
                if let Some(notification) = record.content.text().and_then(|text| Notification::of(&[text])) {
                    self.task_reports(&notification, Way::Queue, &mut say);
                }
            }
            Some("ai-title" | "custom-title" | "last-prompt") => self.known.title(record, &mut say),
            _ => {}
        }
        if let Some(uuid) = uuid
            && say.turn.as_deref() == self.turns.open_id()
        {
            self.turns.read(uuid);
        }
    }

    fn user(&mut self, record: &Record<'_>, offset: u64, say: &mut Say<'_>) {
        let prompt_id = filled(&record.prompt_id);
        if let Some(prompt_id) = prompt_id {
            self.context_prompt = Some(fingerprint(prompt_id));
        }
        self.user_prompt_id = prompt_id.and_then(id);
        let Some(message) = &record.message.0 else { return };
        if message.content.blocks().iter().any(|block| block.kind.text() == Some("tool_result")) {
            self.tool_results(record, message, say);
            if let Some(UserText::Interruption { of_tool_use }) =
                UserText::interruption_beside_results(&message.content)
            {
                self.interrupt(of_tool_use, say);
            }
        } else {
            let text = UserText::of(&message.content, Sender::of(&record.origin));
            self.note_first_prompt(&text, say);
            let is_hidden =
                record.is_compact_summary.is_true() || record.is_visible_in_transcript_only.is_true();
            if !is_hidden {
                self.user_text(record, &text, offset, say);
            }
        }
        if self.turns.open_id().is_some() {
            say.activity_unless_event();
        }
    }

    fn note_first_prompt(&mut self, text: &UserText<'_>, say: &Say<'_>) {
        if self.first_prompt.is_none()
            && let UserText::Plain(texts) = text
        {
            let key = PromptKey::new(self.context_prompt, texts.iter().copied());
            self.first_prompt = Some(FirstPrompt { key, time: say.moment() });
        }
    }

    fn user_text(&mut self, record: &Record<'_>, text: &UserText<'_>, offset: u64, say: &mut Say<'_>) {
        let is_meta = record.is_meta.is_true();
        match text {
            UserText::Interruption { of_tool_use } => self.interrupt(*of_tool_use, say),
            UserText::Notification(notification) => {
                self.task_reports(notification, Way::Line, say);
                if self.turns.open_id().is_none() {
                    self.start_turn(record, None, None, offset, say);
                }
            }
            UserText::Command { prompt } => {
                let prompt_id = self.user_prompt_id.clone();
                self.command = Some(Command { prompt: prompt.clone(), prompt_id });
            }
            UserText::Local => {}
            UserText::Plain(_) if is_meta && text.is_stop_hook_feedback() => {
                if let Some(turn_id) = self.turns.resume() {
                    say.turn = Some(turn_id.clone());
                    say.event(AgentEvent::TurnStarted { turn_id, agent_id: None, prompt_text: None });
                }
            }
            // What another agent sends goes on with a sub-agent, whether or not people are shown it.
            UserText::Plain(_) | UserText::None if is_meta && !self.is_sent(record) => {
                match self.command.take() {
                    Some(command) => {
                        let prompt_text = cut(&command.prompt, limits::TEXT);
                        self.start_turn(record, command.prompt_id, prompt_text, offset, say);
                    }
                    None => self.is_asked = true,
                }
            }
            UserText::Plain(texts) => {
                if self.role != Role::Root && self.turns.any() {
                    say.turn = None;
                    say.said(Said::StartedAgain);
                }
                self.start_turn(record, None, prompt(texts), offset, say);
            }
            UserText::None => self.is_asked = true,
        }
    }

    /// Whether another agent sent the user line to this sub-agent.
    fn is_sent(&self, record: &Record<'_>) -> bool {
        self.role != Role::Root && Sender::of(&record.origin) == Sender::Agent
    }

    /// Starts the turn of a user line; `prompt_id` is that of a line before, for a line that has none.
    fn start_turn(
        &mut self,
        record: &Record<'_>,
        prompt_id: Option<String>,
        prompt_text: Option<String>,
        offset: u64,
        say: &mut Say<'_>,
    ) {
        let prompt_id = self.session_prompt_id().or(prompt_id);
        let turn_id = self.turns.id_for(prompt_id.as_deref(), &own_id("user", &record.uuid, offset));
        self.open_turn(turn_id, prompt_text, say);
    }

    /// The `promptId` of the user line before, as far as it may name a turn: in a sub-agent's journal it is that of the turn that
    /// launched it.
    fn session_prompt_id(&self) -> Option<String> {
        self.user_prompt_id.clone().filter(|_| self.role == Role::Root)
    }

    fn open_turn(&mut self, turn_id: String, prompt_text: Option<String>, say: &mut Say<'_>) {
        let superseded = self.turns.start(turn_id.clone());
        self.command = None;
        self.is_asked = false;
        if let Some(turn_id) = superseded {
            say.said(Said::Superseded { turn_id });
        }
        say.turn = Some(turn_id.clone());
        say.event(AgentEvent::TurnStarted { turn_id, agent_id: None, prompt_text });
    }

    fn interrupt(&mut self, of_tool_use: bool, say: &mut Say<'_>) {
        self.is_asked = false;
        self.command = None;
        if self.turns.open_id().is_none() {
            return;
        }
        if of_tool_use {
            self.refuse_last_call(say);
        }
        let summary = of_tool_use.then(|| "tool-use-refused".to_owned());
        self.end_turn(Outcome::Cancelled, summary, say);
    }

    fn end_turn(&mut self, outcome: Outcome, summary: Option<String>, say: &mut Say<'_>) {
        self.turns.end();
        say.event(AgentEvent::Done { outcome, agent_id: None, summary });
    }

    fn assistant(&mut self, record: &Record<'_>, offset: u64, say: &mut Say<'_>) {
        let Some(message) = &record.message.0 else { return };
        let message_id = filled(&message.id);
        let is_synthetic = message.model.text() == Some("<synthetic>");
        let is_api_error = record.is_api_error_message.is_true();
        self.command = None;
        // Facts travel with the next event, so they are told before the events of the same line.
        if !is_synthetic {
            self.known.usage(message, say);
        }
        let place = self.turns.place(message_id.map(fingerprint));
        match place {
            Place::Open => {}
            Place::Past { .. } => say.turn = self.turns.past_id().map(str::to_owned),
            // What the program itself says without being asked (after an interruption, on resuming) is no turn.
            Place::New if is_synthetic && !(is_api_error && self.is_asked) => return,
            Place::New => {
                let fallback = message_id.map_or_else(
                    || own_id("assistant", &record.uuid, offset),
                    |message_id| format!("assistant:{message_id}"),
                );
                let turn_id = self.turns.id_for(self.session_prompt_id().as_deref(), &fallback);
                self.open_turn(turn_id, None, say);
                self.turns.started_by(message_id.map(fingerprint));
            }
        }
        if !is_synthetic {
            self.known.model(message, say);
        }
        for block in message.content.blocks() {
            if block.kind.text() == Some("tool_use") {
                self.tool_use(block, &place, say);
            }
        }
        let is_past = matches!(place, Place::Past { .. });
        let ends = !is_past && (is_api_error || message.stop_reason.text() == Some("end_turn"));
        if !ends {
            say.activity_unless_event();
        }
        if ends && is_api_error {
            self.end_turn(Outcome::Error, Some("api-error".to_owned()), say);
        } else if ends {
            self.end_turn(Outcome::Success, None, say);
        }
    }

    fn system(&mut self, record: &Record<'_>, say: &mut Say<'_>) {
        let parent = filled(&record.parent_uuid).map(fingerprint);
        // What follows a record of an earlier turn may be written late. A parent that never came tells nothing.
        let parent = parent.filter(|parent| self.uuids.contains(*parent));
        if parent.is_some_and(|parent| !self.turns.has(parent)) {
            say.turn = None;
        }
        match record.subtype.text() {
            Some("turn_duration") => {
                let is_open = match parent {
                    Some(parent) => self.turns.has(parent),
                    None => self.has_paused(),
                };
                if is_open {
                    self.end_turn(Outcome::Success, None, say);
                }
            }
            Some("api_error") => say.said(Said::Activity),
            _ => {}
        }
    }

    /// Whether the open turn could be over: the agent has said something, and waits for nothing.
    fn has_paused(&self) -> bool {
        self.turns.answered_id().is_some_and(|turn| !self.calls.any_open(fingerprint(turn)))
    }

    fn attachment(&mut self, record: &Record<'_>, say: &mut Say<'_>) {
        let Some(attachment) = &record.attachment.0 else { return };
        if attachment.kind.text() != Some("queued_command") {
            return;
        }
        let sender = Sender::of(&attachment.origin);
        if let UserText::Notification(notification) = UserText::of(&attachment.prompt, sender) {
            self.task_reports(&notification, Way::Attachment, say);
        }
        say.activity_unless_event();
    }
}

/// The id of a turn that has no `promptId` of its own.
fn own_id(whose: &str, uuid: &crate::json::Scalar<'_>, offset: u64) -> String {
    filled(uuid).map_or_else(|| format!("{whose}:@{offset}"), |uuid| format!("{whose}:{uuid}"))
}
