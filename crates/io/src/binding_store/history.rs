//! What happened to a binding, entry by entry.
//!
//! Input: a change. Output: the entries as JSON, oldest first. Invariant: each revision has one entry, and at most
//! [`ENTRIES`] are kept of a session. Never: keeps a locator's value or a value of metadata.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::json;
use agent_lifecycle_core::runtime::binding::{
    Binding, BindingState, Diagnostic, LocatorKind, Mode, NativeSessionId, ProductSessionId,
};
use rusqlite::Connection;
use serde::Serialize;

use super::rows::integer;

/// The entries of one session; older ones go.
const ENTRIES: i64 = 1_000;

/// What an entry tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Change {
    Created,
    Updated,
    Claimed,
    Released,
    Freed,
    Orphaned,
}

impl Change {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Claimed => "claimed",
            Self::Released => "released",
            Self::Freed => "freed",
            Self::Orphaned => "orphaned",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    change: Change,
    at: Moment,
    revision: u64,
    generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    state: BindingState,
    runtime_instance_id: &'a str,
    adapter_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    native_session_id: Option<&'a NativeSessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostic: Option<&'a Diagnostic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locator_kind: Option<LocatorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata_keys: Option<Vec<String>>,
}

/// Notes that `change` made `binding` what it is.
pub(super) fn note(
    connection: &Connection,
    change: Change,
    mode: Option<Mode>,
    binding: &Binding,
    at: Moment,
) -> Result<(), rusqlite::Error> {
    let Binding { content, revision, generation, .. } = binding;
    let entry = Entry {
        change,
        at,
        revision: *revision,
        generation: *generation,
        mode,
        state: content.state,
        runtime_instance_id: &content.runtime_instance_id,
        adapter_id: &content.adapter_id,
        native_session_id: content.native_session_id.as_ref(),
        diagnostic: content.diagnostic.as_ref(),
        locator_kind: content.locator.as_ref().map(|locator| locator.kind),
        metadata_keys: content.metadata_keys(),
    };
    insert(connection, &content.product_session_id, &entry)
}

/// Notes a native session that was made for `binding` and that nobody is bound to.
pub(super) fn note_orphan(
    connection: &Connection,
    binding: &Binding,
    adapter_id: &str,
    native: &NativeSessionId,
    at: Moment,
) -> Result<(), rusqlite::Error> {
    let Binding { content, revision, generation, .. } = binding;
    let entry = Entry {
        change: Change::Orphaned,
        at,
        revision: *revision,
        generation: *generation,
        mode: None,
        state: content.state,
        runtime_instance_id: &content.runtime_instance_id,
        adapter_id,
        native_session_id: Some(native),
        diagnostic: None,
        locator_kind: None,
        metadata_keys: None,
    };
    insert(connection, &content.product_session_id, &entry)
}

fn insert(connection: &Connection, id: &ProductSessionId, entry: &Entry<'_>) -> Result<(), rusqlite::Error> {
    let sql = "INSERT INTO history (product_session_id, change, revision, generation, detail) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute((
        id.as_str(),
        entry.change.as_str(),
        integer(entry.revision),
        integer(entry.generation),
        json::write(entry),
    ))?;
    let sql = "DELETE FROM history WHERE product_session_id = ?1 AND entry <= \
        (SELECT entry FROM history WHERE product_session_id = ?1 ORDER BY entry DESC LIMIT 1 OFFSET ?2)";
    connection.prepare_cached(sql)?.execute((id.as_str(), ENTRIES))?;
    Ok(())
}

/// The entries of a session as the JSON texts of objects, oldest first.
pub(super) fn of(connection: &Connection, id: &ProductSessionId) -> Result<Vec<String>, rusqlite::Error> {
    let sql = "SELECT detail FROM history WHERE product_session_id = ?1 ORDER BY entry";
    connection.prepare_cached(sql)?.query_map([id.as_str()], |row| row.get(0))?.collect()
}
