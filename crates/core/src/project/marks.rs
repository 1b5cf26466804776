//! Staleness, questions and their answers, and what is dropped (contract section 4).
//!
//! Input: names and times. Output: what became of each. Invariant: silence alone ends nothing. Never: reads a clock.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::authority::silence;
use super::corrections::{Correction, Op, Place};
use super::projector::{Projector, RecordKey};
use super::record::{Process, Reconciliation, Record};
use super::report::{Applied, Note, Status};
use crate::contract::Moment;
use crate::redact::redact_text;
use crate::text::fit;

/// The reason of a question: UTF-16 code units; longer text is cut.
pub const REASON_UNITS: usize = 256;

/// What decides whether a record has to be watched anew.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    is_unwatched: bool,
    newest: Moment,
}

impl Record {
    pub(super) fn watch(&self) -> Watch {
        let is_unwatched = self.freshness.stale.is_some() || self.spared;
        Watch { is_unwatched, newest: self.freshness.newest.at }
    }
}

impl Projector {
    /// Marks each live child whose evidence is `stale_after_ms` old or older, once, and opens a reconciliation. One that waits for
    /// its user while its process lives is spared.
    pub fn mark_stale(&mut self, now: Moment) -> Vec<Applied> {
        let mut marked = Vec::new();
        while let Some(&Reverse((due, key))) = self.deadlines.peek()
            && due <= now
        {
            self.deadlines.pop();
            let (stale_after_ms, window) = (self.config.stale_after_ms, self.window);
            let mark = silence(now, stale_after_ms);
            let Some(record) = self.get_mut(key) else { continue };
            if record.state.is_terminal() || record.freshness.stale.is_some() {
                continue;
            }
            let newest = record.freshness.newest.at.max(window.unwrap_or(record.freshness.newest.at));
            if newest > mark.threshold {
                self.deadlines.push(Reverse((newest.plus_millis(stale_after_ms), key)));
                continue;
            }
            if record.is_idle_and_alive() {
                record.spared = true;
                continue;
            }
            let (source, child) = (record.source.clone(), record.child_id.clone());
            let deadline = now.plus_millis(self.config.reconcile_deadline_ms);
            let place = Place { source: &source, child: &child, key: Some(key) };
            marked.push(self.correct(
                place,
                &Correction {
                    reason: Some(mark.reason),
                    threshold: Some(mark.threshold),
                    deadline: Some(deadline),
                    ..Correction::new(Op::Stale, now)
                },
            ));
        }
        marked
    }

    /// Gives every child a fresh window: silence before `at` no longer counts, for the clock jumped or nobody could listen.
    pub fn open_window(&mut self, at: Moment) {
        self.window = Some(at);
    }

    /// Opens a question about a child at once; the host asks an authority. `reason` is redacted, and cut at [`REASON_UNITS`].
    /// Evidence newer than `now` answers it.
    pub fn request_reconciliation(
        &mut self,
        source: &str,
        child_id: &str,
        reason: &str,
        now: Moment,
    ) -> Applied {
        let reason = redact_text(reason);
        let deadline = now.plus_millis(self.config.reconcile_deadline_ms);
        let correction = Correction {
            reason: Some(Cow::Borrowed(fit(&reason, REASON_UNITS))),
            threshold: Some(now),
            deadline: Some(deadline),
            ..Correction::new(Op::Request, now)
        };
        self.correct(self.place(source, child_id), &correction)
    }

    /// The process of a child was found dead in an open turn by a reading that asks nobody: the question is open, and says so.
    pub fn found_dead(&mut self, source: &str, child_id: &str, now: Moment) {
        let deadline_ms = self.config.reconcile_deadline_ms;
        let record = self.key(source, child_id).and_then(|key| self.get_mut(key));
        if let Some(record) = record.filter(|record| !record.state.is_terminal()) {
            record.open_exit(now, deadline_ms);
            self.touch(source);
        }
    }

