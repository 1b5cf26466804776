//! What is known of the process that works on a session.
//!
//! Input: a session and its process, as evidence gives it. Output: the row's evidence; of a dead process, the end that follows from it.
//! Invariant: a dead process is an exit without a code, said once. Never: calls an exit a success of its own.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::{Outcome, Pipeline, apply};
use crate::agent::AgentEvent;
use crate::bridge::{Item, Scope};
use crate::contract::{Event, Moment};
use crate::project::explain::Origin;
use crate::project::{Alive, Process};
use crate::providers::Said;

/// The type of the record in explanations.
const RECORD: &str = "process";

impl Pipeline {
    /// Tells which process works on a session, by its provider's name and id; `None` takes it away. `started` tells a process
    /// from a later one with its pid. `now` is when this was found.
    pub fn tell_process(
        &mut self,
        session: (&'static str, &str),
        process: Option<(Process, Option<Moment>)>,
        now: Moment,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        let (provider, id) = session;
        let Some(&at) = self.places.get(&(provider, id.to_owned())) else { return };
        let bridge = &mut self.sessions[at].bridge;
        let Some(life) = bridge.root_life() else { return };
        let source = bridge.source().to_owned();
        self.projector.set_process(&source, &life, process.map(|(process, _)| process));
        let Some((Process { pid, alive: Alive::No }, started)) = process else { return };
        let mut hasher = SipHasher13::new();
        hasher.write(id.as_bytes());
        hasher.write_u32(pid);
        hasher.write(started.map(Moment::to_text).unwrap_or_default().as_bytes());
        let said = Said::Event(AgentEvent::Exited { agent_id: None, exit_code: None, signal: None });
        let item = Item {
            scope: Scope::Root,
            name: hasher.finish128().as_u128(),
            at: now.into(),
            estimated: false,
            turn_id: None,
            said: &said,
        };
        let origin = Origin { journal: usize::MAX, offset: 0, record: RECORD };
        let (projector, explainer) = (&mut self.projector, &mut self.explainer);
        bridge.take(&item, true, &mut |event| {
            let outcome = apply(projector, &event, None);
            explainer.note(&event, &outcome, origin);
            on_event(&event, &outcome);
        });
    }
}
