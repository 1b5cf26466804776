//! Excerpts of bad lines: what only an excerpt hides. A text in, the text to redact or what must go out.
//! A bad line was never decoded, may be cut anywhere, and may be one line of something longer.
//! It must never be used for the texts of events: hashes and base64 stay there.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::rules::{BEFORE, compile};

/// How often escapes are decoded: JSON in JSON in JSON.
const DECODINGS: usize = 3;

/// `text` with its JSON escapes of printable ASCII decoded, and with `/` for `\/`.
///
/// A quote and a backslash stay escaped, or a value would end where it does not. In JSON inside JSON a backslash is
/// several; the quote is then written with as many as it has there.
pub(super) fn decoded(mut text: Cow<'_, str>) -> Cow<'_, str> {
    static ESCAPE: LazyLock<Regex> =
        LazyLock::new(|| compile(r"(\\+)(?:/|u00(2[0-9A-Fa-f]|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e]))"));
    for _ in 0..DECODINGS {
        let Cow::Owned(next) = ESCAPE.replace_all(&text, |found: &Captures<'_>| {
            let byte = found.get(2).and_then(|code| u8::from_str_radix(code.as_str(), 16).ok());
            let escapes = found[1].len();
            match byte.unwrap_or(b'/') {
                b'"' => "\\".repeat(2 * escapes - 1) + "\"",
                b'\\' => "\\".repeat(2 * escapes),
                byte => char::from(byte).to_string(),
            }
        }) else {
            break;
        };
        text = Cow::Owned(next);
    }
    text
}

/// Whether a line is nothing but a line of a PEM block: one of its borders, or base64.
///
/// Without small letters and capitals both (a hash, a path, a row of one letter) it is not, unless it ends in padding:
/// no such line of base64 occurs by chance.
pub(super) fn is_pem_line(line: &str) -> bool {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        compile(concat!(
            r#"^[\s\x{FEFF}"'`+,]*(?:-----(?:BEGIN|END) [A-Z0-9 ]{1,64}-----"#,
            r#"|([A-Za-z0-9+/]{40,}={0,2}|[A-Za-z0-9+/]{14,}={1,2}))(?:\\+[nr])*[\s"'`+,;\\]*$"#,
        ))
    });
    LINE.captures(line).is_some_and(|found| {
        let body = found.get(1).map_or("", |body| body.as_str());
        let has = |kind: fn(&u8) -> bool| body.as_bytes().iter().any(kind);
        body.is_empty() || body.ends_with('=') || (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
    })
}

/// Where a key begins that `text` ends in: a known prefix and too few characters for the rules.
///
/// Whoever wrote the line may have stopped there. A prefix that words begin with too needs more than a short word.
pub(super) fn cut_key(text: &str) -> Option<usize> {
    static KEY: LazyLock<Regex> = LazyLock::new(|| {
        compile(&format!(
            "{BEFORE}(?:{}|{}|{})[\\s\\\\\\x{{FFFD}}]*$",
            concat!(
                r"((?:(?:gh[posur]|github_pat|dop_v1|shp(?:at|ss)|dckr_pat|lin_api|sntry[su]|whsec|[spr]k_(?:live|test)",
                r"|figd|ntn|glsa)_|(?:glpat|gldt|glrt|glcbt|xox[a-z]|xapp|nvapi|GOCSPX|AGE-SECRET-KEY|tskey)-|AIza|ya29\.|hvs\.",
                r"|eyJ[[:word:]\-]{6,}\.)[[:word:]\-.=+/]+)",
            ),
            r"((?:(?:npm|hf|gsk|r8)_|(?:xai|pplx|tvly|pypi)-|SG\.)[A-Za-z0-9]+)",
            r"((?:[sp]k-|AKIA|ASIA)[[:word:]\-]+)",
        ))
    });
    let found = KEY.captures(text)?;
    let odd = |key: &str, from: usize, also: fn(&u8) -> bool| {
        key.bytes().skip(from).any(|b| b.is_ascii_digit() || also(&b))
    };
    let short = found.get(2).filter(|key| key.len() >= 12 || odd(key.as_str(), 3, u8::is_ascii_uppercase));
    let wordy = found.get(3).filter(|key| {
        let is_dashed = key.as_str().as_bytes()[2] == b'-';
        odd(key.as_str(), 3, if is_dashed { u8::is_ascii_uppercase } else { |_| false })
    });
    found.get(1).or(short).or(wordy).map(|key| key.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_and_quotes_stay_escaped() {
        for (given, expected) in [
            (r"p\u0061ss\u002Dword", "pass-word"),
            (r"{\\u0061\\\\u0062", "{ab"),
            (r"a\u0022b", r#"a\"b"#),
            (r"a\\u0022b", r#"a\\\"b"#),
            (r"a\u005cb", r"a\\b"),
            (r"a\u005cu0062", "ab"),
            (r"https:\/\/x", "https://x"),
            (r"\u001b[1m \u00e9 \u007f \u12", r"\u001b[1m \u00e9 \u007f \u12"),
        ] {
            assert_eq!(decoded(Cow::Borrowed(given)), expected, "{given}");
        }
        assert!(matches!(decoded(Cow::Borrowed("plain \\n")), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_of_pem_blocks() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj";
        for line in [
            body.to_owned(),
            format!("  {body}=="),
            format!("\"{body}\\n\" +"),
            "-----END PRIVATE KEY-----\r".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
            "kqhkiG9w0BAQEFAASCBKcw==".to_owned(),
        ] {
            assert!(is_pem_line(&line), "{line}");
        }
        for line in [
            &body[1..],
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "/home/user/projects/something/very/long/path/of/words",
            "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
            &format!("{body} {body}"),
            &format!("x: {body}"),
            "-----BEGIN is how",
            "",
        ] {
            assert!(!is_pem_line(line), "{line}");
        }
    }

    #[test]
    fn keys_that_the_end_cuts() {
        for key in [
            "github_pat_11ABCDEFG",
            "ghp_x",
            "npm_abcdefghijklmno",
            "AIzaSyA-1234567890a",
            "hf_abcdefghijkl",
            "hf_aB",
            "sk-a1",
            "AKIA1234",
            "xoxb-1",
            "eyJhbGciOi.e",
        ] {
            for text in [key.to_owned(), format!("{{\"a\":\"{key}"), format!("x {key}\\ \u{FFFD}")] {
                let at = text.find(key);
                assert_eq!(cut_key(&text), at, "{text}");
            }
        }
        for text in [
            "sk-learn",
            "npm_test",
            "hf_hub_download",
            "AKIASHORT",
            "ghp_",
            "ghp_x y",
            "desk-a1",
            "[REDACTED]",
        ] {
            assert_eq!(cut_key(text), None, "{text}");
        }
    }
}
