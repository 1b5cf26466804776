//! Which launch a sub-agent's journal belongs to.
//!
//! Input: what files beside the journals, results and prompts say. Output: the id that each journal's agent has in the projection.
//! Invariant: a launch has at most one agent, whose records may be in several places. Never: takes longer than the journals and the launchers together.

use std::collections::{HashMap, HashSet};

use super::journal::{Binding, Journal};
use super::{Part, Pipeline};
use crate::providers::{Launches, Reader, Role};

/// A sub-agent's place among the journals: the journal, and the owner in it.
type At = (usize, usize);

impl Pipeline {
    /// Finds the launch of each sub-agent's journal: what a file beside it names, else what a result names, else an equal prompt.
    /// Without a launch it is shown all the same, as itself; a launch that is found later takes it over. A part tells neither which
    /// prompts are equal nor that there is no launch.
    pub(super) fn bind_journals(&mut self, part: Part) {
        for session in self.pending_sessions() {
            if self.is_contradicted(session) {
                self.read_session_again(session);
                continue;
            }
            let unbound = self.unbound(session);
            if !unbound.is_empty() {
                self.bind_session(session, &unbound, part);
            }
            self.hold_back(session, part);
            self.mend_parents(session);
        }
    }

    /// Whether a result names another agent for the launch of a journal that only an equal prompt bound, or another launch for its
    /// agent.
    fn is_contradicted(&mut self, session: usize) -> bool {
        let tracks = self.sessions[session].tracks.iter().copied();
        let by_prompt: Vec<At> =
            tracks.filter(|&(at, owner)| self.journals[at].tracks[owner].is_by_prompt).collect();
        if by_prompt.is_empty() {
            return false;
        }
        let parents = self.launchers(session);
        by_prompt.into_iter().any(|(at, owner)| {
            let journal = &self.journals[at];
            let Binding::Bound(launch) = journal.tracks[owner].binding.clone() else { return false };
            let Some(agent_id) = agent_of(&*journal.reader, owner) else { return false };
            parents
                .iter()
                .any(|&at| self.launches_at(at).is_some_and(|launches| launches.is_other(&launch, &agent_id)))
        })
    }

    fn bind_session(&mut self, session: usize, unbound: &[At], part: Part) {
        let mut agents = self.bound(session);
        let mut taken: HashSet<String> = agents.values().cloned().collect();
        let mut orphans = Vec::new();
        let mut found: HashMap<At, String> = HashMap::new();
        let parents = self.launchers(session);
        for &(journal, owner) in unbound {
            let Some(agent_id) = agent_of(&*self.journals[journal].reader, owner) else { continue };
            if let Some(launch) = agents.get(&agent_id) {
                found.insert((journal, owner), launch.clone());
                continue;
            }
            let named = self.journals[journal].told.launch.clone().filter(|_| owner == 0);
            let mut launch = named.clone();
            for &at in &parents {
                let Some(launches) = self.launches_at(at) else { continue };
                if let Some(named) = &named {
                    launches.bind(named, &agent_id);
                }
                launch = launch.take().or_else(|| launches.of(&agent_id).map(str::to_owned));
            }
            match launch.filter(|launch| !taken.contains(launch)) {
                Some(launch) => {
                    taken.insert(launch.clone());
                    agents.insert(agent_id, launch.clone());
                    found.insert((journal, owner), launch);
                }
                None => orphans.extend(self.journals[journal].reader.orphan(owner)),
            }
        }
        if part == Part::All {
            let mut claimed: HashMap<String, String> = HashMap::new();
            let mut forgot = false;
            for &at in &parents {
                let Some(launches) = self.launches_at(at) else { continue };
                forgot |= launches.forgot() > 0;
                for (agent_id, launch) in launches.claim(&orphans) {
                    claimed.entry(agent_id).or_insert(launch);
                }
            }
            for &at in unbound.iter().filter(|at| !found.contains_key(at)).collect::<Vec<_>>() {
                let Some(agent_id) = agent_of(&*self.journals[at.0].reader, at.1) else { continue };
                let claim = claimed.get(&agent_id);
                let is_free =
                    |launch: &&String| agents.get(&agent_id) == Some(*launch) || !taken.contains(*launch);
                if let Some(launch) = claim.filter(is_free).cloned() {
                    taken.insert(launch.clone());
                    agents.insert(agent_id, launch.clone());
                    found.insert(at, launch);
                    self.journals[at.0].tracks[at.1].is_by_prompt = true;
                    continue;
                }
                let track = &mut self.journals[at.0].tracks[at.1];
                if forgot && track.binding == Binding::Unknown {
                    // Its launch may be one that was shown and is forgotten: no second child.
                    self.sessions[session].bridge.pass_over(track.pending.drain(..).len());
                } else if !track.pending.is_empty() && track.binding == Binding::Unknown {
                    track.binding = Binding::Unattributed(agent_id);
                }
            }
        }
        for &at in unbound {
            let Some(launch) = found.remove(&at) else { continue };
            if let Binding::Unattributed(former) = self.journals[at.0].tracks[at.1].binding.clone() {
                self.read_again(session, &former);
            }
            // An earlier process may have shown it as itself.
            if self.is_restored
                && let Some(agent_id) =
                    agent_of(&*self.journals[at.0].reader, at.1).filter(|id| *id != launch)
            {
                let bridge = &self.sessions[session].bridge;
                self.projector.remove(bridge.source(), &bridge.child_name(&agent_id));
            }
            self.journals[at.0].tracks[at.1].binding = Binding::Bound(launch);
        }
    }

