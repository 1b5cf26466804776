//! Providers: from the records of an agent's own journal to agent events.
//!
//! Input: one line of a journal. Output: [`Mapped`] items in the order of the record, each with its [`Context`].
//! Invariant: the same lines give the same items, however they were chunked. Never: concludes anything from prose.

pub mod claude_code;
pub mod codex;
pub mod hermes;

mod bounded;
mod ids;
mod launches;
mod provider;
mod say;
mod shape;

pub use ids::{hashed as hashed_id, id as native_id};
pub use launches::{Launches, Orphan, PromptKey};
pub use provider::{
    Line, Owner, Place, ProcessClaim, Provider, Reader, Recognized, RecordFault, Role, Told, gather,
};

use crate::agent::{AgentEvent, ContextUse, Outcome};
use crate::contract::Timestamp;

/// The providers that this package brings.
pub const ALL: [&dyn Provider; 2] = [&claude_code::ClaudeCode, &codex::Codex];

/// The provider whose journal begins with `head`, and whose journal that is.
#[must_use]
pub fn recognize(head: &[u8]) -> Option<(&'static dyn Provider, Recognized)> {
    ALL.into_iter().find_map(|provider| Some((provider, provider.recognize(head)?)))
}

/// Where an item comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// Absolute offset of the record's line in its journal, in bytes.
    pub offset: u64,
    /// The record's own id, where it has one.
    pub uuid: Option<String>,
    /// The place among the items of this record, from 0.
    pub index: u32,
    /// The record's time, where it has one that is RFC 3339 UTC.
    pub time: Option<Timestamp<'static>>,
    /// The turn that the item belongs to, where it belongs to one.
    pub turn_id: Option<String>,
}

/// One thing that a record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// Where it comes from.
    pub context: Context,
    /// What it says.
    pub said: Said,
}

/// See [`Mapped`].
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// An agent event.
    Event(AgentEvent),
    /// The agent did something that no agent event describes: evidence of work, nothing more.
    Activity,
    /// Facts beside the events.
    Facts(Facts),
    /// The turn gave way to the one that begins next; how it ended is not known.
    Superseded {
        /// The turn.
        turn_id: String,
    },
    /// The agent whose journal it is was asked to go on: where it had ended, a new life of it began.
    StartedAgain,
    /// The sub-agent launched as `launch` (the id of its `subagent.started`) confirmed that it exists; it stays live.
    Confirmed {
        /// The id of the launch.
        launch: String,
    },
    /// The call that launched a sub-agent has returned, and does not tell how the sub-agent fared: its own last turn does.
    Returned {
        /// The id of the launch.
        launch: String,
    },
    /// A background task that this agent did not launch has ended, as a report tells. It may be a sub-agent of another one.
    Reported {
        /// The call that launched it.
        tool_use_id: Option<String>,
        /// The task's own id; a sub-agent's own id, where it is one.
        agent_id: Option<String>,
        /// How it ended.
        outcome: Outcome,
        /// What the report says.
        summary: Option<String>,
    },
    /// A sub-agent of the session was asked to go on. Where it had ended, a new life of it began.
    Resumed {
        /// The sub-agent's own id. The pipeline puts the id of its launch in its place.
        agent_id: String,
    },
    /// The journal of the sub-agent `agent_id` belongs to the launch `launch`.
    Binding {
        /// The id of the launch.
        launch: String,
        /// The sub-agent's own id.
        agent_id: String,
    },
}

/// Facts of a session or sub-agent that no agent event carries; each is given when it is first known and when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version of the agent program.
    pub agent_version: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The branch checked out there.
    pub branch: Option<String>,
    /// Tokens used by one message; the items of one `message_id` replace each other.
    pub usage: Option<MessageUsage>,
    /// How full its context is.
    pub context: Option<ContextUse>,
}

/// Tokens of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageUsage {
    /// The message.
    pub message_id: String,
    /// Tokens read that no cache had.
    pub input: u64,
    /// Tokens read from a cache or written to one.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}
