//! Redaction of whole texts against tables, two corpora, and every cut of a secret.

mod common;

use std::borrow::Cow;

use agent_lifecycle_core::redact::{REDACTED, is_secret_key, redact_excerpt, redact_text};
use common::secrets::{HARMLESS, check_gone, harmless, plain, secrets, stream};

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
        // Base64 alone on a line can be a line of a key; an excerpt hides it.
        let excerpt = if line.starts_with("aGVsbG8") { REDACTED } else { line };
        assert_eq!(redact_excerpt(line.as_bytes(), 512, false), excerpt);
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
    check(br#"{"p\u0061ssword":"hunter2hunter2",,"#, 512, false, r#"{"password":"[REDACTED]",,"#);
    check(br#"{"password":"hunter\u00222hunter2","#, 512, false, r#"{"password":"[REDACTED]","#);
    check(br"{key sk\u002dabcdef0123456789 x", 512, false, "{key [REDACTED] x");
    check(br"{\u0022token\u0022:\u0022x\u0022", 512, false, r#"{\"token\":\"[REDACTED]\""#);
    check(br#""db":"postgres:\/\/u:pass@h.com\/x"#, 512, false, r#""db":"postgres://u:[REDACTED]@h.com/x"#);
    check(br"a p\u0061ssword=abc", 512, true, "a password=[REDACTED]");
    check(br"a p\u0061ssw\u00", 512, true, "a ");
    check(b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\r", 512, false, REDACTED);
    check(b"-----END PRIVATE KEY-----", 512, false, REDACTED);
    check(b"-----END PRIVATE KEY-----", 4, false, "");
    check(br#"{"k":"github_pat_11ABCDEFG"#, 512, false, r#"{"k":"[REDACTED]"#);
    check(b"key npm_abcdefghijklmno", 512, false, "key [REDACTED]");
}
