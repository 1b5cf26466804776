//! Agent events to schema-v1 events: the one way into the projection for everything a provider says.
//!
//! Input: what one session's journals said, in merged order. Output: events over legal edges, missing steps inserted and marked.
//! Invariant: the same input gives the same events with the same ids. Never: ends a child over a turn's end or over silence.

pub mod direct;
mod emit;
pub mod hermes;
mod life;
mod names;
mod past;
mod resume;
mod steps;

use std::hash::Hasher as _;

use hashbrown::HashMap;
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::agent::AgentEvent;
use crate::contract::{Capabilities, Event, Kind, Moment, State, Timestamp};
use crate::providers::Said;

use life::{Life, terminal};

pub use life::{OPEN_TURNS, PERMISSION};
pub use resume::{Former, FormerLife};
use steps::Step;

/// Children of one session; what is said of further ones is counted, not projected.
pub const CHILDREN: usize = 16_384;

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
    /// The source of its events.
    pub source: String,
    /// The provider's name.
    pub provider: String,
    /// The provider's id of the session; the root child's id.
    pub session_id: String,
    /// The epoch of the events.
    pub epoch: String,
    /// How much content goes into events.
    pub content: Content,
    /// Whether somebody else started it: then it was adopted when it was first seen.
    pub external: bool,
    /// What its source can tell.
    pub capabilities: Capabilities,
}

/// Names an item by what tells it from all others of its session: the hash of the parts, each with its length.
#[must_use]
pub fn item_name(parts: &[&[u8]]) -> u128 {
    let mut hasher = SipHasher13::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish128().as_u128()
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
    /// Its place in the order of time among all that its session's journals say; `None` where nothing is read late.
    pub place: Option<Moment>,
    /// The turn it belongs to.
    pub turn_id: Option<&'a str>,
    /// What it says.
    pub said: &'a Said,
}

/// A sub-agent that is no longer known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// Its id.
    pub id: String,
    /// The ids of its lives.
    pub lives: Vec<String>,
}

/// See the module.
#[derive(Debug)]
pub struct Bridge {
    session: Session,
    /// The id of the session's own agent.
    root: String,
    lives: HashMap<String, Life>,
    /// Agents that stand below the root for want of the launch that tells their parent, and whom they name as it themselves.
    guessed: HashMap<String, Option<String>>,
    /// Items about children beyond [`CHILDREN`].
    beyond: u64,
    /// Agents of which what was read late says more once all that was read is taken.
    due: Vec<String>,
    /// Whether what is of two lives was taken for one.
    is_misread: bool,
}

impl Bridge {
    /// A bridge for one session.
    #[must_use]
    pub fn new(session: Session) -> Self {
        let root = names::root(&session.session_id);
        Self {
            session,
            root,
            lives: HashMap::new(),
            guessed: HashMap::new(),
            beyond: 0,
            due: Vec::new(),
            is_misread: false,
        }
    }

