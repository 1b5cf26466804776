//! `LifecycleProjector`: the projection for JavaScript.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

use agent_lifecycle_core::contract::{Event, Moment, Refusal};
use agent_lifecycle_core::decode::{Diagnostic, JsonlParser};
use agent_lifecycle_core::project::audit::Audit;
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::project::{
    Alive, Applied, Config, Counts, Discovered, NOBODY, Note, Process, Projector, Reconciled, Reconciliation,
    Record,
};
use agent_lifecycle_core::reconcile::Snapshot;
use napi::{Env, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, moment, optional_moment, text};
use crate::error::refuse;

/// How a projection judges.
#[napi(object)]
#[derive(Default)]
pub struct NativeProjectorOptions {
    /// Milliseconds without evidence after which a child is stale; 120,000 by default.
    pub stale_after_ms: Option<f64>,
    /// Milliseconds that an authority has to answer; 30,000 by default.
    pub reconcile_deadline_ms: Option<f64>,
    /// Complete snapshots in a row that leave a child out before it is stale; 2 by default.
    pub grace_snapshots: Option<f64>,
    /// Whether corrections are kept until they are taken; not by default.
    pub corrections: Option<bool>,
}

impl NativeProjectorOptions {
    pub(crate) fn config(&self, env: Env) -> Result<Config> {
        let default = Config::default();
        let stale = integer(env, self.stale_after_ms, 1, default.stale_after_ms, "staleAfterMs")?;
        let deadline = integer(
            env,
            self.reconcile_deadline_ms,
            1,
            default.reconcile_deadline_ms,
            "reconcileDeadlineMs",
        )?;
        let default_grace = i64::try_from(default.grace_snapshots).unwrap_or(i64::MAX);
        let grace = integer(env, self.grace_snapshots, 1, default_grace, "graceSnapshots")?;
        let number = || RandomState::new().hash_one(());
        Ok(Config {
            stale_after_ms: stale,
            reconcile_deadline_ms: deadline,
            grace_snapshots: u64::try_from(grace).unwrap_or(default.grace_snapshots),
            hash_keys: (number(), number()),
            corrections: self.corrections.unwrap_or(default.corrections),
        })
    }
}

/// A record, and the present epoch of its source.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordView<'a> {
    #[serde(flatten)]
    record: &'a Record,
    source_epoch: Option<&'a str>,
}

/// What became of an event, with its record.
#[derive(Serialize)]
struct AppliedView<'a> {
    status: agent_lifecycle_core::project::Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordView<'a>>,
    #[serde(rename = "wantsSnapshot", skip_serializing_if = "std::ops::Not::not")]
    wants_snapshot: bool,
    diagnostics: Vec<NoteView<'a>>,
}

/// An open question, and whom it is about.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QuestionView<'a> {
    child_id: &'a str,
    #[serde(flatten)]
    question: &'a Reconciliation,
}

/// What became of a snapshot.
#[derive(Serialize)]
struct ReconciledView<'a> {
    results: Vec<AppliedView<'a>>,
    audit: &'a [Audit],
    discovered: &'a [Discovered],
    diagnostics: Vec<NoteView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NoteView<'a> {
    code: Note,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    child_id: Option<&'a str>,
}

#[derive(Serialize)]
struct RefusedView<'a> {
    status: &'static str,
    error: RefusalView<'a>,
}

#[derive(Serialize)]
struct RefusalView<'a> {
    code: &'static str,
    path: &'a str,
    message: &'a str,
}

/// What became of the events of a chunk.
#[derive(Serialize)]
struct ChunkView<'a> {
    events: u64,
    results: Counts,
    rejected: Vec<RejectedView>,
    diagnostics: &'a [Diagnostic],
    total: u64,
    pending: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RejectedView {
    status: &'static str,
    code: &'static str,
    message: String,
    offset: u64,
    event_id: String,
}

/// Events of one call that are named because they came to nothing.
const REJECTED: usize = 32;

