//! What one event does to one record (contract section 3, checks 3 to 8).
//!
//! Input: a record and an event with its name, content and time. Output: the record after it, or why it is refused.
//! Invariant: a terminal record keeps its state. Never: looks at another record.

use std::borrow::Cow;

use super::content::{Content, is_estimated};
use super::dedupe::{Identity, Name, Seen};
use super::projector::RecordKey;
use super::record::{Asked, Estimate, LateEvidence, NoteEvent, Reconciliation, Record};
use super::report::{Applied, Note, Status};
use crate::contract::{Code, Event, Kind, Moment, Refusal, State, Timestamp};
use crate::json::Json;
use crate::redact::safe_name;

/// An event on its way through the checks.
pub(super) struct Arrival<'a> {
    pub(super) event: &'a Event<'a>,
    pub(super) name: Name,
    pub(super) content: Content,
    /// When it counts as evidence: the earlier of observed and received.
    pub(super) at: Moment,
    /// Whether the caller knows that it was never told before.
    pub(super) is_first: bool,
}

pub(super) fn earlier(observed: Moment, received: Option<Moment>) -> Moment {
    received.map_or(observed, |received| observed.min(received))
}

/// The epoch that a `reconciliation` event says its source has left.
pub(super) fn advanced_from<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    let details = event.details.as_ref().filter(|_| event.kind == Kind::Reconciliation)?;
    details.get("epochAdvance").and_then(|advance| advance.text_at("from"))
}

/// Check 3. An answer ends the judgement.
pub(super) fn judge_identity(identity: Identity, key: Option<RecordKey>) -> Option<Applied> {
    let (status, note) = match identity {
        Identity::New => return None,
        Identity::Same => (Status::Deduplicated, None),
        Identity::Different => (Status::Conflict, Some(Note::IdentityConflict)),
        Identity::Unchecked => (Status::Deduplicated, Some(Note::IdentityUnchecked)),
        Identity::Evicted => (Status::OutOfOrder, Some(Note::IdentityEvicted)),
    };
    Some(Applied::new(status, note, key))
}

/// Whether it says that a process or session ended, and that this is no end of its agent.
pub(super) fn is_exit(event: &Event<'_>) -> bool {
    let agent = event.details.as_ref().and_then(|details| details.get("agent"));
    let kind = agent.and_then(|agent| agent.text_at("kind"));
    event.kind == Kind::Reconciliation && matches!(kind, Some("agent.exited" | "session.stopped"))
}

/// Whether it is a step that a bridge put in.
fn is_step(event: &Event<'_>) -> bool {
    event.details.as_ref().is_some_and(|details| details.get("inferred").is_some())
}

impl NoteEvent {
    pub(super) fn of(event: &Event<'_>) -> Self {
        Self {
            event_id: safe_name(&event.event_id).into(),
            kind: event.kind,
            observed_at: event.observed_at.moment(),
            activity: event.activity.as_deref().map(Into::into),
        }
    }
}

impl Record {
    /// The source is in a new epoch: what was seen in the old one is dropped, and what was missing in it stays missing.
    pub(super) fn restart_window(&mut self) {
        self.seen = if self.gap_detected { Seen::with_lost_events() } else { Seen::default() };
        self.last_state_sequence = None;
        if let Some(authority) = &mut self.authority {
            authority.corrections.seen = Seen::default();
        }
    }

