//! What a mark, a question or an authority does to one record (contract section 4).
//!
//! Input: a record, and what is said of it with its times. Output: the record after it, and what became of what was said.
//! Invariant: a terminal record keeps its state; only a failed reconciliation loses a child. Never: looks at another record.

use std::borrow::Cow;

use super::record::{Asked, Estimate, MISSES, Missed, Reconciliation, Record, Stale};
use super::report::{Note, Status};
use crate::contract::{Moment, State, WaitingReason};
use crate::json::Json;

/// What became of something, and why where that is not plain.
pub(super) type Verdict = (Status, Option<Note>);

/// What a snapshot says of one child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) state: State,
    pub(super) waiting_reason: Option<WaitingReason>,
    pub(super) sequence: Option<u64>,
    pub(super) details: Option<&'a Json>,
    /// When the snapshot was observed.
    pub(super) observed_at: Moment,
    /// When it counts as evidence.
    pub(super) at: Moment,
}

impl Record {
    /// Opens a question, or makes an open one a graver one; whether that changed anything.
    pub(super) fn open(&mut self, mut question: Reconciliation) -> bool {
        let Some(open) = self.freshness.reconciliation.as_deref_mut() else {
            self.freshness.reconciliation = Some(Box::new(question));
            return true;
        };
        let is_asked_anew = question.asked == Asked::Pending && open.asked != Asked::Pending;
        // What fresh evidence answers gives way to what only an authority can answer, never the other way round.
        let is_graver = match (open.answered_after, question.answered_after) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(_), Some(_)) if is_asked_anew => true,
            (Some(before), Some(after)) => {
                // Two questions in one: evidence has to answer both.
                let is_own = open.asked == Asked::Unasked && question.asked == Asked::Unasked;
                question.answered_after = Some(before.max(after));
                is_own && weight(&question.reason) > weight(&open.reason)
            }
        };
        if is_asked_anew {
            if open.asked == Asked::Unanswered {
                open.deadline = question.deadline;
            }
            open.asked = Asked::Pending;
        }
        if is_graver {
            open.reason = question.reason;
            open.answered_after = question.answered_after;
        }
        is_asked_anew || is_graver
    }

    /// The host asks an authority.
    pub(super) fn request(&mut self, question: Reconciliation) -> Verdict {
        if self.state.is_terminal() {
            (Status::TerminalImmutable, None)
        } else if self.open(question) {
            (Status::Applied, None)
        } else {
            (Status::Deduplicated, None)
        }
    }

    /// Nobody answered the open question.
    pub(super) fn unanswered(&mut self) -> Verdict {
        match self.freshness.reconciliation.as_deref_mut() {
            Some(open) if open.asked != Asked::Unanswered => {
                open.asked = Asked::Unanswered;
                (Status::Applied, Some(Note::ReconciliationUnanswered))
            }
            _ => (Status::Deduplicated, None),
        }
    }

    /// Marks it stale, unless it is for a reason that is as grave, or evidence newer than the mark's threshold is known.
    pub(super) fn mark(&mut self, mut mark: Stale, deadline: Moment) -> Verdict {
        if self.state.is_terminal() {
            return (Status::TerminalImmutable, None);
        }
        let known = self.freshness.stale.as_deref();
        let is_as_grave = known.is_some_and(|known| weight(&known.reason) >= weight(&mark.reason));
        if is_as_grave || self.freshness.newest.at > mark.threshold {
            return (Status::Deduplicated, None);
        }
        if let Some(known) = known {
            mark.threshold = mark.threshold.max(known.threshold);
        }
        let note = Note::parse(&mark.reason);
        self.open(Reconciliation {
            reason: mark.reason.clone(),
            deadline,
            answered_after: Some(mark.threshold),
            asked: Asked::Unasked,
        });
        self.freshness.stale = Some(Box::new(mark));
        (Status::Stale, note)
    }

    /// The authority said at `at` that the child is gone.
    pub(super) fn lose(&mut self, at: Moment) -> Verdict {
        match &self.freshness.reconciliation {
            None => (Status::Deduplicated, None),
            Some(open) if at < open.deadline => (Status::Provisional, Some(Note::ReconciliationPending)),
            Some(_) => {
                self.enter(State::Lost, None, at);
                (Status::Applied, Some(Note::ReconciliationFailed))
            }
        }
    }

    /// What a snapshot says; accepted, it settles state, sequence, gap, mark and question.
    pub(super) fn accept(&mut self, entry: &Entry<'_>) -> Verdict {
        if self.state.is_terminal() {
            let note = (self.state != entry.state).then_some(Note::EndContradicted);
            return (Status::TerminalImmutable, note);
        }
        let Entry { state, waiting_reason, sequence, details, observed_at, at } = *entry;
        let entry_at = self.authority.as_ref().and_then(|authority| authority.entry_at);
        let is_outdated = match sequence {
            Some(sequence) => self.seen.highest().is_some_and(|highest| sequence < highest),
            None => observed_at < self.last_state_at || entry_at.is_some_and(|last| observed_at < last),
        };
        if is_outdated {
            return (Status::OutOfOrder, Some(Note::SnapshotOutdated));
        }
        let is_corrected = self.state != state;
        let waiting_reason = match state {
            State::Waiting if is_corrected => waiting_reason.or(Some(WaitingReason::Other)),
            State::Waiting => waiting_reason.or(self.waiting_reason),
            _ => None,
        };
        self.enter(state, waiting_reason, observed_at);
        self.settle(entry_at.max(Some(observed_at)), sequence);
        self.freshen(Estimate { at, estimated: false });
        if let Some(details) = details {
            self.fold_details(details, observed_at, false);
        }
        (Status::Applied, is_corrected.then_some(Note::AuthoritativeSnapshot))
    }

    /// What an accepted entry leaves: no gap, no mark, no question.
    pub(super) fn settle(&mut self, entry_at: Option<Moment>, sequence: Option<u64>) {
        self.seen.settle(sequence);
        self.last_state_sequence = self.seen.highest();
        self.gap_detected = false;
        self.freshness.stale = None;
        self.freshness.reconciliation = None;
        let authority = self.authority();
        authority.entry_at = entry_at;
        authority.missed = None;
    }

    /// The count of complete snapshots in a row that left it out, after one observed at `at` that did, counted up to `grace`.
    pub(super) fn misses_after(&self, at: Moment, grace: u64) -> u64 {
        let newest = self.freshness.newest.at;
        if newest > at {
            return 0;
        }
        let before = self.missed().map_or(0, |missed| missed.count_since(newest));
        (before + 1).min(grace)
    }

    pub(super) fn missed(&self) -> Option<&Missed> {
        self.authority.as_ref()?.missed.as_ref()
    }

    /// Something was said of it at `at`, though nothing of its state: whoever leaves it out after that begins a new count.
    pub(super) fn spoken_of(&mut self, at: Moment) {
        let Some(authority) = self.authority.as_mut() else { return };
        let is_before = |missed: &Missed| missed.times.back().is_none_or(|last| *last < at);
        authority.missed.take_if(|missed| is_before(missed));
    }

    /// Remembers that count; 0 where it was not missed.
    pub(super) fn miss(&mut self, count: u64, at: Moment) -> Verdict {
        if self.state.is_terminal() {
            return (Status::TerminalImmutable, None);
        }
        let newest = self.freshness.newest.at;
        let missed = &mut self.authority().missed;
        if count == 0 {
            *missed = None;
            return (Status::Applied, None);
        }
        let missed = missed.get_or_insert_default();
        missed.add(count, at, newest);
        let threshold = missed.threshold();
        self.renew(threshold);
        (Status::Applied, None)
    }

    /// Further snapshots leave it out: the mark that the first of them made is now made by the last.
    fn renew(&mut self, threshold: Option<Moment>) {
        let missing = Note::CompleteSnapshotMissing.as_str();
        let stale = self.freshness.stale.as_deref_mut().filter(|stale| stale.reason == missing);
        let (Some(stale), Some(threshold)) = (stale, threshold) else { return };
        let before = stale.threshold;
        stale.threshold = before.max(threshold);
        let open = self.freshness.reconciliation.as_deref_mut();
        let of_mark =
            |open: &&mut Reconciliation| open.reason == missing && open.answered_after == Some(before);
        if let Some(open) = open.filter(of_mark) {
            open.answered_after = Some(stale.threshold);
        }
    }

    /// What silence says nothing about any more: the mark that it made, and the question.
    pub(super) fn spare(&mut self) -> Verdict {
        let silence = Note::Silence.as_str();
        if self.freshness.stale.take_if(|stale| stale.reason == silence).is_none() {
            return (Status::Deduplicated, None);
        }
        self.freshness.reconciliation.take_if(|open| open.reason == silence);
        (Status::Applied, None)
    }

    fn enter(&mut self, state: State, waiting_reason: Option<WaitingReason>, at: Moment) {
        if self.state != state {
            self.state = state;
            self.state_since = at;
        }
        self.waiting_reason = waiting_reason;
        if state.is_terminal() {
            self.freshness.stale = None;
            self.freshness.reconciliation = None;
        }
    }
}

