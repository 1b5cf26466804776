//! What a status snapshot of Hermes says to a projector.
//!
//! Input: the snapshot. Output: of a complete one a snapshot of the contract, of an incomplete one heartbeats.
//! Invariant: a status that is not understood changes nothing, and its child is not missed. Never: counts misses; the projector does.

use hashbrown::HashSet;
use serde::Serialize;

use super::emit::{Part, Saying};
use super::{HermesLifecycle, Made, names};
use crate::bridge::item_name;
use crate::contract::{Kind, Lineage, Refusal, State, Timestamp};
use crate::json::Json;
use crate::providers::hermes::{Entry, StatusSnapshot, key};

/// A complete snapshot of the contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the contract's")]
pub struct Snapshot {
    complete: bool,
    source: String,
    source_epoch: String,
    snapshot_id: String,
    observed_at: Timestamp<'static>,
    coverage: Coverage,
    /// Always: which snapshot the projection accepts, and so enters the epoch with, is not known here. In its epoch it means nothing.
    advances_epoch: bool,
    children: Vec<SnapshotChild>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Coverage {
    All(&'static str),
    Named(Vec<String>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotChild {
    child_id: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    lineage: Option<Lineage<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Json>,
}

impl HermesLifecycle {
    /// What a status snapshot makes. One that is older than the newest complete one makes nothing.
    pub fn snapshot(&mut self, snapshot: &StatusSnapshot) -> Made {
        let mut made = Made::default();
        let at = &snapshot.observed_at;
        if self.newest.is_some_and(|newest| at.moment() < newest) {
            return made;
        }
        for refused in &snapshot.refused {
            let ids = (refused.child_id.as_str(), refused.session_id.as_str());
            self.not_understood(ids, &refused.refusal, at, &mut made);
        }
        if snapshot.complete {
            self.complete(snapshot, &mut made);
        } else {
            for entry in &snapshot.entries {
                let base = names::base(&entry.child_id, &entry.session_id);
                let is_same = |state: State| state == entry.state && !state.is_terminal();
                if self.children.get(&base).is_some_and(|child| is_same(child.state)) {
                    let saying = Saying::of_entry(entry, at, self.options.content);
                    self.emit(&base, (Kind::Heartbeat, None), &saying, Part::Main, &mut made);
                }
            }
        }
        made
    }

    fn complete(&mut self, snapshot: &StatusSnapshot, made: &mut Made) {
        let at = &snapshot.observed_at;
        let mut children = Vec::with_capacity(snapshot.entries.len());
        let epoch = self.options.source_epoch.clone();
        let mut said = vec![epoch.as_str(), at.as_str()];
        for entry in &snapshot.entries {
            said.extend([&*entry.child_id, &*entry.session_id, entry.status]);
            children.extend(self.entry(entry, at, made));
        }
        said.extend(snapshot.refused.iter().flat_map(|entry| [&*entry.child_id, &*entry.session_id]));
        let parts: Vec<&[u8]> = said.into_iter().map(str::as_bytes).collect();
        let is_everything = snapshot.refused.is_empty() && children.len() == snapshot.entries.len();
        if is_everything {
            let named: HashSet<String> = snapshot
                .entries
                .iter()
                .map(|entry| names::base(&entry.child_id, &entry.session_id))
                .collect();
            for (base, child) in &mut self.children {
                child.left_out = !named.contains(base);
            }
        }
        // What a status that is not understood leaves open is not everything: then nobody is missed.
        // Nor is it where a child was dropped, for there are too many.
        let coverage = if is_everything {
            Coverage::All("all")
        } else {
            Coverage::Named(children.iter().map(|child| child.child_id.clone()).collect())
        };
        made.snapshot = Some(Snapshot {
            complete: true,
            source: self.options.source.clone(),
            snapshot_id: format!("{:032x}", item_name(&parts)),
            source_epoch: epoch,
            observed_at: at.clone(),
            coverage,
            advances_epoch: true,
            children,
        });
        self.newest = Some(at.moment());
    }

    /// What a complete snapshot says of one child, and what it does where that is new.
    fn entry(&mut self, entry: &Entry, at: &Timestamp<'static>, made: &mut Made) -> Option<SnapshotChild> {
        let saying = Saying::of_entry(entry, at, self.options.content);
        let ids = (entry.child_id.as_str(), entry.session_id.as_str());
        let base = names::base(ids.0, ids.1);
        let is_new = !self.children.contains_key(&base);
        if is_new && !self.know(&base, ids, None, entry.state, &saying, (1, true), made) {
            return None;
        }
        let child = self.children.get_mut(&base)?;
        let is_over = child.state.is_terminal() && !is_new;
        // As the projector judges it: what ended stays, and an older entry says nothing.
        if !is_over && at.moment() >= child.at {
            child.state = entry.state;
            child.at = at.moment();
        }
        child.refused = None;
        let does_more = saying.doing.is_some() && (is_new || child.doing != saying.doing);
        let child_id = names::life(&base, child.lineage.attempt);
        // A record that the projection dropped after its end is not admitted again.
        let lineage = (!is_over).then(|| child.lineage.clone());
        let details = is_new.then(|| saying.details(&child.session_id));
        if does_more && !child.state.is_terminal() {
            child.doing.clone_from(&saying.doing);
            self.emit(&base, (Kind::Activity, None), &saying, Part::Main, made);
        }
        Some(SnapshotChild { child_id, state: entry.state, lineage, details })
    }

    /// A status that is not understood: a note on its child, and a report. The note is made once, and again where a snapshot left the
    /// child out since: for the projector it says that the child is there, which ends the count of those that did.
    pub(super) fn not_understood(
        &mut self,
        ids: (&str, &str),
        refusal: &Refusal,
        at: &Timestamp<'static>,
        made: &mut Made,
    ) {
        made.report(ids, refusal.code.as_str(), &refusal.message);
        let base = names::base(ids.0, ids.1);
        match self.children.get_mut(&base) {
            Some(child) if child.refused.as_ref() == Some(&refusal.message) && !child.left_out => {}
            Some(child) => {
                child.left_out = false;
                child.refused = Some(refusal.message.clone());
                let saying = Saying::of_refusal(&key(ids.0, ids.1), refusal, at);
                self.emit(&base, (Kind::Diagnostic, None), &saying, Part::Main, made);
            }
            // There is no row to show it on.
            None => {}
        }
    }
}
