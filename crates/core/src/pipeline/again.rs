//! Reading a sub-agent's journal again, under the launch that was found too late.
//!
//! Input: a child that was shown as itself and its launch. Output: the journals that are to be pushed again from their first byte.
//! Invariant: what else those journals said stays said once. Never: leaves a row of the child under its former id.

use std::collections::HashSet;

use super::journal::{Binding, Journal};
use super::{JournalId, Pipeline};
use crate::bridge::Forgotten;
use crate::contract::limits::LINE_BYTES;
use crate::decode::{DiagnosticLog, Framer};

impl Pipeline {
    /// The journals that are to be pushed again from their first byte, before anything that follows in them.
    pub fn take_again(&mut self) -> Vec<JournalId> {
        std::mem::take(&mut self.again)
    }

    /// The sessions that these are of.
    pub(super) fn sessions_to_be_read_again(&self) -> HashSet<usize> {
        let journals = self.again.iter().map(|JournalId(at)| &self.journals[*at]);
        let tracks = journals.flat_map(|journal| journal.again.iter().map(|owner| &journal.tracks[*owner]));
        tracks.map(|track| track.session).collect()
    }

    /// A journal is over: its file holds something else now. What was said stays said, and what another journal says again changes
    /// nothing.
    pub fn retire(&mut self, journal: JournalId) {
        let JournalId(at) = journal;
        let Some(journal) = self.journals.get_mut(at) else { return };
        self.again.retain(|JournalId(again)| *again != at);
        for track in std::mem::take(&mut journal.tracks) {
            let session = &mut self.sessions[track.session];
            session.tracks.retain(|(journal, _)| *journal != at);
            session.is_repeated = true;
        }
        journal.restart();
    }

    /// A journal of sub-agents is over, and nothing that it said stays: it belongs to another session, where it is read anew.
    pub fn withdraw(&mut self, journal: JournalId) {
        let JournalId(at) = journal;
        let Some(found) = self.journals.get(at) else { return };
        let tracks = found.tracks.iter();
        let children: Vec<(usize, String)> =
            tracks.filter_map(|track| Some((track.session, track.binding.child()?.to_owned()))).collect();
        for (session, child) in children {
            self.read_again(session, &child);
        }
        self.retire(journal);
    }

    /// Takes back what the journal of `former` and those of the sub-agents below it said, for they are to be read again.
    pub(super) fn read_again(&mut self, session: usize, former: &str) {
        let state = &mut self.sessions[session];
        let removed = state.bridge.forget(former);
        self.remove(session, &removed);
        let state = &mut self.sessions[session];
        for (at, owner) in state.tracks.clone() {
            let journal = &mut self.journals[at];
            let bridge = &state.bridge;
            let is_removed =
                |child: &str| removed.iter().any(|removed| removed.id == bridge.child_name(child));
            let binding = &journal.tracks[owner].binding;
            if binding.child().is_some_and(is_removed) {
                journal.restart_for(owner);
                if !self.again.contains(&JournalId(at)) {
                    self.again.push(JournalId(at));
                }
            }
        }
    }
}

impl Pipeline {
    /// Takes back everything that was said of a session, whose journals are to be read again: what it was told by others may
    /// have gone to the wrong agents.
    pub(super) fn read_session_again(&mut self, session: usize) {
        let removed = self.sessions[session].bridge.forget_all();
        self.remove(session, &removed);
        self.sessions[session].unplaced.clear();
        for (at, owner) in self.sessions[session].tracks.clone() {
            let journal = &mut self.journals[at];
            journal.restart_for(owner);
            let track = &mut journal.tracks[owner];
            track.is_by_prompt = false;
            if track.binding != Binding::Own {
                track.binding = Binding::Unknown;
            }
            if !self.again.contains(&JournalId(at)) {
                self.again.push(JournalId(at));
            }
        }
    }

    /// Whether an authority has said anything of a session's agents.
    pub(super) fn is_judged(&self, session: usize) -> bool {
        let source = self.sessions[session].bridge.source();
        self.projector.records().any(|record| *record.source == *source && record.is_judged())
    }

    fn remove(&mut self, session: usize, removed: &[Forgotten]) {
        let state = &mut self.sessions[session];
        for child_id in removed.iter().flat_map(|child| &child.lives) {
            self.projector.remove(state.bridge.source(), child_id);
            self.explainer.forget(state.bridge.source(), child_id);
            self.beside.remove(&(state.bridge.source().to_owned(), child_id.clone()));
        }
        // What was said of them counts anew.
        state.taken.clear();
    }
}

impl Journal {
    /// Starts over for the owner at this place; what the others said stays.
    fn restart_for(&mut self, owner: usize) {
        self.read_before = self.read_before.max(self.read);
        self.again.push(owner);
        self.restart();
        let track = &mut self.tracks[owner];
        if let Binding::Unattributed(_) = track.binding {
            track.binding = Binding::Unknown;
        }
        track.pending.clear();
        track.is_held = false;
    }

    fn restart(&mut self) {
        self.read = 0;
        self.reader = self.provider.reader(&self.recognized, self.told.clone());
        self.framer = Framer::new(LINE_BYTES);
        self.log = DiagnosticLog::default();
        for track in &mut self.tracks {
            track.forget_times();
        }
    }

    /// Whether what a line at `offset` says for `owner` was taken before the journal was to be read again.
    pub(super) fn is_known(&self, owner: usize, offset: u64) -> bool {
        offset < self.read_before && !self.again.contains(&owner)
    }
}
