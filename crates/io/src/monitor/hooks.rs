//! What a hook's word means for a session.
//!
//! Input: a [`Hook`]. Output: what is told of its session. Invariant: a hook adds waits and ends; what a journal says stays.
//! Never: takes a hook for progress, or a missing one for anything.

use agent_lifecycle_core::agent::{AgentEvent, WaitState};
use agent_lifecycle_core::bridge::PERMISSION;
use agent_lifecycle_core::pipeline::Telling;
use agent_lifecycle_core::providers::Said;

use super::live::Live;
use super::spool::Hook;

impl Live {
    /// Takes what a hook says; of a session whose journal is not read nothing is known.
    pub fn hook(&mut self, hook: &Hook) {
        let session = (hook.provider, hook.session_id.as_str());
        self.heard_hook(session);
        let Some(said) = said(hook) else { return };
        let name: [&[u8]; 1] = [hook.name.as_bytes()];
        let agent = hook.agent_id.as_deref().and_then(|agent| self.launch_of(session, agent));
        let telling = Telling { agent: agent.as_deref(), said, name: &name, record: "hook", at: hook.at };
        self.tell(session, &telling);
    }
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
    let of = hook.tool_use_id.as_deref().or(hook.tool_name.as_deref()).unwrap_or_default();
    Said::Event(AgentEvent::WaitStarted {
        wait_id: format!("{PERMISSION}{of}"),
        state: WaitState::Waiting,
        agent_id: None,
        reason: Some("permission".to_owned()),
    })
}
