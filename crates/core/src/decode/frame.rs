//! Cuts a byte stream into lines.
//!
//! Input: chunks of any size. Output: complete lines with their absolute offsets, in order; over-long lines as such.
//! Invariant: the frames do not depend on how the stream was chunked. Never: holds more than the limit of one line.

use crate::contract::limits::LINE_BYTES;

/// Bytes of an over-long line that are kept for its diagnostic.
const HEAD_BYTES: usize = 2048;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line within the limit, without its line end and the NUL bytes before that.
    Line {
        /// Offset of its first byte in the stream.
        offset: u64,
        /// Bytes of the line without its LF: `bytes`, then NUL padding, then CR.
        length: u64,
        /// Its content.
        bytes: &'a [u8],
        /// NUL bytes that followed the content.
        padding: u64,
    },
    /// A line whose content is beyond the limit; it was dropped.
    Oversize {
        /// Offset of its first byte in the stream.
        offset: u64,
        /// Bytes of the line without its LF.
        length: u64,
        /// Its first bytes.
        head: &'a [u8],
    },
    /// Bytes that no LF ends, at the end of the stream.
    Unterminated {
        /// Offset of its first byte in the stream.
        offset: u64,
        /// Bytes of the rest.
        length: u64,
        /// Its content.
        bytes: &'a [u8],
        /// NUL bytes that followed the content.
        padding: u64,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Framer {
    limit: usize,
    /// Content of the pending line; only its head once it is over-long.
    buffer: Vec<u8>,
    /// NUL bytes after the content, then perhaps one CR: held back until it is known whether content follows.
    nuls: u64,
    cr: bool,
    /// Bytes of content so far, also those that were not kept.
    content: u64,
    /// Offset of the pending line, and its bytes so far.
    start: u64,
    length: u64,
    /// Bytes of the pending line when the stream was last ended, and whether it was told as dropped then.
    told: u64,
    is_drop_told: bool,
    /// How much of a byte order mark the stream has begun with so far; `None` once content was seen.
    bom: Option<usize>,
}

impl Framer {
    /// Lines with more than `limit` bytes of content are dropped.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            nuls: 0,
            cr: false,
            content: 0,
            start: 0,
            length: 0,
            told: 0,
            is_drop_told: false,
            bom: Some(0),
        }
    }

    /// Offset behind the last line end: what a reader may record as consumed.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.start
    }

    /// Bytes of the line that no LF has ended yet.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.length
    }

    /// Whether the pending line is over-long and nothing more of it is kept: until its end, its bytes need only be counted.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.is_oversize() && self.buffer.len() >= HEAD_BYTES
    }

    /// Counts bytes without a line end of a line that [is dropped](Self::is_dropping).
    pub fn skip(&mut self, length: u64) {
        self.length += length;
        self.content += length;
    }

    /// Takes the next bytes of the stream and hands every line they complete to `emit`.
    pub fn push(&mut self, chunk: &[u8], emit: &mut impl FnMut(Frame<'_>)) {
        let mut rest = self.skip_bom(chunk);
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.length == 0 {
                self.complete_whole(line, emit);
            } else {
                self.gather(line);
                self.complete_gathered(emit);
            }
        }
        if !rest.is_empty() {
            self.gather(rest);
        }
    }

    /// Ends the stream: what no LF ended is handed to `emit` as [`Frame::Unterminated`], or as over-long. Where bytes come all the
    /// same, they go on with that line.
    pub fn end(&mut self, emit: &mut impl FnMut(Frame<'_>)) {
        if let Some(matched @ 1..) = self.bom {
            self.gather(&BOM[..matched]);
        }
        self.bom = None;
        // What was told once is not told again, and stays the beginning of its line.
        if self.length == self.told {
            return;
        }
        let (offset, length) = (self.start, self.length);
        let is_told = self.is_oversize() && std::mem::replace(&mut self.is_drop_told, true);
        if self.is_oversize() && !is_told {
            emit(Frame::Oversize { offset, length, head: &self.buffer });
        } else if !self.is_oversize() {
            emit(Frame::Unterminated { offset, length, bytes: &self.buffer, padding: self.nuls });
        }
        self.told = length;
    }

    fn complete_whole(&mut self, line: &[u8], emit: &mut impl FnMut(Frame<'_>)) {
        let (offset, length) = (self.start, line.len() as u64);
        let content = content(line);
        if content.len() <= self.limit {
            let without_cr = line.strip_suffix(b"\r").unwrap_or(line);
            let padding = (without_cr.len() - content.len()) as u64;
            emit(Frame::Line { offset, length, bytes: content, padding });
        } else {
            emit(Frame::Oversize { offset, length, head: &content[..content.len().min(HEAD_BYTES)] });
        }
        self.length = length;
        self.next_line(1);
    }

    fn complete_gathered(&mut self, emit: &mut impl FnMut(Frame<'_>)) {
        let (offset, length) = (self.start, self.length);
        if self.is_oversize() && self.is_drop_told {
            // Told at what was taken for the end of the stream.
        } else if self.is_oversize() {
            emit(Frame::Oversize { offset, length, head: &self.buffer });
        } else {
            emit(Frame::Line { offset, length, bytes: &self.buffer, padding: self.nuls });
        }
        self.next_line(1);
    }

    fn next_line(&mut self, line_end: u64) {
        self.start += self.length + line_end;
        self.length = 0;
        self.buffer.clear();
        // One long line does not hold its memory for ever.
        self.buffer.shrink_to(LINE_BYTES);
        self.nuls = 0;
        self.cr = false;
        self.content = 0;
        self.told = 0;
        self.is_drop_told = false;
    }

    fn is_oversize(&self) -> bool {
        self.content > self.limit as u64
    }

    /// Adds a piece of the pending line.
    fn gather(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        let content = content(piece);
        if !content.is_empty() || (self.cr && !piece.is_empty()) {
            self.release_held();
            self.append(content.len() as u64, content.iter().copied());
        }
        let suffix = &piece[content.len()..];
        self.cr = suffix.last() == Some(&b'\r');
        self.nuls += (suffix.len() - usize::from(self.cr)) as u64;
    }

    /// Content follows what was held back, so that was content too.
    fn release_held(&mut self) {
        self.append(self.nuls, std::iter::repeat(0));
        if self.cr {
            self.append(1, [b'\r'].into_iter());
        }
        self.nuls = 0;
        self.cr = false;
    }

    /// Adds `length` bytes of content; of an over-long line only the head is kept.
    fn append(&mut self, length: u64, bytes: impl Iterator<Item = u8>) {
        self.content += length;
        let bound = if self.is_oversize() { HEAD_BYTES } else { self.limit };
        let room = bound.saturating_sub(self.buffer.len());
        self.buffer.extend(bytes.take(room.min(usize::try_from(length).unwrap_or(room))));
        if self.is_oversize() {
            self.buffer.truncate(HEAD_BYTES);
            self.buffer.shrink_to(HEAD_BYTES);
        }
    }

    /// Skips byte order marks at the start of the stream, also when a chunk cuts one.
    fn skip_bom<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let mut rest = chunk;
        while let (Some(matched), Some((&byte, tail))) = (self.bom, rest.split_first()) {
            if byte == BOM[matched] {
                rest = tail;
                self.bom = Some((matched + 1) % BOM.len());
                if matched + 1 == BOM.len() {
                    self.start += BOM.len() as u64;
                }
            } else {
                self.bom = None;
                self.gather(&BOM[..matched]);
            }
        }
        rest
    }
}

/// `line` without one CR at its end and the NUL bytes before that.
fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let length = line.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &line[..length]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Frame, Framer};

    /// The frames of `stream` pushed in pieces of `size` bytes, as text.
    fn frames(stream: &[u8], size: usize, limit: usize) -> Vec<String> {
        let mut framer = Framer::new(limit);
        let mut seen = Vec::new();
        let mut emit = |frame: Frame<'_>| seen.push(format!("{frame:?}"));
        for chunk in stream.chunks(size.max(1)) {
            framer.push(chunk, &mut emit);
        }
        framer.end(&mut emit);
        seen
    }

    fn line(offset: u64, length: u64, bytes: &[u8], padding: u64) -> String {
        format!("{:?}", Frame::Line { offset, length, bytes, padding })
    }

    fn oversize(offset: u64, length: u64, head: &[u8]) -> String {
        format!("{:?}", Frame::Oversize { offset, length, head })
    }

    fn rest(offset: u64, length: u64, bytes: &[u8], padding: u64) -> String {
        format!("{:?}", Frame::Unterminated { offset, length, bytes, padding })
    }

    #[test]
    fn lines_by_hand() {
        for (stream, expected) in [
            (&b""[..], vec![]),
            (b"\n", vec![line(0, 0, b"", 0)]),
            (b"ab\ncd\r\nef", vec![line(0, 2, b"ab", 0), line(3, 3, b"cd", 0), rest(7, 2, b"ef", 0)]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf\n", vec![line(3, 1, b"a", 0), line(5, 3, b"\xef\xbb\xbf", 0)]),
            // Only a part of a byte order mark: it is content.
            (b"\xef\xbba\n", vec![line(0, 3, b"\xef\xbba", 0)]),
            (b"\xef\xbb", vec![rest(0, 2, b"\xef\xbb", 0)]),
            // The limit is five bytes of content; a CR does not count, nor does padding.
            (
                b"12345\r\n123456\n7\n",
                vec![line(0, 6, b"12345", 0), oversize(7, 6, b"123456"), line(14, 1, b"7", 0)],
            ),
            (b"1234\0\0\0\0\0\r\n", vec![line(0, 10, b"1234", 5)]),
            (b"1\0\x002\n", vec![line(0, 4, b"1\0\x002", 0)]),
            (b"1\0\0\0\0\x002\n", vec![oversize(0, 7, b"1\0\0\0\0\x002")]),
            (b"a\r\0\n", vec![line(0, 3, b"a\r", 1)]),
            (b"\0\0\0", vec![rest(0, 3, b"", 3)]),
            (b"a\0\r", vec![rest(0, 3, b"a", 1)]),
            (b"123456", vec![oversize(0, 6, b"123456")]),
        ] {
            for size in 1..=stream.len().max(1) {
                assert_eq!(frames(stream, size, 5), expected, "{stream:?} in chunks of {size}");
            }
        }
    }

    #[test]
    fn bytes_after_the_end_go_on_with_the_line() {
        for (before, after, expected) in [
            (
                &b"[1,"[..],
                &b"2]\n3\n"[..],
                vec![rest(0, 3, b"[1,", 0), line(0, 5, b"[1,2]", 0), line(6, 1, b"3", 0)],
            ),
            (b"1\n2", b"3\n", vec![line(0, 1, b"1", 0), rest(2, 1, b"2", 0), line(2, 2, b"23", 0)]),
            (b"123456", b"7\n8\n", vec![oversize(0, 6, b"123456"), line(8, 1, b"8", 0)]),
        ] {
            let mut framer = Framer::new(5);
            let mut seen = Vec::new();
            let mut emit = |frame: Frame<'_>| seen.push(format!("{frame:?}"));
            framer.push(before, &mut emit);
            framer.end(&mut emit);
            framer.end(&mut emit);
            framer.push(after, &mut emit);
            framer.end(&mut emit);
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn an_overlong_line_is_not_buffered() {
        let mut framer = Framer::new(1000);
        for _ in 0..1000 {
            framer.push(&[b'x'; 4096], &mut |_| unreachable!("no line ends"));
            framer.push(&[0; 4096], &mut |_| unreachable!("no line ends"));
        }
        assert!(framer.buffer.capacity() <= 8192, "{}", framer.buffer.capacity());
    }

    proptest! {
        #[test]
        fn chunking_does_not_matter(
            stream in proptest::collection::vec(proptest::sample::select(&b"ab\0\0\r\n\xef\xbb\xbf"[..]), 0..60),
            size in 1_usize..20,
            limit in 0_usize..8,
        ) {
            prop_assert_eq!(frames(&stream, size, limit), frames(&stream, 60, limit));
        }
    }
}
