//! Strings of JSON text as they are written.
//!
//! Input: the bytes of a text, and a place in a string there. Output: where something ends. Invariant: a string that has an end is
//! one that JSON allows, but that its escapes may be lone surrogates. Never: unescapes.

/// Bytes that are looked at at once.
const BLOCK: usize = 64;

/// The place of the quote that closes the string whose characters begin at `at`; `None` where there is no such string.
#[inline]
pub(crate) fn close(bytes: &[u8], at: usize) -> Option<usize> {
    // The shortest are not worth a look at a whole block.
    let at = plain_words(bytes, at, 1);
    match bytes.get(at)? {
        b'"' => Some(at),
        _ => close_long(bytes, at),
    }
}

/// As [`close`], for a string that is long or has escapes. Where those are many, to find them all at once is far quicker than to
/// look for each.
fn close_long(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let mut specials = specials(block);
        let mut next = BLOCK;
        while specials != 0 {
            let place = specials.trailing_zeros() as usize;
            match block[place] {
                b'"' => return Some(at + place),
                b'\\' => next = escape_end(bytes, at + place)? - at,
                _ => return None,
            }
            if next >= BLOCK {
                break;
            }
            specials &= u64::MAX << next;
        }
        at += next.max(BLOCK);
    }
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at = escape_end(bytes, at)?,
            _ => return None,
        }
    }
}

/// A bit for each byte of the block that [`is_special`].
fn specials(block: &[u8; BLOCK]) -> u64 {
    // One byte for each, which the compiler does many at a time, then the bytes of each word gathered into eight bits.
    let mut found = [0; BLOCK];
    for (found, &byte) in found.iter_mut().zip(block) {
        *found = u8::from(is_special(byte));
    }
    let words = found.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.rev().fold(0, |bits, word| bits << 8 | word.wrapping_mul(0x0102_0408_1020_4080) >> 56)
}

/// The place behind the escape that begins at `at`.
#[inline]
pub(crate) fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = bytes.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// Where plain characters that begin at `at` end: at a quote, a backslash, a control character, or the text's end.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    let at = plain_words(bytes, at, usize::MAX);
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|&byte| is_special(byte)).map_or(bytes.len(), |n| at + n)
}

/// As [`plain_end`], for so many words at most.
#[inline]
fn plain_words(bytes: &[u8], mut at: usize, words: usize) -> usize {
    for _ in 0..words {
        let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { break };
        match special_in(u64::from_le_bytes(*word)) {
            0 => at += 8,
            marks => return at + marks.trailing_zeros() as usize / 8,
        }
    }
    at
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// The high bit of the lowest byte that [`is_special`], and perhaps of others above it; 0 where there is none.
fn special_in(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let quotes = word ^ u64::from_le_bytes([b'"'; 8]);
    let backslashes = word ^ u64::from_le_bytes([b'\\'; 8]);
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    (below(word, b' ') | below(quotes, 1) | below(backslashes, 1)) & HIGH
}

#[cfg(test)]
mod tests {
    use super::{close, plain_end};

    #[test]
    fn ends_stand_where_they_are_put() {
        // Across words and blocks: every length, with each special character behind it.
        for length in 0..200 {
            for special in ['"', '\\', '\n', '\u{0}', '\u{1f}'] {
                let text = format!("{}{special}é\"", "é".repeat(length / 2) + &"x".repeat(length % 2));
                assert_eq!(plain_end(text.as_bytes(), 0), length, "{special:?}");
            }
        }
        assert_eq!(plain_end(b"a\x7f\xff", 0), 3);
        assert_eq!(plain_end(b"abc", 7), 3);
    }

    #[test]
    fn a_string_closes_behind_legal_escapes_only() {
        let cases: [(&str, Option<usize>); 10] = [
            (r#"""#, Some(0)),
            (r#"\"\\\/\b\f\n\r\t" rest"#, Some(16)),
            (r#"\u00e9\uD800""#, Some(12)),
            (r#"\\""#, Some(2)),
            (r#"\""#, None),
            (r#"\x""#, None),
            (r#"\u00g0""#, None),
            (r"\u00", None),
            ("a\tb\"", None),
            ("abc", None),
        ];
        for (text, end) in cases {
            // At every place of a block, and with more blocks behind it.
            for before in 0..130 {
                for after in ["", &"y".repeat(200)] {
                    let (long, whole) = ("é".repeat(before / 2), "x".repeat(before % 2));
                    let text = format!("{long}{whole}{text}{after}");
                    assert_eq!(close(text.as_bytes(), 0), end.map(|end| before + end), "{text}");
                }
            }
        }
    }
}
