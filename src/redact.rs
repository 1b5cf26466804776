//! `redact`.

use agent_lifecycle_core::redact::redact_text;
use napi_derive::napi;

/// `text` without what the rules take for secrets.
#[napi(catch_unwind)]
#[must_use]
pub fn redact_text_value(text: String) -> String {
    redact_text(&text).into_owned()
}
