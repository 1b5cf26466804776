//! What an agent's journal says of sub-agents that others of its session launched.
//!
//! Input: reports and resumptions that name a launch or an agent. Output: the same, about the launch. Invariant: what cannot be
//! placed yet waits for the launch, whatever the order of reading. Never: holds more than [`WAITING`] of a session.

use super::Pipeline;
use super::journal::Dated;
use crate::agent::AgentEvent;
use crate::providers::Said;

/// Reports without a known launch that are held; most are of background tasks that are no sub-agents. The oldest is given up.
const WAITING: usize = 1024;

impl Pipeline {
    /// Finds the launches of what `merged` and earlier batches say of others' sub-agents. What has none yet is held back.
    pub(super) fn place_elsewhere(&mut self, session: usize, merged: &mut Vec<Dated>) {
        merged.append(&mut self.sessions[session].unplaced);
        if !merged.iter().any(|dated| is_elsewhere(&dated.mapped.said)) {
            return;
        }
        let mut unplaced = Vec::new();
        for mut dated in std::mem::take(merged) {
            match self.placed(session, &dated.mapped.said) {
                Placed::Here => merged.push(dated),
                Placed::At(said) => {
                    dated.mapped.said = said;
                    merged.push(dated);
                }
                Placed::Nowhere => unplaced.push(dated),
            }
        }
        unplaced.drain(..unplaced.len().saturating_sub(WAITING));
        self.sessions[session].unplaced = unplaced;
    }

    fn placed(&mut self, session: usize, said: &Said) -> Placed {
        let (call, agent_id) = match said {
            Said::Reported { tool_use_id, agent_id, .. } => (tool_use_id.as_deref(), agent_id.as_deref()),
            Said::Resumed { agent_id } => (None, Some(agent_id.as_str())),
            _ => return Placed::Here,
        };
        let (mut by_call, mut by_agent) = (None, None);
        self.each_launcher(session, |launches| {
            by_call = by_call.take().or_else(|| launches.find(call, None));
            by_agent = by_agent.take().or_else(|| {
                let agent_id = agent_id?;
                launches.find(None, Some(agent_id)).or_else(|| launches.of(agent_id).map(str::to_owned))
            });
        });
        let Some(launch) = by_call.or(by_agent) else { return Placed::Nowhere };
        Placed::At(match said {
            Said::Reported { outcome, summary, .. } => Said::Event(AgentEvent::SubagentDone {
                subagent_id: launch,
                outcome: *outcome,
                summary: summary.clone(),
            }),
            _ => Said::Resumed { agent_id: launch },
        })
    }
}

enum Placed {
    /// It is about nobody else.
    Here,
    /// Its launch is known.
    At(Said),
    /// Its launch is not known.
    Nowhere,
}

fn is_elsewhere(said: &Said) -> bool {
    matches!(said, Said::Reported { .. } | Said::Resumed { .. })
}
