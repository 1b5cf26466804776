//! A monitor's own journal: what it knew, for the next time.
//!
//! Input: events that changed anything, and corrections, in order. Output: the projection that an earlier run left.
//! Invariant: what is in the journal gives the projection that was live. Never: holds the monitor up.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::pipeline::Pipeline;

use super::options::Notice;
use crate::journal::{Draft, Durability, Fault, FaultCode, Journal, Options, Replayed, TornTail};

/// How long the end of the journal's thread is waited for.
const END: Duration = Duration::from_secs(2);

/// Takes the journal at `path` for this monitor alone. The system gives it back when the process ends.
fn own(path: &Path) -> Result<File, Fault> {
    let mut name = path.as_os_str().to_owned();
    name.push(".monitor");
    let name = PathBuf::from(name);
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&name).map_err(|error| Fault::io("open", &name, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("{} has a single writer: another monitor has it open", path.display());
            Err(Fault::new(FaultCode::SingleWriter, path, message))
        }
        Err(TryLockError::Error(error)) => Err(Fault::io("lock", &name, &error)),
    }
}

/// See the module.
pub(super) struct Recorder {
    journal: Journal,
    /// Locked as long as the monitor is open: one monitor, whatever the process.
    _owner: File,
    faults: mpsc::Receiver<Fault>,
    told: mpsc::Sender<Fault>,
}

impl Recorder {
    /// Opens the journal at `path` and reads what it holds into an empty pipeline.
    pub(super) fn open(path: &Path, mut pipeline: Pipeline) -> Result<(Self, Pipeline), Fault> {
        let options =
            Options { durability: Durability::Os, torn_tail: TornTail::Quarantine, ..Options::default() };
        let journal = Journal::open(path, options)?;
        let owner = match own(journal.path()) {
            Ok(owner) => owner,
            Err(fault) => {
                journal.join();
                return Err(fault);
            }
        };
        let (sender, receiver) = mpsc::channel();
        journal.replay(move |replay| {
            let _ = sender.send(replay);
        });
        let stream = pipeline.add_stream(journal.path().display().to_string());
        if let Ok(replay) = receiver.recv() {
            let mut replay = replay?;
            let mut take = |item: Replayed<'_>| {
                if let Replayed::Entry(entry, _, offset) = item {
                    // What is refused now was refused then.
                    let _ = pipeline.take_entry(&entry.event, entry.received_at, stream, offset);
                }
            };
            while replay.step(&mut take).map_err(|error| Fault::io("read", path, &error))? {}
        }
        // What was said while it was replayed is in the journal.
        pipeline.projector_mut().take_corrections();
        let (told, faults) = mpsc::channel();
        Ok((Self { journal, _owner: owner, faults, told }, pipeline))
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
