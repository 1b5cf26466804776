//! Warnings, errors that end no turn, and events of the harness that have no kind of their own.
//!
//! Input: a note. Output: what it says. Invariant: redacted and bounded. Never: a body of a provider as it came.

use super::input::Note;
use super::values;
use crate::redact::Redactor;
use crate::runtime::semantic::{Body, Bounded};

/// What a note says.
pub(super) fn said(note: Note, redactor: &Redactor) -> Body {
    let name = |code: Option<String>| code.map(|code| values::name(redactor, &code));
    match note {
        Note::Warning(code, message) => {
            Body::Warning { code: name(code), message: values::message(redactor, &message) }
        }
        Note::Error(code, message, details) => Body::Error {
            code: name(code),
            message: values::message(redactor, &message),
            details: values::bounded(redactor, details).value,
        },
        Note::Native(event, payload) => {
            let Bounded { value: payload, truncated } = values::bounded(redactor, payload);
            Body::NativeEvent { name: values::name(redactor, &event), payload, truncated }
        }
    }
}
