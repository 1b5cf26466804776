//! The schema-v1 event: normalised from JSON, written as JSON.
//!
//! Input: one JSON text. Output: an [`Event`] that satisfies every rule of `docs/contract.md`, or the first [`Refusal`].
//! Invariant: normalising a written event gives the same event. Never: cuts an identity, keeps a secret in `details`.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::capabilities::Capabilities;
use super::error::{Code, Refusal};
use super::identity::{IdFault, SOURCE_NOTE, identity};
use super::limits::{ACTIVITY_UNITS, DETAILS_BYTES, DETAILS_DEPTH, ID_BYTES, JSON_DEPTH};
use super::raw::{Nested, RawEvent, RawLineage};
use super::state::{State, WaitingReason};
use super::time::Timestamp;
use crate::json::{self, Json, JsonFault, Repair, Scalar};
use crate::redact::{redact_json, redact_note, redact_text};

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The child exists.
    Created,
    /// The child is in another state.
    StateChanged,
    /// The child does something.
    Activity,
    /// The child lives.
    Heartbeat,
    /// The child ended.
    Terminal,
    /// A note about a reconciliation, or an epoch advance.
    Reconciliation,
    /// A note.
    Diagnostic,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Created,
        Self::StateChanged,
        Self::Activity,
        Self::Heartbeat,
        Self::Terminal,
        Self::Reconciliation,
        Self::Diagnostic,
    ];

    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::StateChanged => "state_changed",
            Self::Activity => "activity",
            Self::Heartbeat => "heartbeat",
            Self::Terminal => "terminal",
            Self::Reconciliation => "reconciliation",
            Self::Diagnostic => "diagnostic",
        }
    }

    /// The kind with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether the event changes no state and refreshes nothing.
    #[must_use]
    pub fn is_note(self) -> bool {
        matches!(self, Self::Reconciliation | Self::Diagnostic)
    }
}

/// Where a child comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lineage<'a> {
    /// The root of the tree that the child belongs to.
    pub root_child_id: Cow<'a, str>,
    /// The child that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_child_id: Option<Cow<'a, str>>,
    /// Which life of the same thing this is.
    pub attempt: u64,
    /// Whether somebody else started it and it was adopted.
    pub external: bool,
    /// When it was adopted; always there where `external` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted_at: Option<Timestamp<'a>>,
}

impl Lineage<'_> {
    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_static(&self) -> Lineage<'static> {
        let Self { root_child_id, parent_child_id, attempt, external, adopted_at } = self;
        Lineage {
            root_child_id: owned(root_child_id),
            parent_child_id: parent_child_id.as_deref().map(owned),
            attempt: *attempt,
            external: *external,
            adopted_at: adopted_at.as_ref().map(Timestamp::to_static),
        }
    }
}

/// A normalised schema-v1 event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Unique within (source, epoch, child).
    pub event_id: Cow<'a, str>,
    /// Who says it.
    pub source: Cow<'a, str>,
    /// The life of the source's sequence space.
    pub source_epoch: Cow<'a, str>,
    /// Whom it is about.
    pub child_id: Cow<'a, str>,
    /// Where the child comes from.
    pub lineage: Lineage<'a>,
    /// What it says.
    pub kind: Kind,
    /// The state, for `created`, `state_changed` and `terminal`.
    pub state: Option<State>,
    /// For state `waiting` always there, else never.
    pub waiting_reason: Option<WaitingReason>,
    /// When it was observed.
    pub observed_at: Timestamp<'a>,
    /// The place in the source's own order.
    pub sequence: Option<u64>,
    /// Display text.
    pub activity: Option<Cow<'a, str>>,
    /// An object, redacted.
    pub details: Option<Json>,
    /// What the source can tell.
    pub capabilities: Capabilities,
}

