//! Bindings of product sessions in one `SQLite` file, which several processes of a host use at the same time.
//!
//! Input: requests from any thread. Output: one answer for each, from the store's own thread.
//! Invariant: every write is one `BEGIN IMMEDIATE` transaction; what a rule forbids leaves no trace.
//! Never: takes anything from an owner that is not provably dead, deletes a row that it cannot read.

mod claims;
mod engine;
mod environment;
mod fault;
mod history;
mod natives;
mod open;
mod owners;
mod repair;
mod rows;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use claims::{Claimed, Reserved};
pub use repair::{CorruptRow, Found, Overview, Repair};
pub use worker::{Answer, BindingStore};

use crate::storage::{Machine, System};

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// The file. Its folder must be there.
    pub path: PathBuf,
    /// How long an operation waits for other writers.
    pub busy_timeout: Duration,
    /// Whether the file must be a store already, so that nothing is made.
    pub must_exist: bool,
    /// Clocks and processes.
    pub system: Arc<dyn System>,
}

impl Options {
    /// The defaults for `path`: 5 s, and a file that is made where there is none.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            busy_timeout: Duration::from_secs(5),
            must_exist: false,
            system: Arc::new(Machine),
        }
    }
}

/// The version of `SQLite` that is compiled in.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
