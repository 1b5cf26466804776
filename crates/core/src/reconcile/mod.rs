//! What reaches a projection beside events: complete snapshots, and the lines of a journal.
//!
//! Input: JSON text. Output: a [`Snapshot`] or a [`JournalLine`] that satisfies every rule, or the first refusal.

mod line;
mod snapshot;

pub use line::{JournalLine, is_journal_line};
pub use snapshot::{Coverage, Snapshot, SnapshotChild};
