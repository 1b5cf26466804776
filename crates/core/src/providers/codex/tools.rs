//! Tool calls, their ends, and the outcomes that only some versions record.
//!
//! Input: calls, outputs, ends. Output: `tool.started`, `tool.finished`. Invariant: a call starts once and finishes once, in whatever
//! order its records come. Never: takes an output for a success.

use super::record::filled;
use super::shapes::Payload;
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Outcome};
use crate::json::Scalar;
use crate::providers::bounded::{Bounded, Recent};
use crate::providers::ids::{fingerprint, id};
use crate::providers::say::{Say, cut};
use crate::providers::shape::Shape;

/// Open calls that are remembered.
const OPEN: usize = 1024;
/// Ends before their call that are remembered.
const EARLY: usize = 1024;
/// Calls whose id is known to have been used, at least.
const SEEN: usize = 8192;

/// See the module.
#[derive(Debug)]
pub(super) struct Tools {
    open: Bounded<String>,
    early: Bounded<Option<Outcome>>,
    seen: Recent,
}

impl Tools {
    pub(super) fn new() -> Self {
        Self { open: Bounded::new(OPEN), early: Bounded::new(EARLY), seen: Recent::new(SEEN) }
    }

    /// A call. One that an earlier record has ended already is finished at once.
    pub(super) fn start(&mut self, call: &Payload<'_>, say: &mut Say<'_>) {
        let Some(tool_id) = filled(&call.call_id).or_else(|| filled(&call.id)).and_then(id) else { return };
        let key = fingerprint(&tool_id);
        if !self.seen.remember(key) {
            return;
        }
        let name = filled(&call.name).and_then(|name| cut(name, limits::TOOL_NAME));
        say.event(AgentEvent::ToolStarted {
            tool_id: tool_id.clone(),
            // A call of the shell has no other name than its type.
            name: name.or_else(|| cut(call.kind.text()?, limits::TOOL_NAME)).unwrap_or_default(),
            agent_id: None,
            // Arguments may hold anything, so none are shown.
            description: None,
        });
        match self.early.remove(key) {
            Some(outcome) => say.event(AgentEvent::ToolFinished { tool_id, agent_id: None, outcome }),
            None => {
                self.open.insert(key, tool_id);
            }
        }
    }

    /// A record that ends a call, with the outcome that it tells.
    pub(super) fn finish(&mut self, end: &Payload<'_>, outcome: Option<Outcome>, say: &mut Say<'_>) {
        let Some(key) = filled(&end.call_id).and_then(id).map(|id| fingerprint(&id)) else { return };
        if let Some(tool_id) = self.open.remove(key) {
            say.event(AgentEvent::ToolFinished { tool_id, agent_id: None, outcome });
        } else if !self.seen.contains(key) {
            let known = self.early.remove(key).flatten();
            self.early.insert(key, known.or(outcome));
        }
    }
}

/// How a command, a patch or another program's tool ended, as far as the record says.
pub(super) fn outcome(end: &Payload<'_>) -> Option<Outcome> {
    if end.status.text() == Some("declined") {
        return Some(Outcome::Cancelled);
    }
    let went_well = |well: bool| if well { Outcome::Success } else { Outcome::Error };
    if let Scalar::Number(code) = end.exit_code {
        return Some(went_well(code == 0.0));
    }
    if let Scalar::Bool(success) = end.success {
        return Some(went_well(success));
    }
    if let Shape(Some(result)) = &end.result {
        return match (&result.err, &result.ok) {
            (Scalar::Absent | Scalar::Null, Shape(Some(returned))) => {
                Some(went_well(!returned.is_error.is_true()))
            }
            (Scalar::Absent | Scalar::Null, Shape(None)) => None,
            _ => Some(Outcome::Error),
        };
    }
    match end.status.text() {
        Some("completed") => Some(Outcome::Success),
        Some("failed") => Some(Outcome::Error),
        _ => None,
    }
}
