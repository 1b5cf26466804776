//! `openMonitor`: agents that work now, for JavaScript.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::decode::JsonlParser;
use agent_lifecycle_core::project::{Counts, Record};
use agent_lifecycle_core::reconcile::Snapshot;
use agent_lifecycle_io::evidence;
use agent_lifecycle_io::monitor::{Answer, Asked, Monitor, Notice, OpenFault, Options};
use napi::bindgen_prelude::{Function, Object};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsDeferred, Result, Status};
use napi_derive::napi;
use serde::Serialize;

use crate::at_end::AtEnd;
use crate::convert::{content_level, integer, moment, text};
use crate::error::{Refusal, refuse};
use crate::projector::NativeProjectorOptions;

/// Least time between two tellings, in milliseconds.
const BATCH: Duration = Duration::from_millis(16);

/// How a monitor is opened.
#[napi(object)]
pub struct NativeMonitorOptions {
    /// Whether the default places of this machine are followed.
    pub default_places: bool,
    /// Files and folders that are followed.
    pub paths: Vec<String>,
    /// The home folder.
    pub home: Option<String>,
    /// The state directory.
    pub state_directory: Option<String>,
    /// Milliseconds without writing after which a file is hidden.
    pub active_within_ms: f64,
    /// `none`, `titles` or `full`.
    pub content: String,
    /// Whether the host asks authorities.
    pub asks: bool,
    /// Sources whose own snapshots are asked for.
    pub authorities: Vec<String>,
    /// A journal of its own.
    pub journal: Option<String>,
    /// How the projection judges.
    pub projector: NativeProjectorOptions,
}

/// A record as a snapshot left it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeenView {
    source: String,
    child_id: String,
    state: State,
    state_since: Moment,
}

