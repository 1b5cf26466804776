//! `JsonlLifecycleJournal`: the journal for JavaScript.
//!
//! Every operation is a promise that the journal's own thread settles with JSON text: `{ok}` or `{fault}`. A pending one keeps the
//! process alive, an open journal alone does not. At the end of the environment what waits is still written.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_lifecycle_core::contract::{Event, Moment, Refusal};
use agent_lifecycle_core::project::{Applied, Config, Counts, Projector};
use agent_lifecycle_io::journal::{
    Draft, Durability, Fault, FaultCode, Journal, Options, Outcome, Replay, Replayed, Rotation, TornTail,
};
use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::at_end::AtEnd;
use crate::convert::{integer, text};
use crate::error::Refusal as Refused;
use crate::projector::NativeProjector;

type Resolver = Box<dyn FnOnce(Env) -> Result<String> + Send>;
type Deferred = JsDeferred<String, Resolver>;

/// How a journal is opened; words and numbers are checked here.
#[napi(object)]
#[derive(Default)]
pub struct NativeJournalOptions {
    /// Milliseconds that an operation waits for the lock; 5,000 by default.
    pub lock_timeout_ms: Option<f64>,
    /// Milliseconds after which a lock of a dead owner may be taken; 300,000 by default.
    pub stale_lock_ms: Option<f64>,
    /// `fsync` or `os`.
    pub durability: Option<String>,
    /// `error` or `quarantine`.
    pub torn_tail: Option<String>,
}

impl NativeJournalOptions {
    fn options(&self, env: Env) -> Result<Options> {
        let default = Options::default();
        let millis = |given, default: Duration, name| {
            let default = i64::try_from(default.as_millis()).unwrap_or(i64::MAX);
            let millis = integer(env, given, 0, default, name)?;
            Ok::<_, napi::Error>(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
        };
        let refuse = |name: &'static str, words: &str| {
            let message = format!("{name} must be {words}");
            Err(Refused { code: "invalid_option", path: Some(name), message: &message }.into_error(env))
        };
        Ok(Options {
            lock_timeout: millis(self.lock_timeout_ms, default.lock_timeout, "lockTimeoutMs")?,
            stale_lock: millis(self.stale_lock_ms, default.stale_lock, "staleLockMs")?,
            durability: match self.durability.as_deref() {
                None => default.durability,
                Some("fsync") => Durability::Fsync,
                Some("os") => Durability::Os,
                Some(_) => return refuse("durability", "fsync or os"),
            },
            torn_tail: match self.torn_tail.as_deref() {
                None => default.torn_tail,
                Some("error") => TornTail::Error,
                Some("quarantine") => TornTail::Quarantine,
                Some(_) => return refuse("tornTail", "error or quarantine"),
            },
        })
    }
}

/// A fault or a refusal as it crosses.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FaultView<'a> {
    code: &'a str,
    message: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    outcome_unknown: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequences: Option<(u64, u64)>,
}

