//! What a status snapshot asks of a host that holds the records itself.
//!
//! Input: a snapshot, the host's records, and how often each was missed before. Output: inputs and intents.
//! Invariant: a record that has ended is never corrected. Never: concludes anything from what an incomplete snapshot leaves out.

use hashbrown::{HashMap, HashSet};
use serde::Serialize;

use super::member::{Members, parse};
use super::snapshot::StatusSnapshot;
use crate::agent::event::limits;
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Code, Refusal, State, Timestamp};
use crate::json::{Json, safe_integer};

/// Complete snapshots in a row that left a record out, by [`key`].
pub type Misses = HashMap<String, u64>;

/// What tells a record from all others.
#[must_use]
pub fn key(child_id: &str, session_id: &str) -> String {
    format!("{child_id}\0{session_id}")
}

/// A record of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The child.
    pub child_id: String,
    /// Its session.
    pub session_id: String,
    /// Its state.
    pub state: State,
    /// The tool that it uses.
    pub current_tool: Option<String>,
    /// What it does.
    pub activity: Option<String>,
}

impl Known {
    /// The records in `bytes`, the JSON text of an array.
    pub fn list_from_json(bytes: &[u8]) -> Result<Vec<Self>, Refusal> {
        let refuse = |message: &str| Refusal::new(Code::InvalidEvent, "$.current", message);
        let (list, repair) = parse(bytes, refuse)?;
        let Json::Array(list) = list else { return Err(refuse("current must be an array of records")) };
        let read = |object| {
            let members = Members { object, repair };
            let Some(state) = members.word("state").and_then(State::parse) else {
                let message = "state of a record must be one of the eight states";
                return Err(Refusal::new(Code::InvalidState, "$.current.state", message));
            };
            Ok(Self {
                child_id: members.id(&["childId"], "$.current.childId")?,
                session_id: members.id(&["sessionId"], "$.current.sessionId")?,
                state,
                current_tool: members.text(&["currentTool"], limits::TOOL_NAME),
                activity: members.text(&["activity"], ACTIVITY_UNITS),
            })
        };
        list.iter().map(read).collect()
    }
}

/// The counts in `bytes`, the JSON text of an object.
pub fn misses_from_json(bytes: &[u8]) -> Result<Misses, Refusal> {
    let refuse = |message: &str| Refusal::new(Code::InvalidEvent, "$.consecutiveCompleteMisses", message);
    let (object, _) = parse(bytes, refuse)?;
    let Json::Object(members) = object else {
        return Err(refuse("consecutiveCompleteMisses must be an object or a Map of counts"));
    };
    let count = |(key, value)| match value {
        Json::Number(number) => safe_integer(number).map(|count| (key, count)),
        _ => None,
    };
    let counts: Option<Misses> = members.into_iter().map(count).collect();
    counts.ok_or_else(|| refuse("each count of consecutiveCompleteMisses must be an integer of 0 or more"))
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reconciled {
    /// What the snapshot says of records, in its order.
    pub inputs: Vec<Input>,
    /// What is to be done about records: corrections in the order of the snapshot, then the records that it left out.
    pub intents: Vec<Intent>,
}

/// What a snapshot says of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename = "snapshot_reconciled", rename_all = "camelCase")]
pub struct Input {
    /// The child.
    pub child_id: String,
    /// Its session.
    pub session_id: String,
    /// Its state.
    pub state: State,
    /// When the snapshot was observed.
    pub observed_at: Timestamp<'static>,
    /// Hermes' own word for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The tool that it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool: Option<String>,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
}

/// What is to be done about one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Intent {
    /// Its state is another one.
    CorrectProjection {
        /// The child.
        child_id: String,
        /// Its session.
        session_id: String,
        /// The state of the record.
        from: State,
        /// The state of the snapshot.
        to: State,
        /// `authoritative_snapshot`.
        reason: &'static str,
    },
    /// It was left out too often: it is stale, and what became of it is not known.
    MarkStaleUnknown {
        /// The child.
        child_id: String,
        /// Its session.
        session_id: String,
        /// The state of the record.
        from: State,
        /// `complete_snapshot_missing`.
        reason: &'static str,
    },
}

/// Compares a snapshot with records. `misses` are those before this snapshot; a record acts at the miss number `grace`. Of records
/// with the same key the last counts. A delegation whose status is not understood is there, and nothing follows from it.
#[must_use]
pub fn reconcile(snapshot: &StatusSnapshot, current: &[Known], misses: &Misses, grace: u64) -> Reconciled {
    let records: HashMap<String, &Known> =
        current.iter().map(|record| (key(&record.child_id, &record.session_id), record)).collect();
    let mut reconciled = Reconciled::default();
    let mut named: HashSet<String> =
        snapshot.refused.iter().map(|entry| key(&entry.child_id, &entry.session_id)).collect();
    for entry in &snapshot.entries {
        let name = key(&entry.child_id, &entry.session_id);
        let record = records.get(&name).copied();
        named.insert(name);
        if record.is_some_and(|record| record.state.is_terminal()) {
            continue;
        }
        let corrects = record.filter(|record| record.state != entry.state);
        let differs = |said: &Option<String>, known: &Option<String>| said.is_some() && said != known;
        let is_said = match record {
            _ if !snapshot.complete => record.is_some() && corrects.is_none(),
            None => true,
            Some(record) => {
                corrects.is_some()
                    || differs(&entry.current_tool, &record.current_tool)
                    || differs(&entry.activity, &record.activity)
            }
        };
        if !is_said {
            continue;
        }
        reconciled.inputs.push(Input {
            child_id: entry.child_id.clone(),
            session_id: entry.session_id.clone(),
            state: entry.state,
            observed_at: snapshot.observed_at.clone(),
            status: Some(entry.status),
            current_tool: entry.current_tool.clone(),
            activity: entry.activity.clone(),
        });
        if let Some(record) = corrects {
            reconciled.intents.push(Intent::CorrectProjection {
                child_id: entry.child_id.clone(),
                session_id: entry.session_id.clone(),
                from: record.state,
                to: entry.state,
                reason: "authoritative_snapshot",
            });
        }
    }
    if snapshot.complete {
        let left_out = current.iter().filter_map(|record| {
            let name = key(&record.child_id, &record.session_id);
            // Once, also where the key stands in the records twice.
            let record = records.get(&name).copied().filter(|newest| std::ptr::eq(*newest, record))?;
            let before = misses.get(&name).copied().unwrap_or(0);
            let acts = !record.state.is_terminal() && before.saturating_add(1) >= grace;
            (acts && !named.contains(&name)).then(|| Intent::MarkStaleUnknown {
                child_id: record.child_id.clone(),
                session_id: record.session_id.clone(),
                from: record.state,
                reason: "complete_snapshot_missing",
            })
        });
        reconciled.intents.extend(left_out);
    }
    reconciled
}
