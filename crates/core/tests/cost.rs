//! Hostile lines of the longest length: they are judged in a time that grows with their length. None of these may take a moment;
//! the quadratic forms of what they attack would take minutes.

mod common;

use agent_lifecycle_core::decode::JsonlParser;
use common::{event_text, normalized};

const LENGTH: usize = 262_144;

/// As much of `pattern`, repeated, as a line has room for beside a valid event.
fn filled(pattern: &str) -> String {
    pattern.repeat((LENGTH - 1024) / pattern.len())
}

#[test]
fn hostile_lines_are_linear() {
    let patterns = [
        "\"",
        "\\",
        "\\\"",
        "\\\\",
        "{",
        "[",
        "[{\"\":",
        "}",
        ",",
        ":",
        "0",
        "-",
        "1e9",
        "\u{e000}",
        "\\ud800",
        "\\udc00",
        "\\ud83d\\ude00",
        "\\u",
        "\0",
        "\r",
        " ",
        "\u{3000}",
        "\u{feff}",
        "{\"a\":",
        "\"a\":1,",
        "\"\\ud800\":1,",
        "\"password\":\"",
        "1e999,",
        "é",
        "😀",
    ];
    for pattern in patterns {
        let body = filled(pattern);
        for line in [
            body.clone(),
            format!("{{{body}"),
            format!("\"{body}\""),
            format!("{{\"a\":\"{body}\"}}"),
            event_text(&[("other", &format!("\"{body}\""))]),
            event_text(&[("activity", &format!("\"{body}\""))]),
            event_text(&[("activity", &format!("\"\\ud800{body}\""))]),
            event_text(&[("childId", &format!("\"{body}\""))]),
            event_text(&[("details", &format!("{{{body}}}"))]),
            event_text(&[("details", &format!("{{\"a\":[{body}]}}"))]),
        ] {
            let mut parser = JsonlParser::default();
            parser.push(line.as_bytes(), &mut |_, _| {});
            parser.push(b"\n", &mut |_, _| {});
            assert!(parser.diagnostics().kept().iter().all(|fault| fault.raw.len() <= 4 * 512));
        }
    }
}

#[test]
fn many_members_are_linear() {
    // One member with a lone surrogate makes the whole text one that is repaired.
    for surrogate in ["", r#""\ud800":1,"#] {
        let distinct: Vec<String> = (0..12_000).map(|number| format!("\"k{number}\":{number}")).collect();
        let same = vec!["\"k\":1"; 40_000];
        for members in [distinct.join(","), same.join(",")] {
            let object = format!("{{{surrogate}{members}}}");
            let _ = normalized(&event_text(&[("details", &object)]));
            assert!(normalized(&event_text(&[("other", &object)])).is_ok());
            assert!(normalized(&format!("{{{members},{}", &event_text(&[])[1..])).is_ok());
        }
    }
    let duplicates = vec![r#""details":{"a":1}"#; 12_000].join(",");
    assert!(normalized(&format!("{{{duplicates},{}", &event_text(&[])[1..])).is_ok());
    // Keys that become equal only when their lone surrogates are replaced.
    let keys: Vec<String> = (0..2048).map(|low| format!("\"\\ud{:03x}\":1", 0x800 + low)).collect();
    let written = normalized(&event_text(&[("details", &format!("{{{}}}", keys.join(",")))])).unwrap();
    assert_eq!(written["details"], serde_json::json!({"\u{fffd}": 1}));
}

#[test]
fn depth_is_linear() {
    for levels in [511, 512, 60_000] {
        for open in ["[", r#"{"a":"#] {
            let close = if open == "[" { "]" } else { "}" };
            let (open, close) = (open.repeat(levels), close.repeat(levels));
            for member in ["other", "details", "lineage", "activity"] {
                let _ = normalized(&event_text(&[(member, &format!("{open}1{close}"))]));
                let _ = normalized(&event_text(&[(member, &open)]));
            }
        }
    }
}
