//! A status snapshot of Hermes' delegations.
//!
//! Input: its JSON text. Output: a [`StatusSnapshot`], its entries with a status that is not understood apart.
//! Invariant: no child stands in it twice. Never: takes a part of a snapshot whose children cannot be told apart.

use std::borrow::Cow;

use hashbrown::HashSet;

use super::member::{Members, parse};
use super::reconcile::key;
use crate::agent::event::limits;
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Code, Refusal, State, Timestamp};
use crate::json::Json;

/// What Hermes says of its delegations at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusSnapshot {
    /// When.
    pub observed_at: Timestamp<'static>,
    /// Whether no delegation is left out.
    pub complete: bool,
    /// What it says of each, in its order.
    pub entries: Vec<Entry>,
    /// Delegations that it names with a status that is not understood.
    pub refused: Vec<RefusedEntry>,
}

/// What a snapshot says of one delegation.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The child.
    pub child_id: String,
    /// Its session.
    pub session_id: String,
    /// What the status means.
    pub state: State,
    /// Hermes' own word.
    pub status: &'static str,
    /// The tool that it uses.
    pub current_tool: Option<String>,
    /// What it does.
    pub activity: Option<String>,
}

/// A delegation whose status is not understood.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedEntry {
    /// The child.
    pub child_id: String,
    /// Its session.
    pub session_id: String,
    /// Why nothing is concluded.
    pub refusal: Refusal,
}

impl StatusSnapshot {
    /// The snapshot in `bytes`, one JSON text.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Refusal> {
        let refuse = |path, message: &str| Refusal::new(Code::InvalidSnapshot, path, message);
        let (object, repair) = parse(bytes, |message| refuse("$", message))?;
        if !matches!(object, Json::Object(_)) {
            return Err(refuse("$", "the snapshot must be a JSON object"));
        }
        let members = Members { object: &object, repair };
        let observed_at = members.time(&["observedAt", "observed_at"], "$.observedAt")?;
        let Some(Json::Bool(complete)) = object.get("complete") else {
            return Err(refuse("$.complete", "complete must be true or false"));
        };
        let Some(Json::Array(delegations)) = object.get("delegations") else {
            let message = "delegations must be an array of {child_id, session_id, status}";
            return Err(refuse("$.delegations", message));
        };
        let mut snapshot =
            Self { observed_at, complete: *complete, entries: Vec::new(), refused: Vec::new() };
        let mut named = HashSet::new();
        for (at, object) in delegations.iter().enumerate() {
            let of_entry = |refusal| of_entry(refusal, at);
            let members = Members { object, repair };
            let child_id = members.id(&["child_id", "subagent_id"], "$.child_id").map_err(of_entry)?;
            let session_id =
                members.id(&["session_id", "child_session_id"], "$.session_id").map_err(of_entry)?;
            if !named.insert(key(&child_id, &session_id)) {
                return Err(of_entry(refuse("$", "a child of one session stands in delegations twice")));
            }
            let status = members.status().and_then(|status| {
                let message = "status is missing, and none is guessed";
                status.ok_or_else(|| Refusal::new(Code::InvalidState, "$.status", message))
            });
            match status {
                Ok((status, state)) => snapshot.entries.push(Entry {
                    child_id,
                    session_id,
                    state,
                    status,
                    current_tool: members.text(&["current_tool", "tool_name", "tool"], limits::TOOL_NAME),
                    activity: members.text(&["activity", "goal"], ACTIVITY_UNITS),
                }),
                Err(refusal) => {
                    let refusal = of_entry(refusal);
                    snapshot.refused.push(RefusedEntry { child_id, session_id, refusal });
                }
            }
        }
        Ok(snapshot)
    }
}

/// The refusal of an entry as one of the snapshot.
fn of_entry(refusal: Refusal, at: usize) -> Refusal {
    let path = format!("$.delegations[{at}]{}", refusal.path.trim_start_matches('$'));
    Refusal { path: Cow::Owned(path), ..refusal }
}
