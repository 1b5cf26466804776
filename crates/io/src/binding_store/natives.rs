//! The table of native ids: whose each is.
//!
//! Input: an adapter's native id, and a session. Output: who has it, or that it is the session's now.
//! Invariant: one row for each adapter and id, and one claim for each session. Never: takes a row from an owner that may live.

use agent_lifecycle_core::runtime::binding::{
    BindingFault, Content, Holder, NativeSession, NativeStep, ProductSessionId, take_native,
};
use rusqlite::{Connection, OptionalExtension};

use super::engine::Scene;
use super::rows::Corrupt;

/// Makes the native id of `next` that of its session and of no other, in place of what the session claimed before.
pub(super) fn record(
    connection: &Connection,
    scene: &Scene,
    before: Option<&Content>,
    next: &Content,
) -> Result<(), BindingFault> {
    let id = &next.product_session_id;
    let key = |content: &Content| {
        content
            .native_session_id
            .as_ref()
            .map(|native| (content.adapter_id.clone(), native.as_str().to_owned()))
    };
    let (old, new) = (before.and_then(key), key(next));
    if old == new {
        return Ok(());
    }
    let step = match &new {
        Some((adapter, native)) => {
            Some(take_native(holder(connection, scene, adapter, native)?.as_ref(), id)?)
        }
        None => None,
    };
    let run = |sql: &str, values: &[&str]| {
        let mut statement = connection.prepare_cached(sql)?;
        statement.execute(rusqlite::params_from_iter(values))
    };
    let remove = "DELETE FROM native_ids WHERE adapter_id = ?1 AND native_session_id = ?2";
    if let Some((adapter, native)) = &old {
        run(remove, &[adapter, native]).map_err(scene.failed())?;
    }
    if let Some((adapter, native)) = &new {
        if step == Some(NativeStep::Replace) {
            run(remove, &[adapter, native]).map_err(scene.failed())?;
        }
        let insert = "INSERT INTO native_ids (adapter_id, native_session_id, product_session_id, kind) \
            VALUES (?1, ?2, ?3, 'claim')";
        run(insert, &[adapter, native, id.as_str()]).map_err(scene.failed())?;
    }
    Ok(())
}

/// Keeps a native id for a session; the reservation's name.
pub(super) fn reserve(
    connection: &Connection,
    scene: &Scene,
    native: &NativeSession,
) -> Result<String, BindingFault> {
    let NativeSession { product_session_id, adapter_id, native_session_id } = native;
    let held = holder(connection, scene, adapter_id, native_session_id.as_str())?;
    match &held {
        // One that is kept already is not kept twice, even for the same session: one of the two would give it up.
        Some(Holder::Binding(other) | Holder::Reservation(other)) => {
            return Err(BindingFault::native_taken(product_session_id, other));
        }
        Some(Holder::Lapsed) | None => {}
    }
    let name = format!("{:016x}{:016x}", scene.system.random(), scene.system.random());
    let sql = "INSERT OR REPLACE INTO native_ids (adapter_id, native_session_id, product_session_id, kind, reservation, owner, \
        owner_environment) VALUES (?1, ?2, ?3, 'reservation', ?4, ?5, ?6)";
    let values = (
        adapter_id,
        native_session_id.as_str(),
        product_session_id.as_str(),
        &name,
        scene.owners.record(),
        scene.owners.environment(),
    );
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(values))
        .map_err(scene.failed())?;
    Ok(name)
}

/// Gives up the reservation of this name; `false` where there is none any more.
pub(super) fn unreserve(connection: &Connection, scene: &Scene, name: &str) -> Result<bool, BindingFault> {
    let sql =
        "DELETE FROM native_ids WHERE kind = 'reservation' AND reservation = ?1 AND owner_environment = ?2";
    let removed = connection.execute(sql, (name, scene.owners.environment())).map_err(scene.failed())?;
    Ok(removed > 0)
}

/// Who has a native id.
fn holder(
    connection: &Connection,
    scene: &Scene,
    adapter_id: &str,
    native: &str,
) -> Result<Option<Holder>, BindingFault> {
    let sql =
        "SELECT product_session_id, owner FROM native_ids WHERE adapter_id = ?1 AND native_session_id = ?2";
    let found: Option<(String, Option<String>)> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row([adapter_id, native], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(scene.failed())?;
    let Some((id, owner)) = found else { return Ok(None) };
    let what = "the table of native sessions names no session";
    let id = ProductSessionId::new(&id).ok_or(Corrupt { id: None, what })?;
    Ok(Some(match owner {
        None => Holder::Binding(id),
        Some(owner) if scene.owners.is_dead(&*scene.system, &owner) => Holder::Lapsed,
        Some(_) => Holder::Reservation(id),
    }))
}
