//! Where records are: looked up by name or key, put in, taken out.
//!
//! Input: names and keys. Output: records. Invariant: a key never names another record after its own is gone.
//! Never: judges.

use super::audit::{Audit, Ring};
use super::projector::{AUDITS, Projector, RecordKey, Slot};
use super::record::{NOTES, NoteEvent, Record};

impl Projector {
    /// The record of a child.
    #[must_use]
    pub fn record(&self, source: &str, child_id: &str) -> Option<&Record> {
        self.get(self.key(source, child_id)?)
    }

    /// The record named by `key`, unless it was forgotten.
    #[must_use]
    pub fn get(&self, key: RecordKey) -> Option<&Record> {
        let slot = self.slots.get(key.slot as usize)?;
        slot.record.as_deref().filter(|_| slot.generation == key.generation)
    }

    /// All records, in the order in which they were first seen, but for places of forgotten ones.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.slots.iter().filter_map(|slot| slot.record.as_deref())
    }

    /// The records of a source, in that order.
    pub fn records_of(&self, source: &str) -> impl Iterator<Item = &Record> {
        let children = self.sources.get(source).map(|source| source.children.values().copied());
        let mut keys: Vec<RecordKey> = children.into_iter().flatten().collect();
        keys.sort_unstable();
        keys.into_iter().filter_map(|key| self.get(key))
    }

    /// The present epoch of a source.
    #[must_use]
    pub fn epoch(&self, source: &str) -> Option<&str> {
        self.sources.get(source).map(|source| source.epoch.as_ref())
    }

    /// Notes about a source itself.
    #[must_use]
    pub fn source_notes(&self, source: &str) -> Option<&Ring<NoteEvent, NOTES>> {
        self.sources.get(source).map(|source| &source.notes)
    }

    /// What authorities changed.
    #[must_use]
    pub fn audit(&self) -> &Ring<Audit, AUDITS> {
        &self.audit
    }

    pub(super) fn key(&self, source: &str, child_id: &str) -> Option<RecordKey> {
        self.sources.get(source)?.children.get(child_id).copied()
    }

    pub(super) fn get_mut(&mut self, key: RecordKey) -> Option<&mut Record> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        slot.record.as_deref_mut().filter(|_| slot.generation == key.generation)
    }

    /// Takes a record out.
    pub(super) fn take_out(&mut self, key: RecordKey) -> Option<Record> {
        self.get(key)?;
        let slot = self.slots.get_mut(key.slot as usize)?;
        let record = *slot.record.take()?;
        slot.generation += 1;
        self.free.push(key.slot);
        if let Some(source) = self.sources.get_mut(&record.source) {
            source.children.remove(&record.child_id);
            self.changes.touch(&record.source, source);
        }
        Some(record)
    }

    pub(super) fn insert(&mut self, record: Record) -> RecordKey {
        let (source, child_id) = (record.source.clone(), record.child_id.clone());
        let key = if let Some(slot) = self.free.pop() {
            let generation = self.slots[slot as usize].generation;
            self.slots[slot as usize].record = Some(Box::new(record));
            RecordKey { slot, generation }
        } else {
            self.slots.push(Slot { generation: 0, record: Some(Box::new(record)) });
            RecordKey { slot: u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX), generation: 0 }
        };
        self.sources.entry(source).or_default().children.insert(child_id, key);
        key
    }
}