    /// The questions that are open about the live children of a source, by child, in the order in which these became known.
    pub fn questions(&self, source: &str) -> impl Iterator<Item = (&str, &Reconciliation)> {
        let children = self.sources.get(source).into_iter().flat_map(|source| source.children.values());
        let mut keys: Vec<RecordKey> = children.copied().collect();
        keys.sort_unstable();
        keys.into_iter().filter_map(|key| {
            let record = self.get(key)?;
            Some((&*record.child_id, record.freshness.reconciliation.as_deref()?))
        })
    }

    /// An authority said that a child is gone, or its owner is provably dead. Before the deadline of the open question that is
    /// provisional; after it, the child is lost, once.
    pub fn reconciliation_failed(&mut self, source: &str, child_id: &str, now: Moment) -> Applied {
        self.correct(self.place(source, child_id), &Correction::new(Op::Lost, now))
    }

    /// Nobody answered the open question about a child: no answer, an error or a time-out. It says nothing about the child.
    pub fn reconciliation_unanswered(&mut self, source: &str, child_id: &str, now: Moment) -> Applied {
        self.correct(self.place(source, child_id), &Correction::new(Op::Unanswered, now))
    }

    /// What the host knows of a child's process; `false` where the child is not known. It is evidence beside the events: it is part
    /// of no event and no journal. That a child waits for its user and its process lives ends a mark that silence made, and its
    /// question.
    pub fn set_process(&mut self, source: &str, child_id: &str, process: Option<Process>) -> bool {
        let Some(key) = self.key(source, child_id) else { return false };
        let Some(record) = self.get_mut(key) else { return false };
        let before = record.watch();
        if record.process != process {
            record.process = process;
            self.touch(source);
            self.watch_again(key, before);
            self.spare(key);
        }
        true
    }

    /// Clears what silence did to a record of which it says nothing: it waits for its user, and its process lives.
    pub(super) fn spare(&mut self, key: RecordKey) {
        let Some(record) = self.get(key) else { return };
        if record.freshness.stale.is_some() && record.is_idle_and_alive() {
            let (source, child) = (record.source.clone(), record.child_id.clone());
            let at = record.freshness.newest.at;
            let place = Place { source: &source, child: &child, key: Some(key) };
            self.correct(place, &Correction::new(Op::Spare, at));
        }
    }

    /// Drops terminal records that ended before `before`, and names them.
    pub fn forget(&mut self, before: Moment) -> Vec<(Box<str>, Box<str>)> {
        let ended = |record: &&Record| record.ended_at().is_some_and(|at| at < before);
        let names: Vec<_> = self
            .records()
            .filter(ended)
            .map(|record| (record.source.clone(), record.child_id.clone()))
            .collect();
        for (source, child) in &names {
            self.correct(self.place(source, child), &Correction::new(Op::Forget, before));
        }
        names
    }

    /// Drops a record, whatever its state, as if nothing had been said of it; whether there was one.
    pub fn remove(&mut self, source: &str, child_id: &str) -> bool {
        self.removed(source, child_id).is_some_and(|applied| applied.status == Status::Applied)
    }

    /// As [`remove`](Self::remove); what became of it, where the child is known.
    pub(crate) fn removed(&mut self, source: &str, child_id: &str) -> Option<Applied> {
        let place = self.place(source, child_id);
        let at = self.get(place.key?)?.freshness.newest.at;
        Some(self.correct(place, &Correction::new(Op::Forget, at)))
    }

    pub(super) fn place<'a>(&self, source: &'a str, child: &'a str) -> Place<'a> {
        Place { source, child, key: self.key(source, child) }
    }

    /// Looks at a record again where it was stale or spared, or its evidence went back.
    pub(super) fn watch_again(&mut self, key: RecordKey, before: Watch) {
        let due_after = self.config.stale_after_ms;
        let Some(record) = self.get_mut(key) else { return };
        let newest = record.freshness.newest.at;
        let is_live = !record.state.is_terminal() && record.freshness.stale.is_none();
        if is_live && (before.is_unwatched || newest < before.newest) {
            record.spared = false;
            self.deadlines.push(Reverse((newest.plus_millis(due_after), key)));
        }
    }

    /// The child is not known.
    pub(super) fn unknown_child() -> Applied {
        Applied::new(Status::Conflict, Some(Note::UnknownChild), None)
    }
}
