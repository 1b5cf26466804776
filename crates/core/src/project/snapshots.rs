//! What a complete snapshot does to a projection (contract section 4).
//!
//! Input: a validated snapshot. Output: what became of each of its entries, and of the children that it left out.
//! Invariant: it revives nothing, and omission ends nothing. Never: takes a snapshot twice, or an older one after a newer.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::VecDeque;

use hashbrown::HashSet;

use super::audit::Audit;
use super::corrections::{Correction, Op, Place};
use super::dedupe::Seen;
use super::epochs::shown;
use super::projector::{Projector, RecordKey, Source};
use super::record::{Estimate, Freshness, Record};
use super::report::{Applied, Note, Status};
use super::take::earlier;
use crate::contract::identity::{SOURCE_NOTE, identity};
use crate::contract::{Capabilities, Code, Moment, Refusal, State, WaitingReason};
use crate::reconcile::{Coverage, Snapshot, SnapshotChild};
use crate::redact::safe_name;

/// Snapshot ids remembered of one source.
pub(super) const SNAPSHOT_IDS: usize = 32;

/// Snapshots of one source that were accepted.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) ids: VecDeque<Box<str>>,
    /// When the newest of them was observed.
    pub(super) newest: Moment,
}

/// What became of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Reconciled {
    /// What became of its entries, and the children that are stale because it left them out.
    pub results: Vec<Applied>,
    /// What it changed.
    pub audit: Vec<Audit>,
    /// Children that are not known, and that cannot be admitted without a lineage.
    pub discovered: Vec<Discovered>,
    /// Why it had no effect as a whole.
    pub note: Option<Note>,
}

/// A child that a snapshot names and the projection does not know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovered {
    /// The child.
    pub child_id: String,
    /// The state that the snapshot gives it.
    pub state: State,
}

impl Projector {
    /// As [`reconcile_within`](Self::reconcile_within), with the grace of the projection's configuration.
    pub fn reconcile(
        &mut self,
        snapshot: &Snapshot,
        received_at: Option<Moment>,
    ) -> Result<Reconciled, Refusal> {
        self.reconcile_within(self.config.grace_snapshots, snapshot, received_at)
    }

    /// Takes a complete snapshot of a source. `received_at` is when it reached this program, as for an event. `grace` is the count of
    /// complete snapshots in a row, this one among them, that leave a child out before it is stale.
    ///
    /// Refused whole where it is of another epoch than the present one and does not advance it, or of a retired one.
    pub fn reconcile_within(
        &mut self,
        grace: u64,
        snapshot: &Snapshot,
        received_at: Option<Moment>,
    ) -> Result<Reconciled, Refusal> {
        let mut reconciled = Reconciled::default();
        if self.is_repeated(snapshot) {
            reconciled.note = Some(Note::SnapshotRepeated);
            return Ok(reconciled);
        }
        if self.reach_epoch(snapshot)? {
            reconciled.audit.extend(self.audit.recent.back().cloned());
        }
        let at = earlier(snapshot.observed_at, received_at);
        let of_snapshot = |op| Correction {
            counted: at,
            snapshot_id: Some(safe_name(&snapshot.snapshot_id)),
            ..Correction::new(op, snapshot.observed_at)
        };
        let source = snapshot.source.as_str();
        self.correct(Place { source, child: SOURCE_NOTE, key: None }, &of_snapshot(Op::Agree));
        for child in &snapshot.children {
            let place = self.place(source, &child.child_id);
            if place.key.is_none() && child.lineage.is_none() {
                let child_id = child.child_id.clone();
                reconciled.discovered.push(Discovered { child_id, state: child.state });
                continue;
            }
            let op = if place.key.is_some() { Op::Agree } else { Op::Admit };
            let applied = self.correct(place, &entry(child, of_snapshot(op)));
            if matches!(applied.note, Some(Note::AuthoritativeSnapshot | Note::SnapshotAdmitted)) {
                reconciled.audit.extend(self.audit.recent.back().cloned());
            }
            reconciled.results.push(applied);
        }
        if snapshot.coverage == Coverage::All {
            let now = received_at.unwrap_or(snapshot.observed_at);
            reconciled.results.extend(self.omit(grace, snapshot, now, &of_snapshot(Op::Miss)));
        }
        Ok(reconciled)
    }

    /// Whether it was seen before, or a newer one of its source was accepted.
    fn is_repeated(&self, snapshot: &Snapshot) -> bool {
        let accepted =
            self.sources.get(snapshot.source.as_str()).and_then(|source| source.snapshots.as_ref());
        let name = safe_name(&snapshot.snapshot_id);
        accepted.is_some_and(|accepted| {
            snapshot.observed_at < accepted.newest || accepted.ids.iter().any(|id| **id == *name)
        })
    }

    /// Moves the source to the epoch of the snapshot, where that is allowed; whether it moved.
    fn reach_epoch(&mut self, snapshot: &Snapshot) -> Result<bool, Refusal> {
        let Some(source) = self.sources.get(snapshot.source.as_str()) else {
            let source = Source { epoch: snapshot.source_epoch.as_str().into(), ..Source::default() };
            self.sources.insert(snapshot.source.as_str().into(), source);
            return Ok(false);
        };
        if *source.epoch == *snapshot.source_epoch {
            return Ok(false);
        }
        let present = shown(&source.epoch);
        let refuse = |message: &str| {
            let message = format!("{message} (its present epoch is {present})");
            Err(Refusal::new(Code::EpochMismatch, "$.sourceEpoch", message))
        };
        if source.has_left(&snapshot.source_epoch) {
            return refuse("sourceEpoch is an epoch that the source has left; the snapshot is of the past");
        }
        if !snapshot.advances_epoch {
            return refuse(
                "sourceEpoch is not the present epoch of the source; say advancesEpoch: true where the source restarted",
            );
        }
        let from = source.epoch.clone();
        self.advance_epoch(&snapshot.source, &from, &snapshot.source_epoch, snapshot.observed_at)?;
        Ok(true)
    }

