//! One line of a journal, as far as anything here reads it.
//!
//! Input: the bytes of a line. Output: a borrowed [`Record`], lent to a closure. Invariant: a member of an unexpected type is
//! absent, an unknown member is skipped, the last duplicate counts, a lone surrogate reads as U+FFFD.
//! Never: loses a record for one odd member.

use std::borrow::Cow;

use super::content::Content;
use crate::json::{self, JsonFault, Scalar};
use crate::providers::RecordFault;
use crate::providers::shape::{Shape, members};

/// Reads `line` (without its line end) and lends the record to `use_it`.
pub fn read<T>(line: &[u8], use_it: impl FnOnce(&Record<'_>) -> T) -> Result<T, RecordFault> {
    let text = json::check(line)?;
    let parse = |text| json::from_text::<Shape<Record<'_>>>(text).map(|shape| shape.0);
    let record = if let Ok(record) = parse(text) {
        record.map(|record| use_it(&record))
    } else {
        let (repaired, repair) = json::repair(text).ok_or(JsonFault::Malformed)?;
        let repaired = repair.display(Cow::Owned(repaired));
        parse(&repaired).map_err(|_| JsonFault::Malformed)?.map(|record| use_it(&record))
    };
    record.ok_or(RecordFault::NotAnObject)
}

/// One record.
#[derive(Debug, Default)]
pub struct Record<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) subtype: Scalar<'a>,
    pub(super) uuid: Scalar<'a>,
    pub(super) parent_uuid: Scalar<'a>,
    pub(super) session_id: Scalar<'a>,
    pub(super) agent_id: Scalar<'a>,
    pub(super) prompt_id: Scalar<'a>,
    pub(super) timestamp: Scalar<'a>,
    pub(super) version: Scalar<'a>,
    pub(super) cwd: Scalar<'a>,
    pub(super) git_branch: Scalar<'a>,
    pub(super) is_sidechain: Scalar<'a>,
    pub(super) is_meta: Scalar<'a>,
    pub(super) is_compact_summary: Scalar<'a>,
    pub(super) is_visible_in_transcript_only: Scalar<'a>,
    pub(super) is_api_error_message: Scalar<'a>,
    pub(super) ai_title: Scalar<'a>,
    pub(super) custom_title: Scalar<'a>,
    pub(super) last_prompt: Scalar<'a>,
    pub(super) operation: Scalar<'a>,
    pub(super) content: Scalar<'a>,
    pub(super) attachment: Shape<Attachment<'a>>,
    pub(super) message: Shape<Message<'a>>,
    pub(super) tool_use_result: Shape<ToolUseResult<'a>>,
    pub(super) origin: Shape<Origin<'a>>,
    pub(super) forked_from: Shape<ForkedFrom<'a>>,
}

/// Where a user line came from, as far as its version says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// Not said, or by a word that is not known.
    Unknown,
    /// A person.
    Person,
    /// A background task.
    Task,
    /// Another agent.
    Agent,
}

impl Sender {
    pub(super) fn of(origin: &Shape<Origin<'_>>) -> Self {
        match origin.0.as_ref().and_then(|origin| origin.kind.text()) {
            Some("human") => Self::Person,
            Some("task-notification") => Self::Task,
            Some("coordinator" | "peer") => Self::Agent,
            _ => Self::Unknown,
        }
    }
}

impl Record<'_> {
    /// The session that the record names. Records of several sessions in one file are several sessions.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        filled(&self.session_id)
    }

    /// The session that the record was copied from, where it says so.
    pub(super) fn copied_from(&self) -> Option<&str> {
        filled(&self.forked_from.0.as_ref()?.session_id)
    }

    /// Whether the record says that no sub-agent wrote it.
    pub(super) fn is_main(&self) -> bool {
        self.is_sidechain == Scalar::Bool(false)
    }

    /// The sub-agent that the record names.
    #[must_use]
    pub fn agent_id(&self) -> Option<&str> {
        filled(&self.agent_id)
    }

    /// Whether a sub-agent wrote it.
    #[must_use]
    pub fn is_sidechain(&self) -> bool {
        self.is_sidechain.is_true()
    }

    /// Its time as written.
    #[must_use]
    pub fn timestamp(&self) -> Option<&str> {
        self.timestamp.text()
    }

    /// Its type as written.
    #[must_use]
    pub fn record_type(&self) -> Option<&str> {
        self.kind.text()
    }

    /// Its type, where it is one that this provider knows, with or without an event.
    #[must_use]
    pub fn known_type(&self) -> Option<&'static str> {
        let kind = self.record_type()?;
        KNOWN.into_iter().find(|known| *known == kind)
    }

    /// Whether its type is one that this provider knows.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known_type().is_some()
    }
}

