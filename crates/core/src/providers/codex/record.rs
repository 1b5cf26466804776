//! One line of a journal, as far as anything here reads it.
//!
//! Input: the bytes of a line. Output: a borrowed [`Record`], lent to a closure. Invariant: a lone surrogate reads as U+FFFD; a line
//! without an envelope is read as the response item that it is. Never: loses a record for one odd member.

use std::borrow::Cow;

use super::shapes::{Envelope, Payload};
use super::types::known;
use crate::json::{self, JsonFault, Scalar};
use crate::providers::RecordFault;
use crate::providers::shape::Shape;

/// Reads `line` (without its line end) and lends the record to `use_it`.
pub(super) fn read<T>(line: &[u8], use_it: impl FnOnce(&Record<'_>) -> T) -> Result<T, RecordFault> {
    let text = json::check(line)?;
    if let Ok(record) = Record::parse(text) {
        return record.as_ref().map(use_it).ok_or(RecordFault::NotAnObject);
    }
    let (repaired, repair) = json::repair(text).ok_or(JsonFault::Malformed)?;
    let repaired = repair.display(Cow::Owned(repaired));
    let record = Record::parse(&repaired).map_err(|_| JsonFault::Malformed)?;
    record.as_ref().map(use_it).ok_or(RecordFault::NotAnObject)
}

/// One record.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// The type of the envelope; a record without one is a `response_item`, or the `session_meta` that has no type.
    kind: Cow<'a, str>,
    timestamp: Scalar<'a>,
    /// Whether there was no envelope.
    pub(super) is_bare: bool,
    pub(super) payload: Payload<'a>,
}

impl<'a> Record<'a> {
    fn parse(text: &'a str) -> Result<Option<Self>, serde_json::Error> {
        let Shape(Some(envelope)) = json::from_text::<Shape<Envelope<'_>>>(text)? else {
            return Ok(None);
        };
        let Envelope { kind, timestamp, payload } = envelope;
        if let Shape(Some(payload)) = payload {
            let kind = kind.into_text().unwrap_or_default();
            return Ok(Some(Self { kind, timestamp, is_bare: false, payload }));
        }
        // Only old journals come here, so only they are read twice.
        let Shape(payload) = json::from_text::<Shape<Payload<'_>>>(text)?;
        let payload = payload.unwrap_or_default();
        let of_payload = payload.kind.text();
        let kind = match of_payload {
            None if payload.record_type.text() == Some("state") => "state",
            None if filled(&payload.id).is_some() => "session_meta",
            Some(word) if known(word, None).is_some() || word == "event_msg" => "",
            _ => "response_item",
        };
        Ok(Some(Self { kind: Cow::Borrowed(kind), timestamp, is_bare: true, payload }))
    }

    /// Its time as written.
    pub(super) fn timestamp(&self) -> Option<&str> {
        self.timestamp.text()
    }

    /// Its type as this provider names it, where it is a known one.
    pub(super) fn known_type(&self) -> Option<&'static str> {
        known(&self.kind, self.payload.kind.text())
    }
}

/// The text of a member, where it is text and not blank.
pub(super) fn filled<'a>(member: &'a Scalar<'_>) -> Option<&'a str> {
    member.text().filter(|text| !text.trim().is_empty())
}
