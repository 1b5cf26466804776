//! A journal as its users see it: requests from any thread, answers from the journal's own.
//!
//! Input: drafts and requests. Output: each callback is called once, from the journal's thread.
//! Invariant: appends are written in the order in which they were asked for. Never: blocks its caller, but for [`Journal::join`]
//! and [`Journal::end`].

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::engine::Engine;
use super::fault::{Fault, FaultCode};
use super::line::Draft;
use super::queue::{Append, Next, Queue};
use super::registry::{Registration, Unsynced, canonical};
use super::repair::Repaired;
use super::replay::Replay;
use super::rotate::{Rotated, Rotation};
use super::verify::Verified;
use super::{Options, Projection};
use crate::lock::Notice;
use crate::storage::{Disk, Machine, Storage, System};

/// The number that an event got, or why it got none.
pub type Appended = Result<u64, Fault>;

/// An open journal. Dropped, it ends after what waits is done; [`Journal::join`] waits for that.
pub struct Journal {
    path: PathBuf,
    queue: Arc<Queue>,
    hurry: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens the journal at `path`, whose folder must be there. The file is made by the first append.
    pub fn open(path: &Path, options: Options) -> Result<Self, Fault> {
        Self::open_on(Arc::new(Disk), Arc::new(Machine), path, options)
    }

    /// As [`Journal::open`], on another storage; the path is still resolved on the real one.
    pub fn open_on(
        storage: Arc<dyn Storage>,
        system: Arc<dyn System>,
        path: &Path,
        options: Options,
    ) -> Result<Self, Fault> {
        let path = canonical(path).map_err(|error| Fault::io("open", path, &error))?;
        let registration = Registration::take(&path)?;
        let queue = Arc::new(Queue::default());
        let engine = Engine::new(storage, system, &path, options, Unsynced::of_process());
        let hurry = engine.locker.hurry();
        let thread = {
            let queue = Arc::clone(&queue);
            let run = move || {
                run(engine, &queue);
                // After the engine, so that whoever opens the journal next finds it wholly closed.
                drop(registration);
                queue.end();
            };
            std::thread::Builder::new().name("journal".to_owned()).spawn(run)
        };
        let thread = thread.map_err(|error| Fault::io("start a thread for", &path, &error))?;
        Ok(Self { path, queue, hurry, thread: Mutex::new(Some(thread)) })
    }

    /// The canonical path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends events in this order. Each is answered by itself: the numbers are one after the other where nothing fails.
    pub fn append(&self, drafts: Vec<Draft>, done: impl FnOnce(Vec<Appended>) + Send + 'static) {
        if drafts.is_empty() {
            return done(Vec::new());
        }
        if let Err((append, code)) = self.queue.append(Append::new(&self.path, drafts, Box::new(done))) {
            append.refuse(&self.refused(code));
        }
    }

    /// Checks every line of the journal.
    pub fn verify(&self, done: impl FnOnce(Result<Verified, Fault>) + Send + 'static) {
        self.task(Engine::verify, done);
    }

    /// Makes a damaged journal valid; what is no event goes to quarantine.
    pub fn repair(&self, done: impl FnOnce(Result<Repaired, Fault>) + Send + 'static) {
        self.task(Engine::repair, done);
    }

    /// Begins the journal anew with the checkpoint of `projection`, which is fed every entry first.
    pub fn rotate(
        &self,
        rotation: Rotation,
        mut projection: Box<dyn Projection>,
        done: impl FnOnce(Result<Rotated, Fault>) + Send + 'static,
    ) {
        self.task(move |engine| engine.rotate(rotation, &mut *projection), done);
    }

    /// Begins to read what is in the journal now. The steps of the replay may be run anywhere, also by [`Journal::run`].
    pub fn replay(&self, done: impl FnOnce(Result<Replay, Fault>) + Send + 'static) {
        self.task(Engine::replay, done);
    }

