//! Whole Claude Code journals: of sub-agents, hostile ones, fixtures, and recordings where they are present.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::agent::AgentEvent;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::json::JsonFault;
use agent_lifecycle_core::providers::claude_code::{JournalReader, Mapper, read, recognize};
use agent_lifecycle_core::providers::{
    Mapped, Orphan, Owner, Reader as _, Recognized, RecordFault, Role, Said,
};
use common::claude::{
    ASYNC, LAUNCH, calls, check, feed, record, result, says, short, shorts, system, user, user_with,
};

/// The records of a journal, and those of unknown types.
fn counts(bytes: &[u8]) -> (u64, u64) {
    let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
    let mut reader = JournalReader::new(&recognized);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        reader.read(line, 0, &|_| false, &mut Vec::new()).unwrap();
    }
    let sum = |count: fn(&Owner) -> u64| reader.owners().iter().map(count).sum();
    (sum(|owner| owner.records), sum(|owner| owner.unknown_records))
}

#[test]
fn records_without_an_event_are_known_and_others_are_counted() {
    let lines = [
        system("x1", "compact_boundary", ""),
        system("x2", "local_command", ""),
        system("x3", "stop_hook_summary", ""),
        system("x4", "away_summary", ""),
        record("progress", r#""uuid":"x5""#),
        record("mode", r#""mode":"normal""#),
        r#"{"type":"summary","summary":"Old","leafUuid":"x"}"#.to_owned(),
        record("teleport", r#""x":1"#),
        record("mode", r#""type":7"#),
    ];
    check(&lines, &[]);
    assert_eq!(counts(lines.join("\n").as_bytes()), (9, 2));
}

#[test]
fn a_journal_of_a_sub_agent_has_turns_and_no_session() {
    let lines = [
        user_with("u", "p", r#""Look at it.""#, r#","isSidechain":true,"agentId":"a1""#),
        calls("a", "t", "Glob", r#"{"pattern":"**/*.rs"}"#),
        result("r", "t", "null", ""),
        says("b", "m"),
    ];
    let mut mapper = Mapper::new(Role::Child { agent_id: "a1".into() });
    let items = feed(&mut mapper, lines.join("\n").as_bytes());
    assert_eq!(
        shorts(&items),
        [
            r#"turn user:u "Look at it." @user:u"#,
            r#"tool t Glob "**/*.rs" @user:u"#,
            "finished t success @user:u",
            "done success @user:u"
        ]
    );
}

fn orphan(agent: &str, second: u32, prompt_id: &str, text: &str) -> Orphan {
    let time = format!(r#","timestamp":"2026-03-01T10:00:{second:02}Z","isSidechain":true"#);
    let mut mapper = Mapper::new(Role::Child { agent_id: agent.into() });
    feed(&mut mapper, user_with("u", prompt_id, &format!("{text:?}"), &time).as_bytes());
    mapper.orphan().unwrap()
}

#[test]
fn journals_bind_by_evidence_then_by_equal_prompts_in_order() {
    let lines = [
        user("u", "p", "Go"),
        calls("a1", "l1", "Agent", LAUNCH),
        calls("a2", "l2", "Agent", LAUNCH),
        calls("a3", "l3", "Agent", LAUNCH),
        user("u2", "p2", "Go on"),
        calls("a4", "l4", "Agent", LAUNCH),
    ];
    let mut mapper = Mapper::new(Role::Root);
    feed(&mut mapper, lines.join("\n").as_bytes());
    assert!(mapper.launches.bind("l2", "told"));
    assert!(!mapper.launches.bind("l2", "told") && !mapper.launches.bind("nowhere", "x"));
    let text = "Look at it.";
    let orphans = [
        orphan("late", 9, "p", text),
        orphan("stranger", 1, "p", "Look at it"),
        orphan("early", 2, "p", text),
        orphan("other", 3, "p2", text),
        orphan("surplus", 10, "p", text),
    ];
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(agent, launch)| ((*agent).to_owned(), (*launch).to_owned())).collect()
    };
    let expected = pairs(&[("early", "l1"), ("other", "l4"), ("late", "l3")]);
    assert_eq!(mapper.launches.claim(&orphans), expected);
    assert_eq!(mapper.launches.claim(&orphans), expected, "a claim is kept");
    assert_eq!(orphans[2].first_time, Moment::parse("2026-03-01T10:00:02Z"));
    // The result knows better: what was claimed gives way.
    let items = feed(&mut mapper, result("r1", "l1", "null", &ASYNC.replace("a1", "late")).as_bytes());
    assert_eq!(shorts(&items)[0], "binding l1 late @p2");
    assert_eq!(mapper.launches.of("late"), Some("l1"));
    assert_eq!(mapper.launches.of("early"), None);
    assert_eq!(mapper.launches.claim(&orphans[2..3]), pairs(&[("early", "l3")]));
}

#[test]
fn journals_do_not_bind_to_launches_that_were_over_or_never_ran() {
    let text = "Look at it.";
    let at = |second: u32| format!(r#","timestamp":"2026-03-01T10:00:{second:02}Z""#);
    let claims = |results: &[String], orphans: &[&Orphan]| -> Vec<String> {
        let mut mapper = Mapper::new(Role::Root);
        let calls = ["l1", "l2", "l3"].map(|launch| calls(launch, launch, "Agent", LAUNCH));
        feed(&mut mapper, [&[user("u", "p", "Go")], &calls[..], results].concat().join("\n").as_bytes());
        let orphans: Vec<Orphan> = orphans.iter().copied().cloned().collect();
        mapper
            .launches
            .claim(&orphans)
            .into_iter()
            .map(|(agent, launch)| format!("{agent} {launch}"))
            .collect()
    };
    let ok = |launch: &str, second: u32| result(&format!("r-{launch}"), launch, "false", &at(second));
    let refused = |launch: &str, rest: &str| result(&format!("r-{launch}"), launch, "true", rest);
    let [a, b, c] = [("a", 2), ("b", 5), ("c", 8)].map(|(agent, second)| orphan(agent, second, "p", text));
    let mut untimed = Orphan { first_time: None, ..orphan("0", 0, "p", text) };
    let all = [&c, &b, &a];
    for (results, orphans, expected) in [
        // One after the other, read when all is over.
        (vec![ok("l1", 4), ok("l2", 7), ok("l3", 9)], &all[..], vec!["a l1", "b l2", "c l3"]),
        // Over before the journal began, or at its very beginning.
        (vec![ok("l1", 4), ok("l2", 4)], &[&b], vec!["b l3"]),
        (vec![ok("l1", 5)], &[&b], vec!["b l1"]),
        (vec![ok("l1", 4), ok("l2", 4), ok("l3", 4)], &[&b], vec![]),
        // Refused while others ran; it failed, but there is no other.
        (vec![refused("l1", &at(9))], &all[..], vec!["a l2", "b l3", "c l1"]),
        (vec![refused("l1", &at(3))], &[&b], vec!["b l2"]),
        (vec![refused("l1", "")], &[&b], vec!["b l2"]),
    ] {
        assert_eq!(claims(&results, orphans), expected, "{results:?}");
    }
    // Without a time last, whatever its id; it may be anyone's.
    assert_eq!(claims(&[], &[&untimed, &b, &a]), ["a l1", "b l2", "0 l3"]);
    assert_eq!(claims(&[ok("l1", 4)], &[&untimed]), ["0 l1"]);
    untimed.agent_id = "z".into();
    assert_eq!(claims(&[], &[&untimed, &a]), ["a l1", "z l2"]);
}

#[test]
fn lines_are_read_as_javascript_reads_them() {
    let title = |line: &str| {
        let mut mapper = Mapper::new(Role::Root);
        feed(&mut mapper, line.as_bytes()).get(1).map(short)
    };
    for (line, expected) in [
        (r#"{"type":"ai-title","aiTitle":"a \ud83d"}"#, Some("metadata \"a \u{fffd}\"")),
        (r#"{"type":"ai-title","aiTitle":"ok","x":[1e999,"\udc00"]}"#, Some("metadata \"ok\"")),
        (r#"{"type":"ai-title","aiTitle":"one","aiTitle":"two"}"#, Some("metadata \"two\"")),
        (r#"{"type":"ai-title","aiTitle":"one","aiTitle":["two"]}"#, None),
        (
            r#"{"uuid":{},"message":7,"type":"ai-title","timestamp":1e999,"aiTitle":"t"}"#,
            Some("metadata \"t\""),
        ),
        (r#"{"type":"ai-title","aiTitle":" "}"#, None),
    ] {
        assert_eq!(title(line).as_deref(), expected, "{line}");
    }
    let fault = |line: &str| read(line.as_bytes(), |_| ()).unwrap_err();
    assert_eq!(fault("[{}]"), RecordFault::NotAnObject);
    assert_eq!(fault("7"), RecordFault::NotAnObject);
    assert_eq!(fault(r#"{"type":"user""#), RecordFault::Json(JsonFault::Malformed));
    assert_eq!(fault(&"[".repeat(2000)), RecordFault::Json(JsonFault::TooDeep));
    assert_eq!(read(b"{\"a\":\"\xff\"}", |_| ()), Err(RecordFault::Json(JsonFault::InvalidUtf8)));
}

#[test]
fn transcripts_are_recognised_by_content() {
    let child = user_with("u", "p", r#""x""#, r#","isSidechain":true,"agentId":"aname-0f3c""#);
    let root =
        |session: &str| Some(Recognized { session_id: session.into(), role: Role::Root, parent: None });
    let of_child = Some(Recognized {
        session_id: "s".into(),
        role: Role::Child { agent_id: "aname-0f3c".into() },
        parent: None,
    });
    let mode = record("permission-mode", r#""permissionMode":"auto""#);
    for (head, expected) in [
        (user("u", "p", "x"), root("s")),
        (format!("\u{feff}{}\r\n{{\"type\":\"us", user("u", "p", "x")), root("s")),
        (format!("broken\n{}\0\0\0\r\n", user("u", "p", "x")), root("s")),
        (mode.clone(), root("s")),
        (child.clone(), of_child.clone()),
        (format!("{mode}\n{child}"), of_child),
        (r#"{"type":"summary","summary":"Old","leafUuid":"x"}"#.into(), None),
        (r#"{"type":"user","sessionId":"s","text":"some other chat"}"#.into(), None),
        (r#"{"type":"started","agentId":"a1","key":"v2:1"}"#.into(), None),
        (r#"{"toolUseId":"toolu_1","agentType":"Explore","spawnDepth":1}"#.into(), None),
        (r#"{"schemaVersion":1,"eventId":"e","source":"s","kind":"created"}"#.into(), None),
        (r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"x"}}"#.into(), None),
        (r#"{"type":"system","subtype":"init","session_id":"s"}"#.into(), None),
        (String::new(), None),
        ("\n".into(), None),
    ] {
        assert_eq!(recognize(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn hostile_journals_do_not_grow_the_mapper_or_break_it() {
    let mut mapper = Mapper::new(Role::Root);
    let mut out = Vec::new();
    let mut line = String::new();
    for n in 0..50_000 {
        line.clear();
        write!(
            line,
            r#"{{"type":"assistant","uuid":"{n}","sessionId":"s","message":{{"id":"m{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Agent","input":{{"prompt":"p{n}"}}}}]}}}}"#
        )
        .unwrap();
        read(line.as_bytes(), |record| mapper.record(record, n, &mut out)).unwrap();
        out.clear();
    }
    // Of the launches and open calls only the latest are still known.
    assert!(
        !mapper.launches.bind("t45903", "x")
            && mapper.launches.bind("t45904", "x")
            && mapper.launches.bind("t49999", "y")
    );
    read(result("r", "t49999", "false", "").as_bytes(), |record| mapper.record(record, 0, &mut out)).unwrap();
    assert!(shorts(&out).contains(&"returned t49999 @assistant:m0".to_owned()));
}

/// The lines of a journal as a crash may have left it, those that hold a record.
fn salvage(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| {
        let end = line.iter().rposition(|byte| !matches!(byte, 0 | b'\r')).map_or(0, |last| last + 1);
        &line[..end]
    });
    let records: Vec<&[u8]> = lines.filter(|line| read(line, |_| ()).is_ok()).collect();
    records.join(&b'\n')
}

#[test]
fn fixtures_tell_their_stories() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude-code");
    let agents = ["success", "success", "success"];
    for (case, records, turns, tools, ends, child_tools) in [
        ("api-error", 14, vec!["error"], 0, &agents[..0], &[][..]),
        ("ask-user-question", 17, vec!["success"], 1, &[], &[]),
        ("basic-turn", 12, vec!["success"], 0, &[], &[]),
        ("foreground-subagent", 14, vec!["success"], 0, &agents[..1], &[2]),
        ("interrupted", 17, vec!["cancelled", "success"], 1, &[], &[]),
        ("interrupted-for-tool-use", 12, vec!["cancelled"], 1, &[], &[]),
        ("lone-surrogate", 11, vec!["success"], 0, &[], &[]),
        ("nul-padding-and-junk", 14, vec!["success"], 0, &[], &[]),
        ("question-in-prose", 11, vec!["success"], 0, &[], &[]),
        ("resumed-title", 21, vec!["success", "success"], 0, &[], &[]),
        ("three-subagents", 23, vec!["success"], 1, &agents, &[4, 4, 5]),
        ("tool-call", 15, vec!["success"], 2, &[], &[]),
    ] {
        let bytes = std::fs::read(fixtures.join(case).join("0-bytes.jsonl")).unwrap();
        let mut mapper = Mapper::new(recognize(&bytes).unwrap().role);
        let items = feed(&mut mapper, &salvage(&bytes));
        assert_eq!(tell(&items), (turns, tools, ends.to_vec()), "{case}");
        assert_eq!(counts(&salvage(&bytes)), (records, 0), "{case}");
        let mut of_children = Vec::new();
        for entry in std::fs::read_dir(fixtures.join(case).join("0-bytes/subagents")).into_iter().flatten() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let Some(Recognized { role: Role::Child { agent_id }, .. }) = recognize(&bytes) else {
                assert!(path.to_str().unwrap().ends_with(".meta.json"));
                continue;
            };
            assert!(mapper.launches.of(&agent_id).is_some(), "{case}: {agent_id} is bound");
            let mut child = Mapper::new(Role::Child { agent_id });
            let (turns, tools, _) = tell(&feed(&mut child, &bytes));
            assert_eq!(turns, ["success"]);
            of_children.push(tools);
        }
        of_children.sort_unstable();
        assert_eq!(of_children, child_tools, "{case}");
    }
}

fn recordings() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    Some(root.join("shared/recordings")).filter(|path| path.is_dir())
}

/// Turn outcomes, tools, launches with their ends.
fn tell(items: &[Mapped]) -> (Vec<&'static str>, usize, Vec<&'static str>) {
    let (mut turns, mut tools, mut ends) = (Vec::new(), 0, Vec::new());
    for item in items {
        match &item.said {
            Said::Event(AgentEvent::Done { outcome, .. }) => turns.push(outcome.as_str()),
            Said::Event(AgentEvent::ToolStarted { .. }) => tools += 1,
            Said::Event(AgentEvent::SubagentDone { outcome, .. }) => ends.push(outcome.as_str()),
            _ => {}
        }
    }
    (turns, tools, ends)
}

#[test]
fn recordings_show_what_they_are_said_to_show() {
    let Some(folder) = recordings() else { return };
    for (name, turns, tools, children) in [
        ("basic-turn", vec!["success"], 0, 0),
        ("auto-executed-tool-call", vec!["success"], 1, 0),
        ("foreground-subagent", vec!["success"], 0, 1),
        ("subagent-spawn", vec!["success"], 0, 3),
        ("turn-aborted-by-error", vec!["error", "error"], 0, 0),
        ("user-blocking-question", vec!["success"], 0, 0),
    ] {
        let bytes = std::fs::read(folder.join("claude-code").join(name).join("root.jsonl")).unwrap();
        assert_eq!(recognize(&bytes).unwrap().role, Role::Root);
        let mut mapper = Mapper::new(Role::Root);
        let items = feed(&mut mapper, &bytes);
        assert_eq!(tell(&items), (turns, tools, vec!["success"; children]), "{name}");
        assert_eq!(counts(&bytes).1, 0, "{name}");
        let again = feed(&mut mapper, &bytes);
        assert!(again.is_empty() || again.iter().all(|item| item.context.uuid.is_none()), "{name}");
    }
}

#[test]
fn recorded_sub_agents_bind_by_result_and_by_prompt() {
    let Some(folder) = recordings() else { return };
    let folder = folder.join("claude-code/subagent-spawn");
    let root = std::fs::read(folder.join("root.jsonl")).unwrap();
    let ids = ["a31559a022d9a2cb6", "a5435e8f32c1127d1", "a8662875f7da1388c"];
    let mut orphans = Vec::new();
    for (agent_id, tools) in ids.into_iter().zip([4, 1, 3]) {
        let bytes = std::fs::read(folder.join(format!("subagents/agent-{agent_id}.jsonl"))).unwrap();
        let role = Role::Child { agent_id: agent_id.into() };
        assert_eq!(recognize(&bytes).unwrap().role, role);
        let mut mapper = Mapper::new(role);
        assert_eq!(tell(&feed(&mut mapper, &bytes)), (vec!["success"], tools, vec![]));
        orphans.push(mapper.orphan().unwrap());
    }
    // Up to line 10 no result has come: prompts bind, as the results say later.
    let launched: Vec<u8> = root.split_inclusive(|byte| *byte == b'\n').take(10).flatten().copied().collect();
    let (mut early, mut whole) = (Mapper::new(Role::Root), Mapper::new(Role::Root));
    feed(&mut early, &launched);
    assert_eq!(early.launches.claim(&orphans).len(), 3);
    let items = feed(&mut whole, &root);
    assert_eq!(items.iter().filter(|item| matches!(item.said, Said::Binding { .. })).count(), 3);
    for agent_id in ids {
        assert!(early.launches.of(agent_id).is_some());
        assert_eq!(early.launches.of(agent_id), whole.launches.of(agent_id));
    }
}
