//! Claude Code journals: `<sessionId>.jsonl` and the journals of its sub-agents.
//!
//! Input: the lines of one journal, in order. Output: [`Mapped`](super::Mapped) items, and which journal is whose.
//! Invariant: memory is bounded, whatever the journal holds. Never: concludes anything from prose, or from a file's name.

mod bounded;
mod calls;
mod content;
mod facts;
mod ids;
mod launches;
mod mapper;
mod notification;
mod recognize;
mod record;
mod say;
mod shape;
mod tools;
mod turns;
mod user_text;

pub use ids::id as native_id;
pub use launches::{Orphan, PromptKey};
pub use mapper::{Mapper, Role};
pub use recognize::{Recognized, recognize};
pub use record::{Record, RecordFault, read};
