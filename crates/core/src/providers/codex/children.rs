//! Sub-agents: what a thread records of those below it, and what a sub-agent's own journal says of itself.
//!
//! Input: sub-agent activities, the start and the ends of a sub-agent's own turns. Output: `subagent.started`, `subagent.done`.
//! Invariant: the id of a sub-agent is that of its thread. Never: takes a `spawn_agent` call for a sub-agent.

use super::mapper::Mapper;
use super::record::filled;
use super::shapes::Payload;
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Outcome};
use crate::json::Scalar;
use crate::providers::Role;
use crate::providers::ids::id;
use crate::providers::say::{Say, cut};
use crate::providers::shape::Shape;

impl Mapper {
    /// The first record of a sub-agent's own journal: it exists, and does not run yet.
    pub(super) fn own_start(&mut self, meta: &Payload<'_>, say: &mut Say<'_>) {
        let Role::Child { agent_id } = &self.role else { return };
        if self.known.title.is_none() {
            let spawn = match &meta.source {
                Shape(Some(origin)) => match &origin.subagent {
                    Shape(Some(subagent)) => subagent.thread_spawn.0.as_ref(),
                    Shape(None) => None,
                },
                Shape(None) => None,
            };
            let of_spawn = spawn.map(|spawn| [&spawn.agent_nickname, &spawn.agent_path]);
            let names =
                [&meta.agent_nickname, &meta.agent_path].into_iter().chain(of_spawn.into_iter().flatten());
            self.known.title = names.filter_map(filled).find_map(title);
        }
        say.event(AgentEvent::SubagentStarted {
            subagent_id: agent_id.clone(),
            parent_agent_id: self.parent.clone(),
            title: self.known.title.clone(),
            prompt_text: None,
            model: None,
        });
    }

    /// A turn of a sub-agent ended, and with it the sub-agent, unless another turn of this life is open. Which turns are of this life
    /// is not for this journal to say: its parent's may have told that an earlier one ended.
    pub(super) fn own_end(&mut self, outcome: Outcome, summary: Option<String>, say: &mut Say<'_>) {
        if let Role::Child { agent_id } = &self.role {
            say.event(AgentEvent::SubagentDone { subagent_id: agent_id.clone(), outcome, summary });
        }
    }

    /// What happened to a sub-agent, as the one that started it records it.
    pub(super) fn activity(
        &self,
        what: &Scalar<'_>,
        thread: &Scalar<'_>,
        path: &Scalar<'_>,
        say: &mut Say<'_>,
    ) {
        let Some(subagent_id) = filled(thread).and_then(id) else { return };
        // The thread itself, or the session's own agent, is nobody's sub-agent.
        let is_own = matches!(&self.role, Role::Child { agent_id } if *agent_id == subagent_id);
        if is_own || subagent_id == self.session_id {
            return;
        }
        let outcome = match what.text() {
            Some("started") => {
                return say.event(AgentEvent::SubagentStarted {
                    subagent_id,
                    parent_agent_id: None,
                    title: filled(path).and_then(title),
                    prompt_text: None,
                    model: None,
                });
            }
            Some("completed") => Outcome::Success,
            Some("interrupted") => Outcome::Cancelled,
            _ => return,
        };
        say.event(AgentEvent::SubagentDone { subagent_id, outcome, summary: None });
    }
}

fn title(text: &str) -> Option<String> {
    cut(text, limits::TITLE)
}
