//! Memory with a bound: a map that drops its oldest entry, a set that remembers the latest.
//!
//! Input: 64-bit fingerprints. Output: what is remembered about them. Invariant: never more entries than the capacity
//! (twice the capacity for [`Recent`]). Never: depends on the order of a hash table.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

/// A map of at most `capacity` entries; a further one takes the place of the oldest.
#[derive(Debug)]
pub(super) struct Bounded<V> {
    capacity: usize,
    next: u64,
    entries: HashMap<u64, (u64, V)>,
    /// Entries by age; removed ones stay until they are half of it.
    order: VecDeque<(u64, u64)>,
}

impl<V> Bounded<V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, next: 0, entries: HashMap::new(), order: VecDeque::new() }
    }

    /// Gives the entry whose place it takes, or one that had the same key.
    pub(super) fn insert(&mut self, key: u64, value: V) -> Option<(u64, V)> {
        let age = self.next;
        self.next += 1;
        let mut replaced = self.entries.insert(key, (age, value)).map(|entry| (key, entry.1));
        self.order.push_back((age, key));
        while self.entries.len() > self.capacity {
            let Some((age, key)) = self.order.pop_front() else { break };
            if self.is_live(age, key) {
                replaced = self.entries.remove(&key).map(|entry| (key, entry.1));
            }
        }
        if self.order.len() > 2 * self.capacity {
            let entries = &self.entries;
            self.order.retain(|(age, key)| entries.get(key).is_some_and(|entry| entry.0 == *age));
        }
        replaced
    }

    fn is_live(&self, age: u64, key: u64) -> bool {
        self.entries.get(&key).is_some_and(|entry| entry.0 == age)
    }

    pub(super) fn get(&self, key: u64) -> Option<&V> {
        self.entries.get(&key).map(|entry| &entry.1)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        self.entries.get_mut(&key).map(|entry| &mut entry.1)
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        self.entries.contains_key(&key)
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<V> {
        self.entries.remove(&key).map(|entry| entry.1)
    }

    /// The keys from the oldest to the newest entry.
    pub(super) fn keys(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.order.iter().filter(|(age, key)| self.is_live(*age, *key)).map(|(_, key)| *key)
    }

    /// The entries from the oldest to the newest.
    pub(super) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.keys().filter_map(|key| self.entries.get(&key).map(|entry| &entry.1))
    }
}

/// A set that remembers at least the latest `capacity` members, and at most twice as many.
#[derive(Debug)]
pub(super) struct Recent {
    capacity: usize,
    current: HashSet<u64>,
    previous: HashSet<u64>,
}

impl Recent {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, current: HashSet::new(), previous: HashSet::new() }
    }

    pub(super) fn contains(&self, member: u64) -> bool {
        self.current.contains(&member) || self.previous.contains(&member)
    }

    /// Remembers `member`; `false` where it is remembered already (it then counts as among the latest).
    pub(super) fn remember(&mut self, member: u64) -> bool {
        let known = self.contains(member);
        self.current.insert(member);
        if self.current.len() >= self.capacity {
            self.previous = std::mem::take(&mut self.current);
        }
        !known
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounded, Recent};

    #[test]
    fn a_full_map_drops_the_oldest_and_a_set_keeps_the_latest() {
        let mut map = Bounded::new(3);
        for key in 0..1000 {
            map.insert(key, key);
            if key % 2 == 0 {
                map.remove(key);
            }
            assert!(map.entries.len() <= 3 && map.order.len() <= 6);
        }
        assert_eq!(map.keys().collect::<Vec<_>>(), [995, 997, 999]);
        let mut set = Recent::new(10);
        for member in 0..1000 {
            assert!(set.remember(member));
            assert!(set.contains(member.saturating_sub(9)));
            assert!(set.current.len() + set.previous.len() <= 20);
        }
        assert!(!set.contains(5) && !set.remember(999));
    }
}
