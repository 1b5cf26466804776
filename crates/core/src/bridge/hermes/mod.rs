//! Hermes' delegations to schema-v1 events, and to what a projector is asked beside them.
//!
//! Input: delegation events, inputs and intents, status snapshots. Output: events over legal edges, missing steps inserted and marked.
//! Invariant: the same message gives the same events with the same ids. Never: ends a child that is left out, applies what an
//! activity says of a state, or begins a record with an end.

mod emit;
mod names;
mod snapshots;

use hashbrown::HashMap;
use serde::Serialize;

use crate::contract::{Capabilities, Code, Event, Kind, Lineage, Moment, State, Timestamp};
use crate::providers::hermes::{Delegation, DelegationKind, Input, Intent, Message};

use super::{CHILDREN, Content};
pub use emit::refused;
use emit::{Part, Saying};
pub use snapshots::Snapshot;

/// Who speaks, and how much of it goes into events.
#[derive(Clone, Debug)]
pub struct Options {
    /// The source of the events.
    pub source: String,
    /// Their epoch.
    pub source_epoch: String,
    /// The child that stands for the host's own session, where there is one: the root and the parent of what it delegated.
    pub root_child_id: Option<String>,
    /// How much content goes into events.
    pub content: Content,
    /// What the host can do and tell. Of causes of ends only a completion speaks.
    pub capabilities: Capabilities,
}

/// What a message makes, to be given to a projector in this order.
#[derive(Debug, Default, Serialize)]
pub struct Made {
    /// For `reconcile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// For `apply`, each.
    pub events: Vec<Event<'static>>,
    /// For `request_reconciliation`, each.
    pub questions: Vec<Question>,
    /// What makes no event, and why.
    pub reported: Vec<Report>,
}

/// A question about a child that only an authority can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The source.
    pub source: String,
    /// The child's id in the projection.
    pub child_id: String,
    /// Why it is asked.
    pub reason: &'static str,
    /// When.
    pub now: Timestamp<'static>,
}

/// Something of Hermes that makes no event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Why.
    pub code: &'static str,
    /// The child, as Hermes names it.
    pub child_id: String,
    /// Its session.
    pub session_id: String,
    /// Why, as a sentence.
    pub message: String,
}

/// What was told of a child, in its newest life.
#[derive(Debug)]
struct Child {
    /// Its id, as Hermes gives it.
    native_id: String,
    session_id: String,
    lineage: Lineage<'static>,
    state: State,
    /// When its life was first seen.
    since: Moment,
    /// When its state was said last.
    at: Moment,
    /// The message that created it.
    announced_by: Option<u128>,
    /// What it does, as told last.
    doing: Option<String>,
    /// The refusal of its status that was told last, until one is understood.
    refused: Option<String>,
    /// Whether the last snapshot that was everything left it out.
    left_out: bool,
}

/// See the module.
#[derive(Debug)]
pub struct HermesLifecycle {
    options: Options,
    /// By the id of the first life.
    children: HashMap<String, Child>,
    /// When the newest complete snapshot was observed.
    newest: Option<Moment>,
}