const KNOWN: [&str; 16] = [
    "user",
    "assistant",
    "attachment",
    "system",
    "progress",
    "file-history-snapshot",
    "permission-mode",
    "ai-title",
    "last-prompt",
    "queue-operation",
    "mode",
    "agent-name",
    "custom-title",
    "worktree-state",
    "bridge-session",
    "summary",
];

/// The text of a member, where it is text and not blank.
pub(super) fn filled<'a>(member: &'a Scalar<'_>) -> Option<&'a str> {
    member.text().filter(|text| !text.trim().is_empty())
}

#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) id: Scalar<'a>,
    pub(super) model: Scalar<'a>,
    pub(super) stop_reason: Scalar<'a>,
    pub(super) content: Content<'a>,
    pub(super) usage: Shape<Usage<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Usage<'a> {
    pub(super) input: Scalar<'a>,
    pub(super) cache_creation: Scalar<'a>,
    pub(super) cache_read: Scalar<'a>,
    pub(super) output: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct ToolUseResult<'a> {
    pub(super) status: Scalar<'a>,
    pub(super) agent_id: Scalar<'a>,
    pub(super) task_id: Scalar<'a>,
    pub(super) resumed_agent_id: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Attachment<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) prompt: Content<'a>,
    pub(super) origin: Shape<Origin<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Origin<'a> {
    pub(super) kind: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct ForkedFrom<'a> {
    pub(super) session_id: Scalar<'a>,
}

members!(Record, RecordField {
    Kind = "type" => kind,
    Subtype = "subtype" => subtype,
    Uuid = "uuid" => uuid,
    ParentUuid = "parentUuid" => parent_uuid,
    SessionId = "sessionId" => session_id,
    AgentId = "agentId" => agent_id,
    PromptId = "promptId" => prompt_id,
    Timestamp = "timestamp" => timestamp,
    Version = "version" => version,
    Cwd = "cwd" => cwd,
    GitBranch = "gitBranch" => git_branch,
    IsSidechain = "isSidechain" => is_sidechain,
    IsMeta = "isMeta" => is_meta,
    IsCompactSummary = "isCompactSummary" => is_compact_summary,
    IsVisibleInTranscriptOnly = "isVisibleInTranscriptOnly" => is_visible_in_transcript_only,
    IsApiErrorMessage = "isApiErrorMessage" => is_api_error_message,
    AiTitle = "aiTitle" => ai_title,
    CustomTitle = "customTitle" => custom_title,
    LastPrompt = "lastPrompt" => last_prompt,
    Operation = "operation" => operation,
    Content = "content" => content,
    Attachment = "attachment" => attachment,
    Message = "message" => message,
    ToolUseResult = "toolUseResult" => tool_use_result,
    Origin = "origin" => origin,
    ForkedFrom = "forkedFrom" => forked_from,
});
members!(Origin, OriginField { Kind = "kind" => kind });
members!(ForkedFrom, ForkedFromField { SessionId = "sessionId" => session_id });
members!(Message, MessageField {
    Id = "id" => id,
    Model = "model" => model,
    StopReason = "stop_reason" => stop_reason,
    Content = "content" => content,
    Usage = "usage" => usage,
});
members!(Usage, UsageField {
    Input = "input_tokens" => input,
    CacheCreation = "cache_creation_input_tokens" => cache_creation,
    CacheRead = "cache_read_input_tokens" => cache_read,
    Output = "output_tokens" => output,
});
members!(ToolUseResult, ToolUseResultField {
    Status = "status" => status,
    AgentId = "agentId" => agent_id,
    TaskId = "taskId" => task_id,
    ResumedAgentId = "resumedAgentId" => resumed_agent_id,
});
members!(Attachment, AttachmentField {
    Kind = "type" => kind,
    Prompt = "prompt" => prompt,
    Origin = "origin" => origin,
});
