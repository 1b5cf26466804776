//! Hermes' words for the state of a delegation.
//!
//! Input: a status, trimmed. Output: the state of the contract that it means, or nothing. Never: guesses at a word.

use crate::contract::State;

/// Each word with what it means.
pub const STATUSES: [(&str, State); 8] = [
    ("pending", State::Created),
    ("starting", State::Starting),
    ("active", State::Running),
    ("running", State::Running),
    ("waiting", State::Waiting),
    ("completed", State::Completed),
    ("failed", State::Failed),
    ("cancelled", State::Cancelled),
];

/// A status and what it means.
#[must_use]
pub fn status_of(word: &str) -> Option<(&'static str, State)> {
    STATUSES.into_iter().find(|(known, _)| *known == word)
}
