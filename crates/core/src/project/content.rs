//! The content of an event as one number, for telling a repeat from a contradiction.
//!
//! Input: a normalised event. Output: a keyed 128-bit hash. Invariant: equal events give equal hashes, whatever the order of
//! object members. Never: depends on an estimated time.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::contract::{Event, Timestamp};
use crate::json::Json;

/// The member of `details` that says that the event's time was estimated.
const MARK: &str = "timeEstimated";

/// Secret numbers that make collisions unpredictable.
pub type HashKeys = (u64, u64);

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
        let mut hasher = siphasher::sip::SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// The hash of everything an event says, its source, epoch and child left out (identity is judged within them).
    #[must_use]
    pub fn event(&mut self, event: &Event<'_>) -> u128 {
        let timed = !event.details.as_ref().is_some_and(is_estimated);
        self.hash(event, timed)
    }

    /// The hash that the event would have if its time were estimated.
    #[must_use]
    pub fn timeless(&mut self, event: &Event<'_>) -> u128 {
        self.hash(event, false)
    }

    fn hash(&mut self, event: &Event<'_>, timed: bool) -> u128 {
        let Event {
            event_id,
            source: _,
            source_epoch: _,
            child_id: _,
            lineage,
            kind,
            state,
            waiting_reason,
            observed_at,
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
        if timed {
            text(buffer, observed_at.as_str());
            option(buffer, lineage.adopted_at.as_ref().map(Timestamp::as_str), text);
        }
        option(buffer, *sequence, number);
        option(buffer, activity.as_deref(), text);
        // Details that hold the mark alone are there for the mark.
        let marked = |details: &&Json| matches!(details, Json::Object(members) if matches!(&members[..], [(key, _)] if key == MARK));
        option(buffer, details.as_ref().filter(|details| !marked(details)), json);
        for capability in [
            capabilities.history,
            capabilities.heartbeat,
            capabilities.snapshot,
            capabilities.cancel,
            capabilities.terminal_cause,
        ] {
            buffer.push(capability as u8);
        }
        let mut hasher = SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(buffer);
        hasher.finish128().as_u128()
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
        Json::Object(members) => {
            buffer.push(5);
            let counted = members.iter().filter(|(key, _)| key != MARK);
            let mut sorted: Vec<_> = counted.collect();
            sorted.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
            number(buffer, sorted.len() as u64);
            for (key, value) in sorted {
                text(buffer, key);
                json(buffer, value);
            }
        }
    }
}
