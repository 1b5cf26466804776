//! Registered secrets, and texts that arrive in pieces.

mod common;

use std::sync::Arc;

use agent_lifecycle_core::redact::{REDACTED, Redactor, SecretTooShort, StreamRedactor, redact_text};
use common::secrets::{harmless, plain, secrets, shown_units, stream};

#[test]
fn registered_secrets() {
    assert_eq!(Redactor::new(["1234567"]).unwrap_err(), SecretTooShort { index: 0, units: 7 });
    assert_eq!(Redactor::new(["12345678", ""]).unwrap_err(), SecretTooShort { index: 1, units: 0 });
    assert!(Redactor::new(["\u{1F600}\u{1F600}\u{1F600}\u{1F600}"]).is_ok());
    let redactor = Redactor::new(["correct horse", "horse battery", "quo\"ted value"]).expect("long enough");
    let check = |text: &str, expected: &str| {
        assert_eq!(redactor.text(text), expected, "{text}");
        assert_eq!(redactor.text(expected), expected, "again: {expected}");
    };
    check("a correct horse now", "a [REDACTED] now");
    check("a correct horse battery b", "a [REDACTED] b");
    check("correct horsecorrect horse", "[REDACTED]");
    check("a corr", "a [REDACTED]");
    check("a cor", "a cor");
    check("orse now", "[REDACTED] now");
    check("rse now", "rse now");
    check("rect ho", "[REDACTED]");
    check("a corr b", "a corr b");
    check(r#"{"x":"quo\"ted value"}"#, r#"{"x":"[REDACTED]"}"#);
    check("password=x correct horse", "password=[REDACTED] [REDACTED]");
    check("corr\u{FFFD}", "[REDACTED]");
    check("", "");
}

#[test]
fn a_registered_secret_cut_at_every_index() {
    for secret in
        ["zq7-Kx!9 vW\"3", "ЖЩЫЪЭЮЯЦ", "\u{1F600}\u{1F601}\u{1F602}\u{1F603}\u{1F604}", "abababababab"]
    {
        let redactor = Arc::new(Redactor::new([secret]).expect("long enough"));
        let borders: Vec<usize> = (0..=secret.len()).filter(|&at| secret.is_char_boundary(at)).collect();
        for &at in &borders {
            let (left, right) = secret.split_at(at);
            for (before, after) in [("", ""), ("so ", " on"), ("a", "b"), ("é", "\n")] {
                let pieces = [&format!("{before}{left}"), &format!("{right}{after}")];
                let events = pieces.map(|piece| redactor.text(piece).into_owned());
                let streamed = stream(&redactor, &[pieces[0], pieces[1]]);
                for out in events.iter().chain([&streamed]) {
                    assert_eq!(shown_units(out, secret), None, "{pieces:?} -> {out}");
                }
                assert_eq!(streamed, format!("{before}{REDACTED}{after}"));
            }
            for &second in borders.iter().filter(|&&second| second >= at) {
                let pieces = [&secret[..at], &secret[at..second], &secret[second..]];
                assert_eq!(stream(&redactor, &pieces), REDACTED);
                for piece in pieces {
                    assert_eq!(shown_units(&redactor.text(piece), secret), None, "{piece}");
                }
            }
        }
    }
}

#[test]
fn streams_cut_at_every_index() {
    let mut cuts = 0;
    let table = secrets().map(|(text, _)| text).chain(harmless().map(str::to_owned)).chain([
        "a\n-----BEGIN X KEY-----\nAA BB\n-----END X KEY-----\nb".to_owned(),
        r#"{"set-cookie": [ "a=b", "c=d e" ], "n": 1}"#.to_owned(),
        "{\"password\" :\n \"x y\", \"n\": 1}".to_owned(),
    ]);
    for text in table {
        let text = format!("so {text} on");
        let whole = redact_text(&text);
        for (at, _) in text.char_indices() {
            assert_eq!(stream(&plain(), &[&text[..at], &text[at..]]), whole, "cut at {at}: {text}");
            cuts += 1;
        }
        let letters: Vec<&str> = text.split("").collect();
        assert_eq!(stream(&plain(), &letters), whole, "letters: {text}");
    }
    assert!(cuts > 5000);
}

#[test]
fn streams_show_what_is_safe() {
    let redactor = Arc::new(Redactor::new(["correct horse"]).expect("long enough"));
    let mut stream = StreamRedactor::new(redactor);
    let mut check = |piece: &str, expected: &str| assert_eq!(stream.push(piece), expected, "{piece}");
    check("Hello wor", "Hello ");
    check("ld, a ", "world, a ");
    check("c", "");
    check("orrect ", "");
    check("horse", "");
    check(" password: ", "[REDACTED] ");
    check("x y", "");
    check(" z\n", "password: [REDACTED] y z\n");
    check("你好", "你好");
    assert_eq!(stream.finish(), "");
}

#[test]
fn a_quote_at_the_end_of_a_piece_may_close_nothing() {
    assert_eq!(stream(&plain(), &["token: )\"", "fakefake"]), "token: [REDACTED]");
    assert_eq!(stream(&plain(), &["token: refresh", " ra", "ce"]), "token: refresh race");
    assert_eq!(stream(&plain(), &["The ", "secret: fakefake", " 1"]), "The secret: [REDACTED] 1");
}

#[test]
fn what_a_stream_holds_is_bounded() {
    let block = "AAAABBBBCCCCDDDD\n".repeat(4000);
    let text = format!(
        "a -----BEGIN X KEY-----\n{block}-----END X KEY-----\nb password=\"{block}\" c {}",
        "x".repeat(20_000)
    );
    let whole = redact_text(&text);
    for size in [1000, 4097, 70_000] {
        let mut stream = StreamRedactor::new(plain());
        let (mut taken, mut out) = (0, String::new());
        let mut most = 0;
        for piece in text.as_bytes().chunks(size) {
            taken += piece.len();
            out.push_str(&stream.push(std::str::from_utf8(piece).expect("ASCII")));
            if taken > text.len() - 10_000 {
                most = most.max(text.len() - taken + out.len());
            }
        }
        assert!(whole.len() - out.len() <= 4096, "held at the end");
        assert!(most > 0);
        out.push_str(&stream.finish());
        assert_eq!(out, whole, "{size}");
    }
}
