//! A store without its thread: every operation as one transaction.
//!
//! Input: requests. Output: answers. Invariant: what a rule forbids, or what fails, leaves no trace.
//! Never: answers before the transaction is on the medium.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::runtime::binding::{
    Binding, BindingCode, BindingFault, Content, Expected, Filter, Inspection, Mode, OwnerStatus,
    ProductSessionId, Step, may_begin, update,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Options;
use super::fault::of_sqlite;
use super::history::{self, Change};
use super::natives;
use super::open::open;
use super::owners::Owners;
use super::rows::{self, Stored, Unread};
use crate::storage::System;

/// An open store.
pub(super) struct Engine {
    connection: Connection,
    pub(super) scene: Scene,
}

/// What operations need beside the connection.
pub(super) struct Scene {
    pub(super) path: PathBuf,
    pub(super) system: Arc<dyn System>,
    pub(super) owners: Owners,
}

impl Scene {
    pub(super) fn failed(&self) -> impl Fn(rusqlite::Error) -> BindingFault {
        |error| of_sqlite(&self.path, &error)
    }

    pub(super) fn unread(&self) -> impl Fn(Unread) -> BindingFault {
        |unread| match unread {
            Unread::Sqlite(error) => of_sqlite(&self.path, &error),
            Unread::Corrupt(corrupt) => corrupt.into(),
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment::from_unix_millis(self.system.now())
    }

    /// Whether somebody owns it who is not provably dead.
    pub(super) fn is_owned(&self, stored: &Stored) -> bool {
        stored.owner.as_ref().is_some_and(|owner| !self.owners.is_dead(&*self.system, owner))
    }

    /// The binding of `id`, which must be there.
    pub(super) fn find(
        &self,
        connection: &Connection,
        id: &ProductSessionId,
    ) -> Result<Stored, BindingFault> {
        rows::find(connection, id).map_err(self.unread())?.ok_or_else(|| BindingFault::not_found(id))
    }
}

impl Engine {
    pub(super) fn open(options: &Options, hurry: &Arc<AtomicBool>) -> Result<Self, BindingFault> {
        let (path, connection) = open(options, hurry)?;
        let system = Arc::clone(&options.system);
        let owners = Owners::new(&*system);
        Ok(Self { connection, scene: Scene { path, system, owners } })
    }

    /// One transaction that writes.
    pub(super) fn write<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>, &Scene) -> Result<T, BindingFault>,
    ) -> Result<T, BindingFault> {
        let Self { connection, scene } = self;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(scene.failed())?;
        let done = act(&transaction, scene)?;
        transaction.commit().map_err(scene.failed())?;
        Ok(done)
    }

    /// One view of the store, however many statements look at it.
    pub(super) fn read<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>, &Scene) -> Result<T, BindingFault>,
    ) -> Result<T, BindingFault> {
        let Self { connection, scene } = self;
        let transaction = connection.transaction().map_err(scene.failed())?;
        act(&transaction, scene)
    }

    pub(super) fn create(&mut self, content: Content) -> Result<Binding, BindingFault> {
        self.write(|transaction, scene| {
            let id = &content.product_session_id;
            if rows::find(transaction, id).map_err(scene.unread())?.is_some() {
                let message = format!("there is a binding of {id}; read it, or update it");
                return Err(BindingFault::of(BindingCode::Exists, id, message));
            }
            may_begin(&content)
                .map_err(|rule| BindingFault::transition(id, None, content.state, Mode::Normal, rule))?;
            natives::record(transaction, scene, None, &content)?;
            let now = scene.now();
            let binding = Binding { content, revision: 1, generation: 0, created_at: now, updated_at: now };
            rows::write(transaction, &binding).map_err(scene.failed())?;
            history::note(transaction, Change::Created, None, &binding, now).map_err(scene.failed())?;
            Ok(binding)
        })
    }

    pub(super) fn get(&mut self, id: &ProductSessionId) -> Result<Option<Binding>, BindingFault> {
        self.read(|transaction, scene| {
            let found = rows::find(transaction, id).map_err(scene.unread())?;
            Ok(found.map(|stored| stored.binding))
        })
    }

    pub(super) fn list(&mut self, filter: &Filter) -> Result<Vec<Binding>, BindingFault> {
        self.read(|transaction, scene| {
            let mut found = Vec::new();
            rows::each(transaction, filter, |row| found.push(row)).map_err(scene.failed())?;
            found.into_iter().map(|row| Ok(row?.binding)).collect()
        })
    }

    pub(super) fn update(&mut self, next: Content, expected: Expected) -> Result<Binding, BindingFault> {
        self.write(|transaction, scene| {
            let id = &next.product_session_id;
            let Some(stored) = rows::find(transaction, id).map_err(scene.unread())? else {
                return Err(BindingFault::conflict(id, expected.revision, 0));
            };
            let is_owned = scene.is_owned(&stored);
            let current = stored.binding;
            let Step::Write { revision } = update(&current, is_owned, &next, expected)? else {
                return Ok(current);
            };
            natives::record(transaction, scene, Some(&current.content), &next)?;
            let now = scene.now();
            let binding = Binding { content: next, revision, updated_at: now, ..current };
            rows::write(transaction, &binding).map_err(scene.failed())?;
            let mode = Some(expected.mode);
            history::note(transaction, Change::Updated, mode, &binding, now).map_err(scene.failed())?;
            Ok(binding)
        })
    }

    pub(super) fn inspect(&mut self, id: &ProductSessionId) -> Result<Option<Inspection>, BindingFault> {
        self.read(|transaction, scene| {
            let found = rows::find(transaction, id).map_err(scene.unread())?;
            Ok(found.map(|stored| scene.inspection(stored)))
        })
    }

    pub(super) fn history(&mut self, id: &ProductSessionId) -> Result<Vec<String>, BindingFault> {
        self.read(|transaction, scene| history::of(transaction, id).map_err(scene.failed()))
    }
}

impl Scene {
    pub(super) fn inspection(&self, stored: Stored) -> Inspection {
        let owner = stored.owner.as_ref().map(|owner| self.owners.look(&*self.system, owner));
        Inspection::of(stored.binding, owner)
    }

    /// Whether the owner of a binding is provably dead.
    pub(super) fn has_dead_owner(&self, stored: &Stored) -> bool {
        let status = stored.owner.as_ref().map(|owner| self.owners.look(&*self.system, owner).status);
        status == Some(OwnerStatus::Dead)
    }
}
