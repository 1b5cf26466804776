//! The skin: what JavaScript can call, converted for the core and registered with Node. It decides nothing.
//!
//! Every synchronous export is `#[napi(catch_unwind)]`: a panic is a bug, and it reaches JavaScript as an `Error`
//! with code `GenericFailure`, never as an abort of the host. `cargo xtask tidy` refuses an export without it.
//! A refusal of the core goes through [`error`].

mod error;

use napi::{Env, Result};
use napi_derive::napi;

use error::Refusal;

/// The version of the Rust core that this addon was built from.
#[napi(catch_unwind)]
#[must_use]
pub fn core_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Refuses or panics on request: the tests see how both arrive in JavaScript.
///
/// # Panics
/// When `how` is `panic`.
#[napi(catch_unwind)]
pub fn fail_for_tests(env: Env, how: String) -> Result<()> {
    assert_ne!(how, "panic", "asked to panic");
    let refusal = Refusal { code: "invalid_value", path: Some("how"), message: "how is not `panic`" };
    Err(refusal.into_error(env))
}