    /// Check 8: whether the edge is missing and may be explained by a missing event; an error where it may not.
    pub(super) fn judge_edge(&self, next: State, sequence: Option<u64>) -> Result<bool, Refusal> {
        if self.state == next || self.state.allows(next) {
            return Ok(false);
        }
        let explained = self.state.steps_to(next).is_some()
            && sequence.is_some_and(|next| self.seen.has_hole_between(self.last_state_sequence, next));
        if explained {
            return Ok(true);
        }
        let allowed =
            self.state.successors().iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", ");
        let message = format!(
            "Illegal transition from {} to {}; from {} a child can only become {allowed}",
            self.state.as_str(),
            next.as_str(),
            self.state.as_str(),
        );
        Err(Refusal { code: Code::IllegalTransition, path: Cow::Borrowed("$.state"), message })
    }

    /// An accepted event of a live child.
    pub(super) fn take(&mut self, arrival: &Arrival<'_>) {
        let event = arrival.event;
        if let Some(state) = event.state {
            let at = event.observed_at.moment();
            // A step to where it is: what was read late shows that it was so before.
            let is_earlier = state == self.state && is_step(event) && at < self.state_since;
            if state != self.state || is_earlier {
                self.state = state;
                self.state_since = at;
            }
            self.waiting_reason = event.waiting_reason;
            self.last_state_sequence = event.sequence.or(self.last_state_sequence);
            if !is_earlier {
                self.last_state_at = at;
            }
            if state.is_terminal() {
                self.freshness.stale = None;
                self.freshness.reconciliation = None;
            }
        }
        if event.kind.is_note() {
            self.note(event);
            if event.kind == Kind::Diagnostic {
                self.spoken_of(event.observed_at.moment());
            }
            if is_exit(event) {
                self.fold(event);
            }
            return;
        }
        if let Some(activity) = &event.activity {
            activity.as_ref().clone_into(self.activity.get_or_insert_default());
        }
        self.capabilities = self.capabilities.or(event.capabilities);
        self.refresh(arrival);
        self.fold(event);
        if let Some(facts) = self.facts.as_mut().filter(|_| event.activity.is_some()) {
            facts.active_at = Some(event.observed_at.moment());
        }
    }

    pub(super) fn refresh(&mut self, arrival: &Arrival<'_>) {
        let estimated = arrival.event.details.as_ref().is_some_and(is_estimated);
        if self.started_at.estimated && !estimated {
            if self.state_since == self.started_at.at {
                self.state_since = arrival.event.observed_at.moment();
            }
            self.started_at = Estimate { at: arrival.event.observed_at.moment(), estimated };
            self.lineage.adopted_at = arrival.event.lineage.adopted_at.as_ref().map(Timestamp::to_static);
        }
        self.started_by(arrival.event);
        self.freshen(Estimate { at: arrival.at, estimated });
        let newest = self.freshness.newest.at;
        self.freshness.stale.take_if(|stale| newest > stale.threshold);
        self.freshness.reconciliation.take_if(|open| open.answered_after.is_some_and(|after| newest > after));
    }

    /// It had started by then, as what is read late may say.
    fn started_by(&mut self, event: &Event<'_>) {
        let Some(details) = &event.details else { return };
        let did = details.get("agent").is_some() || details.get("inferred").is_some();
        let time = Estimate { at: event.observed_at.moment(), estimated: is_estimated(details) };
        if did && time.estimated == self.started_at.estimated && time.at < self.started_at.at {
            self.started_at = time;
        }
    }

    /// Takes a time for the newest evidence where it is newer, or the first real one: that takes the place of an estimated one, so
    /// that it may go back, once.
    pub(super) fn freshen(&mut self, evidence: Estimate) {
        let newest = &mut self.freshness.newest;
        let is_first_real = newest.estimated && !evidence.estimated;
        if is_first_real || (evidence.at > newest.at && evidence.estimated == newest.estimated) {
            *newest = evidence;
        }
    }

    /// Check 4: an event of a child that has ended.
    pub(super) fn take_late(&mut self, arrival: &Arrival<'_>, ended_at: Moment, key: RecordKey) -> Applied {
        self.seen.insert(arrival.name, arrival.content);
        let event = arrival.event;
        let is_bridged = |details: &Json| {
            ["agent", "facts", "inferred"].iter().any(|member| details.get(member).is_some())
        };
        let bridged = event.details.as_ref().is_some_and(is_bridged);
        let contradicts = event.state.is_some_and(State::is_terminal);
        if bridged && !contradicts && event.observed_at.moment() <= ended_at {
            self.fill(event);
            return Applied::new(Status::TerminalImmutable, Some(Note::History), Some(key));
        }
        self.keep_late(arrival, Note::LateEvidence);
        Applied::new(Status::TerminalImmutable, Some(Note::LateEvidence), Some(key))
    }

    /// What was observed before its end fills in what it did: the newest by time, not by reading.
    fn fill(&mut self, event: &Event<'_>) {
        let at = event.observed_at.moment();
        self.started_by(event);
        if let Some(details) = &event.details {
            self.fold_details(details, at, true);
        }
        let Some(activity) = &event.activity else { return };
        let active_at = &mut self.facts.get_or_insert_default().active_at;
        if *active_at <= Some(at) {
            *active_at = Some(at);
            activity.as_ref().clone_into(self.activity.get_or_insert_default());
        }
    }

    /// Check 5: an unseen sequence that is not above the highest.
    pub(super) fn take_unordered(&mut self, arrival: &Arrival<'_>, deadline_ms: i64) {
        self.seen.insert(arrival.name, arrival.content);
        self.gap_detected &= self.seen.has_hole();
        if arrival.event.state.is_some_and(State::is_terminal) {
            self.keep_late(arrival, Note::LateSequence);
            self.open_reconciliation(Note::LateSequence, arrival.at.plus_millis(deadline_ms));
        }
    }

    pub(super) fn keep_late(&mut self, arrival: &Arrival<'_>, code: Note) {
        let late = self.late_evidence.get_or_insert_default();
        if late.recent.iter().any(|known| known.content.agrees(arrival.content)) {
            return;
        }
        late.push(LateEvidence {
            event_id: safe_name(&arrival.event.event_id).into(),
            kind: arrival.event.kind,
            state: arrival.event.state,
            observed_at: arrival.event.observed_at.moment(),
            code,
            content: arrival.content,
        });
    }

    /// Opens a question that only an authority can answer.
    pub(super) fn open_reconciliation(&mut self, reason: Note, deadline: Moment) {
        self.open(Reconciliation {
            reason: Cow::Borrowed(reason.as_str()),
            deadline,
            answered_after: None,
            asked: Asked::Unasked,
        });
    }

    /// Opens the question what became of an agent whose process ended in an open turn. Evidence that is newer answers it.
    pub(super) fn open_exit(&mut self, at: Moment, deadline_ms: i64) {
        self.open(Reconciliation {
            reason: Cow::Borrowed(Note::ExitWithOpenTurn.as_str()),
            deadline: at.plus_millis(deadline_ms),
            answered_after: Some(at),
            asked: Asked::Unasked,
        });
    }

    pub(super) fn note(&mut self, event: &Event<'_>) {
        self.notes.get_or_insert_default().push(NoteEvent::of(event));
    }

    pub(super) fn fold(&mut self, event: &Event<'_>) {
        if let Some(details) = &event.details {
            self.fold_details(details, event.observed_at.moment(), false);
        }
    }

    pub(super) fn fold_details(&mut self, details: &Json, at: Moment, is_history: bool) {
        if details.get("agent").is_some() || details.get("facts").is_some() {
            self.facts.get_or_insert_default().fold(details, at, is_history);
        }
    }
}