#[derive(Serialize)]
enum Answer<'a, T> {
    #[serde(rename = "ok")]
    Ok(&'a T),
    #[serde(rename = "fault")]
    Fault(FaultView<'a>),
}

fn fault_text(fault: &Fault) -> String {
    let path = fault.path.display().to_string();
    text(&Answer::<()>::Fault(FaultView {
        code: fault.code.as_str(),
        message: &fault.message,
        path: &path,
        outcome_unknown: fault.outcome == Outcome::Unknown,
        sequences: fault.sequences,
    }))
}

fn refusal_text(refusal: &Refusal) -> String {
    text(&Answer::<()>::Fault(FaultView {
        code: refusal.code.as_str(),
        message: &refusal.message,
        path: &refusal.path,
        outcome_unknown: false,
        sequences: None,
    }))
}

fn answer_text<T: Serialize>(outcome: &std::result::Result<T, Fault>) -> String {
    match outcome {
        Ok(value) => text(&Answer::Ok(value)),
        Err(fault) => fault_text(fault),
    }
}

fn settle(deferred: Deferred, answer: String) {
    deferred.resolve(Box::new(move |_| Ok(answer)));
}

/// A journal that is open.
#[napi]
pub struct NativeJournal {
    journal: Arc<Journal>,
    at_end: AtEnd<Journal>,
}

#[napi]
impl NativeJournal {
    /// Opens the journal at `path`.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, path: String, options: Option<NativeJournalOptions>) -> Result<Self> {
        let options = options.unwrap_or_default().options(env)?;
        let journal = Journal::open(Path::new(&path), options).map_err(|fault| {
            let path = fault.path.display().to_string();
            Refused { code: fault.code.as_str(), path: Some(&path), message: &fault.message }.into_error(env)
        })?;
        let journal = Arc::new(journal);
        // What was accepted is written before the environment goes.
        let at_end = AtEnd::new(env, &journal, Journal::end)?;
        Ok(Self { journal, at_end })
    }

    /// The canonical path.
    #[napi(getter, catch_unwind)]
    pub fn path(&self) -> String {
        self.journal.path().display().to_string()
    }

    /// Appends events, one JSON text a line, each received at the time in the same line of `received_at`, if there is one. The JSON
    /// text of an array, with `{ok: event}` or `{fault}` for each.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn append<'env>(&self, env: &'env Env, events: String, received_at: String) -> Result<Object<'env>> {
        let mut answers: Vec<Option<String>> = Vec::new();
        let mut drafts = Vec::new();
        for (event, received_at) in events.lines().zip(received_at.split('\n')) {
            match draft(event, received_at) {
                Ok(draft) => {
                    answers.push(None);
                    drafts.push(draft);
                }
                Err(refusal) => answers.push(Some(refusal_text(&refusal))),
            }
        }
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        let written = drafts.clone();
        self.journal.append(drafts, move |appended| {
            let mut appended = written.iter().zip(appended);
            let texts = answers.into_iter().map(|refused| {
                refused.unwrap_or_else(|| match appended.next() {
                    Some((draft, Ok(sequence))) => format!("{{\"ok\":{}}}", draft.numbered(sequence)),
                    Some((_, Err(fault))) => fault_text(&fault),
                    None => "null".to_owned(),
                })
            });
            settle(deferred, format!("[{}]", texts.collect::<Vec<_>>().join(",")));
        });
        Ok(promise)
    }

    /// Checks every line.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn verify<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        self.journal.verify(move |outcome| settle(deferred, answer_text(&outcome)));
        Ok(promise)
    }

    /// Makes a damaged journal valid.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn repair<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        self.journal.repair(move |outcome| settle(deferred, answer_text(&outcome)));
        Ok(promise)
    }

    /// Begins the journal anew with a checkpoint.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn rotate<'env>(
        &self,
        env: &'env Env,
        keep: Option<f64>,
        shared_writers: bool,
    ) -> Result<Object<'env>> {
        let keep = match keep {
            None => None,
            given => u64::try_from(integer(*env, given, 1, 1, "keep")?).ok(),
        };
        let rotation = Rotation { keep, shared_writers };
        let projection = Box::new(Projector::new(Config::default()));
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        self.journal.rotate(rotation, projection, move |outcome| settle(deferred, answer_text(&outcome)));
        Ok(promise)
    }

    /// A reader of what is in the journal when its first batch is asked for.
    #[napi(catch_unwind)]
    pub fn replay(&self) -> NativeReplay {
        NativeReplay { journal: Arc::clone(&self.journal), state: Arc::default() }
    }

    /// What happened beside the point since this was last called, as the JSON text of an array of `{code, message}`.
    #[napi(catch_unwind)]
    pub fn take_notices(&self) -> String {
        #[derive(Serialize)]
        struct NoticeView {
            code: &'static str,
            message: String,
        }
        let notices = self.journal.take_notices();
        let views =
            notices.iter().map(|notice| NoticeView { code: notice.code(), message: notice.to_string() });
        text(&views.collect::<Vec<_>>())
    }

    /// Writes what waits if the lock is free, and waits for that: for the end of the process.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        self.journal.end();
    }

    /// Takes no more requests; settled when what waited is done and the path is free.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        let at_end = self.at_end.clone();
        self.journal.close(move || {
            at_end.take();
            settle(deferred, "{\"ok\":null}".to_owned());
        });
        Ok(promise)
    }
}

