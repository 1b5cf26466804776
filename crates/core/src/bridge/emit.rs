//! The schema-v1 event of a step.
//!
//! Input: the step, what was said, and the facts that wait for an event to carry them. Output: one event, redacted.
//! Never: passes on more content than the session's level allows.

use std::borrow::Cow;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::names;
use super::steps::Step;
use super::{Content, Session};
use crate::agent::{AgentEvent, ContextUse};
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Event, Kind, Lineage, State};
use crate::json::Json;
use crate::project::facts::reason_word;
use crate::providers::{Facts, MessageUsage, Said};
use crate::redact::{redact_json, redact_text};
use crate::text::fit;

impl<F: FnMut(Event<'static>)> Step<'_, F> {
    /// A step that nobody said, but without which the next one is not legal.
    pub(super) fn step(&mut self, id: &str, kind: Kind, state: State) {
        self.life(id).state = Some(state);
        self.emit_bare(id, kind, state, true);
    }

    pub(super) fn emit_bare(&mut self, id: &str, kind: Kind, state: State, inferred: bool) {
        let mut members = Vec::new();
        if inferred {
            members.push(("inferred".to_owned(), Json::Bool(true)));
        }
        self.send(id, (kind, Some(state)), Part::Step(state), None, members);
    }

    /// What stands in an agent's own journal is evidence of that agent too, whomever it is about.
    pub(super) fn emit_evidence(&mut self, id: &str) {
        self.emit_facts(id, Kind::Activity, None);
    }

    /// An event that carries nothing but the facts that wait for one.
    pub(super) fn emit_facts(&mut self, id: &str, kind: Kind, state: Option<State>) {
        let facts = self.facts(id);
        let members =
            if facts.is_empty() { Vec::new() } else { vec![("facts".to_owned(), Json::Object(facts))] };
        let part = if kind == Kind::Created { Part::Step(State::Created) } else { Part::Main };
        self.send(id, (kind, state), part, None, members);
    }

    /// An event that carries what was said, and the facts that wait for one.
    pub(super) fn emit(&mut self, id: &str, kind: Kind, state: Option<State>, activity: Option<String>) {
        let mut members = Vec::new();
        if let Said::Event(event) = self.item.said {
            members
                .push(("agent".to_owned(), at_level(event.clone(), self.bridge.session.content).to_json()));
            if let Some(turn) = self.item.turn_id {
                members.push(("turnId".to_owned(), Json::Text(turn.to_owned())));
            }
        }
        let facts = self.facts(id);
        if !facts.is_empty() {
            members.push(("facts".to_owned(), Json::Object(facts)));
        }
        self.send(id, (kind, state), Part::Main, activity, members);
    }

    /// The facts of a child that no event has carried yet.
    fn facts(&mut self, id: &str) -> Vec<(String, Json)> {
        let life = self.life(id);
        let usage = std::mem::take(&mut life.usage);
        let superseded = std::mem::take(&mut life.superseded);
        let Facts { agent_version, cwd, branch, usage: _, context } = std::mem::take(&mut life.facts);
        let announced = std::mem::replace(&mut life.announced, true);
        let news = (!announced).then(|| (life.title.clone(), life.model.clone()));
        let Session { provider, session_id, .. } = &self.bridge.session;
        let mut members = Vec::new();
        let mut text = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                members.push((key.to_owned(), Json::Text(value)));
            }
        };
        if let Some((title, model)) = news {
            text("provider", Some(provider.clone()));
            text("sessionId", Some(session_id.clone()));
            text("title", title);
            text("model", model);
        }
        text("agentVersion", agent_version);
        text("cwd", cwd);
        text("branch", branch);
        if let Some(ContextUse { used, window }) = context {
            let window = window.map(|window| number("window", window));
            members.push((
                "context".to_owned(),
                Json::Object([number("used", used)].into_iter().chain(window).collect()),
            ));
        }
        if !superseded.is_empty() {
            let turns = superseded.into_iter().map(Json::Text).collect();
            members.push(("superseded".to_owned(), Json::Array(turns)));
        }
        if !usage.is_empty() {
            members.push(("usage".to_owned(), Json::Array(usage.into_iter().map(usage_json).collect())));
        }
        members
    }

    /// The id of an event of this item; of several that are the same part, each has its own.
    fn event_id(&mut self, child_id: &str, part: Part) -> u128 {
        let mut hasher = SipHasher13::new();
        hasher.write_u128(self.item.name);
        hasher.write(child_id.as_bytes());
        if let Part::Step(state) = part {
            hasher.write(state.as_str().as_bytes());
        }
        let mut id = hasher.finish128().as_u128();
        while self.ids.contains(&id) {
            id = id.wrapping_add(1);
        }
        self.ids.push(id);
        id
    }

    fn send(
        &mut self,
        id: &str,
        (kind, state): (Kind, Option<State>),
        part: Part,
        activity: Option<String>,
        mut members: Vec<(String, Json)>,
    ) {
        let at = self.item.at.moment();
        // Evidence of an agent that has ended since: without a fact it would count as what came after the end.
        if state.is_none() && members.is_empty() && self.life(id).ended_at.is_some_and(|ended| at <= ended) {
            let provider = Json::Text(self.bridge.session.provider.clone());
            members.push(("facts".to_owned(), Json::Object(vec![("provider".to_owned(), provider)])));
        }
        if self.item.estimated {
            members.push(("timeEstimated".to_owned(), Json::Bool(true)));
        }
        let mut details = Json::Object(members);
        redact_json(&mut details);
        let root = self.bridge.root.clone();
        let external = self.bridge.session.external;
        let (at, estimated) = (self.item.at.clone(), self.item.estimated);
        let life = self.life(id);
        // Adopted when first seen; an estimated time gives way to the first real one.
        if life.adopted_at.is_none() || (life.is_adoption_estimated && !estimated) {
            life.adopted_at = Some(at);
            life.is_adoption_estimated = estimated;
        }
        let waiting_reason = life.reason.filter(|_| state == Some(State::Waiting));
        let lineage = Lineage {
            root_child_id: Cow::Owned(root.clone()),
            parent_child_id: life.parent.clone().map(Cow::Owned),
            attempt: life.attempt.max(1),
            external,
            adopted_at: life.adopted_at.clone().filter(|_| external),
        };
        let child_id = names::life(id, lineage.attempt);
        let event_id = self.event_id(&child_id, part);
        let event = Event {
            event_id: Cow::Owned(format!("{event_id:032x}")),
            source: Cow::Owned(self.bridge.session.source.clone()),
            source_epoch: Cow::Owned(self.bridge.session.epoch.clone()),
            child_id: Cow::Owned(child_id),
            lineage,
            kind,
            state,
            waiting_reason,
            observed_at: self.item.at.clone(),
            sequence: None,
            activity: activity.map(|text| Cow::Owned(fit(&redact_text(&text), ACTIVITY_UNITS).to_owned())),
            details: Some(details).filter(|details| *details != Json::Object(Vec::new())),
            capabilities: self.bridge.session.capabilities,
        };
        (self.emit)(event);
    }
}

