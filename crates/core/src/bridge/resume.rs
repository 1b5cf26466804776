//! A session that an earlier process spoke of, gone on with by another.
//!
//! Input: what a projection knows of it. Output: the events that lead from there to the new epoch and the next life.
//! Invariant: the former life ends as its process's exit ends it, no other way. Never: goes on with a life of an earlier process.

use std::borrow::Cow;

use super::life::Life;
use super::{Bridge, Item, Scope, Session};
use crate::agent::{AgentEvent, Outcome};
use crate::contract::identity::SOURCE_NOTE;
use crate::contract::{Capabilities, Event, Kind, Lineage, State, Timestamp};
use crate::json::Json;
use crate::providers::Said;
use crate::redact::safe_name;

/// What is known of a session before this process.
#[derive(Clone, Debug)]
pub struct Former {
    /// The present epoch of its source.
    pub epoch: String,
    /// Its newest life, where one is known.
    pub life: Option<FormerLife>,
}

/// The newest life of a session before this process.
#[derive(Clone, Debug)]
pub struct FormerLife {
    /// Which life it is.
    pub attempt: u64,
    /// Its state.
    pub state: State,
    /// Its open turns, the one opened last at the end.
    pub open_turns: Vec<String>,
    /// How its last turn ended.
    pub outcome: Option<Outcome>,
}

impl Bridge {
    /// Leads from what is known to where this process begins; `name` names these events among all of the session. Whoever resumes a
    /// session says with it that the former process is gone: a life that has not ended gets its exit, without a code.
    pub fn resume(
        &mut self,
        former: Former,
        name: u128,
        at: &Timestamp<'static>,
        emit: &mut impl FnMut(Event<'static>),
    ) {
        emit(advance(&self.session, &former.epoch, name, at));
        let Some(FormerLife { attempt, state, open_turns: turns, outcome }) = former.life else { return };
        let id = self.root.clone();
        let life = Life { attempt, state: Some(state), turns, last_outcome: outcome, ..Life::default() };
        self.lives.insert(id.clone(), life);
        if !state.is_terminal() {
            let said = Said::Event(AgentEvent::Exited { agent_id: None, exit_code: None, signal: None });
            let at = at.clone();
            let item = Item {
                scope: Scope::Root,
                name,
                at,
                estimated: false,
                place: None,
                turn_id: None,
                said: &said,
            };
            self.take(&item, true, emit);
        }
        if let Some(life) = self.lives.get_mut(&id) {
            life.is_former = true;
        }
    }
}

/// The source enters the epoch of the session.
fn advance(session: &Session, from: &str, name: u128, at: &Timestamp<'static>) -> Event<'static> {
    let from = Json::Object(vec![("from".to_owned(), Json::Text(safe_name(from).into_owned()))]);
    Event {
        event_id: Cow::Owned(format!("{name:032x}")),
        source: Cow::Owned(session.source.clone()),
        source_epoch: Cow::Owned(session.epoch.clone()),
        child_id: Cow::Borrowed(SOURCE_NOTE),
        lineage: Lineage {
            root_child_id: Cow::Borrowed(SOURCE_NOTE),
            parent_child_id: None,
            attempt: 0,
            external: false,
            adopted_at: None,
        },
        kind: Kind::Reconciliation,
        state: None,
        waiting_reason: None,
        observed_at: at.clone(),
        sequence: None,
        activity: None,
        details: Some(Json::Object(vec![("epochAdvance".to_owned(), from)])),
        capabilities: Capabilities::default(),
    }
}
