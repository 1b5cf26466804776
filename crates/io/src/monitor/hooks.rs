//! What a hook's word means for a session.
//!
//! Input: [`Hook`]s. Output: what is told of their sessions. Invariant: a hook adds waits and ends; what a journal says stays.
//! Never: takes a hook for progress, or a missing one for anything.

use std::collections::VecDeque;

use agent_lifecycle_core::agent::{AgentEvent, WaitState};
use agent_lifecycle_core::bridge::PERMISSION;
use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::pipeline::{Outcome, Pipeline, Telling};
use agent_lifecycle_core::project::Record;
use agent_lifecycle_core::project::facts::OpenTool;
use agent_lifecycle_core::providers::Said;

use super::spool::Hook;

/// Hooks kept whose session is not read yet.
const WAITING: usize = 1024;

/// Takes what a hook says at `now`; `false` where no journal of its session is read, so that nothing is known of it. What was over by
/// the journal's own word before the hook's came is over: hooks run beside the agent, and come late.
pub(crate) fn take(
    pipeline: &mut Pipeline,
    hook: &Hook,
    now: Moment,
    on_event: &mut impl FnMut(&Event<'_>, &Outcome),
) -> bool {
    let session = (hook.provider, hook.session_id.as_str());
    if pipeline.life_of(session, None).is_none() {
        return false;
    }
    pipeline.heard_hook(session);
    let at = hook.at.min(now);
    let Some(said) = said(hook) else { return true };
    let agent = hook.agent_id.as_deref().and_then(|agent| pipeline.launch_of(session, agent));
    let life = pipeline.life_of(session, agent.as_deref());
    let record = life.and_then(|(source, child)| pipeline.projector().record(&source, &child));
    if record.is_some_and(|record| is_open(record, hook, at)) {
        let name: [&[u8]; 1] = [hook.name.as_bytes()];
        let telling = Telling { agent: agent.as_deref(), said, name: &name, record: "hook", at };
        pipeline.tell(session, &telling, on_event);
    }
    true
}

/// Hooks whose session is not read yet: a hook may be found before the journal that it is about.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<Hook>);

impl Waiting {
    /// Keeps a hook; of too many the oldest goes.
    pub(super) fn add(&mut self, hook: Hook) {
        if self.0.len() == WAITING {
            self.0.pop_front();
        }
        self.0.push_back(hook);
    }

    /// Takes out those that are kept, oldest first.
    pub(super) fn take(&mut self) -> VecDeque<Hook> {
        std::mem::take(&mut self.0)
    }
}

/// Whether what a hook said at `at` may still be so: nothing came since, or the call that it is about goes on.
fn is_open(record: &Record, hook: &Hook, at: Moment) -> bool {
    if at > record.freshness.newest.at {
        return true;
    }
    let Some(facts) = &record.facts else { return false };
    let is_turn_open = facts.turn.as_ref().is_some_and(|turn| turn.open);
    let is_meant = |tool: &OpenTool| {
        let by_id = hook.tool_use_id.as_ref() == Some(&tool.tool_id);
        by_id || (hook.tool_use_id.is_none() && hook.tool_name.as_ref() == Some(&tool.name))
    };
    is_turn_open && facts.tools.open.iter().any(is_meant)
}

fn said(hook: &Hook) -> Option<Said> {
    match hook.kind.as_str() {
        "PermissionRequest" => Some(permission(hook)),
        "Notification" if hook.notification.as_deref() == Some("permission_prompt") => Some(permission(hook)),
        "SessionEnd" => Some(Said::Event(AgentEvent::SessionStopped { reason: hook.reason.clone() })),
        // The journal says it too, and more.
        _ => None,
    }
}

fn permission(hook: &Hook) -> Said {
    let of = hook.tool_use_id.as_deref().or(hook.tool_name.as_deref()).unwrap_or("unknown");
    Said::Event(AgentEvent::WaitStarted {
        wait_id: format!("{PERMISSION}{of}"),
        state: WaitState::Waiting,
        agent_id: None,
        reason: Some("permission".to_owned()),
    })
}
