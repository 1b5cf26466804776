//! Open requests of a harness: each is opened once, and ends once.
//!
//! Input: requests, answers, what became of writing them, and ends. Output: what is shown, what is to be written, how each ended.
//! Invariant: one resolution for each request; a claimed one does not expire. Never: an answer in what is shown; a clock.

mod answer;
mod ask;

use std::collections::VecDeque;

use serde::Serialize;

use super::fields::InputFault;
use super::request::{Ask, Outcome, Request, Resolution};
use super::secrets::{NotHidden, Secrets};
use crate::json::Json;
use crate::redact::{Redactor, SecretTooShort};
use crate::text::units;
pub use answer::ANSWER_UNITS;
pub use ask::{ARGUMENT_BYTES, DETAIL_UNITS, Key, LABEL_UNITS, OPTIONS, QUESTIONS, Refusal};
use ask::{Asked, Named, Wanted};

/// Requests that are open at a time.
pub const PENDING: usize = 64;
/// Ended requests whose outcome is remembered.
pub const REMEMBERED: usize = 256;
/// UTF-16 code units from which an answer can be hidden as a secret.
const SECRET_UNITS: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Registry {
    generation: u64,
    secrets: Secrets,
    redactor: Redactor,
    open: Vec<Open>,
    ended: VecDeque<(String, Outcome)>,
    /// Requests so far.
    minted: u64,
    /// Answers so far.
    claimed: u64,
}

/// A request that is open.
#[derive(Debug)]
struct Open {
    key: Key,
    print: u128,
    shown: Request,
    wanted: Wanted,
    claim: Option<Claimed>,
}

/// An answer that is being written.
#[derive(Debug)]
struct Claimed {
    number: u64,
    decision: Option<String>,
    answered: Option<Vec<String>>,
}

/// The one end of a request.
#[derive(Debug, Serialize)]
pub struct Ended {
    /// What is told.
    #[serde(flatten)]
    pub resolution: Resolution,
    /// What was asked for.
    pub ask: Ask,
    /// What the harness knows it by.
    pub native: Native,
}

/// A key as an adapter reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Native {
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(rename = "nativeId")]
    id: Json,
}

/// What became of a request that was asked.
#[derive(Debug, Default, Serialize)]
pub struct Opening {
    /// `opened`, `same` or `refused`.
    pub status: &'static str,
    /// The request, where it is an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Request>,
    /// The request, where it is questions.
    #[serde(rename = "userInput", skip_serializing_if = "Option::is_none")]
    pub user_input: Option<Request>,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The same, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The end of the request that it took the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// What an answer is told.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Claim {
    /// It is to be written.
    Claimed {
        /// To be given back with what became of it.
        claim: u64,
        /// What is to be written.
        reply: Box<Reply>,
        /// Texts in it that are to be hidden from now on.
        secrets: Vec<String>,
    },
    /// Another answer is being written.
    Writing,
    /// The request has ended.
    Resolved {
        /// How.
        outcome: Outcome,
    },
    /// There is no such request, or it ended long ago.
    Unknown,
    /// It is no answer to this request, which stays open.
    Invalid {
        /// The member at fault.
        path: String,
        /// What it must be.
        message: String,
    },
}

/// What is to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    request_id: String,
    ask: Ask,
    native: Native,
    #[serde(flatten)]
    answer: answer::Answer,
}

/// What became of an answer.
#[derive(Debug, Serialize)]
pub struct Settled {
    /// The end that it made; none where the request had ended already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// How the request ended.
    pub outcome: Outcome,
}

/// Which requests: those that have all of these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// This one.
    pub request_id: Option<&'a str>,
    /// Those of this turn.
    pub turn_id: Option<&'a str>,
    /// Those that came over this connection.
    pub connection: Option<&'a str>,
}

/// What is open.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending<'a> {
    /// The oldest first.
    pub approvals: Vec<&'a Request>,
    /// The oldest first.
    pub user_inputs: Vec<&'a Request>,
}

impl Registry {
    /// A registry in which nothing is open.
    ///
    /// # Errors
    /// A secret is too short.
    pub fn new(generation: u64, secrets: Vec<String>) -> Result<Self, SecretTooShort> {
        let (secrets, redactor) = Secrets::new(secrets)?;
        let (open, ended) = (Vec::new(), VecDeque::new());
        Ok(Self { generation, secrets, redactor, open, ended, minted: 0, claimed: 0 })
    }

    /// Takes a request of the harness.
    ///
    /// # Errors
    /// It has no key, so that nobody could be told of it.
    pub fn open(&mut self, asked: &str) -> Result<Opening, InputFault> {
        let named = Named::parse(asked)?;
        let same = self.open.iter().position(|open| open.key == named.key);
        let mut ended = None;
        if let Some(at) = same {
            let open = &self.open[at];
            if open.print == named.print && open.shown.ask == named.ask {
                return Ok(opening("same", open.shown.clone(), None));
            }
            ended = Some(self.end(at, Outcome::Cleared));
        }
        let (key, print) = (named.key.clone(), named.print);
        let asked = named.judge(&self.redactor);
        let asked =
            asked.and_then(|asked| if self.open.len() < PENDING { Ok(asked) } else { Err(Refusal::TooMany) });
        let Asked { ask, content, wanted } = match asked {
            Ok(asked) => asked,
            Err(refusal) => {
                let (code, message) = (Some(refusal.code()), Some(refusal.message()));
                return Ok(Opening { status: "refused", code, message, ended, ..Opening::default() });
            }
        };
        self.minted += 1;
        let id = format!("request-{}-{}", self.generation, self.minted);
        let mut shown = Request { id, turn_id: key.turn_id.clone(), ask, content };
        shown.redact(&self.redactor);
        self.open.push(Open { key, print, shown: shown.clone(), wanted, claim: None });
        Ok(opening("opened", shown, ended))
    }

