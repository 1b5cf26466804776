//! Hermes' words: delegation events, statuses, and what a status snapshot asks of records.

use agent_lifecycle_core::providers::hermes::reconcile::misses_from_json;
use agent_lifecycle_core::providers::hermes::{Delegation, Known, StatusSnapshot, reconcile};
use serde_json::{Value, json};

const AT: &str = "2026-05-17T12:00:00Z";

/// The members of `changes` in place of those of a plain event; `null` takes one away.
fn event(changes: &Value) -> Value {
    let plain = json!({"type": "subagent.start", "child_id": "c", "session_id": "s", "observed_at": AT});
    merged(&plain, changes)
}

fn merged(plain: &Value, changes: &Value) -> Value {
    let mut members = plain.as_object().unwrap().clone();
    members.extend(changes.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    Value::Object(members)
}

/// What becomes of an event: the normalised one, or code and path of its refusal.
fn normalised(value: &Value) -> Value {
    match Delegation::from_json(value.to_string().as_bytes()) {
        Ok(event) => {
            let made = serde_json::to_value(&event).unwrap();
            let again = Delegation::from_json(made.to_string().as_bytes());
            assert_eq!(again, Ok(event), "{value}");
            made
        }
        Err(refusal) => json!(format!("{} {}", refusal.code.as_str(), refusal.path)),
    }
}

/// What a plain event with `changes` becomes: what is the same for all is left out.
fn check(changes: &Value, expected: &Value) {
    let plain = json!({"kind": "state_changed", "childId": "c", "sessionId": "s", "state": "running", "observedAt": AT});
    let expected = if expected.is_object() { merged(&plain, expected) } else { expected.clone() };
    assert_eq!(normalised(&event(changes)), expected, "{changes}");
}

#[test]
fn each_type_has_its_kind_and_its_state() {
    for (name, kind, state) in [
        ("subagent.spawn_requested", "created", "created"),
        ("subagent.start", "state_changed", "running"),
        ("subagent.thinking", "activity", "running"),
        ("subagent.tool", "activity", "running"),
        ("subagent.tool.started", "activity", "running"),
        ("subagent.progress", "activity", "running"),
        ("subagent.complete", "state_changed", "completed"),
    ] {
        check(&json!({ "type": name }), &json!({"kind": kind, "state": state}));
        check(&json!({ "type": format!(" {name}\n") }), &json!({"kind": kind, "state": state}));
    }
    for name in [json!("subagent.completed"), json!("SUBAGENT.START"), json!(""), json!(7), Value::Null] {
        check(&json!({ "type": name }), &json!("invalid_kind $.type"));
    }
}

#[test]
fn each_status_is_a_state_and_no_other_word_is_guessed() {
    for (word, state) in [
        ("pending", "created"),
        ("starting", "starting"),
        ("active", "running"),
        ("running", "running"),
        ("waiting", "waiting"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
    ] {
        let is_over = ["completed", "failed", "cancelled"].contains(&state);
        let unfinished = if is_over { Value::Null } else { json!(true) };
        check(
            &json!({"type": "subagent.complete", "status": format!(" {word} ")}),
            &json!({"state": state, "status": word, "unfinished": unfinished}),
        );
        // Only the status of a completion is a state.
        check(&json!({ "status": word }), &json!({ "status": word }));
    }
    for word in [
        json!("done"),
        json!("Completed"),
        json!("canceled"),
        json!("error"),
        json!("interrupted"),
        json!("timeout"),
        json!("lost"),
        json!("created"),
        json!(1),
        json!(true),
        json!(["completed"]),
    ] {
        check(&json!({ "status": word }), &json!("invalid_state $.status"));
        check(&json!({"type": "subagent.complete", "status": word}), &json!("invalid_state $.status"));
    }
    // Nothing is no word.
    for word in [json!(""), json!("  "), Value::Null] {
        check(&json!({"type": "subagent.complete", "status": word}), &json!({"state": "completed"}));
    }
}

#[test]
fn each_alias_is_read_and_text_is_trimmed() {
    let long = "x".repeat(5000);
    for (given, expected) in [
        (json!({"child_id": null, "subagent_id": " a "}), json!({"childId": "a"})),
        (json!({"child_id": " a ", "subagent_id": "b"}), json!({"childId": "a"})),
        (json!({"child_id": " ", "subagent_id": "b"}), json!({"childId": "b"})),
        (json!({"session_id": null, "child_session_id": "t"}), json!({"sessionId": "t"})),
        (json!({"session_id": "\u{feff}t\n", "child_session_id": "u"}), json!({"sessionId": "t"})),
        (
            json!({"observed_at": " 2026-05-17T12:00:00.5+00:00 "}),
            json!({"observedAt": "2026-05-17T12:00:00.5Z"}),
        ),
        (json!({"tool_name": " bash ", "tool": "read"}), json!({"currentTool": "bash"})),
        (json!({"tool": "read"}), json!({"currentTool": "read"})),
        (json!({"activity": " reads ", "goal": "fix"}), json!({"activity": "reads"})),
        (json!({"goal": " fix "}), json!({"activity": "fix"})),
        (json!({"parent_id": " p "}), json!({"parentId": "p"})),
        (json!({"model": " m "}), json!({"model": "m"})),
        (json!({"summary": " went well "}), json!({"summary": "went well"})),
        (json!({"duration": 1.5}), json!({"duration": 1.5})),
        (json!({"duration_seconds": 2}), json!({"duration": 2})),
        (json!({"tokens": {"input": 3, "output": 4}}), json!({"tokens": {"input": 3, "output": 4}})),
        (json!({"files": ["a.rs"]}), json!({"files": ["a.rs"]})),
        (json!({"output_tail": [{"tool": "bash"}]}), json!({"outputTail": [{"tool": "bash"}]})),
        // What is not what it should be is left out, and so is what nobody asked for.
        (json!({"tool": 7, "goal": ["fix"], "model": {}, "summary": false, "todos": [1]}), json!({})),
        (json!({ "output_tail": [long.clone(), long.clone()] }), json!({})),
        (json!({ "activity": long.clone() }), json!({ "activity": long[..512] })),
        (json!({ "summary": long.clone() }), json!({ "summary": long[..4096] })),
        // No secret is passed on.
        (json!({"activity": "uses sk-abcdefghijklmnopqrstuvwx1234"}), json!({"activity": "uses [REDACTED]"})),
        (
            json!({"output_tail": {"api_key": "hunter2hunter2"}}),
            json!({"outputTail": {"api_key": "[REDACTED]"}}),
        ),
    ] {
        check(&given, &expected);
    }
}

#[test]
fn what_cannot_be_told_is_refused_by_name() {
    for (given, expected) in [
        (json!({"child_id": null}), "invalid_id $.child_id"),
        (json!({"child_id": " ", "subagent_id": " "}), "invalid_id $.child_id"),
        (json!({"child_id": 7}), "invalid_id $.child_id"),
        (json!({"child_id": "a\0b"}), "invalid_id $.child_id"),
        (json!({"child_id": "x".repeat(4097)}), "invalid_id $.child_id"),
        (json!({"session_id": null}), "invalid_id $.session_id"),
        (json!({"session_id": "\0"}), "invalid_id $.session_id"),
        (json!({"parent_id": 7}), "invalid_id $.parent_id"),
        (json!({"parent_id": "a\0b"}), "invalid_id $.parent_id"),
        (json!({"observed_at": null}), "invalid_timestamp $.observed_at"),
        (json!({"observed_at": 1_779_019_200}), "invalid_timestamp $.observed_at"),
        (json!({"observed_at": "2026-02-30T00:00:00Z"}), "invalid_timestamp $.observed_at"),
        (json!({"observed_at": "2026-05-17T12:00:00+02:00"}), "invalid_timestamp $.observed_at"),
    ] {
        check(&given, &json!(expected));
    }
    for (text, expected) in [
        ("null", "invalid_event $"),
        ("[]", "invalid_event $"),
        ("{", "invalid_event $"),
        (r#"{"type":"subagent.start","child_id":"\ud800","session_id":"s"}"#, "invalid_id $.child_id"),
        (&format!("{}1{}", "[".repeat(600), "]".repeat(600)), "too_deep $"),
    ] {
        let refusal = Delegation::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(format!("{} {}", refusal.code.as_str(), refusal.path), expected, "{text}");
    }
    // An id of 4,096 bytes is kept whole.
    let longest = "x".repeat(4096);
    check(&json!({ "child_id": longest.clone() }), &json!({ "childId": longest }));
}

#[test]
fn a_normalised_event_is_held_to_what_a_type_can_say() {
    let plain = json!({"childId": "c", "sessionId": "s", "observedAt": AT});
    for (given, expected) in [
        (json!({"kind": "created", "state": "running"}), "invalid_state $.state"),
        (json!({"kind": "activity", "state": "completed"}), "invalid_state $.state"),
        (json!({"kind": "state_changed", "state": "lost"}), "invalid_state $.state"),
        (json!({"kind": "state_changed"}), "invalid_state $.state"),
        (json!({"kind": "terminal", "state": "completed"}), "invalid_kind $.kind"),
        (json!({"kind": "state_changed", "state": "running", "unfinished": 1}), "invalid_event $.unfinished"),
    ] {
        assert_eq!(normalised(&merged(&plain, &given)), json!(expected), "{given}");
    }
}

const LATER: &str = "2026-05-17T12:01:00Z";

fn words(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split_whitespace().map(|word| word.split(':').collect())
}

/// What a snapshot asks. Delegations are `child:status[:tool]`, records `child:state[:tool]`, misses `child:count`, all of session `s`
/// where the child names none as `child@session`. Inputs come back as `child=state[:tool]`, then corrections `child:from>to`, then
/// those that are stale as `child?from`.
fn asked(kind: &str, delegations: &str, current: &str, misses: &str, grace: u64) -> String {
    let named = |name: &str| {
        let (child, session) = name.split_once('@').unwrap_or((name, "s"));
        (child.to_owned(), session.to_owned())
    };
    let delegation = |parts: Vec<&str>| {
        let (child, session) = named(parts[0]);
        json!({"child_id": child, "session_id": session, "status": parts[1], "current_tool": parts.get(2)})
    };
    let record = |parts: Vec<&str>| {
        let (child, session) = named(parts[0]);
        json!({"childId": child, "sessionId": session, "state": parts[1], "currentTool": parts.get(2)})
    };
    let count = |parts: Vec<&str>| {
        let (child, session) = named(parts[0]);
        (format!("{child}\0{session}"), json!(parts[1].parse::<u64>().unwrap()))
    };
    let delegations: Vec<Value> = words(delegations).map(delegation).collect();
    let snapshot = json!({"observedAt": LATER, "complete": kind == "complete", "delegations": delegations});
    let records: Vec<Value> = words(current).map(record).collect();
    let misses: serde_json::Map<_, _> = words(misses).map(count).collect();
    let snapshot = match StatusSnapshot::from_json(snapshot.to_string().as_bytes()) {
        Ok(snapshot) => snapshot,
        Err(refusal) => return format!("{} {}", refusal.code.as_str(), refusal.path),
    };
    let records = Known::list_from_json(json!(records).to_string().as_bytes()).unwrap();
    let misses = misses_from_json(json!(misses).to_string().as_bytes()).unwrap();
    let made = serde_json::to_value(reconcile(&snapshot, &records, &misses, grace)).unwrap();
    assert_eq!(made.as_object().unwrap().keys().collect::<Vec<_>>(), ["inputs", "intents"]);
    let text = |value: &Value, member: &str| value[member].as_str().unwrap().to_owned();
    let name = |value: &Value| match text(value, "sessionId").as_str() {
        "s" => text(value, "childId"),
        session => format!("{}@{session}", text(value, "childId")),
    };
    let mut said = Vec::new();
    for input in made["inputs"].as_array().unwrap() {
        assert_eq!(text(input, "kind"), "snapshot_reconciled");
        assert_eq!(text(input, "observedAt"), LATER);
        let tool = input.get("currentTool").map(|_| format!(":{}", text(input, "currentTool")));
        said.push(format!("{}={}{}", name(input), text(input, "state"), tool.unwrap_or_default()));
    }
    for intent in made["intents"].as_array().unwrap() {
        let from = text(intent, "from");
        said.push(match (text(intent, "kind").as_str(), text(intent, "reason").as_str()) {
            ("correct_projection", "authoritative_snapshot") => {
                format!("{}:{from}>{}", name(intent), text(intent, "to"))
            }
            ("mark_stale_unknown", "complete_snapshot_missing") => format!("{}?{from}", name(intent)),
            other => panic!("{other:?}"),
        });
    }
    said.join(" ")
}

#[test]
fn a_snapshot_asks_for_what_it_shows() {
    for (kind, delegations, current, misses, grace, expected) in [
        // New, unchanged, changed.
        ("complete", "a:running", "", "", 2, "a=running"),
        ("complete", "a:completed", "", "", 2, "a=completed"),
        ("complete", "a:running", "a:running", "", 2, ""),
        ("complete", "a:active:bash", "a:running", "", 2, "a=running:bash"),
        ("complete", "a:active:bash", "a:running:bash", "", 2, ""),
        ("complete", "a:active", "a:running:bash", "", 2, ""),
        ("complete", "a:waiting", "a:running", "", 2, "a=waiting a:running>waiting"),
        ("complete", "a:pending", "a:running", "", 2, "a=created a:running>created"),
        (
            "complete",
            "a:failed b:cancelled",
            "b:waiting a:starting",
            "",
            2,
            "a=failed b=cancelled a:starting>failed b:waiting>cancelled",
        ),
        // What has ended is never corrected.
        ("complete", "a:running b:failed", "a:completed b:lost", "", 2, ""),
        ("complete", "", "a:completed b:failed c:cancelled d:lost", "a:9 b:9 c:9 d:9", 1, ""),
        // Two sessions are two records.
        (
            "complete",
            "a@s1:waiting",
            "a@s1:running a@s2:running",
            "",
            1,
            "a@s1=waiting a@s1:running>waiting a@s2?running",
        ),
        // Omission: at the grace count, and beyond it.
        ("complete", "", "a:running", "", 2, ""),
        ("complete", "", "a:running", "a:1", 2, "a?running"),
        ("complete", "", "a:running", "a:5", 2, "a?running"),
        ("complete", "", "a:running", "", 1, "a?running"),
        ("complete", "", "a:created b:starting c:waiting", "a:2 b:1 c:2", 3, "a?created c?waiting"),
        ("complete", "", "a:running a:waiting", "", 1, "a?waiting"),
        ("complete", "a:running", "a:running", "a:5", 2, ""),
        // An incomplete one refreshes the same state, and nothing else.
        (
            "incomplete",
            "a:running b:waiting c:running d:failed",
            "a:running b:running d:failed",
            "",
            2,
            "a=running",
        ),
        ("incomplete", "a:active:bash", "a:running", "", 2, "a=running:bash"),
        ("incomplete", "", "a:running", "a:9", 1, ""),
        // A status that is not understood: it is there, so that it is not missing, and nothing follows.
        ("complete", "a:exploded", "a:running", "a:9", 1, ""),
        ("complete", "a:exploded b:waiting", "a:running b:running", "", 1, "b=waiting b:running>waiting"),
        // Not a snapshot.
        ("complete", "a:running a:waiting", "", "", 2, "invalid_snapshot $.delegations[1]"),
        ("complete", "b:running @:waiting", "", "", 2, "invalid_id $.delegations[1].child_id"),
    ] {
        let said = asked(kind, delegations, current, misses, grace);
        assert_eq!(said, expected, "{kind} [{delegations}] of [{current}] misses [{misses}] grace {grace}");
    }
}

#[test]
fn a_snapshot_is_refused_by_name() {
    let plain = json!({"observedAt": LATER, "complete": true, "delegations": []});
    for (changes, expected) in [
        (json!({"observedAt": null}), "invalid_timestamp $.observedAt"),
        (json!({"observedAt": "noon"}), "invalid_timestamp $.observedAt"),
        (json!({"complete": null}), "invalid_snapshot $.complete"),
        (json!({"complete": "yes"}), "invalid_snapshot $.complete"),
        (json!({"delegations": null}), "invalid_snapshot $.delegations"),
        (json!({"delegations": {}}), "invalid_snapshot $.delegations"),
        (json!({"delegations": [7]}), "invalid_id $.delegations[0].child_id"),
        (json!({"delegations": [{"child_id": "a"}]}), "invalid_id $.delegations[0].session_id"),
    ] {
        let text = merged(&plain, &changes).to_string();
        let refusal = StatusSnapshot::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(format!("{} {}", refusal.code.as_str(), refusal.path), expected, "{changes}");
    }
    assert!(StatusSnapshot::from_json(b"[]").is_err());
    // What is not understood is named beside what is.
    let text = merged(
        &plain,
        &json!({"delegations": [
            {"child_id": "a", "session_id": "s", "status": "running"},
            {"subagent_id": "b", "child_session_id": "s", "status": "exploded"},
            {"child_id": "c", "session_id": "s"},
        ]}),
    );
    let snapshot = StatusSnapshot::from_json(text.to_string().as_bytes()).unwrap();
    let refused: Vec<_> =
        snapshot.refused.iter().map(|entry| (&*entry.child_id, &*entry.refusal.path)).collect();
    assert_eq!(refused, [("b", "$.delegations[1].status"), ("c", "$.delegations[2].status")]);
    assert_eq!(snapshot.entries.len(), 1);
}

#[test]
fn records_and_counts_are_refused_by_name() {
    for (text, expected) in [
        ("{}", "invalid_event $.current"),
        ("[1]", "invalid_state $.current.state"),
        (r#"[{"childId":"a","sessionId":"s","state":"active"}]"#, "invalid_state $.current.state"),
        (r#"[{"sessionId":"s","state":"running"}]"#, "invalid_id $.current.childId"),
        (r#"[{"childId":"a","state":"running"}]"#, "invalid_id $.current.sessionId"),
    ] {
        let refusal = Known::list_from_json(text.as_bytes()).unwrap_err();
        assert_eq!(format!("{} {}", refusal.code.as_str(), refusal.path), expected, "{text}");
    }
    for text in ["[]", "3", r#"{"a":-1}"#, r#"{"a":1.5}"#, r#"{"a":"1"}"#] {
        assert!(misses_from_json(text.as_bytes()).is_err(), "{text}");
    }
}