impl<'a> Event<'a> {
    /// The event in `bytes`, one JSON text.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self, EventFault> {
        let text = json::check(bytes).map_err(EventFault::Json)?;
        let mut raw = Nested::default();
        if raw.read(text).is_ok() {
            return normalize(raw, Repair::default()).map_err(EventFault::Refused);
        }
        let (text, repair) = json::repair(text).ok_or(EventFault::Json(JsonFault::Malformed))?;
        let mut raw = Nested::default();
        raw.read(&text).map_err(|_| EventFault::Json(JsonFault::Malformed))?;
        normalize(raw, repair).map(|event| event.to_static()).map_err(EventFault::Refused)
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_static(&self) -> Event<'static> {
        Event {
            event_id: owned(&self.event_id),
            source: owned(&self.source),
            source_epoch: owned(&self.source_epoch),
            child_id: owned(&self.child_id),
            lineage: self.lineage.to_static(),
            kind: self.kind,
            state: self.state,
            waiting_reason: self.waiting_reason,
            observed_at: self.observed_at.to_static(),
            sequence: self.sequence,
            activity: self.activity.as_deref().map(owned),
            details: self.details.clone(),
            capabilities: self.capabilities,
        }
    }

    /// Its JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        json::write(self)
    }
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schemaVersion", &1)?;
        map.serialize_entry("eventId", &self.event_id)?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("sourceEpoch", &self.source_epoch)?;
        map.serialize_entry("childId", &self.child_id)?;
        map.serialize_entry("lineage", &self.lineage)?;
        map.serialize_entry("kind", &self.kind)?;
        if let Some(state) = self.state {
            map.serialize_entry("state", &state)?;
        }
        if let Some(reason) = self.waiting_reason {
            map.serialize_entry("waitingReason", &reason)?;
        }
        map.serialize_entry("observedAt", &self.observed_at)?;
        if let Some(sequence) = self.sequence {
            map.serialize_entry("sequence", &sequence)?;
        }
        if let Some(activity) = &self.activity {
            map.serialize_entry("activity", activity)?;
        }
        if let Some(details) = &self.details {
            map.serialize_entry("details", details)?;
        }
        map.serialize_entry("capabilities", &self.capabilities)?;
        map.end()
    }
}

/// Why bytes are no event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventFault {
    /// They are not JSON for us.
    Json(JsonFault),
    /// The JSON breaks a rule of the contract.
    Refused(Refusal),
}

impl From<EventFault> for Refusal {
    fn from(fault: EventFault) -> Self {
        match fault {
            EventFault::Refused(refusal) => refusal,
            EventFault::Json(JsonFault::TooDeep) => Self::new(
                Code::TooDeep,
                "$",
                format!("the event is nested more than {JSON_DEPTH} levels deep; flatten it"),
            ),
            EventFault::Json(JsonFault::InvalidUtf8 | JsonFault::Malformed) => {
                Self::new(Code::InvalidEvent, "$", "the event is not valid JSON; give one JSON object")
            }
        }
    }
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(text.to_owned())
}

