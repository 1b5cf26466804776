//! What an adapter's process writes on its output, as messages and noise.
//!
//! Input: bytes in chunks of any size. Output: lines that may be messages, and excerpts of those that cannot be.
//! Invariant: bounded by the limit of one message; the pieces do not depend on the chunks. Never: parses a message.

use agent_lifecycle_core::decode::{Frame, Framer};
use agent_lifecycle_core::redact::{Redactor, redact_excerpt};

/// UTF-16 units of an excerpt.
pub(super) const EXCERPT_UNITS: usize = 400;
/// Bytes of a line that an excerpt is made of.
const EXCERPT_BYTES: usize = 4096;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// It begins like an object.
    Message(&'a str),
    /// It cannot be a message.
    Noise(&'a [u8]),
}

/// The limit was crossed; nothing more can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// See the module.
pub(super) struct Lines {
    framer: Framer,
    limit: usize,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self { framer: Framer::new(limit), limit }
    }

    /// Takes the next bytes.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        emit: &mut (impl FnMut(Piece<'_>) + ?Sized),
    ) -> Result<(), TooLarge> {
        let mut outcome = Ok(());
        self.framer.push(chunk, &mut |frame| take(&frame, &mut outcome, emit));
        // A line of nothing but NUL bytes has no content; it may not grow for ever either. One byte for a CR.
        let most = u64::try_from(self.limit).unwrap_or(u64::MAX).saturating_add(1);
        if self.framer.is_dropping() || self.framer.pending() > most {
            outcome = Err(TooLarge);
        }
        outcome
    }

    /// The output has ended: what no newline ended is a line too.
    pub(super) fn end(&mut self, emit: &mut (impl FnMut(Piece<'_>) + ?Sized)) -> Result<(), TooLarge> {
        let mut outcome = Ok(());
        self.framer.end(&mut |frame| take(&frame, &mut outcome, emit));
        outcome
    }
}

fn take(frame: &Frame<'_>, outcome: &mut Result<(), TooLarge>, emit: &mut (impl FnMut(Piece<'_>) + ?Sized)) {
    if outcome.is_err() {
        return;
    }
    match frame {
        Frame::Oversize { .. } => *outcome = Err(TooLarge),
        Frame::Line { bytes, .. } | Frame::Unterminated { bytes, .. } => {
            let content = bytes.trim_ascii();
            match std::str::from_utf8(content) {
                _ if content.is_empty() => {}
                Ok(text) if text.starts_with('{') => emit(Piece::Message(text)),
                _ => emit(Piece::Noise(content)),
            }
        }
    }
}

/// What may be shown of a line: redacted, short, and without what would move a cursor.
pub(super) fn excerpt(line: &[u8], redactor: &Redactor) -> String {
    let is_cut = line.len() > EXCERPT_BYTES;
    let line = &line[..line.len().min(EXCERPT_BYTES)];
    // Registered secrets first: in an excerpt they may be cut.
    let text = String::from_utf8_lossy(line);
    let text = redactor.text(&text);
    inert(&redact_excerpt(text.as_bytes(), EXCERPT_UNITS, is_cut))
}

/// `text` with every control character but a newline or a tab replaced.
pub(super) fn inert(text: &str) -> String {
    let is_harmless = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\t');
    text.chars().map(|letter| if is_harmless(letter) { letter } else { '\u{FFFD}' }).collect()
}

#[cfg(test)]
mod tests {
    use agent_lifecycle_core::redact::Redactor;

    use super::{Lines, Piece, TooLarge, excerpt};

    fn read(limit: usize, chunks: &[&[u8]]) -> (Vec<String>, Result<(), TooLarge>) {
        let mut lines = Lines::new(limit);
        let mut pieces = Vec::new();
        let mut emit = |piece: Piece<'_>| {
            pieces.push(match piece {
                Piece::Message(text) => format!("message {text}"),
                Piece::Noise(bytes) => format!("noise {}", String::from_utf8_lossy(bytes)),
            });
        };
        let pushed = chunks.iter().try_for_each(|chunk| lines.push(chunk, &mut emit));
        let outcome = pushed.and_then(|()| lines.end(&mut emit));
        (pieces, outcome)
    }

    #[test]
    fn lines_are_messages_or_noise() {
        let stream =
            b"\xef\xbb\xbfhello\n{\"a\":1}\r\n\n  {\"b\":2} \n[1]\n\x1b[2K{\"c\":3}\n{\xff}\n{\"last\":1}";
        let expected = [
            "noise hello",
            "message {\"a\":1}",
            "message {\"b\":2}",
            "noise [1]",
            "noise \u{1b}[2K{\"c\":3}",
            "noise {\u{fffd}}",
            "message {\"last\":1}",
        ];
        for size in [1, 2, 3, 7, 1000] {
            let (pieces, outcome) = read(4096, &stream.chunks(size).collect::<Vec<_>>());
            assert_eq!(pieces, expected, "{size}");
            assert_eq!(outcome, Ok(()));
        }
    }

    #[test]
    fn the_limit_is_the_last_size_that_is_taken() {
        let line = |length: usize| format!("{{{}}}", " ".repeat(length - 2));
        let (limit, chunk) = (5000, 1024);
        for (length, end, is_taken) in [
            (5000, "\n", true),
            (5000, "\r\n", true),
            (5000, "", true),
            (5001, "\n", false),
            (5001, "", false),
            (9999, "", false),
        ] {
            let stream = line(length) + end;
            let (pieces, outcome) = read(limit, &stream.as_bytes().chunks(chunk).collect::<Vec<_>>());
            assert_eq!(
                (pieces.len(), outcome.is_ok()),
                (usize::from(is_taken), is_taken),
                "{length} {end:?}"
            );
            let (pieces, outcome) = read(limit, &[stream.as_bytes()]);
            assert_eq!(
                (pieces.len(), outcome.is_ok()),
                (usize::from(is_taken), is_taken),
                "{length} {end:?}"
            );
        }
        // Before its newline comes, and though NUL bytes are no content.
        let mut lines = Lines::new(limit);
        assert_eq!(lines.push(&vec![0; limit + 2], &mut |_| panic!("a piece")), Err(TooLarge));
    }

    #[test]
    fn what_comes_before_a_line_that_is_too_large_is_taken() {
        let stream = format!("{{}}\n{}\n{{}}\n", "x".repeat(6000));
        assert_eq!(read(5000, &[stream.as_bytes()]), (vec!["message {}".to_owned()], Err(TooLarge)));
    }

    #[test]
    fn excerpts_are_inert_short_and_redacted() {
        let redactor = Redactor::new(["zq7-Kx9vW3"]).unwrap();
        for (line, expected) in [
            (&b"\x1b[31mred\x07"[..], "\u{fffd}[31mred\u{fffd}"),
            (b"a zq7-Kx9vW3 b", "a [REDACTED] b"),
            (b"password=hunter2 now", "password=[REDACTED] now"),
        ] {
            assert_eq!(excerpt(line, &redactor), expected);
        }
        assert_eq!(excerpt(&b"ab ".repeat(5000), &redactor).len(), 400);
    }
}
