//! A monitor's own journal: what it knew, for the next time.
//!
//! Input: events that changed anything, and corrections, in order. Output: the projection that an earlier run left.
//! Invariant: what is in the journal gives the projection that was live; what it refuses waits in its place. Never: holds the monitor up.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::pipeline::Pipeline;

use super::options::Notice;
use crate::journal::scan::LineProblem;
use crate::journal::{Draft, Durability, Fault, FaultCode, Journal, Options, Replayed, TornTail};

/// How long the end of the journal's thread is waited for.
const END: Duration = Duration::from_secs(2);
/// Events that wait at most while the journal cannot be written.
const WAITING: usize = 65_536;
/// Events that are written at once.
const BATCH: usize = 4096;

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
    /// What is to be written, in order; what is being written is at its head.
    waiting: VecDeque<Draft>,
    /// How much of it is being written. One batch at a time, so that what failed is written again in its place.
    given: usize,
    /// What came of a batch: how many of its events are written, and why not more.
    answers: mpsc::Receiver<(usize, Option<Fault>)>,
    answer: mpsc::Sender<(usize, Option<Fault>)>,
    /// A fault that was told; told again only after something was written.
    told: Option<FaultCode>,
    untold: Option<Fault>,
    /// Events that nobody could write and that there was no room for.
    lost: usize,
}

impl Recorder {
    /// Opens the journal at `path` and reads what it holds into an empty pipeline. Lines that are no entries are passed over.
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
        let mut problems: Vec<LineProblem> = Vec::new();
        if let Ok(replay) = receiver.recv() {
            let mut replay = replay?;
            let mut take = |item: Replayed<'_>| match item {
                Replayed::Entry(entry, _, offset) => {
                    // What is refused now was refused then.
                    let _ = pipeline.take_entry(&entry.event, entry.received_at, stream, offset);
                }
                Replayed::Problem(problem) => problems.push(problem),
            };
            while replay.step(&mut take).map_err(|error| Fault::io("read", path, &error))? {}
        }
        // What was said while it was replayed is in the journal.
        pipeline.projector_mut().take_corrections();
        let untold = damage(journal.path(), &problems);
        let (answer, answers) = mpsc::channel();
        let recorder = Self {
            journal,
            _owner: owner,
            waiting: VecDeque::new(),
            given: 0,
            answers,
            answer,
            told: None,
            untold,
            lost: 0,
        };
        Ok((recorder, pipeline))
    }

    /// Writes what changed anything. What the journal refuses waits, and is tried again with the next call.
    pub(super) fn append(&mut self, record: &[(Event<'static>, Option<Moment>)], sink: &dyn Fn(Notice)) {
        let room = WAITING - self.waiting.len().min(WAITING);
        let drafts = record.iter().map(|(event, received_at)| Draft::new(event, *received_at));
        self.waiting.extend(drafts.take(room));
        self.lost += record.len().saturating_sub(room);
        while let Ok(answer) = self.answers.try_recv() {
            self.take_answer(answer);
        }
        self.give();
        if let Some(fault) = self.untold.take()
            && self.told != Some(fault.code)
        {
            self.told = Some(fault.code);
            let path = Some(fault.path.display().to_string());
            sink(Notice::Diagnostic { code: fault.code.as_str(), path, message: fault.message });
        }
        if self.lost > 0 && self.waiting.len() < WAITING {
            let message = format!(
                "{} events could not be kept for the monitor's journal: after a restart what they said is known only where the \
                 agents' own journals say it again",
                self.lost
            );
            let path = Some(self.journal.path().display().to_string());
            sink(Notice::Diagnostic { code: "journal_busy", path, message });
            self.lost = 0;
        }
    }

    fn take_answer(&mut self, (written, fault): (usize, Option<Fault>)) {
        self.waiting.drain(..written.min(self.waiting.len()));
        self.given = 0;
        if written > 0 {
            self.told = None;
        }
        self.untold = fault.or(self.untold.take());
    }

    fn give(&mut self) {
        if self.given > 0 || self.waiting.is_empty() {
            return;
        }
        let batch: Vec<Draft> = self.waiting.iter().take(BATCH).cloned().collect();
        self.given = batch.len();
        let answer = self.answer.clone();
        self.journal.append(batch, move |answers| {
            // What follows a fault is refused with it.
            let written = answers.iter().take_while(|answer| answer.is_ok()).count();
            let _ = answer.send((written, answers.into_iter().find_map(Result::err)));
        });
    }

    /// Writes what waits, as far as the journal takes it within a bounded time.
    pub(super) fn close(mut self) {
        let until = Instant::now() + END;
        loop {
            self.give();
            let left = until.saturating_duration_since(Instant::now());
            if self.given == 0 {
                break;
            }
            let Ok(answer) = self.answers.recv_timeout(left) else { break };
            let has_failed = answer.1.is_some();
            self.take_answer(answer);
            if has_failed {
                break;
            }
        }
        let (sender, receiver) = mpsc::channel();
        self.journal.close(move || {
            let _ = sender.send(());
        });
        let _ = receiver.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

/// What is said of lines that are no entries, where there are any.
fn damage(path: &Path, problems: &[LineProblem]) -> Option<Fault> {
    let first = problems.first()?;
    let more = if problems.len() > 1 { format!(" and {} more", problems.len() - 1) } else { String::new() };
    let message = format!(
        "journal integrity: {0} has {1} at byte {2}{more}; all that is valid in it was read. Nothing new is written to it until it is \
         repaired: `agent-lifecycle journal repair {0}` keeps each entry and deletes nothing",
        path.display(),
        first.code,
        first.offset,
    );
    Some(Fault::new(FaultCode::Integrity, path, message))
}
