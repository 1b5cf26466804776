//! A child process that speaks lines of JSON on its standard input and output, run through the process guard.
//!
//! Input: a program, messages to write, orders. Output: what it says and how it ended, [`Told`] in order.
//! Invariant: it ends exactly once, its group with it, and each process has one thread of its own; a slow one delays no other.
//! Never: parses a message, uses a shell, keeps anything without bound.

mod ending;
mod exchange;
mod guard_file;
mod lines;
#[cfg(unix)]
mod pump;
#[cfg(unix)]
mod spawn;
mod stderr;
#[cfg(windows)]
mod windows;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_lifecycle_core::redact::Redactor;

pub use ending::{Exit, Reason, Times};
pub use exchange::WriteRefusal;
pub use guard_file::{unpack_guard, write_guard};

use exchange::{Exchange, Orders};
#[cfg(unix)]
use pump::begin;
#[cfg(windows)]
use windows::begin;

/// What is run, and how.
pub struct Options {
    /// The guard's executable.
    pub guard: PathBuf,
    /// A path, or a name that is looked for in the `PATH` of `env`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it works; where the host does for `None`.
    pub directory: Option<PathBuf>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// Bytes of a message that it may write, without the newline.
    pub message_bytes: usize,
    /// What is hidden in all that is shown.
    pub redactor: Redactor,
    /// How long it is waited for.
    pub times: Times,
}

/// What the thread tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The program runs.
    Started {
        /// Its pid, not the guard's.
        pid: i32,
    },
    /// Lines that may be messages, separated by newlines.
    Messages(String),
    /// Lines that cannot be.
    Noise {
        /// What may be shown of the first.
        excerpt: String,
        /// How many there were.
        count: u64,
    },
    /// So many of the messages that were accepted are in the pipe.
    Written(u64),
    /// It has ended, and its group; the last thing that is told.
    Ended(End),
}

impl Told {
    /// Bytes that it holds, about.
    fn size(&self) -> usize {
        match self {
            Self::Messages(text) => text.len() + 1,
            Self::Noise { excerpt, .. } => excerpt.len(),
            Self::Started { .. } | Self::Written(_) | Self::Ended(_) => 0,
        }
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The first cause.
    pub reason: Reason,
    /// How the program ended, where that is known.
    pub exit: Option<Exit>,
    /// What is kept of its standard error, redacted.
    pub stderr: String,
    /// What the system said, where something could not be run; else empty.
    pub message: String,
}

impl End {
    /// The end of what was not begun: `error` is what running the guard came to.
    fn unstarted(guard: &Path, error: &io::Error) -> Self {
        // Short of descriptors, processes or memory says nothing of the guard.
        let is_guard = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
            || error.raw_os_error() == Some(NO_EXECUTABLE);
        let reason = if is_guard { Reason::GuardUnavailable } else { Reason::SpawnFailed };
        Self { reason, exit: None, stderr: String::new(), message: format!("{}: {error}", guard.display()) }
    }
}

/// What the system says of a file that is no program for this machine.
const NO_EXECUTABLE: i32 = if cfg!(windows) { 193 } else { 8 };

/// How long the end of an environment waits for a process that is stopped.
const FAREWELL: Duration = Duration::from_millis(1500);

/// A process that was started. Dropped, it is stopped.
pub struct Adapter {
    exchange: Arc<Exchange>,
    redactor: Arc<Redactor>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Adapter {
    /// Starts a thread that runs the program. `tell` is called when there is something to [take](Self::take).
    ///
    /// # Errors
    /// Where the system gives no thread or no descriptor.
    pub fn start(options: Options, tell: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let redactor = Arc::new(options.redactor.clone());
        let (exchange, thread) = begin(options, Arc::clone(&redactor), Box::new(tell))?;
        Ok(Self { exchange, redactor, thread: Mutex::new(Some(thread)) })
    }

    /// Writes a message when those before it are written. Its number: it is in the pipe when as many are [`Told::Written`].
    ///
    /// # Errors
    /// Where too much waits, or nothing more is taken.
    pub fn write(&self, message: &str) -> Result<u64, WriteRefusal> {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message.as_bytes());
        line.push(b'\n');
        self.exchange.write(line)
    }

    /// The next thing that was told.
    #[must_use]
    pub fn take(&self) -> Option<Told> {
        let told = self.exchange.take();
        if matches!(told, Some(Told::Ended(_))) {
            // Its thread has nothing more to do; what is kept of it goes now, not with the handle.
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        told
    }

    /// Writes what waits, closes the input, then sends SIGTERM and SIGKILL when the times are over.
    pub fn close(&self) {
        self.exchange.order(Orders { close: true, stop: false });
    }

    /// Begins with SIGTERM at once.
    pub fn stop(&self) {
        self.exchange.order(Orders { close: false, stop: true });
    }

    /// What may be shown of a text of the process: redacted, inert, and 400 UTF-16 units at most.
    #[must_use]
    pub fn excerpt(&self, text: &str) -> String {
        lines::excerpt(text.as_bytes(), &self.redactor)
    }

    /// Stops it and waits for that, but not for ever: for the end of an environment.
    pub fn end(&self) {
        self.stop();
        let until = Instant::now() + FAREWELL;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        if !self.exchange.has_ended() {
            self.stop();
        }
    }
}
