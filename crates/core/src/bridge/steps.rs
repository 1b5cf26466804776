//! The steps that one item makes, over legal edges.
//!
//! Input: an item and the lives so far. Output: calls of [`Step::emit`], with the missing steps before them.
//! Invariant: a turn's end never ends an agent. Never: leaves a terminal state.

use super::life::{Life, OpenWait, Told, WAITS, terminal};
use super::{Bridge, Content, Item, item_name};
use crate::agent::{AgentEvent, Outcome};
use crate::contract::{Event, Kind, State, WaitingReason};
use crate::project::facts::waiting_reason;
use crate::providers::Said;

/// One item being taken.
pub(super) struct Step<'a, F> {
    pub(super) bridge: &'a mut Bridge,
    pub(super) item: &'a Item<'a>,
    pub(super) emit: &'a mut F,
    /// The ids of the events that were made of the item so far.
    pub(super) ids: Vec<u128>,
}

impl<F: FnMut(Event<'static>)> Step<'_, F> {
    pub(super) fn life(&mut self, id: &str) -> &mut Life {
        self.bridge.lives.entry_ref(id).or_default()
    }

    fn is_root(&self, id: &str) -> bool {
        id == self.bridge.root
    }

    /// A sub-agent that was launched; launched again after its end it is a new attempt.
    pub(super) fn launch(&mut self, id: &str, parent: &str) {
        let state = self.life(id).state;
        match state {
            Some(state) if !state.is_terminal() => {
                self.life(id).asked_again = self.item.place;
                self.emit(id, Kind::Activity, None, None);
            }
            // Told late, as by a journal that is read after the sub-agent's own: of the life that has ended since.
            Some(_) if !self.is_after_end(id) => self.emit(id, Kind::Activity, None, None),
            _ => {
                let is_known = self.bridge.knows(parent);
                let is_cycle = self.descends_from(parent, id);
                let root = self.bridge.root.clone();
                if is_known || is_cycle || *parent == *root {
                    self.bridge.guessed.remove(id);
                } else {
                    self.bridge.guessed.insert(id.to_owned(), Some(parent.to_owned()));
                }
                let parent = if is_known && !is_cycle { parent.to_owned() } else { root };
                self.begin(id, Some(parent));
                self.emit(id, Kind::Created, Some(State::Created), None);
            }
        }
    }

    /// Whether the agent's life has ended, and that before this item.
    fn is_after_end(&mut self, id: &str) -> bool {
        let at = self.item.at.moment();
        let life = self.life(id);
        !life.is_past && life.is_over() && life.ended_at.is_some_and(|ended| at > ended)
    }

    /// A new life. Who it is and where it works stays.
    fn begin(&mut self, id: &str, parent: Option<String>) {
        let began = self.item.place;
        let life = self.life(id);
        let next = Life {
            attempt: life.attempt + 1,
            parent,
            state: Some(State::Created),
            facts: life.known.clone(),
            known: life.known.clone(),
            title: life.title.clone(),
            model: life.model.clone(),
            usage: std::mem::take(&mut life.usage),
            began,
            ..Life::default()
        };
        let former = std::mem::replace(life, next);
        life.bury(former);
    }

    /// Keeps what an event says of who an agent is, for its further lives.
    pub(super) fn remember(&mut self, id: &str, event: &AgentEvent) {
        let content = self.bridge.session.content;
        let life = self.life(id);
        if let AgentEvent::SessionStarted { title, model, .. }
        | AgentEvent::Metadata { title, model, .. }
        | AgentEvent::SubagentStarted { title, model, .. } = event
        {
            if content != Content::None && title.is_some() {
                life.title.clone_from(title);
            }
            if let Some(model) = model {
                life.model = Some(model.id.clone());
            }
        }
    }

    /// An agent that was asked to go on. Where it has ended before that, this is a new life.
    pub(super) fn start_again(&mut self, id: &str) {
        if self.is_after_end(id) {
            let parent = self.life(id).parent.clone();
            self.begin(id, parent);
            self.emit_facts(id, Kind::Created, Some(State::Created));
        } else {
            let (at, place) = (self.item.at.moment(), self.item.place);
            let life = self.life(id);
            life.returned.take_if(|returned| returned.at.moment() <= at);
            if !life.is_over() {
                life.asked_again = place;
            }
            self.confirm_own(id);
            self.emit(id, Kind::Activity, None, None);
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
    pub(super) fn require(&mut self, id: &str, parent: &str) {
        if self.life(id).attempt == 0 {
            self.launch_inferred(id, parent);
        }
    }

    /// The same, where nothing but its own journal speaks of it: whose it is then is a guess.
    fn require_own(&mut self, id: &str) {
        if !self.bridge.knows(id) {
            let root = self.bridge.root.clone();
            self.launch_inferred(id, &root);
            self.bridge.guessed.insert(id.to_owned(), None);
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
    pub(super) fn confirm_own(&mut self, id: &str) {
        if !self.is_root(id) {
            self.require_own(id);
            self.confirm(id);
        } else if self.life(id).is_to_begin()
            && !matches!(self.item.said, Said::Event(AgentEvent::SessionStarted { .. }))
        {
            self.begin_root(true);
        }
    }

    /// created -> starting -> running, as far as that is not done.
    pub(super) fn confirm(&mut self, id: &str) {
        let place = self.item.place;
        let life = self.life(id);
        let state = life.state;
        if state == Some(State::Created) {
            self.step(id, Kind::StateChanged, State::Starting);
        }
        // What is read late may show that it ran before what has shown it first.
        let is_earlier = state == Some(State::Running) && place.is_some() && place < self.life(id).confirmed;
        if is_earlier || matches!(state, Some(State::Created | State::Starting)) {
            self.step(id, Kind::StateChanged, State::Running);
            self.life(id).confirmed = place;
        }
    }

    fn begin_root(&mut self, inferred: bool) {
        let root = self.bridge.root.clone();
        self.begin(&root, None);
        if inferred {
            self.step(&root, Kind::Created, State::Created);
            self.step(&root, Kind::StateChanged, State::Starting);
        } else {
            self.emit(&root, Kind::Created, Some(State::Created), None);
            self.life(&root).state = Some(State::Starting);
            self.emit_bare(&root, Kind::StateChanged, State::Starting, false);
        }
    }

    pub(super) fn own_event(&mut self, id: &str, event: &AgentEvent) {
        let is_root = self.is_root(id);
        match event {
            AgentEvent::SessionStarted { .. } if is_root && self.life(id).is_to_begin() => {
                self.begin_root(false);
            }
            AgentEvent::TurnStarted { turn_id, .. } => {
                if is_root && self.is_after_end(id) {
                    self.begin(id, None);
                    self.emit_facts(id, Kind::Created, Some(State::Created));
                    self.step(id, Kind::StateChanged, State::Starting);
                }
                let at = self.item.at.moment();
                let life = self.life(id);
                life.open_turn(turn_id, at);
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
                let turn = turn.or_else(|| self.life(id).turns.last().cloned());
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
            AgentEvent::ToolFinished { tool_id, .. } => {
                self.end_permission_waits(id, tool_id);
                self.emit(id, Kind::Activity, None, None);
            }
            AgentEvent::ToolStarted { tool_id, name, description, .. } => {
                self.life(id).tool(tool_id, name);
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

    /// A permission was given or refused where the call that needed it has a result: nothing else tells.
    fn end_permission_waits(&mut self, id: &str, tool_id: &str) {
        for wait_id in self.life(id).permission_waits(tool_id) {
            let said = Said::Event(AgentEvent::WaitFinished { wait_id, agent_id: None });
            let Said::Event(event) = &said else { return };
            let item = Item { said: &said, at: self.item.at.clone(), ..*self.item };
            let ids = std::mem::take(&mut self.ids);
            let mut step = Step { bridge: self.bridge, item: &item, emit: self.emit, ids };
            step.own_event(id, event);
            self.ids = step.ids;
        }
    }

    /// A turn's end never ends its agent: with the last open one the root waits for the next prompt.
    fn end_turn(&mut self, id: &str, outcome: Outcome) {
        let ended = self.item.turn_id.map(str::to_owned);
        let at = self.item.at.moment();
        let life = self.life(id);
        let ended = ended.or_else(|| life.turns.last().cloned());
        life.waits.retain(|wait| wait.turn.is_some() && wait.turn != ended);
        if ended.is_none_or(|ended| life.end_turn(&ended)) {
            life.last_outcome = Some(outcome);
        }
        let waits = life.turns.is_empty() && !life.is_over();
        let is_returned = life.returned.is_some();
        // Read late: further turns from before that may follow.
        let is_late = waits && life.ending().is_some_and(|told| at < told.at.moment());
        if is_late {
            self.bridge.note_due(id);
        }
        if waits && self.is_root(id) {
            self.change(id, State::Waiting, Some(WaitingReason::Prompt));
        } else if waits && is_returned && !is_late {
            self.end(id, terminal(outcome));
        } else {
            self.settle(id);
        }
    }

    fn told(&self) -> Told {
        Told { at: self.item.at.clone(), estimated: self.item.estimated, name: self.item.name }
    }

    /// The call that launched a sub-agent has returned: it ends as its last turn, at once or when that has ended.
    pub(super) fn returned(&mut self, id: &str) {
        let told = self.told();
        let life = self.life(id);
        if life.is_over() {
            return;
        }
        life.returned = Some(told);
        if life.turns.is_empty()
            && let Some(outcome) = life.last_outcome
        {
            self.end(id, terminal(outcome));
        }
    }

    /// The state that the open waits of a live child give, once it runs.
    fn settle(&mut self, id: &str) {
        let life = self.life(id);
        let first = life.waits.first().map(|wait| wait.reason);
        match (life.state, first) {
            (Some(State::Created | State::Starting | State::Running | State::Waiting), Some(reason)) => {
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
        let Told { at, estimated, name } = self.told();
        // The end, where it follows, is another event than this one.
        let told = Told { at, estimated, name: item_name(&[b"stopped", &name.to_le_bytes()]) };
        let life = self.life(id);
        let state = match (life.turns.is_empty(), life.last_outcome) {
            (false, _) if failed => State::Failed,
            (false, _) => {
                life.stopped = Some(told);
                return self.emit(id, Kind::Reconciliation, None, None);
            }
            (true, Some(outcome)) => terminal(outcome),
            (true, None) => State::Cancelled,
        };
        self.end(id, state);
    }

    pub(super) fn end(&mut self, id: &str, state: State) {
        for &missing in self.life(id).state.and_then(|from| from.steps_to(state)).unwrap_or_default() {
            self.step(id, Kind::StateChanged, missing);
        }
        let (at, place) = (self.item.at.moment(), self.item.place);
        let life = self.life(id);
        // The end of a life before the one that what was read first is of.
        let is_misread = !life.is_over() && place.is_some() && place < life.asked_again;
        life.waits.clear();
        life.turns.clear();
        if !life.is_over() {
            life.state = Some(state);
            life.ended_at = Some(at);
        }
        self.bridge.is_misread |= is_misread;
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
        life.confirmed = None;
        self.emit(id, Kind::StateChanged, Some(state), None);
    }
}
