//! `normalizeHermesDelegationEvent`, `reconcileHermesDelegationStatus`.

use agent_lifecycle_core::providers::hermes::reconcile::misses_from_json;
use agent_lifecycle_core::providers::hermes::{
    Delegation, Input, Intent, Known, RefusedEntry, StatusSnapshot, reconcile,
};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, text};
use crate::error::refuse;

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
pub(crate) struct NotUnderstood {
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
