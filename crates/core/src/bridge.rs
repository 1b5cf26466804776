//! Agent events to schema-v1 events: the one way into the projection for everything a provider says.
//!
//! Input: what one session's journals said, in merged order. Output: events over legal edges, missing steps inserted and marked.
//! Invariant: the same input gives the same events with the same ids. Never: ends a child over a turn's end or over silence.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::agent::{AgentEvent, Outcome};
use crate::contract::limits::ACTIVITY_UNITS;
use crate::contract::{Capabilities, Capability, Event, Kind, Lineage, State, Timestamp, WaitingReason};
use crate::json::Json;
use crate::project::facts::waiting_reason;
use crate::providers::{Facts, MessageUsage, Said};
use crate::redact::{redact_json, redact_text};
use crate::text::fit;

/// How much of what people and agents wrote goes into events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// No titles, no texts.
    None,
    /// Titles and descriptions, no prompts and no answers.
    #[default]
    Titles,
    /// Everything, cut to the bounds of agent events.
    Full,
}

/// What the bridge is told about a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The provider's name.
    pub provider: String,
    /// The provider's id of the session; the root child's id.
    pub session_id: String,
    /// The epoch of the events.
    pub epoch: String,
    /// How much content goes into events.
    pub content: Content,
}

/// Whose journal an item stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The root's.
    Root,
    /// That of the sub-agent with this id.
    Child(&'a str),
}

/// One item on its way through the bridge.
#[derive(Debug)]
pub struct Item<'a> {
    /// Whose journal it stands in.
    pub scope: Scope<'a>,
    /// Names the item among all of the session, the same at every reading.
    pub name: u128,
    /// When.
    pub at: Timestamp<'static>,
    /// Whether `at` is a guess from the file's own time.
    pub estimated: bool,
    /// The turn it belongs to.
    pub turn_id: Option<&'a str>,
    /// What it says.
    pub said: &'a Said,
}

/// See the module.
#[derive(Debug)]
pub struct Bridge {
    session: Session,
    source: String,
    lives: HashMap<String, Life>,
}

/// What the bridge has made of one child so far.
#[derive(Debug, Default)]
struct Life {
    attempt: u64,
    parent: Option<String>,
    adopted_at: Option<Timestamp<'static>>,
    is_adoption_estimated: bool,
    state: Option<State>,
    reason: Option<WaitingReason>,
    /// The turn opened last that has not ended.
    turn: Option<String>,
    last_outcome: Option<Outcome>,
    waits: Vec<OpenWait>,
    /// Facts that no event has carried yet, the usage apart: of several messages each counts.
    facts: Facts,
    usage: Vec<MessageUsage>,
    announced: bool,
}

#[derive(Debug)]
struct OpenWait {
    id: String,
    turn: Option<String>,
    reason: WaitingReason,
}

/// Open waits remembered of one child.
const WAITS: usize = 64;
/// Messages whose usage waits for an event to carry it.
const USAGES: usize = 32;

impl Bridge {
    /// A bridge for one session.
    #[must_use]
    pub fn new(session: Session) -> Self {
        let source = format!("{}/{}", session.provider, session.session_id);
        Self { session, source, lives: HashMap::new() }
    }

    /// The source of the events.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Takes one item and hands the events it makes to `emit`, in order.
    pub fn take(&mut self, item: &Item<'_>, emit: &mut impl FnMut(Event<'static>)) {
        let own = match item.scope {
            Scope::Root => self.session.session_id.clone(),
            Scope::Child(id) => id.to_owned(),
        };
        let mut step = Step { bridge: self, item, emit, count: 0 };
        match item.said {
            Said::Event(AgentEvent::SubagentStarted { subagent_id, parent_agent_id, .. }) => {
                step.launch(subagent_id, parent_agent_id.as_deref().unwrap_or(&own));
            }
            Said::Event(AgentEvent::SubagentDone { subagent_id, outcome, .. }) => {
                step.require(subagent_id, &own);
                step.end(subagent_id, terminal(*outcome));
            }
            Said::Confirmed { launch } => {
                step.require(launch, &own);
                step.confirm(launch);
            }
            Said::Event(event) => {
                step.confirm_own(&own);
                step.own_event(&own, event);
            }
            Said::Activity => {
                step.confirm_own(&own);
                step.emit(&own, Kind::Activity, None, None);
            }
            Said::Facts(facts) => {
                if step.life(&own).add(facts) {
                    step.confirm_own(&own);
                    step.emit(&own, Kind::Activity, None, None);
                }
            }
            Said::Binding { .. } => {}
        }
    }
}

