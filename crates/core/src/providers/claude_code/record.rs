//! One line of a journal, as far as anything here reads it.
//!
//! Input: the bytes of a line. Output: a borrowed [`Record`], lent to a closure. Invariant: a member of an unexpected type is
//! absent, an unknown member is skipped, the last duplicate counts, a lone surrogate reads as U+FFFD.
//! Never: loses a record for one odd member.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::{self, JsonFault, Scalar};

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// It is not JSON.
    Json(JsonFault),
    /// It is JSON, and no object.
    NotAnObject,
}

impl From<JsonFault> for RecordFault {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

/// Reads `line` (without its line end) and lends the record to `use_it`.
pub fn read<T>(line: &[u8], use_it: impl FnOnce(&Record<'_>) -> T) -> Result<T, RecordFault> {
    let text = json::check(line)?;
    let parse = |text| serde_json::from_str::<Shape<Record<'_>>>(text).map(|shape| shape.0);
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
}

impl Record<'_> {
    /// The session that the record names. Records of several sessions in one file are several sessions.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        filled(&self.session_id)
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

    /// Whether its type is one that this provider knows, with or without an event.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.record_type().is_some_and(|kind| KNOWN.contains(&kind))
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
pub(super) struct Block<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) text: Scalar<'a>,
    pub(super) id: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) input: Shape<Input<'a>>,
    pub(super) tool_use_id: Scalar<'a>,
    pub(super) is_error: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Input<'a> {
    pub(super) description: Scalar<'a>,
    pub(super) prompt: Scalar<'a>,
    pub(super) file_path: Scalar<'a>,
    pub(super) pattern: Scalar<'a>,
    pub(super) run_in_background: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct ToolUseResult<'a> {
    pub(super) status: Scalar<'a>,
    pub(super) agent_id: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Attachment<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) prompt: Content<'a>,
}

/// What a message says: a text, or blocks.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

impl<'a> Content<'a> {
    /// Blocks kept of one message; real ones have a handful.
    const BLOCKS: usize = 1024;

    pub(super) fn blocks(&self) -> &[Block<'a>] {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Absent | Self::Text(_) => &[],
        }
    }

    /// Its texts, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let whole = match self {
            Self::Text(text) => Some(text.as_ref()),
            Self::Absent | Self::Blocks(_) => None,
        };
        let of_blocks = self.blocks().iter().filter(|block| block.kind.text() == Some("text"));
        whole.into_iter().chain(of_blocks.filter_map(|block| block.text.text()))
    }
}

/// A shape that takes one member at a time.
trait Members<'de>: Default {
    type Field: Deserialize<'de>;
    fn set<A: MapAccess<'de>>(&mut self, field: Self::Field, map: &mut A) -> Result<(), A::Error>;
}

macro_rules! members {
    ($shape:ident, $field:ident { $($variant:ident = $name:literal => $member:ident),* $(,)? }) => {
        #[derive(Deserialize)]
        #[serde(field_identifier)]
        enum $field {
            $(#[serde(rename = $name)] $variant,)*
            #[serde(other)]
            Unknown,
        }

        impl<'de> Members<'de> for $shape<'de> {
            type Field = $field;
            fn set<A: MapAccess<'de>>(&mut self, field: $field, map: &mut A) -> Result<(), A::Error> {
                match field {
                    $($field::$variant => self.$member = map.next_value()?,)*
                    $field::Unknown => { map.next_value::<IgnoredAny>()?; }
                }
                Ok(())
            }
        }
    };
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
});
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
members!(Block, BlockField {
    Kind = "type" => kind,
    Text = "text" => text,
    Id = "id" => id,
    Name = "name" => name,
    Input = "input" => input,
    ToolUseId = "tool_use_id" => tool_use_id,
    IsError = "is_error" => is_error,
});
members!(Input, InputField {
    Description = "description" => description,
    Prompt = "prompt" => prompt,
    FilePath = "file_path" => file_path,
    Pattern = "pattern" => pattern,
    RunInBackground = "run_in_background" => run_in_background,
});
members!(ToolUseResult, ToolUseResultField {
    Status = "status" => status,
    AgentId = "agentId" => agent_id,
});
members!(Attachment, AttachmentField {
    Kind = "type" => kind,
    Prompt = "prompt" => prompt,
});

/// An object of a known shape; `None` for any other value in its place.
#[derive(Debug)]
pub(super) struct Shape<T>(pub(super) Option<T>);

impl<T> Default for Shape<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct ShapeVisitor<T>(PhantomData<T>);

/// The values that are neither object nor array, each read as `$other`.
macro_rules! scalars_are {
    ($other:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}

impl<'de, T: Members<'de>> Visitor<'de> for ShapeVisitor<T> {
    type Value = Shape<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    scalars_are!(Shape(None));

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Shape(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut shape = T::default();
        while let Some(field) = map.next_key()? {
            shape.set(field, &mut map)?;
        }
        Ok(Shape(Some(shape)))
    }
}

impl<'de, T: Members<'de>> Deserialize<'de> for Shape<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor(PhantomData))
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    scalars_are!(Content::Absent);

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(Shape(block)) = seq.next_element::<Shape<Block<'de>>>()? {
            // What has no id, no text and no result is of no interest, and a hostile line could hold millions.
            let read = |kind: &str| matches!(kind, "text" | "tool_use" | "tool_result");
            blocks.extend(
                block.filter(|block| blocks.len() < Content::BLOCKS && block.kind.text().is_some_and(read)),
            );
        }
        Ok(Content::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::Absent)
    }
}

impl<'de> Deserialize<'de> for Content<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}
