//! What a host hands over of Hermes: a delegation event, or an input or an intent of a snapshot.
//!
//! Input: the JSON text of one. Output: a [`Message`], or the first [`Refusal`]; a status that is not understood is apart.
//! Never: guesses which of them it is.

use super::member::{Members, parse};
use super::normalize::Delegation;
use super::reconcile::{Input, Intent};
use crate::agent::event::limits;
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Code, Refusal, State, Timestamp};
use crate::json::Json;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A delegation event.
    Delegation(Box<Delegation>),
    /// What a snapshot says of a record.
    Input(Input),
    /// What is to be done about a record.
    Intent(Intent),
    /// A delegation event with a status that is not understood.
    NotUnderstood {
        /// The child.
        child_id: String,
        /// Its session.
        session_id: String,
        /// When.
        observed_at: Timestamp<'static>,
        /// Why nothing is concluded.
        refusal: Refusal,
    },
}

impl Message {
    /// The message in `bytes`, one JSON text.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Refusal> {
        let refuse = |message: &str| Refusal::new(Code::InvalidEvent, "$", message);
        let (object, repair) = parse(bytes, refuse)?;
        if !matches!(object, Json::Object(_)) {
            return Err(refuse("the event must be a JSON object"));
        }
        let members = Members { object: &object, repair };
        let kind = if object.get("type").is_some() { None } else { members.word("kind") };
        match kind {
            Some("snapshot_reconciled") => input(members).map(Self::Input),
            Some("correct_projection") => {
                let (child_id, session_id) = ids(members)?;
                let (from, to) = (state(members, "from", "$.from")?, said(members, "to", "$.to")?);
                let reason = "authoritative_snapshot";
                Ok(Self::Intent(Intent::CorrectProjection { child_id, session_id, from, to, reason }))
            }
            Some("mark_stale_unknown") => {
                let (child_id, session_id) = ids(members)?;
                let from = state(members, "from", "$.from")?;
                let reason = "complete_snapshot_missing";
                Ok(Self::Intent(Intent::MarkStaleUnknown { child_id, session_id, from, reason }))
            }
            _ => delegation(members),
        }
    }
}

fn delegation(members: Members<'_>) -> Result<Message, Refusal> {
    let refusal = match Delegation::read(members) {
        Ok(event) => return Ok(Message::Delegation(Box::new(event))),
        Err(refusal) => refusal,
    };
    // Who it is about can be told where nothing but the status is at fault.
    if refusal.path != "$.status" {
        return Err(refusal);
    }
    let (child_id, session_id) = Delegation::ids(members)?;
    let observed_at = Delegation::time(members)?;
    Ok(Message::NotUnderstood { child_id, session_id, observed_at, refusal })
}

fn ids(members: Members<'_>) -> Result<(String, String), Refusal> {
    Ok((members.id(&["childId"], "$.childId")?, members.id(&["sessionId"], "$.sessionId")?))
}

fn state(members: Members<'_>, name: &str, path: &'static str) -> Result<State, Refusal> {
    members.word(name).and_then(State::parse).ok_or_else(|| {
        Refusal::new(Code::InvalidState, path, format!("{name} must be one of the eight states"))
    })
}

/// As [`state`], where Hermes says it.
fn said(members: Members<'_>, name: &str, path: &'static str) -> Result<State, Refusal> {
    match state(members, name, path)? {
        State::Lost => Err(Refusal::new(Code::InvalidState, path, "Hermes has no status that means lost")),
        state => Ok(state),
    }
}

fn input(members: Members<'_>) -> Result<Input, Refusal> {
    let (child_id, session_id) = ids(members)?;
    let state = said(members, "state", "$.state")?;
    Ok(Input {
        child_id,
        session_id,
        state,
        observed_at: members.time(&["observedAt"], "$.observedAt")?,
        status: members.status()?.map(|(word, _)| word),
        current_tool: members.text(&["currentTool"], limits::TOOL_NAME),
        activity: members.text(&["activity"], ACTIVITY_UNITS),
    })
}