impl HermesLifecycle {
    /// A lifecycle that was told nothing.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, children: HashMap::new(), newest: None }
    }

    /// The id in the projection of a child's newest life.
    #[must_use]
    pub fn child_id(&self, child_id: &str, session_id: &str) -> String {
        let base = names::base(child_id, session_id);
        let attempt = self.children.get(&base).map_or(1, |child| child.lineage.attempt);
        names::life(&base, attempt)
    }

    /// What a message makes. `now` is the time of an intent, which has none of its own.
    pub fn push(&mut self, message: &Message, now: Timestamp<'static>) -> Made {
        let mut made = Made::default();
        match message {
            Message::Delegation(event) => self.delegation(event, &mut made),
            Message::Input(input) => self.input(input, &mut made),
            Message::Intent(intent) => self.intent(intent, now, &mut made),
            Message::NotUnderstood { child_id, session_id, observed_at, refusal } => {
                let ids = (child_id.as_str(), session_id.as_str());
                self.not_understood(ids, refusal, observed_at, &mut made);
            }
        }
        made
    }

    /// Says how a child is where no message made it so, as a projector's record has it: an authority said it. Whether it is the newest
    /// life of a child that is known and has not ended.
    pub fn corrected(&mut self, source: &str, child_id: &str, state: State, since: Moment) -> bool {
        if source != self.options.source {
            return false;
        }
        let Some(child) = self.newest_life(child_id).filter(|child| !child.state.is_terminal()) else {
            return false;
        };
        child.state = state;
        child.at = child.at.max(since);
        true
    }

    /// The child whose newest life has this id in the projection.
    fn newest_life(&mut self, child_id: &str) -> Option<&mut Child> {
        let is_it = |base: &str, child: &Child| names::life(base, child.lineage.attempt) == child_id;
        let base = child_id.split('#').next().unwrap_or_default();
        if self.children.contains_key(base) {
            return self.children.get_mut(base).filter(|child| is_it(base, child));
        }
        // The number of a life had no room beside the first id, so that this one is a hash of it.
        let mut others = self.children.iter_mut();
        names::is_hashed(base)
            .then(|| others.find(|(base, child)| is_it(base, child)))?
            .map(|(_, child)| child)
    }

    fn delegation(&mut self, event: &Delegation, made: &mut Made) {
        let saying = Saying::of_delegation(event, self.options.content);
        let ids = (event.child_id.as_str(), event.session_id.as_str());
        let base = names::base(ids.0, ids.1);
        let at = event.observed_at.moment();
        let parent = event.parent_id.as_deref();
        let Some(child) = self.children.get(&base) else {
            match event.kind {
                DelegationKind::Created => self.begin(&base, ids, parent, &saying, (1, false), made),
                DelegationKind::StateChanged if event.unfinished || event.state.is_terminal() => {
                    made.report(
                        ids,
                        UNKNOWN_CHILD,
                        "it was first seen by its completion: what it was is not known",
                    );
                }
                DelegationKind::StateChanged => {
                    self.adopt(&base, ids, parent, (event.state, Part::Main), &saying, made);
                }
                DelegationKind::Activity => {
                    self.adopt(
                        &base,
                        ids,
                        parent,
                        (State::Created, Part::Step(State::Created)),
                        &saying,
                        made,
                    );
                    self.say(&base, (Kind::Activity, None), &saying, made);
                }
            }
            return;
        };
        let attempt = child.lineage.attempt;
        let is_over = child.state.is_terminal();
        if attempt > 1 && at < child.since {
            made.report(ids, LATE_EVENT, "it is of an earlier life of the child");
        } else if event.kind == DelegationKind::Activity {
            self.say(&base, (Kind::Activity, None), &saying, made);
        } else if event.kind == DelegationKind::StateChanged {
            self.advance(&base, ids, event.state, &saying, made);
        } else if is_over && at > child.at {
            self.begin(&base, ids, parent, &saying, (attempt + 1, false), made);
        } else if child.announced_by != Some(saying.name) {
            made.report(ids, Code::AlreadyCreated.as_str(), "it was asked for again, and is known already");
        }
    }

    fn input(&mut self, input: &Input, made: &mut Made) {
        let saying = Saying::of_input(input, self.options.content);
        let ids = (input.child_id.as_str(), input.session_id.as_str());
        let base = names::base(ids.0, ids.1);
        match self.children.get(&base) {
            None if input.state.is_terminal() => {
                made.report(
                    ids,
                    UNKNOWN_CHILD,
                    "it was first seen when it had ended: what it was is not known",
                );
            }
            None => self.adopt(&base, ids, None, (input.state, Part::Main), &saying, made),
            Some(child) if child.state.is_terminal() => {}
            Some(child) if child.state == input.state => {
                let kind = if saying.doing.is_some() { Kind::Activity } else { Kind::Heartbeat };
                self.say(&base, (kind, None), &saying, made);
            }
            Some(_) => self.advance(&base, ids, input.state, &saying, made),
        }
    }

    fn intent(&mut self, intent: &Intent, now: Timestamp<'static>, made: &mut Made) {
        let (Intent::CorrectProjection { child_id, session_id, .. }
        | Intent::MarkStaleUnknown { child_id, session_id, .. }) = intent;
        let ids = (child_id.as_str(), session_id.as_str());
        let base = names::base(child_id, session_id);
        let Some(child) = self.children.get(&base) else {
            made.report(ids, UNKNOWN_CHILD, "nothing was said of it before");
            return;
        };
        if child.state.is_terminal() {
            return;
        }
        match intent {
            Intent::CorrectProjection { to, .. } if *to == child.state => {}
            Intent::CorrectProjection { to, .. } => {
                self.advance(&base, ids, *to, &Saying::of_intent(intent, &now), made);
            }
            Intent::MarkStaleUnknown { reason, .. } => made.questions.push(Question {
                source: self.options.source.clone(),
                child_id: names::life(&base, child.lineage.attempt),
                reason,
                now,
            }),
        }
    }

    /// A child that is first seen after its spawn: somebody else knows its history.
    fn adopt(
        &mut self,
        base: &str,
        ids: (&str, &str),
        parent: Option<&str>,
        (state, part): (State, Part),
        saying: &Saying,
        made: &mut Made,
    ) {
        if !self.know(base, ids, parent, state, saying, (1, true), made) {
            return;
        }
        let kind = if state == State::Created { Kind::Created } else { Kind::StateChanged };
        self.emit(base, (kind, Some(state)), saying, part, made);
    }

    /// A child whose spawn is seen.
    fn begin(
        &mut self,
        base: &str,
        ids: (&str, &str),
        parent: Option<&str>,
        saying: &Saying,
        life: (u64, bool),
        made: &mut Made,
    ) {
        if !self.know(base, ids, parent, State::Created, saying, life, made) {
            return;
        }
        if let Some(child) = self.children.get_mut(base) {
            child.announced_by = Some(saying.name);
        }
        self.emit(base, (Kind::Created, Some(State::Created)), saying, Part::Main, made);
    }

    /// Remembers a child; `false` where there are too many.
    #[expect(clippy::too_many_arguments, reason = "all of them are what is known of the child")]
    fn know(
        &mut self,
        base: &str,
        ids: (&str, &str),
        parent: Option<&str>,
        state: State,
        saying: &Saying,
        (attempt, external): (u64, bool),
        made: &mut Made,
    ) -> bool {
        if self.children.len() >= CHILDREN && !self.children.contains_key(base) {
            self.children.retain(|_, child| !child.state.is_terminal());
        }
        if self.children.len() >= CHILDREN && !self.children.contains_key(base) {
            made.report(ids, "too_many_children", "as many children as are remembered have not ended");
            return false;
        }
        let at = saying.at.moment();
        let lineage = self.lineage(base, parent, attempt, external.then(|| saying.at.clone()));
        let child = Child {
            native_id: ids.0.to_owned(),
            session_id: ids.1.to_owned(),
            lineage,
            state,
            since: at,
            at,
            announced_by: None,
            doing: saying.doing.clone(),
            refused: None,
            left_out: false,
        };
        self.children.insert(base.to_owned(), child);
        true
    }

    /// Moves a child over legal edges, or reports why it stays.
    fn advance(&mut self, base: &str, ids: (&str, &str), to: State, saying: &Saying, made: &mut Made) {
        let Some(child) = self.children.get(base) else { return };
        let from = child.state;
        let kind = if to.is_terminal() { Kind::Terminal } else { Kind::StateChanged };
        let steps = if from == to { Some(&[][..]) } else { from.steps_to(to) };
        if to == State::Created || !from.is_terminal() && steps.is_none() {
            let message = format!("no legal edges lead from {} to {}", from.as_str(), to.as_str());
            made.report(ids, Code::IllegalTransition.as_str(), &message);
        } else if from.is_terminal() {
            // It stays as it ended; the projector keeps this as late evidence.
            self.emit(base, (kind, Some(to)), saying, Part::Main, made);
        } else if !to.is_terminal() && saying.at.moment() < child.at {
            made.report(ids, LATE_EVENT, "it was observed before the child's last state");
        } else {
            for step in steps.unwrap_or_default() {
                self.emit(base, (Kind::StateChanged, Some(*step)), saying, Part::Step(*step), made);
            }
            self.say(base, (kind, Some(to)), saying, made);
        }
    }

    /// The event of the message itself.
    fn say(&mut self, base: &str, what: (Kind, Option<State>), saying: &Saying, made: &mut Made) {
        if let Some(child) = self.children.get_mut(base) {
            if let Some(state) = what.1 {
                child.state = state;
                child.at = child.at.max(saying.at.moment());
                child.refused = None;
            }
            child.doing = saying.doing.clone().or(child.doing.take());
        }
        self.emit(base, what, saying, Part::Main, made);
    }

    /// A parent is one that is known by its id alone; of a session that is not said, the id could be another's.
    fn lineage(
        &self,
        base: &str,
        parent: Option<&str>,
        attempt: u64,
        adopted_at: Option<Timestamp<'static>>,
    ) -> Lineage<'static> {
        let own = names::life(base, 1);
        let root = self.options.root_child_id.clone();
        let (parent_child_id, root_child_id) = match parent {
            None => (root.clone(), root.unwrap_or(own)),
            Some(parent) => {
                let is_parent = |name: &str, child: &Child| child.native_id == parent && name != base;
                let mut named = self.children.iter().filter(|(name, child)| is_parent(name, child));
                match (named.next(), named.next()) {
                    (Some((name, child)), None) => {
                        let parent = names::life(name, child.lineage.attempt);
                        (Some(parent), child.lineage.root_child_id.clone().into_owned())
                    }
                    _ => (None, root.unwrap_or(own)),
                }
            }
        };
        Lineage {
            root_child_id: root_child_id.into(),
            parent_child_id: parent_child_id.map(Into::into),
            attempt,
            external: adopted_at.is_some(),
            adopted_at,
        }
    }
}

const UNKNOWN_CHILD: &str = "unknown_child";
const LATE_EVENT: &str = "late_event";

impl Made {
    fn report(&mut self, (child_id, session_id): (&str, &str), code: &'static str, message: &str) {
        let (child_id, session_id) = (child_id.to_owned(), session_id.to_owned());
        self.reported.push(Report { code, child_id, session_id, message: message.to_owned() });
    }
}
