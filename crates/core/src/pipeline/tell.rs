//! What is told of a session beside its journals: its process, and what hooks say.
//!
//! Input: a session, what is said of it, and when. Output: events, as a journal's records make them.
//! Invariant: the same telling makes the same events, so it counts once. Never: calls an exit a success of its own.

use super::{Outcome, Pipeline, apply};
use crate::agent::AgentEvent;
use crate::bridge::{Item, Scope, item_name};
use crate::contract::{Event, Moment};
use crate::project::explain::{Origin, Place};
use crate::project::{Alive, Process};
use crate::providers::Said;

/// Something that is told of a session.
#[derive(Debug)]
pub struct Telling<'a> {
    /// The sub-agent that it is about; the session's own agent without it.
    pub agent: Option<&'a str>,
    /// What is said.
    pub said: Said,
    /// Tells it from everything else that is told of the session.
    pub name: &'a [&'a [u8]],
    /// What kind of evidence it is, for explanations.
    pub record: &'static str,
    /// When.
    pub at: Moment,
}

impl Pipeline {
    /// Tells something of a session, by its provider's name and id; `false` where no journal of it is read.
    pub fn tell(
        &mut self,
        session: (&'static str, &str),
        telling: &Telling<'_>,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) -> bool {
        let (provider, id) = session;
        let Some(&at) = self.places.get(&(provider, id.to_owned())) else { return false };
        let Telling { agent, said, name, record, at: time } = telling;
        let mut parts = vec![id.as_bytes(), record.as_bytes()];
        parts.extend_from_slice(name);
        let item = Item {
            scope: agent.map_or(Scope::Root, Scope::Child),
            name: item_name(&parts),
            at: (*time).into(),
            estimated: false,
            place: Some(*time),
            turn_id: None,
            said,
        };
        let origin = Origin { place: Place::Beside, record };
        let (projector, explainer) = (&mut self.projector, &mut self.explainer);
        self.sessions[at].bridge.take(&item, true, &mut |event| {
            let outcome = apply(projector, &event, None, false);
            explainer.note(&event, &outcome, origin, None);
            on_event(&event, &outcome);
        });
        true
    }

    /// The source and the id of the present life of a session's own agent, or of a sub-agent.
    #[must_use]
    pub fn life_of(&self, session: (&'static str, &str), agent: Option<&str>) -> Option<(String, String)> {
        let (provider, id) = session;
        let bridge = &self.sessions[*self.places.get(&(provider, id.to_owned()))?].bridge;
        let life = match agent {
            Some(agent) => bridge.newest_life(&bridge.child_name(agent)),
            None => bridge.root_life()?,
        };
        Some((bridge.source().to_owned(), life))
    }

    /// Hooks speak of a session: its waits for permissions are seen.
    pub fn heard_hook(&mut self, session: (&'static str, &str)) {
        let (provider, id) = session;
        if let Some(&at) = self.places.get(&(provider, id.to_owned())) {
            self.sessions[at].has_hooks = true;
            self.tell_beside(at);
        }
    }

    /// Tells which process works on a session, by its provider's name and id; `None` takes it away. `started` tells a process
    /// from a later one with its pid. A dead process is an exit without a code, said once; `now` is when this was found.
    pub fn tell_process(
        &mut self,
        session: (&'static str, &str),
        process: Option<(Process, Option<Moment>)>,
        now: Moment,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        let (provider, id) = session;
        let Some(&at) = self.places.get(&(provider, id.to_owned())) else { return };
        let bridge = &self.sessions[at].bridge;
        let Some(life) = bridge.root_life() else { return };
        let source = bridge.source().to_owned();
        self.projector.set_process(&source, &life, process.map(|(process, _)| process));
        let Some((Process { pid, alive: Alive::No }, started)) = process else { return };
        let started = started.map(Moment::to_text).unwrap_or_default();
        let telling = Telling {
            agent: None,
            said: Said::Event(AgentEvent::Exited { agent_id: None, exit_code: None, signal: None }),
            name: &[&pid.to_le_bytes(), started.as_bytes()],
            record: "process",
            at: now,
        };
        self.tell(session, &telling, on_event);
    }
}
