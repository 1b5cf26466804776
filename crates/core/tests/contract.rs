//! Normalisation, member by member: every boundary and every wrong type, with the code and path of each refusal.

mod common;

use common::{event_text, normalized};
use serde_json::{Value, json};

/// One JSON text of each type.
const TYPES: [(&str, &str); 6] = [
    ("null", "null"),
    ("bool", "true"),
    ("number", "7"),
    ("string", r#""x""#),
    ("array", "[1]"),
    ("object", "{}"),
];

/// Checks the member at `pointer` of the event with `changes`; `None` is a member that is not there.
#[track_caller]
fn accepts(changes: &[(&str, &str)], pointer: &str, expected: impl Into<Option<Value>>) {
    let expected = expected.into();
    let written =
        normalized(&event_text(changes)).unwrap_or_else(|refusal| panic!("{changes:?}: {refusal:?}"));
    assert_eq!(written.pointer(pointer), expected.as_ref(), "{changes:?}");
    let again = normalized(&written.to_string());
    assert_eq!(again.as_ref(), Ok(&written), "a written event is the same event");
}

#[track_caller]
fn refuses(changes: &[(&str, &str)], code: &str, path: &str) {
    let refusal = normalized(&event_text(changes)).expect_err(&format!("{changes:?}"));
    assert_eq!(refusal, (code.to_owned(), path.to_owned()), "{changes:?}");
}

/// Every type but those in `but`, with the other members that make it an otherwise valid event.
#[track_caller]
fn refuses_types_but(but: &[&str], member: &str, with: &[(&str, &str)], code: &str) {
    for (name, text) in TYPES.iter().filter(|(name, _)| !but.contains(name)) {
        let mut changes = with.to_vec();
        changes.push((member, text));
        println!("{member}: {name}");
        refuses(&changes, code, &format!("$.{member}"));
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn only_an_object_is_an_event() {
    for text in ["null", "true", "1", r#""x""#, "[]", r#"[{"schemaVersion":1}]"#] {
        assert_eq!(normalized(text), Err(("invalid_event".to_owned(), "$".to_owned())), "{text}");
    }
    assert_eq!(normalized("{}"), Err(("invalid_schema_version".to_owned(), "$.schemaVersion".to_owned())));
}

#[test]
fn schema_version_is_the_number_one() {
    for text in ["1", "1.0", "1e0", "10e-1", "0.1e1"] {
        accepts(&[("schemaVersion", text)], "/schemaVersion", json!(1));
    }
    for text in ["", "0", "2", "-1", "1.5", "1e1", "1e999", r#""1""#] {
        refuses(&[("schemaVersion", text)], "invalid_schema_version", "$.schemaVersion");
    }
    refuses_types_but(&[], "schemaVersion", &[], "invalid_schema_version");
}

#[test]
fn identities_are_trimmed_bounded_and_never_cut() {
    let longest = "é".repeat(256);
    let padded = format!("\u{feff}\u{a0}\t{longest}\u{2028}\n");
    for member in ["eventId", "source", "sourceEpoch", "childId"] {
        let (path, pointer) = (format!("$.{member}"), format!("/{member}"));
        for (text, expected) in [
            (r#""x""#, "x"),
            (r#""  a b\u3000""#, "a b"),
            // NEL is no white space to ECMAScript.
            (r#""\u0085x""#, "\u{85}x"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ufffd""#, "\u{fffd}"),
            // A private-use character is a character like any other.
            (r#""\ue000""#, "\u{e000}"),
            (&quoted(&padded), &longest),
            (&quoted(&"x".repeat(512)), &"x".repeat(512)),
            (&quoted(&"😀".repeat(128)), &"😀".repeat(128)),
        ] {
            accepts(&[(member, text)], &pointer, json!(expected));
        }
        for text in [
            "",
            r#""""#,
            r#"" \t\r\n ""#,
            r#""a\u0000b""#,
            r#""\u0000""#,
            r#""a\ud800""#,
            r#""\udc00a""#,
            r#""\ude00\ud83d""#,
            // With a private-use character beside it, which must not be taken for the surrogate's stand-in.
            r#""\ue000\ud800""#,
            &quoted(&"x".repeat(513)),
            &quoted(&format!("{longest}x")),
        ] {
            refuses(&[(member, text)], "invalid_id", &path);
        }
        refuses_types_but(&["string"], member, &[], "invalid_id");
    }
}

/// A lineage whose member `name` is `text`.
fn lineage(external: bool, name: &str, text: &str) -> String {
    let external = external.to_string();
    let mut members = vec![("rootChildId", r#""c""#), ("attempt", "1"), ("external", external.as_str())];
    members.retain(|(known, _)| *known != name);
    if !text.is_empty() {
        members.push((name, text));
    }
    if external == "true" && name != "adoptedAt" {
        members.push(("adoptedAt", r#""2026-05-17T00:00:00Z""#));
    }
    let members: Vec<String> = members.iter().map(|(name, text)| format!("{name:?}:{text}")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn lineage_members() {
    let at = r#""2026-05-17T00:00:00+00:00""#;
    for (external, member, text, expected) in [
        (false, "rootChildId", r#"" root ""#, Some(json!("root"))),
        (false, "attempt", "0", Some(json!(0))),
        (false, "attempt", "1.0", Some(json!(1))),
        (false, "attempt", "-0", Some(json!(0))),
        (false, "attempt", "9007199254740991", Some(json!(9_007_199_254_740_991_u64))),
        (false, "parentChildId", "", None),
        (false, "parentChildId", r#""p ""#, Some(json!("p"))),
        (false, "adoptedAt", "", None),
        (false, "adoptedAt", at, Some(json!("2026-05-17T00:00:00Z"))),
        (true, "external", "true", Some(json!(true))),
        (true, "adoptedAt", at, Some(json!("2026-05-17T00:00:00Z"))),
        (false, "unknown", "1", None),
    ] {
        let text = lineage(external, member, text);
        accepts(&[("lineage", &text)], &format!("/lineage/{member}"), expected);
    }
    let long = quoted(&"x".repeat(513));
    for (external, member, texts) in [
        (
            false,
            "rootChildId",
            &["", "null", "1", r#"" ""#, r#""\ud800""#, r#""\u0000""#, &long, "[]", "{}"][..],
        ),
        (false, "parentChildId", &["null", "1", r#""""#, r#""\udfff""#, r#""\u0000""#, &long, "[]", "{}"]),
        (false, "attempt", &["", "null", "true", r#""1""#, "-1", "0.5", "9007199254740992", "1e999", "[]"]),
        (false, "external", &["", "null", "0", r#""false""#, "[]", "{}"]),
        (false, "adoptedAt", &["null", "1", r#""yesterday""#, "{}"]),
        (true, "adoptedAt", &["", "null", r#""2026-02-30T00:00:00Z""#]),
    ] {
        for text in texts {
            let text = lineage(external, member, text);
            refuses(&[("lineage", &text)], "invalid_lineage", &format!("$.lineage.{member}"));
        }
    }
    refuses(&[("lineage", "")], "invalid_lineage", "$.lineage");
    refuses_types_but(&["object"], "lineage", &[], "invalid_lineage");
    refuses(&[("lineage", "{}")], "invalid_lineage", "$.lineage.rootChildId");
}

const STATES: [&str; 8] =
    ["created", "starting", "running", "waiting", "completed", "failed", "cancelled", "lost"];

#[test]
fn every_kind_with_every_state() {
    let terminal = &STATES[4..];
    for (kind, allowed) in [
        ("created", &STATES[..1]),
        ("state_changed", &STATES[1..]),
        ("activity", &[]),
        ("heartbeat", &[]),
        ("terminal", terminal),
        ("reconciliation", &[]),
        ("diagnostic", &[]),
    ] {
        let kind_text = quoted(kind);
        for state in STATES {
            let text = quoted(state);
            let changes = [("kind", kind_text.as_str()), ("state", text.as_str())];
            if allowed.contains(&state) {
                accepts(&changes, "/state", json!(state));
                accepts(&changes, "/kind", json!(kind));
            } else {
                refuses(&changes, "invalid_state", "$.state");
            }
        }
        let absent = [("kind", kind_text.as_str()), ("state", "")];
        if allowed.is_empty() {
            accepts(&absent, "/state", None);
        } else {
            refuses(&absent, "invalid_state", "$.state");
        }
        refuses_types_but(&[], "state", &[("kind", &kind_text)], "invalid_state");
        refuses(&[("kind", &kind_text), ("state", r#""Running""#)], "invalid_state", "$.state");
    }
    for text in ["", r#""Created""#, r#""created ""#, r#""created\ud800""#, r#""stale""#] {
        refuses(&[("kind", text)], "invalid_kind", "$.kind");
    }
    refuses_types_but(&[], "kind", &[], "invalid_kind");
}

#[test]
fn the_source_note_is_for_notes() {
    let child = ("childId", r#""@source""#);
    for kind in [r#""reconciliation""#, r#""diagnostic""#] {
        accepts(&[child, ("kind", kind)], "/childId", json!("@source"));
    }
    for kind in [r#""heartbeat""#, r#""activity""#] {
        refuses(&[child, ("kind", kind)], "invalid_kind", "$.kind");
    }
}

#[test]
fn waiting_reason_belongs_to_waiting() {
    fn with(text: &str) -> [(&str, &str); 3] {
        [("kind", r#""state_changed""#), ("state", r#""waiting""#), ("waitingReason", text)]
    }
    let waiting = [("kind", r#""state_changed""#), ("state", r#""waiting""#)];
    for reason in ["prompt", "permission", "question", "blocked", "child", "other"] {
        let text = quoted(reason);
        accepts(&with(&text), "/waitingReason", json!(reason));
    }
    accepts(&waiting, "/waitingReason", json!("other"));
    refuses_types_but(&[], "waitingReason", &waiting, "invalid_waiting_reason");
    refuses(&with(r#""idle""#), "invalid_waiting_reason", "$.waitingReason");
    let running = [("kind", r#""state_changed""#), ("state", r#""running""#)];
    accepts(&running, "/waitingReason", None);
    for other in [&running[..], &[]] {
        refuses_types_but(&[], "waitingReason", other, "invalid_waiting_reason");
        let mut changes = other.to_vec();
        changes.push(("waitingReason", r#""prompt""#));
        refuses(&changes, "invalid_waiting_reason", "$.waitingReason");
    }
}

#[test]
fn times_are_rfc_3339_utc() {
    for (text, expected) in [
        ("2026-05-17T22:29:21Z", "2026-05-17T22:29:21Z"),
        ("2026-05-17T22:29:21+00:00", "2026-05-17T22:29:21Z"),
        ("2026-05-17T22:29:21.120Z", "2026-05-17T22:29:21.120Z"),
        ("2026-05-17T22:29:21.123456789+00:00", "2026-05-17T22:29:21.123456789Z"),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
    ] {
        accepts(&[("observedAt", &quoted(text))], "/observedAt", json!(expected));
    }
    for text in [
        "",
        "2026-05-17",
        "2026-05-17T22:29Z",
        "2026-05-17T22:29:21",
        "2026-05-17T22:29:60Z",
        "2026-05-17T24:00:00Z",
        "2026-02-30T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-05-17T22:29:21.Z",
        "2026-05-17T22:29:21.0123456789Z",
        "2026-05-17T22:29:21+02:00",
        "2026-05-17T22:29:21-00:00",
        " 2026-05-17T22:29:21Z",
        "2026-05-17 22:29:21Z",
        "２026-05-17T22:29:21Z",
    ] {
        refuses(&[("observedAt", &quoted(text))], "invalid_timestamp", "$.observedAt");
    }
    refuses(&[("observedAt", "")], "invalid_timestamp", "$.observedAt");
    refuses_types_but(&[], "observedAt", &[], "invalid_timestamp");
}

#[test]
fn sequence_is_a_safe_integer() {
    for (text, expected) in [
        ("0", 0),
        ("-0", 0),
        ("-0.0", 0),
        ("1.0", 1),
        ("1e0", 1),
        ("12e2", 1200),
        ("9007199254740991", 9_007_199_254_740_991_u64),
        ("9007199254740991.4", 9_007_199_254_740_991),
        // Beyond the doubles' smallest, so 0, as JSON.parse reads it.
        ("1e-400", 0),
    ] {
        accepts(&[("sequence", text)], "/sequence", json!(expected));
    }
    accepts(&[], "/sequence", None);
    for text in
        ["-1", "0.1", "9007199254740992", "9007199254740993", "1e999", "-1e999", "18446744073709551616"]
    {
        refuses(&[("sequence", text)], "invalid_sequence", "$.sequence");
    }
    refuses_types_but(&["number"], "sequence", &[], "invalid_sequence");
}

#[test]
fn activity_is_cut_on_a_character_boundary() {
    let (fits, cut) = ("x".repeat(512), "x".repeat(511));
    for (text, expected) in [
        (r#""""#.to_owned(), ""),
        (r#""  kept as it is ""#.to_owned(), "  kept as it is "),
        (quoted(&fits), fits.as_str()),
        (quoted(&format!("{fits}y")), &fits),
        // The pair's second half is unit 513, so the whole character goes.
        (quoted(&format!("{cut}😀")), &cut),
        (format!("\"{cut}\\ud83d\\ude00\""), &cut),
        (quoted(&"é".repeat(513)), &"é".repeat(512)),
        (r#""a\ud800b\udc00""#.to_owned(), "a\u{fffd}b\u{fffd}"),
        (r#""\ue000\ud800""#.to_owned(), "\u{e000}\u{fffd}"),
        (format!("\"{cut}\\ud800y\""), &format!("{cut}\u{fffd}")),
    ] {
        accepts(&[("activity", &text)], "/activity", json!(expected));
    }
    accepts(&[], "/activity", None);
    refuses_types_but(&["string"], "activity", &[], "invalid_activity");
}

#[test]
fn capabilities_are_known_or_unknown() {
    let unknown = json!({"history": "unknown", "heartbeat": "unknown", "snapshot": "unknown",
        "cancel": "unknown", "terminalCause": "unknown"});
    for text in ["", "{}", r#"{"other":"known"}"#, r#"{"other":7,"history":"unknown"}"#] {
        accepts(&[("capabilities", text)], "/capabilities", Some(unknown.clone()));
    }
    for member in ["history", "heartbeat", "snapshot", "cancel", "terminalCause"] {
        let mut expected = unknown.clone();
        expected[member] = json!("known");
        let text = format!("{{{member:?}:\"known\"}}");
        accepts(&[("capabilities", &text)], "/capabilities", Some(expected));
        for wrong in ["null", "true", "1", r#""Known""#, r#""yes""#, r#""known ""#, r#""\ud800""#, "[]", "{}"]
        {
            let text = format!("{{{member:?}:{wrong}}}");
            refuses(&[("capabilities", &text)], "invalid_capabilities", &format!("$.capabilities.{member}"));
        }
    }
    refuses_types_but(&["object"], "capabilities", &[], "invalid_capabilities");
}

#[test]
fn refusals_name_the_member_and_never_the_value() {
    use agent_lifecycle_core::contract::{Event, Refusal};
    for (member, text, words) in [
        ("sequence", r#""hunter2""#, "sequence"),
        ("kind", r#""hunter2""#, "kind"),
        ("observedAt", r#""hunter2""#, "observedAt"),
        ("waitingReason", r#""hunter2""#, "waitingReason"),
        ("capabilities", r#"{"cancel":"hunter2"}"#, "cancel"),
        ("activity", r#"["hunter2"]"#, "activity"),
        ("details", r#""hunter2""#, "details"),
    ] {
        let text = event_text(&[(member, text)]);
        let refusal: Refusal = Event::from_json(text.as_bytes()).unwrap_err().into();
        assert!(refusal.message.contains(words), "{refusal}");
        assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
    }
}
