//! Messages and reasoning of a turn.
//!
//! Input: texts of a piece, and its end. Output: deltas, and at the end the whole message. Invariant: the message is its deltas joined,
//! unless it was revised or cut, and a cut one says so. Never: a delta after the end.

use std::sync::Arc;

use super::Said;
use super::drops::Reason;
use super::input::{Place, Text};
use super::pieces::{Content, Kind, Piece};
use super::stream::Stream;
use super::turn::Turn;
use crate::redact::Redactor;
use crate::runtime::semantic::{Body, TextPlace};

/// Bytes of text that are kept of one turn's open messages, and that one message has at most.
pub const TEXT_BYTES: usize = 1 << 20;

/// A message or a piece of reasoning.
#[derive(Debug)]
pub(super) struct TextPiece {
    index: u64,
    pub(super) stream: Stream,
    has_text: bool,
    kept: Kept,
}

/// What is kept of a message: what was shown, as far as there was room.
#[derive(Debug, Default)]
struct Kept {
    text: String,
    is_cut: bool,
}

/// What ends a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The harness said so.
    Said,
    /// Its turn is done, so nothing of it is missing.
    TurnDone,
    /// Its turn ended in its middle.
    TurnCut,
}

impl Turn {
    /// Something of a message, or of reasoning.
    pub(super) fn text(
        &mut self,
        place: &Place,
        kind: Kind,
        (text, done): (Option<&Text>, bool),
        redactor: &Arc<Redactor>,
        out: &mut Said,
    ) -> Result<(), Reason> {
        let scope = self.scope(place.scope.as_deref())?;
        let item = place.item.as_ref();
        let found = self.pieces.find(kind, scope, item, |_| true);
        let at = match found.map_err(|reason| if done { Reason::Repeat } else { reason })? {
            Some(at) => at,
            None if self.pieces.has_room(item) => {
                let index = self.contents;
                self.contents += 1;
                let (stream, kept) = (Stream::new(redactor), Kept::default());
                if kind == Kind::Reasoning {
                    out.push(Body::ReasoningStarted { place: text_place(scope, index) });
                }
                let piece = TextPiece { index, stream, has_text: false, kept };
                self.pieces.add(kind, scope, item, Content::Text(piece))
            }
            None => return Err(Reason::TooMany),
        };
        let Content::Text(piece) = &mut self.pieces.get(at).content else { return Ok(()) };
        let mut next = text.cloned();
        if let (true, Kind::Message, Some(Text::Cumulative(whole))) = (done, kind, text) {
            // The message as it counts. Without deltas before it, or where they were something else, it has none now.
            let Some(rest) = piece.stream.rest_of(whole).filter(|_| piece.has_text) else {
                let piece = self.pieces.end(at);
                self.close_with(piece, &redactor.text(whole), out);
                return Ok(());
            };
            next = Some(Text::Delta(rest.to_owned()));
        }
        match next.map(|next| piece.stream.take(&next)) {
            Some(Ok(taken)) => {
                piece.has_text = true;
                self.show(at, taken, out);
            }
            Some(Err(reason)) if !done => return Err(reason),
            Some(Err(_)) | None => {}
        }
        if done {
            let piece = self.pieces.end(at);
            self.close_text(piece, End::Said, out);
        }
        Ok(())
    }

    /// Ends a message or reasoning with what came of it.
    pub(super) fn close_text(&mut self, piece: Piece, end: End, out: &mut Said) {
        let Piece { kind, scope, content: Content::Text(piece), .. } = piece else { return };
        let TextPiece { index, stream, has_text, mut kept } = piece;
        let place = text_place(scope, index);
        let room = TEXT_BYTES - self.kept;
        self.kept -= kept.text.len();
        let rest = stream.finish();
        if !rest.is_empty() {
            if kind == Kind::Message {
                kept.add(&rest, room);
            }
            out.push(delta(kind, place.clone(), rest));
        }
        if kind == Kind::Reasoning {
            out.push(Body::ReasoningFinished { place });
        } else if has_text || end == End::Said {
            let truncated = kept.is_cut || end == End::TurnCut;
            out.push(Body::AssistantMessage { place, text: kept.text, truncated });
        }
    }

    /// Ends a message with the text that counts.
    fn close_with(&mut self, piece: Piece, text: &str, out: &mut Said) {
        let Piece { scope, content: Content::Text(piece), .. } = piece else { return };
        self.kept -= piece.kept.text.len();
        let kept = &text[..text.floor_char_boundary(TEXT_BYTES)];
        let (place, truncated) = (text_place(scope, piece.index), kept.len() < text.len());
        out.push(Body::AssistantMessage { place, text: kept.to_owned(), truncated });
    }

    /// Says the next of a text, and keeps it as far as there is room.
    fn show(&mut self, at: usize, text: String, out: &mut Said) {
        let Piece { kind, scope, content: Content::Text(piece), .. } = self.pieces.get(at) else { return };
        if text.is_empty() {
            return;
        }
        if *kind == Kind::Message {
            self.kept += piece.kept.add(&text, TEXT_BYTES - self.kept);
        }
        out.push(delta(*kind, text_place(*scope, piece.index), text));
    }
}

impl Kept {
    /// Keeps what there is room for; how many bytes that is.
    fn add(&mut self, text: &str, room: usize) -> usize {
        let kept = if self.is_cut { "" } else { &text[..text.floor_char_boundary(room)] };
        self.is_cut |= kept.len() < text.len();
        self.text.push_str(kept);
        kept.len()
    }
}

fn text_place(scope: usize, content_index: u64) -> TextPlace {
    TextPlace { scope: Turn::scope_name(scope), content_index }
}

fn delta(kind: Kind, place: TextPlace, text: String) -> Body {
    match kind {
        Kind::Reasoning => Body::ReasoningDelta { place, text },
        _ => Body::AssistantDelta { place, text },
    }
}
