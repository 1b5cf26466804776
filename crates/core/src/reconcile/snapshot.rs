//! A complete snapshot of the children of one source (contract section 4).
//!
//! Input: one JSON text. Output: a [`Snapshot`] of which every member is valid, or the first [`Refusal`].
//! Invariant: all of it is judged before anything may change. Never: guesses what a snapshot that is not complete left out.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::contract::event::{EventFault, details, id, lineage, timestamp, waiting_reason};
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::limits::SNAPSHOT_DETAILS_BYTES;
use crate::contract::raw::{Nested, RawEvent, RawList, RawSnapshot};
use crate::contract::{Code, Lineage, Moment, Refusal, State, WaitingReason};
use crate::json::{self, Json, JsonFault, Repair, Scalar};
use crate::redact::redact_json;

/// What an authority says of all children of a source, or of those that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Whose children.
    pub source: String,
    /// In which epoch.
    pub source_epoch: String,
    /// Names the snapshot.
    pub snapshot_id: String,
    /// When it was observed.
    pub observed_at: Moment,
    /// Whether the source enters that epoch with it.
    pub advances_epoch: bool,
    /// Of what it is complete.
    pub coverage: Coverage,
    /// What it says of each; no child twice.
    pub children: Vec<SnapshotChild>,
}

/// Of what a snapshot is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Of the source: a child that it does not name was left out.
    All,
    /// Of the children that it names.
    Named,
}

/// What a snapshot says of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotChild {
    /// The child.
    pub child_id: String,
    /// Its state.
    pub state: State,
    /// What it waits for, where that is said.
    pub waiting_reason: Option<WaitingReason>,
    /// The highest sequence that the state reflects.
    pub sequence: Option<u64>,
    /// An object, redacted.
    pub details: Option<Json>,
    /// Where the child comes from; with it a child that is not known can be admitted.
    pub lineage: Option<Lineage<'static>>,
}

impl Snapshot {
    /// The snapshot in `bytes`, one JSON text.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Refusal> {
        let text = json::check(bytes).map_err(fault)?;
        if let Ok(raw) = read(text) {
            return normalize(raw, Repair::default());
        }
        let malformed = || fault(JsonFault::Malformed);
        let (text, repair) = json::repair(text).ok_or_else(malformed)?;
        normalize(read(&text).map_err(|_| malformed())?, repair)
    }
}

fn fault(fault: JsonFault) -> Refusal {
    match fault {
        JsonFault::TooDeep => EventFault::Json(fault).into(),
        JsonFault::InvalidUtf8 | JsonFault::Malformed => {
            Refusal::new(Code::InvalidSnapshot, "$", "the snapshot is not valid JSON; give one JSON object")
        }
    }
}

fn read(text: &str) -> Result<Nested<RawSnapshot<'_>>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let mut raw = Nested::default();
    serde::de::DeserializeSeed::deserialize(&mut raw, &mut reader)?;
    reader.end()?;
    Ok(raw)
}

fn normalize(raw: Nested<RawSnapshot<'_>>, repair: Repair) -> Result<Snapshot, Refusal> {
    let refuse = |path, message: &str| Err(Refusal::new(Code::InvalidSnapshot, path, message));
    let Nested::Object(raw) = raw else { return refuse("$", "the snapshot must be a JSON object") };
    if !raw.complete.is_true() {
        let message = "complete must be true: nothing may be concluded from a snapshot that is not";
        return Err(Refusal::new(Code::IncompleteSnapshot, "$.complete", message));
    }
    let id = |member, path| id(member, path, Code::InvalidId, repair).map(Cow::into_owned);
    let source = id(raw.source, "$.source")?;
    let source_epoch = id(raw.source_epoch, "$.sourceEpoch")?;
    let snapshot_id = id(raw.snapshot_id, "$.snapshotId")?;
    let observed_at =
        timestamp(raw.observed_at, "$.observedAt", "observedAt", Code::InvalidTimestamp)?.moment();
    let advances_epoch = match raw.advances_epoch {
        Scalar::Absent => false,
        Scalar::Bool(value) => value,
        _ => return refuse("$.advancesEpoch", "advancesEpoch must be true or false, or absent"),
    };
    let coverage = coverage(raw.coverage, repair)?;
    let RawList::List(raw_children) = raw.children else {
        return refuse("$.children", "children must be an array of {childId, state, ...}");
    };
    let mut children = Vec::with_capacity(raw_children.len());
    let mut names = HashSet::new();
    for (at, raw) in raw_children.into_iter().enumerate() {
        let child = child(raw, repair).map_err(|refusal| of_child(refusal, at))?;
        if !names.insert(child.child_id.clone()) {
            let refusal =
                Refusal::new(Code::InvalidSnapshot, "$.childId", "childId occurs twice in children");
            return Err(of_child(refusal, at));
        }
        children.push(child);
    }
    let coverage = match coverage {
        None => Coverage::All,
        Some(covered) if covered == names => Coverage::Named,
        Some(_) => {
            return refuse("$.coverage", "coverage must be all, or exactly the ids of the children");
        }
    };
    Ok(Snapshot { source, source_epoch, snapshot_id, observed_at, advances_epoch, coverage, children })
}

