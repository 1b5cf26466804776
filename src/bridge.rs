//! `bridgeAgentEvents`: agent events to schema-v1 events.

use agent_lifecycle_core::agent::{AgentEvent, Outcome};
use agent_lifecycle_core::bridge::direct::{DirectBridge, Origin};
use agent_lifecycle_core::bridge::{Former, FormerLife, Session};
use agent_lifecycle_core::contract::identity::identity;
use agent_lifecycle_core::contract::{Capabilities, Capability, State, Timestamp, WaitingReason};
use agent_lifecycle_core::providers::Facts;
use napi::{Env, Result};
use napi_derive::napi;

use crate::convert::{content_level, integer, moment, text};
use crate::error::Refusal;

/// A session whose events are bridged.
#[napi(object)]
pub struct NativeBridgeOptions {
    /// The source of the events.
    pub source: String,
    /// Their epoch.
    pub source_epoch: String,
    /// The root child's id.
    pub session_id: String,
    /// What kind of agent it is.
    pub provider: String,
    /// `none`, `titles` or `full`.
    pub content: String,
    /// Whether somebody else started it.
    pub external: bool,
    /// Whether everything from its start is told.
    pub history: bool,
    /// The version of the agent program.
    pub agent_version: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
    /// What is known of the session before.
    pub former: Option<NativeFormer>,
}

/// What a projection knows of a session.
#[napi(object)]
pub struct NativeFormer {
    /// The present epoch of its source.
    pub epoch: String,
    /// Which life the newest is; without it, none is known.
    pub attempt: Option<f64>,
    /// Its state.
    pub state: Option<String>,
    /// Its turn, where one is open.
    pub open_turn: Option<String>,
    /// How its last turn ended.
    pub outcome: Option<String>,
}

/// Where an event comes from.
#[napi(object)]
pub struct NativeOrigin {
    /// The id of its record.
    pub uuid: Option<String>,
    /// Its journal.
    pub journal: Option<String>,
    /// The offset of its line there.
    pub offset: Option<f64>,
    /// Its place among the events of the record or line.
    pub index: Option<f64>,
}

fn former_of(env: Env, former: NativeFormer) -> Result<Former> {
    let NativeFormer { epoch, attempt, state, open_turn, outcome } = former;
    let attempt = integer(env, attempt, 0, 0, "attempt")?.unsigned_abs();
    let outcome = outcome.as_deref().and_then(Outcome::parse);
    let state = state.as_deref().and_then(State::parse);
    let life = state.map(|state| FormerLife {
        attempt,
        state,
        open_turns: open_turn.into_iter().collect(),
        outcome,
    });
    Ok(Former { epoch, life })
}

/// The bridge of one session.
#[napi]
pub struct NativeBridge {
    bridge: DirectBridge,
}

#[napi]
impl NativeBridge {
    /// A bridge that was told nothing.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: NativeBridgeOptions) -> Result<Self> {
        let NativeBridgeOptions {
            source,
            source_epoch,
            session_id,
            provider,
            content,
            external,
            history,
            former,
            agent_version,
            cwd,
        } = options;
        let given = [("source", &source), ("sourceEpoch", &source_epoch), ("sessionId", &session_id)];
        for (path, id) in given {
            if identity(id) != Ok(id) {
                let message =
                    format!("{path} must be an id: trimmed, not blank, at most 512 bytes, no U+0000");
                return Err(
                    Refusal { code: "invalid_id", path: Some(path), message: &message }.into_error(env)
                );
            }
        }
        let content = content_level(env, &content)?;
        let history = if history { Capability::Known } else { Capability::Unknown };
        let capabilities = Capabilities { history, ..Capabilities::default() };
        let session =
            Session { source, provider, session_id, epoch: source_epoch, content, external, capabilities };
        let former = former.map(|former| former_of(env, former)).transpose()?;
        let facts = Facts { agent_version, cwd, ..Facts::default() };
        Ok(Self { bridge: DirectBridge::new(session, facts, former) })
    }

    /// The events that the agent event in `text` makes, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn push(
        &mut self,
        env: Env,
        event: String,
        at: String,
        turn_id: Option<String>,
        origin: NativeOrigin,
    ) -> Result<String> {
        let event = AgentEvent::parse(&event).map_err(|issues| {
            let first = issues.first();
            let path = first.map_or("$", |issue| issue.path.as_str());
            let message = first.map_or("the event is not JSON", |issue| issue.message.as_ref());
            Refusal { code: "invalid_event", path: Some(path), message }.into_error(env)
        })?;
        let Some(at) = Timestamp::parse(at.into()) else {
            let message = "at must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z";
            return Err(Refusal { code: "invalid_timestamp", path: Some("at"), message }.into_error(env));
        };
        let number = |given, path| Ok::<_, napi::Error>(integer(env, given, 0, 0, path)?.unsigned_abs());
        let NativeOrigin { uuid, journal, offset, index } = origin;
        let index = u32::try_from(number(index, "index")?).unwrap_or(u32::MAX);
        let origin = match (uuid, offset) {
            (Some(uuid), _) => Origin::Record(uuid, index),
            (None, Some(offset)) => {
                Origin::Line(journal.unwrap_or_default(), number(Some(offset), "offset")?, index)
            }
            (None, None) => Origin::Said,
        };
        Ok(text(&self.bridge.take(event, at, turn_id.as_deref(), &origin)))
    }

    /// What an authority said of a child; whether that is of the present life of a child of the session.
    #[napi(catch_unwind)]
    pub fn corrected(
        &mut self,
        env: Env,
        source: String,
        child_id: String,
        state: String,
        waiting_reason: Option<String>,
        since: String,
    ) -> Result<bool> {
        let refuse = |path, message| {
            Err(Refusal { code: "invalid_argument", path: Some(path), message }.into_error(env))
        };
        let Some(state) = State::parse(&state) else {
            return refuse("record.state", "record.state must be a state, as a record has it");
        };
        let reason = waiting_reason.as_deref().map(WaitingReason::parse);
        if reason == Some(None) {
            return refuse("record.waitingReason", "record.waitingReason must be one, as a record has it");
        }
        let since = moment(env, &since, "record.stateSince")?;
        Ok(self.bridge.corrected(&source, &child_id, (state, reason.flatten()), since))
    }
}
