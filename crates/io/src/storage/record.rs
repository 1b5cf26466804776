//! A program that can be stopped before any of its steps and run on later, without a thread.
//!
//! Input: a function of a storage and a system, and how many steps it may take. Output: where it stands. It is run from its start
//! each time, its old steps answered from memory, and stopped by unwinding. Invariant: a step is taken once.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::sim::Sim;
use super::{Disk, File, Open, Stat, Storage, System};
use crate::process::{Identity, Seen};

/// What is behind the program.
#[derive(Clone)]
pub(crate) enum Behind {
    Sim(Sim),
    /// The real file system, of which some calls may be refused.
    Real {
        refuses_rename_new: bool,
    },
}

#[derive(Clone)]
enum Handle {
    Sim { inode: u64, handle: u64 },
    Real(Arc<Mutex<Option<Box<dyn File>>>>),
}

#[derive(Clone)]
enum Answer {
    Done,
    Bytes(Vec<u8>),
    Stat(Stat),
    Names(Vec<OsString>),
    Count(usize),
    Yes(bool),
    Handle(Handle),
}

/// The steps that a program has taken, with their answers.
#[derive(Clone, Default)]
pub(crate) struct Steps {
    answers: Vec<Result<Answer, ErrorKind>>,
    /// A hash of the answers: equal programs with equal hashes stand at the same place.
    pub(crate) seen: u64,
    pub(crate) is_over: bool,
}

/// Who the program is, and what it sees of the world.
#[derive(Clone)]
pub(crate) struct Who {
    pub(crate) identity: Identity,
    pub(crate) now: i64,
    pub(crate) dead: Vec<i32>,
}

struct Run {
    steps: Steps,
    next: usize,
    fresh: usize,
    slept: Duration,
    randoms: u64,
    halted: bool,
}

/// The storage and system of one program.
#[derive(Clone)]
pub(crate) struct Player {
    run: Arc<Mutex<Run>>,
    behind: Behind,
    who: Who,
}

struct Halt;

/// Runs `program` for one more step.
pub(crate) fn step(steps: &Steps, behind: &Behind, who: &Who, program: &dyn Fn(&Player)) -> Steps {
    let run =
        Run { steps: steps.clone(), next: 0, fresh: 1, slept: Duration::ZERO, randoms: 0, halted: false };
    let player = Player { run: Arc::new(Mutex::new(run)), behind: behind.clone(), who: who.clone() };
    let outcome = catch_unwind(AssertUnwindSafe(|| program(&player)));
    let is_over = match outcome {
        Ok(()) => true,
        Err(payload) if payload.is::<Halt>() => false,
        Err(payload) => resume_unwind(payload),
    };
    let mut steps = player.run().steps.clone();
    steps.is_over = is_over;
    steps
}

impl Player {
    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step, or its answer from memory. What only this program can see is no step of its own.
    fn take(&self, private: bool, act: impl FnOnce() -> io::Result<Answer>) -> io::Result<Answer> {
        let mut run = self.run();
        if let Some(answer) = run.steps.answers.get(run.next).cloned() {
            run.next += 1;
            return answer.map_err(io::Error::from);
        }
        if run.fresh == 0 && !private {
            run.halted = true;
            drop(run);
            resume_unwind(Box::new(Halt));
        }
        run.fresh = run.fresh.saturating_sub(usize::from(!private));
        let answer = act().map_err(|error| error.kind());
        let mut hasher = DefaultHasher::new();
        run.steps.seen.hash(&mut hasher);
        match &answer {
            Ok(Answer::Done) => 0_u8.hash(&mut hasher),
            Ok(Answer::Bytes(bytes)) => bytes.hash(&mut hasher),
            Ok(Answer::Stat(stat)) => stat.hash(&mut hasher),
            Ok(Answer::Names(names)) => names.hash(&mut hasher),
            Ok(Answer::Count(count)) => count.hash(&mut hasher),
            Ok(Answer::Yes(yes)) => yes.hash(&mut hasher),
            Ok(Answer::Handle(_)) => 1_u8.hash(&mut hasher),
            Err(kind) => kind.hash(&mut hasher),
        }
        run.steps.seen = hasher.finish();
        run.steps.answers.push(answer.clone());
        run.next += 1;
        answer.map_err(io::Error::from)
    }

    /// A step that only the test sees, such as a note that the lock is held.
    pub(crate) fn note(&self, act: impl FnOnce()) {
        let _ = self.take(true, || {
            act();
            Ok(Answer::Done)
        });
    }

    fn storage(&self) -> &dyn Storage {
        match &self.behind {
            Behind::Sim(sim) => sim,
            Behind::Real { .. } => &Disk,
        }
    }
}

/// Locks that are being made are seen by nobody else.
fn is_private(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().ends_with(b".tmp"))
}

fn done(outcome: io::Result<()>) -> io::Result<Answer> {
    outcome.map(|()| Answer::Done)
}

