//! Journals of Claude Code through the whole pipeline, all at once or line by line.

use std::collections::HashSet;
use std::sync::Arc;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::{Row, rows};
use agent_lifecycle_core::providers::claude_code::ClaudeCode;
use agent_lifecycle_core::providers::{Recognized, Role, Told};

pub(crate) fn at(second: i64) -> String {
    Moment::parse("2026-03-02T08:00:00Z").unwrap().plus_millis(second * 1000).to_text()
}

/// The record at this second.
pub(crate) fn timed(second: i64, line: &str) -> String {
    line.replacen('{', &format!(r#"{{"timestamp":"{}","#, at(second)), 1)
}

/// A journal: whose it is, the launch that a file beside it names, its lines.
pub(crate) type Journal<'a> = (&'a str, Role, Option<&'a str>, &'a [String]);

/// The rows of these journals, settled at once or after each line in the order of time.
pub(crate) fn read_all(journals: &[Journal<'_>], elsewhere: &[&str], by_line: bool) -> Vec<Row> {
    let now = Moment::parse("2026-03-02T09:00:00Z").unwrap();
    let mut pipeline = Pipeline::new(Config::default(), Content::Titles);
    pipeline.leave_to_others(Arc::new(elsewhere.iter().map(|id| (*id).to_owned()).collect::<HashSet<_>>()));
    let mut lines = Vec::new();
    for (number, (session, role, launch, text)) in journals.iter().enumerate() {
        let recognized = Recognized { session_id: (*session).to_owned(), role: role.clone(), parent: None };
        let told = Told { launch: launch.map(str::to_owned), ..Told::default() };
        let id = pipeline.add_journal(format!("{number}"), &ClaudeCode, recognized, told);
        lines.extend(text.iter().map(|line| (id, line)));
    }
    if by_line {
        lines.sort_by_key(|(_, line)| line.find("\"timestamp\"").map(|from| &line[from..from + 40]));
    }
    for (id, line) in lines {
        pipeline.push(id, format!("{line}\n").as_bytes());
        if by_line {
            pipeline.settle(now, Some(now), &mut |_, _| {});
        }
    }
    pipeline.settle(now, Some(now), &mut |_, _| {});
    rows(pipeline.projector().records(), pipeline.beside())
}
