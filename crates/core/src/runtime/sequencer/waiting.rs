//! Inputs that wait until their turn is known.
//!
//! Input: inputs that may be of the turn that was begun. Output: the same, in order. Invariant: at most so many, and so many bytes.
//! Never: more than one turn's.

use std::collections::VecDeque;

use super::input::{Input, Place, Seen, Step};

/// Inputs that wait at most.
pub const WAITING: usize = 256;
/// Bytes of their JSON texts.
pub const WAITING_BYTES: usize = 8 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    inputs: VecDeque<Input>,
    bytes: usize,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(super) fn has_room(&self, size: usize) -> bool {
        self.inputs.len() < WAITING && self.bytes + size <= WAITING_BYTES
    }

    pub(super) fn push(&mut self, input: Input) {
        self.bytes += input.size;
        self.inputs.push_back(input);
    }

    pub(super) fn take(&mut self) -> VecDeque<Input> {
        self.bytes = 0;
        std::mem::take(&mut self.inputs)
    }

    /// Whether a request waits to be opened.
    pub(super) fn has_request(&self, id: &str) -> bool {
        self.inputs.iter().any(|input| matches!(&input.step, Step::Opened(request) if request.id == id))
    }

    /// The first name that the harness gave when it began a turn of the session's own agent, of those that `may_be` the turn's.
    pub(super) fn begun(&self, may_be: impl Fn(&str) -> bool) -> Option<String> {
        let name = self.inputs.iter().find_map(|input| match &input.step {
            Step::Observation(Place { native_turn: Some(name), scope: None, .. }, Seen::TurnStarted)
                if may_be(name) =>
            {
                Some(name)
            }
            _ => None,
        });
        name.cloned()
    }
}