/// The ids that are covered; nothing for all.
fn coverage(raw: RawList<Scalar<'_>>, repair: Repair) -> Result<Option<HashSet<String>>, Refusal> {
    match raw {
        RawList::Text(word) if word == "all" => Ok(None),
        RawList::List(ids) => {
            let ids = ids
                .into_iter()
                .map(|member| id(member, "$.coverage", Code::InvalidSnapshot, repair).map(Cow::into_owned));
            ids.collect::<Result<_, _>>().map(Some)
        }
        RawList::Absent | RawList::Text(_) | RawList::Other => {
            let message = "coverage must be all, or an array of exactly the ids of the children";
            Err(Refusal::new(Code::InvalidSnapshot, "$.coverage", message))
        }
    }
}

fn child(raw: Nested<RawEvent<'_>>, repair: Repair) -> Result<SnapshotChild, Refusal> {
    let Nested::Object(raw) = raw else {
        return Err(Refusal::new(
            Code::InvalidSnapshot,
            "$",
            "a child must be an object {childId, state, ...}",
        ));
    };
    let child_id = id(raw.child_id, "$.childId", Code::InvalidId, repair)?.into_owned();
    if child_id == SOURCE_NOTE {
        let message = "childId @source is reserved for notes, it is no child";
        return Err(Refusal::new(Code::InvalidId, "$.childId", message));
    }
    let Some(state) = raw.state.text().and_then(State::parse) else {
        let words = State::ALL.map(State::as_str).join(", ");
        return Err(Refusal::new(Code::InvalidState, "$.state", format!("state must be one of {words}")));
    };
    let is_said = raw.waiting_reason != Scalar::Absent;
    let sequence = match raw.sequence {
        Scalar::Absent => None,
        given => Some(given.safe_integer().ok_or_else(|| {
            let message = "sequence must be an integer from 0 to 9007199254740991, or absent";
            Refusal::new(Code::InvalidSequence, "$.sequence", message)
        })?),
    };
    let details = details(raw.details, repair, redact_json)?;
    if details.as_ref().is_some_and(|details| json::length_exceeds(details, SNAPSHOT_DETAILS_BYTES)) {
        let message =
            format!("details is longer than {SNAPSHOT_DETAILS_BYTES} bytes of JSON; leave the bulk out");
        return Err(Refusal::new(Code::InvalidDetails, "$.details", message));
    }
    Ok(SnapshotChild {
        child_id,
        state,
        waiting_reason: waiting_reason(Some(state), &raw.waiting_reason)?.filter(|_| is_said),
        sequence,
        details,
        lineage: match raw.lineage {
            Nested::Absent => None,
            given => Some(lineage(given, repair)?.to_static()),
        },
    })
}

/// The refusal of a child as one of the snapshot.
fn of_child(refusal: Refusal, at: usize) -> Refusal {
    let path = format!("$.children[{at}]{}", refusal.path.trim_start_matches('$'));
    Refusal { path: Cow::Owned(path), ..refusal }
}
