//! Rows as a list of to-dos, for a host that can show nothing else.
//!
//! Input: rows, the time, and whether any source of evidence exists. Output: one aggregate, and one item for each child.
//! Invariant: each item says that it is a display; `completed` is said of nothing that did not complete.
//! Never: takes anything back: an item is plain text, and what becomes of it changes no row.

use std::collections::HashMap;

use serde::Serialize;

use super::shown::Shown;
use super::text::safe;
use super::words::{self, PHRASE_COLUMNS};
use super::{NO_EVIDENCE, SHOWN_ROWS};
use crate::contract::{Moment, State};

/// One item of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// What is shown.
    pub content: String,
    /// In the words of to-do lists.
    pub status: TodoStatus,
    /// What is shown while the item is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// The words that to-do lists share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not known to be completed; the literal state is in the content.
    Pending,
    /// The aggregate while a child has not ended.
    InProgress,
    /// The child's literal state is `completed`; of the aggregate: that of all children.
    Completed,
}

/// The list: nothing where there is evidence and no child, and only [`NO_EVIDENCE`] where there is neither.
#[must_use]
pub fn fallback_todos(rows: &[Shown], now: Moment, evidence: bool) -> Vec<Todo> {
    if rows.is_empty() {
        let said = Todo { content: NO_EVIDENCE.to_owned(), status: TodoStatus::Pending, active_form: None };
        return if evidence { Vec::new() } else { vec![said] };
    }
    let mut named: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        *named.entry(&row.child_id).or_default() += 1;
    }
    let children = rows.iter().take(SHOWN_ROWS).map(|row| child(row, named[&*row.child_id] > 1, now));
    std::iter::once(aggregate(rows)).chain(children).collect()
}

fn aggregate(rows: &[Shown]) -> Todo {
    let content = format!("DISPLAY ONLY [background work] {}", words::sum(rows));
    let is_live = rows.iter().any(|row| !row.state.is_terminal());
    let status = match (is_live, rows.iter().all(|row| row.state == State::Completed)) {
        (true, _) => TodoStatus::InProgress,
        (false, true) => TodoStatus::Completed,
        (false, false) => TodoStatus::Pending,
    };
    Todo { active_form: is_live.then(|| content.clone()), content, status }
}

/// What is not foreign comes first, so that an id or an activity cannot pose as a state.
fn child(row: &Shown, needs_source: bool, now: Moment) -> Todo {
    let stale = if words::is_stale(row) { "stale, " } else { "" };
    let due = if words::is_stale(row) { "; reconcile before any conclusion" } else { "" };
    let source = match &row.source {
        Some(source) if needs_source => format!(" ({})", safe(source, PHRASE_COLUMNS)),
        _ => String::new(),
    };
    let content = format!(
        "DISPLAY ONLY [{}; {stale}{}{due}] {}{source}: {}",
        words::state(row),
        words::evidence(row, now),
        words::id(row),
        doing(row, now),
    );
    let status = if row.state == State::Completed { TodoStatus::Completed } else { TodoStatus::Pending };
    Todo { content, status, active_form: None }
}

fn doing(row: &Shown, now: Moment) -> String {
    if row.state.is_terminal() {
        return "ended".to_owned();
    }
    let activity = || row.activity.as_deref().map(|activity| safe(activity, PHRASE_COLUMNS));
    match words::tool(row, now) {
        Some(tool) => tool,
        None if row.provider.is_none() => activity().unwrap_or("activity unknown".to_owned()),
        None if row.tools.is_some() => "no open tool".to_owned(),
        None => "activity unknown".to_owned(),
    }
}
