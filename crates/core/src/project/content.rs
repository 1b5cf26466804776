//! The content of an event as numbers, for telling a repeat from a contradiction.
//!
//! Input: a normalised event. Output: two keyed hashes, of its times and of the rest. Invariant: equal events give equal hashes,
//! whatever the order of object members. Never: compares an estimated time.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::contract::{Event, Timestamp};
use crate::json::Json;

/// The member of `details` that says that the event's time was estimated.
const MARK: &str = "timeEstimated";

/// Secret numbers that make collisions unpredictable.
pub type HashKeys = (u64, u64);

/// What an event says, as keyed hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Everything but its times.
    pub(super) said: u64,
    /// Its times; 0 where they are estimated, and only there.
    pub(super) times: u64,
}

impl Content {
    /// Whether both are one event: they say the same, and at the same times unless one of them had to estimate.
    #[must_use]
    pub fn agrees(self, other: Self) -> bool {
        let is_timed = self.times != 0 && other.times != 0;
        self.said == other.said && (!is_timed || self.times == other.times)
    }
}

/// Hashes contents and ids with a buffer of its own.
#[derive(Debug)]
pub struct ContentHasher {
    keys: HashKeys,
    buffer: Vec<u8>,
}

impl ContentHasher {
    /// A hasher with these keys.
    #[must_use]
    pub fn new(keys: HashKeys) -> Self {
        Self { keys, buffer: Vec::new() }
    }

    /// The hash of an id.
    #[must_use]
    pub fn id(&self, id: &str) -> u64 {
        self.hash(id.as_bytes())
    }

    /// Tells hashes of these keys from those of others, and nothing about the keys.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.hash(b"fingerprint")
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(bytes);
        hasher.finish()
    }

    /// The hashes of everything an event says, its source, epoch and child left out (identity is judged within them).
    #[must_use]
    pub fn event(&mut self, event: &Event<'_>) -> Content {
        let estimated = event.details.as_ref().is_some_and(is_estimated);
        self.write_said(event);
        let said = self.hash(&self.buffer);
        self.buffer.clear();
        text(&mut self.buffer, event.observed_at.as_str());
        let adopted_at = event.lineage.adopted_at.as_ref().map(Timestamp::as_str);
        option(&mut self.buffer, adopted_at, text);
        let times = if estimated { 0 } else { self.hash(&self.buffer).max(1) };
        Content { said, times }
    }

    /// Fills the buffer with everything but the times, and the mark that they are estimated.
    fn write_said(&mut self, event: &Event<'_>) {
        let Event {
            event_id,
            source: _,
            source_epoch: _,
            child_id: _,
            lineage,
            kind,
            state,
            waiting_reason,
            observed_at: _,
            sequence,
            activity,
            details,
            capabilities,
        } = event;
        self.buffer.clear();
        let buffer = &mut self.buffer;
        text(buffer, event_id);
        text(buffer, &lineage.root_child_id);
        option(buffer, lineage.parent_child_id.as_deref(), text);
        number(buffer, lineage.attempt);
        buffer.push(u8::from(lineage.external));
        buffer.push(*kind as u8);
        buffer.push(state.map_or(u8::MAX, |state| state as u8));
        buffer.push(waiting_reason.map_or(u8::MAX, |reason| reason as u8));
        option(buffer, *sequence, number);
        option(buffer, activity.as_deref(), text);
        match details {
            Some(Json::Object(members)) if details.as_ref().is_some_and(is_estimated) => {
                // Details that hold the mark alone are there for the mark.
                let unmarked = |(key, _): &&(String, Json)| key != MARK;
                buffer.push(u8::from(members.len() > 1));
                if members.len() > 1 {
                    object(buffer, members.iter().filter(unmarked));
                }
            }
            details => option(buffer, details.as_ref(), json),
        }
        for capability in [
            capabilities.history,
            capabilities.heartbeat,
            capabilities.snapshot,
            capabilities.cancel,
            capabilities.terminal_cause,
        ] {
            buffer.push(capability as u8);
        }
    }
}

/// Whether the details say that the event's time was estimated.
#[must_use]
pub fn is_estimated(details: &Json) -> bool {
    details.get(MARK) == Some(&Json::Bool(true))
}

fn number(buffer: &mut Vec<u8>, number: u64) {
    buffer.extend_from_slice(&number.to_le_bytes());
}

fn text(buffer: &mut Vec<u8>, text: &str) {
    number(buffer, text.len() as u64);
    buffer.extend_from_slice(text.as_bytes());
}

fn option<T>(buffer: &mut Vec<u8>, value: Option<T>, write: impl Fn(&mut Vec<u8>, T)) {
    buffer.push(u8::from(value.is_some()));
    if let Some(value) = value {
        write(buffer, value);
    }
}

fn json(buffer: &mut Vec<u8>, value: &Json) {
    match value {
        Json::Null => buffer.push(0),
        Json::Bool(value) => buffer.extend_from_slice(&[1, u8::from(*value)]),
        Json::Number(value) => {
            buffer.push(2);
            number(buffer, value.to_bits());
        }
        Json::Text(value) => {
            buffer.push(3);
            text(buffer, value);
        }
        Json::Array(items) => {
            buffer.push(4);
            number(buffer, items.len() as u64);
            for item in items {
                json(buffer, item);
            }
        }
        Json::Object(members) => object(buffer, members.iter()),
    }
}

fn object<'a>(buffer: &mut Vec<u8>, members: impl Iterator<Item = &'a (String, Json)>) {
    buffer.push(5);
    let mut sorted: Vec<_> = members.collect();
    sorted.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    number(buffer, sorted.len() as u64);
    for (key, value) in sorted {
        text(buffer, key);
        json(buffer, value);
    }
}