fn normalize(raw: Nested<RawEvent<'_>>, repair: Repair) -> Result<Event<'_>, Refusal> {
    let Nested::Object(raw) = raw else {
        return Err(Refusal::new(Code::InvalidEvent, "$", "the event must be a JSON object"));
    };
    let is_missing = |member: &Scalar<'_>| *member == Scalar::Absent;
    let id = |member, path| id(member, path, Code::InvalidId, repair);
    if raw.schema_version != Scalar::Number(1.0) {
        let must = "must be the number 1, the only version that exists";
        let message = said("schemaVersion", is_missing(&raw.schema_version), must);
        return Err(Refusal::new(Code::InvalidSchemaVersion, "$.schemaVersion", message));
    }
    let event_id = id(raw.event_id, "$.eventId")?;
    let source = id(raw.source, "$.source")?;
    let source_epoch = id(raw.source_epoch, "$.sourceEpoch")?;
    let child_id = id(raw.child_id, "$.childId")?;
    let lineage = lineage(raw.lineage, repair)?;
    let kind = raw.kind.text().and_then(Kind::parse).ok_or_else(|| {
        let words = Kind::ALL.map(Kind::as_str).join(", ");
        let must = format!("must be one of {words}");
        Refusal::new(Code::InvalidKind, "$.kind", said("kind", is_missing(&raw.kind), &must))
    })?;
    if child_id == SOURCE_NOTE && !kind.is_note() {
        let message = "childId @source is reserved for notes: kind must be reconciliation or diagnostic";
        return Err(Refusal::new(Code::InvalidKind, "$.kind", message));
    }
    let state = state(kind, &raw.state)?;
    let redact = if kind == Kind::Reconciliation { redact_note } else { redact_json };
    Ok(Event {
        event_id,
        source,
        source_epoch,
        child_id,
        lineage,
        kind,
        state,
        waiting_reason: waiting_reason(state, &raw.waiting_reason)?,
        observed_at: timestamp(raw.observed_at, "$.observedAt", "observedAt", Code::InvalidTimestamp)?,
        sequence: match raw.sequence {
            Scalar::Absent => None,
            given => Some(given.safe_integer().ok_or_else(|| {
                let message = "sequence must be an integer from 0 to 9007199254740991, or absent";
                Refusal::new(Code::InvalidSequence, "$.sequence", message)
            })?),
        },
        activity: match raw.activity {
            Scalar::Absent => None,
            Scalar::Text(text) => Some(activity(repair.display(text))),
            _ => {
                let message = "activity must be text, or absent";
                return Err(Refusal::new(Code::InvalidActivity, "$.activity", message));
            }
        },
        details: details(raw.details, repair, redact)?,
        capabilities: Capabilities::read(&raw.capabilities)?,
    })
}

/// That a member must be something, and that it is missing where it is.
fn said(name: &str, is_missing: bool, must: &str) -> String {
    format!("{name} {}{must}", if is_missing { "is missing and " } else { "" })
}

pub(crate) fn id<'a>(
    member: Scalar<'a>,
    path: &'static str,
    code: Code,
    repair: Repair,
) -> Result<Cow<'a, str>, Refusal> {
    let refuse = |fault: &str| {
        let name = path.rsplit('.').next().unwrap_or(path);
        Err(Refusal::new(code, path, format!("{name} {fault}")))
    };
    let is_missing = member == Scalar::Absent;
    let Some(text) = member.into_text() else {
        return refuse(if is_missing {
            "is missing and must be text that is not blank"
        } else {
            "must be text that is not blank"
        });
    };
    if repair.has_lone_surrogate(&text) {
        return refuse("has a lone surrogate, which no UTF-8 text can hold");
    }
    let trimmed = match &text {
        Cow::Borrowed(text) => identity(text).map(Cow::Borrowed),
        Cow::Owned(text) => identity(text).map(|id| Cow::Owned(id.to_owned())),
    };
    match trimmed {
        Ok(id) => Ok(id),
        Err(IdFault::Blank) => refuse("must not be blank"),
        Err(IdFault::TooLong) => refuse(&format!(
            "is longer than {ID_BYTES} UTF-8 bytes; an identity is never cut, give a shorter one"
        )),
        Err(IdFault::Nul) => refuse("must not contain U+0000"),
    }
}

pub(crate) fn lineage(raw: Nested<RawLineage<'_>>, repair: Repair) -> Result<Lineage<'_>, Refusal> {
    let refuse = |path, message: &str| Err(Refusal::new(Code::InvalidLineage, path, message));
    let is_missing = matches!(raw, Nested::Absent);
    let Nested::Object(raw) = raw else {
        let must = "must be an object {rootChildId, attempt, external}";
        return refuse("$.lineage", &said("lineage", is_missing, must));
    };
    let RawLineage { root_child_id, parent_child_id, attempt, external, adopted_at } = raw;
    let root_child_id = id(root_child_id, "$.lineage.rootChildId", Code::InvalidLineage, repair)?;
    let parent_child_id = match parent_child_id {
        Scalar::Absent => None,
        given => Some(id(given, "$.lineage.parentChildId", Code::InvalidLineage, repair)?),
    };
    let is_missing = attempt == Scalar::Absent;
    let Some(attempt) = attempt.safe_integer() else {
        let must = "must be an integer from 0 to 9007199254740991";
        return refuse("$.lineage.attempt", &said("attempt", is_missing, must));
    };
    let is_missing = external == Scalar::Absent;
    let Scalar::Bool(external) = external else {
        return refuse("$.lineage.external", &said("external", is_missing, "must be true or false"));
    };
    let adopted_at = match adopted_at {
        Scalar::Absent if external => {
            return refuse("$.lineage.adoptedAt", "adoptedAt is required when external is true");
        }
        Scalar::Absent => None,
        given => Some(timestamp(given, "$.lineage.adoptedAt", "adoptedAt", Code::InvalidLineage)?),
    };
    Ok(Lineage { root_child_id, parent_child_id, attempt, external, adopted_at })
}

pub(crate) fn timestamp<'a>(
    member: Scalar<'a>,
    path: &'static str,
    name: &str,
    code: Code,
) -> Result<Timestamp<'a>, Refusal> {
    let is_missing = member == Scalar::Absent;
    member.into_text().and_then(Timestamp::parse).ok_or_else(|| {
        let must = "must be RFC 3339 UTC with seconds and a real date, such as 2026-05-17T22:29:21Z";
        Refusal::new(code, path, said(name, is_missing, must))
    })
}

