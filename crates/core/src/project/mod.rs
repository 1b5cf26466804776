//! The projection: what is known of every child, from ordered evidence.
//!
//! Input: events, snapshots and questions with their times. Output: records, and for each event what became of it.
//! Invariant: no input revives a terminal record; memory per child is bounded. Never: reads a clock.

pub mod audit;
mod authority;
pub mod changes;
mod checkpoint;
pub mod content;
mod corrections;
pub mod dedupe;
mod epochs;
pub mod explain;
pub mod facts;
mod lives;
mod marks;
pub mod projector;
pub mod record;
mod replay;
pub mod report;
pub mod rows;
mod snapshots;
pub mod steady;
mod store;
mod stored;
mod take;

pub use changes::ChangeSet;
pub use marks::REASON_UNITS;
pub use projector::{Config, Projector, RecordKey};
pub use record::{Alive, Process, Reconciliation, Record};
pub use report::{Applied, Counts, NOBODY, Note, Status};
pub use snapshots::{Discovered, Reconciled};
