//! Text that comes in deltas, or again and again as a whole.
//!
//! Input: pieces of one text. Output: what of it can be shown next, redacted as the one stream that it is.
//! Invariant: memory does not grow with the text. Never: shows the same part twice, or goes back.

use std::hash::Hasher as _;
use std::sync::Arc;

use siphasher::sip::SipHasher13;

use super::drops::Reason;
use super::input::Text;
use crate::redact::{Redactor, StreamRedactor};

/// See the module.
#[derive(Debug)]
pub(super) struct Stream {
    /// Bytes so far, and the hash of them: a cumulative text is known by these.
    length: usize,
    hash: SipHasher13,
    /// The first half of a character whose second half is to come.
    half: Option<u16>,
    redactor: StreamRedactor,
}

impl Stream {
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        let redactor = StreamRedactor::new(Arc::clone(redactor));
        Self { length: 0, hash: SipHasher13::new(), half: None, redactor }
    }

    pub(super) fn set_redactor(&mut self, redactor: &Arc<Redactor>) {
        self.redactor.set_redactor(Arc::clone(redactor));
    }

    /// Takes the next text; what can be shown now.
    pub(super) fn take(&mut self, text: &Text) -> Result<String, Reason> {
        match text {
            Text::Delta(delta) if self.half.is_none() => Ok(self.append(delta)),
            Text::Delta(delta) => Ok(self.units(delta.encode_utf16())),
            Text::Units(units) => Ok(self.units(units.iter().copied())),
            Text::Cumulative(whole) => match self.rest_of(whole) {
                Some("") if self.length > 0 => Err(Reason::Repeat),
                Some(rest) => Ok(self.append(rest)),
                None if whole.len() < self.length => Err(Reason::Repeat),
                None => Err(Reason::Diverged),
            },
        }
    }

    /// What of `whole` is new, where it begins with what is known.
    pub(super) fn rest_of<'t>(&self, whole: &'t str) -> Option<&'t str> {
        let (known, rest) = whole.split_at_checked(self.length)?;
        let mut hash = SipHasher13::new();
        hash.write(known.as_bytes());
        (hash.finish() == self.hash.finish()).then_some(rest)
    }

    /// Ends the text; the rest of what can be shown.
    pub(super) fn finish(mut self) -> String {
        let mut rest = match self.half.take() {
            Some(_) => self.append("\u{FFFD}"),
            None => String::new(),
        };
        rest.push_str(&self.redactor.finish());
        rest
    }

    fn append(&mut self, text: &str) -> String {
        self.length += text.len();
        self.hash.write(text.as_bytes());
        self.redactor.push(text)
    }

    fn units(&mut self, units: impl Iterator<Item = u16>) -> String {
        let units: Vec<u16> = self.half.take().into_iter().chain(units).collect();
        let is_open = units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit));
        let whole = &units[..units.len() - usize::from(is_open)];
        self.half = is_open.then(|| units[units.len() - 1]);
        self.append(&String::from_utf16_lossy(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(&Arc::new(Redactor::default()))
    }

    fn cumulative(text: &str) -> Text {
        Text::Cumulative(text.to_owned())
    }

    #[test]
    fn a_cumulative_text_gives_what_is_new() {
        let mut stream = stream();
        let mut shown = stream.take(&cumulative("one two ")).unwrap();
        shown += &stream.take(&cumulative("one two three ")).unwrap();
        assert_eq!(stream.take(&cumulative("one two three ")), Err(Reason::Repeat));
        assert_eq!(stream.take(&cumulative("one ")), Err(Reason::Repeat));
        assert_eq!(stream.take(&cumulative("one, two, three, four")), Err(Reason::Diverged));
        shown += &stream.take(&Text::Delta("four ".to_owned())).unwrap();
        assert_eq!(stream.rest_of("one two three four five"), Some("five"));
        shown += &stream.finish();
        assert_eq!(shown, "one two three four ");
    }

    #[test]
    fn a_character_cut_in_two_is_one() {
        let units: Vec<u16> = "a\u{1F600}b".encode_utf16().collect();
        for cut in 0..=units.len() {
            let mut stream = stream();
            let mut shown = stream.take(&Text::Units(units[..cut].to_vec())).unwrap();
            shown += &stream.take(&Text::Units(units[cut..].to_vec())).unwrap();
            shown += &stream.take(&Text::Delta("c ".to_owned())).unwrap();
            shown += &stream.finish();
            assert_eq!(shown, "a\u{1F600}bc ", "{cut}");
        }
        let mut open = stream();
        let shown = open.take(&Text::Units(vec![0xD83D])).unwrap();
        assert_eq!(shown + &open.finish(), "\u{FFFD}");
    }
}