    /// Counts the children that a snapshot of everything left out; those that are stale by it.
    fn omit(&mut self, grace: u64, snapshot: &Snapshot, now: Moment, miss: &Correction<'_>) -> Vec<Applied> {
        let named: HashSet<&str> = snapshot.children.iter().map(|child| child.child_id.as_str()).collect();
        let deadline = now.plus_millis(self.config.reconcile_deadline_ms);
        let Some(source) = self.sources.get(snapshot.source.as_str()) else { return Vec::new() };
        let mut known: Vec<RecordKey> = source.children.values().copied().collect();
        known.sort_unstable();
        let mut stale = Vec::new();
        for key in known {
            let Some(record) = self.get(key).filter(|record| !record.state.is_terminal()) else { continue };
            let misses = if named.contains(&*record.child_id) {
                0
            } else {
                record.misses_after(snapshot.observed_at, grace)
            };
            if misses == 0 && record.missed().is_none() {
                continue;
            }
            let is_spared = record.is_idle_and_alive();
            let child = record.child_id.clone();
            let place = Place { source: &snapshot.source, child: &child, key: Some(key) };
            self.correct(place, &Correction { misses: Some(misses), ..miss.clone() });
            if misses < grace || is_spared {
                continue;
            }
            let mark = Correction {
                op: Op::Stale,
                reason: Some(Cow::Borrowed(Note::CompleteSnapshotMissing.as_str())),
                threshold: self.get(key).and_then(|record| record.missed()?.threshold()),
                deadline: Some(deadline),
                ..miss.clone()
            };
            let applied = self.correct(place, &mark);
            stale.extend(Some(applied).filter(|applied| applied.status == Status::Stale));
        }
        stale
    }

    /// A snapshot of a source was accepted.
    pub(super) fn accept_snapshot(&mut self, source: &str, id: Option<&str>, at: Moment) {
        let Some(source) = self.sources.get_mut(source) else { return };
        let accepted =
            source.snapshots.get_or_insert_with(|| Box::new(Accepted { ids: VecDeque::new(), newest: at }));
        accepted.newest = accepted.newest.max(at);
        if accepted.ids.len() == SNAPSHOT_IDS {
            accepted.ids.pop_front();
        }
        accepted.ids.extend(id.filter(|id| identity(id) == Ok(*id)).map(Into::into));
    }

    /// A snapshot makes a child known, at the state that it gives.
    pub(super) fn admit(&mut self, place: Place<'_>, correction: &Correction<'_>) -> Applied {
        let state = correction.to.as_deref().and_then(State::parse);
        let (Some(state), Some(lineage)) = (state, correction.lineage) else {
            return Self::unknown_child();
        };
        let Correction { at, counted, .. } = *correction;
        let mut record = Record {
            source: place.source.into(),
            child_id: place.child.into(),
            lineage: lineage.to_static(),
            state,
            waiting_reason: (state == State::Waiting)
                .then(|| correction.waiting_reason.unwrap_or(WaitingReason::Other)),
            state_since: at,
            started_at: Estimate { at, estimated: false },
            activity: None,
            capabilities: Capabilities::default(),
            freshness: Freshness {
                newest: Estimate { at: counted, estimated: false },
                stale: None,
                reconciliation: None,
            },
            gap_detected: false,
            epoch_conflict: None,
            late_evidence: None,
            notes: None,
            facts: None,
            process: None,
            seen: Seen::default(),
            last_state_sequence: None,
            last_state_at: at,
            spared: false,
            authority: None,
        };
        record.settle(Some(at), correction.sequence);
        if let Some(details) = correction.details {
            record.fold_details(details, at, false);
        }
        let key = self.insert(record);
        self.deadlines.push(Reverse((counted.plus_millis(self.config.stale_after_ms), key)));
        self.audit_change(place, None, Note::AuthoritativeSnapshot, correction);
        Applied::new(Status::Applied, Some(Note::SnapshotAdmitted), Some(key))
    }

    pub(super) fn audit_change(
        &mut self,
        place: Place<'_>,
        from: Option<State>,
        why: Note,
        correction: &Correction<'_>,
    ) {
        let to = if why == Note::ReconciliationFailed {
            Some(State::Lost.as_str())
        } else {
            correction.to.as_deref()
        };
        self.audit.push(Audit {
            source: place.source.to_owned(),
            child_id: Some(place.child.to_owned()),
            from: from.map(|state| state.as_str().to_owned()),
            to: to.unwrap_or_default().to_owned(),
            snapshot_id: correction.snapshot_id.as_deref().map(str::to_owned),
            observed_at: correction.at.to_text(),
            reason: why.as_str(),
        });
    }
}

/// What a snapshot says of a child, as a correction.
fn entry<'a>(child: &'a SnapshotChild, correction: Correction<'a>) -> Correction<'a> {
    Correction {
        to: Some(Cow::Borrowed(child.state.as_str())),
        waiting_reason: child.waiting_reason,
        sequence: child.sequence,
        lineage: child.lineage.as_ref(),
        details: child.details.as_ref(),
        ..correction
    }
}
