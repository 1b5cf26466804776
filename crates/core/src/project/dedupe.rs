//! What a child has said before, within one epoch and bounded memory.
//!
//! Input: identities and content hashes. Output: whether each is new, a repeat or a contradiction.
//! Invariant: what was recorded is never new again. Never: grows beyond its windows.

use std::collections::VecDeque;

use super::content::Content;
use crate::contract::Moment;

/// Content hashes kept of sequenced events.
pub const SEQUENCE_HASHES: usize = 64;
/// Unsequenced events remembered; a block more may be held.
pub const UNSEQUENCED: usize = 1024;
/// Runs of seen sequences; beyond it the two oldest are joined and the hole between them is given up.
pub const RANGES: usize = 192;
/// Unsequenced events that are let go at once.
pub const BLOCK: usize = 64;

/// What an identity is to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Not seen.
    New,
    /// Seen with this content.
    Same,
    /// Seen with other content.
    Different,
    /// Seen; its content is no longer known.
    Unchecked,
    /// Not in the window, and not newer than what the window has let go.
    Evicted,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub(super) sequences: Sequences,
    pub(super) ids: Ids,
}

/// What names an event within its child and epoch.
#[derive(Clone, Copy, Debug)]
pub enum Name {
    /// The sequence.
    Sequence(u64),
    /// The hash of the event id, and the event's time.
    Id(u64, Moment),
}

impl Seen {
    /// Nothing seen yet, with a hole that nothing can fill.
    #[must_use]
    pub fn with_lost_events() -> Self {
        let sequences = Sequences { gave_up_below: Some(0), ..Sequences::default() };
        Self { sequences, ids: Ids::default() }
    }

    /// What `name` with this content is.
    #[must_use]
    pub fn identify(&self, name: Name, content: Content) -> Identity {
        match name {
            Name::Sequence(sequence) => self.sequences.identify(sequence, content),
            Name::Id(id, at) => self.ids.identify(id, pack(content), at),
        }
    }

    /// Remembers `name` with this content.
    pub fn insert(&mut self, name: Name, content: Content) {
        match name {
            Name::Sequence(sequence) => self.sequences.insert(sequence, content),
            Name::Id(id, at) => self.ids.insert(id, pack(content), at),
        }
    }

    /// An authority knows everything up to `sequence`, else up to the highest seen: no hole below it matters any more.
    pub(super) fn settle(&mut self, sequence: Option<u64>) {
        self.sequences.settle(sequence);
    }

    /// What was seen stays seen; with which content is no longer known, as hashes of other keys say nothing.
    pub(super) fn forget_contents(&mut self) {
        self.sequences.hashes.clear();
        let newest = self.ids.blocks.iter().map(|block| block.newest).max();
        self.ids.newest_evicted = self.ids.newest_evicted.max(newest);
        self.ids.blocks.clear();
    }

    /// The highest sequence seen.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.sequences.ranges.last().map(|&(_, last)| last)
    }

    /// Whether a sequence between the first one received and the highest is unseen.
    #[must_use]
    pub fn has_hole(&self) -> bool {
        self.sequences.has_hole()
    }

    /// Whether a sequence between `after` (else the first one received) and `before`, both excluded, is unseen.
    #[must_use]
    pub fn has_hole_between(&self, after: Option<u64>, before: u64) -> bool {
        self.sequences.has_hole_between(after, before)
    }
}

/// Bits that the hash of the times has in a packed content.
const TIME_BITS: u32 = 24;

/// A content in one number: most of the hash of what was said, then some of the hash of its times, 0 where they are estimated.
fn pack(content: Content) -> u64 {
    let times = content.times >> (u64::BITS - TIME_BITS);
    let times = if content.times == 0 { 0 } else { times.max(1) };
    content.said >> TIME_BITS << TIME_BITS | times
}

/// What is left of a packed content.
fn unpack(packed: u64) -> Content {
    Content { said: packed >> TIME_BITS, times: packed & ((1 << TIME_BITS) - 1) }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    /// The first sequence received in the epoch, or the last that an authority settled.
    pub(super) base: u64,
    /// Seen sequences as disjoint, non-adjacent, ascending runs, both ends included.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Holes below this sequence may have been given up.
    pub(super) gave_up_below: Option<u64>,
    pub(super) hashes: VecDeque<(u64, Content)>,
}

impl Sequences {
    fn identify(&self, sequence: u64, content: Content) -> Identity {
        if !self.contains(sequence) {
            return Identity::New;
        }
        match self.hashes.iter().rev().find(|(known, _)| *known == sequence) {
            Some((_, known)) if known.agrees(content) => Identity::Same,
            Some(_) => Identity::Different,
            None => Identity::Unchecked,
        }
    }

    fn contains(&self, sequence: u64) -> bool {
        let after = self.ranges.partition_point(|&(first, _)| first <= sequence);
        after > 0 && self.ranges[after - 1].1 >= sequence
    }

