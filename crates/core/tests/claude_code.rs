//! The Claude Code table, row by row, with journals written by hand; then the recordings where they are present.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::agent::{AgentEvent, Outcome};
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::json::JsonFault;
use agent_lifecycle_core::providers::claude_code::{
    Mapper, Orphan, Recognized, RecordFault, Role, read, recognize,
};
use agent_lifecycle_core::providers::{Facts, Mapped, MessageUsage, Said};

fn feed(mapper: &mut Mapper, bytes: &[u8]) -> Vec<Mapped> {
    let mut out = Vec::new();
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.trim_ascii().is_empty() {
            read(line, |record| mapper.record(record, offset, &mut out)).unwrap();
        }
        offset += line.len() as u64;
    }
    out
}

/// One item in short: what it says, and `@` the turn that it belongs to.
fn short(mapped: &Mapped) -> String {
    let quoted = |text: &Option<String>| text.as_ref().map(|text| format!(" {text:?}")).unwrap_or_default();
    let mut line = match &mapped.said {
        Said::Activity => "activity".to_owned(),
        Said::Confirmed { launch } => format!("confirmed {launch}"),
        Said::Binding { launch, agent_id } => format!("binding {launch} {agent_id}"),
        Said::Facts(Facts { agent_version, cwd, branch, usage }) => {
            let usage = usage.as_ref().map(|MessageUsage { message_id, input, cached, output }| {
                format!("{message_id} {input}/{cached}/{output}")
            });
            format!("facts{}{}{}{}", quoted(agent_version), quoted(cwd), quoted(branch), quoted(&usage))
        }
        Said::Event(event) => match event {
            AgentEvent::SessionStarted { .. } => "session".to_owned(),
            AgentEvent::Metadata { title, model, .. } => {
                let model = model.as_ref().map(|model| format!(" model {}", model.id)).unwrap_or_default();
                format!("metadata{}{model}", quoted(title))
            }
            AgentEvent::TurnStarted { turn_id, prompt_text, .. } => {
                format!("turn {turn_id}{}", quoted(prompt_text))
            }
            AgentEvent::ToolStarted { tool_id, name, description, .. } => {
                format!("tool {tool_id} {name}{}", quoted(description))
            }
            AgentEvent::ToolFinished { tool_id, outcome, .. } => {
                format!("finished {tool_id} {}", outcome.map_or("-", Outcome::as_str))
            }
            AgentEvent::WaitStarted { wait_id, reason, .. } => format!("wait {wait_id}{}", quoted(reason)),
            AgentEvent::WaitFinished { wait_id, .. } => format!("waited {wait_id}"),
            AgentEvent::Done { outcome, summary, .. } => {
                format!("done {}{}", outcome.as_str(), quoted(summary))
            }
            AgentEvent::SubagentStarted { subagent_id, title, prompt_text, .. } => {
                format!("launch {subagent_id}{}{}", quoted(title), quoted(prompt_text))
            }
            AgentEvent::SubagentDone { subagent_id, outcome, summary } => {
                format!("ended {subagent_id} {}{}", outcome.as_str(), quoted(summary))
            }
            other => format!("{other:?}"),
        },
    };
    if let Some(turn) = &mapped.context.turn_id {
        write!(line, " @{turn}").unwrap();
    }
    line
}

fn shorts(items: &[Mapped]) -> Vec<String> {
    items.iter().map(short).collect()
}

#[track_caller]
fn check(lines: &[String], expected: &[&str]) {
    let mut mapper = Mapper::new(Role::Root);
    let journal = lines.join("\n");
    let items = feed(&mut mapper, journal.as_bytes());
    assert_eq!(shorts(&items).first().map(String::as_str), Some("session"));
    assert_eq!(shorts(&items)[1..], *expected);
    // A second reading by the same mapper adds nothing for records with a uuid.
    let again = feed(&mut mapper, journal.as_bytes());
    assert!(again.iter().all(|item| item.context.uuid.is_none()), "{again:?}");
}

const S: &str = r#""sessionId":"s""#;

/// A record of type `kind` with further members.
fn record(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}",{S},{rest}}}"#)
}

fn user_with(uuid: &str, prompt: &str, content: &str, rest: &str) -> String {
    record(
        "user",
        &format!(
            r#""uuid":"{uuid}","promptId":"{prompt}","message":{{"role":"user","content":{content}}}{rest}"#
        ),
    )
}

fn user(uuid: &str, prompt: &str, text: &str) -> String {
    user_with(uuid, prompt, &format!("{text:?}"), "")
}

