//! The bridge for agent events that no provider's record carries: one's own agent, or a host's own mapping.
//!
//! Input: agent events, each with its time and, where it comes from a record, the record's name. Output: schema-v1 events.
//! Invariant: an event of the same record gives the same event ids, whenever it is said. Never: reads a clock.

use super::{Bridge, Former, Item, Scope, Session, item_name, names};
use crate::agent::AgentEvent;
use crate::contract::{Event, Moment, State, Timestamp, WaitingReason};
use crate::providers::{Facts, Said};

/// Where an agent event comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The record with this id, and the place of the event among those of the record.
    Record(String, u32),
    /// The line at this offset of this journal, and the place of the event among those of the line.
    Line(String, u64, u32),
    /// Nowhere: it is said once.
    Said,
}

/// See the module.
#[derive(Debug)]
pub struct DirectBridge {
    bridge: Bridge,
    epoch: String,
    session_id: String,
    /// What no event has carried yet.
    facts: Option<Facts>,
    /// Events that came from nowhere.
    said: u64,
    /// What the first event goes on from.
    former: Option<Former>,
}

impl DirectBridge {
    /// A bridge for one session, which goes on from what is known of it. The first event of its own agent carries `facts`.
    #[must_use]
    pub fn new(session: Session, facts: Facts, former: Option<Former>) -> Self {
        let (epoch, session_id) = (session.epoch.clone(), session.session_id.clone());
        Self { bridge: Bridge::new(session), epoch, session_id, facts: Some(facts), said: 0, former }
    }

    /// The events that `event` makes, in order. `turn_id` is the turn that it belongs to, where that is known.
    pub fn take(
        &mut self,
        event: AgentEvent,
        at: Timestamp<'static>,
        turn_id: Option<&str>,
        origin: &Origin,
    ) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        if let Some(former) = self.former.take() {
            let name = self.name(&Origin::Said);
            self.bridge.resume(former, name, &at, &mut |event| events.push(event));
        }
        let name = self.name(origin);
        if let Some(facts) = self.facts.take() {
            let said = Said::Facts(facts);
            let (scope, at) = (Scope::Root, at.clone());
            let item = Item { scope, name, at, estimated: false, place: None, turn_id: None, said: &said };
            self.bridge.take(&item, false, &mut |event| events.push(event));
        }
        // The session's own agent may be named by the session's id.
        let scope = event.agent_id().filter(|id| *id != self.session_id).map(str::to_owned);
        let item = Item {
            scope: scope.as_deref().map_or(Scope::Root, Scope::Child),
            name,
            at,
            estimated: false,
            place: None,
            turn_id,
            said: &Said::Event(event),
        };
        self.bridge.take(&item, true, &mut |event| events.push(event));
        self.bridge.conclude(&mut |event| events.push(event));
        events
    }

    /// An authority said how a child is: the next events go on from there, after an end in a new life. `since` is since when it is so.
    /// Whether that is of the present life of a child of this session, and that life has not ended here.
    pub fn corrected(
        &mut self,
        source: &str,
        child_id: &str,
        (state, reason): (State, Option<WaitingReason>),
        since: Moment,
    ) -> bool {
        if source != self.bridge.session.source {
            return false;
        }
        let base = child_id.rsplit_once('#').map(|(base, _)| base);
        let lives = &mut self.bridge.lives;
        let is_present = |id: &&str| {
            let life = lives.get(*id).filter(|life| life.attempt > 0 && !life.is_over());
            life.is_some_and(|life| names::life(id, life.attempt) == child_id)
        };
        let Some(id) = [Some(child_id), base].into_iter().flatten().find(is_present) else { return false };
        let Some(life) = lives.get_mut(id) else { return false };
        life.state = Some(state);
        life.reason = reason;
        life.ended_at = state.is_terminal().then_some(since);
        true
    }

    /// Names the event among all of its session.
    fn name(&mut self, origin: &Origin) -> u128 {
        let session = self.session_id.as_bytes();
        match origin {
            Origin::Record(id, index) => item_name(&[session, id.as_bytes(), &index.to_le_bytes()]),
            Origin::Line(journal, offset, index) => {
                item_name(&[session, journal.as_bytes(), &offset.to_le_bytes(), &index.to_le_bytes()])
            }
            Origin::Said => {
                let said = self.said;
                self.said += 1;
                item_name(&[session, self.epoch.as_bytes(), &said.to_le_bytes()])
            }
        }
    }
}