    fn insert(&mut self, sequence: u64, content: Content) {
        if self.ranges.is_empty() {
            self.base = sequence;
        }
        if self.hashes.len() == SEQUENCE_HASHES {
            self.hashes.pop_front();
        } else if self.hashes.len() == self.hashes.capacity() {
            self.hashes.reserve_exact(room(self.hashes.len()));
        }
        self.hashes.push_back((sequence, content));
        self.add_run(sequence);
    }

    fn settle(&mut self, sequence: Option<u64>) {
        if let Some(sequence) = sequence.filter(|&sequence| !self.contains(sequence)) {
            self.add_run(sequence);
        }
        if let Some(&(_, last)) = self.ranges.last() {
            self.base = last;
        }
        self.gave_up_below = None;
    }

    fn add_run(&mut self, sequence: u64) {
        let at = self.ranges.partition_point(|&(first, _)| first <= sequence);
        let joins_left = at > 0 && self.ranges[at - 1].1 + 1 >= sequence;
        let joins_right = self.ranges.get(at).is_some_and(|&(first, _)| first == sequence + 1);
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = self.ranges[at - 1].1.max(sequence),
            (false, true) => self.ranges[at].0 = sequence,
            (false, false) if self.ranges.len() == RANGES => {
                self.join_oldest_runs();
                self.add_run(sequence);
            }
            (false, false) => {
                if self.ranges.len() == self.ranges.capacity() {
                    self.ranges.reserve_exact(room(self.ranges.len()));
                }
                self.ranges.insert(at, (sequence, sequence));
            }
        }
    }

    fn join_oldest_runs(&mut self) {
        if self.ranges[1].0 > self.base {
            self.gave_up_below = Some(self.ranges[1].0);
        }
        self.ranges[1].0 = self.ranges[0].0;
        self.ranges.remove(0);
    }

    fn has_hole(&self) -> bool {
        self.gave_up_below.is_some() || self.ranges.last().is_some_and(|&(first, _)| first > self.base)
    }

    fn has_hole_between(&self, after: Option<u64>, before: u64) -> bool {
        let first = after.map_or(self.base, |after| after + 1);
        let gave_up = self.gave_up_below.is_some_and(|below| first < below);
        let is_covered = self.ranges.iter().any(|&(from, to)| from <= first && to + 1 >= before);
        first < before && !self.ranges.is_empty() && (gave_up || !is_covered)
    }
}

/// How much a full list of `length` grows. Most children say little, so that a list begins with one place.
fn room(length: usize) -> usize {
    length.clamp(1, BLOCK)
}

/// Ids in blocks, let go a block at a time, so that a time per block is enough.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    pub(super) blocks: VecDeque<Block>,
    pub(super) newest_evicted: Option<Moment>,
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) ids: Vec<u64>,
    pub(super) contents: Vec<u64>,
    pub(super) newest: Moment,
}

impl Ids {
    fn identify(&self, id: u64, content: u64, at: Moment) -> Identity {
        for block in &self.blocks {
            if let Some(place) = place(&block.ids, id) {
                let is_same = unpack(block.contents[place]).agrees(unpack(content));
                return if is_same { Identity::Same } else { Identity::Different };
            }
        }
        if self.newest_evicted.is_some_and(|newest| at <= newest) { Identity::Evicted } else { Identity::New }
    }

    fn insert(&mut self, id: u64, content: u64, at: Moment) {
        if self.blocks.back().is_none_or(|block| block.ids.len() == BLOCK) {
            if self.blocks.len() > UNSEQUENCED / BLOCK
                && let Some(oldest) = self.blocks.pop_front()
            {
                self.newest_evicted = self.newest_evicted.max(Some(oldest.newest));
            }
            if self.blocks.len() == self.blocks.capacity() {
                self.blocks.reserve_exact(1);
            }
            self.blocks.push_back(Block { ids: Vec::new(), contents: Vec::new(), newest: at });
        }
        let Some(block) = self.blocks.back_mut() else { return };
        if block.ids.len() == block.ids.capacity() {
            block.ids.reserve_exact(room(block.ids.len()));
            block.contents.reserve_exact(room(block.contents.len()));
        }
        block.ids.push(id);
        block.contents.push(content);
        block.newest = block.newest.max(at);
    }
}

