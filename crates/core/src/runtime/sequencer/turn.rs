//! The turn that is on: what belongs to it, and how it ends.
//!
//! Input: observations that are of this turn, and its end. Output: what they say, and at the end everything that is open closed first.
//! Invariant: one terminal, and it is the last. Never: says anything before it is accepted.

use std::sync::Arc;

use super::Said;
use super::drops::Reason;
use super::input::{Place, Seen, Status, Terminal};
use super::pieces::{Content, Kind, Pieces};
use super::text::End;
use super::{tools, values};
use crate::redact::Redactor;
use crate::runtime::request::{Ask, Outcome, Request, Resolution};
use crate::runtime::semantic::{Body, Bounded, Completion, ExitStatus, Failure, FailureDetails, Usage};

/// Names of the harness that one turn has at most: what began it and what accepted it may differ.
pub(super) const NAMES: usize = 4;
/// Sub-agents of one turn.
pub const SCOPES: usize = 64;
/// Requests that are open in one turn, or outside of any.
pub const REQUESTS: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) is_accepted: bool,
    pub(super) is_aborting: bool,
    /// What the harness calls it; empty where that is not known.
    pub(super) native: Vec<String>,
    pub(super) pieces: Pieces,
    /// The number of the next piece of text.
    pub(super) contents: u64,
    /// Bytes of messages that are kept.
    pub(super) kept: usize,
    pub(super) requests: Requests,
    scopes: Vec<String>,
    usage: Option<Usage>,
}

/// How a turn ends.
#[derive(Debug)]
pub(super) enum Ending {
    /// The harness says so.
    Said(Terminal),
    /// Nobody says how; it was to be interrupted. With `confirmed` nothing works at it any more.
    Interrupted { confirmed: bool },
    /// It cannot go on.
    Failed(Failure, String, ExitStatus),
}

impl Turn {
    pub(super) fn new(id: String) -> Self {
        Self {
            id,
            is_accepted: false,
            is_aborting: false,
            native: Vec::new(),
            pieces: Pieces::default(),
            contents: 0,
            kept: 0,
            requests: Requests::default(),
            scopes: Vec::new(),
            usage: None,
        }
    }

    /// Whether the harness calls it so.
    pub(super) fn is_called(&self, native: &str) -> bool {
        self.native.iter().any(|name| name == native)
    }

    /// The number of a sub-agent; 0 is the session's own agent.
    pub(super) fn scope(&mut self, scope: Option<&str>) -> Result<usize, Reason> {
        let Some(scope) = scope else { return Ok(0) };
        if let Some(at) = self.scopes.iter().position(|known| known == scope) {
            return Ok(at + 1);
        }
        if self.scopes.len() == SCOPES {
            return Err(Reason::TooMany);
        }
        self.scopes.push(scope.to_owned());
        Ok(self.scopes.len())
    }

    pub(super) fn scope_name(scope: usize) -> Option<String> {
        (scope > 0).then(|| format!("scope-{scope}"))
    }

    /// Takes an observation of this turn.
    pub(super) fn observe(
        &mut self,
        place: &Place,
        seen: Seen,
        redactor: &Arc<Redactor>,
        mint: impl FnOnce() -> String,
        out: &mut Said,
    ) -> Result<(), Reason> {
        match seen {
            // Known already: the turn was accepted under this name.
            Seen::TurnStarted => {}
            Seen::Text { is_reasoning, text, done } => {
                let kind = if is_reasoning { Kind::Reasoning } else { Kind::Message };
                return self.text(place, kind, (text.as_ref(), done), redactor, out);
            }
            Seen::Tool { name, phase } => {
                return self.tool(place, (name.as_deref(), phase), redactor, mint, out);
            }
            Seen::Usage(usage) => self.add_usage(&usage),
            Seen::Plan(plan) => {
                let scope = Self::scope_name(self.scope(place.scope.as_deref())?);
                let Bounded { value: plan, truncated } = values::bounded(redactor, Some(plan));
                out.push(Body::PlanUpdated { scope, plan, truncated });
            }
            Seen::Diff(diff) => {
                let scope = Self::scope_name(self.scope(place.scope.as_deref())?);
                let Bounded { value: diff, truncated } = values::bounded(redactor, Some(diff));
                out.push(Body::DiffUpdated { scope, diff, truncated });
            }
            Seen::Compaction { ended } => return self.compaction(place, ended, out),
            Seen::Note(note) => out.push(super::notes::said(note, redactor)),
            // Of the session, and never brought here.
            Seen::Adapter(..) => return Err(Reason::NoTurn),
        }
        Ok(())
    }

