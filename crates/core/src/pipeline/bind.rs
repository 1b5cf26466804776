//! Which launch a sub-agent's journal belongs to.
//!
//! Input: what files beside the journals, results and prompts say. Output: the id that each journal's agent has in the projection.
//! Invariant: a launch has at most one agent, whose records may be in several places. Never: takes longer than the journals and the launchers together.

use std::collections::HashMap;

use super::Pipeline;
use super::journal::{Binding, Journal};
use crate::providers::{Launches, Reader, Role};

/// A sub-agent's place among the journals: the journal, and the owner in it.
type At = (usize, usize);

impl Pipeline {
    /// Finds the launch of each sub-agent's journal: what a file beside it names, else what a result names, else an equal prompt.
    /// Without a launch it is shown all the same, as itself; a launch that is found later takes it over.
    pub(super) fn bind_journals(&mut self) {
        for session in self.pending_sessions() {
            let unbound = self.unbound(session);
            if unbound.is_empty() {
                continue;
            }
            let mut agents = self.bound(session);
            let mut taken: Vec<String> = agents.values().cloned().collect();
            let mut orphans = Vec::new();
            let mut found: Vec<(At, String)> = Vec::new();
            for &(journal, owner) in &unbound {
                let Some(agent_id) = agent_of(&*self.journals[journal].reader, owner) else { continue };
                if let Some(launch) = agents.get(&agent_id) {
                    found.push(((journal, owner), launch.clone()));
                    continue;
                }
                let named = self.journals[journal].told.launch.clone().filter(|_| owner == 0);
                if let Some(launch) = &named {
                    self.each_launcher(session, |launches| {
                        launches.bind(launch, &agent_id);
                    });
                }
                let mut launch = named;
                self.each_launcher(session, |launches| {
                    launch = launch.take().or_else(|| launches.of(&agent_id).map(str::to_owned));
                });
                match launch.filter(|launch| !taken.contains(launch)) {
                    Some(launch) => {
                        taken.push(launch.clone());
                        agents.insert(agent_id, launch.clone());
                        found.push(((journal, owner), launch));
                    }
                    None => orphans.extend(self.journals[journal].reader.orphan(owner)),
                }
            }
            let mut claimed = Vec::new();
            self.each_launcher(session, |launches| claimed.extend(launches.claim(&orphans)));
            for at in unbound {
                let Some(agent_id) = agent_of(&*self.journals[at.0].reader, at.1) else { continue };
                if found.iter().any(|(bound, _)| *bound == at) {
                    continue;
                }
                let claim = claimed.iter().find(|(claimant, launch)| {
                    let is_free = agents.get(&agent_id) == Some(launch) || !taken.contains(launch);
                    *claimant == agent_id && is_free
                });
                if let Some((_, launch)) = claim {
                    taken.push(launch.clone());
                    agents.insert(agent_id, launch.clone());
                    found.push((at, launch.clone()));
                } else {
                    let track = &mut self.journals[at.0].tracks[at.1];
                    if !track.pending.is_empty() && track.binding == Binding::Unknown {
                        track.binding = Binding::Unattributed(agent_id);
                    }
                }
            }
            for ((journal, owner), launch) in found {
                let track = &mut self.journals[journal].tracks[owner];
                if let Binding::Unattributed(former) = track.binding.clone() {
                    self.read_again(session, &former);
                }
                self.journals[journal].tracks[owner].binding = Binding::Bound(launch);
            }
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

    fn each_launcher(&mut self, session: usize, mut use_it: impl FnMut(&mut Launches)) {
        for &(at, owner) in &self.sessions[session].tracks {
            if let Some(launches) = self.journals[at].reader.launches(owner)
                && !launches.is_empty()
            {
                use_it(launches);
            }
        }
    }
}

fn agent_of(reader: &dyn Reader, owner: usize) -> Option<String> {
    match &reader.owners().get(owner)?.role {
        Role::Root => None,
        Role::Child { agent_id } => Some(agent_id.clone()),
    }
}
