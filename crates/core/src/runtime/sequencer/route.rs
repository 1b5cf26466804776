//! Where an input of the harness belongs: to the turn that is on, to none, or to one that is not ours.
//!
//! Input: what it says of its turn, and what is known of turns. Output: it is taken, waits, or is dropped with a reason.
//! Invariant: what is of an earlier turn never reaches the present one. Never: guesses a turn from what an input says.

use super::super::request::{Request, Resolution};
use super::super::semantic::{Body, ExitStatus, Failure};
use super::drops::Reason;
use super::input::{Input, Place, Seen, Step, Terminal};
use super::turn::Ending;
use super::{Out, Sequencer, TurnPlace};

/// Where an input belongs.
enum Route {
    Turn,
    Session,
    Wait,
}

impl Sequencer {
    /// The turn that something of the harness belongs to.
    #[must_use]
    pub fn turn_of(&self, native: Option<&str>) -> TurnPlace {
        let present =
            || TurnPlace { turn_id: self.turn.as_ref().map(|turn| turn.id.clone()), is_over: false };
        let over = |turn_id: Option<&str>| TurnPlace { turn_id: turn_id.map(str::to_owned), is_over: true };
        if !self.session.names_turns {
            return if self.past.debts() > 0 { over(self.past.owing()) } else { present() };
        }
        let Some(native) = native else { return present() };
        if self.turn.as_ref().is_some_and(|turn| turn.is_called(native)) {
            return present();
        }
        self.past.turn_of(native).map_or_else(present, |turn_id| over(Some(turn_id)))
    }

    pub(super) fn route(&mut self, input: Input, out: &mut Out) -> Result<(), Reason> {
        match self.place_of(&input.step)? {
            Route::Wait => self.wait(input, out),
            route => self.dispatch(input.step, matches!(route, Route::Turn), out),
        }
    }

    fn place_of(&mut self, step: &Step) -> Result<Route, Reason> {
        match step {
            Step::Observation(_, Seen::Adapter(..)) | Step::Opened(Request { turn_id: None, .. }) => {
                Ok(Route::Session)
            }
            // A sub-agent's turn is not ours.
            Step::Observation(Place { scope: Some(_), .. }, Seen::TurnStarted)
            | Step::Terminal(Terminal { scope: Some(_), .. }) => Err(Reason::ForeignScope),
            Step::Observation(Place { native_turn: Some(name), .. }, Seen::TurnStarted)
                if self.may_name(name) =>
            {
                Ok(Route::Turn)
            }
            Step::Observation(place, seen) => match self.turn_route(place.native_turn.as_deref()) {
                Err(Reason::NoTurn | Reason::Debt)
                    if place.native_turn.is_none() && matches!(seen, Seen::Note(_)) =>
                {
                    Ok(Route::Session)
                }
                route => route,
            },
            Step::Terminal(Terminal { native_turn, .. }) => {
                let native = native_turn.as_deref().filter(|_| self.session.names_turns);
                let is_present =
                    native.is_some_and(|name| self.turn.as_ref().is_some_and(|turn| turn.is_called(name)));
                match native {
                    None if self.past.pay() => return Err(Reason::Debt),
                    Some(name) if !is_present => {
                        self.past.settle(|_, names| names.iter().any(|known| known == name));
                    }
                    _ => {}
                }
                self.turn_route(native)
            }
            Step::Opened(Request { turn_id: Some(turn_id), .. }) => match &self.turn {
                Some(turn) if turn.id == *turn_id => {
                    Ok(if turn.is_accepted { Route::Turn } else { Route::Wait })
                }
                _ if self.past.has_turn(turn_id) => Err(Reason::Late),
                _ => Err(Reason::NoTurn),
            },
            Step::Resolved(Resolution { request_id, .. }) => {
                if self.turn.as_ref().is_some_and(|turn| turn.requests.has(request_id)) {
                    Ok(Route::Turn)
                } else if self.requests.has(request_id) {
                    Ok(Route::Session)
                } else if self.waiting.has_request(request_id) {
                    Ok(Route::Wait)
                } else {
                    Err(Reason::NotOpen)
                }
            }
            // The host's own steps are not brought here.
            _ => Err(Reason::NoTurn),
        }
    }

    /// Whether the harness's beginning of a turn names the one that it accepted without a name.
    fn may_name(&self, name: &str) -> bool {
        let is_nameless = self.turn.as_ref().is_some_and(|turn| turn.is_accepted && turn.native.is_empty());
        self.session.names_turns && is_nameless && self.past.turn_of(name).is_none()
    }

