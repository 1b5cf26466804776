//! Who this process is, and whether one that a record names is dead.

use agent_lifecycle_io::process::{self, Identity};
use napi_derive::napi;

use crate::convert::text;

/// The facts that tell this process from every other, as the JSON text of an object.
#[napi(catch_unwind)]
#[must_use]
pub fn own_identity() -> String {
    text(&Identity::own())
}

/// Whether the process that the facts in `record`, a JSON text, name is provably gone.
#[napi(catch_unwind)]
#[must_use]
pub fn is_provably_dead(record: String) -> bool {
    process::is_provably_dead(&record)
}
