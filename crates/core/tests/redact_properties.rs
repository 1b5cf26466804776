//! Redaction of generated text, and of megabytes made to be slow.

mod common;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_lifecycle_core::redact::{
    REDACTED, Redactor, StreamRedactor, is_secret_key, redact_excerpt, redact_text,
};
use common::secrets::{stream, survivor};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[test]
fn time_is_linear() {
    const SIZE: usize = 1 << 18;
    let units = [
        "\"",
        "'",
        "\\",
        "\\\"",
        "Bearer ",
        "Bearer x",
        "-----BEGIN ",
        "-----BEGIN X-----",
        "-----BEGIN X-----\"",
        "-----END",
        "://",
        "://a:",
        "a@",
        "a:b@",
        "password",
        "password=",
        "password: \"",
        "token=\\\"",
        "token",
        "api key ",
        "a",
        " ",
        "eyJ",
        "eyJaaaaaa.",
        "sk-",
        "sk-a ",
        "Cookie: a=\"",
        "Cookie: a='",
        "Digest a=",
        "--token ",
        "[",
        "set-cookie:[",
        "\"token\":[\"a\",",
        "basic ",
        "basic%20",
        "bearer%20",
        "npm:#",
        "sk-sk-",
        "token=getToken(",
        "token=$(",
        "\n",
        "é",
        "token: a=",
        "[REDACTED]",
        "password=[REDACTED] ",
        "aaaaaaaa",
        "token = ",
        "\"token\"  ",
        "token: a ",
        "token: ",
        "secret: refresh ",
        "the secret: ",
        "credentials: include",
        "token=${a}",
        "token=${",
        "token: Optional[a",
        "\\u0022",
        "\\u005c",
        "\\u005cu0061",
        "\\/",
        "ghp_x",
        "ghp_x ",
        "\\n",
    ];
    let redactor = Arc::new(Redactor::new(["aaaaaaaaaaaaaaaa"]).expect("long enough"));
    for unit in units {
        let text = unit.repeat(SIZE / unit.len());
        let start = Instant::now();
        let out = redactor.text(&text);
        assert_eq!(redactor.text(&out), out, "again: {unit:?}");
        for cut in [true, false] {
            let _ = redact_excerpt(text.as_bytes(), 512, cut);
        }
        let mut stream = StreamRedactor::new(Arc::clone(&redactor));
        let letters: Vec<char> = text.chars().take(SIZE / 8).collect();
        for piece in letters.chunks(8192) {
            let _ = stream.push(&piece.iter().collect::<String>());
        }
        let _ = stream.finish();
        let _ = is_secret_key(&text);
        // A quadratic pass over this much text takes hours; the bound only has to tell that from a slow machine.
        assert!(start.elapsed() < Duration::from_mins(1), "{unit:?} took {:?}", start.elapsed());
    }
}
/// Pieces that lead the rules into each other, and some letters.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "password",
        "token",
        "Cookie",
        "Authorization",
        "api key",
        "=",
        ": ",
        ":",
        "\"",
        "'",
        "\\\"",
        "\\",
        "\\n",
        "\n",
        " ",
        "Bearer ",
        "Basic ",
        "Digest a=",
        "sk-",
        "fake0000fake",
        "ghp_",
        "://",
        "@",
        "host.com",
        ";",
        ",",
        "[",
        "]",
        "{",
        "}",
        "&",
        "?",
        "-----BEGIN X-----",
        "-----END X-----",
        "eyJmYWtl.ZmFrZQ",
        "[REDACTED]",
        "[RED",
        "--token",
        "const ",
        "getToken()",
        "string",
        "é",
        "😀",
        "你",
        "null",
        "x",
        "(",
        ")",
        "<",
        "zq7-Kx9vW3",
        "The ",
        "secret: ",
        "cookie: ",
        "token: ",
        "refresh",
        " race",
        " work hard",
        "credentials",
        "include",
        "${x}",
        "Optional[str",
    ];
    prop_oneof![6 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-z0-9 ]{0,6}", 1 => "\\PC{0,3}"]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..14).prop_map(|pieces| pieces.concat())
}

fn config() -> Config {
    Config { cases: 2000, failure_persistence: None, ..Config::default() }
}

