//! Normalisation, as JSON text: numbers, duplicates, escapes, depth, size and unknown members.

mod common;

use common::{event_text, nested, normalized};
use serde_json::{Value, json};

fn refusal(code: &str, path: &str) -> Result<Value, (String, String)> {
    Err((code.to_owned(), path.to_owned()))
}

/// What becomes of the details with this JSON text.
fn details(text: &str) -> Result<Value, (String, String)> {
    let mut written = normalized(&event_text(&[("details", text)]))?;
    assert_eq!(normalized(&written.to_string()), Ok(written.clone()), "a written event is the same event");
    Ok(written["details"].take())
}

/// The written form of the details, member order included.
fn details_text(text: &str) -> String {
    let text = event_text(&[("details", text)]);
    let written = agent_lifecycle_core::contract::Event::from_json(text.as_bytes()).unwrap().to_json();
    let from = written.find(r#""details":"#).unwrap() + r#""details":"#.len();
    written[from..written.rfind(r#","capabilities":"#).unwrap()].to_owned()
}

#[test]
fn details_are_an_object() {
    for text in ["null", "true", "7", r#""x""#, "[{}]"] {
        assert_eq!(details(text), refusal("invalid_details", "$.details"), "{text}");
    }
    assert_eq!(details("{}"), Ok(json!({})));
    assert_eq!(normalized(&event_text(&[])).unwrap().get("details"), None);
}

#[test]
fn numbers_are_doubles() {
    for (text, expected) in [
        ("1.0", "1"),
        ("1e0", "1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0.1", "0.1"),
        ("0.1000000000000000055511151231257827", "0.1"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        // JSON.stringify(Infinity) is null.
        ("1e999", "null"),
        ("-1e999", "null"),
        ("[1e400,1]", "[null,1]"),
        // Text that only looks like such a number is text.
        (r#""1e999""#, r#""1e999""#),
        (r#""\"1e999""#, r#""\"1e999""#),
    ] {
        assert_eq!(details_text(&format!(r#"{{"n":{text}}}"#)), format!(r#"{{"n":{expected}}}"#));
    }
    // 2^53 + 1 is no double; its even neighbour is.
    assert_eq!(details(r#"{"n":9007199254740993}"#).unwrap()["n"].as_f64(), Some(9_007_199_254_740_992.0));
    for text in ["01", "1.", ".5", "+1", "1e", "NaN", "Infinity", "-", "0x1"] {
        assert_eq!(details(&format!(r#"{{"n":{text}}}"#)), refusal("invalid_event", "$"), "{text}");
    }
}

#[test]
fn the_last_duplicate_counts() {
    let base = event_text(&[]);
    let twice = |members: &str| format!("{{{members},{}", &base[1..]);
    // The valid one is last, whatever the first was; and the other way round.
    for first in [
        r#""schemaVersion":"2""#,
        r#""eventId":{"a":[]}"#,
        r#""lineage":7"#,
        r#""lineage":{"attempt":-1}"#,
        r#""observedAt":1e999"#,
        r#""childId":"\ud800""#,
        r#""kind":null"#,
    ] {
        assert_eq!(normalized(&twice(first)), normalized(&base), "{first}");
    }
    let last = format!(r#"{},"kind":"created"}}"#, &base[..base.len() - 1]);
    assert_eq!(normalized(&last), refusal("invalid_state", "$.state"));
    for (first, last) in [("7", r#"{"a":1}"#), (r#"{"b":1}"#, r#"{"a":1}"#), (&nested(40), r#"{"a":1}"#)] {
        let text = event_text(&[("details", &format!(r#"{first},"details":{last}"#))]);
        assert_eq!(normalized(&text).unwrap()["details"], json!({"a": 1}), "{first}");
    }
    let text = event_text(&[("details", r#"{},"details":7"#)]);
    assert_eq!(normalized(&text), refusal("invalid_details", "$.details"));
    // As in JavaScript, a repeated key keeps its first place.
    assert_eq!(details_text(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    // One too deep is replaced like any other value.
    assert_eq!(details(&format!(r#"{{"a":{},"a":1}}"#, nested(40))), Ok(json!({"a": 1})));
    // More members than are looked through one by one.
    let many: Vec<String> = (0..40).map(|n| format!(r#""k{}":{n}"#, n % 20)).collect();
    let expected: Vec<String> = (0..20).map(|n| format!(r#""k{n}":{}"#, n + 20)).collect();
    assert_eq!(details_text(&format!("{{{}}}", many.join(","))), format!("{{{}}}", expected.join(",")));
    let capabilities = r#"{"cancel":7,"cancel":"known"}"#;
    let written = normalized(&event_text(&[("capabilities", capabilities)])).unwrap();
    assert_eq!(written["capabilities"]["cancel"], json!("known"));
}

#[test]
fn key_names_may_be_escaped() {
    let text = event_text(&[]).replacen(r#""kind""#, r#""\u006bin\u0064""#, 1);
    assert_eq!(normalized(&text), normalized(&event_text(&[])));
    let text = event_text(&[]).replacen(r#""attempt""#, r#""\u0061ttempt""#, 1);
    assert_eq!(normalized(&text), normalized(&event_text(&[])));
}

#[test]
fn lone_surrogates_are_replaced_where_they_are_allowed() {
    for (text, expected) in [
        (r#"{"a":"x\ud800"}"#, json!({"a": "x\u{fffd}"})),
        (r#"{"a":["\udc00\ud800"]}"#, json!({"a": ["\u{fffd}\u{fffd}"]})),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, json!({"a": "\u{fffd}😀"})),
        // An escaped backslash before the letter u is no escape.
        (r#"{"a":"\\ud800"}"#, json!({"a": "\\ud800"})),
        (r#"{"a":"\\\ud800"}"#, json!({"a": "\\\u{fffd}"})),
        (r#"{"\ud800":1}"#, json!({"\u{fffd}": 1})),
        (r#"{"a":"\ue000\uE001\ud800"}"#, json!({"a": "\u{e000}\u{e001}\u{fffd}"})),
    ] {
        assert_eq!(details(text), Ok(expected), "{text}");
    }
    // Keys that become equal are one key with the last value: no written object has a key twice.
    for text in [
        r#"{"\ud800":1,"b":2,"\udfff":3}"#,
        r#"{"\ufffd":1,"b":2,"\ud800":3}"#,
        r#"{"\ud800":1,"b":2,"\ufffd":3}"#,
    ] {
        assert_eq!(details_text(text), "{\"\u{fffd}\":3,\"b\":2}", "{text}");
    }
}

#[test]
fn a_lone_surrogate_is_replaced_whatever_else_the_text_holds() {
    // Every private-use character of the basic plane is there, as itself or as an escape.
    let raw: String = ('\u{e000}'..='\u{f8ff}').collect();
    let escaped: Vec<String> = (0xe000..=0xf8ff).map(|unit| format!("\\u{unit:04x}")).collect();
    for all in [raw, escaped.concat()] {
        let text = event_text(&[("activity", r#""x\ud800""#), ("unknown", &format!("\"{all}\""))]);
        assert_eq!(normalized(&text).unwrap()["activity"], json!("x\u{fffd}"));
        let text = event_text(&[("childId", r#""x\ud800""#), ("unknown", &format!("\"{all}\""))]);
        assert_eq!(normalized(&text), refusal("invalid_id", "$.childId"));
    }
    // And every character from there to the end of a supplementary plane.
    let most: String = ('\u{e000}'..='\u{1ffff}').collect();
    let text = event_text(&[("activity", r#""x\ud800""#), ("unknown", &format!("\"{most}\""))]);
    assert_eq!(normalized(&text).unwrap()["activity"], json!("x\u{fffd}"));
}

#[test]
fn unknown_members_are_dropped_whatever_they_hold() {
    let plain = normalized(&event_text(&[]));
    for text in [r#""\ud800""#, "1e999", "-0", "null", r#"{"\ud800":[1,{}]}"#, r#""\u0000""#, &nested(511)] {
        assert_eq!(normalized(&event_text(&[("other", text)])), plain, "{text}");
    }
    for key in [r"\ud800", r"\u0000", "", "schemaversion", "__proto__", " kind"] {
        let text = format!(r#"{{"{key}":1,{}"#, &event_text(&[])[1..]);
        assert_eq!(normalized(&text), plain, "{key}");
    }
    let lineage = r#"{"rootChildId":"c","attempt":1,"external":false,"pid":[{}],"\ud800":"\udc00"}"#;
    assert_eq!(normalized(&event_text(&[("lineage", lineage)])), plain);
    let capabilities = r#"{"pause":"perhaps","\ud800":1e999}"#;
    assert_eq!(normalized(&event_text(&[("capabilities", capabilities)])), plain);
    // A dropped member must still be JSON.
    for text in ["01", r#""\x""#, "\"\u{1}\"", "[1,]", r#"{"a"}"#, "tru"] {
        assert_eq!(normalized(&event_text(&[("other", text)])), refusal("invalid_event", "$"), "{text}");
    }
}

#[test]
fn details_have_at_most_32_levels() {
    assert!(details(&nested(32)).is_ok());
    assert_eq!(details(&nested(33)), refusal("invalid_details", "$.details"));
    let arrays = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(details(&arrays(31)).is_ok());
    assert_eq!(details(&arrays(32)), refusal("invalid_details", "$.details"));
    assert_eq!(details(&arrays(500)), refusal("invalid_details", "$.details"));
}

#[test]
fn json_has_at_most_512_levels() {
    // The event itself is the first level.
    for member in ["other", "childId", "lineage", "details", "capabilities", "sequence"] {
        let deep = |levels: usize| normalized(&event_text(&[(member, &nested(levels - 1))]));
        assert_ne!(deep(512), refusal("too_deep", "$"), "{member}");
        assert_eq!(deep(513), refusal("too_deep", "$"), "{member}");
        assert_eq!(deep(5130), refusal("too_deep", "$"), "{member}");
    }
    let brackets = format!("\"{}\"", "[{".repeat(5000));
    assert!(normalized(&event_text(&[("activity", &brackets)])).is_ok(), "brackets in text are no levels");
    assert!(normalized(&event_text(&[("other", &format!("\"\\\"{}\"", "[".repeat(5000)))])).is_ok());
}

#[test]
fn details_have_at_most_64_kib() {
    // The compact text is {"a":"..."}: eight bytes and the text.
    let of = |bytes: usize| format!(r#"{{ "a" : "{}" }}"#, "x".repeat(bytes - 8));
    assert!(details(&of(65_536)).is_ok());
    assert_eq!(details(&of(65_537)), refusal("invalid_details", "$.details"));
    // Bytes, not characters: é is two.
    let accents = |count: usize| format!(r#"{{"a":"{}"}}"#, "é".repeat(count));
    assert!(details(&accents(32_764)).is_ok());
    assert_eq!(details(&accents(32_765)), refusal("invalid_details", "$.details"));
    // As written: an escape that needs none counts as its character.
    assert!(details(&format!(r#"{{"a":"{}"}}"#, r"\u0078".repeat(20_000))).is_ok());
}

#[test]
fn details_that_redaction_makes_too_long_are_refused() {
    // Fourteen bytes each with their comma before, 24 after: a written event must be accepted again.
    let of = |count: usize| format!(r#"{{"a":[{}]}}"#, [r#"{"password":""}"#].repeat(count).join(","));
    assert!(details(&of(2500)).is_ok());
    assert_eq!(details(&of(4000)), refusal("invalid_details", "$.details"));
}

#[test]
fn secrets_in_details_are_replaced() {
    let text = r#"{"password":"p","a":{"password":["p",{"b":"q"},5]},"n":{"password":null}}"#;
    let expected = json!({"password": "[REDACTED]",
        "a": {"password": ["[REDACTED]", {"b": "q"}, 5]}, "n": {"password": null}});
    assert_eq!(details(text), Ok(expected));
}

#[test]
fn what_is_no_json_is_no_event() {
    for text in
        ["", " ", "{", "{}x", "{'a':1}", "{\"a\":1,}", "// x\n{}", "\u{feff}{}", "\"\\ud800", "undefined"]
    {
        assert_eq!(normalized(text), refusal("invalid_event", "$"), "{text}");
    }
    // JSON's own white space around an event is not part of it.
    assert_eq!(normalized(&format!(" \t\r\n{}\n", event_text(&[]))), normalized(&event_text(&[])));
}
