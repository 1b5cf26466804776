//! What older versions record of questions to the user: approvals and requests for input.
//!
//! Input: requests, calls that go on or end, ends of turns. Output: `wait.started`, `wait.finished`. Invariant: only its own call or
//! its turn ends a wait. Never: holds more than [`OPEN`].

use super::record::filled;
use super::shapes::Payload;
use crate::agent::{AgentEvent, WaitState};
use crate::json::Scalar;
use crate::providers::ids::{fingerprint, fingerprint_all, id};
use crate::providers::say::Say;
use crate::providers::shape::Shape;

/// Open waits that are remembered; a further one is still told, and ends with its turn.
const OPEN: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    open: Vec<Open>,
    /// Requests so far.
    asked: u64,
}

#[derive(Debug)]
struct Open {
    wait_id: String,
    /// The call that waits, or the server that asks.
    of: Option<u64>,
    turn: Option<String>,
}

impl Approvals {
    /// A request for `reason`: `permission` or `question`.
    pub(super) fn ask(&mut self, request: &Payload<'_>, reason: &str, say: &mut Say<'_>) {
        self.asked += 1;
        let call = filled(&request.call_id);
        let of_server = || filled(&request.server_name).map(server);
        let own = filled(&request.approval_id).or(call).and_then(id);
        // The ids of a server count from 0 in each turn.
        let of_turn = || {
            let number = match &request.id {
                Scalar::Text(text) => text.to_string(),
                Scalar::Number(number) => number.to_string(),
                _ => return None,
            };
            id(&format!("{}/{number}", say.turn.as_deref().unwrap_or_default()))
        };
        let wait_id = own.or_else(of_turn).unwrap_or_else(|| format!("wait:{}", self.asked));
        if self.open.iter().any(|open| open.wait_id == wait_id) {
            return;
        }
        if self.open.len() < OPEN {
            let of = call.map(fingerprint).or_else(of_server);
            self.open.push(Open { wait_id: wait_id.clone(), of, turn: say.turn.clone() });
        }
        say.event(AgentEvent::WaitStarted {
            wait_id,
            state: WaitState::Waiting,
            agent_id: None,
            reason: Some(reason.to_owned()),
        });
    }

    /// The call of a record goes on or has ended, so nobody is asked about it any more.
    pub(super) fn settle(&mut self, record: &Payload<'_>, say: &mut Say<'_>) {
        if self.open.is_empty() {
            return;
        }
        let call = filled(&record.call_id).map(fingerprint);
        let server = match &record.invocation {
            Shape(Some(invocation)) => filled(&invocation.server).map(server),
            Shape(None) => None,
        };
        self.open.retain(|open| {
            let is_settled = open.of.is_some() && (open.of == call || open.of == server);
            if is_settled {
                let wait_id = open.wait_id.clone();
                say.event(AgentEvent::WaitFinished { wait_id, agent_id: None });
            }
            !is_settled
        });
    }

    /// A turn ended, and its waits with it; nothing more is said of them.
    pub(super) fn end_turn(&mut self, turn: &str) {
        self.open.retain(|open| open.turn.as_deref().is_some_and(|of| of != turn));
    }

    /// Another turn began; what one waited for that is not open is over.
    pub(super) fn keep(&mut self, is_open: impl Fn(&str) -> bool) {
        self.open.retain(|open| open.turn.as_deref().is_some_and(&is_open));
    }
}

fn server(name: &str) -> u64 {
    fingerprint_all(["server\0", name])
}
