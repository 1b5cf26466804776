//! Whether a line is JSON, and what the members of its object are, without making a value of it.
//!
//! Input: UTF-8 text. Output: the verdict of `JSON.parse` (lone surrogate escapes and `1e999` are legal), and each member of the
//! top-level object as it is written. Invariant: time is linear, and memory is a bit for each level.
//! Never: recurses, allocates, unescapes.

use std::ops::Range;

use crate::contract::limits::JSON_DEPTH;
use crate::json::{JsonFault, is_too_deep, string};

/// Checks one JSON text of at most [`JSON_DEPTH`] levels.
pub fn validate(bytes: &[u8]) -> Result<(), JsonFault> {
    members(bytes, &mut |_, _| {})
}

/// As [`validate`], and hands each member of the top-level object to `visit`: what its key has between the quotes, and its value.
/// A member may be handed over before the text turns out to be broken.
pub fn members<'a>(bytes: &'a [u8], visit: &mut impl FnMut(&'a [u8], &'a [u8])) -> Result<(), JsonFault> {
    Cursor { bytes, at: 0 }
        .text(visit)
        .ok_or_else(|| if is_too_deep(bytes) { JsonFault::TooDeep } else { JsonFault::Malformed })
}

/// Which of the open levels are objects.
#[derive(Default)]
struct Levels {
    objects: [u64; JSON_DEPTH / 64],
    open: usize,
}

impl Levels {
    fn push(&mut self, is_object: bool) -> Option<()> {
        let word = self.objects.get_mut(self.open / 64)?;
        let bit = 1 << (self.open % 64);
        *word = if is_object { *word | bit } else { *word & !bit };
        self.open += 1;
        Some(())
    }

    /// Whether the innermost open level is an object.
    fn is_object(&self) -> bool {
        let innermost = self.open.wrapping_sub(1);
        self.objects.get(innermost / 64).is_some_and(|word| word >> (innermost % 64) & 1 == 1)
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// One value, with nothing but white space around it. `None` where that is not what stands there.
    fn text(&mut self, visit: &mut impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
        let mut levels = Levels::default();
        let mut in_object = false;
        // The member of the top-level object that is being read; of an array there is none.
        let mut member: Option<(Range<usize>, usize)> = None;
        loop {
            let first = self.token();
            if let Some((_, start)) = &mut member
                && levels.open == 1
            {
                *start = self.at;
            }
            match first {
                b'{' | b'[' => {
                    in_object = first == b'{';
                    levels.push(in_object)?;
                    self.at += 1;
                    // Closes at once where it is empty.
                    if in_object && self.token() != b'}' {
                        let key = self.key()?;
                        if levels.open == 1 {
                            member = Some((key, 0));
                        }
                        continue;
                    } else if !in_object && self.token() != b']' {
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => self.number()?,
            }
            // Behind a value, or at the end of an empty level.
            loop {
                if levels.open == 1
                    && let Some((key, start)) = &member
                {
                    visit(&self.bytes[key.clone()], &self.bytes[*start..self.at]);
                }
                if levels.open == 0 {
                    self.token();
                    return (self.at == self.bytes.len()).then_some(());
                }
                match self.token() {
                    b',' => {
                        self.at += 1;
                        if in_object {
                            self.token();
                            let key = self.key()?;
                            if levels.open == 1 {
                                member = Some((key, 0));
                            }
                        }
                        break;
                    }
                    close @ (b'}' | b']') if in_object == (close == b'}') => {
                        self.at += 1;
                        levels.open -= 1;
                        in_object = levels.is_object();
                    }
                    _ => return None,
                }
            }
        }
    }

    /// The next byte that is no white space, which stays; 0, which begins nothing, at the end.
    fn token(&mut self) -> u8 {
        loop {
            match self.peek() {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                other => return other,
            }
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// A key and its colon; what stands between the quotes.
    fn key(&mut self) -> Option<Range<usize>> {
        let open = self.at;
        self.string()?;
        let key = open + 1..self.at - 1;
        if self.token() != b':' {
            return None;
        }
        self.at += 1;
        Some(key)
    }

    fn string(&mut self) -> Option<()> {
        if self.peek() != b'"' {
            return None;
        }
        self.at = string::close(self.bytes, self.at + 1)? + 1;
        Some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let found = self.bytes[self.at..].starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        match self.peek() {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if let b'e' | b'E' = self.peek() {
            self.at += 1;
            if let b'+' | b'-' = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }
}