    /// Runs something on the journal's thread, in turn. `false` where it is closed.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) -> bool {
        self.queue.task(Box::new(|_| task()))
    }

    /// What happened beside the point since this was last called.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.queue.take_notices()
    }

    /// Takes no more requests. What waits is done first; then the path is free again, and `done` is called.
    pub fn close(&self, done: impl FnOnce() + Send + 'static) {
        self.queue.close();
        self.queue.at_end(Box::new(done));
    }

    /// As [`Journal::join`], for a process that ends: what waits is written if the lock is free, and not waited for else.
    pub fn end(&self) {
        self.hurry.store(true, Ordering::Relaxed);
        self.join();
    }

    /// Closes it and waits until its thread has ended.
    pub fn join(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn task<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Engine) -> Result<T, Fault> + Send + 'static,
        done: impl FnOnce(Result<T, Fault>) + Send + 'static,
    ) {
        let reply = Reply { done: Some(done), path: self.path.clone(), result: PhantomData };
        self.queue.task(Box::new(move |engine| reply.send(act(engine))));
    }

    fn refused(&self, code: FaultCode) -> Fault {
        if code == FaultCode::Closed {
            return Fault::dropped(&self.path);
        }
        let message = format!(
            "too many events wait to be appended to {}; wait for earlier ones before appending more",
            self.path.display()
        );
        Fault::new(code, &self.path, message)
    }
}

/// An answer that is given whatever happens: a task that is not run, or does not end, has failed.
struct Reply<T, F: FnOnce(Result<T, Fault>)> {
    done: Option<F>,
    path: PathBuf,
    result: PhantomData<fn(T)>,
}

impl<T, F: FnOnce(Result<T, Fault>)> Reply<T, F> {
    fn send(mut self, outcome: Result<T, Fault>) {
        if let Some(done) = self.done.take() {
            done(outcome);
        }
    }
}

impl<T, F: FnOnce(Result<T, Fault>)> Drop for Reply<T, F> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(Err(Fault::dropped(&self.path)));
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The journal's thread.
fn run(mut engine: Engine, queue: &Queue) {
    engine.locker.sweep();
    loop {
        // A bug in one operation must not leave the others without an answer.
        let outcome = catch_unwind(AssertUnwindSafe(|| match queue.next() {
            Next::Append => append(&mut engine, queue),
            Next::Task(task) => {
                task(&mut engine);
                true
            }
            Next::End => false,
        }));
        queue.note(std::mem::take(&mut engine.notices));
        match outcome {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => engine.tail = None,
        }
    }
}

/// Takes the lock once and writes what waits, group by group.
fn append(engine: &mut Engine, queue: &Queue) -> bool {
    let mut must_pause = false;
    // The last group is answered when the lock is free again, so that whoever waited for it finds it free.
    let mut last = None;
    let arrivals = queue.arrivals();
    let outcome = engine.under_lock(|engine, held| {
        let since = engine.system.elapsed();
        let mut opened = engine.open_to_append()?;
        while let Some(group) = queue.group() {
            if let Some((group, outcome)) = last.take() {
                queue.answer(group, &outcome);
            }
            let outcome = engine.append(held, &mut opened, &group.drafts());
            let has_failed = outcome.is_err();
            if group.is_partial() {
                // What is left of it comes before all that waits.
                queue.answer(group, &outcome);
            } else {
                last = Some((group, outcome));
            }
            must_pause = engine.must_pause(since);
            if has_failed || must_pause {
                break;
            }
        }
        Ok(())
    });
    if let Some((group, outcome)) = last {
        queue.answer(group, &outcome);
    }
    // Those that came during the wait have not waited for as long, and wait on.
    if let Err(fault) = outcome {
        let refused = Err(fault);
        while let Some(group) = queue.group_before(arrivals) {
            queue.answer(group, &refused);
        }
    }
    if must_pause {
        engine.pause_for_others();
    }
    true
}
