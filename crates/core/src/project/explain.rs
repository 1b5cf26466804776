//! Why a child is in the state that it is in: the evidence, by place.
//!
//! Input: events with what became of them and where they come from. Output: for a child the steps to its present state, the newest
//! evidence, and what its freshness rests on. Invariant: bounded for each child. Never: gives a reason that nothing gave.

use std::collections::VecDeque;

use hashbrown::HashMap;
use serde::Serialize;

use super::audit::Ring;
use super::record::{Asked, LATE, LateEvidence, Record};
use super::report::{Applied, Note, Status};
use crate::contract::{Event, Kind, Moment, Refusal, State, WaitingReason};
use crate::redact::safe_name;

/// Steps kept of one child.
const STEPS: usize = 16;

/// Where an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, and the offset of the line in it, in bytes.
    pub place: Place,
    /// The type of the record; of a schema-v1 event its kind.
    pub record: &'static str,
}

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the journal of an agent's own, by its number.
    Journal(usize, u64),
    /// In a stream of schema-v1 events, by its number.
    Stream(usize, u64),
    /// In no file: the host gave it as a schema-v1 event.
    Given,
    /// In no file: a hook, a process or an authority said it.
    Beside,
}

/// What is remembered of children.
#[derive(Debug, Default)]
pub struct Explainer {
    /// By source, then by child.
    children: HashMap<String, HashMap<String, Trail>>,
    /// The paths of streams.
    streams: Vec<String>,
}

#[derive(Debug, Default)]
struct Trail {
    steps: VecDeque<Step>,
    newest: Option<Step>,
    /// What the freshness rests on, and when that counts.
    fresh: Option<(Moment, Step)>,
}

#[derive(Clone, Debug)]
struct Step {
    origin: Origin,
    at: Moment,
    effect: Effect,
    /// The event, where it stands in a stream as it is: what its writer called it.
    event: Option<(Box<str>, Option<u64>)>,
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
    /// The path of the journal or stream; nothing where it stands in no file.
    pub journal: Option<String>,
    /// The offset of the line in it, in bytes.
    pub offset: Option<u64>,
    /// The type of the record; of a schema-v1 event its kind.
    pub record_type: &'static str,
    /// The id of a schema-v1 event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// The sequence of a schema-v1 event, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
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
    /// What the freshness rests on.
    pub freshness: Fresh,
    /// Why it is stale.
    pub stale: Option<String>,
    /// The question to an authority that is open.
    pub reconciliation: Option<Question>,
    /// What came after its end, or out of order with an end.
    pub late_evidence: Ring<LateEvidence, LATE>,
}

/// See [`Explanation::freshness`].
#[derive(Clone, Debug, Serialize)]
pub struct Fresh {
    /// The newest evidence of the child itself.
    pub at: Moment,
    /// What that is; nothing where it is held no more, or an authority gave it.
    pub evidence: Option<Evidence>,
}

/// See [`Explanation::reconciliation`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Why it was opened.
    pub reason: String,
    /// Until when an answer is waited for.
    pub deadline_at: Moment,
    /// What is known of the asking.
    pub asked: Asked,
}

impl Explainer {
    /// Gives a stream of schema-v1 events its number.
    pub fn add_stream(&mut self, path: String) -> usize {
        self.streams.push(path);
        self.streams.len() - 1
    }

    /// Remembers what became of an event from `origin`, received at a time that its own may be beyond.
    pub fn note(
        &mut self,
        event: &Event<'_>,
        outcome: &Result<Applied, Refusal>,
        origin: Origin,
        received_at: Option<Moment>,
    ) {
        let is_taken = matches!(outcome, Ok(Applied { status: Status::Applied | Status::Provisional, .. }));
        let effect = match outcome {
            Ok(applied) if is_taken => Effect::of(event, applied),
            Ok(Applied { status: Status::Deduplicated, .. }) => return,
            Ok(applied) => {
                Effect::Without { code: applied.note.map_or(applied.status.as_str(), |note| note.as_str()) }
            }
            Err(refusal) => Effect::Without { code: refusal.code.as_str() },
        };
        let at = event.observed_at.moment();
        // What is made of records, hooks and processes has no name that anybody gave it.
        let is_named = matches!(origin.place, Place::Stream(..) | Place::Given);
        let event_name = is_named.then(|| (event.event_id.as_ref().into(), event.sequence));
        let step = Step { origin, at, effect, event: event_name };
        let trail = self.trail(&event.source, &event.child_id);
        let counted = received_at.map_or(at, |received| at.min(received));
        let is_newer = trail.fresh.as_ref().is_none_or(|(newest, _)| counted >= *newest);
        if is_taken && is_newer && !event.kind.is_note() {
            trail.fresh = Some((counted, step.clone()));
        }
        trail.push(step);
    }

