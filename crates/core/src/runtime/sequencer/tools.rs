//! Calls of tools in a turn: called, started, updated, finished, in this order.
//!
//! Input: what was seen of a call. Output: its events; a step that was not seen is inserted, and says that it is inferred.
//! Invariant: one id from the call to the finish. Never: anything of a call after its finish.

use std::sync::Arc;

use super::Said;
use super::drops::Reason;
use super::input::{Phase, Place};
use super::pieces::{Content, Kind, Piece};
use super::stream::Stream;
use super::turn::Turn;
use super::values;
use crate::json::Json;
use crate::redact::Redactor;
use crate::runtime::semantic::{Body, Bounded, ToolPlace};

/// What a tool is called that nobody named.
const UNKNOWN: &str = "unknown";

/// A call.
#[derive(Debug)]
pub(super) struct ToolPiece {
    id: String,
    name: String,
    is_complete: bool,
    is_started: bool,
    /// Its output, where that is text.
    pub(super) output: Option<Stream>,
}

impl Turn {
    /// Something of a call. `mint` gives the id of a new one.
    pub(super) fn tool(
        &mut self,
        place: &Place,
        (name, phase): (Option<&str>, Phase),
        redactor: &Arc<Redactor>,
        mint: impl FnOnce() -> String,
        out: &mut Said,
    ) -> Result<(), Reason> {
        let scope = self.scope(place.scope.as_deref())?;
        let item = place.item.as_ref();
        let name = name.map(|name| values::name(redactor, name));
        let name = name.filter(|name| !name.is_empty());
        let is_finish = matches!(phase, Phase::Finished { .. });
        let found =
            self.pieces.find(Kind::Tool, scope, item, |piece| is_meant(piece, name.as_deref(), &phase));
        let found = found.map_err(|reason| if is_finish { Reason::Repeat } else { reason })?;
        let (at, is_new) = match found {
            Some(at) => (at, false),
            None if self.pieces.has_room(item) => {
                let name = name.clone().unwrap_or_else(|| UNKNOWN.to_owned());
                let (is_complete, is_started) = (false, false);
                let piece = ToolPiece { id: mint(), name, is_complete, is_started, output: None };
                (self.pieces.add(Kind::Tool, scope, item, Content::Tool(piece)), true)
            }
            None => return Err(Reason::TooMany),
        };
        let Content::Tool(piece) = &mut self.pieces.get(at).content else { return Ok(()) };
        if let Some(name) = name.filter(|_| piece.name == UNKNOWN) {
            piece.name = name;
        }
        if !matches!(phase, Phase::Call { .. }) {
            piece.begin(scope, is_new, matches!(phase, Phase::Started), out)?;
        }
        match phase {
            Phase::Call { args, complete } => return piece.call(scope, args, complete, redactor, out),
            Phase::Started => {}
            Phase::Updated { text: Some(text), .. } => {
                let output = piece.output.get_or_insert_with(|| Stream::new(redactor));
                let text = output.take(&text)?;
                piece.update(scope, text, out);
            }
            Phase::Updated { text: None, partial } => {
                let Bounded { value, truncated } = values::bounded(redactor, partial);
                out.push(Body::ToolExecutionUpdated {
                    place: piece.place(scope),
                    partial_result: value,
                    truncated,
                });
            }
            Phase::Finished { result, is_error } => {
                let result = values::bounded(redactor, result);
                let piece = self.pieces.end(at);
                close(piece, (result, is_error, false), out);
            }
        }
        Ok(())
    }
}

/// Ends a call that nobody ended: as an error.
pub(super) fn abandon(piece: Piece, out: &mut Said) {
    if let Piece { scope, content: Content::Tool(tool), .. } = &piece
        && !tool.is_started
    {
        out.push(Body::ToolExecutionStarted { place: tool.place(*scope), inferred: true });
    }
    close(piece, (Bounded::default(), true, true), out);
}

fn close(piece: Piece, (result, is_error, inferred): (Bounded, bool, bool), out: &mut Said) {
    let Piece { scope, content: Content::Tool(mut tool), .. } = piece else { return };
    if let Some(output) = tool.output.take() {
        tool.update(scope, output.finish(), out);
    }
    let Bounded { value: result, truncated } = result;
    out.push(Body::ToolExecutionFinished { place: tool.place(scope), result, is_error, truncated, inferred });
}

/// Whether a call without an id is the one that something is said of: the oldest of its tool that can be.
fn is_meant(piece: &Piece, name: Option<&str>, phase: &Phase) -> bool {
    let Content::Tool(tool) = &piece.content else { return false };
    let is_named = name.is_none_or(|name| tool.name == name || tool.name == UNKNOWN);
    let can_be = match phase {
        Phase::Call { .. } => !tool.is_complete && !tool.is_started,
        Phase::Started => !tool.is_started,
        Phase::Updated { .. } | Phase::Finished { .. } => true,
    };
    is_named && can_be
}

impl ToolPiece {
    fn place(&self, scope: usize) -> ToolPlace {
        ToolPlace {
            scope: Turn::scope_name(scope),
            tool_call_id: self.id.clone(),
            tool_name: self.name.clone(),
        }
    }

    /// The arguments, as far as they go.
    fn call(
        &mut self,
        scope: usize,
        args: Option<Json>,
        complete: bool,
        redactor: &Arc<Redactor>,
        out: &mut Said,
    ) -> Result<(), Reason> {
        if self.is_complete {
            return Err(Reason::Repeat);
        }
        if self.is_started {
            return Err(Reason::Late);
        }
        self.is_complete = complete;
        let args = if complete { values::bounded(redactor, args) } else { values::open(redactor, args) };
        let (place, Bounded { value: args, truncated }) = (self.place(scope), args);
        out.push(Body::ToolCall { place, args, args_complete: complete, truncated, inferred: false });
        Ok(())
    }

    /// Makes sure that it was called and started. `is_said`: somebody says that it starts.
    fn begin(&mut self, scope: usize, is_new: bool, is_said: bool, out: &mut Said) -> Result<(), Reason> {
        if is_new {
            out.push(Body::ToolCall {
                place: self.place(scope),
                args: None,
                args_complete: false,
                truncated: false,
                inferred: true,
            });
        }
        if !self.is_started {
            self.is_started = true;
            out.push(Body::ToolExecutionStarted { place: self.place(scope), inferred: !is_said });
            return Ok(());
        }
        if is_said { Err(Reason::Repeat) } else { Ok(()) }
    }

    fn update(&self, scope: usize, text: String, out: &mut Said) {
        if !text.is_empty() {
            out.push(Body::ToolExecutionUpdated {
                place: self.place(scope),
                partial_result: Some(Json::Text(text)),
                truncated: false,
            });
        }
    }
}
