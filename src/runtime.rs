//! `TurnSequencer` and `ApprovalRegistry`: the state machines of a runtime session.

use agent_lifecycle_core::contract::identity::identity;
use agent_lifecycle_core::redact::SecretTooShort;
use agent_lifecycle_core::runtime::approvals::{Filter, Registry};
use agent_lifecycle_core::runtime::request::{Ask, Outcome};
use agent_lifecycle_core::runtime::sequencer::input::Input;
use agent_lifecycle_core::runtime::sequencer::{Sequencer, Session};
use agent_lifecycle_core::runtime::{InputFault, NotHidden};
use napi::{Env, Error, Result};
use napi_derive::napi;

use crate::convert::{integer, text};
use crate::error::Refusal;

fn generation(env: Env, given: f64) -> Result<u64> {
    Ok(integer(env, Some(given), 0, 0, "generation")?.unsigned_abs())
}

fn too_short(env: Env, short: SecretTooShort) -> Error {
    let path = format!("secrets[{}]", short.index);
    Refusal { code: "invalid_option", path: Some(&path), message: &short.to_string() }.into_error(env)
}

fn not_hidden(env: Env, fault: NotHidden) -> Error {
    Refusal { code: "invalid_option", path: Some("secret"), message: &fault.to_string() }.into_error(env)
}

fn invalid(env: Env, fault: &InputFault) -> Error {
    let message = format!("{} {}", fault.path, fault.message);
    Refusal { code: "invalid_argument", path: Some(&fault.path), message: &message }.into_error(env)
}

/// The order of what one generation of a session says.
#[napi]
pub struct NativeTurnSequencer {
    sequencer: Sequencer,
}

#[napi]
impl NativeTurnSequencer {
    /// A sequencer that saw nothing.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        product_session_id: String,
        generation: f64,
        native_turn_ids: bool,
        secrets: Vec<String>,
    ) -> Result<Self> {
        if identity(&product_session_id) != Ok(&product_session_id) {
            let message = "productSessionId must be an id: trimmed, not blank, at most 512 bytes, no U+0000";
            return Err(
                Refusal { code: "invalid_id", path: Some("productSessionId"), message }.into_error(env)
            );
        }
        let generation = self::generation(env, generation)?;
        let session = Session { product_session_id, generation, names_turns: native_turn_ids };
        let sequencer = Sequencer::new(session, secrets).map_err(|short| too_short(env, short))?;
        Ok(Self { sequencer })
    }

    /// The events that the input in the JSON text makes, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn push(&mut self, env: Env, input: String) -> Result<String> {
        let input = Input::parse(&input).map_err(|fault| invalid(env, &fault))?;
        Ok(text(&self.sequencer.push(input)))
    }

    /// Hides one more text.
    #[napi(catch_unwind)]
    pub fn hide(&mut self, env: Env, secret: String) -> Result<()> {
        self.sequencer.hide(secret).map_err(|fault| not_hidden(env, fault))
    }

    /// The turn that something of the harness belongs to, as the JSON text of an object.
    #[napi(catch_unwind)]
    pub fn turn_of(&self, native_turn_id: Option<String>) -> String {
        text(&self.sequencer.turn_of(native_turn_id.as_deref()))
    }

    /// What became of everything so far, as the JSON text of an object.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> String {
        text(&self.sequencer.stats())
    }
}

/// The open requests of one generation of a session.
#[napi]
pub struct NativeApprovalRegistry {
    registry: Registry,
}

#[napi]
impl NativeApprovalRegistry {
    /// A registry in which nothing is open.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, generation: f64, secrets: Vec<String>) -> Result<Self> {
        let generation = self::generation(env, generation)?;
        let registry = Registry::new(generation, secrets).map_err(|short| too_short(env, short))?;
        Ok(Self { registry })
    }

    /// What became of the request in the JSON text, as the JSON text of an object.
    #[napi(catch_unwind)]
    pub fn open(&mut self, env: Env, asked: String) -> Result<String> {
        let opening = self.registry.open(&asked).map_err(|fault| invalid(env, &fault))?;
        Ok(text(&opening))
    }

    /// What the answer in the JSON text is told, as the JSON text of an object.
    #[napi(catch_unwind)]
    pub fn claim(&mut self, env: Env, request_id: String, ask: String, answer: String) -> Result<String> {
        let Some(ask) = Ask::parse(&ask) else {
            let message = "ask must be approval or userInput";
            return Err(Refusal { code: "invalid_argument", path: Some("ask"), message }.into_error(env));
        };
        Ok(text(&self.registry.claim(&request_id, ask, &answer)))
    }

    /// What became of an answer that was written or was not, as JSON text.
    #[napi(catch_unwind)]
    pub fn settle(&mut self, env: Env, request_id: String, claim: f64, written: bool) -> Result<String> {
        let claim = integer(env, Some(claim), 0, 0, "claim")?.unsigned_abs();
        Ok(text(&self.registry.settle(&request_id, claim, written)))
    }

    /// The end of a request that took too long, as JSON text.
    #[napi(catch_unwind)]
    pub fn expire(&mut self, request_id: String) -> String {
        text(&self.registry.expire(&request_id))
    }

    /// The ends of the requests that have all of these, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn clear(
        &mut self,
        env: Env,
        request_id: Option<String>,
        turn_id: Option<String>,
        connection: Option<String>,
        outcome: String,
    ) -> Result<String> {
        let outcome = match Outcome::parse(&outcome) {
            Some(outcome @ (Outcome::Cleared | Outcome::Aborted)) => outcome,
            _ => {
                let message = "outcome must be cleared or aborted";
                return Err(
                    Refusal { code: "invalid_argument", path: Some("outcome"), message }.into_error(env)
                );
            }
        };
        let which = Filter {
            request_id: request_id.as_deref(),
            turn_id: turn_id.as_deref(),
            connection: connection.as_deref(),
        };
        Ok(text(&self.registry.clear(which, outcome)))
    }

    /// What is open, as the JSON text of an object.
    #[napi(catch_unwind)]
    pub fn pending(&self) -> String {
        text(&self.registry.pending())
    }

    /// Hides one more text.
    #[napi(catch_unwind)]
    pub fn hide(&mut self, env: Env, secret: String) -> Result<()> {
        self.registry.hide(secret).map_err(|fault| not_hidden(env, fault))
    }
}