    /// Remembers that something that is no event ended a child.
    pub fn note_end(
        &mut self,
        (source, child_id): (&str, &str),
        state: State,
        record: &'static str,
        at: Moment,
    ) {
        let effect = Effect::State { state, reason: None, inferred: false };
        let origin = Origin { place: Place::Beside, record };
        self.trail(source, child_id).push(Step { origin, at, effect, event: None });
    }

    fn trail(&mut self, source: &str, child_id: &str) -> &mut Trail {
        let children = self.children.entry_ref(source).or_default();
        children.entry_ref(child_id).or_default()
    }

    /// Forgets a child.
    pub fn forget(&mut self, source: &str, child_id: &str) {
        if let Some(children) = self.children.get_mut(source) {
            children.remove(child_id);
            if children.is_empty() {
                self.children.remove(source);
            }
        }
    }

    /// What stands behind `record`; `path_of` names journals by their numbers.
    #[must_use]
    pub fn explain(&self, record: &Record, path_of: impl Fn(usize) -> Option<String>) -> Explanation {
        let trail = self.children.get(&*record.source).and_then(|children| children.get(&*record.child_id));
        let shown = |step: &Step| self.shown(step, &path_of);
        let steps = trail.into_iter().flat_map(|trail| {
            let newest = trail.newest.as_ref().filter(|step| !step.effect.is_step());
            trail.steps.iter().chain(newest)
        });
        let at = record.freshness.newest.at;
        let fresh = trail.and_then(|trail| trail.fresh.as_ref()).filter(|(newest, _)| *newest == at);
        Explanation {
            source: record.source.to_string(),
            child_id: record.child_id.to_string(),
            state: record.state,
            waiting_reason: record.waiting_reason,
            evidence: steps.map(shown).collect(),
            freshness: Fresh { at, evidence: fresh.map(|(_, step)| shown(step)) },
            stale: record.freshness.stale.as_ref().map(|stale| stale.reason.to_string()),
            reconciliation: record.freshness.reconciliation.as_ref().map(|open| Question {
                reason: open.reason.to_string(),
                deadline_at: open.deadline,
                asked: open.asked,
            }),
            late_evidence: record.late_evidence.as_deref().cloned().unwrap_or_default(),
        }
    }

    fn shown(&self, step: &Step, path_of: &impl Fn(usize) -> Option<String>) -> Evidence {
        let Step { origin: Origin { place, record }, at, effect, event } = step;
        let (journal, offset) = match *place {
            Place::Journal(journal, offset) => (path_of(journal), Some(offset)),
            Place::Stream(stream, offset) => (self.streams.get(stream).cloned(), Some(offset)),
            Place::Given | Place::Beside => (None, None),
        };
        Evidence {
            journal,
            offset,
            record_type: record,
            event_id: event.as_ref().map(|(id, _)| safe_name(id).into_owned()),
            sequence: event.as_ref().and_then(|(_, sequence)| *sequence),
            at: *at,
            effect: effect.to_text(),
            inferred: matches!(effect, Effect::State { inferred: true, .. }),
        }
    }
}

impl Trail {
    fn push(&mut self, step: Step) {
        if step.effect.is_step() {
            if self.steps.len() == STEPS {
                self.steps.pop_front();
            }
            self.steps.push_back(step.clone());
        }
        self.newest = Some(step);
    }
}

impl Effect {
    fn of(event: &Event<'_>, applied: &Applied) -> Self {
        let inferred = event.details.as_ref().is_some_and(|details| details.get("inferred").is_some());
        match (event.state, event.kind) {
            (Some(state), _) => Self::State { state, reason: event.waiting_reason, inferred },
            (None, Kind::Reconciliation | Kind::Diagnostic) => {
                Self::of_correction(event, applied).unwrap_or(Self::Note)
            }
            (None, _) => Self::Evidence,
        }
    }

    /// What a replayed correction did, where it changed the state: `details.lifecycle` says which it became.
    fn of_correction(event: &Event<'_>, applied: &Applied) -> Option<Self> {
        let lifecycle = event.details.as_ref()?.get("lifecycle")?;
        let is_state = matches!(
            applied.note,
            Some(Note::AuthoritativeSnapshot | Note::SnapshotAdmitted | Note::ReconciliationFailed)
        );
        // A checkpoint stands for all that was before it.
        let is_checkpoint = lifecycle.text_at("op") == Some("checkpoint") && applied.record.is_some();
        let member = if is_checkpoint { lifecycle.get("record")? } else { lifecycle };
        let state = State::parse(member.text_at(if is_checkpoint { "state" } else { "to" })?)?;
        let reason = member.text_at("waitingReason").and_then(WaitingReason::parse);
        (is_state || is_checkpoint).then_some(Self::State { state, reason, inferred: false })
    }

    /// Whether it is kept among the steps to a state.
    fn is_step(self) -> bool {
        matches!(self, Self::State { .. } | Self::Without { .. })
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