    fn compaction(&mut self, place: &Place, ended: bool, out: &mut Said) -> Result<(), Reason> {
        let scope = self.scope(place.scope.as_deref())?;
        let item = place.item.as_ref();
        let found = self.pieces.find(Kind::Compaction, scope, item, |_| true);
        let found = found.map_err(|reason| if ended { Reason::Repeat } else { reason })?;
        let name = Self::scope_name(scope);
        match (found, ended) {
            (Some(_), false) => return Err(Reason::Repeat),
            (Some(at), true) => drop(self.pieces.end(at)),
            (None, _) if !self.pieces.has_room(item) => return Err(Reason::TooMany),
            (None, _) => {
                out.push(Body::CompactionStart { scope: name.clone(), inferred: ended });
                let at = self.pieces.add(Kind::Compaction, scope, item, Content::Compaction);
                if ended {
                    self.pieces.end(at);
                }
            }
        }
        if ended {
            out.push(Body::CompactionEnd { scope: name, inferred: false });
        }
        Ok(())
    }

    fn add_usage(&mut self, usage: &Usage) {
        let known = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input: usage.input.or(known.input),
            cached: usage.cached.or(known.cached),
            output: usage.output.or(known.output),
            reasoning: usage.reasoning.or(known.reasoning),
            context_used: usage.context_used.or(known.context_used),
            context_window: usage.context_window.or(known.context_window),
        });
    }

    /// Closes everything that is open, then says the usage, then how the turn ended.
    pub(super) fn end(mut self, ending: Ending, redactor: &Redactor) -> (Said, Vec<String>) {
        let mut out = Said::new();
        let end = match &ending {
            Ending::Said(Terminal { status: Status::Completed, .. }) => End::TurnDone,
            _ => End::TurnCut,
        };
        while let Some(piece) = self.pieces.end_first(Kind::Compaction) {
            out.push(Body::CompactionEnd { scope: Self::scope_name(piece.scope), inferred: true });
        }
        for kind in [Kind::Message, Kind::Reasoning] {
            while let Some(piece) = self.pieces.end_first(kind) {
                self.close_text(piece, end, &mut out);
            }
        }
        while let Some(piece) = self.pieces.end_first(Kind::Tool) {
            tools::abandon(piece, &mut out);
        }
        out.append(&mut self.requests.end_all(Outcome::Cleared));
        if let Ending::Said(Terminal { usage: Some(usage), .. }) = &ending {
            self.add_usage(usage);
        }
        if let Some(usage) = self.usage {
            out.push(Body::Usage { usage });
        }
        out.push(terminal(ending, redactor));
        (out, self.native)
    }
}

fn terminal(ending: Ending, redactor: &Redactor) -> Body {
    let failed = |code, message: &str, status, adapter| Body::TurnFailed {
        message: values::message(redactor, message),
        details: FailureDetails { code, status, adapter },
    };
    match ending {
        Ending::Interrupted { confirmed } => {
            Body::TurnCompleted { status: Completion::Interrupted, confirmed }
        }
        Ending::Failed(code, message, status) => failed(code, &message, status, None),
        Ending::Said(Terminal { status, message, details, .. }) => match status {
            Status::Completed => Body::TurnCompleted { status: Completion::Completed, confirmed: true },
            Status::Interrupted => Body::TurnCompleted { status: Completion::Interrupted, confirmed: true },
            Status::Failed => {
                let message =
                    message.as_deref().unwrap_or("the harness says that the turn failed, and not why");
                let adapter = values::bounded(redactor, details).value;
                failed(Failure::Failed, message, ExitStatus::default(), adapter)
            }
        },
    }
}

/// Open requests, by when they were opened.
#[derive(Debug, Default)]
pub(super) struct Requests(Vec<(String, Ask)>);

impl Requests {
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|(open, _)| open == id)
    }

    pub(super) fn open(&mut self, mut request: Request, redactor: &Redactor) -> Result<Body, Reason> {
        if self.0.len() == REQUESTS {
            return Err(Reason::TooMany);
        }
        request.redact(redactor);
        self.0.push((request.id.clone(), request.ask));
        Ok(match request.ask {
            Ask::Approval => Body::ApprovalRequested { request },
            Ask::UserInput => Body::UserInputRequested { request },
        })
    }

    pub(super) fn resolve(&mut self, resolution: Resolution) -> Result<Body, Reason> {
        let at = self.0.iter().position(|(open, _)| *open == resolution.request_id);
        let (_, ask) = self.0.remove(at.ok_or(Reason::NotOpen)?);
        Ok(resolved(ask, resolution))
    }

    pub(super) fn end_all(&mut self, outcome: Outcome) -> Said {
        self.0.drain(..).map(|(id, ask)| resolved(ask, Resolution::bare(&id, outcome))).collect()
    }
}

fn resolved(ask: Ask, resolution: Resolution) -> Body {
    let Resolution { request_id, outcome, decision, answered } = resolution;
    match ask {
        Ask::Approval => Body::ApprovalResolved { request_id, outcome, decision },
        Ask::UserInput => Body::UserInputResolved { request_id, outcome, answered },
    }
}
