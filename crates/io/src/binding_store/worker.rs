//! A store as its users see it: requests from any thread, answers from the store's own.
//!
//! Input: requests. Output: each callback is called once. Invariant: requests are done in the order in which they came.
//! Never: blocks its caller, but for [`BindingStore::end`]; never holds more than [`WAITING`] requests.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use agent_lifecycle_core::runtime::binding::{
    Binding, BindingCode, BindingFault, Content, Expected, Filter, Inspection, NativeSession,
    ProductSessionId,
};

use super::Options;
use super::claims::{Claimed, Reserved};
use super::engine::Engine;
use super::fault::of_io;
use super::repair::{Found, Overview, Repair};

/// Requests that wait.
const WAITING: usize = 1_024;

type Opened = Result<Engine, BindingFault>;
type Task = Box<dyn FnOnce(&mut Opened) + Send>;
type AtEnd = Box<dyn FnOnce() + Send>;

/// What an operation comes to.
pub type Answer<T> = Result<T, BindingFault>;

/// An open store. Dropped, it ends after what waits is done, and releases what it owns.
pub struct BindingStore {
    requests: Mutex<Option<SyncSender<Task>>>,
    hurry: Arc<AtomicBool>,
    ends: Arc<Mutex<Ends>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Who wants to know that the store has ended; nothing after it has.
struct Ends(Option<Vec<AtEnd>>);

impl BindingStore {
    /// Begins to open the store. Where it cannot be opened, every request gets that fault.
    pub fn open(options: Options) -> Answer<Self> {
        let (requests, waiting) = sync_channel(WAITING);
        let hurry = Arc::new(AtomicBool::new(false));
        let ends = Arc::new(Mutex::new(Ends(Some(Vec::new()))));
        let path = options.path.clone();
        let thread = {
            let (hurry, ends) = (Arc::clone(&hurry), Arc::clone(&ends));
            let run = move || run(&options, &hurry, &waiting, &ends);
            std::thread::Builder::new().name("bindings".to_owned()).spawn(run)
        };
        let thread = thread.map_err(|error| of_io("start a thread for", &path, &error))?;
        Ok(Self { requests: Mutex::new(Some(requests)), hurry, ends, thread: Mutex::new(Some(thread)) })
    }

    /// Whether it could be opened.
    pub fn ready(&self, done: impl FnOnce(Answer<()>) + Send + 'static) {
        self.task(|_| Ok(()), done);
    }

    /// Records a new binding.
    pub fn create(&self, content: Content, done: impl FnOnce(Answer<Binding>) + Send + 'static) {
        self.task(move |engine| engine.create(content), done);
    }

    /// The binding of `id`, if there is one.
    pub fn get(&self, id: ProductSessionId, done: impl FnOnce(Answer<Option<Binding>>) + Send + 'static) {
        self.task(move |engine| engine.get(&id), done);
    }

    /// The bindings that the filter lets through, in the order of their ids.
    pub fn list(&self, filter: Filter, done: impl FnOnce(Answer<Vec<Binding>>) + Send + 'static) {
        self.task(move |engine| engine.list(&filter), done);
    }

    /// Replaces the content of a binding.
    pub fn update(
        &self,
        next: Content,
        expected: Expected,
        done: impl FnOnce(Answer<Binding>) + Send + 'static,
    ) {
        self.task(move |engine| engine.update(next, expected), done);
    }

    /// Takes a session over in a new generation.
    pub fn claim(
        &self,
        id: ProductSessionId,
        repairs: bool,
        done: impl FnOnce(Answer<Claimed>) + Send + 'static,
    ) {
        self.task(move |engine| engine.claim(&id, repairs), done);
    }

    /// Gives up a generation; `false` where it is over already.
    pub fn release(
        &self,
        id: ProductSessionId,
        generation: u64,
        done: impl FnOnce(Answer<bool>) + Send + 'static,
    ) {
        self.task(move |engine| engine.release(&id, generation), done);
    }

    /// What may be shown of a binding.
    pub fn inspect(
        &self,
        id: ProductSessionId,
        done: impl FnOnce(Answer<Option<Inspection>>) + Send + 'static,
    ) {
        self.task(move |engine| engine.inspect(&id), done);
    }

    /// The entries of the history as JSON texts, oldest first.
    pub fn history(&self, id: ProductSessionId, done: impl FnOnce(Answer<Vec<String>>) + Send + 'static) {
        self.task(move |engine| engine.history(&id), done);
    }