/// A notice as it crosses.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum NoticeView<'a> {
    Changes { changes: &'a agent_lifecycle_core::project::ChangeSet },
    Questions { questions: Vec<AskedView<'a>> },
    Diagnostic { code: &'a str, path: Option<&'a str>, message: &'a str },
    Ready,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AskedView<'a> {
    source: &'a str,
    child_id: &'a str,
    reason: &'a str,
    deadline_at: Moment,
}

impl<'a> From<&'a Asked> for AskedView<'a> {
    fn from(asked: &'a Asked) -> Self {
        let Asked { source, child_id, reason, deadline } = asked;
        Self { source, child_id, reason, deadline_at: *deadline }
    }
}

fn notice_text(notice: &Notice) -> String {
    text(&match notice {
        Notice::Changes(changes) => NoticeView::Changes { changes },
        Notice::Questions(asked) => {
            NoticeView::Questions { questions: asked.iter().map(AskedView::from).collect() }
        }
        Notice::Diagnostic { code, path, message } => {
            NoticeView::Diagnostic { code, path: path.as_deref(), message }
        }
        Notice::Ready => NoticeView::Ready,
    })
}

/// Tells JavaScript; it does not keep the environment alive.
type Tell = ThreadsafeFunction<String, (), String, Status, false, true, 0>;
type Resolver = Box<dyn FnOnce(Env) -> Result<()> + Send>;

/// An open monitor.
#[napi]
pub struct NativeMonitor {
    monitor: Arc<Monitor>,
    at_end: AtEnd<Monitor>,
}

#[napi]
impl NativeMonitor {
    /// `tell` is called with the JSON text of each notice.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: NativeMonitorOptions, tell: Function<'_, String, ()>) -> Result<Self> {
        let options = monitor_options(env, options)?;
        let tell: Tell =
            tell.build_threadsafe_function::<String>().weak::<true>().callee_handled::<false>().build()?;
        let monitor = Monitor::open(options, move |notice| {
            tell.call(notice_text(&notice), ThreadsafeFunctionCallMode::NonBlocking);
        });
        let monitor = Arc::new(monitor.map_err(|fault| open_error(env, &fault))?);
        let at_end = AtEnd::new(env, &monitor, Monitor::close)?;
        Ok(Self { monitor, at_end })
    }

    /// The rows as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn rows(&self) -> String {
        text(&self.monitor.rows())
    }

    /// What changed since a cursor, as JSON text.
    #[napi(catch_unwind)]
    pub fn changes_since(&self, cursor: Option<String>) -> String {
        text(&self.monitor.changes_since(cursor.as_deref()))
    }

    /// What stands behind a row's state, as JSON text.
    #[napi(catch_unwind)]
    pub fn explain(&self, key: String) -> Option<String> {
        self.monitor.explain(&key).map(|explanation| text(&explanation))
    }

    /// Files that are followed and were not written for long.
    #[napi(catch_unwind)]
    pub fn hidden(&self) -> u32 {
        u32::try_from(self.monitor.hidden()).unwrap_or(u32::MAX)
    }

    /// Applies the events in `lines`; the counts of what became of them, as JSON text.
    #[napi(catch_unwind)]
    pub fn apply(&self, lines: String) -> String {
        let (mut parser, mut counts) = (JsonlParser::default(), Counts::default());
        let mut take = |event: agent_lifecycle_core::contract::Event<'_>, _| {
            counts.add(self.monitor.apply(&event).ok().map(|applied| applied.status));
        };
        parser.push(lines.as_bytes(), &mut take);
        parser.push(b"\n", &mut take);
        text(&counts)
    }

    /// Takes the complete snapshot of a source in the JSON text of one value; the records that it is about as the JSON text of an
    /// array of `{source, childId, state, stateSince}`.
    #[napi(catch_unwind)]
    pub fn reconcile(&self, env: Env, snapshot: String) -> Result<String> {
        let snapshot = Snapshot::from_json(snapshot.as_bytes()).map_err(|refusal| refuse(env, &refusal))?;
        let see = |record: &Record| SeenView {
            source: record.source.to_string(),
            child_id: record.child_id.to_string(),
            state: record.state,
            state_since: record.state_since,
        };
        let seen = self.monitor.reconcile(&snapshot, see).map_err(|refusal| refuse(env, &refusal))?;
        Ok(text(&seen))
    }

    /// Takes bytes of a host's stream, by its name.
    #[napi(catch_unwind)]
    pub fn take(&self, name: String, bytes: &[u8]) {
        self.monitor.take(&name, bytes);
    }

    /// Takes an authority's answer about a child: `gone`, `there` or `none`.
    #[napi(catch_unwind)]
    pub fn answer(&self, env: Env, source: String, child_id: String, answer: String) -> Result<()> {
        let answer = match answer.as_str() {
            "gone" => Answer::Gone,
            "there" => Answer::There,
            "none" => Answer::None,
            _ => {
                let message = "an answer must be gone, there or none";
                return Err(
                    Refusal { code: "invalid_argument", path: Some("answer"), message }.into_error(env)
                );
            }
        };
        self.monitor.answer(&source, &child_id, answer);
        Ok(())
    }

    /// Drops children that ended before a time; how many.
    #[napi(catch_unwind)]
    pub fn forget(&self, env: Env, terminal_before: String) -> Result<u32> {
        let before = moment(env, &terminal_before, "terminalBefore")?;
        Ok(u32::try_from(self.monitor.forget(before)).unwrap_or(u32::MAX))
    }

    /// Ends it; the promise is settled when what waits is written.
    #[napi(catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise): (JsDeferred<(), Resolver>, _) = env.create_deferred()?;
        let (monitor, at_end) = (Arc::clone(&self.monitor), self.at_end.clone());
        let close = move || {
            monitor.close();
            at_end.take();
            deferred.resolve(Box::new(|_| Ok(())));
        };
        std::thread::Builder::new().name("agent-lifecycle-close".to_owned()).spawn(close)?;
        Ok(promise)
    }
}

fn monitor_options(env: Env, options: NativeMonitorOptions) -> Result<Options> {
    let NativeMonitorOptions {
        default_places,
        paths,
        home,
        state_directory,
        active_within_ms,
        content,
        asks,
        authorities,
        journal,
        projector,
    } = options;
    let home = home.map(PathBuf::from);
    let state = state_directory.map(PathBuf::from);
    let mut folders = Vec::new();
    if default_places {
        folders = evidence::journal_folders(home.as_deref());
        folders.extend(state.as_ref().map(|state| state.join("journals")));
    }
    let (named, files): (Vec<_>, Vec<_>) =
        paths.into_iter().map(PathBuf::from).partition(|path| Path::is_dir(path));
    folders.extend(named);
    let active = integer(env, Some(active_within_ms), 0, 0, "activeWithinMs")?.unsigned_abs();
    let mut config = projector.config(env)?;
    config.corrections = journal.is_some();
    Ok(Options {
        folders,
        files,
        spool: state.map(|state| state.join("spool")).filter(|_| default_places),
        home,
        processes: default_places,
        active_within: Duration::from_millis(active),
        content: content_level(env, &content)?,
        config,
        asks,
        authorities,
        journal: journal.map(PathBuf::from),
        batch: BATCH,
    })
}

fn open_error(env: Env, fault: &OpenFault) -> napi::Error {
    match fault {
        OpenFault::Journal(fault) => {
            Refusal { code: fault.code.as_str(), path: None, message: &fault.message }.into_error(env)
        }
        OpenFault::Io(error) => {
            let message = format!("the monitor cannot be started: {error}");
            Refusal { code: "unavailable", path: None, message: &message }.into_error(env)
        }
    }
}
