//! What a message says.
//!
//! Input: a text or an array of blocks. Output: [`Content`]. Invariant: blocks that nothing reads are not kept, and never more than
//! a message can sensibly have. Never: reads what a tool returned.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::{Late, Scalar};
use crate::providers::shape::{Shape, members, scalars_are};

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

#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) kind: Scalar<'a>,
    pub(super) text: Late<'a>,
    pub(super) id: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) input: Shape<Input<'a>>,
    pub(super) tool_use_id: Scalar<'a>,
    pub(super) is_error: Scalar<'a>,
}

#[derive(Debug, Default)]
pub(super) struct Input<'a> {
    pub(super) description: Scalar<'a>,
    pub(super) name: Scalar<'a>,
    pub(super) prompt: Scalar<'a>,
    pub(super) file_path: Scalar<'a>,
    pub(super) pattern: Scalar<'a>,
    pub(super) run_in_background: Scalar<'a>,
    pub(super) resume: Scalar<'a>,
}

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
    Name = "name" => name,
    Prompt = "prompt" => prompt,
    FilePath = "file_path" => file_path,
    Pattern = "pattern" => pattern,
    RunInBackground = "run_in_background" => run_in_background,
    Resume = "resume" => resume,
});

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
