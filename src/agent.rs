//! `validateAgentLifecycleEvent` and what is built on it.

use agent_lifecycle_core::agent::{Form, validate};
use napi::{Env, Result};
use napi_derive::napi;

use crate::convert;
use crate::error::Refusal;

/// What is wrong with the agent event in the JSON text of a JavaScript value, as the JSON text of `{issues, cuts}`; nothing
/// where nothing is. An empty array in `text` stands for `undefined`. With `fit`, a display text that is too long is a cut.
#[napi(catch_unwind)]
pub fn check_agent_event(env: Env, text: String, fit: bool) -> Result<Option<String>> {
    let verdict = validate(&text, Form::JavaScript, fit).map_err(|_| {
        let message = "the event is not JSON of bounded depth";
        Refusal { code: "invalid_event", path: Some("$"), message }.into_error(env)
    })?;
    let is_sound = verdict.issues.is_empty() && verdict.cuts.is_empty();
    Ok((!is_sound).then(|| convert::text(&verdict)))
}
