//! Observations that have an id of their own, so that a repeat is known.
//!
//! Input: the turn, sub-agent and id of each. Output: whether it was seen before. Invariant: the last so many are remembered.
//! Never: takes two for one because they say the same.

use std::collections::VecDeque;
use std::hash::{Hash as _, Hasher as _};

use hashbrown::HashSet;
use siphasher::sip::SipHasher13;

use super::input::Place;

/// Observations remembered.
const SEEN: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SeenEvents {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl SeenEvents {
    /// Whether this is the first time; without an id nobody can tell, and it counts as one.
    pub(super) fn is_first(&mut self, turn_id: Option<&str>, place: &Place) -> bool {
        let Some(event) = &place.event else { return true };
        let mut hasher = SipHasher13::new();
        (turn_id, &place.native_turn, &place.scope, event).hash(&mut hasher);
        let name = hasher.finish();
        if !self.known.insert(name) {
            return false;
        }
        if self.order.len() == SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(name);
        true
    }
}
