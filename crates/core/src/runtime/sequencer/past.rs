//! Turns that have ended.
//!
//! Input: each turn at its end. Output: whether a name is of one of them, and what they still owe.
//! Invariant: bounded. Never: takes a name of the present turn for one of an earlier.

use std::collections::VecDeque;

/// Turns remembered.
const TURNS: usize = 64;

/// A turn that has ended.
#[derive(Debug)]
struct Ended {
    turn_id: String,
    native: Vec<String>,
    /// Whether the harness has not said its end.
    owes: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Past {
    ended: VecDeque<Ended>,
    /// Ends that turns owe which are no longer remembered.
    forgotten: usize,
}

impl Past {
    pub(super) fn add(&mut self, turn_id: String, native: Vec<String>, owes: bool) {
        if self.ended.len() == TURNS
            && let Some(oldest) = self.ended.pop_front()
        {
            self.forgotten += usize::from(oldest.owes);
        }
        self.ended.push_back(Ended { turn_id, native, owes });
    }

    /// Whether the host's turn has ended.
    pub(super) fn has_turn(&self, turn_id: &str) -> bool {
        self.ended.iter().any(|turn| turn.turn_id == turn_id)
    }

    /// The host's turn that ended under a name of the harness.
    pub(super) fn turn_of(&self, native: &str) -> Option<&str> {
        let is_of = |turn: &&Ended| turn.native.iter().any(|name| name == native);
        self.ended.iter().rev().find(is_of).map(|turn| turn.turn_id.as_str())
    }

    /// A turn that has ended has this name too.
    pub(super) fn name(&mut self, turn_id: &str, native: String) {
        if let Some(turn) = self.ended.iter_mut().find(|turn| turn.turn_id == turn_id)
            && turn.native.len() < super::turn::NAMES
        {
            turn.native.push(native);
        }
    }

    /// How many ends are still to come.
    pub(super) fn debts(&self) -> usize {
        self.forgotten + self.ended.iter().filter(|turn| turn.owes).count()
    }

    /// The turn whose end comes next, where it is still remembered.
    pub(super) fn owing(&self) -> Option<&str> {
        let oldest = self.ended.iter().find(|turn| turn.owes).filter(|_| self.forgotten == 0);
        oldest.map(|turn| turn.turn_id.as_str())
    }

    /// An end came that says no turn: the oldest debt is paid. Whether there was one.
    pub(super) fn pay(&mut self) -> bool {
        if self.forgotten > 0 {
            self.forgotten -= 1;
            return true;
        }
        let owing = self.ended.iter_mut().find(|turn| turn.owes);
        owing.is_some_and(|turn| std::mem::replace(&mut turn.owes, false))
    }

    /// A turn owes nothing: its end came, or it never was.
    pub(super) fn settle(&mut self, is_meant: impl Fn(&str, &[String]) -> bool) {
        for turn in self.ended.iter_mut().filter(|turn| is_meant(&turn.turn_id, &turn.native)) {
            turn.owes = false;
        }
    }

    /// The process is gone: nothing comes of any of them.
    pub(super) fn forgive(&mut self) {
        self.forgotten = 0;
        self.ended.iter_mut().for_each(|turn| turn.owes = false);
    }
}
