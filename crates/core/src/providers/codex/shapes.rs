//! The members of a record that anything here reads.
//!
//! Input: JSON. Output: borrowed shapes. Invariant: a member of an unexpected type is absent, an unknown one is skipped.
//! Never: keeps what a tool was given or returned.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::Scalar;
use crate::providers::shape::{Shape, members, scalars_are};

/// The envelope of a record.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) timestamp: Scalar<'a>,
    pub(super) payload: Shape<Payload<'a>>,
}

/// What an envelope holds, of whatever type; in the oldest format the record itself.
#[derive(Debug, Default)]
pub(super) struct Payload<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) timestamp: Scalar<'a>,
    // Of the session.
    pub(super) id: Scalar<'a>,
    pub(super) session_id: Scalar<'a>,
    pub(super) cli_version: Scalar<'a>,
    pub(super) cwd: Scalar<'a>,
    pub(super) git: Shape<Git<'a>>,
    pub(super) source: Shape<Origin<'a>>,
    pub(super) thread_source: Scalar<'a>,
    pub(super) forked_from_id: Scalar<'a>,
    pub(super) parent_thread_id: Scalar<'a>,
    pub(super) instructions: Scalar<'a>,
    pub(super) record_type: Scalar<'a>,
    // Of a turn.
    pub(super) turn_id: Scalar<'a>,
    pub(super) started_at: Scalar<'a>,
    pub(super) model_context_window: Scalar<'a>,
    pub(super) model: Scalar<'a>,
    pub(super) effort: Scalar<'a>,
    pub(super) message: Scalar<'a>,
    pub(super) last_agent_message: Scalar<'a>,
    pub(super) reason: Scalar<'a>,
    pub(super) item: Shape<Item<'a>>,
    pub(super) role: Scalar<'a>,
    pub(super) content: FirstText<'a>,
    pub(super) info: Shape<TokenInfo<'a>>,
    // Of a call.
    pub(super) call_id: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) status: Scalar<'a>,
    pub(super) exit_code: Scalar<'a>,
    pub(super) success: Scalar<'a>,
    pub(super) result: Shape<CallResult<'a>>,
    pub(super) invocation: Shape<Invocation<'a>>,
    // Of an approval.
    pub(super) approval_id: Scalar<'a>,
    pub(super) server_name: Scalar<'a>,
    // Of a sub-agent.
    pub(super) activity: Scalar<'a>,
    pub(super) agent_thread_id: Scalar<'a>,
    pub(super) agent_nickname: Scalar<'a>,
    pub(super) agent_path: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Git<'a> {
    pub(super) branch: Scalar<'a>,
}

/// `session_meta.source`, where it is more than a word.
#[derive(Debug, Default)]
pub(super) struct Origin<'a> {
    pub(super) subagent: Shape<Subagent<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Subagent<'a> {
    pub(super) thread_spawn: Shape<ThreadSpawn<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct ThreadSpawn<'a> {
    pub(super) parent_thread_id: Scalar<'a>,
    pub(super) agent_nickname: Scalar<'a>,
    pub(super) agent_path: Scalar<'a>,
}

/// What `item_completed` completed.
#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) content: FirstText<'a>,
    pub(super) activity: Scalar<'a>,
    pub(super) agent_thread_id: Scalar<'a>,
    pub(super) agent_path: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct TokenInfo<'a> {
    pub(super) total: Shape<TokenCounts<'a>>,
    pub(super) last: Shape<TokenCounts<'a>>,
    pub(super) window: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct TokenCounts<'a> {
    pub(super) input: Scalar<'a>,
    pub(super) cached: Scalar<'a>,
    pub(super) output: Scalar<'a>,
    pub(super) total: Scalar<'a>,
}

/// How a call of another program's tool ended.
#[derive(Debug, Default)]
pub(super) struct CallResult<'a> {
    pub(super) ok: Shape<Returned<'a>>,
    pub(super) err: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Returned<'a> {
    pub(super) is_error: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Invocation<'a> {
    pub(super) server: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) text: Scalar<'a>,
}