impl Missed {
    /// How many of them are not older than the newest evidence.
    fn count_since(&self, newest: Moment) -> u64 {
        let since = self.times.iter().filter(|&&at| at >= newest).count();
        if since == self.times.len() { self.count } else { since as u64 }
    }

    /// One more, observed at `at`, which makes them `count`.
    fn add(&mut self, count: u64, at: Moment, newest: Moment) {
        self.times.retain(|&at| at >= newest);
        self.times.push_back(at);
        let kept = usize::try_from(count).unwrap_or(MISSES).min(MISSES);
        self.times.drain(..self.times.len().saturating_sub(kept));
        self.count = count;
    }

    /// Evidence newer than this makes them fewer.
    pub(super) fn threshold(&self) -> Option<Moment> {
        self.times.front().copied()
    }
}

/// How grave a reason for a mark or a question is: that nobody knows the child is more than silence, and an exit is more than both.
fn weight(reason: &str) -> u8 {
    match Note::parse(reason) {
        Some(Note::Silence) => 0,
        Some(Note::CompleteSnapshotMissing) => 1,
        _ => 2,
    }
}

/// The mark that silence makes at `now`.
pub(super) fn silence(now: Moment, stale_after_ms: i64) -> Stale {
    Stale { reason: Cow::Borrowed(Note::Silence.as_str()), threshold: now.plus_millis(-stale_after_ms) }
}
