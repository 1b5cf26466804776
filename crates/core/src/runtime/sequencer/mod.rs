//! A turn's observations in any order in, semantic events in a legal order out.
//!
//! Input: what the host does and what an adapter saw, each with its time. Output: events; what makes none has a counted reason.
//! Invariant: each accepted turn has one start and one terminal, and nothing of it is outside of them. Never: reads a clock; grows without bound.

pub mod drops;
pub mod input;
mod notes;
mod past;
pub mod pieces;
mod route;
mod seen;
mod stream;
pub mod text;
mod tools;
pub mod turn;
pub mod values;
pub mod waiting;

use std::sync::Arc;

use serde::Serialize;

use super::request::Outcome;
use super::secrets::{NotHidden, Secrets};
use super::semantic::{AdapterState, Body, ExitStatus, Failure, SemanticEvent};
use crate::redact::{Redactor, SecretTooShort};
use drops::{Diagnostic, Drops, Reason};
use input::{Input, Note, Place, Seen, Step};
use past::Past;
use pieces::Content;
use seen::SeenNames;
use turn::{Ending, Requests, Turn};
use waiting::Waiting;

/// What one step says.
pub(crate) type Said = Vec<Body>;

/// What a sequencer is for.
#[derive(Clone, Debug)]
pub struct Session {
    /// The product's session.
    pub product_session_id: String,
    /// Its live generation.
    pub generation: u64,
    /// Whether the harness names turns, in what belongs to one.
    pub names_turns: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Sequencer {
    session: Session,
    secrets: Secrets,
    redactor: Arc<Redactor>,
    turn: Option<Turn>,
    waiting: Waiting,
    past: Past,
    /// Requests of no turn.
    requests: Requests,
    /// Observations with an id.
    seen: SeenNames,
    /// Requests, those that have ended too.
    asked: SeenNames,
    drops: Drops,
    sequence: u64,
    tools: u64,
    has_exited: bool,
    is_closed: bool,
}

/// What one push says.
struct Out {
    at: String,
    events: Vec<SemanticEvent>,
}

/// Which turn something belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlace {
    /// The host's turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Whether it has ended.
    pub is_over: bool,
}

/// The turn that is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenTurn {
    /// The host's id.
    pub turn_id: String,
    /// Whether the harness accepted it.
    pub accepted: bool,
    /// Whether it is to be interrupted.
    pub aborting: bool,
}

/// What became of everything so far.
#[derive(Debug, Serialize)]
pub struct Stats<'a> {
    /// The turn that is on.
    pub turn: Option<OpenTurn>,
    /// Inputs that wait.
    pub waiting: usize,
    /// Ends that are still to come.
    pub debts: usize,
    /// Events so far.
    pub events: u64,
    /// Inputs that made no event, by reason.
    pub dropped: &'a Drops,
    /// The last of what was noticed.
    pub diagnostics: Vec<&'a Diagnostic>,
}

impl Sequencer {
    /// A sequencer that saw nothing.
    ///
    /// # Errors
    /// A secret is too short.
    pub fn new(session: Session, secrets: Vec<String>) -> Result<Self, SecretTooShort> {
        let (secrets, redactor) = Secrets::new(secrets)?;
        Ok(Self {
            session,
            secrets,
            redactor: Arc::new(redactor),
            turn: None,
            waiting: Waiting::default(),
            past: Past::default(),
            requests: Requests::default(),
            seen: SeenNames::default(),
            asked: SeenNames::default(),
            drops: Drops::default(),
            sequence: 0,
            tools: 0,
            has_exited: false,
            is_closed: false,
        })
    }

    /// Takes one input; what it says, in order.
    pub fn push(&mut self, input: Input) -> Vec<SemanticEvent> {
        let mut out = Out { at: input.at.clone(), events: Vec::new() };
        self.take(input, &mut out);
        out.events
    }

    /// Hides one more text, in pieces that are open too.
    ///
    /// # Errors
    /// It is too short, or one too many.
    pub fn hide(&mut self, secret: String) -> Result<(), NotHidden> {
        let Some(redactor) = self.secrets.add(secret)? else { return Ok(()) };
        self.redactor = Arc::new(redactor);
        let redactor = &self.redactor;
        for piece in self.turn.iter_mut().flat_map(|turn| turn.pieces.open_mut()) {
            match &mut piece.content {
                Content::Text(text) => text.stream.set_redactor(redactor),
                Content::Tool(tool) => {
                    tool.output.iter_mut().for_each(|output| output.set_redactor(redactor));
                }
                Content::Compaction => {}
            }
        }
        Ok(())
    }

