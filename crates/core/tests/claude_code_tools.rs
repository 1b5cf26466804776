//! Tools, waits and sub-agents of the Claude Code table, row by row.

mod common;

use agent_lifecycle_core::providers::Role;
use agent_lifecycle_core::providers::claude_code::Mapper;
use common::claude::{
    ASYNC, LAUNCH, assistant, calls, check, feed, notice, record, result, says, shorts, system, user,
    user_with,
};

#[test]
fn tools_start_and_finish_once_in_any_order() {
    check(
        &[
            user("u", "p", "Go"),
            calls("a1", "t1", "Bash", r#"{"command":"secret","description":"List"}"#),
            result("r1", "t1", "false", ""),
            calls("a2", "t2", "Read", r#"{"file_path":"/w/x"}"#),
            result("r2", "t2", "true", ""),
            // The result comes first.
            result("r3", "t3", "null", ""),
            calls("a3", "t3", "Grep", "{}"),
            // Again under other uuids.
            result("r4", "t3", "true", ""),
            calls("a4", "t3", "Grep", "{}"),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"tool t1 Bash "List" @p"#,
            "finished t1 success @p",
            r#"tool t2 Read "/w/x" @p"#,
            "finished t2 error @p",
            "activity @p",
            "tool t3 Grep @p",
            "finished t3 success @p",
            "activity @p",
            "activity @p",
        ],
    );
}

#[test]
fn questions_are_waits_and_questions_in_prose_are_not() {
    check(
        &[
            user("u", "p", "Ask"),
            calls("a1", "q1", "AskUserQuestion", "{}"),
            result("r1", "q1", "false", ""),
            calls("a2", "q2", "ExitPlanMode", "{}"),
            result("r2", "q2", "true", ""),
            says("a3", "m"),
        ],
        &[
            r#"turn p "Ask" @p"#,
            r#"wait q1 "question" @p"#,
            "waited q1 @p",
            r#"wait q2 "question" @p"#,
            "waited q2 @p",
            "done success @p",
        ],
    );
}

#[test]
fn a_question_of_an_ended_turn_is_no_wait() {
    let asks = |uuid: &str, message: &str, id: &str| {
        let block = format!(r#"{{"type":"tool_use","id":"{id}","name":"AskUserQuestion","input":{{}}}}"#);
        assistant(uuid, message, &block, "null")
    };
    check(
        &[
            user("u1", "p1", "One"),
            assistant("a0", "m0", "", "null"),
            says("a1", "m1"),
            asks("b0", "m0", "q0"),
            asks("b1", "m1", "q1"),
            result("r1", "q1", "false", ""),
            user("u2", "p2", "Two"),
            asks("c1", "m1", "q2"),
            result("r2", "q2", "false", ""),
            // A prompt typed meanwhile ends no turn: the question is asked.
            assistant("a2", "m2", "", "null"),
            user("u3", "p3", "Three"),
            asks("b2", "m2", "q3"),
            result("r3", "q3", "false", ""),
        ],
        &[
            r#"turn p1 "One" @p1"#,
            "activity @p1",
            "done success @p1",
            "tool q0 AskUserQuestion @p1",
            "tool q1 AskUserQuestion @p1",
            "finished q1 success",
            r#"turn p2 "Two" @p2"#,
            "tool q2 AskUserQuestion @p1",
            "finished q2 success @p2",
            "activity @p2",
            r#"turn p3 "Three" @p3"#,
            r#"wait q3 "question" @p2"#,
            "waited q3 @p3",
        ],
    );
}

#[test]
fn a_foreground_sub_agent_ends_with_its_result() {
    let completed = r#","toolUseResult":{"status":"completed","agentId":"a1"}"#;
    check(
        &[
            user("u", "p", "Go"),
            calls("a1", "l1", "Agent", LAUNCH),
            result("r1", "l1", "null", completed),
            calls("a2", "l2", "Task", LAUNCH),
            result("r2", "l2", "true", r#","toolUseResult":"Error: no""#),
            user_with("n", "p", &format!("{:?}", notice("l1", "a1", "killed")), ""),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "binding l1 a1 @p",
            "ended l1 success @p",
            r#"launch l2 "Look" "Look at it." @p"#,
            "ended l2 error @p",
            "activity @p",
        ],
    );
}

#[test]
fn the_status_of_a_result_ends_a_sub_agent_only_by_a_word_that_tells_of_an_end() {
    for (status, expected) in [
        ("completed", "ended l success @p"),
        ("failed", "ended l error @p"),
        ("error", "ended l error @p"),
        ("killed", "ended l cancelled @p"),
        ("cancelled", "ended l cancelled @p"),
        ("teammate_spawned", "confirmed l @p|activity @p"),
    ] {
        let details = format!(r#","toolUseResult":{{"status":"{status}"}}"#);
        let lines =
            [user("u", "p", "Go"), calls("a", "l", "Agent", LAUNCH), result("r", "l", "false", &details)];
        let begin = [r#"turn p "Go" @p"#, r#"launch l "Look" "Look at it." @p"#];
        let expected: Vec<&str> = begin.into_iter().chain(expected.split('|')).collect();
        check(&lines, &expected);
    }
}

#[test]
fn among_several_results_a_status_keeps_sub_agents_and_ends_none() {
    let launch = |uuid: &str, id: &str, rest: &str| {
        calls(uuid, id, "Agent", &format!(r#"{{"description":"Look","prompt":"Look at it."{rest}}}"#))
    };
    let results = |uuid: &str, ids: [&str; 2], rest: &str| {
        let results = ids.map(|id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#));
        user_with(uuid, "p", &format!("[{}]", results.join(",")), rest)
    };
    let completed = r#","toolUseResult":{"status":"completed","agentId":"a1"}"#;
    check(
        &[
            user("u", "p", "Go"),
            launch("a1", "l1", ""),
            launch("a2", "l2", ""),
            results("r1", ["l1", "l2"], ASYNC),
            system("d", "turn_duration", r#","pendingBackgroundAgentCount":2"#),
            user("u2", "p2", "Go on"),
            launch("a3", "l3", r#","run_in_background":true"#),
            launch("a4", "l4", ""),
            results("r2", ["l3", "l4"], completed),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            r#"launch l2 "Look" "Look at it." @p"#,
            "confirmed l1 @p",
            "confirmed l2 @p",
            "activity @p",
            "done success @p",
            r#"turn p2 "Go on" @p2"#,
            r#"launch l3 "Look" "Look at it." @p2"#,
            r#"launch l4 "Look" "Look at it." @p2"#,
            "confirmed l3 @p2",
            // That its call returned says nothing of how it fared.
            "returned l4 @p2",
            "activity @p2",
        ],
    );
}

#[test]
fn a_refusal_cancels_the_sub_agent_or_question_just_before() {
    let refusal = "[Request interrupted by user for tool use]";
    check(
        &[
            user("u1", "p1", "One"),
            calls("a1", "l1", "Agent", LAUNCH),
            user("i1", "p1", refusal),
            user("u2", "p2", "Two"),
            calls("a2", "q2", "AskUserQuestion", "{}"),
            user("i2", "p2", refusal),
            // The open call of an earlier turn is not the one just before.
            user("u3", "p3", "Three"),
            calls("a3", "l3", "Agent", LAUNCH),
            user("u4", "p4", "Four"),
            user("i4", "p4", refusal),
        ],
        &[
            r#"turn p1 "One" @p1"#,
            r#"launch l1 "Look" "Look at it." @p1"#,
            "ended l1 cancelled @p1",
            r#"done cancelled "tool-use-refused" @p1"#,
            r#"turn p2 "Two" @p2"#,
            r#"wait q2 "question" @p2"#,
            "waited q2 @p2",
            r#"done cancelled "tool-use-refused" @p2"#,
            r#"turn p3 "Three" @p3"#,
            r#"launch l3 "Look" "Look at it." @p3"#,
            r#"turn p4 "Four" @p4"#,
            r#"done cancelled "tool-use-refused" @p4"#,
        ],
    );
}

#[test]
fn background_sub_agents_end_with_their_notification_once() {
    let enqueue =
        |text: &str| record("queue-operation", &format!(r#""operation":"enqueue","content":{text:?}"#));
    let queued = |uuid: &str, text: &str| {
        record(
            "attachment",
            &format!(r#""uuid":"{uuid}","attachment":{{"type":"queued_command","prompt":{text:?}}}"#),
        )
    };
    check(
        &[
            user("u", "p", "Go"),
            calls("a1", "l1", "Agent", LAUNCH),
            result("r1", "l1", "null", ASYNC),
            calls("a2", "l2", "Agent", LAUNCH),
            calls("a3", "l3", "Agent", LAUNCH),
            says("a4", "m"),
            system("d", "turn_duration", r#","pendingBackgroundAgentCount":3"#),
            // By the id of the task; a shell task with no sub-agent ends nothing.
            enqueue(&notice("unknown", "a1", "completed")),
            enqueue(&notice("unknown", "b7", "completed")),
            user("n1", "p2", &notice("l1", "a1", "completed")),
            queued("q1", &notice("l2", "x", "killed")),
            queued("q2", "and then the docs"),
            user("n2", "p2", &notice("l3", "y", "failed")),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "binding l1 a1 @p",
            "confirmed l1 @p",
            "activity @p",
            r#"launch l2 "Look" "Look at it." @p"#,
            r#"launch l3 "Look" "Look at it." @p"#,
            "done success @p",
            r#"ended l1 success "Over""#,
            "reported unknown/b7 success",
            // Delivered as a user line while no turn is open, it starts one, without prompt text.
            "turn p2 @p2",
            r#"ended l2 cancelled "Over" @p2"#,
            "activity @p2",
            r#"ended l3 error "Over" @p2"#,
        ],
    );
}

#[test]
fn what_a_notification_quotes_is_not_believed() {
    let text = "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n<summary>s</summary>\n<result><tool-use-id>l1</tool-use-id></result>\n</task-notification>";
    check(
        &[
            user("u", "p", "Go"),
            calls("a1", "l1", "Agent", LAUNCH),
            user("n", "p", text),
            user("m", "p2", &format!("It said {}", notice("l1", "x", "completed"))),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "reported -/b1 success @p",
            "activity @p",
            &format!("turn p2 {:?} @p2", format!("It said {}", notice("l1", "x", "completed"))),
        ],
    );
}

/// What becomes of the running sub-agent `l1` with the agent id `a1` when a user line has these texts.
fn told(texts: &[&str]) -> Vec<String> {
    let blocks: Vec<String> =
        texts.iter().map(|text| format!(r#"{{"type":"text","text":{text:?}}}"#)).collect();
    let lines = [
        user("u", "p", "Go"),
        calls("a", "l1", "Agent", LAUNCH),
        result("r", "l1", "null", ASYNC),
        user_with("n", "p2", &format!("[{}]", blocks.join(",")), ""),
    ];
    let mut mapper = Mapper::new(Role::Root);
    shorts(&feed(&mut mapper, lines.join("\n").as_bytes())[6..])
}

#[test]
fn a_notification_is_the_whole_text() {
    let over = notice("l1", "a1", "completed");
    let other = notice("l9", "a9", "completed");
    let ended = [r#"ended l1 success "Over" @p"#];
    for texts in [
        vec![format!("{over}\n")],
        vec![format!("{over}\nFull transcript available at: /tmp/a1.output\n")],
        vec![format!("{other}\nRead the output file to retrieve the result: /tmp/a9.output\n{over}")],
        vec![format!("{other}{over}")],
        vec![other.clone(), over.clone()],
        vec!["<system-reminder>x</system-reminder>".to_owned(), over.clone()],
    ] {
        let mut told = told(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        told.retain(|item| item != "reported l9/a9 success @p");
        assert_eq!(told, ended, "{texts:?}");
    }
    for texts in [
        vec![format!("{over} what does this XML mean?")],
        vec![format!("{over}\nFull transcript available at: /tmp/a1.output\nWhat is that?")],
        vec![over.clone(), "What is that?".to_owned()],
        vec!["See:".to_owned(), over.clone()],
        vec![over.replace("</task-notification>", "")],
    ] {
        let told = told(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((told.len(), told[0].as_str()), (2, "superseded p @p"));
        assert!(told[1].starts_with(r#"turn p2 ""#), "{told:?}");
    }
}

#[test]
fn a_typed_notification_in_the_queue_ends_nothing() {
    let typed = format!("{} <- what is this?", notice("l1", "a1", "failed"));
    check(
        &[
            user("u", "p", "Go"),
            calls("a", "l1", "Agent", LAUNCH),
            record("queue-operation", &format!(r#""operation":"enqueue","content":{typed:?}"#)),
            record(
                "attachment",
                &format!(r#""uuid":"q","attachment":{{"type":"queued_command","prompt":{typed:?}}}"#),
            ),
        ],
        &[r#"turn p "Go" @p"#, r#"launch l1 "Look" "Look at it." @p"#, "activity @p"],
    );
}

#[test]
fn the_tags_of_a_notification_come_in_any_order() {
    for (body, expected) in [
        ("<task-id>a1</task-id><summary>s</summary><status>completed</status>", r#"ended l1 success "s" @p"#),
        (
            "<summary>s</summary> <status>killed</status> <tool-use-id>l1</tool-use-id>",
            r#"ended l1 cancelled "s" @p"#,
        ),
        (
            "<result>r</result><usage><n>1</n></usage><status>failed</status><task-id>a1</task-id>",
            "ended l1 error @p",
        ),
        // The first of a name counts, not what is quoted.
        (
            "<task-id>a1</task-id><status>failed</status><summary>s</summary><status>completed</status>",
            r#"ended l1 error "s" @p"#,
        ),
        ("<task-id>a1</task-id><result></result><status>completed</status></result>", "activity @p"),
        (
            "<task-id>b1</task-id><summary><tool-use-id>l1</tool-use-id></summary><status>x</status>",
            "reported -/b1 error @p",
        ),
        ("<status>completed</status><note><task-id>a1</task-id></note>", "activity @p"),
        (
            "<task-id>a1</task-id><status>killed</status><result><task-notification></task-notification></result>",
            "ended l1 cancelled @p",
        ),
        ("<task-id>a1</task-id>", "activity @p"),
    ] {
        let told = told(&[&format!("<task-notification>{body}</task-notification>")]);
        assert_eq!(told[0], expected, "{body}");
        assert!(told[1..].iter().all(|item| item == "activity @p"), "{body}");
    }
}

#[test]
fn a_workflow_is_a_tool_until_its_result_says_that_it_runs() {
    check(
        &[
            user("u", "p", "Go"),
            calls("a1", "w1", "Workflow", "{}"),
            result("r1", "w1", "null", r#","toolUseResult":{"status":"async_launched"}"#),
            calls("a2", "w2", "Workflow", "{}"),
            result("r2", "w2", "null", ""),
            user("n", "p", &notice("w1", "x", "completed")),
        ],
        &[
            r#"turn p "Go" @p"#,
            "tool w1 Workflow @p",
            "finished w1 success @p",
            "launch w1 @p",
            "confirmed w1 @p",
            "tool w2 Workflow @p",
            "finished w2 success @p",
            r#"ended w1 success "Over" @p"#,
        ],
    );
}
