//! The records of a JSONL stream, as texts for the JSON parser of a JavaScript engine.
//!
//! Input: chunks of any size. Output: the text of each record, in order, in the form in which engines hold text, and faults.
//! Invariant: the records do not depend on how the stream was chunked. Never: makes a value of a record.
//!
//! Without a [selection](Select), whether a text is JSON is left to the parser that reads it anyway: it tells this decoder what
//! it [refused](RecordDecoder::refuse).

use siphasher::sip::SipHasher13;

use super::diagnostics::{DiagnosticCode, DiagnosticLog};
use super::frame::{Frame, Framer};
use super::parser::{line, log_json_fault};
use super::select::Select;
use crate::contract::limits::LINE_BYTES;
use crate::json::{JsonFault, is_too_deep};

/// The texts of a push. A record is in one of them as a whole.
#[derive(Debug, Default)]
pub struct Batch {
    /// The records that are ASCII, one behind the other.
    narrow: Vec<u8>,
    /// The others, in UTF-16.
    wide: Vec<u16>,
    lines: Vec<Line>,
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
struct Line {
    is_wide: bool,
    /// Where its text ends in `narrow` or in `wide`.
    end: usize,
    /// Its line's offset and length in the stream.
    place: (u64, u64),
}

impl Batch {
    /// The records that are ASCII, one behind the other.
    #[must_use]
    pub fn narrow(&self) -> &[u8] {
        &self.narrow
    }

    /// The other records in UTF-16, one behind the other.
    #[must_use]
    pub fn wide(&self) -> &[u16] {
        &self.wide
    }

    /// For each record in order whether it is in `wide`, and where it ends there or in `narrow`.
    #[must_use]
    pub fn ends(&self) -> impl ExactSizeIterator<Item = (bool, usize)> {
        self.lines.iter().map(|line| (line.is_wide, line.end))
    }

    /// For each record in order its line's offset and length in the stream, and a hash of its bytes without keys.
    pub fn marks(&self) -> impl Iterator<Item = ((u64, u64), u64)> {
        let (mut narrow, mut wide) = (0, 0);
        self.lines.iter().map(move |line| {
            let from = std::mem::replace(if line.is_wide { &mut wide } else { &mut narrow }, line.end);
            let hash = if line.is_wide {
                SipHasher13::new().hash(String::from_utf16_lossy(&self.wide[from..line.end]).as_bytes())
            } else {
                SipHasher13::new().hash(&self.narrow[from..line.end])
            };
            (line.place, hash)
        })
    }

    fn clear(&mut self) {
        let Self { narrow, wide, lines } = self;
        lines.clear();
        narrow.clear();
        wide.clear();
        // One long line does not hold its memory for ever.
        narrow.shrink_to(LINE_BYTES);
        wide.shrink_to(LINE_BYTES);
    }

    fn add_narrow(&mut self, text: &[u8], place: (u64, u64)) {
        self.narrow.extend_from_slice(text);
        self.lines.push(Line { is_wide: false, end: self.narrow.len(), place });
    }

    fn add_wide(&mut self, text: &str, place: (u64, u64)) {
        let from = self.wide.len();
        // The converter wants room for one unit more than there are bytes.
        self.wide.resize(from + text.len() + 1, 0);
        let written = encoding_rs::mem::convert_str_to_utf16(text, &mut self.wide[from..]);
        self.wide.truncate(from + written);
        self.lines.push(Line { is_wide: true, end: self.wide.len(), place });
    }

    /// The text of a record as UTF-8, with its line's place.
    fn utf8(&self, index: usize) -> Option<(Vec<u8>, (u64, u64))> {
        let line = self.lines.get(index)?;
        let before = self.lines[..index].iter().rfind(|other| other.is_wide == line.is_wide);
        let text = before.map_or(0, |other| other.end)..line.end;
        let text = if line.is_wide {
            String::from_utf16_lossy(&self.wide[text]).into_bytes()
        } else {
            self.narrow[text].to_vec()
        };
        Some((text, line.place))
    }
}

/// What became of the lines of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were given out.
    pub records: u64,
    /// Bytes that were taken.
    pub bytes: u64,
    /// Valid records that the selection does not want.
    pub skipped: u64,
}

