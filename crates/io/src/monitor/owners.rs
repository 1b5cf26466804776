//! Processes that say in their own journals who they are, as publishers do.
//!
//! Input: events about a source, and what the system says of processes. Output: the process in the rows; of a dead one its exit, or in
//! an open turn a question that its death answers. Invariant: a death is told once. Never: takes a source without an owner for dead.

use std::collections::HashMap;

use agent_lifecycle_core::agent::{AgentEvent, Outcome};
use agent_lifecycle_core::contract::{Event, Kind, Moment, State};
use agent_lifecycle_core::json::Json;
use agent_lifecycle_core::project::{Alive, Process, Projector, Record};

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
pub(crate) struct Owners {
    by_source: HashMap<Box<str>, Owner>,
    /// Whether a child of such a source came since its owner was last looked at.
    is_due: bool,
}

impl Owners {
    /// Remembers the owner that an event names, and that a child of such a source is new.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        if event.child_id != SOURCE {
            self.is_due |= event.kind == Kind::Created && self.by_source.contains_key(event.source.as_ref());
            return;
        }
        if self.by_source.len() >= OWNERS {
            return;
        }
        let owner = event.details.as_ref().and_then(|details| details.get("owner"));
        let owner = owner.and_then(|owner| serde_json::to_value(owner).ok());
        if let Some(owner) = owner {
            self.by_source.insert(event.source.as_ref().into(), Owner::read(&owner));
        }
    }

    /// Whether no process is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_source.is_empty()
    }

    /// Whether a child came whose process is known and was not looked at.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Looks at each owner, and tells the rows of its source. Gives the ends that follow, as events. `questions` are those of who goes
    /// on to look until the deadline; a reading that has none asks nobody, and the rows say so.
    pub(crate) fn look(
        &mut self,
        projector: &mut Projector,
        mut questions: Option<&mut Questions>,
        look: impl Fn(&Owner) -> Verdict,
        now: Moment,
    ) -> Vec<Event<'static>> {
        self.is_due = false;
        let mut ends = Vec::new();
        for (source, owner) in &self.by_source {
            let children: Vec<Child> = projector.records_of(source).map(Child::of).collect();
            let Some(pid) = owner.pid.filter(|_| !children.is_empty()) else { continue };
            let alive = match look(owner) {
                Verdict::Alive(_) => Alive::Yes,
                Verdict::Dead { .. } => Alive::No,
                Verdict::Unknown(_) => Alive::Unknown,
            };
            let is_told = questions.as_deref().is_some_and(|questions| questions.is_dead(source, pid));
            let is_news = alive == Alive::No && !is_told;
            for child in children {
                projector.set_process(source, &child.id, Some(Process { pid: pid.unsigned_abs(), alive }));
                match child.end {
                    Some(state) if is_news => {
                        ends.extend(exit(projector, source, &child.id, pid, state, now));
                    }
                    None if is_news && child.is_live => match questions {
                        Some(_) => {
                            projector.request_reconciliation(source, &child.id, REASON, now);
                        }
                        None => projector.found_dead(source, &child.id, now),
                    },
                    _ => {}
                }
            }
            match (alive, questions.as_deref_mut()) {
                (Alive::No, Some(questions)) => questions.died(source, pid, now),
                (Alive::Yes, Some(questions)) => questions.lives(source),
                _ => {}
            }
        }
        ends
    }
}

/// A child of a source whose owner is looked at.
struct Child {
    id: Box<str>,
    is_live: bool,
    /// How it ends with its process, where no turn is open.
    end: Option<State>,
}

impl Child {
    fn of(record: &Record) -> Self {
        let is_live = !record.state.is_terminal();
        let is_root =
            *record.child_id == *record.lineage.root_child_id || record.lineage.parent_child_id.is_none();
        let turn = record.facts.as_ref().and_then(|facts| facts.turn.as_ref());
        let end = match turn {
            Some(turn) if turn.open => None,
            Some(turn) => match turn.outcome {
                Some(Outcome::Success) => Some(State::Completed),
                Some(Outcome::Error) => Some(State::Failed),
                Some(Outcome::Cancelled) => Some(State::Cancelled),
                None => None,
            },
            // Nothing was ever begun.
            None if record.state == State::Starting || record.state == State::Created => {
                Some(State::Cancelled)
            }
            None => None,
        };
        Self { id: record.child_id.clone(), is_live, end: end.filter(|_| is_live && is_root) }
    }
}

/// A dead process is an exit without a code: its last turn's outcome is the session's.
fn exit(
    projector: &Projector,
    source: &str,
    child: &str,
    pid: i32,
    state: State,
    now: Moment,
) -> Option<Event<'static>> {
    let record = projector.record(source, child)?;
    let exited = AgentEvent::Exited { agent_id: None, exit_code: None, signal: None };
    Some(Event {
        event_id: format!("process-{pid}").into(),
        source: source.to_owned().into(),
        source_epoch: projector.epoch(source)?.to_owned().into(),
        child_id: child.to_owned().into(),
        lineage: record.lineage.clone(),
        kind: Kind::Terminal,
        state: Some(state),
        waiting_reason: None,
        observed_at: now.into(),
        sequence: None,
        activity: None,
        details: Some(Json::Object(vec![("agent".to_owned(), exited.to_json())])),
        capabilities: record.capabilities,
    })
}
