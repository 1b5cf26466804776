//! Agents that work now.
//!
//! Input: files that grow, processes, hooks, answers of the host. Output: rows, and what changed of them.
//! Invariant: one thread makes all decisions, in the order in which things came. Never: writes to an agent's own folders.

mod families;
pub(crate) mod hooks;
pub mod live;
mod options;
pub(crate) mod owners;
pub mod questions;
mod recorder;
pub mod spool;
mod watch;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use agent_lifecycle_core::contract::{Event, Moment, Refusal};
use agent_lifecycle_core::pipeline::{Outcome, Pipeline};
use agent_lifecycle_core::project::explain::Explanation;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{ChangeSet, Record};
use agent_lifecycle_core::reconcile::Snapshot;

pub use options::{Notice, Options};
pub use questions::{Answer, Asked};

use crate::follow::{Follower, Waker};
use crate::journal::Fault;
use crate::status::moment;
use live::Live;
use recorder::Recorder;
use watch::{Shared, State, Watch};

/// Why a monitor was not opened.
#[derive(Debug)]
pub enum OpenFault {
    /// Its journal.
    Journal(Fault),
    /// Its threads.
    Io(io::Error),
}

/// A monitor that is open.
#[derive(Debug)]
pub struct Monitor {
    shared: Arc<Shared>,
    waker: Waker,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Monitor {
    /// Opens a monitor. `sink` is called on its thread, and must return at once.
    pub fn open(options: Options, sink: impl Fn(Notice) + Send + Sync + 'static) -> Result<Self, OpenFault> {
        let (recorder, before) = match &options.journal {
            Some(path) => {
                let pipeline = Pipeline::new(options.config, options.content);
                let (recorder, before) = Recorder::open(path, pipeline).map_err(OpenFault::Journal)?;
                (Some(recorder), Some(before))
            }
            None => (None, None),
        };
        let live = Live::new(options.config, options.content, before, recorder.is_some());
        let shared = Arc::new(Shared { live: Mutex::new(live), state: Mutex::new(State::default()) });
        let follower = Follower::open(|| {}).map_err(OpenFault::Io)?;
        let waker = follower.waker();
        let sink: Arc<dyn Fn(Notice) + Send + Sync> = Arc::new(sink);
        let watch = Watch::new(options, Arc::clone(&shared), follower, recorder, Arc::clone(&sink));
        let run = move || {
            if catch_unwind(AssertUnwindSafe(|| watch.run())).is_err() {
                let message = "the monitor has stopped: a fault in agent-lifecycle".to_owned();
                sink(Notice::Diagnostic { code: "internal", path: None, message });
            }
        };
        let thread = std::thread::Builder::new().name("agent-lifecycle-monitor".to_owned()).spawn(run);
        Ok(Self { shared, waker, thread: Mutex::new(Some(thread.map_err(OpenFault::Io)?)) })
    }

    /// All rows in tree order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.shared.live().rows()
    }

    /// The rows that changed since a cursor.
    #[must_use]
    pub fn changes_since(&self, cursor: Option<&str>) -> ChangeSet {
        self.shared.live().changes_since(cursor)
    }

    /// What stands behind the state of the row with this key.
    #[must_use]
    pub fn explain(&self, key: &str) -> Option<Explanation> {
        self.shared.live().explain(key)
    }

    /// Files that are followed and were not written for long.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.shared.state().hidden
    }

    /// Applies events that a host gives.
    pub fn apply(&self, event: &Event<'_>) -> Outcome {
        let outcome = self.shared.live().apply(event, moment(SystemTime::now()));
        self.touch();
        outcome
    }

    /// Takes a complete snapshot of a source, and gives what `see` makes of the records that it is about.
    pub fn reconcile<Seen>(
        &self,
        snapshot: &Snapshot,
        see: impl Fn(&Record) -> Seen,
    ) -> Result<Vec<Seen>, Refusal> {
        let mut live = self.shared.live();
        let reconciled = live.reconcile(snapshot, moment(SystemTime::now()))?;
        let seen = live.records_of(&reconciled).map(see).collect();
        drop(live);
        self.touch();
        Ok(seen)
    }

    /// Takes bytes of a stream of a host, by its name.
    pub fn take(&self, name: &str, bytes: &[u8]) {
        self.shared.live().take(std::path::Path::new(name), bytes, moment(SystemTime::now()));
        self.touch();
    }

    /// Takes an answer about a child.
    pub fn answer(&self, source: &str, child_id: &str, answer: Answer) {
        self.shared.live().answer(source, child_id, answer, moment(SystemTime::now()));
        self.touch();
    }

    /// Drops children that ended before a time; how many.
    pub fn forget(&self, before: Moment) -> usize {
        let removed = self.shared.live().forget(before);
        self.touch();
        removed
    }

    fn touch(&self) {
        self.shared.state().is_touched = true;
        self.waker.wake();
    }

    /// Ends it: what waits is written. It may take two seconds.
    pub fn close(&self) {
        self.shared.state().is_closing = true;
        self.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.close();
    }
}