    /// What became of everything so far.
    #[must_use]
    pub fn stats(&self) -> Stats<'_> {
        let turn = self.turn.as_ref().map(|turn| OpenTurn {
            turn_id: turn.id.clone(),
            accepted: turn.is_accepted,
            aborting: turn.is_aborting,
        });
        Stats {
            turn,
            waiting: self.waiting.len(),
            debts: self.past.debts(),
            events: self.sequence,
            dropped: &self.drops,
            diagnostics: self.drops.kept().iter().collect(),
        }
    }

    /// Takes an input, and counts it where it is dropped.
    fn take(&mut self, input: Input, out: &mut Out) {
        let name = input.name();
        let turn_id = self.turn.as_ref().map(|turn| turn.id.clone());
        if let Err(reason) = self.step(input, out) {
            self.drops.add(reason, name, &out.at, turn_id.as_deref());
        }
    }

    fn step(&mut self, input: Input, out: &mut Out) -> Result<(), Reason> {
        if self.is_closed {
            return Err(Reason::Disposed);
        }
        match input.step {
            Step::Begin(turn_id) => self.begin(turn_id),
            Step::Accepted { turn_id, native } => self.accepted(&turn_id, native, out),
            Step::Rejected(turn_id) => self.rejected(&turn_id, out),
            Step::Abort(turn_id) => self.abort(turn_id.as_deref(), out),
            Step::Exit { status, message, expected } => self.exit(status, message, expected, out),
            Step::Close => {
                self.close(out);
                Ok(())
            }
            Step::Deadline(turn_id) => self.deadline(&turn_id, out),
            Step::Observation(..) | Step::Opened(_) | Step::Resolved(_) | Step::Terminal(_) => {
                self.route(input, out)
            }
        }
    }

    fn begin(&mut self, turn_id: String) -> Result<(), Reason> {
        match &self.turn {
            Some(turn) if turn.id == turn_id => Err(Reason::Repeat),
            Some(_) => Err(Reason::TurnOpen),
            None if self.past.has_turn(&turn_id) => Err(Reason::Repeat),
            None => {
                self.turn = Some(Turn::new(turn_id));
                Ok(())
            }
        }
    }

    fn accepted(&mut self, turn_id: &str, native: Option<String>, out: &mut Out) -> Result<(), Reason> {
        let at = out.at.clone();
        let native = native.filter(|_| self.session.names_turns);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == turn_id) else {
            if !self.past.has_turn(turn_id) {
                return Err(Reason::NoTurn);
            }
            if let Some(native) = native {
                self.past.name(turn_id, native);
            }
            return Err(Reason::Late);
        };
        let is_repeat = turn.is_accepted && native.as_ref().is_none_or(|name| turn.is_called(name));
        if is_repeat || turn.native.len() == turn::NAMES {
            return Err(Reason::Repeat);
        }
        let was_named = !turn.native.is_empty();
        if !std::mem::replace(&mut turn.is_accepted, true) {
            self.say(Some(turn_id), vec![Body::TurnStarted], out);
        }
        let begun = || self.waiting.begun(|name| self.past.turn_of(name).is_none());
        let name = native.or_else(begun).filter(|_| self.session.names_turns);
        if was_named {
            self.drops.note("renamed", "accepted", &at, Some(turn_id));
        }
        if let Some(turn) = &mut self.turn {
            turn.native.extend(name);
        }
        self.let_in(out);
        Ok(())
    }

    /// Lets those in that waited, where the turn is known now.
    fn let_in(&mut self, out: &mut Out) {
        let names_turns = self.session.names_turns;
        let is_known = |turn: &Turn| turn.is_accepted && (!names_turns || !turn.native.is_empty());
        if self.turn.as_ref().is_some_and(is_known) {
            for input in self.waiting.take() {
                self.take(input, out);
            }
        }
    }

    fn rejected(&mut self, turn_id: &str, out: &mut Out) -> Result<(), Reason> {
        match &self.turn {
            Some(turn) if turn.id == turn_id && turn.is_accepted => Err(Reason::Late),
            Some(turn) if turn.id == turn_id => {
                self.end_turn(None, false, out);
                Ok(())
            }
            _ if self.past.has_turn(turn_id) => {
                // It ended before anybody knew whether it was accepted, and it never was.
                self.past.settle(|ended, _| ended == turn_id);
                Err(Reason::Late)
            }
            _ => Err(Reason::NoTurn),
        }
    }

    fn abort(&mut self, turn_id: Option<&str>, out: &mut Out) -> Result<(), Reason> {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn_id.is_none_or(|id| id == turn.id)) else {
            let is_past = turn_id.is_some_and(|id| self.past.has_turn(id));
            return Err(if is_past { Reason::Late } else { Reason::NoTurn });
        };
        if std::mem::replace(&mut turn.is_aborting, true) {
            return Err(Reason::Repeat);
        }
        let (id, said) = (turn.id.clone(), turn.requests.end_all(Outcome::Aborted));
        self.say(Some(&id), said, out);
        Ok(())
    }

    fn exit(
        &mut self,
        status: ExitStatus,
        message: Option<String>,
        expected: bool,
        out: &mut Out,
    ) -> Result<(), Reason> {
        if std::mem::replace(&mut self.has_exited, true) {
            return Err(Reason::Repeat);
        }
        let signal = status.signal.map(|signal| values::name(&self.redactor, &signal));
        let status = ExitStatus { signal, ..status };
        let is_wanted = expected || self.turn.as_ref().is_some_and(|turn| turn.is_aborting);
        let ending = if is_wanted {
            Ending::Interrupted { confirmed: true }
        } else {
            let message = message.as_deref().unwrap_or("the harness's process ended while the turn was on");
            Ending::Failed(Failure::Exit, message.to_owned(), status.clone())
        };
        self.end_turn(Some(ending), false, out);
        self.past.forgive();
        let mut said = self.requests.end_all(Outcome::Cleared);
        let state = if expected { AdapterState::Stopped } else { AdapterState::Crashed };
        let message = message.map(|message| values::message(&self.redactor, &message));
        said.push(Body::AdapterLifecycle { state, status, message });
        self.say(None, said, out);
        Ok(())
    }

    fn close(&mut self, out: &mut Out) {
        self.end_turn(Some(Ending::Interrupted { confirmed: false }), false, out);
        self.past.forgive();
        let mut said = self.requests.end_all(Outcome::Cleared);
        if !self.has_exited {
            let (state, status) = (AdapterState::Stopped, ExitStatus::default());
            said.push(Body::AdapterLifecycle { state, status, message: None });
        }
        self.say(None, said, out);
        self.is_closed = true;
    }

    fn deadline(&mut self, turn_id: &str, out: &mut Out) -> Result<(), Reason> {
        let Some(turn) = self.turn.as_ref().filter(|turn| turn.id == turn_id) else {
            return Err(if self.past.has_turn(turn_id) { Reason::Late } else { Reason::NoTurn });
        };
        let ending = if turn.is_aborting {
            Ending::Interrupted { confirmed: false }
        } else {
            let message = "the turn did not end in time".to_owned();
            Ending::Failed(Failure::Deadline, message, ExitStatus::default())
        };
        self.end_turn(Some(ending), true, out);
        Ok(())
    }

    /// Ends the turn that is on. One that was never accepted leaves without a word. `owes`: the harness's own end is still to come.
    fn end_turn(&mut self, ending: Option<Ending>, owes: bool, out: &mut Out) {
        let Some(turn) = self.turn.take() else { return };
        let (id, was_accepted) = (turn.id.clone(), turn.is_accepted);
        let native = match ending.filter(|_| was_accepted) {
            Some(ending) => {
                if matches!(ending, Ending::Interrupted { confirmed: false }) {
                    self.drops.note("unconfirmed", "terminal", &out.at, Some(&id));
                }
                let (said, native) = turn.end(ending, &self.redactor);
                self.say(Some(&id), said, out);
                native
            }
            None => turn.native,
        };
        self.past.add(id, native, owes);
        self.discard(if was_accepted { Reason::Late } else { Reason::NeverAccepted }, out);
    }

    /// Drops those that wait; what belongs to no turn is said all the same.
    fn discard(&mut self, reason: Reason, out: &mut Out) {
        for input in self.waiting.take() {
            let name = input.name();
            match input.step {
                Step::Observation(Place { native_turn: None, .. }, Seen::Note(note)) => {
                    self.say_note(None, note, out);
                }
                _ => self.drops.add(reason, name, &out.at, None),
            }
        }
    }

    fn say_note(&mut self, turn_id: Option<&str>, note: Note, out: &mut Out) {
        let said = notes::said(note, &self.redactor);
        self.say(turn_id, vec![said], out);
    }

    fn say(&mut self, turn_id: Option<&str>, said: Said, out: &mut Out) {
        for body in said {
            self.sequence += 1;
            out.events.push(SemanticEvent {
                body,
                product_session_id: self.session.product_session_id.clone(),
                generation: self.session.generation,
                sequence: self.sequence,
                at: out.at.clone(),
                turn_id: turn_id.map(str::to_owned),
            });
        }
    }
}
