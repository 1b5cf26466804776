//! What a hook's word means for a session.
//!
//! Input: a [`Hook`]. Output: what is told of its session. Invariant: a hook adds waits and ends; what a journal says stays.
//! Never: takes a hook for progress, or a missing one for anything.

use agent_lifecycle_core::agent::{AgentEvent, WaitState};
use agent_lifecycle_core::bridge::PERMISSION;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::pipeline::Telling;
use agent_lifecycle_core::project::Record;
use agent_lifecycle_core::project::facts::OpenTool;
use agent_lifecycle_core::providers::Said;

use super::live::Live;
use super::spool::Hook;

impl Live {
    /// Takes what a hook says at `now`; of a session whose journal is not read nothing is known. What was over by the journal's own
    /// word before the hook's came is over: hooks run beside the agent, and come late.
    pub fn hook(&mut self, hook: &Hook, now: Moment) {
        let session = (hook.provider, hook.session_id.as_str());
        self.heard_hook(session);
        let at = hook.at.min(now);
        let Some(said) = said(hook) else { return };
        let agent = hook.agent_id.as_deref().and_then(|agent| self.launch_of(session, agent));
        if !self.record_of(session, agent.as_deref()).is_some_and(|record| is_open(record, hook, at)) {
            return;
        }
        let name: [&[u8]; 1] = [hook.name.as_bytes()];
        let telling = Telling { agent: agent.as_deref(), said, name: &name, record: "hook", at };
        self.tell(session, &telling);
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