/// One item being taken.
struct Step<'a, F> {
    bridge: &'a mut Bridge,
    item: &'a Item<'a>,
    emit: &'a mut F,
    /// Events made of the item so far.
    count: u64,
}

impl<F: FnMut(Event<'static>)> Step<'_, F> {
    fn life(&mut self, id: &str) -> &mut Life {
        self.bridge.lives.entry(id.to_owned()).or_default()
    }

    fn is_root(&self, id: &str) -> bool {
        id == self.bridge.session.session_id
    }

    /// A sub-agent that was launched; launched again after its end it is a new attempt.
    fn launch(&mut self, id: &str, parent: &str) {
        match self.life(id).state {
            Some(state) if !state.is_terminal() => self.emit(id, Kind::Activity, None, None),
            _ => {
                let known_parent = self.bridge.lives.get(parent).is_some_and(|life| life.attempt > 0);
                let is_cycle = self.descends_from(parent, id);
                let root = self.bridge.session.session_id.clone();
                let parent = if known_parent && !is_cycle { parent.to_owned() } else { root };
                let life = self.life(id);
                *life = Life {
                    attempt: life.attempt + 1,
                    parent: Some(parent),
                    state: Some(State::Created),
                    facts: std::mem::take(&mut life.facts),
                    usage: std::mem::take(&mut life.usage),
                    ..Life::default()
                };
                self.emit(id, Kind::Created, Some(State::Created), None);
            }
        }
    }

    /// Whether `id` is `ancestor` or below it.
    fn descends_from(&self, id: &str, ancestor: &str) -> bool {
        let mut at = Some(id);
        // Parents are checked when they are set, so the walk ends.
        while let Some(id) = at {
            if id == ancestor {
                return true;
            }
            at = self.bridge.lives.get(id).and_then(|life| life.parent.as_deref());
        }
        false
    }

    /// Makes sure that a child exists about which something is said: its launch was not seen.
    fn require(&mut self, id: &str, parent: &str) {
        if self.life(id).attempt == 0 {
            let parent =
                if parent == id { self.bridge.session.session_id.clone() } else { parent.to_owned() };
            self.confirm_own(&parent);
            self.launch_inferred(id, &parent);
        }
    }

    fn launch_inferred(&mut self, id: &str, parent: &str) {
        let life = self.life(id);
        life.attempt = 1;
        life.parent = Some(parent.to_owned());
        life.state = Some(State::Created);
        self.step(id, Kind::Created, State::Created);
    }

    /// A journal's own record proves that its owner exists and runs.
    fn confirm_own(&mut self, id: &str) {
        if !self.is_root(id) {
            let root = self.bridge.session.session_id.clone();
            self.require(id, &root);
            self.confirm(id);
        } else if self.life(id).attempt == 0
            && !matches!(self.item.said, Said::Event(AgentEvent::SessionStarted { .. }))
        {
            self.begin_root(true);
        }
    }

    /// created -> starting -> running, as far as that is not done.
    fn confirm(&mut self, id: &str) {
        let state = self.life(id).state;
        if state == Some(State::Created) {
            self.step(id, Kind::StateChanged, State::Starting);
        }
        if matches!(state, Some(State::Created | State::Starting)) {
            self.step(id, Kind::StateChanged, State::Running);
        }
    }

    fn begin_root(&mut self, inferred: bool) {
        let root = self.bridge.session.session_id.clone();
        let life = self.life(&root);
        life.attempt = 1;
        life.state = Some(State::Created);
        if inferred {
            self.step(&root, Kind::Created, State::Created);
            self.step(&root, Kind::StateChanged, State::Starting);
        } else {
            self.emit(&root, Kind::Created, Some(State::Created), None);
            self.life(&root).state = Some(State::Starting);
            self.emit_bare(&root, Kind::StateChanged, State::Starting, false);
        }
    }

    fn own_event(&mut self, id: &str, event: &AgentEvent) {
        let is_root = self.is_root(id);
        match event {
            AgentEvent::SessionStarted { .. } if is_root && self.life(id).attempt == 0 => {
                self.begin_root(false);
            }
            AgentEvent::TurnStarted { turn_id, .. } => {
                let life = self.life(id);
                life.turn = Some(turn_id.clone());
                life.waits.clear();
                if is_root && !life.is_over() {
                    self.change(id, State::Running, None);
                } else {
                    self.emit(id, Kind::Activity, None, None);
                }
            }
            AgentEvent::Done { outcome, .. } => self.end_turn(id, *outcome),
            AgentEvent::WaitStarted { wait_id, state, reason, .. } => {
                let state = match state {
                    crate::agent::WaitState::Waiting => "waiting",
                    crate::agent::WaitState::Blocked => "blocked",
                };
                let turn = self.item.turn_id.map(str::to_owned);
                let wait = OpenWait {
                    id: wait_id.clone(),
                    turn,
                    reason: waiting_reason(Some(state), reason.as_deref()),
                };
                let life = self.life(id);
                if life.waits.len() < WAITS && !life.waits.iter().any(|open| open.id == wait.id) {
                    life.waits.push(wait);
                }
                self.settle(id);
            }
            AgentEvent::WaitFinished { wait_id, .. } => {
                self.life(id).waits.retain(|wait| wait.id != *wait_id);
                self.settle(id);
            }
            AgentEvent::Exited { exit_code, signal, .. } => {
                let failed = exit_code.is_some_and(|code| code != 0) || signal.is_some();
                self.stop(id, failed);
            }
            AgentEvent::SessionStopped { .. } => self.stop(id, false),
            AgentEvent::ToolStarted { name, description, .. } => {
                let text = match description {
                    Some(description) if self.bridge.session.content != Content::None => {
                        format!("{name}: {description}")
                    }
                    _ => name.clone(),
                };
                self.emit(id, Kind::Activity, None, Some(text));
            }
            _ => self.emit(id, Kind::Activity, None, None),
        }
    }

    /// A turn's end never ends its agent: the root waits for the next prompt.
    fn end_turn(&mut self, id: &str, outcome: Outcome) {
        let ended = self.item.turn_id.map(str::to_owned);
        let life = self.life(id);
        let ended = ended.or_else(|| life.turn.clone());
        life.waits.retain(|wait| wait.turn.is_some() && wait.turn != ended);
        if life.turn == ended {
            life.turn = None;
            life.last_outcome = Some(outcome);
        }
        let waits = life.turn.is_none() && !life.is_over();
        if waits && self.is_root(id) {
            self.change(id, State::Waiting, Some(WaitingReason::Prompt));
        } else {
            self.settle(id);
        }
    }

    /// The state that the open waits of a live child give, once it runs.
    fn settle(&mut self, id: &str) {
        let life = self.life(id);
        let first = life.waits.first().map(|wait| wait.reason);
        match (life.state, first) {
            (Some(State::Running | State::Starting | State::Waiting), Some(reason)) => {
                self.change(id, State::Waiting, Some(reason));
            }
            (Some(State::Waiting), None) if life.reason != Some(WaitingReason::Prompt) => {
                self.change(id, State::Running, None);
            }
            _ => self.emit(id, Kind::Activity, None, None),
        }
    }

    /// The process or the session ended. Whether that was well only the last turn can say; an open one leaves it open.
    fn stop(&mut self, id: &str, failed: bool) {
        let life = self.life(id);
        let state = match (&life.turn, life.last_outcome) {
            (Some(_), _) if failed => State::Failed,
            (Some(_), _) => return self.emit(id, Kind::Reconciliation, None, None),
            (None, Some(outcome)) => terminal(outcome),
            (None, None) => State::Cancelled,
        };
        self.end(id, state);
    }

    fn end(&mut self, id: &str, state: State) {
        for &missing in self.life(id).state.and_then(|from| from.steps_to(state)).unwrap_or_default() {
            self.step(id, Kind::StateChanged, missing);
        }
        let life = self.life(id);
        life.waits.clear();
        life.turn = None;
        if !life.is_over() {
            life.state = Some(state);
        }
        self.emit(id, Kind::Terminal, Some(state), None);
    }

    /// Moves a live child to `state` over legal edges; the same state again is evidence.
    fn change(&mut self, id: &str, state: State, reason: Option<WaitingReason>) {
        let from = self.life(id).state.unwrap_or(State::Created);
        if from != state {
            for &missing in from.steps_to(state).unwrap_or_default() {
                self.step(id, Kind::StateChanged, missing);
            }
        }
        let life = self.life(id);
        life.state = Some(state);
        life.reason = reason;
        self.emit(id, Kind::StateChanged, Some(state), None);
    }

    /// A step that nobody said, but without which the next one is not legal.
    fn step(&mut self, id: &str, kind: Kind, state: State) {
        self.life(id).state = Some(state);
        self.emit_bare(id, kind, state, true);
    }

    fn emit_bare(&mut self, id: &str, kind: Kind, state: State, inferred: bool) {
        let mut members = Vec::new();
        if inferred {
            members.push(("inferred".to_owned(), Json::Bool(true)));
        }
        self.send(id, kind, Some(state), None, members);
    }

    /// An event that carries what was said, and the facts that wait for one.
    fn emit(&mut self, id: &str, kind: Kind, state: Option<State>, activity: Option<String>) {
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
        self.send(id, kind, state, activity, members);
    }

    /// The facts of a child that no event has carried yet.
    fn facts(&mut self, id: &str) -> Vec<(String, Json)> {
        let life = self.life(id);
        let usage = std::mem::take(&mut life.usage);
        let Facts { agent_version, cwd, branch, usage: _ } = std::mem::take(&mut life.facts);
        let announced = std::mem::replace(&mut life.announced, true);
        let mut members = Vec::new();
        let mut text = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                members.push((key.to_owned(), Json::Text(value)));
            }
        };
        if !announced {
            text("provider", Some(self.bridge.session.provider.clone()));
            text("sessionId", Some(self.bridge.session.session_id.clone()));
        }
        text("agentVersion", agent_version);
        text("cwd", cwd);
        text("branch", branch);
        if !usage.is_empty() {
            members.push(("usage".to_owned(), Json::Array(usage.into_iter().map(usage_json).collect())));
        }
        members
    }

    fn send(
        &mut self,
        id: &str,
        kind: Kind,
        state: Option<State>,
        activity: Option<String>,
        mut members: Vec<(String, Json)>,
    ) {
        if self.item.estimated {
            members.push(("timeEstimated".to_owned(), Json::Bool(true)));
        }
        let mut details = Json::Object(members);
        redact_json(&mut details);
        let root = self.bridge.session.session_id.clone();
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
            external: true,
            adopted_at: life.adopted_at.clone(),
        };
        let event = Event {
            event_id: Cow::Owned(format!("{:032x}", self.item.name.wrapping_add(u128::from(self.count)))),
            source: Cow::Owned(self.bridge.source.clone()),
            source_epoch: Cow::Owned(self.bridge.session.epoch.clone()),
            child_id: Cow::Owned(child_id(id, lineage.attempt)),
            lineage,
            kind,
            state,
            waiting_reason,
            observed_at: self.item.at.clone(),
            sequence: None,
            activity: activity.map(|text| Cow::Owned(fit(&redact_text(&text), ACTIVITY_UNITS).to_owned())),
            details: Some(details).filter(|details| *details != Json::Object(Vec::new())),
            capabilities: Capabilities { history: Capability::Known, ..Capabilities::default() },
        };
        self.count += 1;
        (self.emit)(event);
    }
}

