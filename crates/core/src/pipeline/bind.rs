//! Which launch a sub-agent's journal belongs to.
//!
//! Input: what files beside the journals, results and prompts say. Output: the id that each journal's agent has in the projection.
//! Invariant: a launch has at most one journal. Never: takes longer than the journals and the launchers together.

use super::Pipeline;
use super::journal::Track;
use crate::providers::claude_code::{Mapper, Role};

impl Pipeline {
    /// Finds the launch of each sub-agent's journal: what a file beside it names, else what a result names, else an equal prompt.
    /// Without a launch it is shown all the same, as itself.
    pub(super) fn bind_journals(&mut self) {
        for session in 0..self.sessions.len() {
            let unbound = self.unbound(session);
            if unbound.is_empty() {
                continue;
            }
            let mut taken: Vec<String> =
                self.tracks(session).filter_map(|track| track.child.clone()).collect();
            let mut orphans = Vec::new();
            for (journal, at) in unbound.iter().copied() {
                let Role::Child { agent_id } = self.journals[journal].tracks[at].mapper.role().clone() else {
                    continue;
                };
                let named = self.journals[journal].launch.clone();
                if let Some(launch) = &named {
                    for mapper in self.launchers(session) {
                        mapper.bind(launch, &agent_id);
                    }
                }
                let told = |mapper: &mut Mapper| mapper.launch_of(&agent_id).map(str::to_owned);
                let launch = named.or_else(|| self.launchers(session).find_map(told));
                let track = &mut self.journals[journal].tracks[at];
                match launch.filter(|launch| !taken.contains(launch)) {
                    Some(launch) => {
                        taken.push(launch.clone());
                        track.child = Some(launch);
                    }
                    None => orphans.extend(track.mapper.orphan()),
                }
            }
            let claimed: Vec<_> = self.launchers(session).flat_map(|mapper| mapper.claim(&orphans)).collect();
            for (journal, at) in unbound {
                let track = &mut self.journals[journal].tracks[at];
                let Role::Child { agent_id } = track.mapper.role() else { continue };
                if track.child.is_none() && !track.pending.is_empty() {
                    let launch = claimed
                        .iter()
                        .find(|(claimant, launch)| claimant == agent_id && !taken.contains(launch));
                    track.child = Some(launch.map_or_else(|| agent_id.clone(), |(_, launch)| launch.clone()));
                }
            }
        }
    }

    /// The places of the sub-agents' journals of a session that have no launch yet.
    fn unbound(&self, session: usize) -> Vec<(usize, usize)> {
        let is_unbound = |track: &Track| {
            track.session == session && track.child.is_none() && *track.mapper.role() != Role::Root
        };
        let places = |(journal, tracks): (usize, &Vec<Track>)| {
            let unbound = tracks.iter().enumerate().filter(|(_, track)| is_unbound(track));
            unbound.map(|(at, _)| (journal, at)).collect::<Vec<_>>()
        };
        self.journals.iter().map(|journal| &journal.tracks).enumerate().flat_map(places).collect()
    }

    fn tracks(&self, session: usize) -> impl Iterator<Item = &Track> {
        let tracks = self.journals.iter().flat_map(|journal| &journal.tracks);
        tracks.filter(move |track| track.session == session)
    }

    /// The mappers of a session that have launched something.
    fn launchers(&mut self, session: usize) -> impl Iterator<Item = &mut Mapper> {
        let tracks = self.journals.iter_mut().flat_map(|journal| &mut journal.tracks);
        let launchers = tracks.filter(move |track| track.session == session && track.mapper.has_launches());
        launchers.map(|track| &mut track.mapper)
    }
}