    /// Takes an answer: where it is one, nobody else can answer, and the request does not expire.
    pub fn claim(&mut self, request_id: &str, ask: Ask, answer: &str) -> Claim {
        let Some(at) = self.position(request_id) else {
            let ended = self.ended.iter().find(|(id, _)| id == request_id);
            return ended.map_or(Claim::Unknown, |&(_, outcome)| Claim::Resolved { outcome });
        };
        let open = &mut self.open[at];
        if open.claim.is_some() {
            return Claim::Writing;
        }
        if open.shown.ask != ask {
            let message = match open.shown.ask {
                Ask::Approval => "the request is an approval: answer it with respondToApproval",
                Ask::UserInput => "the request has questions: answer it with respondToUserInput",
            };
            return Claim::Invalid { path: "requestId".to_owned(), message: message.to_owned() };
        }
        let answer = match answer::judge(answer, &open.wanted) {
            Ok(answer) => answer,
            Err(InputFault { path, message }) => {
                return Claim::Invalid { message: format!("{path} {message}"), path };
            }
        };
        self.claimed += 1;
        let (decision, answered) = (answer.decision.clone(), answer.answered.clone());
        open.claim = Some(Claimed { number: self.claimed, decision, answered });
        let secrets = answer.secrets.iter().filter(|text| units(text) >= SECRET_UNITS).cloned().collect();
        let reply =
            Box::new(Reply { request_id: request_id.to_owned(), ask, native: Native::of(&open.key), answer });
        Claim::Claimed { claim: self.claimed, reply, secrets }
    }

    /// An answer was written, or could not be. None where there was no such answer.
    pub fn settle(&mut self, request_id: &str, claim: u64, written: bool) -> Option<Settled> {
        let is_meant = |open: &Open| open.claim.as_ref().is_some_and(|known| known.number == claim);
        let Some(at) = self.position(request_id).filter(|&at| is_meant(&self.open[at])) else {
            let (_, outcome) = self.ended.iter().find(|(id, _)| id == request_id)?;
            return Some(Settled { ended: None, outcome: *outcome });
        };
        let outcome = if written { Outcome::Responded } else { Outcome::Cleared };
        Some(Settled { ended: Some(self.end(at, outcome)), outcome })
    }

    /// Ends a request that took too long, unless it is being answered or has ended.
    pub fn expire(&mut self, request_id: &str) -> Option<Ended> {
        let at = self.position(request_id).filter(|&at| self.open[at].claim.is_none())?;
        Some(self.end(at, Outcome::Expired))
    }

    /// Ends requests, those too that are being answered.
    pub fn clear(&mut self, which: Filter<'_>, outcome: Outcome) -> Vec<Ended> {
        let is = |wanted: Option<&str>, has: Option<&str>| wanted.is_none() || wanted == has;
        let mut ended = Vec::new();
        while let Some(at) = self.open.iter().position(|open| {
            is(which.request_id, Some(&open.shown.id))
                && is(which.turn_id, open.key.turn_id.as_deref())
                && is(which.connection, open.key.connection.as_deref())
        }) {
            ended.push(self.end(at, outcome));
        }
        ended
    }

    /// What is open.
    #[must_use]
    pub fn pending(&self) -> Pending<'_> {
        let of = |ask| self.open.iter().map(|open| &open.shown).filter(|shown| shown.ask == ask).collect();
        Pending { approvals: of(Ask::Approval), user_inputs: of(Ask::UserInput) }
    }

    /// Hides one more text in what comes.
    ///
    /// # Errors
    /// It is too short, or one too many.
    pub fn hide(&mut self, secret: String) -> Result<(), NotHidden> {
        if let Some(redactor) = self.secrets.add(secret)? {
            self.redactor = redactor;
        }
        Ok(())
    }

    fn position(&self, request_id: &str) -> Option<usize> {
        self.open.iter().position(|open| open.shown.id == request_id)
    }

    fn end(&mut self, at: usize, outcome: Outcome) -> Ended {
        let Open { key, shown, claim, .. } = self.open.remove(at);
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((shown.id.clone(), outcome));
        let claim = claim.filter(|_| outcome == Outcome::Responded);
        let (decision, answered) = claim.map_or((None, None), |claim| (claim.decision, claim.answered));
        let resolution = Resolution { request_id: shown.id, outcome, decision, answered };
        Ended { resolution, ask: shown.ask, native: Native::of(&key) }
    }
}

impl Native {
    fn of(key: &Key) -> Self {
        let Key { connection, scope, turn_id, native_id } = key.clone();
        Self { connection, scope, turn_id, id: native_id.to_json() }
    }
}

fn opening(status: &'static str, shown: Request, ended: Option<Ended>) -> Opening {
    let (approval, user_input) = match shown.ask {
        Ask::Approval => (Some(shown), None),
        Ask::UserInput => (None, Some(shown)),
    };
    Opening { status, approval, user_input, ended, ..Opening::default() }
}
