//! Requests that wait for somebody: their keys, limits, answers and ends.

use agent_lifecycle_core::json;
use agent_lifecycle_core::runtime::approvals::{
    ANSWER_UNITS, ARGUMENT_BYTES, DETAIL_UNITS, Filter, LABEL_UNITS, OPTIONS, PENDING, QUESTIONS, REMEMBERED,
    Registry,
};
use agent_lifecycle_core::runtime::request::{Ask, Outcome};
use serde_json::{Value, json};

fn read(value: &impl serde::Serialize) -> Value {
    serde_json::from_str(&json::write(value)).expect("it is JSON")
}

fn registry() -> Registry {
    Registry::new(2, vec!["zq7-Kx!9vW#3".to_owned()]).expect("the secret is long enough")
}

fn open(registry: &mut Registry, asked: &Value) -> Value {
    read(&registry.open(&asked.to_string()).unwrap_or_else(|fault| panic!("{asked}: {fault:?}")))
}

fn approval(turn: &str, native: Value) -> Value {
    json!({"ask": "approval", "turnId": turn, "nativeId": native, "kind": "command", "detail": "ls",
        "decisions": [{"id": "yes", "label": "Allow"}, {"id": "no", "label": "Deny"}]})
}

fn questions(list: Value) -> Value {
    json!({"ask": "userInput", "turnId": "t1", "nativeId": 1, "questions": list})
}

fn claim(registry: &mut Registry, id: &str, decision: &str) -> Value {
    read(&registry.claim(id, Ask::Approval, &json!({"decision": decision}).to_string()))
}

fn with(mut value: Value, more: Value) -> Value {
    value.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    value
}

#[test]
fn native_ids_that_restart_each_turn_do_not_collide() {
    // A1, and the other parts of a key; "0" is not 0.
    let mut registry = registry();
    let keys = [
        approval("t1", json!(0)),
        approval("t2", json!(0)),
        approval("t1", json!("0")),
        with(approval("t1", json!(0)), json!({"scope": "sub"})),
        with(approval("t1", json!(0)), json!({"connection": "2"})),
    ];
    for (at, key) in keys.iter().enumerate() {
        let opened = open(&mut registry, key);
        assert_eq!(
            (&opened["status"], &opened["approval"]["requestId"]),
            (&json!("opened"), &json!(format!("request-2-{}", at + 1)))
        );
    }
    for (at, key) in keys.iter().enumerate() {
        let again = open(&mut registry, key);
        assert_eq!(
            (&again["status"], &again["approval"]["requestId"]),
            (&json!("same"), &json!(format!("request-2-{}", at + 1)))
        );
    }
    let ended = read(
        &registry.clear(Filter { request_id: Some("request-2-1"), ..Filter::default() }, Outcome::Cleared),
    );
    assert_eq!(
        ended,
        json!([{"requestId": "request-2-1", "outcome": "cleared", "ask": "approval", "native": {"turnId": "t1", "nativeId": 0}}])
    );
    assert_eq!(registry.pending().approvals.len(), 4);
    assert_eq!(claim(&mut registry, "request-2-2", "yes")["status"], json!("claimed"));
}