    fn turn_route(&self, native: Option<&str>) -> Result<Route, Reason> {
        if !self.session.names_turns {
            return match &self.turn {
                _ if self.past.debts() > 0 => Err(Reason::Debt),
                None => Err(Reason::NoTurn),
                Some(turn) => Ok(if turn.is_accepted { Route::Turn } else { Route::Wait }),
            };
        }
        match (native, &self.turn) {
            (Some(name), Some(turn)) if turn.is_called(name) => Ok(Route::Turn),
            (Some(name), _) if self.past.turn_of(name).is_some() => Err(Reason::Late),
            (_, Some(turn)) if turn.native.is_empty() => Ok(Route::Wait),
            (None, Some(_)) => Ok(Route::Turn),
            (Some(_), _) => Err(Reason::ForeignTurn),
            (None, None) => Err(Reason::NoTurn),
        }
    }

    fn wait(&mut self, input: Input, out: &mut Out) -> Result<(), Reason> {
        if self.waiting.has_room(input.size) {
            self.waiting.push(input);
            return Ok(());
        }
        self.discard(Reason::Overflow, out);
        let Some(turn) = &mut self.turn else { return Err(Reason::Overflow) };
        // What came shows that the harness works at it.
        if !std::mem::replace(&mut turn.is_accepted, true) {
            let turn_id = turn.id.clone();
            self.say(Some(&turn_id), vec![Body::TurnStarted], out);
        }
        let message = "too much came before it was known which turn it belongs to".to_owned();
        self.end_turn(Some(Ending::Failed(Failure::Overflow, message, ExitStatus::default())), true, out);
        Err(Reason::Overflow)
    }

    fn dispatch(&mut self, step: Step, is_of_turn: bool, out: &mut Out) -> Result<(), Reason> {
        let turn_id = self.turn.as_ref().filter(|_| is_of_turn).map(|turn| turn.id.clone());
        match step {
            Step::Observation(place, seen) => {
                let name = (&turn_id, &place.native_turn, &place.scope, &place.event);
                if place.event.is_some() && !self.seen.is_first(name) {
                    return Err(Reason::Repeat);
                }
                self.observe(turn_id.as_deref(), &place, seen, out)
            }
            Step::Opened(request) => {
                if !self.asked.is_first(&request.id) {
                    return Err(Reason::Repeat);
                }
                let said =
                    self.requests_of(is_of_turn, |requests, redactor| requests.open(request, redactor))?;
                self.say(turn_id.as_deref(), vec![said], out);
                Ok(())
            }
            Step::Resolved(resolution) => {
                let said = self.requests_of(is_of_turn, |requests, _| requests.resolve(resolution))?;
                self.say(turn_id.as_deref(), vec![said], out);
                Ok(())
            }
            Step::Terminal(terminal) => {
                self.end_turn(Some(Ending::Said(terminal)), false, out);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn observe(
        &mut self,
        turn_id: Option<&str>,
        place: &Place,
        seen: Seen,
        out: &mut Out,
    ) -> Result<(), Reason> {
        match (seen, place) {
            (Seen::Adapter(state, message), _) => {
                self.has_exited = false;
                let message = message.map(|message| super::values::message(&self.redactor, &message));
                let status = ExitStatus::default();
                self.say(None, vec![Body::AdapterLifecycle { state, status, message }], out);
                Ok(())
            }
            (Seen::Note(note), _) => {
                self.say_note(turn_id, note, out);
                Ok(())
            }
            (Seen::TurnStarted, Place { native_turn: Some(name), .. }) if self.may_name(name) => {
                self.turn.iter_mut().for_each(|turn| turn.native.push(name.clone()));
                self.let_in(out);
                Ok(())
            }
            (seen, _) => {
                let (generation, tools) = (self.session.generation, &mut self.tools);
                let mint = || {
                    *tools += 1;
                    format!("tool-{generation}-{tools}")
                };
                let Some(turn) = &mut self.turn else { return Err(Reason::NoTurn) };
                let mut said = Vec::new();
                let result = turn.observe(place, seen, &self.redactor, mint, &mut said);
                self.say(turn_id, said, out);
                result
            }
        }
    }

    fn requests_of<T>(
        &mut self,
        is_of_turn: bool,
        run: impl FnOnce(&mut super::turn::Requests, &crate::redact::Redactor) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let requests = match &mut self.turn {
            Some(turn) if is_of_turn => &mut turn.requests,
            _ => &mut self.requests,
        };
        run(requests, &self.redactor)
    }
}
