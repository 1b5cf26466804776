//! The check of agent events: it agrees with the typed events, and gives every broken rule in order.

use agent_lifecycle_core::agent::validate::{Cut, IssueCode, Verdict};
use agent_lifecycle_core::agent::{AgentEvent, Form, Model, Outcome, WaitState, validate};
use agent_lifecycle_core::json::{self, Json, JsonFault};

fn judged(text: &str) -> Verdict {
    validate(text, Form::Json, false).unwrap()
}

/// `path code` of each issue.
fn issues(text: &str) -> Vec<String> {
    judged(text).issues.iter().map(|issue| format!("{} {}", issue.path, word(issue.code))).collect()
}

fn word(code: IssueCode) -> String {
    json::write(&code).trim_matches('"').to_owned()
}

/// Every kind with all its members.
fn whole_events() -> Vec<AgentEvent> {
    let text = || Some("text".to_owned());
    let id = || "id".to_owned();
    let model = || {
        Some(Model {
            id: id(),
            display_name: text(),
            reasoning_effort: text(),
            context_window_tokens: Some(200_000),
        })
    };
    vec![
        AgentEvent::SessionStarted { title: text(), prompt_text: text(), model: model() },
        AgentEvent::Metadata { agent_id: text(), title: text(), prompt_text: text(), model: model() },
        AgentEvent::TurnStarted { turn_id: id(), agent_id: text(), prompt_text: text() },
        AgentEvent::ToolStarted { tool_id: id(), name: id(), agent_id: text(), description: text() },
        AgentEvent::ToolFinished { tool_id: id(), agent_id: text(), outcome: Some(Outcome::Error) },
        AgentEvent::WaitStarted {
            wait_id: id(),
            state: WaitState::Blocked,
            agent_id: text(),
            reason: text(),
        },
        AgentEvent::WaitFinished { wait_id: id(), agent_id: text() },
        AgentEvent::Done { outcome: Outcome::Success, agent_id: text(), summary: text() },
        AgentEvent::Exited { agent_id: text(), exit_code: Some(-1), signal: text() },
        AgentEvent::SessionStopped { reason: text() },
        AgentEvent::SubagentStarted {
            subagent_id: id(),
            parent_agent_id: text(),
            title: text(),
            prompt_text: text(),
            model: model(),
        },
        AgentEvent::SubagentDone { subagent_id: id(), outcome: Outcome::Cancelled, summary: text() },
    ]
}

#[test]
fn every_typed_event_is_one_with_and_without_each_optional_member() {
    let events = whole_events();
    assert_eq!(events.len(), 12);
    for event in events {
        let Json::Object(members) = event.to_json() else { panic!("{event:?} is an object") };
        assert_eq!(issues(&json::write(&event)), [""; 0]);
        for (name, _) in &members {
            let rest = members.iter().filter(|(other, _)| other != name).cloned().collect();
            let text = json::write(&Json::Object(rest));
            let found = issues(&text);
            assert_eq!(found.is_empty(), is_optional(&event, name), "{text}: {found:?}");
        }
    }
}

fn is_optional(event: &AgentEvent, member: &str) -> bool {
    match member {
        "kind" | "turnId" | "toolId" | "waitId" | "subagentId" | "name" | "state" => false,
        "outcome" => matches!(event, AgentEvent::ToolFinished { .. }),
        _ => true,
    }
}