/// The place of `id`, looked for in runs that the compiler can compare at once.
fn place(ids: &[u64], id: u64) -> Option<usize> {
    let run = ids.chunks(16).position(|run| run.iter().filter(|known| **known == id).count() > 0)?;
    ids[run * 16..].iter().position(|known| *known == id).map(|at| run * 16 + at)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Identity, Name, RANGES, SEQUENCE_HASHES, Seen, UNSEQUENCED};
    use crate::contract::Moment;
    use crate::project::content::Content;

    /// A content without times that no other number gives, packed or not.
    fn content(number: u64) -> Content {
        Content { said: number << 32, times: 0 }
    }

    fn with_sequences(sequences: &[u64]) -> Seen {
        let mut seen = Seen::default();
        for &sequence in sequences {
            seen.insert(Name::Sequence(sequence), content(sequence));
        }
        seen
    }

    #[test]
    fn holes() {
        for (sequences, has_hole, highest) in [
            (&[5][..], false, 5),
            (&[5, 6, 7], false, 7),
            (&[5, 7], true, 7),
            (&[5, 7, 6], false, 7),
            // Below the base nothing is missing.
            (&[5, 2], false, 5),
            (&[5, 8, 2, 6, 7], false, 8),
            (&[5, 9, 7], true, 9),
        ] {
            let seen = with_sequences(sequences);
            assert_eq!((seen.has_hole(), seen.highest()), (has_hole, Some(highest)), "{sequences:?}");
        }
        let seen = with_sequences(&[5, 6, 9]);
        for (after, before, expected) in
            [(Some(5), 6, false), (Some(5), 7, false), (Some(6), 9, true), (None, 9, true), (None, 5, false)]
        {
            assert_eq!(seen.has_hole_between(after, before), expected, "{after:?}..{before}");
        }
    }

    #[test]
    fn contents_are_checked_as_long_as_they_are_known() {
        let many: Vec<u64> = (0..=SEQUENCE_HASHES as u64).collect();
        let seen = with_sequences(&many);
        for (sequence, number, expected) in [
            (1, 1, Identity::Same),
            (1, 2, Identity::Different),
            (0, 0, Identity::Unchecked),
            (1000, 0, Identity::New),
        ] {
            assert_eq!(seen.identify(Name::Sequence(sequence), content(number)), expected);
        }
    }

    #[test]
    fn unsequenced_ids_are_let_go_by_age() {
        let at = Moment::from_unix_millis;
        let mut seen = Seen::default();
        for id in 0..2000 {
            seen.insert(Name::Id(id, at(id.cast_signed())), content(1));
        }
        let remembered = (0..2000)
            .filter(|&id| seen.identify(Name::Id(id, at(id.cast_signed())), content(1)) == Identity::Same);
        assert!((UNSEQUENCED..=UNSEQUENCED + 64).contains(&remembered.count()));
        for (id, millis, number, expected) in [
            (1999, 1999, 1, Identity::Same),
            (1999, 1999, 2, Identity::Different),
            (0, 0, 1, Identity::Evicted),
            (5000, 10, 1, Identity::Evicted),
            (5000, 3000, 1, Identity::New),
        ] {
            assert_eq!(seen.identify(Name::Id(id, at(millis)), content(number)), expected);
        }
    }

    #[test]
    fn what_is_let_go_is_known_by_its_newest_time() {
        let at = Moment::from_unix_millis;
        // The newest is neither the last of its block nor in the last block that was let go.
        let mut seen = Seen::default();
        let blocks = UNSEQUENCED / BLOCK + 3;
        for id in 0..(blocks * BLOCK) as u64 {
            let millis = if id == 1 { 500 } else { 100 };
            seen.insert(Name::Id(id, at(millis)), content(1));
        }
        for (millis, expected) in [(100, Identity::Evicted), (500, Identity::Evicted), (501, Identity::New)] {
            assert_eq!(seen.identify(Name::Id(u64::MAX, at(millis)), content(1)), expected);
        }
        // Not all were let go, and the first block was.
        assert_eq!(seen.identify(Name::Id(3 * BLOCK as u64, at(100)), content(1)), Identity::Same);
        assert_eq!(seen.identify(Name::Id(BLOCK as u64, at(100)), content(1)), Identity::Evicted);
    }

    #[test]
    fn times_count_where_both_are_known() {
        let contents = [(1, 0), (1, 2 << 40), (1, 3 << 40), (1, 1), (2, 0), (2, 2 << 40)]
            .map(|(said, times)| Content { said: said << 32, times });
        let names = [Name::Sequence(0), Name::Id(0, Moment::from_unix_millis(0))];
        for (first, name) in contents.into_iter().flat_map(|first| names.map(|name| (first, name))) {
            let mut seen = Seen::default();
            seen.insert(name, first);
            for second in contents {
                let is_timed = first.times > 0 && second.times > 0;
                let is_same = first.said == second.said && (!is_timed || first.times == second.times);
                let expected = if is_same { Identity::Same } else { Identity::Different };
                assert_eq!(seen.identify(name, second), expected, "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn ranges_are_bounded_and_what_was_seen_stays_seen() {
        let even: Vec<u64> = (0..4 * RANGES as u64).map(|n| n * 2).collect();
        let mut seen = with_sequences(&even);
        assert_eq!(seen.sequences.ranges.len(), RANGES);
        for &sequence in &even {
            assert_ne!(seen.identify(Name::Sequence(sequence), content(sequence)), Identity::New);
        }
        // Filling every hole that is left does not hide the ones that were given up.
        for &sequence in &even {
            seen.insert(Name::Sequence(sequence + 1), content(0));
        }
        assert!(seen.has_hole());
    }
}
