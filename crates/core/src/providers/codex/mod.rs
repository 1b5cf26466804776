//! Codex journals: `rollout-*.jsonl`, one for each thread, those of sub-agents among them.
//!
//! Input: the lines of one journal, in order. Output: [`Mapped`](super::Mapped) items, and whose journal it is.
//! Invariant: memory is bounded, whatever the journal holds. Never: concludes anything from prose, or from a file's name.

mod approvals;
mod children;
mod facts;
mod history;
mod mapper;
mod reader;
mod recognize;
mod record;
mod shapes;
mod tools;
mod turns;
mod types;
mod usage;

pub use reader::JournalReader;
pub use recognize::recognize;

use super::{Place, Provider, Reader, Recognized, Told};

/// See the module.
#[derive(Debug)]
pub struct Codex;

const fn place(below: &'static str) -> Place {
    Place { variable: "CODEX_HOME", folder: ".codex", below }
}

impl Provider for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn places(&self) -> &'static [Place] {
        const { &[place("sessions"), place("archived_sessions")] }
    }

    fn recognize(&self, head: &[u8]) -> Option<Recognized> {
        recognize(head)
    }

    fn reader(&self, recognized: &Recognized, told: Told) -> Box<dyn Reader> {
        Box::new(JournalReader::new(recognized, &told))
    }
}