#[test]
fn all_issues_come_in_the_order_of_the_table() {
    for (text, expected) in [
        ("null", vec!["$ invalid_type"]),
        ("[]", vec!["$ invalid_type"]),
        (r#""agent.done""#, vec!["$ invalid_type"]),
        ("{}", vec!["$.kind invalid_event"]),
        (r#"{"kind":"agent.Done","x":1}"#, vec!["$.kind invalid_event"]),
        (r#"{"kind":"agent.done"}"#, vec!["$.outcome invalid_outcome"]),
        (
            r#"{"occurredAt":"now","outcome":1,"z":1,"agentId":"","kind":"agent.done","a":null,"summary":{}}"#,
            vec![
                "$.z unknown_field",
                "$.a unknown_field",
                "$.agentId invalid_string",
                "$.outcome invalid_outcome",
                "$.summary invalid_string",
                "$.occurredAt invalid_timestamp",
            ],
        ),
        (
            r#"{"kind":"subagent.started","model":{"more":1,"contextWindowTokens":0},"title":null,"parentAgentId":1}"#,
            vec![
                "$.subagentId invalid_string",
                "$.parentAgentId invalid_string",
                "$.title invalid_string",
                "$.model.more unknown_field",
                "$.model.id invalid_string",
                "$.model.contextWindowTokens invalid_number",
            ],
        ),
        (r#"{"kind":"session.started","model":"opus"}"#, vec!["$.model invalid_type"]),
        (
            r#"{"kind":"agent.exited","exitCode":256,"signal":""}"#,
            vec!["$.exitCode invalid_exit_code", "$.signal invalid_string"],
        ),
        // The last duplicate counts, as for JSON.parse.
        (r#"{"kind":"agent.exited","exitCode":256,"exitCode":2.55e2}"#, vec![]),
        (r#"{"kind":"agent.exited","exitCode":1e999}"#, vec!["$.exitCode invalid_exit_code"]),
        (r#"{"kind":"wait.started","waitId":"w","state":"done"}"#, vec!["$.state invalid_state"]),
    ] {
        assert_eq!(issues(text), expected, "{text}");
    }
}

#[test]
fn an_empty_array_is_undefined_for_javascript_only() {
    let text = r#"{"kind":"session.stopped","reason":[],"more":[]}"#;
    assert_eq!(issues(text), ["$.more unknown_field", "$.reason invalid_string"]);
    let verdict = validate(text, Form::JavaScript, false).unwrap();
    assert_eq!(verdict.issues.len(), 1);
    assert_eq!(verdict.issues[0].path, "$.more");
    let required = validate(r#"{"kind":"agent.done","outcome":[]}"#, Form::JavaScript, false).unwrap();
    assert_eq!(required.issues[0].code, IssueCode::InvalidOutcome);
}

/// Makes every stand-in for a lone surrogate a character of two code units, for the ones of one unit are all there.
fn with_all_private_characters(members: &str) -> String {
    let all: String = ('\u{e000}'..='\u{ffff}').collect();
    format!(r#"{{"kind":"session.started","x":"{}",{members}}}"#, all.replace('"', ""))
}

#[test]
fn lone_surrogates_count_as_one_unit_in_display_text_and_spoil_identities() {
    let lone = |count: usize| r"\ud83d".repeat(count);
    assert_eq!(issues(&format!(r#"{{"kind":"session.started","title":"{}"}}"#, lone(512))), [""; 0]);
    assert_eq!(
        issues(&format!(r#"{{"kind":"session.started","title":"{}"}}"#, lone(513))),
        ["$.title invalid_string"]
    );
    assert_eq!(issues(r#"{"kind":"turn.started","turnId":"a\udc00"}"#), ["$.turnId invalid_string"]);
    assert_eq!(issues(r#"{"kind":"turn.started","turnId":"\ud83d\ude00"}"#), [""; 0]);
    assert_eq!(issues(r#"{"kind":"session.stopped","a\ud83d":1}"#), ["$.a\u{fffd} unknown_field"]);

    let title = |count| with_all_private_characters(&format!(r#""title":"{}""#, lone(count)));
    assert_eq!(issues(&title(512)), ["$.x unknown_field"]);
    let verdict = validate(&title(513), Form::Json, true).unwrap();
    assert_eq!(verdict.cuts, [Cut { parent: None, member: "title", units: 512 }]);
}

#[test]
fn fit_cuts_display_text_at_characters_and_nothing_else() {
    let cuts = |text: &str| {
        let Verdict { issues, cuts } = validate(text, Form::Json, true).unwrap();
        (issues.len(), cuts.iter().map(|cut| (cut.parent, cut.member, cut.units)).collect::<Vec<_>>())
    };
    let a = |count: usize| "a".repeat(count);
    for (text, expected) in [
        (format!(r#"{{"kind":"session.stopped","reason":"{}"}}"#, a(1024)), (0, vec![])),
        (
            format!(r#"{{"kind":"session.stopped","reason":"{}"}}"#, a(1025)),
            (0, vec![(None, "reason", 1024)]),
        ),
        (
            format!(r#"{{"kind":"session.stopped","reason":"{}😀"}}"#, a(1023)),
            (0, vec![(None, "reason", 1023)]),
        ),
        (
            format!(r#"{{"kind":"session.stopped","reason":"{}😀b"}}"#, a(1022)),
            (0, vec![(None, "reason", 1024)]),
        ),
        (
            format!(r#"{{"kind":"tool.started","toolId":"{}","name":"{}","description":""}}"#, a(257), a(97)),
            (2, vec![(None, "name", 96)]),
        ),
        (
            format!(r#"{{"kind":"session.started","model":{{"id":"m","displayName":"{}"}}}}"#, a(97)),
            (0, vec![(Some("model"), "displayName", 96)]),
        ),
    ] {
        assert_eq!(cuts(&text), expected, "{text}");
    }
}

#[test]
fn unknown_members_beyond_a_bound_are_counted() {
    let member = |n: usize| format!(r#","k{n}":"secret""#);
    let many = |count: usize| (0..count).map(member).collect::<Vec<_>>().concat();
    let found = judged(&format!(r#"{{"kind":"session.stopped"{}}}"#, many(256)));
    assert_eq!(found.issues.len(), 256);
    let found = judged(&format!(r#"{{"kind":"session.stopped"{}}}"#, many(1000)));
    assert_eq!(found.issues.len(), 257);
    assert_eq!(found.issues[256].path, "$");
    assert!(found.issues[256].message.starts_with("has 744 more members"));
    let nested = format!(r#"{{"kind":"session.started","model":{{"id":"m"{}}}}}"#, many(258));
    assert_eq!(judged(&nested).issues.last().map(|issue| issue.path.as_str()), Some("$.model"));
    let long = judged(&format!(r#"{{"kind":"session.stopped","{}":1}}"#, "k".repeat(1000)));
    assert_eq!(long.issues[0].path.len(), "$.".len() + 256);
    assert!(!json::write(&found).contains("secret"));
}

#[test]
fn what_is_no_json_is_no_verdict() {
    for (text, fault) in [
        ("", JsonFault::Malformed),
        (r#"{"kind":"#, JsonFault::Malformed),
        (r#"{"kind":"session.stopped"} 1"#, JsonFault::Malformed),
        (&format!("{}{}", "[".repeat(600), "]".repeat(600)), JsonFault::TooDeep),
    ] {
        assert_eq!(validate(text, Form::Json, false), Err(fault));
    }
    let deep = format!(r#"{{"kind":"session.stopped","reason":{}{}}}"#, "[".repeat(400), "]".repeat(400));
    assert_eq!(issues(&deep), ["$.reason invalid_string"]);
}
