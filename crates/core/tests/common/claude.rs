//! Claude Code journals written by hand, and what they are mapped to in short.

use std::fmt::Write as _;

use agent_lifecycle_core::agent::{AgentEvent, ContextUse, Outcome};
use agent_lifecycle_core::providers::claude_code::{Mapper, read};
use agent_lifecycle_core::providers::{Facts, Mapped, MessageUsage, Role, Said};

pub(crate) fn feed(mapper: &mut Mapper, bytes: &[u8]) -> Vec<Mapped> {
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
pub(crate) fn short(mapped: &Mapped) -> String {
    let quoted = |text: &Option<String>| text.as_ref().map(|text| format!(" {text:?}")).unwrap_or_default();
    let mut line = match &mapped.said {
        Said::Activity => "activity".to_owned(),
        Said::Confirmed { launch } => format!("confirmed {launch}"),
        Said::Binding { launch, agent_id } => format!("binding {launch} {agent_id}"),
        Said::StartedAgain => "started again".to_owned(),
        Said::Reported { tool_use_id, agent_id, outcome, .. } => format!(
            "reported {}/{} {}",
            tool_use_id.as_deref().unwrap_or("-"),
            agent_id.as_deref().unwrap_or("-"),
            outcome.as_str()
        ),
        Said::Returned { launch } => format!("returned {launch}"),
        Said::Resumed { agent_id } => format!("resumed {agent_id}"),
        Said::Superseded { turn_id } => format!("superseded {turn_id}"),
        Said::Facts(Facts { agent_version, cwd, branch, usage, context }) => {
            let usage = usage.as_ref().map(|MessageUsage { message_id, input, cached, output }| {
                format!("{message_id} {input}/{cached}/{output}")
            });
            let context = context.map(|ContextUse { used, window }| match window {
                Some(window) => format!(" context {used}/{window}"),
                None => format!(" context {used}"),
            });
            let context = context.unwrap_or_default();
            let facts = [agent_version, cwd, branch, &usage].map(quoted).concat();
            format!("facts{facts}{context}")
        }
        Said::Event(event) => match event {
            AgentEvent::SessionStarted { title, .. } => format!("session{}", quoted(title)),
            AgentEvent::Metadata { title: None, prompt_text: Some(prompt), model: None, .. } => {
                format!("prompt {prompt:?}")
            }
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

pub(crate) fn shorts(items: &[Mapped]) -> Vec<String> {
    items.iter().map(short).collect()
}

#[track_caller]
pub(crate) fn check(lines: &[String], expected: &[&str]) {
    let mut mapper = Mapper::new(Role::Root);
    let journal = lines.join("\n");
    let items = feed(&mut mapper, journal.as_bytes());
    assert_eq!(shorts(&items).first().map(String::as_str), Some("session"));
    // That a turn gave way is told beside the start of the next one, and has a test of its own.
    let mut told = shorts(&items);
    told.retain(|item| !item.starts_with("superseded "));
    assert_eq!(told[1..], *expected);
    // A second reading by the same mapper adds nothing for records with a uuid.
    let again = feed(&mut mapper, journal.as_bytes());
    assert!(again.iter().all(|item| item.context.uuid.is_none()), "{again:?}");
}

pub(crate) const S: &str = r#""sessionId":"s""#;

/// A record of type `kind` with further members.
pub(crate) fn record(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}",{S},{rest}}}"#)
}

pub(crate) fn user_with(uuid: &str, prompt: &str, content: &str, rest: &str) -> String {
    record(
        "user",
        &format!(
            r#""uuid":"{uuid}","promptId":"{prompt}","message":{{"role":"user","content":{content}}}{rest}"#
        ),
    )
}

pub(crate) fn user(uuid: &str, prompt: &str, text: &str) -> String {
    user_with(uuid, prompt, &format!("{text:?}"), "")
}

pub(crate) fn meta(uuid: &str, prompt: &str, text: &str) -> String {
    user_with(uuid, prompt, &format!("{text:?}"), r#","isMeta":true"#)
}

pub(crate) fn assistant(uuid: &str, message: &str, blocks: &str, stop: &str) -> String {
    record(
        "assistant",
        &format!(
            r#""uuid":"{uuid}","message":{{"id":"{message}","role":"assistant","content":[{blocks}],"stop_reason":{stop}}}"#
        ),
    )
}

pub(crate) const TEXT: &str = r#"{"type":"text","text":"Shall I go on?"}"#;
pub(crate) const END: &str = r#""end_turn""#;

pub(crate) fn says(uuid: &str, message: &str) -> String {
    assistant(uuid, message, TEXT, END)
}

pub(crate) fn calls(uuid: &str, tool: &str, name: &str, input: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{tool}","name":"{name}","input":{input}}}"#);
    assistant(uuid, &format!("m-{uuid}"), &block, r#""tool_use""#)
}

pub(crate) fn result(uuid: &str, tool: &str, is_error: &str, rest: &str) -> String {
    let content =
        format!(r#"[{{"type":"tool_result","tool_use_id":"{tool}","content":"x","is_error":{is_error}}}]"#);
    user_with(uuid, "p", &content, rest)
}

pub(crate) fn system(uuid: &str, subtype: &str, rest: &str) -> String {
    record("system", &format!(r#""uuid":"{uuid}","subtype":"{subtype}"{rest}"#))
}

pub(crate) const LAUNCH: &str = r#"{"description":"Look","prompt":"Look at it."}"#;
pub(crate) const ASYNC: &str =
    r#","toolUseResult":{"isAsync":true,"status":"async_launched","agentId":"a1"}"#;

pub(crate) fn notice(tool: &str, task: &str, status: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{tool}</tool-use-id>\n<status>{status}</status>\n<summary>Over</summary>\n</task-notification>"
    )
}
