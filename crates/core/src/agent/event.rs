//! The twelve agent events and their text bounds.
//!
//! Input: facts that a provider read. Output: a typed event, and its JSON form. Invariant: display text is cut to its bound,
//! an identity never is. Never: says where the fact came from (that is the [`Context`](crate::providers::Context)).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::validate::{Form, Issue, validate};
use crate::json::{self, Json};

/// What the members of an agent event may hold. Texts are counted in UTF-16 code units.
pub mod limits {
    /// Ids, `model.id`.
    pub const ID: usize = 256;
    /// `title`.
    pub const TITLE: usize = 512;
    /// `promptText` and `summary`.
    pub const TEXT: usize = 4096;
    /// `reason` and `description`.
    pub const REASON: usize = 1024;
    /// A tool's `name`.
    pub const TOOL_NAME: usize = 96;
    /// `signal`.
    pub const SIGNAL: usize = 64;
    /// `model.displayName`.
    pub const MODEL_NAME: usize = 96;
    /// `model.reasoningEffort`.
    pub const REASONING_EFFORT: usize = 64;
    /// `occurredAt`.
    pub const TIME: usize = 64;
    /// `model.contextWindowTokens` goes from 1 to this.
    pub const CONTEXT_TOKENS: i32 = 16_777_216;
    /// `exitCode` goes from minus this to this; a larger code of Windows is given as text, in `signal`.
    pub const EXIT_CODE: i32 = 255;
}

/// How a turn, a tool or a sub-agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Well.
    Success,
    /// Badly.
    Error,
    /// Stopped by somebody.
    Cancelled,
}

impl Outcome {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Success, Self::Error, Self::Cancelled].into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// How a wait holds its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitState {
    /// Waits for somebody.
    Waiting,
    /// Held by an error or a limit.
    Blocked,
}

impl WaitState {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Waiting, Self::Blocked].into_iter().find(|state| state.as_str() == word)
    }
}

/// The model that an agent runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// The provider's id of the model.
    pub id: String,
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// How hard it thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Tokens that fit its context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window_tokens: Option<u32>,
}

/// One agent event. Its members are those of the table in `docs/agent-events.md`; absent ones are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "the members say what they are by their names")]
pub enum AgentEvent {
    /// The session exists.
    #[serde(rename = "session.started")]
    SessionStarted {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Model>,
    },
    /// A title, a prompt or a model became known.
    #[serde(rename = "agent.metadata")]
    Metadata {
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Model>,
    },
    /// A turn began.
    #[serde(rename = "turn.started")]
    TurnStarted {
        turn_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_text: Option<String>,
    },
    /// A tool call began.
    #[serde(rename = "tool.started")]
    ToolStarted {
        tool_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A tool call ended; without an outcome it is not known how.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        tool_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
    },
    /// The agent waits for something.
    #[serde(rename = "wait.started")]
    WaitStarted {
        wait_id: String,
        state: WaitState,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The wait ended.
    #[serde(rename = "wait.finished")]
    WaitFinished {
        wait_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// A turn ended.
    #[serde(rename = "agent.done")]
    Done {
        outcome: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// The agent's process ended.
    #[serde(rename = "agent.exited")]
    Exited {
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
    /// The session was closed.
    #[serde(rename = "session.stopped")]
    SessionStopped {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A sub-agent was launched.
    #[serde(rename = "subagent.started")]
    SubagentStarted {
        subagent_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_agent_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Model>,
    },
    /// A sub-agent ended.
    #[serde(rename = "subagent.done")]
    SubagentDone {
        subagent_id: String,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
}

impl AgentEvent {
    /// The event in `text`.
    ///
    /// # Errors
    /// Every rule that the value breaks; none where the text is not JSON.
    pub fn parse(text: &str) -> Result<Self, Vec<Issue>> {
        let verdict = validate(text, Form::Json, false).map_err(|_| Vec::new())?;
        if !verdict.issues.is_empty() {
            return Err(verdict.issues);
        }
        let read = json::read(text.as_bytes(), |text, repair| {
            serde_json::from_str(&repair.display(Cow::Borrowed(text)))
        });
        read.map_err(|_| Vec::new())
    }

    /// The agent that it is about; none for the session's own.
    #[must_use]
    pub fn agent_id(&self) -> Option<&str> {
        match self {
            Self::Metadata { agent_id, .. }
            | Self::TurnStarted { agent_id, .. }
            | Self::ToolStarted { agent_id, .. }
            | Self::ToolFinished { agent_id, .. }
            | Self::WaitStarted { agent_id, .. }
            | Self::WaitFinished { agent_id, .. }
            | Self::Done { agent_id, .. }
            | Self::Exited { agent_id, .. } => agent_id.as_deref(),
            Self::SessionStarted { .. }
            | Self::SessionStopped { .. }
            | Self::SubagentStarted { .. }
            | Self::SubagentDone { .. } => None,
        }
    }

    /// The event as a JSON object, discriminant `kind` first.
    #[must_use]
    pub fn to_json(&self) -> Json {
        // An event is a flat object of texts, so reading its own text back cannot fail.
        crate::json::from_text::<JsonValue>(&crate::json::write(self)).map_or(Json::Null, |value| value.0)
    }
}

struct JsonValue(Json);

impl<'de> serde::Deserialize<'de> for JsonValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::DeserializeSeed;
        Json::seed(4).deserialize(deserializer).map(|value| Self(value.unwrap_or(Json::Null)))
    }
}

/// How full a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ContextUse {
    /// Tokens in it.
    pub used: u64,
    /// Tokens that fit, where that is known.
    pub window: Option<u64>,
}
