//! Questions about children that only an authority can answer, and what follows from the answers.
//!
//! Input: open questions of the projection, answers of the host, deaths that are proven. Output: what to ask; `lost` where an
//! authority says gone and the deadline has passed. Invariant: evidence newer than an answer cancels it. Never: takes silence for one.

use std::collections::{HashMap, HashSet};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::{Projector, Record, Status};

/// A source and a child of it.
type Name = (Box<str>, Box<str>);

/// A question that the host is to ask its authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The child's source.
    pub source: String,
    /// The child.
    pub child_id: String,
    /// Why.
    pub reason: String,
    /// Until when an answer is waited for.
    pub deadline: Moment,
}

/// What an authority says of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is gone.
    Gone,
    /// It is there; that is said by evidence of its own, not here.
    There,
    /// No answer: an error, or too late.
    None,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    /// Questions that the host was given, by their deadlines.
    given: HashMap<Name, Moment>,
    /// What of the projection was looked at for open ones.
    looked: u64,
    /// Children that an authority called gone, and when.
    gone: HashMap<Name, Moment>,
    /// Sources whose process is provably dead: its pid, and since when that is known.
    dead: HashMap<Box<str>, (i32, Moment)>,
}

impl Questions {
    /// Whether this death was told.
    pub(super) fn is_dead(&self, source: &str, pid: i32) -> bool {
        self.dead.get(source).is_some_and(|(known, _)| *known == pid)
    }

    /// A process of this source lives.
    pub(super) fn lives(&mut self, source: &str) {
        self.dead.remove(source);
    }

    pub(super) fn died(&mut self, source: &str, pid: i32, now: Moment) {
        self.dead.entry(source.into()).or_insert((pid, now));
    }

    /// Open questions that were not given yet.
    pub(super) fn take(&mut self, projector: &Projector) -> Vec<Asked> {
        let mut open = HashSet::new();
        let mut asked = Vec::new();
        let (touched, looked) = projector.touched_since(self.looked);
        self.looked = looked;
        for record in touched.iter().flat_map(|source| projector.records_of(source)) {
            let Some(question) = &record.freshness.reconciliation else { continue };
            let name = name(record);
            if self.given.get(&name) != Some(&question.deadline) {
                self.given.insert(name.clone(), question.deadline);
                asked.push(Asked {
                    source: record.source.to_string(),
                    child_id: record.child_id.to_string(),
                    reason: question.reason.to_string(),
                    deadline: question.deadline,
                });
            }
            open.insert(name);
        }
        let is_looked_at = |source: &str| touched.binary_search(&source).is_ok();
        self.given.retain(|name, _| open.contains(name) || !is_looked_at(&name.0));
        asked
    }

    pub(super) fn answer(
        &mut self,
        projector: &mut Projector,
        (source, child_id): (&str, &str),
        answer: Answer,
        now: Moment,
    ) {
        match answer {
            Answer::Gone => {
                self.gone.insert((source.into(), child_id.into()), now);
            }
            Answer::There => {}
            Answer::None => {
                projector.reconciliation_unanswered(source, child_id, now);
            }
        }
    }

    /// Concludes what answers and proven deaths allow at `now`: the children that are lost, and whether an `authority` or a dead
    /// `process` is why.
    pub(super) fn draw(&mut self, projector: &mut Projector, now: Moment) -> Vec<(Name, &'static str)> {
        if self.gone.is_empty() && self.dead.is_empty() {
            return Vec::new();
        }
        let is_gone = |record: &&Record| {
            let answered = self.gone.get(&name(record)).copied();
            let died = self.dead.get(&record.source).map(|(_, since)| *since);
            let since = answered.or(died);
            let is_due = record.freshness.reconciliation.as_ref().is_some_and(|open| open.deadline <= now);
            is_due && since.is_some_and(|since| record.freshness.newest.at <= since)
        };
        let mut lost = Vec::new();
        for name in projector.records().filter(is_gone).map(name).collect::<Vec<_>>() {
            let applied = projector.reconciliation_failed(&name.0, &name.1, now);
            if applied.status == Status::Applied {
                let by = if self.gone.contains_key(&name) { "authority" } else { "process" };
                lost.push((name, by));
            }
        }
        self.gone.retain(|(source, child_id), since| {
            projector
                .record(source, child_id)
                .is_some_and(|record| !record.state.is_terminal() && record.freshness.newest.at <= *since)
        });
        lost
    }
}

fn name(record: &Record) -> Name {
    (record.source.clone(), record.child_id.clone())
}
