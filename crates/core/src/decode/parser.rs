//! The schema-v1 JSONL parser (contract section 5).
//!
//! Input: chunks of a JSON Lines stream. Output: its events in order; faults as diagnostics.
//! Invariant: every valid line around a bad one is delivered. Never: buffers more than one line.

use super::diagnostics::{DiagnosticCode, DiagnosticLog};
use super::frame::{Frame, Framer};
use super::validate::validate;
use crate::contract::event::EventFault;
use crate::contract::identity::trim;
use crate::contract::limits::LINE_BYTES;
use crate::contract::{Event, Refusal};
use crate::json::JsonFault;
use crate::reconcile::JournalLine;

/// See the module.
#[derive(Debug)]
pub struct JsonlParser {
    framer: Framer,
    diagnostics: DiagnosticLog,
}

impl Default for JsonlParser {
    fn default() -> Self {
        Self::new(LINE_BYTES)
    }
}

impl JsonlParser {
    /// Lines with more than `max_line_bytes` bytes are dropped and reported.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self { framer: Framer::new(max_line_bytes), diagnostics: DiagnosticLog::default() }
    }

    /// Takes the next bytes and hands every event they complete to `emit`, with its line's offset and length.
    pub fn push(&mut self, chunk: &[u8], emit: &mut impl FnMut(Event<'_>, (u64, u64))) {
        let Self { framer, diagnostics } = self;
        framer.push(chunk, &mut |frame| take(&frame, diagnostics, Event::from_json, emit));
    }

    /// As [`push`](Self::push), for a stream that may be a journal: each event comes with what the journal adds to it.
    pub fn push_journal(&mut self, chunk: &[u8], emit: &mut impl FnMut(JournalLine<'_>, (u64, u64))) {
        let Self { framer, diagnostics } = self;
        framer.push(chunk, &mut |frame| take(&frame, diagnostics, JournalLine::from_json, emit));
    }

    /// Ends the stream; bytes left over are reported.
    pub fn end(&mut self) {
        let Self { framer, diagnostics } = self;
        framer.end(&mut |frame| take(&frame, diagnostics, Event::from_json, &mut |_, _| {}));
    }

    /// What was wrong so far.
    #[must_use]
    pub fn diagnostics(&self) -> &DiagnosticLog {
        &self.diagnostics
    }

    /// What was wrong since this was last called, which forgets it.
    pub fn take_diagnostics(&mut self) -> DiagnosticLog {
        std::mem::take(&mut self.diagnostics)
    }

    /// Bytes held of a line that no LF has ended yet.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.framer.pending()
    }
}

fn take<'f, T>(
    frame: &Frame<'f>,
    log: &mut DiagnosticLog,
    read: impl Fn(&'f [u8]) -> Result<T, EventFault>,
    emit: &mut impl FnMut(T, (u64, u64)),
) {
    let Some((bytes, place)) = line(frame, log) else { return };
    match read(bytes) {
        Ok(event) => emit(event, place),
        Err(EventFault::Json(fault)) => log_json_fault(log, fault, place, bytes),
        Err(EventFault::Refused(Refusal { path, message, .. })) => {
            log.add(DiagnosticCode::InvalidEvent, format!("{path}: {message}"), place, bytes, false);
        }
    }
}

/// The content of a frame that may be a record, with its place; every other frame is reported, or blank.
pub fn line<'a>(frame: &Frame<'a>, log: &mut DiagnosticLog) -> Option<(&'a [u8], (u64, u64))> {
    match *frame {
        Frame::Line { offset, length, bytes, padding } => {
            let place = (offset, length);
            let blank = bytes.first() != Some(&b'{')
                && std::str::from_utf8(bytes).is_ok_and(|text| trim(text).is_empty());
            if padding > 0 && blank {
                let message = format!("the line is {padding} NUL bytes, as a crash leaves them");
                log.add(DiagnosticCode::Malformed, message, place, b"", false);
            } else if padding > 0 && is_json(bytes) {
                let message = format!(
                    "{padding} NUL bytes at the end of the line were dropped; what stands before them was read"
                );
                log.add(DiagnosticCode::NulPadding, message, place, b"", false);
            }
            (!blank).then_some((bytes, place))
        }
        Frame::Oversize { offset, length, head } => {
            let message = format!("the line of {length} bytes is beyond the limit and was dropped");
            log.add(DiagnosticCode::Oversize, message, (offset, length), head, true);
            None
        }
        Frame::Unterminated { offset, length, bytes, padding } => {
            if padding > 0 || !std::str::from_utf8(bytes).is_ok_and(|text| trim(text).is_empty()) {
                let message = "the stream ends inside this line; it was not taken for a record";
                log.add(DiagnosticCode::Truncated, message, (offset, length), bytes, true);
            }
            None
        }
    }
}

fn is_json(bytes: &[u8]) -> bool {
    simdutf8::basic::from_utf8(bytes).is_ok() && validate(bytes).is_ok()
}

/// Reports a line that is not JSON.
pub fn log_json_fault(log: &mut DiagnosticLog, fault: JsonFault, place: (u64, u64), bytes: &[u8]) {
    let (code, message) = match fault {
        JsonFault::InvalidUtf8 => (DiagnosticCode::InvalidUtf8, "the line is not UTF-8"),
        JsonFault::TooDeep => (DiagnosticCode::TooDeep, "the line is nested more than 512 levels deep"),
        JsonFault::Malformed => (DiagnosticCode::Malformed, "the line is not JSON"),
    };
    log.add(code, message, place, bytes, false);
}
