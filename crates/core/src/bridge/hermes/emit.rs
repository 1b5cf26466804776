//! The schema-v1 event of something that Hermes said.
//!
//! Input: what was said, and of which child. Output: one event, redacted. Invariant: the same message gives the same event, whatever
//! came between. Never: passes on more content than the level allows.

use std::borrow::Cow;

use super::super::{Content, item_name};
use super::{HermesLifecycle, Made, names};
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{
    Capabilities, Capability, Code, Event, Kind, Refusal, State, Timestamp, WaitingReason,
};
use crate::json::{self, Json};
use crate::providers::hermes::{Delegation, DelegationKind, Entry, Input, Intent};
use crate::redact::redact_json;
use crate::text::fit;

/// What the rows call the provider.
const PROVIDER: &str = "hermes";

/// A message on its way through the lifecycle.
#[derive(Debug)]
pub(super) struct Saying {
    /// The hash of the normalised message.
    pub(super) name: u128,
    pub(super) at: Timestamp<'static>,
    /// What the child does, for people.
    pub(super) doing: Option<String>,
    title: Option<String>,
    model: Option<String>,
    /// What Hermes said beside it.
    beside: Vec<(String, Json)>,
    /// Whether an end comes with its cause.
    tells_cause: bool,
    /// Whether it is a delegation event. What events others make depends on what was known, so that their kind is part of the id.
    is_event: bool,
}

/// Which of the events of a message one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What the message itself says.
    Main,
    /// A step on the way to it.
    Step(State),
}

impl Saying {
    pub(super) fn of_delegation(event: &Delegation, content: Content) -> Self {
        let Delegation { status, current_tool, activity, parent_id, model, summary, .. } = event;
        let text = |text: &Option<String>| text.clone().map(Json::Text);
        let full = content == Content::Full;
        let is_passed = |value: &Json| content != Content::None || is_count(value);
        let members = [
            ("parentId", text(parent_id)),
            ("status", status.map(|word| Json::Text(word.to_owned()))),
            ("currentTool", text(current_tool)),
            ("duration", event.duration.clone().filter(is_passed)),
            ("tokens", event.tokens.clone().filter(is_passed)),
            ("summary", text(summary).filter(|_| full)),
            ("files", event.files.clone().filter(|_| full)),
            ("outputTail", event.output_tail.clone().filter(|_| full)),
        ];
        let is_title = event.kind != DelegationKind::Activity && !event.state.is_terminal();
        Self {
            title: activity.clone().filter(|_| is_title && content != Content::None),
            model: model.clone(),
            tells_cause: status.is_some(),
            is_event: true,
            ..Self::new(&json::write(event), &event.observed_at, (current_tool, activity), content, members)
        }
    }

    pub(super) fn of_input(input: &Input, content: Content) -> Self {
        let Input { status, current_tool, activity, .. } = input;
        let doing = (current_tool, activity);
        let status = status.map(|word| Json::Text(word.to_owned()));
        Self {
            tells_cause: status.is_some(),
            ..Self::new(&json::write(input), &input.observed_at, doing, content, [("status", status)])
        }
    }

    pub(super) fn of_entry(entry: &Entry, at: &Timestamp<'static>, content: Content) -> Self {
        let Entry { child_id, session_id, status, current_tool, activity, state: _ } = entry;
        let said = [child_id, session_id, *status, at.as_str()];
        let status = Some(Json::Text((*status).to_owned()));
        Self::new(&json::write(&said), at, (current_tool, activity), content, [("status", status)])
    }

    pub(super) fn of_intent(intent: &Intent, now: &Timestamp<'static>) -> Self {
        let name = format!("{}{}", json::write(intent), now.as_str());
        Self::new(&name, now, (&None, &None), Content::None, [])
    }

    pub(super) fn of_refusal(key: &str, refusal: &Refusal, at: &Timestamp<'static>) -> Self {
        let name = json::write(&[key, refusal.code.as_str(), &refusal.message, at.as_str()]);
        let code = Some(Json::Text(refusal.code.as_str().to_owned()));
        let saying = Self::new(&name, at, (&None, &None), Content::None, [("refused", code)]);
        Self { doing: Some(refusal.message.clone()), ..saying }
    }