members!(Envelope, EnvelopeField {
    Kind = "type" => kind,
    Timestamp = "timestamp" => timestamp,
    Payload = "payload" => payload,
});
members!(Payload, PayloadField {
    Kind = "type" => kind,
    Timestamp = "timestamp" => timestamp,
    Id = "id" => id,
    SessionId = "session_id" => session_id,
    CliVersion = "cli_version" => cli_version,
    Cwd = "cwd" => cwd,
    Git = "git" => git,
    Source = "source" => source,
    ThreadSource = "thread_source" => thread_source,
    ForkedFromId = "forked_from_id" => forked_from_id,
    ParentThreadId = "parent_thread_id" => parent_thread_id,
    Instructions = "instructions" => instructions,
    RecordType = "record_type" => record_type,
    TurnId = "turn_id" => turn_id,
    StartedAt = "started_at" => started_at,
    ModelContextWindow = "model_context_window" => model_context_window,
    Model = "model" => model,
    Effort = "effort" => effort,
    Message = "message" => message,
    LastAgentMessage = "last_agent_message" => last_agent_message,
    Reason = "reason" => reason,
    Item = "item" => item,
    Role = "role" => role,
    Content = "content" => content,
    Info = "info" => info,
    CallId = "call_id" => call_id,
    Name = "name" => name,
    Status = "status" => status,
    ExitCode = "exit_code" => exit_code,
    Success = "success" => success,
    Result = "result" => result,
    Invocation = "invocation" => invocation,
    ApprovalId = "approval_id" => approval_id,
    ServerName = "server_name" => server_name,
    Activity = "kind" => activity,
    AgentThreadId = "agent_thread_id" => agent_thread_id,
    AgentNickname = "agent_nickname" => agent_nickname,
    AgentPath = "agent_path" => agent_path,
});
members!(Git, GitField { Branch = "branch" => branch });
members!(Origin, OriginField { Subagent = "subagent" => subagent });
members!(Subagent, SubagentField { ThreadSpawn = "thread_spawn" => thread_spawn });
members!(ThreadSpawn, ThreadSpawnField {
    ParentThreadId = "parent_thread_id" => parent_thread_id,
    AgentNickname = "agent_nickname" => agent_nickname,
    AgentPath = "agent_path" => agent_path,
});
members!(Item, ItemField {
    Kind = "type" => kind,
    Content = "content" => content,
    Activity = "kind" => activity,
    AgentThreadId = "agent_thread_id" => agent_thread_id,
    AgentPath = "agent_path" => agent_path,
});
members!(TokenInfo, TokenInfoField {
    Total = "total_token_usage" => total,
    Last = "last_token_usage" => last,
    Window = "model_context_window" => window,
});
members!(TokenCounts, TokenCountsField {
    Input = "input_tokens" => input,
    Cached = "cached_input_tokens" => cached,
    Output = "output_tokens" => output,
    Total = "total_tokens" => total,
});
members!(CallResult, CallResultField { Ok = "Ok" => ok, Err = "Err" => err });
members!(Returned, ReturnedField { IsError = "isError" => is_error });
members!(Invocation, InvocationField { Server = "server" => server });
members!(Block, BlockField { Text = "text" => text });

/// The first text of a message: of its blocks, or the message itself.
#[derive(Debug, Default)]
pub(super) struct FirstText<'a>(pub(super) Option<Cow<'a, str>>);

struct FirstTextVisitor;

impl<'de> Visitor<'de> for FirstTextVisitor {
    type Value = FirstText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    scalars_are!(FirstText(None));

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(FirstText(Some(Cow::Borrowed(value))))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(FirstText(Some(Cow::Owned(value.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut first = None;
        while first.is_none() {
            let Some(Shape(block)) = seq.next_element::<Shape<Block<'de>>>()? else { break };
            first = block.and_then(|block| block.text.into_text());
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FirstText(first))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(FirstText(None))
    }
}

impl<'de> Deserialize<'de> for FirstText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstTextVisitor)
    }
}
