//! Why a child is in the state that it is in: the evidence, by place.
//!
//! Input: events with what became of them and where they come from. Output: for a child the steps to its present state and the newest
//! evidence. Invariant: bounded for each child. Never: gives a reason that no record, note or authority gave.

use std::collections::VecDeque;

use hashbrown::HashMap;
use serde::Serialize;

use super::record::Record;
use super::report::{Applied, Status};
use crate::contract::{Event, Kind, Moment, Refusal, State, WaitingReason};

/// Steps kept of one child.
const STEPS: usize = 16;

/// Where an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the journal.
    pub journal: usize,
    /// The offset of the line in it, in bytes.
    pub offset: u64,
    /// The type of the record.
    pub record: &'static str,
}

/// What is remembered of children.
#[derive(Debug, Default)]
pub struct Explainer {
    /// By source, then by child.
    children: HashMap<String, HashMap<String, Trail>>,
}

#[derive(Debug, Default)]
struct Trail {
    steps: VecDeque<Step>,
    newest: Option<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    origin: Origin,
    at: Moment,
    effect: Effect,
}

/// What a piece of evidence did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    State { state: State, reason: Option<WaitingReason>, inferred: bool },
    Evidence,
    Note,
    Without { code: &'static str },
}

/// One piece of evidence behind a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The path of the journal.
    pub journal: String,
    /// The offset of the line in it, in bytes.
    pub offset: u64,
    /// The type of the record.
    pub record_type: &'static str,
    /// When.
    pub at: Moment,
    /// What it did: the state that it led to, `evidence` or `note`; else the code of why it changed nothing.
    pub effect: String,
    /// Whether the step was added because the next one needs it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

/// Why a child is in its state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The child's source.
    pub source: String,
    /// The child.
    pub child_id: String,
    /// Its literal state.
    pub state: State,
    /// What it waits for.
    pub waiting_reason: Option<WaitingReason>,
    /// The steps that led here, oldest first, then the newest evidence where that is no step.
    pub evidence: Vec<Evidence>,
    /// Why it is stale.
    pub stale: Option<String>,
    /// The question to an authority that is open.
    pub reconciliation: Option<Question>,
}

/// See [`Explanation::reconciliation`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Why it was opened.
    pub reason: String,
    /// Until when an answer is waited for.
    pub deadline_at: Moment,
}

impl Explainer {
    /// Remembers what became of an event from `origin`.
    pub fn note(&mut self, event: &Event<'_>, outcome: &Result<Applied, Refusal>, origin: Origin) {
        let effect = match outcome {
            Ok(Applied { status: Status::Applied | Status::Provisional, .. }) => Effect::of(event),
            Ok(Applied { status: Status::Deduplicated, .. }) => return,
            Ok(applied) => {
                Effect::Without { code: applied.note.map_or(applied.status.as_str(), |note| note.as_str()) }
            }
            Err(refusal) => Effect::Without { code: refusal.code.as_str() },
        };
        let children = self.children.entry_ref(event.source.as_ref()).or_default();
        let trail = children.entry_ref(event.child_id.as_ref()).or_default();
        let step = Step { origin, at: event.observed_at.moment(), effect };
        if matches!(effect, Effect::State { .. } | Effect::Without { .. }) {
            if trail.steps.len() == STEPS {
                trail.steps.pop_front();
            }
            trail.steps.push_back(step);
        }
        trail.newest = Some(step);
    }

    /// Forgets a child.
    pub fn forget(&mut self, source: &str, child_id: &str) {
        if let Some(children) = self.children.get_mut(source) {
            children.remove(child_id);
        }
    }

    /// What stands behind `record`; `path_of` names journals by their numbers.
    #[must_use]
    pub fn explain(&self, record: &Record, path_of: impl Fn(usize) -> String) -> Explanation {
        let trail = self.children.get(&*record.source).and_then(|children| children.get(&*record.child_id));
        let steps = trail.into_iter().flat_map(|trail| {
            let newest = trail.newest.filter(|step| matches!(step.effect, Effect::Evidence | Effect::Note));
            trail.steps.iter().copied().chain(newest)
        });
        let evidence =
            steps.map(|Step { origin: Origin { journal, offset, record }, at, effect }| Evidence {
                journal: path_of(journal),
                offset,
                record_type: record,
                at,
                effect: effect.to_text(),
                inferred: matches!(effect, Effect::State { inferred: true, .. }),
            });
        Explanation {
            source: record.source.to_string(),
            child_id: record.child_id.to_string(),
            state: record.state,
            waiting_reason: record.waiting_reason,
            evidence: evidence.collect(),
            stale: record.freshness.stale.as_ref().map(|stale| stale.reason.to_string()),
            reconciliation: record
                .freshness
                .reconciliation
                .as_ref()
                .map(|open| Question { reason: open.reason.to_string(), deadline_at: open.deadline }),
        }
    }
}

impl Effect {
    fn of(event: &Event<'_>) -> Self {
        let inferred = event.details.as_ref().is_some_and(|details| details.get("inferred").is_some());
        match (event.state, event.kind) {
            (Some(state), _) => Self::State { state, reason: event.waiting_reason, inferred },
            (None, Kind::Reconciliation | Kind::Diagnostic) => Self::Note,
            (None, _) => Self::Evidence,
        }
    }

    fn to_text(self) -> String {
        match self {
            Self::State { state, reason: Some(reason), .. } => {
                format!("{} {}", state.as_str(), reason.as_str())
            }
            Self::State { state, reason: None, .. } => state.as_str().to_owned(),
            Self::Evidence => "evidence".to_owned(),
            Self::Note => "note".to_owned(),
            Self::Without { code } => code.to_owned(),
        }
    }
}
