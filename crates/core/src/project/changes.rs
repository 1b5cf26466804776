//! What changed since a cursor, as rows.
//!
//! Input: a cursor. Output: the rows that are new or other than then, and the keys of those that are gone.
//! Invariant: who applies each answer in turn has the rows of the projection. Never: looks at a source in which nothing happened.

use std::collections::{BTreeSet, VecDeque};
use std::hash::Hasher as _;

use hashbrown::HashMap;
use serde::Serialize;
use siphasher::sip::SipHasher13;

use super::content::HashKeys;
use super::projector::{Projector, Source};
use super::rows::{BesideAll, Row, rows};
use crate::json;

/// Removals remembered; a cursor from before a forgotten one gets everything anew.
pub const REMOVALS: usize = 4096;

/// The answer to "what changed".
#[derive(Clone, Debug, Serialize)]
pub struct ChangeSet {
    /// What to ask with next time.
    pub cursor: String,
    /// Rows that are new or other than before, in tree order within their source.
    pub upserted: Vec<Row>,
    /// Keys of rows that are gone.
    pub removed: Vec<String>,
    /// Whether `upserted` is everything there is, and whatever else was known is void.
    pub reset: bool,
}

/// What the projector keeps to tell changes.
#[derive(Debug)]
pub(super) struct Changes {
    /// Tells cursors of one projection from those of another.
    instance: u64,
    /// How many times somebody looked and something had changed.
    revision: u64,
    /// How often something may have changed.
    touches: u64,
    /// Sources in which something may have changed since.
    touched: Vec<Box<str>>,
    /// Sources by the revision in which one of their rows last changed.
    by_revision: BTreeSet<(u64, Box<str>)>,
    removals: VecDeque<(u64, Box<str>, String)>,
    /// The revision of the newest removal that was forgotten.
    forgotten: u64,
}

/// The rows of a source as they were last told.
#[derive(Debug, Default)]
pub(super) struct Reported {
    revision: u64,
    rows: HashMap<String, Told>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    hash: u64,
    revision: u64,
}

impl Changes {
    pub(super) fn new(keys: HashKeys) -> Self {
        Self {
            instance: hash(keys, b"cursor"),
            revision: 0,
            touches: 0,
            touched: Vec::new(),
            by_revision: BTreeSet::new(),
            removals: VecDeque::new(),
            forgotten: 0,
        }
    }

    /// Something may have changed in a source.
    pub(super) fn touch(&mut self, name: &str, source: &mut Source) {
        self.touches += 1;
        source.touched_at = self.touches;
        if !source.is_touched {
            source.is_touched = true;
            self.touched.push(name.into());
        }
    }

    fn cursor(&self) -> String {
        format!("{:016x}.{}", self.instance, self.revision)
    }

    /// The revision that a cursor of this projection names, unless that is too long ago.
    fn revision_of(&self, cursor: &str) -> Option<u64> {
        let (instance, revision) = cursor.split_once('.')?;
        let revision =
            revision.parse().ok().filter(|&revision| format!("{revision}").len() + 17 == cursor.len())?;
        let is_ours = u64::from_str_radix(instance, 16) == Ok(self.instance);
        (is_ours && (self.forgotten..=self.revision).contains(&revision)).then_some(revision)
    }

    fn remove(&mut self, revision: u64, source: &str, key: String) {
        if self.removals.len() == REMOVALS
            && let Some((revision, ..)) = self.removals.pop_front()
        {
            self.forgotten = revision;
        }
        self.removals.push_back((revision, source.into(), key));
    }
}

fn hash(keys: HashKeys, bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(keys.0, keys.1);
    hasher.write(bytes);
    hasher.finish()
}

impl Projector {
    /// The rows that changed since `cursor`, those whose derived members changed with another row among them. Without a cursor, or
    /// with one that is too old or of another projection, everything (`reset`). The same cursor again gives at least the same.
    ///
    /// The cost grows with what changed and its sources, not with the others.
    pub fn changes_since(&mut self, cursor: Option<&str>, beside: &BesideAll) -> ChangeSet {
        let fresh = self.look(beside);
        let since = cursor.and_then(|cursor| self.changes.revision_of(cursor));
        let cursor = self.changes.cursor();
        let Some(since) = since else {
            let upserted = rows(self.records(), beside);
            return ChangeSet { cursor, upserted, removed: Vec::new(), reset: true };
        };
        let mut upserted = Vec::new();
        for (_, name) in self.changes.by_revision.range((since + 1, Box::default())..) {
            let Some(reported) = self.sources.get(name).and_then(|source| source.reported.as_deref()) else {
                continue;
            };
            let is_new = |row: &Row| reported.rows.get(&row.key).is_some_and(|told| told.revision > since);
            match fresh.get(name) {
                Some(rows) => upserted.extend(rows.iter().filter(|row| is_new(row)).cloned()),
                None => upserted.extend(self.rows_of(name, beside).into_iter().filter(is_new)),
            }
        }
        let first = self.changes.removals.partition_point(|(revision, ..)| *revision <= since);
        let mut removed: Vec<String> = Vec::new();
        for (_, name, key) in self.changes.removals.range(first..) {
            let reported = self.sources.get(name).and_then(|source| source.reported.as_deref());
            if !reported.is_some_and(|reported| reported.rows.contains_key(key)) && !removed.contains(key) {
                removed.push(key.clone());
            }
        }
        ChangeSet { cursor, upserted, removed, reset: false }
    }

    /// The sources in which something may have changed since `mark`, in the order of their names, and the mark to ask with next time.
    #[must_use]
    pub fn touched_since(&self, mark: u64) -> (Vec<&str>, u64) {
        if mark == self.changes.touches {
            return (Vec::new(), mark);
        }
        let touched = self.sources.iter().filter(|(_, source)| source.touched_at > mark);
        let mut names: Vec<&str> = touched.map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        (names, self.changes.touches)
    }

    /// Something that its rows show beside their records may have changed in a source.
    pub fn touch(&mut self, name: &str) {
        if let Some(source) = self.sources.get_mut(name) {
            self.changes.touch(name, source);
        }
    }

    /// Compares the rows of touched sources with what was told of them; the rows as they are.
    fn look(&mut self, beside: &BesideAll) -> HashMap<Box<str>, Vec<Row>> {
        let mut fresh = HashMap::new();
        let revision = self.changes.revision + 1;
        for name in std::mem::take(&mut self.changes.touched) {
            let rows = self.rows_of(&name, beside);
            let Some(source) = self.sources.get_mut(&name) else { continue };
            source.is_touched = false;
            let reported = source.reported.get_or_insert_default();
            let mut before = std::mem::take(&mut reported.rows);
            let mut is_changed = false;
            for row in &rows {
                let hash = self.hasher.id(&json::write(row));
                let told = before.remove(&row.key).filter(|told| told.hash == hash);
                is_changed |= told.is_none();
                reported.rows.insert(row.key.clone(), told.unwrap_or(Told { hash, revision }));
            }
            is_changed |= !before.is_empty();
            let mut gone: Vec<String> = before.into_keys().collect();
            gone.sort_unstable();
            for key in gone {
                self.changes.remove(revision, &name, key);
            }
            if is_changed {
                self.changes.by_revision.remove(&(reported.revision, name.clone()));
                reported.revision = revision;
                self.changes.by_revision.insert((revision, name.clone()));
                self.changes.revision = revision;
            }
            fresh.insert(name, rows);
        }
        fresh
    }

    fn rows_of(&self, name: &str, beside: &BesideAll) -> Vec<Row> {
        rows(self.records_of(name), beside)
    }
}