fn draft(event: &str, received_at: &str) -> std::result::Result<Draft, Refusal> {
    let event = Event::from_json(event.as_bytes()).map_err(Refusal::from)?;
    // The other side has checked it.
    Ok(Draft::new(&event, Moment::parse(received_at)))
}

/// What a replay has read and not handed over yet.
#[derive(Default)]
struct ReplayState {
    replay: Option<Replay>,
    held: Vec<(Event<'static>, Option<Moment>)>,
}

/// What a batch came to in a projection.
#[derive(Serialize)]
struct AppliedView {
    entries: usize,
    results: Counts,
}

/// A replay, read batch by batch on the journal's thread.
#[napi]
pub struct NativeReplay {
    journal: Arc<Journal>,
    state: Arc<Mutex<ReplayState>>,
}

#[napi]
impl NativeReplay {
    /// The next batch as `{ok: {entries, problems, done}}`. With `hold` the entries stay here for [`Self::apply_held`], and
    /// `entries` is empty.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn next<'env>(&self, env: &'env Env, hold: bool) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<String, Resolver>()?;
        let state = Arc::clone(&self.state);
        let path = self.journal.path().to_owned();
        let is_begun = lock(&state).replay.is_some();
        if is_begun {
            let deferred = Arc::new(Mutex::new(Some(deferred)));
            let task = {
                let deferred = Arc::clone(&deferred);
                move || {
                    let answer = read(&state, hold, &path);
                    if let Some(deferred) = deferred.lock().unwrap_or_else(PoisonError::into_inner).take() {
                        settle(deferred, answer);
                    }
                }
            };
            if !self.journal.run(task)
                && let Some(deferred) = deferred.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                let path = self.journal.path().display().to_string();
                let message = format!("the journal {path} was closed during the replay");
                let code = FaultCode::Closed.as_str();
                let fault = FaultView {
                    code,
                    message: &message,
                    path: &path,
                    outcome_unknown: false,
                    sequences: None,
                };
                settle(deferred, text(&Answer::<()>::Fault(fault)));
            }
            return Ok(promise);
        }
        self.journal.replay(move |begun| {
            let answer = match begun {
                Ok(replay) => {
                    lock(&state).replay = Some(replay);
                    read(&state, hold, &path)
                }
                Err(fault) => fault_text(&fault),
            };
            settle(deferred, answer);
        });
        Ok(promise)
    }

    /// Applies the entries that are held; `{entries, results}` as JSON text.
    #[napi(catch_unwind)]
    pub fn apply_held(&self, projector: &mut NativeProjector) -> String {
        let held = std::mem::take(&mut lock(&self.state).held);
        let mut view = AppliedView { entries: held.len(), results: Counts::default() };
        for (event, received_at) in held {
            let applied = projector.core().replay(&event, received_at);
            view.results.add(applied.ok().map(|Applied { status, .. }| status));
        }
        text(&view)
    }
}

fn lock(state: &Mutex<ReplayState>) -> std::sync::MutexGuard<'_, ReplayState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one batch.
fn read(state: &Mutex<ReplayState>, hold: bool, path: &Path) -> String {
    let mut state = lock(state);
    let ReplayState { replay, held } = &mut *state;
    let mut entries: Vec<String> = Vec::new();
    let mut problems: Vec<String> = Vec::new();
    let more = match replay {
        Some(replay) => replay.step(&mut |replayed| match replayed {
            Replayed::Entry(entry, ..) if hold => held.push((entry.event.to_static(), entry.received_at)),
            Replayed::Entry(entry, ..) => {
                entries.push(Draft::new(&entry.event, entry.received_at).numbered(entry.sequence));
            }
            Replayed::Problem(problem) => problems.push(text(&problem)),
        }),
        None => Ok(false),
    };
    match more {
        Ok(more) => format!(
            "{{\"ok\":{{\"entries\":[{}],\"problems\":[{}],\"done\":{}}}}}",
            entries.join(","),
            problems.join(","),
            !more
        ),
        Err(error) => {
            let message = format!("cannot read {}: {error}", path.display());
            text(&Answer::<()>::Fault(FaultView {
                code: FaultCode::Io.as_str(),
                message: &message,
                path: &path.display().to_string(),
                outcome_unknown: false,
                sequences: None,
            }))
        }
    }
}
