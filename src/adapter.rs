//! `AdapterProcess`: a process behind the guard, for JavaScript. Messages cross as lines, a batch at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agent_lifecycle_core::redact::Redactor;
use agent_lifecycle_io::adapter::{self, Adapter, Exit, Options, Times, Told, WriteRefusal};
use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, text};
use crate::error::Refusal;

/// The guard that build.rs has compiled and compressed; empty where it could not.
const GUARD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guard.zst"));

/// What is run.
#[napi(object)]
pub struct NativeAdapterOptions {
    /// The guard's executable.
    pub guard: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Names and values of its environment, in turn.
    pub env: Vec<String>,
    /// Bytes of a message.
    pub message_bytes: f64,
    /// Texts that are hidden.
    pub secrets: Vec<String>,
}

/// What was told, its kind and its content.
#[napi(object, object_from_js = false)]
pub struct NativeTold {
    /// `started`, `messages`, `noise`, `written` or `ended`.
    pub kind: &'static str,
    /// Lines for `messages`, else JSON.
    pub text: String,
}

#[derive(Serialize)]
struct NoiseView<'a> {
    excerpt: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct EndView<'a> {
    reason: &'static str,
    code: Option<i32>,
    signal: Option<i32>,
    stderr: &'a str,
    message: &'a str,
}

/// Tells JavaScript that there is something to take. It does not keep the environment alive, and one call at a time is on its way.
type Tell = ThreadsafeFunction<(), (), (), Status, false, true, 1>;

/// The processes of one environment: those that live are ended with it. One hook for all, for a hook that is removed keeps its memory.
#[napi]
pub struct NativeAdapters {
    living: Arc<Mutex<Vec<Weak<Adapter>>>>,
}

#[napi]
impl NativeAdapters {
    /// None yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env) -> Result<Self> {
        let living = Arc::<Mutex<Vec<Weak<Adapter>>>>::default();
        env.add_env_cleanup_hook(Arc::clone(&living), |living| {
            let living = std::mem::take(&mut *living.lock().unwrap_or_else(PoisonError::into_inner));
            let living: Vec<Arc<Adapter>> = living.iter().filter_map(Weak::upgrade).collect();
            // All at once, then each is waited for.
            for adapter in &living {
                adapter.stop();
            }
            for adapter in &living {
                adapter.end();
            }
        })?;
        Ok(Self { living })
    }

    /// Starts a process; `tell` is called when there is something to take.
    #[napi(catch_unwind)]
    pub fn start(
        &self,
        env: Env,
        options: NativeAdapterOptions,
        tell: Function<'_, (), ()>,
    ) -> Result<NativeAdapter> {
        let options = adapter_options(env, options)?;
        let tell: Tell = tell
            .build_threadsafe_function()
            .weak::<true>()
            .callee_handled::<false>()
            .max_queue_size::<1>()
            .build()?;
        let adapter = Adapter::start(options, move || {
            tell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        });
        let adapter = Arc::new(adapter.map_err(|error| {
            let message = format!("the system gives no thread or no descriptor: {error}");
            Refusal { code: "unavailable", path: None, message: &message }.into_error(env)
        })?);
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        living.retain(|adapter| adapter.strong_count() > 0);
        living.push(Arc::downgrade(&adapter));
        Ok(NativeAdapter { adapter })
    }
}

/// A process that was started.
#[napi]
pub struct NativeAdapter {
    adapter: Arc<Adapter>,
}

#[napi]
impl NativeAdapter {
    /// Writes a message; its number, or the word for why not.
    #[napi(catch_unwind, ts_return_type = "number | 'full' | 'over'")]
    pub fn write(&self, message: String) -> napi::Either<f64, &'static str> {
        match self.adapter.write(&message) {
            Ok(number) => napi::Either::A(count(number)),
            Err(WriteRefusal::Full) => napi::Either::B("full"),
            Err(WriteRefusal::Over) => napi::Either::B("over"),
        }
    }

    /// The next thing that was told.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<NativeTold> {
        let (kind, text) = match self.adapter.take()? {
            Told::Started { pid } => ("started", pid.to_string()),
            Told::Messages(lines) => ("messages", lines),
            Told::Noise { excerpt, count } => ("noise", text(&NoiseView { excerpt: &excerpt, count })),
            Told::Written(number) => ("written", number.to_string()),
            Told::Ended(end) => {
                let (code, signal) = match end.exit {
                    Some(Exit::Code(code)) => (Some(code), None),
                    Some(Exit::Signal(signal)) => (None, Some(signal)),
                    None => (None, None),
                };
                let reason = end.reason.as_str();
                let view = EndView { reason, code, signal, stderr: &end.stderr, message: &end.message };
                ("ended", text(&view))
            }
        };
        Some(NativeTold { kind, text })
    }

    /// Ends it in order.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.adapter.close();
    }

    /// Ends it at once.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.adapter.stop();
    }

    /// What may be shown of a text.
    #[napi(catch_unwind)]
    pub fn excerpt(&self, text: String) -> String {
        self.adapter.excerpt(&text)
    }
}

/// Writes the embedded guard to a private folder unless it is there; its path. None where none is embedded.
#[napi(catch_unwind)]
pub fn write_guard(env: Env, folder: String) -> Result<Option<String>> {
    if GUARD.is_empty() {
        return Ok(None);
    }
    let written =
        adapter::unpack_guard(GUARD).and_then(|bytes| adapter::write_guard(Path::new(&folder), &bytes));
    match written {
        Ok(path) => Ok(Some(path.display().to_string())),
        Err(error) => {
            let message = format!("{folder}: {error}");
            Err(Refusal { code: "unavailable", path: None, message: &message }.into_error(env))
        }
    }
}

fn adapter_options(env: Env, options: NativeAdapterOptions) -> Result<Options> {
    let NativeAdapterOptions { guard, command, args, cwd, env: variables, message_bytes, secrets } = options;
    let redactor = Redactor::new(secrets).map_err(|short| {
        let path = format!("secrets[{}]", short.index);
        Refusal { code: "invalid_option", path: Some(&path), message: &short.to_string() }.into_error(env)
    })?;
    let message_bytes = integer(env, Some(message_bytes), 1, 0, "messageBytes")?;
    Ok(Options {
        guard: guard.into(),
        program: command,
        arguments: args,
        directory: cwd.map(PathBuf::from),
        env: variables.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
        message_bytes: usize::try_from(message_bytes).unwrap_or(usize::MAX),
        redactor,
        times: Times::default(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a count of messages, below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
