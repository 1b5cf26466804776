//! Rows as text for people: a tree for a terminal, a report for an end user, a list for a host's own to-do view.
//!
//! Input: rows and the time. Output: text. Invariant: the literal state is always shown, and what is not known is said.
//! Never: shows a control character, a secret that the rules cover, a guess or a percentage; judges a row.

mod report;
mod shown;
mod text;
mod todos;
mod tree;
mod words;

pub use report::status_report;
pub use shown::{RowsFault, Shown, read_rows};
pub use text::{cut, inert, span};
pub use todos::{Todo, TodoStatus, fallback_todos};
pub use tree::{Look, summary, tree};

/// What is said where no source of evidence exists.
pub const NO_EVIDENCE: &str = "Background work visibility unavailable; state unknown.";
/// What is said where a source of evidence exists and holds no session.
pub const NO_SESSION: &str = "No agent session found.";
/// What a report says where a source of evidence exists and has told of no child.
pub const NO_CHILD: &str = "No child is known.";
/// Rows that a report or a list shows; those behind are counted.
pub const SHOWN_ROWS: usize = 4096;

/// Faults of a journal after which something that it said may be missing.
const UNREAD: [&str; 4] = ["malformed", "oversize", "invalid_utf8", "too_deep"];