    fn new<const N: usize>(
        normalised: &str,
        at: &Timestamp<'static>,
        (tool, activity): (&Option<String>, &Option<String>),
        content: Content,
        members: [(&str, Option<Json>); N],
    ) -> Self {
        let activity = activity.as_ref().filter(|_| content != Content::None);
        let doing = match (tool, activity) {
            (Some(tool), Some(activity)) => Some(format!("{tool}: {activity}")),
            (one, other) => one.as_ref().or(other).cloned(),
        };
        let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Self {
            name: item_name(&[normalised.as_bytes()]),
            at: at.clone(),
            doing: doing.map(|text| fit(&text, ACTIVITY_UNITS).to_owned()),
            title: None,
            model: None,
            beside: members.collect(),
            tells_cause: false,
            is_event: false,
        }
    }

    /// The details of the event that is the message itself. Every event has all of them, so that a second reading is the same event.
    pub(super) fn details(&self, session_id: &str) -> Json {
        let facts = [
            ("provider", Some(PROVIDER)),
            ("sessionId", Some(session_id)),
            ("title", self.title.as_deref()),
            ("model", self.model.as_deref()),
        ];
        let facts =
            facts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), Json::Text(text?.to_owned()))));
        let mut members = vec![("facts".to_owned(), Json::Object(facts.collect()))];
        if !self.beside.is_empty() {
            members.push((PROVIDER.to_owned(), Json::Object(self.beside.clone())));
        }
        let mut details = Json::Object(members);
        redact_json(&mut details);
        details
    }
}

/// Whether a value is a number, or an object of such: no text stands in it.
fn is_count(value: &Json) -> bool {
    match value {
        Json::Number(_) => true,
        Json::Object(members) => members.iter().all(|(_, value)| is_count(value)),
        _ => false,
    }
}

/// The code of the refusal that an event of a lifecycle tells of a child's status, for its row.
#[must_use]
pub fn refused(event: &Event<'_>) -> Option<&'static str> {
    let code = Code::InvalidState.as_str();
    let said = event.details.as_ref()?.get(PROVIDER)?.text_at("refused")?;
    (event.kind == Kind::Diagnostic && said == code).then_some(code)
}

impl HermesLifecycle {
    pub(super) fn emit(
        &self,
        base: &str,
        (kind, state): (Kind, Option<State>),
        saying: &Saying,
        part: Part,
        made: &mut Made,
    ) {
        let Some(child) = self.children.get(base) else { return };
        let child_id = names::life(base, child.lineage.attempt);
        let step = match part {
            Part::Main => kind.as_str(),
            Part::Step(state) => state.as_str(),
        };
        let is_main = part == Part::Main;
        let event_id = if is_main && saying.is_event {
            saying.name
        } else {
            item_name(&[&saying.name.to_be_bytes(), step.as_bytes()])
        };
        let details = if is_main {
            saying.details(&child.session_id)
        } else {
            Json::Object(vec![("inferred".to_owned(), Json::Bool(true))])
        };
        let tells_cause = saying.tells_cause && kind == Kind::Terminal;
        let terminal_cause = if tells_cause { Capability::Known } else { Capability::Unknown };
        let is_told = is_main && kind != Kind::Heartbeat;
        made.events.push(Event {
            event_id: Cow::Owned(format!("{event_id:032x}")),
            source: Cow::Owned(self.options.source.clone()),
            source_epoch: Cow::Owned(self.options.source_epoch.clone()),
            child_id: Cow::Owned(child_id),
            lineage: child.lineage.clone(),
            kind,
            state,
            waiting_reason: (state == Some(State::Waiting)).then_some(WaitingReason::Other),
            observed_at: saying.at.clone(),
            sequence: None,
            activity: saying.doing.clone().filter(|_| is_told).map(Cow::Owned),
            details: Some(details),
            capabilities: Capabilities { terminal_cause, ..self.options.capabilities },
        });
    }
}
