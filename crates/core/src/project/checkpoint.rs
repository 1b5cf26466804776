//! A checkpoint: events that rebuild a projection.
//!
//! Input: a projection. Output: one event for each source and each record, several where one would be too large; and back.
//! Invariant: a part is an event like any other. Never: writes what the host alone knows (processes).

use super::audit::Ring;
use super::corrections::{Op, Place, note_event, source_lineage};
use super::dedupe::Seen;
use super::projector::{Projector, RETIRED, Source};
use super::record::Record;
use super::stored::{Stored, member, object};
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::{Event, Lineage, Moment};
use crate::json::{self, Json};

/// Bytes of JSON of a record in one event; what the event needs beside it has room in the rest of `details`.
const PART_BYTES: usize = 48 * 1024;

impl Projector {
    /// Events that rebuild this projection when they are replayed, those of a source before those of its children. What a host set
    /// ([`set_process`](Self::set_process)) and the audit are not in them.
    ///
    /// A projector with the same [`hash_keys`](super::Config::hash_keys) is then equal to this one. With other keys it still knows
    /// what was said, but no longer with which content: a sequence said again is `identity_unchecked`, an unsequenced id that is not
    /// newer `identity_evicted`.
    #[must_use]
    pub fn checkpoint(&self, at: Moment) -> Vec<Event<'static>> {
        let mut names: Vec<&str> = self.sources.keys().map(AsRef::as_ref).collect();
        names.sort_unstable();
        let mut events = Vec::new();
        for name in names {
            let Some(source) = self.sources.get(name) else { continue };
            let place = Place { source: name, child: SOURCE_NOTE, key: None };
            self.write(&mut events, place, &source_lineage(), &stored_source(source), at);
            let mut keys: Vec<_> = source.children.values().copied().collect();
            keys.sort_unstable();
            for record in keys.into_iter().filter_map(|key| self.get(key)) {
                let place = Place { source: name, child: &record.child_id, key: None };
                self.write(&mut events, place, &record.lineage, &stored_record(record), at);
            }
        }
        events
    }

    fn write(
        &self,
        events: &mut Vec<Event<'static>>,
        place: Place<'_>,
        lineage: &Lineage<'static>,
        record: &Json,
        at: Moment,
    ) {
        let epoch = self.epoch(place.source).unwrap_or_default();
        let parts = split(record);
        let of = parts.len() as u64;
        for (part, record) in (1..).zip(parts) {
            let lifecycle = object([
                ("op", Json::Text(Op::Checkpoint.word().to_owned())),
                ("at", at.store()),
                ("part", part.store()),
                ("parts", of.store()),
                ("keys", Json::Text(format!("{:016x}", self.hasher.fingerprint()))),
                ("record", record),
            ]);
            let id = format!("{}/{}/{part}", Op::Checkpoint.word(), at.to_text());
            events.push(note_event(
                place,
                epoch,
                id,
                lineage.clone(),
                at,
                object([("lifecycle", lifecycle)]),
            ));
        }
    }
}

/// Members of a record, by name, that are neither in its event nor the host's.
macro_rules! record_members {
    ($with:ident) => {
        $with! {
            state: "state", waiting_reason: "waitingReason", state_since: "stateSince", started_at: "startedAt",
            activity: "activity", capabilities: "capabilities", freshness: "freshness", gap_detected: "gapDetected",
            epoch_conflict: "epochConflict", late_evidence: "lateEvidence", notes: "notes", facts: "facts", seen: "seen",
            last_state_sequence: "lastStateSequence", last_state_at: "lastStateAt", authority: "authority",
        }
    };
}

fn stored_record(record: &Record) -> Json {
    macro_rules! store {
        ($($field:ident: $key:literal,)*) => { object([$(($key, record.$field.store())),*]) };
    }
    record_members!(store)
}

/// The record in a checkpoint.
pub(super) fn load_record(event: &Event<'_>, json: &Json) -> Option<Record> {
    macro_rules! load {
        ($($field:ident: $key:literal,)*) => {
            Record {
                source: event.source.as_ref().into(),
                child_id: event.child_id.as_ref().into(),
                lineage: event.lineage.to_static(),
                process: None,
                spared: false,
                $($field: Stored::load(member(json, $key))?,)*
            }
        };
    }
    Some(record_members!(load))
}

fn stored_source(source: &Source) -> Json {
    object([
        ("retired", source.retired.store()),
        ("seen", source.seen.store()),
        ("announcer", source.announcer.store()),
        ("notes", source.notes.store()),
        ("snapshots", source.snapshots.store()),
        ("corrections", source.corrections.store()),
    ])
}

/// Fills a source with what a checkpoint says of it; its epoch and its children stay. Whether all of it could be read.
pub(super) fn load_source(source: &mut Source, json: &Json) -> Option<()> {
    let mut retired: std::collections::VecDeque<Box<str>> = Stored::load(member(json, "retired"))?;
    retired.drain(..retired.len().saturating_sub(RETIRED));
    let seen: Seen = Stored::load(member(json, "seen"))?;
    let announcer = Stored::load(member(json, "announcer"))?;
    let notes: Ring<_, _> = Stored::load(member(json, "notes"))?;
    let snapshots = Stored::load(member(json, "snapshots"))?;
    let corrections = Stored::load(member(json, "corrections"))?;
    (source.retired, source.seen, source.announcer) = (retired, seen, announcer);
    (source.notes, source.snapshots, source.corrections) = (notes, snapshots, corrections);
    Some(())
}

/// Pieces that [`merge`] makes the value of again, each small enough for an event.
fn split(value: &Json) -> Vec<Json> {
    if !json::length_exceeds(value, PART_BYTES) {
        return vec![value.clone()];
    }
    let mut pieces = Pieces { done: Vec::new(), current: Json::Object(Vec::new()), bytes: 0 };
    pieces.take(&mut Vec::new(), value);
    pieces.done.push(pieces.current);
    pieces.done
}

struct Pieces {
    done: Vec<Json>,
    current: Json,
    bytes: usize,
}

impl Pieces {
    /// Takes the value at the end of a path of member names, by its leaves and list items.
    fn take<'a>(&mut self, path: &mut Vec<&'a str>, value: &'a Json) {
        match value {
            Json::Object(members) if !members.is_empty() => {
                for (key, value) in members {
                    path.push(key);
                    self.take(path, value);
                    path.pop();
                }
            }
            Json::Array(items) if !items.is_empty() => {
                for item in items {
                    self.add(path, Json::Array(vec![item.clone()]));
                }
            }
            leaf => self.add(path, leaf.clone()),
        }
    }

    fn add(&mut self, path: &[&str], leaf: Json) {
        let nested =
            path.iter().rev().fold(leaf, |inner, key| Json::Object(vec![((*key).to_owned(), inner)]));
        let bytes = json::write(&nested).len();
        if self.bytes > 0 && self.bytes + bytes > PART_BYTES {
            self.done.push(std::mem::replace(&mut self.current, Json::Object(Vec::new())));
            self.bytes = 0;
        }
        self.bytes += bytes;
        merge(&mut self.current, nested);
    }
}

/// Adds a piece: members of objects one by one, items of lists at the end.
pub(super) fn merge(whole: &mut Json, piece: Json) {
    match (whole, piece) {
        (Json::Object(members), Json::Object(more)) => {
            for (key, value) in more {
                match members.iter_mut().find(|(name, _)| *name == key) {
                    Some((_, known)) => merge(known, value),
                    None => members.push((key, value)),
                }
            }
        }
        (Json::Array(items), Json::Array(more)) => items.extend(more),
        (whole, piece) => *whole = piece,
    }
}
