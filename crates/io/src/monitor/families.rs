//! Which session an agent belongs to, as journals of sub-agents are found one by one.
//!
//! Input: what each journal was found to be. Output: the same, with the session of its root. Invariant: an agent keeps the session
//! that it was first given. Never: needs the journals in an order.

use std::collections::HashMap;

use agent_lifecycle_core::providers::{Recognized, Role};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// The session of each agent that was placed, by its provider.
    sessions: HashMap<(&'static str, String), String>,
}

impl Families {
    /// Gives a sub-agent the session of the one that started it, where that is known.
    pub(super) fn place(&mut self, provider: &'static str, mut recognized: Recognized) -> Recognized {
        let own = match &recognized.role {
            Role::Root => recognized.session_id.clone(),
            Role::Child { agent_id } => agent_id.clone(),
        };
        let above = recognized.parent.clone().and_then(|parent| self.sessions.get(&(provider, parent)));
        if let Some(session) = above {
            recognized.session_id.clone_from(session);
        }
        let session = self.sessions.entry((provider, own)).or_insert_with(|| recognized.session_id.clone());
        if recognized.role != Role::Root {
            recognized.session_id.clone_from(session);
        }
        recognized
    }
}