macro_rules! expect {
    ($answer:expr, $variant:ident) => {
        match $answer? {
            Answer::$variant(value) => value,
            _ => unreachable!("the program took another way than before"),
        }
    };
}

impl Storage for Player {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let answer = self.take(is_private(path), || match &self.behind {
            Behind::Sim(sim) => {
                sim.open_raw(path, how).map(|(inode, handle)| Answer::Handle(Handle::Sim { inode, handle }))
            }
            Behind::Real { .. } => Disk
                .open(path, how)
                .map(|file| Answer::Handle(Handle::Real(Arc::new(Mutex::new(Some(file)))))),
        });
        let handle = expect!(answer, Handle);
        Ok(Box::new(PlayedFile { player: self.clone(), handle }))
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        Ok(expect!(
            self.take(is_private(path), || self.storage().read(path, limit).map(Answer::Bytes)),
            Bytes
        ))
    }

    fn write_new(&self, path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
        self.take(is_private(path), || done(self.storage().write_new(path, content, sync))).map(|_| ())
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(expect!(self.take(is_private(path), || self.storage().stat(path).map(Answer::Stat)), Stat))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        Ok(expect!(
            self.take(is_private(directory), || self.storage().list(directory).map(Answer::Names)),
            Names
        ))
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.take(is_private(path), || done(self.storage().make_dir(path))).map(|_| ())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.take(is_private(path), || done(self.storage().remove_dir(path))).map(|_| ())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.take(is_private(path), || done(self.storage().remove_file(path))).map(|_| ())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.take(false, || done(self.storage().rename(from, to))).map(|_| ())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let refuses = matches!(self.behind, Behind::Real { refuses_rename_new: true });
        self.take(refuses, || {
            if refuses {
                return Err(ErrorKind::Unsupported.into());
            }
            done(self.storage().rename_new(from, to))
        })
        .map(|_| ())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.take(false, || done(self.storage().link(from, to))).map(|_| ())
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        self.take(false, || done(self.storage().sync_dir(directory))).map(|_| ())
    }
}

impl System for Player {
    fn now(&self) -> i64 {
        self.who.now
    }

    fn elapsed(&self) -> Duration {
        self.run().slept
    }

    fn sleep(&self, time: Duration) {
        let _ = self.take(false, || Ok(Answer::Done));
        self.run().slept += time;
    }

    fn random(&self) -> u64 {
        let mut run = self.run();
        run.randoms += 1;
        u64::from(self.who.identity.pid.unsigned_abs()) << 32 | run.randoms
    }

    fn identity(&self) -> Identity {
        self.who.identity.clone()
    }

    fn look(&self, pid: i32) -> Seen {
        if self.who.dead.contains(&pid) {
            Seen::Absent
        } else {
            Seen::Present { started: None, zombie: false }
        }
    }
}

struct PlayedFile {
    player: Player,
    handle: Handle,
}

impl PlayedFile {
    fn with<T>(&self, act: impl FnOnce(&mut dyn File) -> io::Result<T>) -> io::Result<T> {
        match (&self.handle, &self.player.behind) {
            (Handle::Sim { inode, handle }, Behind::Sim(sim)) => act(&mut sim.file(*inode, *handle)),
            (Handle::Real(file), _) => match &mut *file.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(file) => act(&mut **file),
                None => Err(ErrorKind::NotFound.into()),
            },
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for PlayedFile {
    fn drop(&mut self) {
        // A program that is stopped has closed nothing.
        if self.player.run().halted || std::thread::panicking() {
            return;
        }
        let close = || {
            match (&self.handle, &self.player.behind) {
                (Handle::Sim { handle, .. }, Behind::Sim(sim)) => sim.close(*handle),
                (Handle::Real(file), _) => drop(file.lock().unwrap_or_else(PoisonError::into_inner).take()),
                _ => {}
            }
            Ok(Answer::Done)
        };
        // Not a step of its own, as nothing may unwind out of a drop; it happens with the step before it.
        let _ = self.player.take(true, close);
    }
}

impl File for PlayedFile {
    fn stat(&self) -> io::Result<Stat> {
        Ok(expect!(self.player.take(true, || self.with(|file| file.stat().map(Answer::Stat))), Stat))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let answer = self.player.take(true, || {
            self.with(|file| {
                let mut content = vec![0; buffer.len()];
                let length = file.read_at(offset, &mut content)?;
                content.truncate(length);
                Ok(Answer::Bytes(content))
            })
        });
        let content = expect!(answer, Bytes);
        buffer[..content.len()].copy_from_slice(&content);
        Ok(content.len())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(expect!(self.player.take(true, || self.with(|file| file.append(bytes).map(Answer::Count))), Count))
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        self.player.take(true, || self.with(|file| done(file.reserve(bytes)))).map(|_| ())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.player.take(true, || self.with(|file| done(file.truncate(length)))).map(|_| ())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.player.take(true, || self.with(|file| done(file.sync()))).map(|_| ())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        Ok(expect!(self.player.take(false, || self.with(|file| file.try_lock().map(Answer::Yes))), Yes))
    }
}
