//! Where a value ends: a text and a position in it in, the end of the value there out.
//! The text may be prose, code, JSON, JSON inside a JSON string, or any of them broken or cut.
//! Invariant: every function reads only what it takes, and a position it gives out is a character border.
//! It must never end a value before a byte that can still belong to it; taking too much is the lesser harm.

use memchr::{memchr, memmem};

/// A value in quotes. `end` is where its content ends, `after` is behind the closing quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quoted {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) after: usize,
    pub(super) closed: bool,
}

/// The quote at `at`, if one is there: how many backslashes stand before it, and which it is.
pub(super) fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let rest = bytes.get(at..)?;
    let escapes = rest.iter().take_while(|&&b| b == b'\\').count();
    match rest.get(escapes) {
        Some(&quote @ (b'"' | b'\'' | b'`')) => Some((escapes, quote)),
        _ => None,
    }
}

/// Whether a line break is written at `at`: as itself or as an escape.
pub(super) fn is_break_at(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at.min(bytes.len())..];
    let escapes = rest.iter().take_while(|&&b| b == b'\\').count();
    match rest.get(escapes) {
        Some(b'\n' | b'\r') => true,
        Some(b'n' | b'r') => escapes > 0,
        _ => false,
    }
}

/// The quoted value at `at`, with at most two letters or signs of a string prefix before it (`b"..."`).
///
/// A quote written with more backslashes than the opening one is escaped in the value when the count says so; a
/// quote with fewer closes a string around it, and the value with it.
pub(super) fn quoted(text: &str, at: usize) -> Option<Quoted> {
    let bytes = text.as_bytes();
    let prefix = bytes[at..]
        .iter()
        .take(2)
        .take_while(|b| matches!(b.to_ascii_lowercase(), b'b' | b'r' | b'f' | b'u' | b'@' | b'$'))
        .count();
    let (escapes, quote) = quote_at(bytes, at + prefix)?;
    let start = at + prefix + escapes + 1;
    let triple = [quote; 3];
    if escapes == 0 && bytes[start - 1..].starts_with(&triple) {
        let start = start + 2;
        return Some(match memmem::find(&bytes[start..], &triple) {
            Some(len) => Quoted { start, end: start + len, after: start + len + 3, closed: true },
            None => Quoted { start, end: bytes.len(), after: bytes.len(), closed: false },
        });
    }
    let mut from = start;
    while let Some(found) = memchr(quote, &bytes[from..]) {
        let end = from + found;
        let run = bytes[from..end].iter().rev().take_while(|&&b| b == b'\\').count();
        if (run + 1) % (2 * (escapes + 1)) != 0 {
            return Some(Quoted { start, end: end - run.min(escapes), after: end + 1, closed: true });
        }
        from = end + 1;
    }
    Some(Quoted { start, end: bytes.len(), after: bytes.len(), closed: false })
}

/// The end of a value without quotes: white space, an escaped line break, or a quote that closes something, that is
/// one not followed by a letter or digit. In the query of an URL (`query`) also `&` and `#`.
pub(super) fn bare_end(text: &str, start: usize, query: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' => return at,
            b'&' | b'#' if query => return at,
            b',' | b';'
                if matches!(bytes.get(at + 1), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'')) =>
            {
                return at;
            }
            b'\\' | b'"' | b'\'' | b'`' => match quote_at(bytes, at) {
                Some((escapes, _)) => {
                    let after = at + escapes + 1;
                    if !bytes.get(after).is_some_and(u8::is_ascii_alphanumeric) {
                        return at;
                    }
                    at = after;
                }
                None if is_break_at(bytes, at) || bytes[at..].starts_with(b"\\t") => return at,
                None => at += bytes[at..].iter().take_while(|&&b| b == b'\\').count(),
            },
            _ => at += 1,
        }
    }
    at
}

/// The end of a header's value: the line's end, written or escaped, or a quote that closes something. A quote after
/// `=` opens a part of the value.
pub(super) fn header_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' | b'\r' => return at,
            b'\\' | b'"' | b'\'' | b'`' => match quote_at(bytes, at) {
                Some((escapes, quote)) => {
                    let after = at + escapes + 1;
                    if at > start && bytes[at - 1] == b'=' {
                        at = memchr(quote, &bytes[after..]).map_or(bytes.len(), |len| after + len + 1);
                    } else if bytes.get(after).is_some_and(u8::is_ascii_alphanumeric) {
                        at = after;
                    } else {
                        return at;
                    }
                }
                None if is_break_at(bytes, at) => return at,
                None => at += bytes[at..].iter().take_while(|&&b| b == b'\\').count(),
            },
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_values_end_at_their_own_quote() {
        let check = |text: &str, content: &str, closed: bool| {
            let found = quoted(text, 0).expect("a quote opens the text");
            assert_eq!((&text[found.start..found.end], found.closed), (content, closed), "{text}");
        };
        check(r#""abc" d"#, "abc", true);
        check(r#""a\"b" d"#, r#"a\"b"#, true);
        check(r#""a\\" d"#, r"a\\", true);
        check(r#"'a"b' d"#, r#"a"b"#, true);
        check(r#"\"a\" d"#, "a", true);
        check(r#"\"a\\\"b\" d"#, r#"a\\\"b"#, true);
        check(r#"\"a" d"#, "a", true);
        check(r#"\\\"a\\\" d"#, "a", true);
        check(r#"\\\"a\" d"#, "a", true);
        check(r#"b"a""#, "a", true);
        check(r#""""a"b""" c"#, r#"a"b"#, true);
        check(r#""abc"#, "abc", false);
        check(r#"""#, "", false);
        assert_eq!(quoted("abc", 0), None);
        assert_eq!(quoted("", 0), None);
    }

    #[test]
    fn bare_values_end_where_nothing_of_them_can_follow() {
        let check = |text: &str, query: bool, expected: &str| {
            assert_eq!(&text[..bare_end(text, 0, query)], expected, "{text}");
        };
        check("abc def", false, "abc");
        check("a&b#c", false, "a&b#c");
        check("a&b#c", true, "a");
        check("a\"b\",", false, "a\"b");
        check(r"a\nb", false, "a");
        check(r"a\qb c", false, r"a\qb");
        check(r#"a\" b"#, false, "a");
        check("a,b, c", false, "a,b");
        check("\u{e9}\u{1F600} c", false, "\u{e9}\u{1F600}");
    }

    #[test]
    fn headers_end_with_their_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(&text[..header_end(text, 0)], expected, "{text}");
        };
        check("a=b; c=d\r\nHost: x", "a=b; c=d");
        check(r"a=b; c=d\r\nHost: x", "a=b; c=d");
        check("a=b; c=d' https://x", "a=b; c=d");
        check("a=\"b; c\"; d=e\" f", "a=\"b; c\"; d=e");
        check("a=\\\"b\\\"; d=e\\\" f", "a=\\\"b\\\"; d=e");
        check("a=\"b", "a=\"b");
    }
}
