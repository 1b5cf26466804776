//! One delegation event of Hermes, normalised.
//!
//! Input: the JSON text of an event, or of what this module made of one. Output: a [`Delegation`], or the first [`Refusal`].
//! Invariant: normalising what was normalised gives the same. Never: guesses a type or a status, keeps a secret.

use serde::Serialize;

use super::member::{Members, parse};
use crate::agent::event::limits;
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Code, Refusal, State, Timestamp};
use crate::json::Json;

/// What a delegation event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationKind {
    /// The delegation was asked for.
    Created,
    /// It is in a state.
    StateChanged,
    /// It does something.
    Activity,
}

impl DelegationKind {
    const ALL: [(&str, Self); 3] =
        [("created", Self::Created), ("state_changed", Self::StateChanged), ("activity", Self::Activity)];
}

/// The type of a completion, whose state its status says.
pub const COMPLETE: &str = "subagent.complete";

/// Each type with its kind and its state.
pub const TYPES: [(&str, DelegationKind, State); 7] = [
    ("subagent.spawn_requested", DelegationKind::Created, State::Created),
    ("subagent.start", DelegationKind::StateChanged, State::Running),
    ("subagent.thinking", DelegationKind::Activity, State::Running),
    ("subagent.tool", DelegationKind::Activity, State::Running),
    ("subagent.tool.started", DelegationKind::Activity, State::Running),
    ("subagent.progress", DelegationKind::Activity, State::Running),
    (COMPLETE, DelegationKind::StateChanged, State::Completed),
];

/// A delegation event. Texts are trimmed, redacted and bounded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// What it says.
    pub kind: DelegationKind,
    /// The child.
    pub child_id: String,
    /// Its session: ids of children are unique within one only.
    pub session_id: String,
    /// The state that Hermes gives it. That of an activity is Hermes' own.
    pub state: State,
    /// When.
    pub observed_at: Timestamp<'static>,
    /// Whether it is a completion whose status says that nothing has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// The tool that it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_tool: Option<String>,
    /// What it does, or what it is to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The child that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Hermes' own word for its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How long it took, as Hermes says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Json>,
    /// Tokens, as Hermes says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Json>,
    /// Files, as Hermes says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Json>,
    /// The end of its output, as Hermes says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<Json>,
}

impl Delegation {
    /// The event in `bytes`, one JSON text: Hermes' own, with a `type`, or a normalised one, with a `kind`.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Refusal> {
        let refuse = |message: &str| Refusal::new(Code::InvalidEvent, "$", message);
        let (object, repair) = parse(bytes, refuse)?;
        if !matches!(object, Json::Object(_)) {
            return Err(refuse("the event must be a JSON object"));
        }
        Self::read(Members { object: &object, repair })
    }

    pub(super) fn ids(members: Members<'_>) -> Result<(String, String), Refusal> {
        let child_id = members.id(&["child_id", "subagent_id", "childId"], "$.child_id")?;
        Ok((child_id, members.id(&["session_id", "child_session_id", "sessionId"], "$.session_id")?))
    }

    pub(super) fn time(members: Members<'_>) -> Result<Timestamp<'static>, Refusal> {
        members.time(&["observed_at", "observedAt"], "$.observed_at")
    }

    pub(super) fn read(members: Members<'_>) -> Result<Self, Refusal> {
        let status = members.status()?;
        let is_normalised = members.object.get("type").is_none() && members.object.get("kind").is_some();
        let (kind, state, unfinished) = if is_normalised {
            normalised(members)?
        } else {
            native(members, status.map(|(_, state)| state))?
        };
        let (child_id, session_id) = Self::ids(members)?;
        Ok(Self {
            kind,
            child_id,
            session_id,
            state,
            observed_at: Self::time(members)?,
            unfinished,
            current_tool: members.text(&["tool_name", "tool", "currentTool"], limits::TOOL_NAME),
            activity: members.text(&["activity", "goal"], ACTIVITY_UNITS),
            parent_id: members.optional_id(&["parent_id", "parentId"], "$.parent_id")?,
            model: members.text(&["model"], limits::ID),
            status: status.map(|(word, _)| word),
            summary: members.text(&["summary"], limits::TEXT),
            duration: members.value(&["duration", "duration_seconds"]),
            tokens: members.value(&["tokens"]),
            files: members.value(&["files"]),
            output_tail: members.value(&["output_tail", "outputTail"]),
        })
    }
}

/// What Hermes' own event says, by its type, and for a completion by its status.
fn native(members: Members<'_>, status: Option<State>) -> Result<(DelegationKind, State, bool), Refusal> {
    let named = members.word("type");
    let Some((name, kind, state)) = TYPES.into_iter().find(|(name, ..)| Some(*name) == named) else {
        let words = TYPES.map(|(name, ..)| name).join(", ");
        let message = format!("type must be one of {words}");
        return Err(Refusal::new(Code::InvalidKind, "$.type", message));
    };
    if name != COMPLETE {
        return Ok((kind, state, false));
    }
    let state = status.unwrap_or(state);
    Ok((kind, state, !state.is_terminal()))
}

/// What a normalised event says.
fn normalised(members: Members<'_>) -> Result<(DelegationKind, State, bool), Refusal> {
    let refuse = |code, path, message: &str| Err(Refusal::new(code, path, message));
    let named = members.word("kind");
    let Some((_, kind)) = DelegationKind::ALL.into_iter().find(|(name, _)| Some(*name) == named) else {
        return refuse(Code::InvalidKind, "$.kind", "kind must be one of created, state_changed, activity");
    };
    let Some(state) = members.word("state").and_then(State::parse).filter(|state| is_of(kind, *state)) else {
        return refuse(
            Code::InvalidState,
            "$.state",
            "state must be one that an event of this kind can have",
        );
    };
    let unfinished = match members.object.get("unfinished") {
        None | Some(Json::Bool(false)) => false,
        Some(Json::Bool(true)) => true,
        Some(_) => {
            return refuse(Code::InvalidEvent, "$.unfinished", "unfinished must be true or false, or absent");
        }
    };
    Ok((kind, state, unfinished))
}

/// Whether an event of this kind can have this state.
fn is_of(kind: DelegationKind, state: State) -> bool {
    match kind {
        DelegationKind::Created => state == State::Created,
        DelegationKind::Activity => state == State::Running,
        DelegationKind::StateChanged => state != State::Lost,
    }
}