impl Life {
    fn is_over(&self) -> bool {
        self.state.is_some_and(State::is_terminal)
    }

    /// Keeps facts for the next event. Whether so much waits that an event is due.
    fn add(&mut self, facts: &Facts) -> bool {
        let pending = &mut self.facts;
        let Facts { agent_version, cwd, branch, usage } = facts.clone();
        pending.agent_version = agent_version.or(pending.agent_version.take());
        pending.cwd = cwd.or(pending.cwd.take());
        pending.branch = branch.or(pending.branch.take());
        if let Some(usage) = usage {
            self.usage.retain(|known| known.message_id != usage.message_id);
            self.usage.push(usage);
        }
        self.usage.len() >= USAGES
    }
}

fn usage_json(usage: MessageUsage) -> Json {
    #[expect(clippy::cast_precision_loss, reason = "JSON numbers are doubles")]
    let number = |key: &str, value: u64| (key.to_owned(), Json::Number(value as f64));
    Json::Object(vec![
        ("messageId".to_owned(), Json::Text(usage.message_id)),
        number("input", usage.input),
        number("cached", usage.cached),
        number("output", usage.output),
    ])
}

/// The id of a child's life: attempts after the first have a suffix.
#[must_use]
pub fn child_id(id: &str, attempt: u64) -> String {
    if attempt > 1 { format!("{id}#{attempt}") } else { id.to_owned() }
}

fn terminal(outcome: Outcome) -> State {
    match outcome {
        Outcome::Success => State::Completed,
        Outcome::Error => State::Failed,
        Outcome::Cancelled => State::Cancelled,
    }
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
        // A reason is a word of the contract or a short cause; without it a wait could not be named.
        WaitStarted { .. }
        | SessionStopped { .. }
        | ToolFinished { .. }
        | WaitFinished { .. }
        | Exited { .. } => {}
    }
    event
}
