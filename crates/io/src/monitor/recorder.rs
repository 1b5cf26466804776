//! A monitor's own journal: what it knew, for the next time.
//!
//! Input: events that changed anything, and corrections, in order. Output: the projection that an earlier run left.
//! Invariant: what is in the journal gives the projection that was live. Never: holds the monitor up.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::project::{Config, Projector};

use super::options::Notice;
use crate::journal::{Draft, Durability, Fault, Journal, Options, Replayed, TornTail};

/// How long the end of the journal's thread is waited for.
const END: Duration = Duration::from_secs(2);

/// See the module.
pub(super) struct Recorder {
    journal: Journal,
    faults: mpsc::Receiver<Fault>,
    told: mpsc::Sender<Fault>,
}

impl Recorder {
    /// Opens the journal at `path` and reads what it holds.
    pub(super) fn open(path: &Path, config: Config) -> Result<(Self, Projector), Fault> {
        let options =
            Options { durability: Durability::Os, torn_tail: TornTail::Quarantine, ..Options::default() };
        let journal = Journal::open(path, options)?;
        let (sender, receiver) = mpsc::channel();
        journal.replay(move |replay| {
            let _ = sender.send(replay);
        });
        let mut projector = Projector::new(config);
        if let Ok(replay) = receiver.recv() {
            let mut replay = replay?;
            let mut take = |item: Replayed<'_>| {
                if let Replayed::Entry(entry, _) = item {
                    // What is refused now was refused then.
                    let _ = projector.replay(&entry.event, entry.received_at);
                }
            };
            while replay.step(&mut take).map_err(|error| Fault::io("read", path, &error))? {}
        }
        // What was said while it was replayed is in the journal.
        projector.take_corrections();
        let (told, faults) = mpsc::channel();
        Ok((Self { journal, faults, told }, projector))
    }

    pub(super) fn append(&mut self, record: &[(Event<'static>, Option<Moment>)], sink: &dyn Fn(Notice)) {
        let drafts: Vec<Draft> =
            record.iter().map(|(event, received_at)| Draft::new(event, *received_at)).collect();
        let told = self.told.clone();
        self.journal.append(drafts, move |answers| {
            if let Some(fault) = answers.into_iter().find_map(Result::err) {
                let _ = told.send(fault);
            }
        });
        for fault in self.faults.try_iter().take(1) {
            let path = Some(fault.path.display().to_string());
            sink(Notice::Diagnostic { code: fault.code.as_str(), path, message: fault.message });
        }
    }

    /// Writes what waits.
    pub(super) fn close(self) {
        let (sender, receiver) = mpsc::channel();
        self.journal.close(move || {
            let _ = sender.send(());
        });
        let _ = receiver.recv_timeout(END);
    }
}