fn meta(uuid: &str, prompt: &str, text: &str) -> String {
    user_with(uuid, prompt, &format!("{text:?}"), r#","isMeta":true"#)
}

fn assistant(uuid: &str, message: &str, blocks: &str, stop: &str) -> String {
    record(
        "assistant",
        &format!(
            r#""uuid":"{uuid}","message":{{"id":"{message}","role":"assistant","content":[{blocks}],"stop_reason":{stop}}}"#
        ),
    )
}

const TEXT: &str = r#"{"type":"text","text":"Shall I go on?"}"#;
const END: &str = r#""end_turn""#;

fn says(uuid: &str, message: &str) -> String {
    assistant(uuid, message, TEXT, END)
}

fn calls(uuid: &str, tool: &str, name: &str, input: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{tool}","name":"{name}","input":{input}}}"#);
    assistant(uuid, &format!("m-{uuid}"), &block, r#""tool_use""#)
}

fn result(uuid: &str, tool: &str, is_error: &str, rest: &str) -> String {
    let content =
        format!(r#"[{{"type":"tool_result","tool_use_id":"{tool}","content":"x","is_error":{is_error}}}]"#);
    user_with(uuid, "p", &content, rest)
}

fn system(uuid: &str, subtype: &str, rest: &str) -> String {
    record("system", &format!(r#""uuid":"{uuid}","subtype":"{subtype}"{rest}"#))
}

const LAUNCH: &str = r#"{"description":"Look","prompt":"Look at it."}"#;
const ASYNC: &str = r#","toolUseResult":{"isAsync":true,"status":"async_launched","agentId":"a1"}"#;

fn notice(tool: &str, task: &str, status: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{tool}</tool-use-id>\n<status>{status}</status>\n<summary>Over</summary>\n</task-notification>"
    )
}

#[test]
fn a_prompt_starts_a_turn_and_end_turn_ends_it_once() {
    check(
        &[
            user("u1", "p", "Hello"),
            says("a1", "m1"),
            system("d", "turn_duration", r#","parentUuid":"a1""#),
            user("u2", "p2", "More"),
            assistant("a2", "m2", TEXT, "null"),
            system("d2", "turn_duration", r#","parentUuid":"a2""#),
        ],
        &[
            r#"turn p "Hello" @p"#,
            "done success @p",
            r#"turn p2 "More" @p2"#,
            "activity @p2",
            "done success @p2",
        ],
    );
}

#[test]
fn turn_ids_are_prompt_ids_once_and_prompts_are_cut() {
    let long = "é".repeat(5000);
    let cut = format!("turn user:u3 {:?} @user:u3", "é".repeat(4096));
    check(
        &[
            user("u1", "p", "One"),
            user("u2", "p", "Two"),
            user_with("u3", "", &format!("{long:?}"), ""),
            user_with(
                "u4",
                "p4",
                r#"[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"A"},{"type":"image"},{"type":"text","text":"B"}]"#,
                "",
            ),
        ],
        // A prompt with another id supersedes the open turn, without outcome.
        &[r#"turn p "One" @p"#, r#"turn user:u2 "Two" @user:u2"#, &cut, r#"turn p4 "A\nB" @p4"#],
    );
}

#[test]
fn hidden_and_made_user_lines_start_no_turn() {
    check(
        &[
            meta("u1", "p1", "Continue from where you left off."),
            user_with("u2", "p2", r#""Summary""#, r#","isCompactSummary":true"#),
            user_with("u3", "p3", r#""Shown""#, r#","isVisibleInTranscriptOnly":true"#),
            user("u4", "p4", "<system-reminder>Be brief.</system-reminder>"),
            meta(
                "u5",
                "p5",
                "Caveat: The messages below were generated by the user while running local commands. x",
            ),
            user("u6", "p6", "<command-name>/clear</command-name>\n<command-message>clear</command-message>"),
            user("u7", "p6", "<local-command-stdout>Cleared</local-command-stdout>"),
            user("u8", "p8", "<bash-input>ls</bash-input>"),
            user("u9", "p8", "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"),
        ],
        &[],
    );
}

#[test]
fn a_command_starts_a_turn_where_a_meta_line_carries_it_out() {
    let wrapper = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the diff</command-args>";
    check(
        &[
            user("u1", "p1", wrapper),
            meta("u2", "p1", "You are a reviewer."),
            says("a1", "m1"),
            // Between the wrapper and the meta line: an assistant line, so the meta line is something else.
            user("u3", "p3", wrapper),
            assistant("a2", "m1", TEXT, END),
            meta("u4", "p3", "Noted."),
            // A goal: output in between changes nothing, the caveat does not count.
            user("u5", "p5", "<command-name>/goal</command-name>"),
            user("u6", "p5", "<local-command-stdout>Goal set</local-command-stdout>"),
            meta("u7", "p5", "<local-command-caveat>Caveat</local-command-caveat>"),
            meta("u8", "p5", "Work until it is done."),
        ],
        &[r#"turn p1 "/review the diff" @p1"#, "done success @p1", "activity @p1", r#"turn p5 "/goal" @p5"#],
    );
}

#[test]
fn stop_hook_feedback_lets_the_ended_turn_go_on() {
    let feedback = "Stop hook feedback:\n- the tests fail";
    check(
        &[
            user("u1", "p", "Fix"),
            says("a1", "m1"),
            meta("u2", "p", feedback),
            assistant("a2", "m1", TEXT, END),
            says("a3", "m2"),
            // Written by a person, it is a prompt like any other.
            user("u3", "p3", feedback),
            // Nothing has ended: only activity.
            meta("u4", "p3", feedback),
        ],
        &[
            r#"turn p "Fix" @p"#,
            "done success @p",
            "turn p @p",
            "activity @p",
            "done success @p",
            r#"turn p3 "Stop hook feedback:\n- the tests fail" @p3"#,
            "activity @p3",
        ],
    );
}

#[test]
fn assistant_lines_start_a_turn_only_for_a_new_message() {
    check(
        &[
            user_with("u0", "p0", r#"[{"type":"image"}]"#, ""),
            assistant("a1", "m1", TEXT, "null"),
            says("a2", "m1"),
            // Late: the ended turn's message.
            says("a3", "m1"),
            // Nobody asked, the prompt id is used.
            says("a4", "m2"),
            // Late even while another turn is open: it does not end that one.
            user("u5", "p5", "Next"),
            says("a5", "m2"),
        ],
        &[
            "turn p0 @p0",
            "done success @p0",
            "activity @p0",
            "turn assistant:m2 @assistant:m2",
            "done success @assistant:m2",
            r#"turn p5 "Next" @p5"#,
            "activity @assistant:m2",
        ],
    );
}

#[test]
fn models_usage_and_facts_are_told_when_they_change() {
    let line = |uuid: &str, message: &str, model: &str, output: &str| {
        record(
            "assistant",
            &format!(
                r#""uuid":"{uuid}","version":"2.1.200","cwd":"/w","gitBranch":"b","message":{{"id":"{message}","model":"{model}","content":[{TEXT}],"usage":{{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":{output}}}}}"#
            ),
        )
    };
    check(
        &[
            line("a1", "m1", "opus", "4"),
            line("a2", "m1", "opus", "4"),
            line("a3", "m1", "opus", "9"),
            line("a4", "m2", "<synthetic>", "7"),
            line("a5", "m3", "haiku", "1e999"),
        ],
        &[
            r#"facts "2.1.200" "/w" "b""#,
            r#"facts "m1 1/5/4""#,
            "turn assistant:m1 @assistant:m1",
            "metadata model opus @assistant:m1",
            "activity @assistant:m1",
            r#"facts "m1 1/5/9" @assistant:m1"#,
            "activity @assistant:m1",
            "activity @assistant:m1",
            r#"facts "m3 1/5/0" @assistant:m1"#,
            "metadata model haiku @assistant:m1",
        ],
    );
}

#[test]
fn titles_follow_their_rank() {
    let title = |kind: &str, member: &str, text: &str| record(kind, &format!(r#""{member}":"{text}""#));
    check(
        &[
            title("last-prompt", "lastPrompt", "First"),
            title("last-prompt", "lastPrompt", "First"),
            title("ai-title", "aiTitle", "Made"),
            title("last-prompt", "lastPrompt", "Second"),
            title("ai-title", "aiTitle", "Made again"),
            title("custom-title", "customTitle", "Given"),
            title("ai-title", "aiTitle", "Made"),
        ],
        &[r#"metadata "First""#, r#"metadata "Made""#, r#"metadata "Made again""#, r#"metadata "Given""#],
    );
}

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
            "activity @p",
            &format!("turn p2 {:?} @p2", format!("It said {}", notice("l1", "x", "completed"))),
        ],
    );
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

#[test]
fn an_interruption_cancels_the_open_turn() {
    check(
        &[
            user("u1", "p1", "One"),
            user_with("i1", "other", r#"[{"type":"text","text":"[Request interrupted by user]"}]"#, ""),
            system("d1", "turn_duration", ""),
            user("u2", "p2", "Two"),
            calls("a2", "t2", "Bash", "{}"),
            user("i2", "p2", "[Request interrupted by user for tool use]"),
            user("u3", "p3", "Three"),
            calls("a3", "t3", "Bash", "{}"),
            // A tool that fails is neither interrupted nor refused.
            result("r3", "t3", "true", r#","toolUseResult":"Error: exit 1""#),
            says("a4", "m4"),
            // No turn is open.
            user("i4", "p4", "[Request interrupted by user]"),
        ],
        &[
            r#"turn p1 "One" @p1"#,
            "done cancelled @p1",
            r#"turn p2 "Two" @p2"#,
            "tool t2 Bash @p2",
            "finished t2 cancelled @p2",
            r#"done cancelled "tool-use-refused" @p2"#,
            r#"turn p3 "Three" @p3"#,
            "tool t3 Bash @p3",
            "finished t3 error @p3",
            "done success @p3",
        ],
    );
}

#[test]
fn an_api_error_fails_the_turn_and_turn_duration_does_not_mend_it() {
    let error = |uuid: &str, message: &str, flag: &str| {
        record(
            "assistant",
            &format!(
                r#""uuid":"{uuid}",{flag}"message":{{"id":"{message}","model":"<synthetic>","content":[{TEXT}],"stop_reason":"stop_sequence"}}"#
            ),
        )
    };
    let flag = r#""isApiErrorMessage":true,"#;
    check(
        &[
            user("u1", "p1", "One"),
            system("e", "api_error", ""),
            error("a1", "m1", flag),
            system("d1", "turn_duration", r#","parentUuid":"a1""#),
            // What the program says of itself starts nothing.
            error("a2", "m2", flag),
            error("a3", "m3", ""),
            // The turn_duration of the turn before comes after the next prompt.
            user("u2", "p2", "Two"),
            says("a4", "m4"),
            user("u3", "p3", "Three"),
            system("d2", "turn_duration", r#","parentUuid":"a4""#),
            // A prompt that is only a picture, and an error.
            user("i", "p3", "[Request interrupted by user]"),
            user_with("u4", "p4", r#"[{"type":"image"}]"#, ""),
            error("a5", "m5", flag),
        ],
        &[
            r#"turn p1 "One" @p1"#,
            "activity @p1",
            r#"done error "api-error" @p1"#,
            r#"turn p2 "Two" @p2"#,
            "done success @p2",
            r#"turn p3 "Three" @p3"#,
            "done cancelled @p3",
            "turn p4 @p4",
            r#"done error "api-error" @p4"#,
        ],
    );
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
    let mut mapper = Mapper::new(Role::Root);
    feed(&mut mapper, lines.join("\n").as_bytes());
    assert_eq!((mapper.records(), mapper.unknown_records()), (9, 2));
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
            r#"turn p "Look at it." @p"#,
            r#"tool t Glob "**/*.rs" @p"#,
            "finished t success @p",
            "done success @p"
        ]
    );
    // Among the session's own records, those of a sub-agent change nothing.
    check(&[lines[0].clone()], &[]);
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
    assert!(mapper.bind("l2", "told"));
    assert!(!mapper.bind("l2", "told") && !mapper.bind("nowhere", "x"));
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
    assert_eq!(mapper.claim(&orphans), expected);
    assert_eq!(mapper.claim(&orphans), expected, "a claim is kept");
    assert_eq!(orphans[2].first_time, Moment::parse("2026-03-01T10:00:02Z"));
    // The result knows better: what was claimed gives way.
    let items = feed(&mut mapper, result("r1", "l1", "null", &ASYNC.replace("a1", "late")).as_bytes());
    assert_eq!(shorts(&items)[0], "binding l1 late @p2");
    assert_eq!(mapper.launch_of("late"), Some("l1"));
    assert_eq!(mapper.launch_of("early"), None);
    assert_eq!(mapper.claim(&orphans[2..3]), pairs(&[("early", "l3")]));
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
    let root = |session: &str| Some(Recognized { session_id: session.into(), role: Role::Root });
    let of_child =
        Some(Recognized { session_id: "s".into(), role: Role::Child { agent_id: "aname-0f3c".into() } });
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
    assert!(!mapper.bind("t45903", "x") && mapper.bind("t45904", "x") && mapper.bind("t49999", "y"));
    read(result("r", "t49999", "false", "").as_bytes(), |record| mapper.record(record, 0, &mut out)).unwrap();
    assert_eq!(shorts(&out).last().map(String::as_str), Some("ended t49999 success @assistant:m0"));
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
        assert_eq!((mapper.records(), mapper.unknown_records()), (records, 0), "{case}");
        let mut of_children = Vec::new();
        for entry in std::fs::read_dir(fixtures.join(case).join("0-bytes/subagents")).into_iter().flatten() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let Some(Recognized { role: Role::Child { agent_id }, .. }) = recognize(&bytes) else {
                assert!(path.to_str().unwrap().ends_with(".meta.json"));
                continue;
            };
            assert!(mapper.launch_of(&agent_id).is_some(), "{case}: {agent_id} is bound");
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
        assert_eq!(mapper.unknown_records(), 0, "{name}");
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
    assert_eq!(early.claim(&orphans).len(), 3);
    let items = feed(&mut whole, &root);
    assert_eq!(items.iter().filter(|item| matches!(item.said, Said::Binding { .. })).count(), 3);
    for agent_id in ids {
        assert!(early.launch_of(agent_id).is_some());
        assert_eq!(early.launch_of(agent_id), whole.launch_of(agent_id));
    }
}
