//! Processes that say in their own journals who they are, as publishers do.
//!
//! Input: events about a source, and what the system says of processes. Output: the process in the rows; of a dead one, a question that
//! its death answers. Invariant: a death is told once. Never: takes a source without an owner for dead.

use std::collections::HashMap;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::project::{Alive, Process, Projector};

use super::questions::Questions;
use crate::process::{Owner, Verdict};

/// The child id of what is said of a source itself.
const SOURCE: &str = "@source";
/// Sources whose owner is remembered.
const OWNERS: usize = 16_384;
/// Why an authority is asked.
const REASON: &str = "process_dead";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<Box<str>, Owner>);

impl Owners {
    /// Remembers the owner that an event names.
    pub(super) fn hear(&mut self, event: &Event<'_>) {
        if event.child_id != SOURCE || self.0.len() >= OWNERS {
            return;
        }
        let owner = event.details.as_ref().and_then(|details| details.get("owner"));
        let owner = owner.and_then(|owner| serde_json::to_value(owner).ok());
        if let Some(owner) = owner {
            self.0.insert(event.source.as_ref().into(), Owner::read(&owner));
        }
    }

    /// Looks at each owner, and tells the rows of its source.
    pub(super) fn look(
        &mut self,
        projector: &mut Projector,
        questions: &mut Questions,
        look: impl Fn(&Owner) -> Verdict,
        now: Moment,
    ) {
        let mut children: HashMap<&str, Vec<(Box<str>, bool)>> = HashMap::new();
        for record in projector.records() {
            if let Some((source, _)) = self.0.get_key_value(&record.source) {
                let is_live = !record.state.is_terminal();
                children.entry(source).or_default().push((record.child_id.clone(), is_live));
            }
        }
        for (source, children) in children {
            let owner = &self.0[source];
            let Some(pid) = owner.pid else { continue };
            let alive = match look(owner) {
                Verdict::Alive(_) => Alive::Yes,
                Verdict::Dead { .. } => Alive::No,
                Verdict::Unknown(_) => Alive::Unknown,
            };
            let is_news = alive == Alive::No && !questions.is_dead(source, pid);
            for (child, is_live) in children {
                projector.set_process(source, &child, Some(Process { pid: pid.unsigned_abs(), alive }));
                if is_news && is_live {
                    projector.request_reconciliation(source, &child, REASON, now);
                }
            }
            match alive {
                Alive::No => questions.died(source, pid, now),
                Alive::Yes => questions.lives(source),
                Alive::Unknown => {}
            }
        }
    }
}
