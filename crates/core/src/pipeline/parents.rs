//! Sub-agents that were shown below the root for want of their launch, once that is read.
//!
//! Input: guesses of a session's bridge, and what its journals have that is not told yet. Output: the journals of those agents, to be
//! pushed again. Invariant: nothing of the session is told before they were. Never: takes a guessed parent for a known one.

use std::collections::HashSet;

use super::Pipeline;
use crate::agent::AgentEvent;
use crate::providers::Said;

/// In a row's diagnostics: its parent is the root for want of its launch.
const PARENT_UNKNOWN: &str = "parent_unknown";

impl Pipeline {
    /// Has the journals of agents read again whose parent was guessed and is about to be told: by their launch, or because the agent
    /// that they name as their parent shows itself.
    pub(super) fn mend_parents(&mut self, session: usize) {
        let state = &self.sessions[session];
        let bridge = &state.bridge;
        if bridge.guessed().next().is_none() {
            return;
        }
        let mut told: HashSet<String> = HashSet::new();
        for &(at, owner) in &state.tracks {
            let track = &self.journals[at].tracks[owner];
            let own = track.binding.child().map(|child| bridge.child_name(child));
            for pending in &track.pending {
                if let Said::Event(AgentEvent::SubagentStarted { subagent_id, .. }) = &pending.mapped.said {
                    let launched = bridge.child_name(subagent_id);
                    if own.as_ref() != Some(&launched) {
                        told.extend(bridge.is_guessed(&launched).then(|| launched.clone()));
                        told.extend(shown_by(bridge, &launched));
                    }
                }
            }
            if let Some(own) = own.filter(|_| !track.pending.is_empty()) {
                told.extend(shown_by(bridge, &own));
            }
        }
        let mut ids = Vec::new();
        for &(at, owner) in &state.tracks {
            let child = self.journals[at].tracks[owner].binding.child();
            ids.extend(child.filter(|child| told.remove(&bridge.child_name(child))).map(str::to_owned));
        }
        for id in ids {
            self.read_again(session, &id);
        }
    }

    /// Says in the rows of agents with a guessed parent that it is one.
    pub(super) fn tell_guesses(&mut self, session: usize) {
        let bridge = &self.sessions[session].bridge;
        for name in bridge.guessed() {
            let child = (bridge.source().to_owned(), bridge.newest_life(name));
            if let Some(beside) = self.beside.get_mut(&child) {
                beside.diagnostics.insert(PARENT_UNKNOWN, 1);
            }
        }
    }
}

/// The agents that name this one as their parent, where nothing was said of it before.
fn shown_by(bridge: &crate::bridge::Bridge, name: &str) -> Vec<String> {
    if bridge.knows(name) {
        return Vec::new();
    }
    bridge.guessed_below(name).map(str::to_owned).collect()
}
