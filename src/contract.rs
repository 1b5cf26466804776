//! `normalizeLifecycleEvent`.

use agent_lifecycle_core::contract::{Event, Refusal};
use napi::{Env, Result};
use napi_derive::napi;

use crate::error::refuse;

/// The normalised event in the JSON text of one value, as JSON text.
#[napi(catch_unwind)]
pub fn normalize_event(env: Env, text: String) -> Result<String> {
    match Event::from_json(text.as_bytes()) {
        Ok(event) => Ok(event.to_json()),
        Err(fault) => Err(refuse(env, &Refusal::from(fault))),
    }
}