/// Which of the events of an item one is: steps come and go with what was known before, and must not change the ids of others.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// What the item itself says of a child.
    Main,
    /// A step on the way to it.
    Step(State),
}

#[expect(clippy::cast_precision_loss, reason = "JSON numbers are doubles")]
fn number(key: &str, value: u64) -> (String, Json) {
    (key.to_owned(), Json::Number(value as f64))
}

fn usage_json(usage: MessageUsage) -> Json {
    Json::Object(vec![
        ("messageId".to_owned(), Json::Text(usage.message_id)),
        number("input", usage.input),
        number("cached", usage.cached),
        number("output", usage.output),
    ])
}

/// What of the texts of an event may be passed on.
fn at_level(mut event: AgentEvent, level: Content) -> AgentEvent {
    use AgentEvent::{
        Done, Exited, Metadata, SessionStarted, SessionStopped, SubagentDone, SubagentStarted, ToolFinished,
        ToolStarted, TurnStarted, WaitFinished, WaitStarted,
    };
    let (titles, texts) = (level != Content::None, level == Content::Full);
    let keep = |allowed: bool, slot: &mut Option<String>| {
        if !allowed {
            *slot = None;
        }
    };
    match &mut event {
        SessionStarted { title, prompt_text, .. }
        | Metadata { title, prompt_text, .. }
        | SubagentStarted { title, prompt_text, .. } => {
            keep(titles, title);
            keep(texts, prompt_text);
        }
        TurnStarted { prompt_text, .. } => keep(texts, prompt_text),
        ToolStarted { description, .. } => keep(titles, description),
        Done { summary, .. } | SubagentDone { summary, .. } => keep(texts, summary),
        // A word says no more than the state does.
        WaitStarted { reason: Some(reason), .. } if !titles && reason_word(reason).is_some() => {}
        WaitStarted { reason, .. } | SessionStopped { reason, .. } => keep(titles, reason),
        ToolFinished { .. } | WaitFinished { .. } | Exited { .. } => {}
    }
    event
}
