//! Redaction against tables, two corpora, every cut of a secret, and generated text.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_lifecycle_core::redact::{
    REDACTED, Redactor, SecretTooShort, StreamRedactor, is_secret_key, redact_excerpt, redact_text,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const HARMLESS: &str = include_str!("corpus/harmless.txt");
const SECRETS: &str = include_str!("corpus/secrets.txt");

fn harmless() -> impl Iterator<Item = &'static str> {
    HARMLESS.lines()
}

/// The texts of the corpus with the secrets in each.
fn secrets() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    SECRETS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts = line.split('«').skip(1);
        let secrets = parts.map(|part| part.split_once('»').expect("a secret ends").0).collect();
        (line.replace(['«', '»'], ""), secrets)
    })
}

/// The first piece of four characters of a secret that is in `out`.
fn survivor<'s>(out: &str, secret: &'s str) -> Option<&'s str> {
    let starts: Vec<usize> = secret.char_indices().map(|(at, _)| at).chain([secret.len()]).collect();
    starts.windows(5).map(|w| &secret[w[0]..w[4]]).find(|piece| out.contains(piece))
}

fn check_gone(text: &str, out: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!out.contains(secret), "{text:?} -> {out:?} shows {secret:?}");
        // The same letters can stand elsewhere in the text as part of no secret ("password", "fake").
        if let Some(piece) = survivor(out, secret) {
            let others = secrets.iter().fold(text.to_owned(), |rest, secret| rest.replace(secret, ""));
            assert!(others.contains(piece), "{text:?} -> {out:?} shows {piece:?} of {secret:?}");
        }
    }
}

fn stream(redactor: &Arc<Redactor>, pieces: &[&str]) -> String {
    let mut stream = StreamRedactor::new(Arc::clone(redactor));
    let mut out: String = pieces.iter().map(|piece| stream.push(piece)).collect();
    out.push_str(&stream.finish());
    out
}

fn plain() -> Arc<Redactor> {
    Arc::new(Redactor::default())
}

#[test]
fn keys() {
    let secret = [
        "OPENAI_API_KEY",
        "client_secret",
        "accessToken",
        "apiKey",
        "x-api-key",
        "APIKey",
        "privateKey",
        "private_key",
        "Set-Cookie",
        "sessionToken",
        "token",
        "TOKEN",
        "passwd",
        "passwords",
        "secrets",
        "cookies",
        "credentials",
        "credential",
        "authorization",
        "Proxy-Authorization",
        "bearer",
        "apikey",
        "OPENAI_APIKEY",
        "APIkey",
        "_authToken",
        "AWS_SECRET_ACCESS_KEY",
        "password2",
        "db.password",
        "api key",
        "PassWord",
        "PGPASSWORD",
        "tokenValue",
        "authorization_code",
        "secretÉ_token",
    ];
    let harmless = [
        "",
        "key",
        "inputTokens",
        "max_tokens",
        "tokens",
        "token_count",
        "tokenCount",
        "tokenizer",
        "secretary",
        "cookieConsentVersion",
        "tokenLimit",
        "token_type",
        "passwordPolicy",
        "credentials_file",
        "private_key_path",
        "token_endpoint",
        "accessTokenExpiresAt",
        "monkey",
        "keyboard",
        "api",
        "publicKey",
        "apiVersion",
        "keyApi",
        "päsecret",
        "secretä",
        "--",
    ];
    for key in secret {
        assert!(is_secret_key(key), "{key}");
    }
    for key in harmless {
        assert!(!is_secret_key(key), "{key}");
    }
}

