//! Claude Code journals: `<sessionId>.jsonl` and the journals of its sub-agents.
//!
//! Input: the lines of one journal, in order. Output: [`Mapped`](super::Mapped) items, and which journal is whose.
//! Invariant: memory is bounded, whatever the journal holds. Never: concludes anything from prose, or from a file's name.

mod calls;
mod content;
mod facts;
mod head;
mod mapper;
mod notification;
mod process;
mod reader;
mod recognize;
mod record;
mod reports;
mod sidechains;
mod tools;
mod turns;
mod user_text;

pub use mapper::Mapper;
pub use reader::JournalReader;
pub use recognize::recognize;
pub use record::{Record, read};

use super::{Place, ProcessClaim, Provider, Reader, Recognized, Told};

/// See the module.
#[derive(Debug)]
pub struct ClaudeCode;

impl Provider for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn places(&self) -> &'static [Place] {
        &[Place { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", below: "projects" }]
    }

    fn recognize(&self, head: &[u8]) -> Option<Recognized> {
        recognize(head)
    }

    fn processes(&self) -> Option<Place> {
        Some(Place { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", below: "sessions" })
    }

    fn process(&self, text: &[u8]) -> Option<ProcessClaim> {
        process::claim(text)
    }

    fn reader(&self, recognized: &Recognized, _told: Told) -> Box<dyn Reader> {
        Box::new(JournalReader::new(recognized))
    }
}
