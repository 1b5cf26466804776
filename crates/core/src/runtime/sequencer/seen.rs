//! Names that were seen: of observations that have an id of their own, and of requests.
//!
//! Input: each name. Output: whether it is the first time. Invariant: the last so many are remembered.
//! Never: takes two for one because they say the same.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher as _};

use hashbrown::HashSet;
use siphasher::sip::SipHasher13;

/// Names remembered.
const SEEN: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SeenNames {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl SeenNames {
    /// Whether this is the first time.
    pub(super) fn is_first(&mut self, name: impl Hash) -> bool {
        let mut hasher = SipHasher13::new();
        name.hash(&mut hasher);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let mut seen = SeenNames::default();
        assert!((0..=SEEN).all(|name| seen.is_first(name)));
        assert!(!seen.is_first(SEEN) && !seen.is_first(1_usize));
        assert!(seen.is_first(0_usize));
        assert_eq!((seen.order.len(), seen.known.len()), (SEEN, SEEN));
    }
}
