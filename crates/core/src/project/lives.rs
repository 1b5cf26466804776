//! Which lives of things are shown, and which of them belong under which.
//!
//! Input: records. Output: the newest life of each thing and every older one that has not ended, with their parents and roots.
//! Invariant: a record that has not ended is shown; who names one life of a thing means its newest.

use std::collections::HashMap;

use super::record::Record;

/// A source and the id of a child or a thing of it.
type Id<'a> = (&'a str, &'a str);

/// Lives of things: `<id>` and `<id>#<attempt>` of one source are one thing.
pub(super) struct Lives<'a> {
    /// The records that are shown.
    pub(super) shown: Vec<&'a Record>,
    /// The place of the newest life among them, by its thing.
    newest: HashMap<Id<'a>, usize>,
    /// The thing of each record whose id is not the thing's.
    things: HashMap<Id<'a>, &'a str>,
}

impl<'a> Lives<'a> {
    pub(super) fn new(records: impl Iterator<Item = &'a Record>) -> Self {
        let records: Vec<&Record> = records.collect();
        let mut attempts: HashMap<Id<'_>, u64> = HashMap::with_capacity(records.len());
        let mut things = HashMap::new();
        for record in &records {
            let (source, thing) = (record.source.as_ref(), thing(record));
            if *record.child_id != *thing {
                things.insert((source, record.child_id.as_ref()), thing);
            }
            let newest = attempts.entry((source, thing)).or_default();
            *newest = (*newest).max(record.lineage.attempt);
        }
        let is_newest =
            |record: &Record| attempts[&(&*record.source, thing(record))] == record.lineage.attempt;
        let mut shown = records;
        shown.retain(|record| !record.state.is_terminal() || is_newest(record));
        let mut newest = HashMap::with_capacity(attempts.len());
        for (at, record) in shown.iter().enumerate().filter(|(_, record)| is_newest(record)) {
            newest.insert((record.source.as_ref(), thing(record)), at);
        }
        Self { shown, newest, things }
    }

    /// What the life at `at` belongs under: its parent, else its root, where that is shown.
    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        let lineage = &self.shown[at].lineage;
        let named = lineage.parent_child_id.as_deref().into_iter().chain([lineage.root_child_id.as_ref()]);
        named.filter_map(|id| self.resolve(at, id)).find(|parent| *parent != at)
    }

    /// The root of the life at `at`, where that is shown.
    pub(super) fn root(&self, at: usize) -> Option<usize> {
        self.resolve(at, &self.shown[at].lineage.root_child_id)
    }

    /// The life that `id` means to the one at `at`: the newest; itself where the thing is its own.
    fn resolve(&self, at: usize, id: &str) -> Option<usize> {
        let record = self.shown[at];
        let named = self.things.get(&(&*record.source, id)).copied().unwrap_or(id);
        if named == thing(record) { Some(at) } else { self.newest.get(&(&*record.source, named)).copied() }
    }
}

/// The id that all lives of a thing share.
fn thing(record: &Record) -> &str {
    match record.child_id.rsplit_once('#') {
        Some((base, attempt)) if attempt == record.lineage.attempt.to_string() => base,
        _ => &record.child_id,
    }
}