#[test]
fn redacting_twice_is_redacting_once() {
    let (changed, unchanged) = (Cell::new(0), Cell::new(0));
    let redactor = Redactor::new(["zq7-Kx9vW3"]).expect("long enough");
    TestRunner::new(config())
        .run(&text(), |text| {
            let once = redact_text(&text);
            prop_assert_eq!(redact_text(&once), once.clone(), "{}", text);
            let all = redactor.text(&text);
            prop_assert_eq!(redactor.text(&all), all.clone(), "{}", text);
            let counter = if once == text { &unchanged } else { &changed };
            counter.set(counter.get() + 1);
            Ok(())
        })
        .unwrap();
    assert!(changed.get() > 200 && unchanged.get() > 200, "{changed:?} {unchanged:?}");
}

#[test]
fn a_stream_shows_what_the_whole_text_shows() {
    let (redacted, many) = (Cell::new(0), Cell::new(0));
    let redactor = Arc::new(Redactor::new(["zq7-Kx9vW3"]).expect("long enough"));
    TestRunner::new(config())
        .run(&prop::collection::vec(text(), 0..6), |pieces| {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let whole = redactor.text(&pieces.concat()).into_owned();
            // A stream reads once; what a replacement makes a secret of its neighbour is for the whole text.
            let streamed = stream(&redactor, &pieces);
            prop_assert_eq!(redactor.text(&streamed), whole.clone(), "{:?}", pieces);
            redacted.set(redacted.get() + usize::from(whole.contains(REDACTED)));
            many.set(many.get() + usize::from(pieces.len() > 2));
            Ok(())
        })
        .unwrap();
    assert!(redacted.get() > 200 && many.get() > 200, "{redacted:?} {many:?}");
}

#[test]
fn planted_secrets_never_survive() {
    let (by_key, by_prefix, registered) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let redactor = Arc::new(Redactor::new(["zq7-Kx9vW3"]).expect("long enough"));
    let noise = "[a-z \\n\"'{}\\[\\],:=\\\\]{0,40}";
    // No letters of the replacement.
    let body = "[G-Q0-9]{16,24}";
    TestRunner::new(config())
        .run(
            &(noise, 0..6usize, body, noise, any::<prop::sample::Index>()),
            |(before, kind, body, after, cut)| {
                let (planted, counter) = match kind {
                    0 => (format!(" \"password\": \"{body}\" "), &by_key),
                    1 => (format!(" api_key={body} "), &by_key),
                    2 => (format!(" sk-{body} "), &by_prefix),
                    3 => (format!(" ghp_{body} "), &by_prefix),
                    4 => (format!(" https://u:{body}@h.com "), &by_prefix),
                    _ => ("zq7-Kx9vW3".to_owned(), &registered),
                };
                counter.set(counter.get() + 1);
                let body = if kind > 4 { planted.as_str() } else { body.as_str() };
                let text = format!("{before}{planted}{after}");
                let at = text.floor_char_boundary(cut.index(text.len() + 1));
                let outs =
                    [redactor.text(&text).into_owned(), stream(&redactor, &[&text[..at], &text[at..]])];
                for out in outs {
                    prop_assert_eq!(survivor(&out, body), None, "{:?} -> {:?}", text, out);
                }
                if kind < 5 {
                    let out = redact_excerpt(&text.as_bytes()[..at], 512, true);
                    prop_assert_eq!(survivor(&out, body), None, "{:?} -> {:?}", &text[..at], out);
                }
                Ok(())
            },
        )
        .unwrap();
    for counter in [by_key, by_prefix, registered] {
        assert!(counter.get() > 200, "{counter:?}");
    }
}

#[test]
fn text_without_a_trigger_is_borrowed() {
    let long = Cell::new(0);
    TestRunner::new(config())
        .run(&"[ab e-i0-9/.,:=\"'\\n]{0,200}", |text| {
            prop_assert!(matches!(redact_text(&text), Cow::Borrowed(same) if same == text));
            long.set(long.get() + usize::from(text.len() > 100));
            Ok(())
        })
        .unwrap();
    assert!(long.get() > 200, "{long:?}");
}
