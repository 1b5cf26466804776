//! One line of a journal: an event, and what the journal adds to it.
//!
//! Input: the bytes of a line. Output: the event with its place in the journal and when it was received, or why it is none.
//! Never: takes a line without `journalSequence` for a journal's.

use std::borrow::Cow;

use crate::contract::event::EventFault;
use crate::contract::raw::{Nested, RawJournalLine};
use crate::contract::{Code, Event, Moment, Refusal};
use crate::json::{self, Scalar};

/// The member that makes a line one of a journal.
const MEMBER: &[u8] = b"\"journalSequence\"";

/// An event as a journal holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalLine<'a> {
    /// The event.
    pub event: Event<'a>,
    /// Its place in the journal; nothing where the line is of no journal.
    pub journal_sequence: Option<u64>,
    /// When it reached the program that wrote the journal.
    pub received_at: Option<Moment>,
}

/// Whether a line may be one of a journal; a quick look that is sometimes wrong, in that direction only.
#[must_use]
pub fn is_journal_line(line: &[u8]) -> bool {
    memchr::memmem::find(line, MEMBER).is_some()
}

impl<'a> JournalLine<'a> {
    /// The event in `line`, with what the journal adds.
    pub fn from_json(line: &'a [u8]) -> Result<Self, EventFault> {
        let event = Event::from_json(line)?;
        if !is_journal_line(line) {
            return Ok(Self { event, journal_sequence: None, received_at: None });
        }
        let refuse = |code, path, message: &str| Err(EventFault::Refused(Refusal::new(code, path, message)));
        let read = |text: &str, _| {
            let mut reader = serde_json::Deserializer::from_str(text);
            reader.disable_recursion_limit();
            let mut raw = Nested::<RawJournalLine<'_>>::default();
            serde::de::DeserializeSeed::deserialize(&mut raw, &mut reader)?;
            let Nested::Object(RawJournalLine { journal_sequence, received_at }) = raw else {
                return Ok((Scalar::Absent, Scalar::Absent));
            };
            Ok((owned(journal_sequence), owned(received_at)))
        };
        let (sequence, received_at) = json::read(line, read).map_err(EventFault::Json)?;
        let journal_sequence = match sequence {
            Scalar::Absent => None,
            given => match given.safe_integer() {
                None => {
                    let message = "journalSequence must be an integer from 0 to 9007199254740991";
                    return refuse(Code::InvalidSequence, "$.journalSequence", message);
                }
                sequence => sequence,
            },
        };
        let received_at = match received_at {
            Scalar::Absent => None,
            given => match given.text().and_then(Moment::parse) {
                None => {
                    let message = "receivedAt must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z, or absent";
                    return refuse(Code::InvalidTimestamp, "$.receivedAt", message);
                }
                moment => moment,
            },
        };
        Ok(Self { event, journal_sequence, received_at })
    }
}

fn owned(scalar: Scalar<'_>) -> Scalar<'static> {
    match scalar {
        Scalar::Absent => Scalar::Absent,
        Scalar::Null => Scalar::Null,
        Scalar::Bool(value) => Scalar::Bool(value),
        Scalar::Number(number) => Scalar::Number(number),
        Scalar::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
        Scalar::Container => Scalar::Container,
    }
}
