//! One line of a journal: an event, the time of its receipt where that is known, and its number.
//!
//! Input: an event to be written, or the bytes of a line. Output: [`Draft`] or [`Entry`].
//! Invariant: a draft written with its number is read back as the same event with that number.

use std::sync::LazyLock;

use agent_lifecycle_core::contract::event::EventFault;
use agent_lifecycle_core::contract::limits::SAFE_INTEGER;
use agent_lifecycle_core::contract::{Code, Event, Moment, Refusal};
use agent_lifecycle_core::json::JsonFault;
use agent_lifecycle_core::reconcile::JournalLine;
use memchr::memmem::Finder;

static RECEIPT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"receivedAt"));
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u"));

/// The member that numbers a line.
const SEQUENCE: &[u8] = b",\"journalSequence\":";
const RECEIVED_AT: &[u8] = b",\"receivedAt\":\"";

/// An event that is to be written: its line without the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft(String);

impl Draft {
    /// The line of `event`, received at `received_at`.
    #[must_use]
    pub fn new(event: &Event<'_>, received_at: Option<Moment>) -> Self {
        let mut text = event.to_json();
        // The brace that ends the event comes again behind what is added.
        text.pop();
        if let Some(received_at) = received_at {
            text.push_str(",\"receivedAt\":\"");
            text.push_str(&received_at.to_text());
            text.push('"');
        }
        Self(text)
    }

    /// Its JSON text with the number that it got.
    #[must_use]
    pub fn numbered(&self, sequence: u64) -> String {
        let mut text = String::with_capacity(self.0.len() + 40);
        self.write(sequence, &mut text);
        text
    }

    /// Bytes of its line, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.len() + 40
    }

    pub(super) fn write(&self, sequence: u64, out: &mut String) {
        use std::fmt::Write;
        out.push_str(&self.0);
        let _ = write!(out, ",\"journalSequence\":{sequence}}}");
    }
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The event.
    pub event: Event<'a>,
    /// Its number.
    pub sequence: u64,
    /// When it was received, where the writer said so.
    pub received_at: Option<Moment>,
}

/// Why a line is no entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LineFault {
    NotEvent(EventFault),
    /// It is an event without a number, or one that is no safe integer of 0 or more.
    NoSequence,
}

impl LineFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NotEvent(EventFault::Json(JsonFault::InvalidUtf8)) => "invalid_utf8",
            Self::NotEvent(EventFault::Json(JsonFault::TooDeep)) => "too_deep",
            Self::NotEvent(EventFault::Json(JsonFault::Malformed)) => "malformed",
            Self::NotEvent(EventFault::Refused(_)) => "invalid_event",
            Self::NoSequence => "no_sequence",
        }
    }

    pub(super) fn message(self) -> String {
        match self {
            Self::NotEvent(fault) => Refusal::from(fault).to_string(),
            Self::NoSequence => "the line has no journalSequence, an integer of 0 or more".to_owned(),
        }
    }
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Result<Entry<'_>, LineFault> {
    let event = Event::from_json(line).map_err(LineFault::NotEvent)?;
    let (sequence, received_at) = numbers(line)?;
    Ok(Entry { event, sequence, received_at })
}

/// The number of a line that is an event, and its receipt.
fn numbers(line: &[u8]) -> Result<(u64, Option<Moment>), LineFault> {
    if let Some(numbers) = quick(line) {
        return Ok(numbers);
    }
    match JournalLine::from_json(line) {
        Ok(JournalLine { journal_sequence: Some(sequence), received_at, .. }) => Ok((sequence, received_at)),
        Ok(_) => Err(LineFault::NoSequence),
        Err(EventFault::Refused(refusal)) if refusal.code == Code::InvalidSequence => {
            Err(LineFault::NoSequence)
        }
        Err(fault) => Err(LineFault::NotEvent(fault)),
    }
}

/// Writes the bytes of an event under another number. Of two members with one name the last counts, so that a number which does not
/// stand at the end can stay where it is.
pub(super) fn renumber(line: &[u8], sequence: u64, out: &mut String) {
    use std::fmt::Write;
    // An event is valid UTF-8, so that nothing is replaced here.
    let text = String::from_utf8_lossy(line);
    let body = text.trim_end();
    let body = body.strip_suffix('}').unwrap_or(body);
    let without_digits = body.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let body = without_digits.strip_suffix(",\"journalSequence\":").unwrap_or(body);
    out.push_str(body);
    let _ = write!(out, ",\"journalSequence\":{sequence}}}");
}

