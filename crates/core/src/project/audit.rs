//! Bounded rings, and the audit of what an authority changed.
//!
//! Input: entries. Output: the newest of them and how many there were. Never: grows beyond its bound.

use std::collections::VecDeque;

use serde::Serialize;

/// The newest `N` entries, and how many there were.
#[derive(Clone, Debug, Serialize)]
pub struct Ring<T, const N: usize> {
    /// How many there were.
    pub count: u64,
    /// The newest, oldest first.
    pub recent: VecDeque<T>,
}

impl<T, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self { count: 0, recent: VecDeque::new() }
    }
}

impl<T, const N: usize> Ring<T, N> {
    /// Adds an entry.
    pub fn push(&mut self, entry: T) {
        self.count += 1;
        if self.recent.len() == N {
            self.recent.pop_front();
        }
        self.recent.push_back(entry);
    }
}

/// One change that was made by authority, not by an event of the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// The source.
    pub source: String,
    /// The child; nothing where the source itself changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_id: Option<String>,
    /// Before: a state, or an epoch; nothing where the child was not known.
    pub from: Option<String>,
    /// After.
    pub to: String,
    /// The snapshot that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// When the authority observed it.
    pub observed_at: String,
    /// What kind of change: `authoritative_snapshot`, `reconciliation_failed` or `epoch_advanced`.
    pub reason: &'static str,
}