/// See the module.
#[derive(Debug)]
pub struct RecordDecoder {
    limit: usize,
    select: Option<Select>,
    framer: Framer,
    log: DiagnosticLog,
    counts: Counts,
    batch: Batch,
}

impl RecordDecoder {
    /// Records with more than `limit` bytes are dropped and reported.
    #[must_use]
    pub fn new(limit: usize, select: Option<Select>) -> Self {
        Self {
            limit,
            select,
            framer: Framer::new(limit),
            log: DiagnosticLog::of_last(),
            counts: Counts::default(),
            batch: Batch::default(),
        }
    }

    /// Begins a new stream: nothing of the old one is left, not its counts either.
    pub fn reset(&mut self) {
        *self = Self::new(self.limit, self.select.take());
    }

    /// Takes the next bytes; the records that they complete.
    pub fn push(&mut self, chunk: &[u8]) -> &Batch {
        let Self { select, framer, log, counts, batch, .. } = self;
        batch.clear();
        counts.bytes += chunk.len() as u64;
        framer.push(chunk, &mut |frame| take(&frame, select.as_ref(), log, counts, batch));
        &self.batch
    }

    /// Whether the stream is inside a line that is dropped, so that bytes without a line end may be [skipped](Self::skip).
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.framer.is_dropping()
    }

    /// Takes bytes without a line end of a line that is dropped.
    pub fn skip(&mut self, length: u64) {
        if self.is_dropping() {
            self.framer.skip(length);
            self.counts.bytes += length;
        }
    }

    /// The records of the last push.
    #[must_use]
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// A record of the last push is no JSON.
    pub fn refuse(&mut self, index: usize) {
        if let Some((text, place)) = self.batch.utf8(index) {
            self.counts.records -= 1;
            log_json_fault(&mut self.log, JsonFault::Malformed, place, &text);
        }
    }

    /// Ends the stream: bytes left over are reported, and no record.
    pub fn end(&mut self) {
        let Self { framer, log, .. } = self;
        framer.end(&mut |frame| {
            line(&frame, log);
        });
    }

    /// What became of the stream so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many lines had a fault of the kind.
    #[must_use]
    pub fn faults(&self, code: DiagnosticCode) -> u64 {
        self.log.counts().get(code.as_str()).copied().unwrap_or(0)
    }

    /// What was wrong, the last faults of it.
    #[must_use]
    pub fn diagnostics(&self) -> &DiagnosticLog {
        &self.log
    }
}

fn take(
    frame: &Frame<'_>,
    select: Option<&Select>,
    log: &mut DiagnosticLog,
    counts: &mut Counts,
    batch: &mut Batch,
) {
    let Some((bytes, place)) = line(frame, log) else { return };
    match judge(bytes, select) {
        Err(fault) => log_json_fault(log, fault, place, bytes),
        Ok(None) => counts.skipped += 1,
        Ok(Some(text)) => {
            counts.records += 1;
            match text {
                Text::Narrow(text) => batch.add_narrow(text, place),
                Text::Wide(text) => batch.add_wide(text, place),
            }
        }
    }
}

enum Text<'a> {
    Narrow(&'a [u8]),
    Wide(&'a str),
}

/// The text of a line, where it is wanted.
fn judge<'a>(bytes: &'a [u8], select: Option<&Select>) -> Result<Option<Text<'a>>, JsonFault> {
    let text = if bytes.is_ascii() {
        Text::Narrow(bytes)
    } else {
        Text::Wide(simdutf8::basic::from_utf8(bytes).map_err(|_| JsonFault::InvalidUtf8)?)
    };
    let is_wanted = match select {
        Some(select) => select.wants(bytes)?,
        None if is_too_deep(bytes) => return Err(JsonFault::TooDeep),
        None => true,
    };
    Ok(is_wanted.then_some(text))
}
