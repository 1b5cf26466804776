//! `normalizeHermesDelegationEvent`, `reconcileHermesDelegationStatus`, `hermesLifecycle`, `routingDecision`.

use agent_lifecycle_core::bridge::hermes::{HermesLifecycle, Options};
use agent_lifecycle_core::contract::identity::identity;
use agent_lifecycle_core::contract::{Capabilities, Capability, State};
use agent_lifecycle_core::providers::hermes::reconcile::misses_from_json;
use agent_lifecycle_core::providers::hermes::{
    Delegation, Input, Intent, Known, Message, RefusedEntry, Routing, StatusSnapshot, reconcile, routing,
};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{content_level, integer, moment, text};
use crate::error::{Refusal, refuse};

/// The normalised event in the JSON text of a delegation event, as JSON text.
#[napi(catch_unwind)]
pub fn normalize_delegation(env: Env, event: String) -> Result<String> {
    let event = Delegation::from_json(event.as_bytes()).map_err(|refusal| refuse(env, &refusal))?;
    Ok(text(&event))
}

#[derive(Serialize)]
struct Comparison {
    inputs: Vec<Input>,
    intents: Vec<Intent>,
    refused: Vec<NotUnderstood>,
}

/// A delegation whose status is not understood.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotUnderstood {
    child_id: String,
    session_id: String,
    code: &'static str,
    path: String,
    message: String,
}

impl From<RefusedEntry> for NotUnderstood {
    fn from(entry: RefusedEntry) -> Self {
        let RefusedEntry { child_id, session_id, refusal } = entry;
        let (code, path) = (refusal.code.as_str(), refusal.path.into_owned());
        Self { child_id, session_id, code, path, message: refusal.message }
    }
}

/// What the snapshot in `snapshot` asks of the records in `current`, as the JSON text of `{inputs, intents, refused}`. All three
/// arguments are JSON texts; `misses` is an object of counts.
#[napi(catch_unwind)]
pub fn reconcile_delegations(
    env: Env,
    snapshot: String,
    current: String,
    misses: String,
    grace: Option<f64>,
) -> Result<String> {
    let refuse = |refusal| refuse(env, &refusal);
    let snapshot = StatusSnapshot::from_json(snapshot.as_bytes()).map_err(refuse)?;
    let current = Known::list_from_json(current.as_bytes()).map_err(refuse)?;
    let misses = misses_from_json(misses.as_bytes()).map_err(refuse)?;
    let grace = integer(env, grace, 1, 2, "missingGraceSnapshots")?.unsigned_abs();
    let reconciled = reconcile(&snapshot, &current, &misses, grace);
    let refused = snapshot.refused.into_iter().map(NotUnderstood::from).collect();
    Ok(text(&Comparison { inputs: reconciled.inputs, intents: reconciled.intents, refused }))
}

/// Who speaks, and how much of it goes into events.
#[napi(object)]
pub struct NativeHermesOptions {
    /// The source of the events.
    pub source: String,
    /// Their epoch.
    pub source_epoch: String,
    /// The child that stands for the host's own session.
    pub root_child_id: Option<String>,
    /// `none`, `titles` or `full`.
    pub content: String,
    /// `known` or `unknown`, as the next three.
    pub history: String,
    /// See `history`.
    pub heartbeat: String,
    /// See `history`.
    pub snapshot: String,
    /// See `history`.
    pub cancel: String,
}

/// The lifecycle of one source of Hermes.
#[napi]
pub struct NativeHermes {
    lifecycle: HermesLifecycle,
}

#[napi]
impl NativeHermes {
    /// A lifecycle that was told nothing.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: NativeHermesOptions) -> Result<Self> {
        let NativeHermesOptions {
            source,
            source_epoch,
            root_child_id,
            content,
            history,
            heartbeat,
            snapshot,
            cancel,
        } = options;
        let given = [
            ("source", Some(&source)),
            ("sourceEpoch", Some(&source_epoch)),
            ("rootChildId", root_child_id.as_ref()),
        ];
        for (path, id) in given {
            if id.is_some_and(|id| identity(id) != Ok(id)) {
                let message =
                    format!("{path} must be an id: trimmed, not blank, at most 512 bytes, no U+0000");
                return Err(
                    Refusal { code: "invalid_id", path: Some(path), message: &message }.into_error(env)
                );
            }
        }
        let capability = |word: &str, path| {
            Capability::parse(word).ok_or_else(|| {
                let message = format!("{path} must be known or unknown");
                Refusal { code: "invalid_option", path: Some(path), message: &message }.into_error(env)
            })
        };
        let capabilities = Capabilities {
            history: capability(&history, "capabilities.history")?,
            heartbeat: capability(&heartbeat, "capabilities.heartbeat")?,
            snapshot: capability(&snapshot, "capabilities.snapshot")?,
            cancel: capability(&cancel, "capabilities.cancel")?,
            terminal_cause: Capability::Unknown,
        };
        let content = content_level(env, &content)?;
        let options = Options { source, source_epoch, root_child_id, content, capabilities };
        Ok(Self { lifecycle: HermesLifecycle::new(options) })
    }

    /// What the message in `message` makes, as the JSON text of `{events, questions, reported}`.
    #[napi(catch_unwind)]
    pub fn push(&mut self, env: Env, message: String, now: String) -> Result<String> {
        let message = Message::from_json(message.as_bytes()).map_err(|refusal| refuse(env, &refusal))?;
        let now = moment(env, &now, "now")?.into();
        Ok(text(&self.lifecycle.push(&message, now)))
    }

    /// What the status snapshot in `snapshot` makes, as the JSON text of `{snapshot, events, questions, reported}`.
    #[napi(catch_unwind)]
    pub fn snapshot(&mut self, env: Env, snapshot: String) -> Result<String> {
        let snapshot =
            StatusSnapshot::from_json(snapshot.as_bytes()).map_err(|refusal| refuse(env, &refusal))?;
        Ok(text(&self.lifecycle.snapshot(&snapshot)))
    }

    /// What an authority said of a child; whether that is of the present life of one that is known.
    #[napi(catch_unwind)]
    pub fn corrected(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        state: String,
        since: String,
    ) -> Result<bool> {
        let Some(state) = State::parse(&state) else {
            let message = "record.state must be a state, as a record has it";
            return Err(
                Refusal { code: "invalid_argument", path: Some("record.state"), message }.into_error(env)
            );
        };
        let since = moment(env, &since, "record.stateSince")?;
        Ok(self.lifecycle.corrected(&source, &child_id, state, since))
    }

    /// The id in the projection of a child's newest life.
    #[napi(catch_unwind)]
    pub fn child_id(&self, child_id: String, session_id: String) -> String {
        self.lifecycle.child_id(&child_id, &session_id)
    }
}

/// Whether a runtime model may delegate, as the JSON text of `{status, mayDelegate, reason}`.
#[napi(catch_unwind)]
pub fn routing_decision(
    env: Env,
    runtime_model: Option<String>,
    selection: String,
    profile: Option<String>,
) -> Result<String> {
    let Some(selection) = routing::Selection::parse(&selection) else {
        let message = "selection must be explicit or implicit";
        return Err(Refusal { code: "invalid_argument", path: Some("selection"), message }.into_error(env));
    };
    let routing = Routing { runtime_model: runtime_model.as_deref(), selection, profile: profile.as_deref() };
    Ok(text(&routing.decide()))
}