#[test]
fn texts() {
    let table: &[(&str, &str)] = &[
        ("password=x1", "password=[REDACTED]"),
        ("password = x1, user = y", "password = [REDACTED], user = y"),
        (r#"{"password":"x","n":1}"#, r#"{"password":"[REDACTED]","n":1}"#),
        (r#"{"password"  :  "x","n":1}"#, r#"{"password"  :  "[REDACTED]","n":1}"#),
        ("{\"password\":\n  \"x\"}", "{\"password\":\n  \"[REDACTED]\"}"),
        (r#"{"password":"x\"y","n":1}"#, r#"{"password":"[REDACTED]","n":1}"#),
        (r#"{"password":"cut he"#, r#"{"password":"[REDACTED]"#),
        (r#"{"t":"{\"password\":\"x\",\"n\":1}"}"#, r#"{"t":"{\"password\":\"[REDACTED]\",\"n\":1}"}"#),
        (
            r#"{"t":"{\"password\": \"x\\\"y\",\"n\":1}"}"#,
            r#"{"t":"{\"password\": \"[REDACTED]\",\"n\":1}"}"#,
        ),
        (r#"{"t":"{\"password\":\"cut"}"#, r#"{"t":"{\"password\":\"[REDACTED]"}"#),
        (r#"{"t":"a\ntoken=abcd\nb"}"#, r#"{"t":"a\ntoken=[REDACTED]\nb"}"#),
        (r#"{"t":"a\nsk-fake0000fake\nb"}"#, r#"{"t":"a\n[REDACTED]\nb"}"#),
        (r#"{"token":12345}"#, r#"{"token":[REDACTED]}"#),
        (r#"{"token":5,"x":1}"#, r#"{"token":5,"x":1}"#),
        (
            r#"{"set-cookie":["a=b; Path=/", "c=d"],"n":1}"#,
            r#"{"set-cookie":["[REDACTED]", "[REDACTED]"],"n":1}"#,
        ),
        (r#"["--password", "x y", "-v"]"#, r#"["--password", "[REDACTED]", "-v"]"#),
        ("tool --password x -v", "tool --password [REDACTED] -v"),
        ("tool --token=x -v", "tool --token=[REDACTED] -v"),
        ("Authorization: Bearer x\r\nHost: y", "Authorization: Bearer [REDACTED]\r\nHost: y"),
        ("-H 'Authorization: Bearer x' url", "-H 'Authorization: Bearer [REDACTED]' url"),
        (r#"Authorization: Digest username="x", response="y"#, "Authorization: Digest [REDACTED]"),
        ("-H 'Cookie: a=b; c=d' url", "-H 'Cookie: [REDACTED]' url"),
        ("Cookie: a=b c; d=\"e; f\"; g=h\nHost: y", "Cookie: [REDACTED]\nHost: y"),
        (r"GET /\r\nCookie: a=b; c=d\r\nHost: y", r"GET /\r\nCookie: [REDACTED]\r\nHost: y"),
        ("x eyJmYWtlIjox.ZmFrZQ.ZmFrZQ.", "x [REDACTED]."),
        ("https://u:p@h/x", "https://u:[REDACTED]@h/x"),
        ("https://u:@h/x", "https://[REDACTED]:@h/x"),
        ("?token=a&b=c", "?token=[REDACTED]&b=c"),
        ("token=a%20b", "token=[REDACTED]"),
        ("a\n-----BEGIN X KEY-----\nAA\n-----END X KEY-----\nb", "a\n[REDACTED]\nb"),
        ("a -----BEGIN X KEY-----\nAA\nBB", "a [REDACTED]"),
        (r#"{"k":"-----BEGIN X KEY-----\nAA\n-----END X KEY-----\n"}"#, r#"{"k":"[REDACTED]\n"}"#),
        ("\"-----BEGIN X KEY-----\" +\n\"AAAABBBB\" + \"-----END X KEY-----\"", "\"[REDACTED]\""),
        ("sk-fake0000fake sk-fake1111fake", "[REDACTED] [REDACTED]"),
        ("密钥sk-fake0000fake。", "密钥[REDACTED]。"),
        ("\x1b[32mghp_fakefake0000\x1b[0m", "\x1b[32m[REDACTED]\x1b[0m"),
        ("token: Bearer x", "token: Bearer [REDACTED]"),
        ("const token: string = 'abc'", "const token: string = '[REDACTED]'"),
        ("password=b'$x'", "password=b'[REDACTED]'"),
    ];
    for (input, expected) in table {
        assert_eq!(redact_text(input), *expected, "{input}");
        assert_eq!(redact_text(expected), *expected, "again: {expected}");
    }
}

#[test]
fn harmless_text_is_unchanged() {
    for line in harmless() {
        let out = redact_text(line);
        assert_eq!(out, line);
        assert!(matches!(out, Cow::Borrowed(_)), "{line}");
        assert_eq!(redact_excerpt(line.as_bytes(), 512, false), line);
    }
    // Together too, as far as no line leaves an open quote or block behind.
    assert_eq!(redact_text(HARMLESS), HARMLESS);
    assert_eq!(stream(&plain(), &[HARMLESS]), HARMLESS);
}

#[test]
fn secrets_do_not_survive() {
    for (text, secrets) in secrets() {
        let out = redact_text(&text);
        check_gone(&text, &out, &secrets);
        assert!(out.contains(REDACTED), "{text}");
        assert_eq!(redact_text(&out), out, "again");
        let json = serde_json::json!({ "a": [1], "text": text, "z": "end" }).to_string();
        let nested = serde_json::json!({ "line": json }).to_string();
        let places = [
            json.clone(),
            json.replace("\":", "\"  :  "),
            json.trim_end_matches('}').to_owned(),
            json.replacen('{', "{,,", 1),
            nested,
            format!("before\n{text}\nafter"),
            format!("\u{FEFF}{text}"),
            format!("x \"{text}\""),
        ];
        for place in places {
            // What JSON escapes in a secret is looked for as it is written there.
            let plain: Vec<&str> = secrets.iter().copied().filter(|secret| place.contains(secret)).collect();
            let out = redact_text(&place);
            check_gone(&place, &out, &plain);
            assert_eq!(redact_text(&out), out, "again");
        }
    }
}

#[test]
fn json_members_do_not_survive() {
    for key in ["password", "apiKey", "client_secret", "Authorization", "Cookie", "privateKey", "accessToken"]
    {
        for value in
            ["fakeval", "fake val", "fa\"ke\\val", "{fake", "fake\nval", "Bearer fakeval", "é😀fakeval"]
        {
            let json = serde_json::json!({ key: value, "n": 1 }).to_string();
            let nested = serde_json::json!({ "t": json }).to_string();
            for text in [json.clone(), json.replace(':', " : "), json.replace(",\"n\"", ""), nested] {
                let out = redact_text(&text);
                assert!(!out.contains("fake") && !out.contains("val"), "{text} -> {out}");
                assert!(text.contains("\"n\"") <= out.contains("\"n\""), "{text} -> {out}");
                for (at, _) in text.char_indices() {
                    let out = redact_excerpt(&text.as_bytes()[..at], 512, true);
                    assert!(!out.contains("fa") && !out.contains("val"), "{} -> {out}", &text[..at]);
                }
            }
        }
    }
}

#[test]
fn cut_excerpts_show_no_part_of_a_secret() {
    let mut cuts = 0;
    for (text, secrets) in secrets() {
        for text in [text.clone(), serde_json::json!({ "text": text }).to_string()] {
            for at in 0..text.len() {
                let out = redact_excerpt(&text.as_bytes()[..at], 512, true);
                let there: Vec<&str> =
                    secrets.iter().copied().filter(|secret| text.contains(secret)).collect();
                check_gone(&text, &out, &there);
                cuts += 1;
            }
        }
    }
    assert!(cuts > 2000);
}

#[test]
fn excerpts() {
    let check = |bytes: &[u8], max: usize, cut: bool, expected: &str| {
        assert_eq!(redact_excerpt(bytes, max, cut), expected, "{:?}", String::from_utf8_lossy(bytes));
    };
    check(b"plain text", 512, false, "plain text");
    check(b"plain text", 512, true, "plain ");
    check(b"plain text", 5, false, "plain");
    check(b"a \xFF b", 512, false, "a \u{FFFD} b");
    check("a\u{1F600}b".as_bytes(), 2, false, "a");
    check(b"token=abc", 512, true, "token=[REDACTED]");
    check(b"token=abc", 12, false, "token=");
    check(br#"{"password":"ab"#, 512, true, r#"{"password":"[REDACTED]"#);
    check(b"https://u:p@hos", 512, true, "https://u:[REDACTED]");
    check(b"https://u:pass", 512, true, "");
    check(b"key ghp_fakefake\xFFfake", 512, false, "key [REDACTED]");
    check(b"", 512, true, "");
}

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

/// A piece of four or more UTF-16 units of `secret` in `out`.
fn shown_units(out: &str, secret: &str) -> Option<String> {
    let (out, secret): (Vec<u16>, Vec<u16>) = (out.encode_utf16().collect(), secret.encode_utf16().collect());
    let found = secret.windows(4).find(|piece| out.windows(4).any(|window| window == *piece));
    found.map(String::from_utf16_lossy)
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

#[test]
fn time_is_linear() {
    const SIZE: usize = 1 << 20;
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
    ];
    let redactor = Arc::new(Redactor::new(["aaaaaaaaaaaaaaaa"]).expect("long enough"));
    for unit in units {
        let text = unit.repeat(SIZE / unit.len());
        let start = Instant::now();
        let out = redactor.text(&text);
        assert_eq!(redactor.text(&out), out, "again: {unit:?}");
        let _ = redact_excerpt(text.as_bytes(), 512, true);
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