#[test]
fn a_malformed_answer_is_refused_and_the_request_stays() {
    // A2.
    let mut registry = registry();
    open(&mut registry, &approval("t1", json!(0)));
    for answer in ["", "{}", "[]", r#"{"decision":"maybe"}"#, r#"{"decision":1}"#, r#"{"decision":null}"#] {
        let told = read(&registry.claim("request-2-1", Ask::Approval, answer));
        assert_eq!(told["status"], json!("invalid"), "{answer}");
        assert!(!told.to_string().contains("maybe"), "{told}");
    }
    assert_eq!(read(&registry.claim("request-2-1", Ask::UserInput, "{}"))["status"], json!("invalid"));
    assert_eq!(registry.pending().approvals.len(), 1);

    let question = |more: Value| with(json!({"id": "q", "question": "Which?"}), more);
    let options = json!({"options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]});
    let free = with(options.clone(), json!({"allowFreeform": true}));
    let many = with(options.clone(), json!({"multiSelect": true}));
    for (question, answer, path) in [
        (question(options.clone()), json!({"q": {"options": ["a"]}}), None),
        (question(options.clone()), json!({"q": {"options": ["c"]}}), Some("answers.q.options")),
        (question(options.clone()), json!({"q": {"options": ["a", "b"]}}), Some("answers.q.options")),
        (question(options.clone()), json!({"q": {"text": "x"}}), Some("answers.q.text")),
        (question(options.clone()), json!({"q": {}}), Some("answers.q")),
        (question(options.clone()), json!({}), Some("answers.q")),
        (question(options.clone()), json!({"q": {"options": ["a"]}, "z": {"text": "x"}}), Some("answers")),
        (question(options.clone()), json!({"q": "a"}), Some("answers.q")),
        (question(options), json!("a"), Some("answers")),
        (question(free.clone()), json!({"q": {"text": "x"}}), None),
        (question(free.clone()), json!({"q": {"options": ["a"], "text": "x"}}), None),
        (question(free), json!({"q": {"text": ""}}), Some("answers.q.text")),
        (question(many.clone()), json!({"q": {"options": ["b", "a"]}}), None),
        (question(many), json!({"q": {"options": ["a", "a"]}}), Some("answers.q.options")),
        (question(json!({})), json!({"q": {"text": "é".repeat(ANSWER_UNITS)}}), None),
        (question(json!({})), json!({"q": {"text": "é".repeat(ANSWER_UNITS + 1)}}), Some("answers")),
    ] {
        let mut registry = self::registry();
        assert_eq!(
            open(&mut registry, &questions(json!([question])))["status"],
            json!("opened"),
            "{question}"
        );
        let told =
            read(&registry.claim("request-2-1", Ask::UserInput, &json!({"answers": answer}).to_string()));
        match path {
            None => assert_eq!(told["reply"]["answers"], answer, "{told}"),
            Some(path) => {
                assert_eq!((&told["status"], &told["path"]), (&json!("invalid"), &json!(path)), "{answer}")
            }
        }
        assert_eq!(registry.pending().user_inputs.len(), 1);
    }
}

#[test]
fn an_answer_claims_then_is_written_then_resolves() {
    let mut registry = registry();
    open(&mut registry, &approval("t1", json!("x")));
    let told = claim(&mut registry, "request-2-1", "yes");
    assert_eq!(
        told["reply"],
        json!({"requestId": "request-2-1", "ask": "approval", "decision": "yes", "native": {"turnId": "t1", "nativeId": "x"}})
    );
    // Neither another answer nor a deadline counts now, and it is still shown.
    assert_eq!(claim(&mut registry, "request-2-1", "no"), json!({"status": "writing"}));
    assert!(registry.expire("request-2-1").is_none());
    assert_eq!(open(&mut registry, &approval("t1", json!("x")))["status"], json!("same"));
    let settled = read(&registry.settle("request-2-1", 1, true));
    assert_eq!(
        settled,
        json!({"outcome": "responded", "ended": {"requestId": "request-2-1", "outcome": "responded", "decision": "yes",
            "ask": "approval", "native": {"turnId": "t1", "nativeId": "x"}}})
    );
    assert_eq!(read(&registry.settle("request-2-1", 1, true)), json!({"outcome": "responded"}));
    assert_eq!(
        claim(&mut registry, "request-2-1", "no"),
        json!({"status": "resolved", "outcome": "responded"})
    );
    assert!(registry.expire("request-2-1").is_none());
    // The same key after that is a new request.
    assert_eq!(
        open(&mut registry, &approval("t1", json!("x")))["approval"]["requestId"],
        json!("request-2-2")
    );
    claim(&mut registry, "request-2-2", "no");
    let failed = read(&registry.settle("request-2-2", 2, false));
    assert_eq!((&failed["outcome"], &failed["ended"].get("decision")), (&json!("cleared"), &None));
}

#[test]
fn an_end_counts_while_an_answer_is_being_written() {
    let mut registry = registry();
    open(&mut registry, &approval("t1", json!(0)));
    open(&mut registry, &approval("t2", json!(0)));
    claim(&mut registry, "request-2-1", "yes");
    let ended = registry.clear(Filter { turn_id: Some("t1"), ..Filter::default() }, Outcome::Aborted);
    assert_eq!(ended.len(), 1);
    assert_eq!(read(&registry.settle("request-2-1", 1, true)), json!({"outcome": "aborted"}));
    assert_eq!(
        claim(&mut registry, "request-2-1", "yes"),
        json!({"status": "resolved", "outcome": "aborted"})
    );
    let expired = read(&registry.expire("request-2-2"));
    assert_eq!(expired["outcome"], json!("expired"));
    assert_eq!(
        claim(&mut registry, "request-2-2", "yes"),
        json!({"status": "resolved", "outcome": "expired"})
    );
    assert_eq!(claim(&mut registry, "request-2-9", "yes"), json!({"status": "unknown"}));
    assert!(registry.settle("request-2-9", 1, true).is_none());
}

#[test]
fn other_content_under_the_same_key_is_another_request() {
    let mut registry = registry();
    open(&mut registry, &approval("t1", json!(0)));
    let other = open(&mut registry, &with(approval("t1", json!(0)), json!({"detail": "rm -r /"})));
    assert_eq!(other["ended"]["requestId"], json!("request-2-1"));
    assert_eq!(other["ended"]["outcome"], json!("cleared"));
    assert_eq!(other["approval"]["requestId"], json!("request-2-2"));
    // Another kind of question, and one that cannot be shown: the old one is over all the same.
    let input = with(questions(json!([{"id": "q", "question": "?"}])), json!({"nativeId": 0}));
    assert_eq!(open(&mut registry, &input)["ended"]["requestId"], json!("request-2-2"));
    let refused =
        open(&mut registry, &with(approval("t1", json!(0)), json!({"detail": "x".repeat(DETAIL_UNITS + 1)})));
    assert_eq!(
        (&refused["status"], &refused["ended"]["requestId"]),
        (&json!("refused"), &json!("request-2-3"))
    );
    assert_eq!(
        claim(&mut registry, "request-2-1", "yes"),
        json!({"status": "resolved", "outcome": "cleared"})
    );
}

#[test]
fn what_is_beyond_the_limits_is_refused() {
    let choices =
        |count: usize| (0..count).map(|at| json!({"id": format!("o{at}"), "label": "x"})).collect::<Vec<_>>();
    let many = |count: usize| {
        (0..count).map(|at| json!({"id": format!("q{at}"), "question": "?"})).collect::<Vec<_>>()
    };
    let base = || approval("t1", json!(0));
    for (asked, code) in [
        (with(base(), json!({"detail": "é".repeat(DETAIL_UNITS)})), None),
        (with(base(), json!({"detail": "é".repeat(DETAIL_UNITS + 1)})), Some("request_too_large")),
        (with(base(), json!({"title": "x".repeat(LABEL_UNITS + 1)})), Some("request_too_large")),
        (with(base(), json!({"arguments": "x".repeat(ARGUMENT_BYTES - 2)})), None),
        (with(base(), json!({"arguments": "x".repeat(ARGUMENT_BYTES - 1)})), Some("request_too_large")),
        (with(base(), json!({"decisions": choices(OPTIONS)})), None),
        (with(base(), json!({"decisions": choices(OPTIONS + 1)})), Some("request_too_large")),
        (with(base(), json!({"decisions": []})), None),
        (with(base(), json!({"kind": "unknown"})), None),
        (with(base(), json!({"kind": ""})), Some("request_too_large")),
        (with(base(), json!({"kind": 1})), Some("invalid_request")),
        (
            with(base(), json!({"decisions": [{"id": "a", "label": "A"}, {"id": "a", "label": "B"}]})),
            Some("invalid_request"),
        ),
        (with(base(), json!({"decisions": [{"id": "a"}]})), Some("invalid_request")),
        (with(base(), json!({"decisions": [{"id": "zq7-Kx!9vW#3", "label": "A"}]})), Some("invalid_request")),
        (questions(json!(many(QUESTIONS))), None),
        (questions(json!(many(QUESTIONS + 1))), Some("request_too_large")),
        (questions(json!([])), Some("invalid_request")),
        (questions(json!([{"id": "q"}])), Some("invalid_request")),
        (questions(json!([{"id": "q", "question": "?", "options": choices(OPTIONS)}])), None),
        (
            questions(json!([{"id": "q", "question": "?", "options": choices(OPTIONS + 1)}])),
            Some("request_too_large"),
        ),
        (
            questions(json!([{"id": "q", "question": "?"}, {"id": "q", "question": "?"}])),
            Some("invalid_request"),
        ),
        (questions(json!([{"id": "q", "question": "?", "allowFreeform": false}])), Some("invalid_request")),
    ] {
        let mut registry = registry();
        let told = open(&mut registry, &asked);
        assert_eq!(told.get("code").and_then(Value::as_str), code, "{asked}");
        assert!(
            code.is_none() || told["message"].as_str().is_some_and(|message| message.contains("must")),
            "{told}"
        );
        let pending = registry.pending();
        assert_eq!(pending.approvals.len() + pending.user_inputs.len(), usize::from(code.is_none()));
    }
    let mut registry = registry();
    for at in 0..PENDING {
        assert_eq!(open(&mut registry, &approval("t1", json!(at)))["status"], json!("opened"));
    }
    assert_eq!(open(&mut registry, &approval("t1", json!("more")))["code"], json!("too_many_requests"));
    assert_eq!(open(&mut registry, &approval("t1", json!(0)))["status"], json!("same"));
    // Without a key nobody could be told.
    assert!(registry.open(r#"{"ask":"approval","kind":"x","decisions":[]}"#).is_err());
    assert!(registry.open(r#"{"ask":"song","nativeId":1}"#).is_err());
    // Ends are remembered for a while.
    assert_eq!(registry.clear(Filter::default(), Outcome::Cleared).len(), PENDING);
    for at in 0..REMEMBERED {
        open(&mut registry, &approval("t2", json!(at)));
        registry.clear(Filter::default(), Outcome::Cleared);
    }
    assert_eq!(claim(&mut registry, "request-2-1", "yes"), json!({"status": "unknown"}));
}

#[test]
fn requests_are_shown_redacted_and_answers_never() {
    let mut registry = registry();
    let asked = with(
        approval("t1", json!("zq7-Kx!9vW#3")),
        json!({"title": "use zq7-Kx!9vW#3", "detail": "password=hunter22", "arguments": {"apiKey": "x", "list": ["zq7-Kx!9vW#3"]}}),
    );
    let told = open(&mut registry, &asked);
    assert_eq!(
        told["approval"],
        json!({"requestId": "request-2-1", "turnId": "t1", "kind": "command", "title": "use [REDACTED]",
            "detail": "password=[REDACTED]", "arguments": {"apiKey": "[REDACTED]", "list": ["[REDACTED]"]},
            "decisions": [{"id": "yes", "label": "Allow"}, {"id": "no", "label": "Deny"}]})
    );
    open(
        &mut registry,
        &questions(json!([
            {"id": "pin", "question": "PIN?", "secret": true},
            {"id": "key", "question": "Key?", "secret": true, "header": "Log in"},
            {"id": "name", "question": "Name?", "options": [{"id": "a", "label": "A", "description": "the first"}]},
        ])),
    );
    let answers = json!({"answers": {"pin": {"text": "1234"}, "key": {"text": "correct horse"}, "name": {"options": ["a"]}}});
    let told = read(&registry.claim("request-2-2", Ask::UserInput, &answers.to_string()));
    assert_eq!(told["secrets"], json!(["correct horse"]));
    let shown = json::write(&registry.pending()) + &json::write(&registry.settle("request-2-2", 1, true));
    assert!(!shown.contains("1234") && !shown.contains("horse"), "{shown}");
    assert!(shown.contains(r#""answered":["pin","key","name"]"#), "{shown}");
    assert!(!format!("{registry:?}").contains("horse"));
    registry.hide("correct horse".to_owned()).expect("it is long enough");
    let told = open(&mut registry, &with(approval("t1", json!(5)), json!({"detail": "a correct horse"})));
    assert_eq!(told["approval"]["detail"], json!("a [REDACTED]"));
}
