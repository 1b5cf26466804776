//! The journal: events as numbered JSON Lines that several programs append to, one at a time. `docs/journal-format.md` has the bytes.
//!
//! Input: events, and requests to check, mend, shorten or read the file. Output: numbers, reports, entries, or a [`Fault`].
//! Invariant: what was acknowledged under fsync survives; one line is one event. Never: deletes what it cannot read, waits on a
//! thread that is not its own.

mod append;
mod engine;
mod fault;
mod hold;
mod line;
mod mend;
mod queue;
mod registry;
mod repair;
mod replay;
mod rotate;
pub mod scan;
mod tail;
#[cfg(test)]
mod tests;
mod verify;
mod worker;

use std::time::Duration;

pub use fault::{Fault, FaultCode, Outcome};
pub use line::{Draft, Entry};
pub use repair::Repaired;
pub use replay::{Replay, Replayed};
pub use rotate::{Projection, Rotated, Rotation};
pub use verify::{Hole, Verified};
pub use worker::{Appended, Journal};

/// What an acknowledged append survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut.
    #[default]
    Fsync,
    /// The end of the process.
    Os,
}

/// What happens to a torn last line, as a crash leaves one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TornTail {
    /// Appends are refused until it is repaired.
    #[default]
    Error,
    /// It is copied to `<path>.quarantine-<n>`, then cut off.
    Quarantine,
}

/// How a journal is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long an operation waits for other holders of the lock. Default 5 s.
    pub lock_timeout: Duration,
    /// From which age a lock of a dead owner may be taken. Default 300 s.
    pub stale_lock: Duration,
    /// Default fsync.
    pub durability: Durability,
    /// Default error.
    pub torn_tail: TornTail,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lock_timeout: Duration::from_secs(5),
            stale_lock: Duration::from_mins(5),
            durability: Durability::default(),
            torn_tail: TornTail::default(),
        }
    }
}
