//! `redact`.

use agent_lifecycle_core::contract::limits::JSON_DEPTH;
use agent_lifecycle_core::json::{self, JsonFault};
use agent_lifecycle_core::redact::Redactor;
use napi::{Env, Result};
use napi_derive::napi;

use crate::error::Refusal;

/// The JSON text of a value, without what the rules and the registered secrets name.
#[napi(catch_unwind)]
pub fn redact_json(env: Env, text: String, secrets: Vec<String>) -> Result<String> {
    let redactor = Redactor::new(secrets).map_err(|short| {
        let path = format!("secrets[{}]", short.index);
        Refusal { code: "invalid_option", path: Some(&path), message: &short.to_string() }.into_error(env)
    })?;
    let mut value = json::parse(text.as_bytes()).map_err(|fault| {
        let (code, message) = match fault {
            JsonFault::TooDeep => {
                ("too_deep", format!("the value is nested more than {JSON_DEPTH} levels deep"))
            }
            JsonFault::InvalidUtf8 | JsonFault::Malformed => {
                ("invalid_value", "the value is not JSON".to_owned())
            }
        };
        Refusal { code, path: Some("$"), message: &message }.into_error(env)
    })?;
    redactor.json(&mut value);
    Ok(json::write(&value))
}
