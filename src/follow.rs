//! `followJournal`: followed files for JavaScript.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_lifecycle_io::follow::{Event, FileOptions, Follower, Key, Start};
use napi::bindgen_prelude::{BufferSlice, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, text};
use crate::error::Refusal;

const LEAST_POLL_MS: u64 = 10;
const MOST_POLL_MS: u64 = 3_600_000;
const MOST_CHUNK_BYTES: u64 = 64 * 1024 * 1024;

/// What is told of an event beside the bytes.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum EventView<'a> {
    #[serde(rename_all = "camelCase")]
    Chunk {
        key: u64,
        r#type: &'a str,
        offset: u64,
    },
    CaughtUp {
        key: u64,
    },
    Unreadable {
        key: u64,
        message: &'a str,
    },
    Polling {
        key: u64,
        message: &'a str,
    },
}

/// Tells JavaScript that there are events. It does not keep the environment alive, and one call at a time is on its way.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true, 1>;

/// The followed files of one environment.
#[napi]
pub struct NativeFollower {
    wake: Arc<Wake>,
    /// Open while files are followed. Shared with the hook that runs when the environment ends.
    follower: Arc<Mutex<Option<Follower>>>,
    bytes: Vec<u8>,
}

#[napi]
impl NativeFollower {
    /// `wake` is called when there are events.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, wake: Function<'_, (), ()>) -> Result<Self> {
        let wake = wake
            .build_threadsafe_function()
            .weak::<true>()
            .callee_handled::<false>()
            .max_queue_size::<1>()
            .build()?;
        let follower = Arc::<Mutex<Option<Follower>>>::default();
        env.add_env_cleanup_hook(Arc::clone(&follower), |follower| drop(taken(&follower)))?;
        Ok(Self { wake: Arc::new(wake), follower, bytes: Vec::new() })
    }

    /// Follows a file; the number by which it is named.
    #[napi(catch_unwind)]
    pub fn add_file(
        &self,
        env: Env,
        path: String,
        from_start: bool,
        poll_ms: Option<f64>,
        max_chunk_bytes: Option<f64>,
    ) -> Result<f64> {
        let poll = integer(env, poll_ms, 1, 500, "pollMs")?.unsigned_abs().clamp(LEAST_POLL_MS, MOST_POLL_MS);
        let most =
            integer(env, max_chunk_bytes, 1, 65_536, "maxChunkBytes")?.unsigned_abs().min(MOST_CHUNK_BYTES);
        let options = FileOptions {
            start: if from_start { Start::Beginning } else { Start::End },
            poll: Duration::from_millis(poll),
            most_bytes: usize::try_from(most).unwrap_or(usize::MAX),
        };
        let added = self.opened().and_then(|follower| match follower.as_ref() {
            Some(follower) => follower.add_file(Path::new(&path), options),
            None => Err(std::io::ErrorKind::NotConnected.into()),
        });
        match added {
            Ok(Key(key)) => Ok(number(key)),
            Err(error) => {
                let message = format!("{path}: cannot be followed: {error}");
                Err(Refusal { code: "unreadable", path: None, message: &message }.into_error(env))
            }
        }
    }

    /// Asks for one more chunk of a file.
    #[napi(catch_unwind)]
    pub fn request(&self, env: Env, key: f64) -> Result<()> {
        let key = file(env, key)?;
        if let Some(follower) = self.follower().as_ref() {
            follower.request(key);
        }
        Ok(())
    }

    /// Follows a file no longer.
    #[napi(catch_unwind)]
    pub fn remove(&self, env: Env, key: f64) -> Result<()> {
        let key = file(env, key)?;
        if let Some(follower) = self.follower().as_ref() {
            follower.remove(key);
        }
        Ok(())
    }

    /// The next event as JSON text, where there is one. The bytes of a chunk are those of `bytes`.
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Option<String> {
        let event = loop {
            let event = self.follower().as_ref()?.next(Duration::ZERO)?;
            // No folder is followed here.
            if !matches!(event, Event::Appeared { .. } | Event::Full { .. }) {
                break event;
            }
        };
        let view = match &event {
            Event::Chunk { file: Key(key), chunk } => {
                EventView::Chunk { key: *key, r#type: chunk.kind.as_str(), offset: chunk.offset }
            }
            Event::CaughtUp { key: Key(key) } => EventView::CaughtUp { key: *key },
            Event::Unreadable { key: Key(key), message } => EventView::Unreadable { key: *key, message },
            Event::Polling { key: Key(key), message } => EventView::Polling { key: *key, message },
            Event::Appeared { .. } | Event::Full { .. } => return None,
        };
        let told = text(&view);
        if let Event::Chunk { chunk, .. } = event {
            self.bytes = chunk.bytes;
        }
        Some(told)
    }

    /// The bytes of the chunk that `take` gave last, once.
    #[napi(catch_unwind)]
    pub fn bytes<'env>(&mut self, env: &'env Env) -> Result<BufferSlice<'env>> {
        BufferSlice::copy_from(env, std::mem::take(&mut self.bytes))
    }

    /// Follows nothing any more.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        drop(taken(&self.follower));
    }

    fn follower(&self) -> MutexGuard<'_, Option<Follower>> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> std::io::Result<MutexGuard<'_, Option<Follower>>> {
        let mut follower = self.follower();
        if follower.is_none() {
            let wake = Arc::clone(&self.wake);
            *follower = Some(Follower::open(move || {
                wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
            })?);
        }
        Ok(follower)
    }
}

fn file(env: Env, key: f64) -> Result<Key> {
    Ok(Key(integer(env, Some(key), 1, 0, "key")?.unsigned_abs()))
}

fn taken(follower: &Mutex<Option<Follower>>) -> Option<Follower> {
    follower.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[expect(clippy::cast_precision_loss, reason = "a count of files, below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
