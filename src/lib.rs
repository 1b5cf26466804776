//! The skin: what JavaScript can call, converted for the core and registered with Node. It decides nothing.
//!
//! Every synchronous export is `#[napi(catch_unwind)]`: a panic is a bug, and it reaches JavaScript as an `Error`
//! with code `GenericFailure`, never as an abort of the host. `cargo xtask tidy` refuses an export without it.
//! A refusal of the core goes through [`error`]; results cross as JSON text, see [`convert`].

pub mod adapter;
pub mod agent;
mod at_end;
pub mod bindings;
pub mod bridge;
pub mod contract;
mod convert;
pub mod decoder;
pub mod display;
mod error;
pub mod follow;
pub mod hermes;
pub mod journal;
pub mod monitor;
pub mod parser;
pub mod pipeline;
pub mod process;
pub mod projector;
pub mod redact;
pub mod runtime;
pub mod status;

use napi_derive::napi;

/// The version of the Rust core that this addon was built from.
#[napi(catch_unwind)]
#[must_use]
pub fn core_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Panics: the tests see how that arrives in JavaScript.
///
/// # Panics
/// Always.
#[napi(catch_unwind)]
pub fn panic_for_tests() {
    panic!("asked to panic");
}
