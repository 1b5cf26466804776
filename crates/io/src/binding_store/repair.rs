//! What the command shows of a whole store, and what it frees.
//!
//! Input: a store. Output: rows that may be shown, faults that were found, and how much was freed.
//! Invariant: only what belongs to the provably dead is freed, and what an operator names. Never: deletes or mends a damaged row.

use agent_lifecycle_core::runtime::binding::{BindingFault, Filter, Inspection, ProductSessionId};
use rusqlite::Connection;
use serde::Serialize;

use super::claims::disown;
use super::engine::{Engine, Scene};
use super::history::Change;
use super::rows::{self, Corrupt, Stored};

/// Faults of the file that are told.
const FAULTS: usize = 20;

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CorruptRow {
    /// Its id, where that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_session_id: Option<ProductSessionId>,
    /// What is wrong with it.
    pub what: &'static str,
}

impl From<Corrupt> for CorruptRow {
    fn from(Corrupt { id, what }: Corrupt) -> Self {
        Self { product_session_id: id, what }
    }
}

/// Every binding that can be read, and the rows that cannot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// In the order of their ids.
    pub bindings: Vec<Inspection>,
    /// The others.
    pub corrupt: Vec<CorruptRow>,
}

/// What `repair` is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Only look.
    pub dry_run: bool,
    /// A session whose owner is gone, as the operator says, where nothing proves it.
    pub release: Option<ProductSessionId>,
}

/// What `repair` found and freed, or would free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Bindings that can be read.
    pub bindings: usize,
    /// Rows that cannot.
    pub corrupt: Vec<CorruptRow>,
    /// What the check of the file says: the first 20.
    pub file_faults: Vec<String>,
    /// Native ids that are claimed for a binding that there is not.
    pub stray_native_ids: u64,
    /// Sessions whose claim was freed.
    pub freed: Vec<ProductSessionId>,
    /// Reservations of dead owners that were given up.
    pub freed_reservations: usize,
    /// Sessions whose claim stays, because nothing proves that its owner is dead.
    pub owned: Vec<ProductSessionId>,
}

impl Engine {
    pub(super) fn overview(&mut self, filter: &Filter) -> Result<Overview, BindingFault> {
        self.read(|transaction, scene| {
            let (stored, corrupt) = all(transaction, scene, filter)?;
            let bindings = stored.into_iter().map(|stored| scene.inspection(stored)).collect();
            Ok(Overview { bindings, corrupt })
        })
    }

    pub(super) fn repair(&mut self, repair: &Repair) -> Result<Found, BindingFault> {
        let file_faults = self.read(|transaction, _| {
            // A file that cannot even be checked has a fault, and its rows may be readable all the same.
            Ok(check(transaction)
                .unwrap_or_else(|_| vec!["the check of the file could not be finished".to_owned()]))
        })?;
        let look = |connection: &Connection, scene: &Scene| find(connection, scene, repair, file_faults);
        if repair.dry_run {
            return self.read(|transaction, scene| look(transaction, scene));
        }
        self.write(|transaction, scene| look(transaction, scene))
    }
}

/// The check that `SQLite` has for its files. Its texts name tables and numbers, never values.
fn check(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
    let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn all(
    connection: &Connection,
    scene: &Scene,
    filter: &Filter,
) -> Result<(Vec<Stored>, Vec<CorruptRow>), BindingFault> {
    let (mut stored, mut corrupt) = (Vec::new(), Vec::new());
    rows::each(connection, filter, |row| match row {
        Ok(row) => stored.push(row),
        Err(row) => corrupt.push(row.into()),
    })
    .map_err(scene.failed())?;
    Ok((stored, corrupt))
}

fn find(
    connection: &Connection,
    scene: &Scene,
    repair: &Repair,
    file_faults: Vec<String>,
) -> Result<Found, BindingFault> {
    let (stored, corrupt) = all(connection, scene, &Filter::default())?;
    if let Some(id) = &repair.release {
        // A name that there is not would look like success.
        scene.find(connection, id)?;
    }
    let (mut freed, mut owned) = (Vec::new(), Vec::new());
    for stored in stored.iter().filter(|stored| stored.owner.is_some()) {
        let id = &stored.binding.content.product_session_id;
        if !scene.has_dead_owner(stored) && repair.release.as_ref() != Some(id) {
            owned.push(id.clone());
            continue;
        }
        if !repair.dry_run {
            disown(connection, scene, &stored.binding, Change::Freed)?;
        }
        freed.push(id.clone());
    }
    let stray = "SELECT count(*) FROM native_ids n WHERE kind = 'claim' AND NOT EXISTS \
        (SELECT 1 FROM bindings b WHERE b.product_session_id = n.product_session_id)";
    let stray_native_ids: i64 = connection.query_row(stray, [], |row| row.get(0)).map_err(scene.failed())?;
    Ok(Found {
        bindings: stored.len(),
        corrupt,
        file_faults,
        stray_native_ids: stray_native_ids.unsigned_abs(),
        freed,
        freed_reservations: free_reservations(connection, scene, repair.dry_run)?,
        owned,
    })
}

/// Gives up the reservations of dead owners; how many.
fn free_reservations(connection: &Connection, scene: &Scene, dry_run: bool) -> Result<usize, BindingFault> {
    let sql = "SELECT reservation, owner FROM native_ids WHERE kind = 'reservation'";
    let mut statement = connection.prepare(sql).map_err(scene.failed())?;
    let kept: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .and_then(Iterator::collect)
        .map_err(scene.failed())?;
    let dead = kept.iter().filter(|(_, owner)| scene.owners.is_dead(&*scene.system, owner));
    let mut freed = 0;
    for (name, _) in dead {
        if !dry_run {
            let sql = "DELETE FROM native_ids WHERE kind = 'reservation' AND reservation = ?1";
            connection.execute(sql, [name]).map_err(scene.failed())?;
        }
        freed += 1;
    }
    Ok(freed)
}
