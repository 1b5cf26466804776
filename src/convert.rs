//! Arguments from JavaScript and results to it.
//!
//! A structured result crosses as JSON text that the TypeScript side reads with `JSON.parse`: that is the quickest way for
//! nested values, and no member is ever set from data. Numbers come as `f64` and are checked here: an integer argument type
//! of napi would wrap -1 and turn NaN into 0.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::contract::limits::SAFE_INTEGER;
use agent_lifecycle_core::json;
use napi::{Env, Result};

use crate::error::Refusal;

/// A time given by a caller.
pub(crate) fn moment(env: Env, text: &str, path: &'static str) -> Result<Moment> {
    Moment::parse(text).ok_or_else(|| {
        let message = format!("{path} must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z");
        Refusal { code: "invalid_timestamp", path: Some(path), message: &message }.into_error(env)
    })
}

/// A time that may be left out.
pub(crate) fn optional_moment(env: Env, text: Option<String>, path: &'static str) -> Result<Option<Moment>> {
    text.map(|text| moment(env, &text, path)).transpose()
}

/// An integer option of `minimum` or more (any for `i64::MIN`), or its default.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
pub(crate) fn integer(
    env: Env,
    given: Option<f64>,
    minimum: i64,
    default: i64,
    path: &'static str,
) -> Result<i64> {
    let Some(number) = given else { return Ok(default) };
    if number.fract() != 0.0 || !(minimum as f64..=SAFE_INTEGER as f64).contains(&number) {
        let least = if minimum == i64::MIN { String::new() } else { format!(" of {minimum} or more") };
        let message = format!("{path} must be a safe integer{least}");
        return Err(Refusal { code: "invalid_option", path: Some(path), message: &message }.into_error(env));
    }
    Ok(number as i64)
}

/// How much of prompts and texts is wanted.
pub(crate) fn content_level(env: Env, content: &str) -> Result<Content> {
    match content {
        "none" => Ok(Content::None),
        "titles" => Ok(Content::Titles),
        "full" => Ok(Content::Full),
        _ => {
            let message = "content must be none, titles or full";
            Err(Refusal { code: "invalid_option", path: Some("content"), message }.into_error(env))
        }
    }
}

/// The JSON text of a result.
pub(crate) fn text(value: &impl serde::Serialize) -> String {
    json::write(value)
}