    /// The source of the events.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.session.source
    }

    /// Items that were dropped because their session has too many children.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    /// The id of the session's own agent in the projection: the native one, but where that could be taken for another, or is too
    /// long.
    #[must_use]
    pub fn root_name(&self) -> &str {
        &self.root
    }

    /// The id of a sub-agent in the projection: the native one, but where that could be taken for another, or is too long.
    #[must_use]
    pub fn child_name(&self, id: &str) -> String {
        names::child(id, &self.session.session_id, &self.root)
    }

    /// Whether the parent that an agent is shown with is no more than a guess.
    #[must_use]
    pub fn is_guessed(&self, name: &str) -> bool {
        self.guessed.contains_key(name)
    }

    /// The agents whose parent is guessed, by their ids in the projection.
    pub fn guessed(&self) -> impl Iterator<Item = &str> {
        self.guessed.keys().map(String::as_str)
    }

    /// The agents with a guessed parent that name this one as theirs.
    pub fn guessed_below<'a>(&'a self, parent: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.guessed.iter().filter(move |(_, named)| named.as_deref() == Some(parent));
        names.map(|(name, _)| name.as_str())
    }

    /// Whether anything was said of an agent, by its id in the projection.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.lives.get(name).is_some_and(|life| life.attempt > 0)
    }

    /// The id of an agent that is named as a parent.
    fn parent_name(&self, id: &str) -> String {
        if id == self.session.session_id { self.root.clone() } else { self.child_name(id) }
    }

    /// Counts items that are dropped before they come here, for the same reason.
    pub fn pass_over(&mut self, items: usize) {
        self.beyond += items as u64;
    }

    /// Forgets a sub-agent and those below it, and names what it was told of them.
    pub fn forget(&mut self, id: &str) -> Vec<Forgotten> {
        let mut names = vec![self.child_name(id)];
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            let below = self.lives.iter().filter(|(_, life)| life.parent.as_ref() == Some(&name));
            let below: Vec<String> =
                below.map(|(id, _)| id.clone()).filter(|id| !names.contains(id)).collect();
            names.extend(below);
            at += 1;
        }
        names.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Forgets all agents of the session, and names what it was told of them.
    pub fn forget_all(&mut self) -> Vec<Forgotten> {
        let mut names: Vec<String> = self.lives.keys().cloned().collect();
        names.sort();
        names.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    fn remove(&mut self, id: String) -> Option<Forgotten> {
        self.guessed.remove(&id);
        let attempts = self.lives.remove(&id)?.attempt;
        Some(Forgotten { lives: (1..=attempts).map(|attempt| names::life(&id, attempt)).collect(), id })
    }

    /// The id of the newest life of a child, in whose row what stands beside its journal belongs.
    #[must_use]
    pub fn newest_life(&self, id: &str) -> String {
        names::life(id, self.lives.get(id).map_or(1, |life| life.attempt))
    }

    /// Takes one item and hands the events it makes to `emit`, in order. With `ends_record` no further item of its record follows, so
    /// that facts which nothing has carried get an event of their own.
    pub fn take(&mut self, item: &Item<'_>, ends_record: bool, emit: &mut impl FnMut(Event<'static>)) {
        let own = match item.scope {
            Scope::Root => self.root.clone(),
            Scope::Child(id) => self.child_name(id),
        };
        let about = match item.said {
            Said::Event(
                AgentEvent::SubagentStarted { subagent_id: id, .. }
                | AgentEvent::SubagentDone { subagent_id: id, .. },
            )
            | Said::Confirmed { launch: id }
            | Said::Returned { launch: id }
            | Said::Resumed { agent_id: id } => self.child_name(id),
            _ => own.clone(),
        };
        if self.lives.len() >= CHILDREN && !self.lives.contains_key(&about) {
            self.beyond += 1;
            return;
        }
        let entered = [self.enter(&own, item), if about == own { None } else { self.enter(&about, item) }];
        self.take_of(&own, &about, (item, ends_record), emit);
        for entered in entered.into_iter().flatten() {
            self.leave(entered, item.name);
        }
    }

    /// Takes an item of the agent `own` that is about `about`, of the lives that it is of.
    fn take_of(
        &mut self,
        own: &str,
        about: &str,
        (item, ends_record): (&Item<'_>, bool),
        emit: &mut impl FnMut(Event<'static>),
    ) {
        let mut step = Step { bridge: self, item, emit, ids: Vec::new() };
        match item.said {
            // A journal that opens with its own launch shows that its agent exists, not that it runs.
            Said::Event(AgentEvent::SubagentStarted { parent_agent_id, .. }) => {
                let parent = parent_agent_id.as_ref().map(|parent| step.bridge.parent_name(parent));
                let parent = parent.as_deref().unwrap_or(own);
                if about == own {
                    step.launch(own, parent);
                } else {
                    step.confirm_own(own);
                    step.launch(about, parent);
                    step.emit_evidence(own);
                }
            }
            Said::Event(AgentEvent::SubagentDone { outcome, .. }) => {
                step.confirm_own(own);
                step.require(about, own);
                let life = step.life(about);
                let is_told = life.state == Some(terminal(*outcome));
                // A turn that has ended ends its agent only where no other is open.
                let has_ended = |turn: &str| life.turns.iter().all(|open| open != turn);
                let goes_on = about == own && !life.turns.is_empty() && item.turn_id.is_some_and(has_ended);
                // The end of a sub-agent may stand in its own journal and in its parent's; the first counts.
                if !is_told && !goes_on {
                    step.end(about, terminal(*outcome));
                }
                if about != own {
                    step.emit_evidence(own);
                }
            }
            Said::Confirmed { .. } => {
                step.confirm_own(own);
                step.require(about, own);
                step.confirm(about);
                step.emit_evidence(own);
            }
            Said::Returned { .. } => {
                step.confirm_own(own);
                step.require(about, own);
                step.confirm(about);
                step.returned(about);
                step.emit_evidence(own);
            }
            Said::Event(event) => {
                step.confirm_own(own);
                step.own_event(own, event);
            }
            Said::StartedAgain => step.start_again(own),
            Said::Resumed { .. } => {
                step.confirm_own(own);
                step.require(about, own);
                step.start_again(about);
                step.confirm(about);
                step.emit_evidence(own);
            }
            Said::Activity => {
                step.confirm_own(own);
                step.emit(own, Kind::Activity, None, None);
            }
            Said::Facts(facts) => {
                if step.life(own).add(facts) || ends_record {
                    step.confirm_own(own);
                    step.emit(own, Kind::Activity, None, None);
                }
            }
            Said::Superseded { turn_id } => step.life(own).supersede(turn_id),
            Said::Binding { .. } | Said::Reported { .. } => {}
        }
        if let Said::Event(event) = item.said {
            step.remember(about, event);
        }
    }

    /// The id of the session's present life, once it has one.
    #[must_use]
    pub fn root_life(&self) -> Option<String> {
        let id = &self.root;
        let attempt = self.lives.get(id).filter(|life| life.attempt > 0)?.attempt;
        Some(names::life(id, attempt))
    }

    /// Where an item may begin a new life: the agent, and the id of its present life.
    #[must_use]
    pub fn may_renew(&self, item: &Item<'_>) -> Option<(String, String)> {
        let id = match (item.said, item.scope) {
            (
                Said::Event(AgentEvent::SubagentStarted { subagent_id: id, .. })
                | Said::Resumed { agent_id: id },
                _,
            ) => self.child_name(id),
            (Said::Event(AgentEvent::TurnStarted { .. }), Scope::Root) => self.root.clone(),
            (Said::StartedAgain, Scope::Child(id)) => self.child_name(id),
            _ => return None,
        };
        let attempt = self.lives.get(&id)?.attempt;
        let life = names::life(&id, attempt);
        Some((id, life))
    }

    /// The life of an agent has ended, as an authority says.
    pub fn end(&mut self, id: &str, state: State, at: Moment) {
        if let Some(life) = self.lives.get_mut(id).filter(|life| !life.is_over()) {
            life.state = Some(state);
            life.ended_at = Some(at);
        }
    }
}
