//! How Claude Code's sub-agents end and go on, who wrote a line, and which call was refused.

mod common;

use agent_lifecycle_core::contract::State;
use agent_lifecycle_core::providers::Role;
use agent_lifecycle_core::providers::claude_code::Mapper;
use common::claude::{
    ASYNC, LAUNCH, calls, check, feed, meta, notice, record, result, says, shorts, user, user_with,
};
use common::journals::{Journal, read_all, timed};

#[test]
fn the_origin_of_a_line_tells_who_wrote_it() {
    let from = |kind: &str| format!(r#","origin":{{"kind":"{kind}"}}"#);
    let text = notice("l1", "a1", "completed");
    let line = |kind: &str, text: &str| user_with("n", "p2", &format!("{text:?}"), &from(kind));
    let queued = |kind: &str| {
        let prompt = format!(r#""type":"queued_command","prompt":{text:?}{}"#, from(kind));
        record("attachment", &format!(r#""uuid":"q","attachment":{{{prompt}}}"#))
    };
    let typed = format!("turn p2 {text:?} @p2");
    for (line, expected) in [
        (line("human", &text), typed.as_str()),
        (line("task-notification", &text), r#"ended l1 success "Over" @p"#),
        // Not said in a word that is known.
        (line("channel", &text), r#"ended l1 success "Over" @p"#),
        (line("task-notification", "A command has finished."), "activity @p"),
        (line("human", "A command has finished."), r#"turn p2 "A command has finished." @p2"#),
        (queued("human"), "activity @p"),
        (queued("task-notification"), r#"ended l1 success "Over" @p"#),
    ] {
        let lines = [user("u", "p", "Go"), calls("a", "l1", "Agent", LAUNCH), line];
        check(&lines, &[r#"turn p "Go" @p"#, r#"launch l1 "Look" "Look at it." @p"#, expected]);
    }
}

#[test]
fn a_turn_that_the_program_starts_has_no_prompt() {
    let line =
        user_with("n", "p", r#""A command has finished.""#, r#","origin":{"kind":"task-notification"}"#);
    check(&[line], &["turn p @p"]);
}

fn enqueue(second: i64, text: &str) -> String {
    timed(second, &record("queue-operation", &format!(r#""operation":"enqueue","content":{text:?}"#)))
}

fn resumed(uuid: &str, call: &str, agent: &str) -> String {
    result(uuid, call, "null", &format!(r#","toolUseResult":{{"success":true,"resumedAgentId":"{agent}"}}"#))
}

#[test]
fn each_life_ends_with_its_own_report() {
    let over = notice("l1", "a1", "completed");
    let begin = [user("u", "p", "Go"), calls("a", "l1", "Agent", LAUNCH), result("r", "l1", "null", ASYNC)];
    let lines = [
        // The first report, by three ways, and one of them again.
        enqueue(1, &over),
        user("n1", "p", &over),
        enqueue(1, &over),
        record(
            "attachment",
            &format!(r#""uuid":"q1","attachment":{{"type":"queued_command","prompt":{over:?}}}"#),
        ),
        // A message that starts nothing again, and one that does.
        calls("b", "s1", "SendMessage", r#"{"to":"a1"}"#),
        result("r1", "s1", "null", r#","toolUseResult":{"success":true,"message":"queued"}"#),
        calls("c", "s2", "SendMessage", r#"{"to":"a1"}"#),
        resumed("r2", "s2", "a1"),
        calls("d", "s3", "SendMessage", r#"{"to":"a1"}"#),
        resumed("r3", "s3", "a1"),
        enqueue(5, &over),
        user("n2", "p", &over),
    ];
    check(
        &[&begin[..], &lines[..]].concat(),
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "binding l1 a1 @p",
            "confirmed l1 @p",
            "activity @p",
            r#"ended l1 success "Over" @p"#,
            "activity @p",
            "activity @p",
            "tool s1 SendMessage @p",
            "finished s1 success @p",
            "tool s2 SendMessage @p",
            "finished s2 success @p",
            r#"launch l1 "Look" @p"#,
            "confirmed l1 @p",
            // It is at work already.
            "tool s3 SendMessage @p",
            "finished s3 success @p",
            "resumed a1 @p",
            r#"ended l1 success "Over" @p"#,
            "activity @p",
        ],
    );
}

#[test]
fn a_call_that_resumes_an_agent_is_no_second_agent() {
    let again = r#"{"description":"Look again","prompt":"And now?","resume":"a1"}"#;
    let completed = r#","toolUseResult":{"status":"completed","agentId":"a1"}"#;
    check(
        &[
            user("u", "p", "Go"),
            calls("a", "l1", "Task", LAUNCH),
            result("r", "l1", "null", completed),
            calls("b", "l2", "Task", again),
            result("r2", "l2", "null", completed),
            // Of an agent that is not known it is a launch like any other.
            calls("c", "l3", "Task", &again.replace("a1", "a9")),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "binding l1 a1 @p",
            "ended l1 success @p",
            r#"launch l1 "Look again" "And now?" @p"#,
            "binding l1 a1 @p",
            "ended l1 success @p",
            r#"launch l3 "Look again" "And now?" @p"#,
        ],
    );
}

#[test]
fn a_further_prompt_in_its_own_journal_starts_a_sub_agent_again() {
    let sent = |uuid: &str, text: &str| {
        user_with(uuid, "p", &format!("{text:?}"), r#","isMeta":true,"origin":{"kind":"coordinator"}"#)
    };
    let lines = [
        user("u", "p", "Look"),
        says("a", "m1"),
        user("v", "p", "And?"),
        says("b", "m2"),
        sent("w", "More?"),
        meta("x", "p", "A skill."),
    ];
    let mut mapper = Mapper::new(Role::Child { agent_id: "a1".into() });
    assert_eq!(
        shorts(&feed(&mut mapper, lines.join("\n").as_bytes())),
        [
            r#"turn user:u "Look" @user:u"#,
            "done success @user:u",
            "started again",
            r#"turn user:v "And?" @user:v"#,
            "done success @user:v",
            "started again",
            r#"turn user:w "More?" @user:w"#,
            "activity @user:w",
        ]
    );
}

#[test]
fn a_second_life_begins_and_ends_whoever_started_it() {
    let launch = [
        timed(1, &user("u", "p", "Go")),
        timed(2, &calls("a", "l1", "Agent", LAUNCH)),
        timed(3, &result("r", "l1", "null", ASYNC)),
    ];
    let first = enqueue(10, &notice("l1", "a1", "completed"));
    let second = |status: &str| enqueue(30, &notice("l1", "a1", status));
    let message = [
        timed(20, &calls("b", "s1", "SendMessage", r#"{"to":"a1"}"#)),
        timed(22, &resumed("r2", "s1", "a1")),
    ];
    let below = |seconds: [i64; 4]| {
        [
            user("x1", "p", "Look at it."),
            says("x2", "m1"),
            user("x3", "p", "And?"),
            calls("x4", "t", "Bash", "{}"),
        ]
        .iter()
        .zip(seconds)
        .map(|(line, second)| timed(second, line))
        .collect::<Vec<_>>()
    };
    let journal = below([4, 9, 21, 25]);
    let base = || [&launch[..], std::slice::from_ref(&first)].concat();
    let told = || [base(), message.to_vec()].concat();
    for (name, lines, journal, expected) in [
        ("told and written", told(), Some(&journal), (2, State::Running, 0)),
        ("told only", told(), None, (2, State::Running, 0)),
        ("written only", base(), Some(&journal), (2, State::Running, 0)),
        (
            "told, written, ended",
            [told(), vec![second("completed")]].concat(),
            Some(&journal),
            (2, State::Completed, 0),
        ),
        ("told, ended", [told(), vec![second("killed")]].concat(), None, (2, State::Cancelled, 0)),
        ("written, ended", [base(), vec![second("failed")]].concat(), Some(&journal), (2, State::Failed, 0)),
        // Nothing started it again: it stays as it ended, and what came late is said.
        ("neither", [base(), vec![second("failed")]].concat(), None, (1, State::Completed, 1)),
        (
            "neither, the same report delivered",
            [base(), vec![timed(12, &user("n", "p", &notice("l1", "a1", "completed")))]].concat(),
            None,
            (1, State::Completed, 0),
        ),
        // A prompt before its end is no new life.
        ("steered", base(), Some(&below([4, 5, 6, 8])), (1, State::Completed, 0)),
    ] {
        for by_line in [false, true] {
            let mut journals: Vec<Journal<'_>> = vec![("s", Role::Root, None, &lines)];
            if let Some(journal) = journal {
                journals.push(("s", Role::Child { agent_id: "a1".into() }, Some("l1"), journal));
            }
            let rows = read_all(&journals, &[], by_line);
            let [root, child] = &rows[..] else { panic!("{name}: {} rows", rows.len()) };
            assert_eq!(
                (child.attempt, child.state, child.late_evidence),
                expected,
                "{name}, by line: {by_line}"
            );
            assert_eq!(child.title.as_deref(), Some("Look"), "{name}");
            assert_eq!(root.live_children, usize::from(expected.1 == State::Running), "{name}");
        }
    }
}

#[test]
fn the_call_that_was_refused_is_the_last_one_and_no_other() {
    let refusal = "[Request interrupted by user for tool use]";
    check(
        &[
            user("u", "p", "Go"),
            calls("a", "l1", "Agent", LAUNCH),
            calls("b", "t", "Bash", "{}"),
            result("r", "t", "true", ""),
            user("i", "p", refusal),
        ],
        &[
            r#"turn p "Go" @p"#,
            r#"launch l1 "Look" "Look at it." @p"#,
            "tool t Bash @p",
            "finished t error @p",
            r#"done cancelled "tool-use-refused" @p"#,
        ],
    );
}
