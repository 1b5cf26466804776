//! The projection: what is known of every child, from ordered evidence.
//!
//! Input: events and questions with their times. Output: records, and for each event what became of it.
//! Invariant: no input revives a terminal record; memory per child is bounded. Never: reads a clock.

pub mod audit;
pub mod content;
pub mod dedupe;
pub mod explain;
pub mod facts;
mod lives;
pub mod projector;
pub mod record;
pub mod report;
pub mod rows;
mod take;

pub use projector::{Config, Projector, RecordKey};
pub use record::Record;
pub use report::{Applied, Counts, Note, Status};