/// The number and the receipt where they stand at the end, as this package writes them. In valid JSON the text
/// `,"journalSequence":5}` at the end is always the last member of the outermost object.
fn quick(line: &[u8]) -> Option<(u64, Option<Moment>)> {
    let body = line.strip_suffix(b"}")?;
    let digits = body.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, digits) = body.split_at(body.len() - digits);
    let rest = rest.strip_suffix(SEQUENCE)?;
    let sequence = std::str::from_utf8(digits).ok()?.parse().ok().filter(|number| *number <= SAFE_INTEGER)?;
    // A receipt may stand anywhere, or be spelled with escapes; a line without either has none.
    if RECEIPT.find(rest).is_none() && ESCAPE.find(rest).is_none() {
        return Some((sequence, None));
    }
    let open = rest.strip_suffix(b"\"")?.iter().rposition(|&byte| byte == b'"')?;
    let text = std::str::from_utf8(&rest[open + 1..rest.len() - 1]).ok()?;
    if !rest[..=open].ends_with(RECEIVED_AT) || text.contains('\\') {
        return None;
    }
    Some((sequence, Some(Moment::parse(text)?)))
}

#[cfg(test)]
mod tests {
    use agent_lifecycle_core::contract::{Event, Moment};

    use super::{Draft, LineFault, quick, read, renumber};

    const EVENT: &str = r#"{"schemaVersion":1,"eventId":"e","source":"s","sourceEpoch":"1","childId":"c","lineage":{"rootChildId":"c","attempt":0,"external":false},"kind":"heartbeat","observedAt":"2026-01-01T00:00:00Z","capabilities":{"history":"unknown","heartbeat":"unknown","snapshot":"unknown","cancel":"unknown","terminalCause":"unknown"}"#;

    fn with(rest: &str) -> String {
        format!("{EVENT}{rest}}}")
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = with("");
        let event = Event::from_json(text.as_bytes()).expect("an event");
        let at = Moment::parse("2026-01-02T03:04:05.678Z");
        for received_at in [None, at] {
            let line = Draft::new(&event, received_at).numbered(7);
            assert!(quick(line.as_bytes()).is_some());
            let entry = read(line.as_bytes()).expect("an entry");
            assert_eq!((entry.event, entry.sequence, entry.received_at), (event.clone(), 7, received_at));
        }
        assert_eq!(Draft::new(&event, None).numbered(7), with(",\"journalSequence\":7"));
    }

    #[test]
    fn another_number_changes_nothing_else() {
        for rest in [
            "",
            r#","journalSequence":3"#,
            r#","journalSequence": 3"#,
            r#","journalSequence":"x","more":[1]"#,
            r#","receivedAt":"2026-01-02T00:00:00Z","journalSequence":3"#,
        ] {
            let mut text = String::new();
            renumber(format!("{} \r", with(rest)).as_bytes(), 8, &mut text);
            let entry = read(text.as_bytes()).expect("an entry");
            assert_eq!(entry.sequence, 8, "{text}");
            assert_eq!(entry.received_at.is_some(), rest.contains("receivedAt"));
            assert_eq!(text.contains("more"), rest.contains("more"));
        }
        let mut text = String::new();
        renumber(with(r#","journalSequence":3"#).as_bytes(), 8, &mut text);
        assert_eq!(text, with(r#","journalSequence":8"#));
    }

    #[test]
    fn numbers_as_others_write_them() {
        let at = Moment::parse("2026-01-02T00:00:00Z");
        for (rest, expected) in [
            (r#","journalSequence": 7"#, Some((7, None))),
            (r#","journalSequence":7,"other":1"#, Some((7, None))),
            (r#","journalSequence":7e0"#, Some((7, None))),
            (r#","journalSequence":6,"journalSequence":7"#, Some((7, None))),
            (r#","journalSequence":9007199254740991"#, Some((9_007_199_254_740_991, None))),
            (r#","journalSequence":9007199254740992"#, None),
            (r#","journalSequence":-1"#, None),
            (r#","journalSequence":1.5"#, None),
            (r#","journalSequence":"7""#, None),
            (r#","x":{"journalSequence":7}"#, None),
            (r#","receivedAt":"2026-01-02T00:00:00Z","journalSequence":7"#, Some((7, at))),
            (r#","journalSequence":7,"receivedAt":"2026-01-02T00:00:00Z""#, Some((7, at))),
            (r#","received\u0041t":"2026-01-02T00:00:00Z","journalSequence":7"#, Some((7, at))),
            (r#","x":{"a":1,"receivedAt":"2026-01-02T00:00:00Z"},"journalSequence":7"#, Some((7, None))),
            (r#","x":",\"receivedAt\":\"2026-01-02T00:00:00Z","journalSequence":7"#, Some((7, None))),
            ("", None),
        ] {
            let line = with(rest);
            let entry = read(line.as_bytes()).map(|entry| (entry.sequence, entry.received_at));
            assert_eq!(entry.as_ref().ok(), expected.as_ref(), "{rest}");
            if expected.is_none() {
                assert_eq!(entry, Err(LineFault::NoSequence), "{rest}");
            }
        }
        let line = with(r#","receivedAt":"soon","journalSequence":7"#);
        assert_eq!(read(line.as_bytes()).expect_err("no time").code(), "invalid_event");
    }
}