    /// Keeps a native id for a session.
    pub fn reserve(&self, native: NativeSession, done: impl FnOnce(Answer<Reserved>) + Send + 'static) {
        self.task(move |engine| engine.reserve(native), done);
    }

    /// Gives up a reservation; `false` where there is none any more.
    pub fn unreserve(&self, name: String, done: impl FnOnce(Answer<bool>) + Send + 'static) {
        self.task(move |engine| engine.unreserve(&name), done);
    }

    /// Notes a native session that nobody is bound to.
    pub fn orphan(&self, native: NativeSession, done: impl FnOnce(Answer<()>) + Send + 'static) {
        self.task(move |engine| engine.orphan(&native), done);
    }

    /// What may be shown of every binding, and the rows that cannot be read.
    pub fn overview(&self, filter: Filter, done: impl FnOnce(Answer<Overview>) + Send + 'static) {
        self.task(move |engine| engine.overview(&filter), done);
    }

    /// Checks the file and frees what the dead own.
    pub fn repair(&self, repair: Repair, done: impl FnOnce(Answer<Found>) + Send + 'static) {
        self.task(move |engine| engine.repair(&repair), done);
    }

    /// Takes no more requests. What waits is done, what is owned is released; then `done` is called.
    pub fn close(&self, done: impl FnOnce() + Send + 'static) {
        let is_left = {
            let mut ends = lock(&self.ends);
            match &mut ends.0 {
                Some(waiting) => {
                    waiting.push(Box::new(done));
                    None
                }
                None => Some(done),
            }
        };
        lock(&self.requests).take();
        if let Some(done) = is_left {
            done();
        }
    }

    /// Closes it and waits until its thread has ended: for the end of a process or an environment. Every wait is short.
    pub fn end(&self) {
        self.hurry.store(true, Ordering::Relaxed);
        lock(&self.requests).take();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn task<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Engine) -> Answer<T> + Send + 'static,
        done: impl FnOnce(Answer<T>) + Send + 'static,
    ) {
        let reply = Reply { done: Some(done), result: PhantomData };
        let task: Task = Box::new(move |opened| {
            reply.send(match opened {
                Ok(engine) => act(engine),
                Err(fault) => Err(fault.clone()),
            });
        });
        let refused = match &*lock(&self.requests) {
            Some(requests) => requests.try_send(task).err(),
            None => Some(TrySendError::Disconnected(task)),
        };
        let fault = match &refused {
            None => return,
            Some(TrySendError::Full(_)) => {
                let message = format!("{WAITING} requests wait for this store; wait for earlier ones");
                BindingFault::new(BindingCode::Busy, message)
            }
            Some(TrySendError::Disconnected(_)) => {
                BindingFault::new(BindingCode::Closed, "the store was closed; open it again")
            }
        };
        // Whoever asked is told by the task itself, which gets the fault in the engine's place.
        if let Some(TrySendError::Full(task) | TrySendError::Disconnected(task)) = refused {
            task(&mut Err(fault));
        }
    }
}

impl Drop for BindingStore {
    fn drop(&mut self) {
        lock(&self.requests).take();
    }
}

/// An answer that is given whatever happens: a task that does not end has failed.
struct Reply<T, F: FnOnce(Answer<T>)> {
    done: Option<F>,
    result: PhantomData<fn(T)>,
}

impl<T, F: FnOnce(Answer<T>)> Reply<T, F> {
    fn send(mut self, answer: Answer<T>) {
        if let Some(done) = self.done.take() {
            done(answer);
        }
    }
}

impl<T, F: FnOnce(Answer<T>)> Drop for Reply<T, F> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            let message = "the operation ended without a result, which is a bug; read the binding again";
            done(Err(BindingFault::new(BindingCode::Io, message)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The store's thread.
fn run(options: &Options, hurry: &Arc<AtomicBool>, waiting: &Receiver<Task>, ends: &Mutex<Ends>) {
    let mut opened = Engine::open(options, hurry);
    while let Ok(task) = waiting.recv() {
        // A bug in one operation must not leave the others without an answer. Its transaction is rolled back.
        let _ = catch_unwind(AssertUnwindSafe(|| task(&mut opened)));
    }
    if let Ok(engine) = &mut opened {
        // What stays owned lapses: this environment is over when the engine is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| engine.release_all()));
    }
    drop(opened);
    for each in lock(ends).0.take().into_iter().flatten() {
        each();
    }
}
