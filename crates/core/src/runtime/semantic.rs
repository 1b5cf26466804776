//! What a runtime session says of itself.
//!
//! Input: none, these are types. Output: their JSON form, which `ts/runtime/semantic-event.ts` describes.
//! Invariant: an event has the turn that it belongs to, and its number. Never: a native id, or text that was not redacted.

use serde::Serialize;

use super::request::{Outcome, Request};
use crate::json::Json;

/// One semantic event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticEvent {
    /// What is said.
    #[serde(flatten)]
    pub body: Body,
    /// The product's session.
    pub product_session_id: String,
    /// Its live generation.
    pub generation: u64,
    /// 1 for the first event of the generation, and one more for each further one.
    pub sequence: u64,
    /// The time of the input that made it.
    pub at: String,
    /// The turn that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
}

/// How a turn ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The harness says that it is done.
    Completed,
    /// It was stopped.
    Interrupted,
}

/// Why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The harness said so.
    Failed,
    /// Too much came before it was accepted.
    Overflow,
    /// The process ended.
    Exit,
    /// It took too long.
    Deadline,
}

/// How a process ended, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitStatus {
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Why a turn failed, with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureDetails {
    /// Why.
    pub code: Failure,
    /// How its process ended.
    #[serde(flatten)]
    pub status: ExitStatus,
    /// What the adapter added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Json>,
}

/// How the adapter's process or connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdapterState {
    /// It is being started.
    Starting,
    /// It takes prompts.
    Ready,
    /// It is being started again.
    Restarting,
    /// It ended, as the host wanted.
    Stopped,
    /// It ended by itself.
    Crashed,
}

/// Tokens, as far as the harness says; each a safe integer of 0 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of those, from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of those, for reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Tokens in the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
    /// Tokens that fit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// A piece of text in its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextPlace {
    /// The sub-agent that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its place in the turn.
    pub content_index: u64,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPlace {
    /// The sub-agent that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Minted here.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
}

/// A value of the harness: redacted, and left out where it is too large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded {
    /// The value.
    pub value: Option<Json>,
    /// Whether it, or a part of it, was left out.
    pub truncated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "ts/runtime/semantic-event.ts says what the members are")]
pub enum Body {
    /// The turn is on.
    TurnStarted,
    /// It ended, and did not fail.
    TurnCompleted { status: Completion, confirmed: bool },
    /// It failed.
    TurnFailed { message: String, details: FailureDetails },
    /// Of the adapter.
    AdapterLifecycle {
        state: AdapterState,
        #[serde(flatten)]
        status: ExitStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The next text of a message.
    AssistantDelta {
        #[serde(flatten)]
        place: TextPlace,
        text: String,
    },
    /// A whole message.
    AssistantMessage {
        #[serde(flatten)]
        place: TextPlace,
        text: String,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// Reasoning began.
    ReasoningStarted {
        #[serde(flatten)]
        place: TextPlace,
    },
    /// The next text of it.
    ReasoningDelta {
        #[serde(flatten)]
        place: TextPlace,
        text: String,
    },
    /// It ended.
    ReasoningFinished {
        #[serde(flatten)]
        place: TextPlace,
    },
    /// The model called a tool.
    ToolCall {
        #[serde(flatten)]
        place: ToolPlace,
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<Json>,
        args_complete: bool,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        #[serde(skip_serializing_if = "is_false")]
        inferred: bool,
    },
    /// The tool runs.
    ToolExecutionStarted {
        #[serde(flatten)]
        place: ToolPlace,
        #[serde(skip_serializing_if = "is_false")]
        inferred: bool,
    },
    /// It says something.
    ToolExecutionUpdated {
        #[serde(flatten)]
        place: ToolPlace,
        #[serde(skip_serializing_if = "Option::is_none")]
        partial_result: Option<Json>,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// It is done.
    ToolExecutionFinished {
        #[serde(flatten)]
        place: ToolPlace,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        is_error: bool,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        #[serde(skip_serializing_if = "is_false")]
        inferred: bool,
    },
    /// Tokens of the turn.
    Usage { usage: Usage },
    /// A plan.
    PlanUpdated {
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        plan: Option<Json>,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// Changes of files.
    DiffUpdated {
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<Json>,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// The context is being compacted.
    CompactionStart {
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(skip_serializing_if = "is_false")]
        inferred: bool,
    },
    /// It was.
    CompactionEnd {
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<String>,
        #[serde(skip_serializing_if = "is_false")]
        inferred: bool,
    },
    /// The harness asks for leave.
    ApprovalRequested { request: Request },
    /// That ended.
    ApprovalResolved {
        request_id: String,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        decision: Option<String>,
    },
    /// The harness asks questions.
    UserInputRequested { request: Request },
    /// That ended.
    UserInputResolved {
        request_id: String,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        answered: Option<Vec<String>>,
    },
    /// Something to know.
    Warning {
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        message: String,
    },
    /// Something went wrong that ends no turn.
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Json>,
    },
    /// Something that has no kind of its own.
    NativeEvent {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        payload: Option<Json>,
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
    },
}
