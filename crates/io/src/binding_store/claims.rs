//! Claims: who runs a session, and what ends with its owner.
//!
//! Input: a session, or the end of a store. Output: the next generation, or why not. Invariant: the generation only grows.
//! Never: releases for another generation than the one that is named.

use agent_lifecycle_core::runtime::binding::{Binding, BindingFault, NativeSession, ProductSessionId, claim};
use rusqlite::Connection;
use serde::Serialize;

use super::engine::{Engine, Scene};
use super::history::{self, Change};
use super::{natives, rows};

/// What a claim gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claimed {
    /// The binding with its new revision and generation.
    pub binding: Binding,
    /// The fence.
    pub generation: u64,
}

/// What a reservation gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reserved {
    /// What is kept, and for whom.
    #[serde(flatten)]
    pub native: NativeSession,
    /// Its name, by which it is given up.
    pub reservation: String,
}

impl Engine {
    pub(super) fn claim(&mut self, id: &ProductSessionId, repairs: bool) -> Result<Claimed, BindingFault> {
        self.write(|transaction, scene| {
            let stored = scene.find(transaction, id)?;
            claim(&stored.binding, scene.is_owned(&stored), repairs)?;
            let current = stored.binding;
            let (now, generation) = (scene.now(), current.generation + 1);
            let binding = Binding { revision: current.revision + 1, generation, updated_at: now, ..current };
            rows::write(transaction, &binding).map_err(scene.failed())?;
            let sql = "UPDATE bindings SET owner = ?2, owner_environment = ?3 WHERE product_session_id = ?1";
            let owner = (id.as_str(), scene.owners.record(), scene.owners.environment());
            transaction.execute(sql, owner).map_err(scene.failed())?;
            history::note(transaction, Change::Claimed, None, &binding, now).map_err(scene.failed())?;
            Ok(Claimed { binding, generation })
        })
    }

    /// Gives up generation `generation`; `false` where that was done, or a later one has it.
    pub(super) fn release(&mut self, id: &ProductSessionId, generation: u64) -> Result<bool, BindingFault> {
        self.write(|transaction, scene| {
            let Some(stored) = rows::find(transaction, id).map_err(scene.unread())? else { return Ok(false) };
            if stored.owner.is_none() || stored.binding.generation != generation {
                return Ok(false);
            }
            disown(transaction, scene, &stored.binding, Change::Released)?;
            Ok(true)
        })
    }

    pub(super) fn reserve(&mut self, native: NativeSession) -> Result<Reserved, BindingFault> {
        self.write(|transaction, scene| {
            let reservation = natives::reserve(transaction, scene, &native)?;
            Ok(Reserved { native, reservation })
        })
    }

    pub(super) fn unreserve(&mut self, name: &str) -> Result<bool, BindingFault> {
        self.write(|transaction, scene| natives::unreserve(transaction, scene, name))
    }

    /// Notes a native session that nobody is bound to.
    pub(super) fn orphan(&mut self, native: &NativeSession) -> Result<(), BindingFault> {
        self.write(|transaction, scene| {
            let NativeSession { product_session_id, adapter_id, native_session_id } = native;
            let stored = scene.find(transaction, product_session_id)?;
            let now = scene.now();
            history::note_orphan(transaction, &stored.binding, adapter_id, native_session_id, now)
                .map_err(scene.failed())
        })
    }

    /// Gives up what this store owns: it ends. What cannot be given up now lapses, for this environment is then over.
    pub(super) fn release_all(&mut self) -> Result<(), BindingFault> {
        let environment = self.scene.owners.environment().to_owned();
        let is_owner = "SELECT EXISTS (SELECT 1 FROM bindings WHERE owner_environment = ?1) \
            OR EXISTS (SELECT 1 FROM native_ids WHERE owner_environment = ?1)";
        let owns: bool = self.read(|transaction, scene| {
            transaction.query_row(is_owner, [&environment], |row| row.get(0)).map_err(scene.failed())
        })?;
        if !owns {
            return Ok(());
        }
        self.write(|transaction, scene| {
            let sql = "SELECT product_session_id FROM bindings WHERE owner_environment = ?1";
            let mut statement = transaction.prepare(sql).map_err(scene.failed())?;
            let ids: Vec<String> = statement
                .query_map([&environment], |row| row.get(0))
                .and_then(Iterator::collect)
                .map_err(scene.failed())?;
            for id in ids.iter().filter_map(|id| ProductSessionId::new(id)) {
                // A damaged row of ours stays as it is; its owner is over all the same.
                if let Ok(Some(stored)) = rows::find(transaction, &id) {
                    disown(transaction, scene, &stored.binding, Change::Released)?;
                }
            }
            let sql = "DELETE FROM native_ids WHERE kind = 'reservation' AND owner_environment = ?1";
            transaction.execute(sql, [&environment]).map_err(scene.failed())?;
            Ok(())
        })
    }
}

/// Takes the owner off a binding. Its revision stays: what the binding says has not changed.
pub(super) fn disown(
    connection: &Connection,
    scene: &Scene,
    binding: &Binding,
    change: Change,
) -> Result<(), BindingFault> {
    let sql = "UPDATE bindings SET owner = NULL, owner_environment = NULL WHERE product_session_id = ?1";
    let id = &binding.content.product_session_id;
    connection.execute(sql, [id.as_str()]).map_err(scene.failed())?;
    history::note(connection, change, None, binding, scene.now()).map_err(scene.failed())
}
