//! What is read late: of an earlier life of its agent, or of the time before something that ends one.
//!
//! Input: an item's place in the order of time. Output: the life that it is of, and what follows from it for later ones.
//! Invariant: what is read in the order of time is of the present life. Never: begins a life between two others.

use super::life::{Life, Told, terminal};
use super::steps::Step;
use super::{Bridge, Item, Scope};
use crate::agent::AgentEvent;
use crate::contract::{Event, Kind};
use crate::providers::Said;

/// Earlier lives of one agent that are remembered; the oldest goes.
const PAST: usize = 8;

/// An agent that is in an earlier life for one item.
pub(super) struct Entered {
    id: String,
    /// Which of the earlier lives.
    at: usize,
    present: Life,
    /// What was known of it and told to later lives before the item.
    before: Inherited,
}

/// What a life has from the one before it.
struct Inherited {
    facts: crate::providers::Facts,
    title: Option<String>,
    model: Option<String>,
}

impl Inherited {
    fn of(life: &Life) -> Self {
        Self { facts: life.known.clone(), title: life.title.clone(), model: life.model.clone() }
    }
}

impl Life {
    /// Remembers the life before this one.
    pub(super) fn bury(&mut self, mut former: Life) {
        self.past = std::mem::take(&mut former.past);
        // What an earlier process said is not known in full.
        if former.attempt > 0 && !former.is_former {
            if self.past.len() == PAST {
                self.past.remove(0);
            }
            former.is_past = true;
            self.past.push(former);
        }
    }

    /// What ends it with its turns.
    pub(super) fn ending(&self) -> Option<&Told> {
        self.stopped.as_ref().or(self.returned.as_ref())
    }

    /// Takes over what has become known of an earlier life, as far as this one was told nothing of its own.
    fn inherit(&mut self, before: &Inherited, now: &Inherited, name: u128) {
        let mut is_news = false;
        macro_rules! take_over {
            ($own:expr, $before:expr, $now:expr) => {
                if $own == $before && $own != $now {
                    $own.clone_from(&$now);
                    is_news = true;
                }
            };
        }
        take_over!(self.known.agent_version, before.facts.agent_version, now.facts.agent_version);
        take_over!(self.known.cwd, before.facts.cwd, now.facts.cwd);
        take_over!(self.known.branch, before.facts.branch, now.facts.branch);
        take_over!(self.known.context, before.facts.context, now.facts.context);
        take_over!(self.title, before.title, now.title);
        take_over!(self.model, before.model, now.model);
        if is_news {
            self.inherited = Some(name);
        }
    }
}

impl Bridge {
    /// Puts an agent into the earlier life that an item is of.
    pub(super) fn enter(&mut self, id: &str, item: &Item<'_>) -> Option<Entered> {
        let place = item.place?;
        let life = self.lives.get_mut(id)?;
        if life.past.is_empty() || Some(place) >= life.began {
            return None;
        }
        let mut at = life.past.iter().rposition(|past| Some(place) >= past.began).unwrap_or(0);
        // The start of a life may be told twice, and the earlier one read later.
        let is_start = match item.said {
            Said::Event(AgentEvent::SubagentStarted { .. }) | Said::StartedAgain | Said::Resumed { .. } => {
                true
            }
            Said::Event(AgentEvent::TurnStarted { .. }) => item.scope == Scope::Root,
            _ => false,
        };
        if is_start && life.past[at].ended_at.is_some_and(|ended| item.at.moment() > ended) {
            at += 1;
            let Some(begun) = life.past.get_mut(at) else {
                life.began = Some(place);
                return None;
            };
            begun.began = Some(place);
        }
        let past = std::mem::take(&mut life.past[at]);
        let before = Inherited::of(&past);
        let present = std::mem::replace(life, past);
        Some(Entered { id: id.to_owned(), at, present, before })
    }

    /// Puts the agent back into its present life.
    pub(super) fn leave(&mut self, entered: Entered, name: u128) {
        let Entered { id, at, present, before } = entered;
        let Some(life) = self.lives.get_mut(&id) else { return };
        let past = std::mem::replace(life, present);
        let now = Inherited::of(&past);
        life.past[at] = past;
        for later in life.past.iter_mut().skip(at + 1) {
            later.inherit(&before, &now, name);
        }
        life.inherit(&before, &now, name);
        if life.inherited.is_some() {
            self.note_due(&id);
        }
    }

    /// Whether something was taken for a part of a life that had ended before, as only now was read. Only what is taken again in the
    /// order of time is right then.
    pub fn take_misread(&mut self) -> bool {
        std::mem::take(&mut self.is_misread)
    }

    pub(super) fn note_due(&mut self, id: &str) {
        if !self.due.iter().any(|due| due == id) {
            self.due.push(id.to_owned());
        }
    }

    /// Says what follows from what was read late, once all that was read is taken: an agent whose end was told before its last turn's
    /// has ended, and a later life is known by what an earlier one said.
    pub fn conclude(&mut self, emit: &mut impl FnMut(Event<'static>)) {
        for id in std::mem::take(&mut self.due) {
            let Some(life) = self.lives.get_mut(&id) else { continue };
            let ending = life.ending().filter(|_| life.turns.is_empty() && !life.is_over()).cloned();
            // Known from before it began, so that nothing of its own gives way.
            let before = life.past.last().and_then(|past| past.ended_at);
            let inherited = life.inherited.take().zip(before);
            let outcome = life.last_outcome;
            if let Some((name, at)) = inherited {
                life.facts = life.known.clone();
                life.announced = false;
                let item = of_itself(Told { at: at.into(), estimated: false, name });
                let mut step = Step { bridge: self, item: &item, emit, ids: Vec::new() };
                step.emit_facts(&id, Kind::Activity, None);
            }
            if let Some((told, outcome)) = ending.zip(outcome) {
                let item = of_itself(told);
                let mut step = Step { bridge: self, item: &item, emit, ids: Vec::new() };
                step.end(&id, terminal(outcome));
            }
        }
    }
}

/// An item that says nothing but that something is so.
fn of_itself(Told { at, estimated, name }: Told) -> Item<'static> {
    let said = &Said::Activity;
    Item { scope: Scope::Root, name, at, estimated, place: None, turn_id: None, said }
}