    /// The sub-agents' places of a session that have no launch.
    fn unbound(&mut self, session: usize) -> Vec<At> {
        let mut unbound = Vec::new();
        for &(at, owner) in &self.sessions[session].tracks {
            let Journal { tracks, reader, .. } = &mut self.journals[at];
            let track = &mut tracks[owner];
            if !matches!(track.binding, Binding::Unknown | Binding::Unattributed(_)) {
                continue;
            }
            if reader.launches(owner).is_some() {
                unbound.push((at, owner));
            } else if let Some(agent_id) = agent_of(&**reader, owner) {
                // Its provider names a sub-agent by its own id.
                track.binding = Binding::Bound(agent_id);
            }
        }
        unbound
    }

    /// The sub-agents of a session whose launch is known, and the launch.
    fn bound(&self, session: usize) -> HashMap<String, String> {
        let tracks = self.sessions[session].tracks.iter();
        let bound = tracks.filter_map(|&(at, owner)| match &self.journals[at].tracks[owner].binding {
            Binding::Bound(launch) => Some((agent_of(&*self.journals[at].reader, owner)?, launch.clone())),
            _ => None,
        });
        bound.collect()
    }

    /// The id in the projection of a session's sub-agent, where one of its own is known.
    pub fn launch_of(&mut self, session: (&'static str, &str), agent_id: &str) -> Option<String> {
        let at = *self.places.get(&(session.0, session.1.to_owned()))?;
        let mut launch = None;
        self.each_launcher(at, |launches| {
            launch = launch.take().or_else(|| launches.of(agent_id).map(str::to_owned));
        });
        launch
    }

    pub(super) fn each_launcher(&mut self, session: usize, mut use_it: impl FnMut(&mut Launches)) {
        for at in self.sessions[session].tracks.clone() {
            if let Some(launches) = self.launches_at(at) {
                use_it(launches);
            }
        }
    }

    /// The places of a session whose agents launched others.
    fn launchers(&mut self, session: usize) -> Vec<At> {
        let places = self.sessions[session].tracks.clone();
        places.into_iter().filter(|at| self.launches_at(*at).is_some()).collect()
    }

    fn launches_at(&mut self, (journal, owner): At) -> Option<&mut Launches> {
        self.journals[journal].reader.launches(owner).filter(|launches| !launches.is_empty())
    }
}

fn agent_of(reader: &dyn Reader, owner: usize) -> Option<String> {
    match &reader.owners().get(owner)?.role {
        Role::Root => None,
        Role::Child { agent_id } => Some(agent_id.clone()),
    }
}
