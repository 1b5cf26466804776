//! What is kept of an adapter's standard error: the beginning and the end.
//!
//! Input: bytes in chunks of any size. Output: one text. Invariant: redacted as one stream before it is cut, so that no cut shows a
//! part of a secret; bounded, whatever comes.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_lifecycle_core::redact::{Redactor, StreamRedactor};

use super::lines::inert;

/// Bytes kept of the beginning and of the end.
const HEAD: usize = 4 * 1024;
const TAIL: usize = 60 * 1024;

/// See the module.
pub(super) struct Stderr {
    redactor: StreamRedactor,
    /// The bytes of a character that a chunk has cut.
    cut: Vec<u8>,
    head: String,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Stderr {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor: StreamRedactor::new(redactor),
            cut: Vec::new(),
            head: String::new(),
            tail: VecDeque::new(),
            left_out: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.cut.extend_from_slice(chunk);
        let bytes = std::mem::take(&mut self.cut);
        let mut text = String::new();
        let mut rest = &bytes[..];
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(invalid) = error.error_len() else {
                        // The rest of the character may follow.
                        self.cut = after.to_vec();
                        break;
                    };
                    text.push('\u{FFFD}');
                    rest = &after[invalid..];
                }
            }
        }
        let shown = self.redactor.push(&text);
        self.keep(&shown);
    }

    /// Ends the stream; all that is kept of it.
    pub(super) fn finish(mut self) -> String {
        let mut rest = String::new();
        if !self.cut.is_empty() {
            rest = self.redactor.push("\u{FFFD}");
        }
        let redactor = std::mem::replace(&mut self.redactor, StreamRedactor::new(Arc::default()));
        rest.push_str(&redactor.finish());
        self.keep(&rest);
        let tail = Vec::from(self.tail);
        // The tail may begin within a character.
        let whole = tail.iter().position(|byte| byte & 0xC0 != 0x80).unwrap_or(tail.len());
        let tail = String::from_utf8_lossy(&tail[whole..]);
        let text = match self.left_out {
            0 => self.head + &tail,
            count => format!("{}\n[{count} bytes left out]\n{tail}", self.head),
        };
        inert(&text)
    }

    fn keep(&mut self, text: &str) {
        let room = if self.tail.is_empty() { HEAD - self.head.len() } else { 0 };
        let end = text.floor_char_boundary(room.min(text.len()));
        self.head.push_str(&text[..end]);
        self.tail.extend(&text.as_bytes()[end..]);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agent_lifecycle_core::redact::Redactor;

    use super::{HEAD, Stderr, TAIL};

    fn kept(chunks: &[&[u8]]) -> String {
        let redactor = Redactor::new(["zq7-Kx9vW3"]).unwrap();
        let mut stderr = Stderr::new(Arc::new(redactor));
        for chunk in chunks {
            stderr.push(chunk);
        }
        stderr.finish()
    }

    #[test]
    fn short_texts_are_kept_whole() {
        for (text, expected) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("\u{e9}\u{1F600}", "\u{e9}\u{1F600}"),
            ("\u{1b}[1m!", "\u{fffd}[1m!"),
            ("x zq7-Kx9vW3 y", "x [REDACTED] y"),
        ] {
            for size in [1, 2, 3, 1000] {
                assert_eq!(kept(&text.as_bytes().chunks(size).collect::<Vec<_>>()), expected, "{size}");
            }
        }
        assert_eq!(kept(&[b"a\xff\xe2\x82"]), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn of_long_ones_the_beginning_and_the_end() {
        let lines: String =
            (0..20_000).map(|number| "line ".to_owned() + &number.to_string() + "\n").collect();
        let text = kept(&lines.as_bytes().chunks(4096).collect::<Vec<_>>());
        assert!(text.starts_with("line 0\nline 1\n"));
        assert!(text.ends_with("line 19998\nline 19999\n"));
        let left_out = lines.len() - HEAD - TAIL;
        assert!(text.contains(&format!("\n[{left_out} bytes left out]\n")), "{left_out}");
        assert!(text.len() < HEAD + TAIL + 64);
    }

    #[test]
    fn a_cut_shows_no_part_of_a_secret() {
        // Wherever the border of the head falls.
        for lead in HEAD - 12..HEAD + 2 {
            let text = format!("{} zq7-Kx9vW3 {}", "a".repeat(lead), "b ".repeat(TAIL));
            let text = kept(&[text.as_bytes()]);
            assert!(!text.contains("zq7-") && !text.contains("vW3"), "{lead}");
        }
    }
}