fn state(kind: Kind, member: &Scalar<'_>) -> Result<Option<State>, Refusal> {
    let refuse = |must: String| {
        let message = said("state", *member == Scalar::Absent, &must);
        Err(Refusal::new(Code::InvalidState, "$.state", message))
    };
    let state = member.text().and_then(State::parse);
    let word = kind.as_str();
    match kind {
        Kind::Created if state == Some(State::Created) => Ok(state),
        Kind::Created => refuse("must be created for kind created".to_owned()),
        Kind::StateChanged if state.is_some_and(|state| state != State::Created) => Ok(state),
        Kind::StateChanged => {
            let words = State::ALL[1..].iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", ");
            refuse(format!("must be one of {words} for kind state_changed"))
        }
        Kind::Terminal if state.is_some_and(State::is_terminal) => Ok(state),
        Kind::Terminal => refuse("must be completed, failed, cancelled or lost for kind terminal".to_owned()),
        _ if *member == Scalar::Absent => Ok(None),
        _ => refuse(format!("must be absent for kind {word}, which never changes a state")),
    }
}

pub(crate) fn waiting_reason(
    state: Option<State>,
    member: &Scalar<'_>,
) -> Result<Option<WaitingReason>, Refusal> {
    let refuse = |message: String| Err(Refusal::new(Code::InvalidWaitingReason, "$.waitingReason", message));
    match (state, member) {
        (Some(State::Waiting), Scalar::Absent) => Ok(Some(WaitingReason::Other)),
        (Some(State::Waiting), given) => {
            if let Some(reason) = given.text().and_then(WaitingReason::parse) {
                return Ok(Some(reason));
            }
            let words = WaitingReason::ALL.map(WaitingReason::as_str).join(", ");
            refuse(format!("waitingReason must be one of {words}, or absent"))
        }
        (_, Scalar::Absent) => Ok(None),
        _ => refuse("waitingReason is allowed only with state waiting".to_owned()),
    }
}

/// Redacted, then cut.
fn activity(text: Cow<'_, str>) -> Cow<'_, str> {
    match redact_text(&text) {
        Cow::Owned(redacted) => Cow::Owned(crate::text::fit(&redacted, ACTIVITY_UNITS).to_owned()),
        Cow::Borrowed(_) => match text {
            Cow::Borrowed(text) => Cow::Borrowed(crate::text::fit(text, ACTIVITY_UNITS)),
            Cow::Owned(text) => Cow::Owned(crate::text::fit(&text, ACTIVITY_UNITS).to_owned()),
        },
    }
}

pub(crate) fn details(
    raw: Nested<Option<Json>>,
    repair: Repair,
    redact: fn(&mut Json) -> bool,
) -> Result<Option<Json>, Refusal> {
    let refuse = |message: String| Err(Refusal::new(Code::InvalidDetails, "$.details", message));
    let mut details = match raw {
        Nested::Absent => return Ok(None),
        Nested::Other => return refuse("details must be a JSON object, or absent".to_owned()),
        Nested::Object(None) => {
            return refuse(format!("details is nested more than {DETAILS_DEPTH} levels deep; flatten it"));
        }
        Nested::Object(Some(details)) => details,
    };
    if let Some(stand_in) = repair.stand_in {
        details.replace_character(stand_in, '\u{fffd}');
    }
    // A replacement may be longer than the secret; what is written must be accepted again.
    if json::length_exceeds(&details, DETAILS_BYTES)
        || redact(&mut details) && json::length_exceeds(&details, DETAILS_BYTES)
    {
        return refuse(format!("details is longer than {DETAILS_BYTES} bytes of JSON; leave the bulk out"));
    }
    Ok(Some(details))
}