/// A projection of children from their events.
#[napi]
pub struct NativeProjector {
    projector: Projector,
    parser: JsonlParser,
}

#[napi]
impl NativeProjector {
    /// An empty projection.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: Option<NativeProjectorOptions>) -> Result<Self> {
        let config = options.unwrap_or_default().config(env)?;
        Ok(Self { projector: Projector::new(config), parser: JsonlParser::default() })
    }

    /// Applies the event in the JSON text of one value; the result as JSON text.
    #[napi(catch_unwind)]
    pub fn apply(&mut self, env: Env, event: String, received_at: Option<String>) -> Result<String> {
        let received = optional_moment(env, received_at, "receivedAt")?;
        let (applied, source) =
            self.take(event.as_bytes(), received).map_err(|refusal| refuse(env, &refusal))?;
        Ok(text(&self.view(applied, &source)))
    }

    /// Applies events, one JSON text a line; their results or refusals as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn apply_many(&mut self, env: Env, events: String, received_at: Option<String>) -> Result<String> {
        let received = optional_moment(env, received_at, "receivedAt")?;
        let results = events.lines().map(|event| match self.take(event.as_bytes(), received) {
            Ok((applied, source)) => text(&self.view(applied, &source)),
            Err(Refusal { code, path, message }) => {
                let error = RefusalView { code: code.as_str(), path: &path, message: &message };
                text(&RefusedView { status: "refused", error })
            }
        });
        Ok(format!("[{}]", results.collect::<Vec<_>>().join(",")))
    }

    /// Applies the events that `chunk` completes; what became of them as JSON text. `end` closes the stream.
    #[napi(catch_unwind)]
    pub fn apply_jsonl(
        &mut self,
        env: Env,
        chunk: &[u8],
        received_at: Option<String>,
        end: bool,
    ) -> Result<String> {
        let received = optional_moment(env, received_at, "receivedAt")?;
        let Self { projector, parser } = self;
        let mut view = ChunkView {
            events: 0,
            results: Counts::default(),
            rejected: Vec::new(),
            diagnostics: &[],
            total: 0,
            pending: 0,
        };
        parser.push(chunk, &mut |event, (offset, _)| {
            view.events += 1;
            let applied = projector.apply(&event, received);
            view.results.add(applied.as_ref().ok().map(|applied| applied.status));
            let (status, fault) = match applied {
                Ok(Applied { status, note, .. }) => {
                    let fault =
                        note.map(|note| (note.as_str(), projector.message(note, &event.source).into_owned()));
                    (status.as_str(), fault)
                }
                Err(refusal) => ("refused", Some((refusal.code.as_str(), refusal.to_string()))),
            };
            if let Some((code, message)) = fault
                && view.rejected.len() < REJECTED
            {
                let event_id = event.event_id.into_owned();
                view.rejected.push(RejectedView { status, code, message, offset, event_id });
            }
        });
        if end {
            parser.end();
        }
        let log = parser.take_diagnostics();
        if end {
            // What comes next is another stream.
            *parser = JsonlParser::default();
        }
        view.diagnostics = log.kept();
        view.total = log.total();
        view.pending = parser.pending();
        Ok(text(&view))
    }

    /// The record of a child as JSON text.
    #[napi(catch_unwind)]
    pub fn snapshot(&self, source: String, child_id: String) -> Option<String> {
        let record = self.projector.record(&source, &child_id)?;
        Some(text(&self.record_view(record)))
    }

    /// The present epoch of a source.
    #[napi(catch_unwind)]
    pub fn epoch(&self, source: String) -> Option<String> {
        self.projector.epoch(&source).map(str::to_owned)
    }

    /// All rows in tree order as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn list(&self) -> String {
        text(&rows(self.projector.records(), &BesideAll::new()))
    }

    /// Marks what is stale at `now`; the results as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn mark_stale(&mut self, env: Env, now: String) -> Result<String> {
        let marked = self.projector.mark_stale(moment(env, &now, "now")?);
        Ok(text(&marked.into_iter().map(|applied| self.view(applied, "")).collect::<Vec<_>>()))
    }

    /// Takes the snapshot in the JSON text of one value; what became of it as JSON text. `grace_snapshots` takes the place of that
    /// of the projection for it.
    #[napi(catch_unwind)]
    pub fn reconcile(
        &mut self,
        env: Env,
        snapshot: String,
        received_at: Option<String>,
        grace_snapshots: Option<f64>,
    ) -> Result<String> {
        let received = optional_moment(env, received_at, "receivedAt")?;
        let grace = match grace_snapshots {
            Some(_) => Some(integer(env, grace_snapshots, 1, 1, "graceSnapshots")?.unsigned_abs()),
            None => None,
        };
        let snapshot = Snapshot::from_json(snapshot.as_bytes()).map_err(|refusal| refuse(env, &refusal))?;
        let reconciled = match grace {
            Some(grace) => self.projector.reconcile_within(grace, &snapshot, received),
            None => self.projector.reconcile(&snapshot, received),
        };
        let Reconciled { results, audit, discovered, note } =
            reconciled.map_err(|refusal| refuse(env, &refusal))?;
        let whole = note.map(|code| NoteView { code, message: code.message().into(), child_id: None });
        let of_children = results.iter().filter_map(|applied| {
            let record = applied.record.and_then(|key| self.projector.get(key));
            let child_id = record.map(|record| record.child_id.as_ref());
            applied.note.map(|code| NoteView { code, message: code.message().into(), child_id })
        });
        Ok(text(&ReconciledView {
            diagnostics: whole.into_iter().chain(of_children).collect(),
            results: results.iter().map(|applied| self.view(*applied, &snapshot.source)).collect(),
            audit: &audit,
            discovered: &discovered,
        }))
    }

    /// The open questions about the children of a source as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn questions(&self, source: String) -> String {
        let open = self.projector.questions(&source);
        text(&open.map(|(child_id, question)| QuestionView { child_id, question }).collect::<Vec<_>>())
    }

    /// Opens a question about a child; the result as JSON text.
    #[napi(catch_unwind)]
    pub fn request_reconciliation(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        reason: String,
        now: String,
    ) -> Result<String> {
        let now = moment(env, &now, "now")?;
        let applied = self.projector.request_reconciliation(&source, &child_id, &reason, now);
        Ok(text(&self.answer(applied, &source)))
    }

    /// An authority said that a child is gone; the result as JSON text.
    #[napi(catch_unwind)]
    pub fn reconciliation_failed(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        now: String,
    ) -> Result<String> {
        let now = moment(env, &now, "now")?;
        let applied = self.projector.reconciliation_failed(&source, &child_id, now);
        Ok(text(&self.answer(applied, &source)))
    }

    /// Nobody answered the question about a child; the result as JSON text.
    #[napi(catch_unwind)]
    pub fn reconciliation_unanswered(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        now: String,
    ) -> Result<String> {
        let now = moment(env, &now, "now")?;
        let applied = self.projector.reconciliation_unanswered(&source, &child_id, now);
        Ok(text(&self.answer(applied, &source)))
    }

    /// What the host knows of a child's process; whether the child is known. Without a pid the process is not known.
    #[napi(catch_unwind)]
    pub fn set_process(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        pid: Option<f64>,
        alive: Option<String>,
    ) -> Result<bool> {
        let process = match pid {
            None => None,
            Some(pid) => Some(process(env, pid, alive.as_deref())?),
        };
        Ok(self.projector.set_process(&source, &child_id, process))
    }

    /// What changed since a cursor, as JSON text.
    #[napi(catch_unwind)]
    pub fn changes_since(&mut self, cursor: Option<String>) -> String {
        text(&self.projector.changes_since(cursor.as_deref(), &BesideAll::new()))
    }

    /// Corrections since the last call as events, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn take_corrections(&mut self) -> String {
        text(&self.projector.take_corrections())
    }

    /// Takes the event of a journal in the JSON text of one value; the result as JSON text.
    #[napi(catch_unwind)]
    pub fn replay(&mut self, env: Env, event: String, received_at: Option<String>) -> Result<String> {
        let received = optional_moment(env, received_at, "receivedAt")?;
        let (applied, source) = Event::from_json(event.as_bytes())
            .map_err(Refusal::from)
            .and_then(|event| Ok((self.projector.replay(&event, received)?, event.source.into_owned())))
            .map_err(|refusal| refuse(env, &refusal))?;
        Ok(text(&self.view(applied, &source)))
    }

    /// Events that rebuild the projection when they are replayed, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn checkpoint(&self, env: Env, now: String) -> Result<String> {
        Ok(text(&self.projector.checkpoint(moment(env, &now, "now")?)))
    }

    /// Moves a source to a new epoch.
    #[napi(catch_unwind)]
    pub fn advance_epoch(
        &mut self,
        env: Env,
        source: String,
        from: String,
        to: String,
        at: String,
    ) -> Result<()> {
        let at = moment(env, &at, "observedAt")?;
        self.projector.advance_epoch(&source, &from, &to, at).map_err(|refusal| refuse(env, &refusal))
    }

    /// Drops terminal records that ended before a time; their sources and ids as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn forget(&mut self, env: Env, terminal_before: String) -> Result<String> {
        let before = moment(env, &terminal_before, "terminalBefore")?;
        Ok(text(&self.projector.forget(before)))
    }

    /// `{count, recent}` of what authorities changed, as JSON text.
    #[napi(catch_unwind)]
    pub fn audit(&self) -> String {
        text(self.projector.audit())
    }

    /// For other classes of the addon.
    pub(crate) fn core(&mut self) -> &mut Projector {
        &mut self.projector
    }

    /// What became of an event, and its source.
    fn take(
        &mut self,
        event: &[u8],
        received: Option<Moment>,
    ) -> std::result::Result<(Applied, String), Refusal> {
        let event = Event::from_json(event).map_err(Refusal::from)?;
        Ok((self.projector.apply(&event, received)?, event.source.into_owned()))
    }

    fn record_view<'a>(&'a self, record: &'a Record) -> RecordView<'a> {
        RecordView { record, source_epoch: self.projector.epoch(&record.source) }
    }

    fn view(&self, applied: Applied, source: &str) -> AppliedView<'_> {
        let Applied { status, note, also, record } = applied;
        let notes = note.into_iter().chain(also).map(|code| NoteView {
            code,
            message: self.projector.message(code, source),
            child_id: None,
        });
        AppliedView {
            status,
            code: note,
            record: record.and_then(|key| self.projector.get(key)).map(|record| self.record_view(record)),
            wants_snapshot: applied.wants_snapshot(),
            diagnostics: notes.collect(),
        }
    }

    /// What became of a question or of its answer: of a child that is not known there is none, and no event is missing.
    fn answer(&self, applied: Applied, source: &str) -> AppliedView<'_> {
        let mut view = self.view(applied, source);
        if applied.note == Some(Note::UnknownChild) {
            view.wants_snapshot = false;
            for note in &mut view.diagnostics {
                note.message = NOBODY.into();
            }
        }
        view
    }
}

/// A process as the host gives it.
fn process(env: Env, pid: f64, alive: Option<&str>) -> Result<Process> {
    let pid = integer(env, Some(pid), 1, 1, "pid")?;
    let alive = match alive {
        Some("yes") => Some(Alive::Yes),
        Some("no") => Some(Alive::No),
        None | Some("unknown") => Some(Alive::Unknown),
        Some(_) => None,
    };
    let (Ok(pid), Some(alive)) = (u32::try_from(pid), alive) else {
        let (path, message) = match alive {
            None => ("alive", "alive must be \"yes\", \"no\" or \"unknown\""),
            Some(_) => ("pid", "pid must be the id of a process"),
        };
        return Err(
            crate::error::Refusal { code: "invalid_option", path: Some(path), message }.into_error(env)
        );
    };
    Ok(Process { pid, alive })
}
