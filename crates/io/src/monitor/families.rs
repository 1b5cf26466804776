//! Which session an agent belongs to, as journals of sub-agents are found one by one.
//!
//! Input: what each journal was found to be. Output: the same, with the session of its root, and who moves there with it. Invariant: in
//! whatever order journals are found, each agent is at last in the session of its root. Never: needs the journals in an order.

use std::collections::HashMap;

use agent_lifecycle_core::providers::{Recognized, Role};

/// An agent, by its provider.
type Name = (&'static str, String);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// The session of each agent that was placed.
    sessions: HashMap<Name, String>,
    /// The agents that name one as their parent.
    below: HashMap<Name, Vec<String>>,
}

impl Families {
    /// Gives a sub-agent the session of the one that started it, where that is known. The second are the agents below it that were
    /// placed before, and that are in this session from now on.
    pub(super) fn place(
        &mut self,
        provider: &'static str,
        mut recognized: Recognized,
    ) -> (Recognized, Vec<String>) {
        let own = match &recognized.role {
            Role::Root => recognized.session_id.clone(),
            Role::Child { agent_id } => agent_id.clone(),
        };
        if let Some(parent) = recognized.parent.clone() {
            let parent = (provider, parent);
            if let Some(session) = self.sessions.get(&parent) {
                recognized.session_id.clone_from(session);
            }
            let siblings = self.below.entry(parent).or_default();
            if !siblings.contains(&own) {
                siblings.push(own.clone());
            }
        }
        let name = (provider, own);
        let session = self.sessions.entry(name.clone()).or_insert_with(|| recognized.session_id.clone());
        if recognized.role != Role::Root {
            recognized.session_id.clone_from(session);
        }
        let moved = self.move_below(name, &recognized.session_id);
        (recognized, moved)
    }

    /// Puts the agents below `name` into `session`; those that were in another.
    fn move_below(&mut self, name: Name, session: &str) -> Vec<String> {
        let provider = name.0;
        let mut moved = Vec::new();
        let mut above = vec![name];
        while let Some(name) = above.pop() {
            for agent in self.below.get(&name).cloned().unwrap_or_default() {
                let name = (provider, agent.clone());
                // Who is there already has those below there too: a circle of parents ends.
                let Some(former) = self.sessions.get_mut(&name).filter(|former| *former != session) else {
                    continue;
                };
                session.clone_into(former);
                moved.push(agent);
                above.push(name);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use agent_lifecycle_core::providers::{Recognized, Role};

    use super::Families;

    fn child(own: &str, parent: &str) -> Recognized {
        let role = Role::Child { agent_id: own.to_owned() };
        Recognized { session_id: parent.to_owned(), role, parent: Some(parent.to_owned()) }
    }

    fn root(own: &str) -> Recognized {
        Recognized { session_id: own.to_owned(), role: Role::Root, parent: None }
    }

    /// The session of each agent in the end.
    fn placed(order: &[Recognized]) -> Vec<(String, String)> {
        let mut families = Families::default();
        let mut sessions = std::collections::BTreeMap::new();
        for recognized in order {
            let own = match &recognized.role {
                Role::Root => recognized.session_id.clone(),
                Role::Child { agent_id } => agent_id.clone(),
            };
            let (recognized, moved) = families.place("codex", recognized.clone());
            for agent in moved.into_iter().chain([own]) {
                sessions.insert(agent, recognized.session_id.clone());
            }
        }
        sessions.into_iter().collect()
    }

    #[test]
    fn the_order_does_not_matter() {
        let journals = [root("r"), child("a", "r"), child("b", "a"), child("c", "b")];
        let all_in = |session: &str, agents: &[&str]| -> Vec<(String, String)> {
            agents.iter().map(|agent| ((*agent).to_owned(), session.to_owned())).collect()
        };
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [3, 1, 2, 0], [2, 3, 0, 1], [1, 3, 0, 2]] {
            let order = order.map(|at: usize| journals[at].clone());
            assert_eq!(placed(&order), all_in("r", &["a", "b", "c", "r"]), "{order:?}");
        }
        // The journal between is missing: its name is the session's.
        assert_eq!(
            placed(&[child("c", "b"), root("r")]),
            [("c".into(), "b".into()), ("r".into(), "r".into())]
        );
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let found = placed(&[child("a", "b"), child("b", "a"), child("c", "c")]);
        assert_eq!(found, [("a", "b"), ("b", "b"), ("c", "c")].map(|(a, s)| (a.to_owned(), s.to_owned())));
    }
}
