//! Selection and validation of lines that never become values.

use agent_lifecycle_core::decode::Select;
use agent_lifecycle_core::decode::validate::{members, validate};
use agent_lifecycle_core::json::{self, JsonFault, is_too_deep};
use proptest::prelude::*;
use serde_json::Value;

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn select(members: &[(&str, &[&str])]) -> Select {
    let members =
        members.iter().map(|(name, strings)| (units(name), strings.iter().map(|text| units(text)).collect()));
    Select::new(members).expect("between 1 and 64 members")
}

#[test]
fn a_record_is_wanted_by_hand() {
    let by_type = select(&[("type", &["user", "tool \"x\"", "größe", "🙂", "\n"])]);
    for (record, expected) in [
        (r#"{"type":"user"}"#, Ok(true)),
        (r#" { "a" : [ { "type" : "user" } ] , "type" : "user" } "#, Ok(true)),
        (r#"{"type":"system"}"#, Ok(false)),
        // Only the top level, only strings, only objects.
        (r#"{"message":{"type":"user"}}"#, Ok(false)),
        (r#"[{"type":"user"}]"#, Ok(false)),
        (r#"["type","user"]"#, Ok(false)),
        (r#""user""#, Ok(false)),
        (r#"{"type":["user"]}"#, Ok(false)),
        (r#"{"type":null}"#, Ok(false)),
        (r#"{"user":"type"}"#, Ok(false)),
        (r#"{"typ":"user","types":"user","Type":"user"}"#, Ok(false)),
        ("{}", Ok(false)),
        ("1e999", Ok(false)),
        // The last duplicate counts.
        (r#"{"type":"system","type":"user"}"#, Ok(true)),
        (r#"{"type":"user","type":"system"}"#, Ok(false)),
        (r#"{"type":"user","type":7}"#, Ok(false)),
        (r#"{"type":"user","a":{"type":"system"}}"#, Ok(true)),
        // Escapes in keys and values.
        (r#"{"\u0074ype":"user"}"#, Ok(true)),
        (r#"{"t\u0079\u0070e":"\u0075ser"}"#, Ok(true)),
        (r#"{"type":"\u0055ser"}"#, Ok(false)),
        (r#"{"type":"tool \"x\""}"#, Ok(true)),
        (r#"{"type":"tool \u0022x\u0022"}"#, Ok(true)),
        (r#"{"type":"größe"}"#, Ok(true)),
        (r#"{"type":"gr\u00F6\u00dfe"}"#, Ok(true)),
        (r#"{"type":"🙂"}"#, Ok(true)),
        (r#"{"type":"\ud83d\ude42"}"#, Ok(true)),
        (r#"{"type":"\ud83d"}"#, Ok(false)),
        (r#"{"type":"\n"}"#, Ok(true)),
        (r#"{"type":"\\n"}"#, Ok(false)),
        (r#"{"type":"user\u0000"}"#, Ok(false)),
        // Read to the end, wanted or not.
        (r#"{"type":"user""#, Err(JsonFault::Malformed)),
        (r#"{"type":"user"} x"#, Err(JsonFault::Malformed)),
        (r#"{"type":"system",}"#, Err(JsonFault::Malformed)),
        ("", Err(JsonFault::Malformed)),
    ] {
        assert_eq!(by_type.wants(record.as_bytes()), expected, "{record}");
    }
}

#[test]
fn every_named_member_must_match() {
    let both = select(&[("type", &["user", "assistant"]), ("", &["x"])]);
    for (record, expected) in [
        (r#"{"type":"user","":"x"}"#, true),
        (r#"{"":"x","type":"assistant"}"#, true),
        (r#"{"type":"user"}"#, false),
        (r#"{"":"x"}"#, false),
        (r#"{"type":"user","":"x","type":"y"}"#, false),
    ] {
        assert_eq!(both.wants(record.as_bytes()), Ok(expected), "{record}");
    }
    assert_eq!(select(&[("type", &[])]).wants(br#"{"type":"user"}"#), Ok(false));
    assert!(Select::new([]).is_none());
    assert!(Select::new((0..=64).map(|at| (vec![at], Vec::new()))).is_none());
    let most = Select::new((0..64).map(|at| (vec![97 + at], vec![units("x")]))).expect("64 members");
    assert_eq!(most.wants(br#"{"a":"x"}"#), Ok(false));
}

#[test]
fn a_lone_surrogate_can_be_selected() {
    let lone = Select::new([(vec![0xd83d], vec![vec![0x61, 0xdead]])]).expect("one member");
    assert_eq!(lone.wants(br#"{"\ud83d":"a\udead"}"#), Ok(true));
    assert_eq!(lone.wants(br#"{"\uD83D":"\u0061\uDEAD"}"#), Ok(true));
    assert_eq!(lone.wants(br#"{"\ud83d\ude42":"a\udead"}"#), Ok(false));
    assert_eq!(lone.wants("{\"\u{fffd}\":\"a\u{fffd}\"}".as_bytes()), Ok(false));
}

#[test]
fn members_are_given_as_they_are_written() {
    let mut seen = Vec::new();
    let text = br#" {"a" : 1 , "b\n":[ {"c":2} ],"a":{"d":{}} ,"": "x,\"" } "#;
    members(text, &mut |key, value| {
        seen.push((String::from_utf8_lossy(key).into_owned(), String::from_utf8_lossy(value).into_owned()));
    })
    .expect("it is JSON");
    let expected = [("a", "1"), ("b\\n", r#"[ {"c":2} ]"#), ("a", r#"{"d":{}}"#), ("", r#""x,\"""#)];
    assert_eq!(seen, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[test]
fn verdicts_by_hand() {
    for valid in [
        "0",
        "-0",
        "1.5e-7",
        "1E+9",
        "1e999",
        "\"\u{2028}\u{7f}\"",
        r#""\ud83d""#,
        r#""\b\f\n\r\t\/\\\"""#,
        "[]",
        "[[],{}]",
        " \t\r\n{ } ",
        "true",
        "[null,false]",
        r#"{"__proto__":{"a":[1,2,{"b":null}]}}"#,
    ] {
        assert_eq!(validate(valid.as_bytes()), Ok(()), "{valid}");
    }
    for broken in [
        "",
        " ",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "tru",
        "truex",
        "nul",
        "NaN",
        "'a'",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12\"",
        "\"\t\"",
        "\"\u{1f}\"",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\":1]",
        "[1}",
        "{\"a\":1}}",
        "[]]",
        "1 2",
        "{}{}",
        "\u{feff}1",
        "\u{a0}1",
        "1\0",
        "[\"a\":1]",
        "{\"a\",1}",
        "{,}",
        "\"abcdefgh",
    ] {
        assert_eq!(validate(broken.as_bytes()), Err(JsonFault::Malformed), "{broken:?}");
    }
}

#[test]
fn levels_are_counted_to_the_limit() {
    for (levels, expected) in [(511, Ok(())), (512, Ok(())), (513, Err(JsonFault::TooDeep))] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"[{\":", "}]")] {
            let per = open.matches(['[', '{']).count().min(2);
            let (count, odd) = (levels / per, levels % per);
            let inside = if odd == 1 { "[]" } else { "0" };
            let text = format!("{}{inside}{}", open.repeat(count), close.repeat(count));
            assert_eq!(validate(text.as_bytes()), expected, "{levels} levels of {open}");
            assert_eq!(is_too_deep(text.as_bytes()), expected.is_err(), "{levels} levels of {open}");
        }
    }
    // Too deep and broken is too deep, as for every other reader of the core.
    let broken = format!("]{}", "[".repeat(513));
    assert_eq!(validate(broken.as_bytes()), Err(JsonFault::TooDeep));
    let flat = format!("\"{}\"", "[".repeat(5000));
    assert_eq!(validate(flat.as_bytes()), Ok(()));
}

/// A JSON value with members of few names, so that duplicates and matches are common.
fn value() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        Just(r#""user""#.to_owned()),
        Just(r#""\u0075ser""#.to_owned()),
        "[a-z\u{e9}\u{1f642}]{0,12}".prop_map(|text| json::write(&text)),
        "\\PC{0,80}".prop_map(|text| json::write(&text)),
        "[\u{0}-\u{30}\"\\\\]{0,40}".prop_map(|text| json::write(&text)),
    ];
    let number =
        prop_oneof![any::<i64>().prop_map(|n| n.to_string()), any::<f32>().prop_map(|n| json::write(&n))];
    let scalar =
        prop_oneof![4 => text, 1 => number, 1 => Just("true".to_owned()), 1 => Just("null".to_owned())];
    let space = || prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\t\r\n ")];
    scalar.prop_recursive(4, 40, 6, move |inner| {
        let key = prop_oneof![Just(r#""type""#), Just(r#""t\u0079pe""#), Just(r#""a""#), Just(r#""""#)];
        let item = (inner.clone(), space()).prop_map(|(value, space)| format!("{space}{value}{space}"));
        let member = (key, space(), item.clone()).prop_map(|(key, space, value)| format!("{space}{key}{space}:{value}"));
        prop_oneof![
            1 => proptest::collection::vec(item, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            3 => proptest::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn selection_is_what_the_parsed_value_says(text in value()) {
        let parsed: Value = serde_json::from_str(&text).expect("it is JSON");
        let by = select(&[("type", &["user", "x"])]);
        let expected = parsed.get("type").and_then(Value::as_str).is_some_and(|text| ["user", "x"].contains(&text));
        prop_assert_eq!(by.wants(text.as_bytes()), Ok(expected));
    }

    #[test]
    fn a_broken_text_is_refused_where_the_reader_of_the_core_refuses_it(
        text in value(), at in any::<prop::sample::Index>(), with in prop_oneof![
            Just(""), Just("\""), Just("\\"), Just("{"), Just("}"), Just("]"), Just(","), Just(":"), Just("0"), Just("-"),
            Just("."), Just("e"), Just(" "), Just("\u{1}"), Just("é"), Just("\\ud800"),
        ], cut in any::<bool>(),
    ) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = at.index(bounds.len());
        let rest = if cut { bounds.get(at + 1).map_or("", |&from| &text[from..]) } else { &text[bounds[at]..] };
        let broken = format!("{}{with}{rest}", &text[..bounds[at]]);
        let expected = json::parse(broken.as_bytes()).map(|_| ());
        prop_assert_eq!(validate(broken.as_bytes()), expected, "{}", broken);
    }
}
