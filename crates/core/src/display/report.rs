//! Rows as a report for an end user.
//!
//! Input: rows, the time, and whether any source of evidence exists. Output: lines for each child, below its parent.
//! Invariant: each child's id and literal state are there, and what is not known is said. Never: concludes anything of a
//! stale child, shows a reference that is not what was given without saying so.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::shown::{Reconcile, Shown};
use super::text::{counted, safe, span};
use super::words::{self, PHRASE_COLUMNS, PROCESS_DEAD};
use super::{NO_CHILD, NO_EVIDENCE, SHOWN_ROWS};
use crate::contract::{Moment, State, WaitingReason};
use crate::project::Alive;

/// Columns of a path.
const PATH_COLUMNS: usize = 1024;
/// Levels that are drawn by their indentation; what lies deeper says its level.
const LEVELS: usize = 9;

/// The report, without a line end behind it: only [`NO_EVIDENCE`] or [`NO_CHILD`] where there is no row.
#[must_use]
pub fn status_report(rows: &[Shown], now: Moment, evidence: bool) -> String {
    if rows.is_empty() {
        return if evidence { NO_CHILD } else { NO_EVIDENCE }.to_owned();
    }
    let mut text = format!("{}, at {}\n", words::sum(rows), now.to_text());
    for (row, place) in in_tree_order(rows).into_iter().take(SHOWN_ROWS) {
        child(&mut text, row, place, now);
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Of a row that is its own parent, over others or not.
const CIRCLE: &str = "in a circle";

/// Where a row stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    level: usize,
    parent: Option<&'a Shown>,
    /// Where it has no parent here although it names one: why.
    apart: Option<&'static str>,
}

/// The rows with children behind their parents, else in the order given. A circle of parents begins with its first row.
fn in_tree_order(rows: &[Shown]) -> Vec<(&Shown, Place<'_>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        places.entry(&row.key).or_insert(at);
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut starts: Vec<(usize, Option<&'static str>)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match row.parent_key.as_deref().and_then(|key| places.get(key)) {
            Some(&parent) if parent != at => children[parent].push(at),
            Some(_) => starts.push((at, Some(CIRCLE))),
            None => starts.push((at, row.parent_key.is_some().then_some("not among these rows"))),
        }
    }
    let mut order = Vec::with_capacity(rows.len());
    let mut is_placed = vec![false; rows.len()];
    let rest = (0..rows.len()).map(|at| (at, Some(CIRCLE)));
    for (start, apart) in starts.into_iter().chain(rest) {
        let mut stack = vec![(start, Place { level: 0, parent: None, apart })];
        while let Some((at, place)) = stack.pop() {
            if std::mem::replace(&mut is_placed[at], true) {
                continue;
            }
            order.push((&rows[at], place));
            let below = Place { level: place.level + 1, parent: Some(&rows[at]), apart: None };
            stack.extend(children[at].iter().rev().map(|&child| (child, below)));
        }
    }
    order
}

/// The lines of one child. No foreign text begins a line, so none can pose as another child or another line.
fn child(text: &mut String, row: &Shown, place: Place<'_>, now: Moment) {
    let indent = "    ".repeat(place.level.min(LEVELS));
    let deeper = if place.level > LEVELS { format!("(level {}) ", place.level) } else { String::new() };
    let _ = writeln!(text, "\n{indent}- {deeper}{}: {}", words::state(row), words::id(row));
    let mut line = |name: &str, said: &str| {
        let _ = writeln!(text, "{indent}  {name}: {said}");
    };
    let phrase = |said: &str| safe(said, PHRASE_COLUMNS);
    if let (Some(why), Some(key)) = (place.apart, &row.parent_key) {
        line("parent", &format!("{why}: {}", phrase(key)));
    }
    if place.parent.is_none_or(|parent| parent.source != row.source) {
        line("source", &row.source.as_deref().map_or("unknown".to_owned(), phrase));
        if let Some(provider) = &row.provider {
            // Each by itself: what is a secret alone may be prose beside another text.
            let version = row.agent_version.as_deref().map_or("of unknown version".to_owned(), phrase);
            line("program", &format!("{} {version}", phrase(provider)));
        }
    }
    if let Some(title) = &row.title {
        line("title", &phrase(title));
    }
    if let Some(why) = waits_for(row, now) {
        line("waits for", &why);
    }
    line("doing", &doing(row, now));
    line("freshness", &freshness(row, now));
    line("outcome", &outcome(row));
    line("transcript", &reference(row.transcript.as_deref()));
    line("result", &reference(row.result.as_deref()));
    let doubts = words::doubts(&row.doubts, |late| counted(late, "late event", "late events"));
    if !doubts.is_empty() {
        line("doubts", &doubts.join(", "));
    }
}

fn waits_for(row: &Shown, now: Moment) -> Option<String> {
    if row.state != State::Waiting {
        return None;
    }
    let why = match row.waiting_reason {
        Some(WaitingReason::Prompt) => "the user's next prompt",
        Some(WaitingReason::Permission) => "a permission",
        Some(WaitingReason::Question) => "an answer to a question",
        Some(WaitingReason::Blocked) => "an error or a limit to pass",
        Some(WaitingReason::Child) => "its children",
        Some(WaitingReason::Other) => "something else, or something not said",
        None => "something unknown",
    };
    let since = match row.state_since {
        Some(since) => format!("for {}", span(now.millis_since(since))),
        None => "since when is unknown".to_owned(),
    };
    let open = if row.waits > 1 { format!("; {} waits are open", row.waits) } else { String::new() };
    // What is foreign comes last.
    let said = row
        .wait_text
        .as_deref()
        .map_or(String::new(), |said| format!("; in its own words: {}", safe(said, PHRASE_COLUMNS)));
    Some(format!("{why}, {since}{open}{said}"))
}

fn doing(row: &Shown, now: Moment) -> String {
    if row.state.is_terminal() {
        return "nothing: it has ended".to_owned();
    }
    let is_session = row.provider.is_some();
    let activity = row.activity.as_deref().map(|activity| safe(activity, PHRASE_COLUMNS));
    let mut parts = Vec::new();
    // What could be foreign comes last.
    if row.live_children > 0 {
        parts.push(format!("{} not ended", counted(row.live_children, "child", "children")));
    }
    if let Some(outcome) = row.turn_outcome {
        parts.push(format!("last turn {}", outcome.as_str()));
    }
    match words::tool(row, now) {
        Some(tool) => {
            if is_session && !row.sees_permission_waits {
                parts.push("a wait for a permission would look like a slow tool".to_owned());
            }
            parts.push(tool);
            parts.extend(activity.map(|activity| format!("newest activity: {activity}")));
        }
        None if is_session && row.tools.is_some() => {
            parts.push("no open tool".to_owned());
            parts.extend(activity.map(|activity| format!("newest activity, of the past: {activity}")));
        }
        None => parts.push(activity.unwrap_or("unknown".to_owned())),
    }
    parts.join("; ")
}

fn freshness(row: &Shown, now: Moment) -> String {
    let evidence = words::evidence(row, now);
    if row.state.is_terminal() {
        return evidence;
    }
    let due = "a reconciliation is due before any conclusion about it";
    let asked = match row.reconcile {
        Some(Reconcile::Pending) => Some(format!("it was asked for, and no answer has come yet; {due}")),
        Some(Reconcile::Unanswered) => Some(format!("it was asked for, and no answer came; {due}")),
        Some(Reconcile::Unavailable) => {
            Some("there is nobody to ask, so nothing is concluded about it".to_owned())
        }
        None => None,
    };
    let dead = if row.process_alive == Alive::No { format!("{PROCESS_DEAD}, ") } else { String::new() };
    match (row.is_stale, asked) {
        (Some(false), None) => format!("{dead}{evidence}"),
        (Some(false), Some(asked)) => format!("{dead}{evidence}; {asked}"),
        (None, _) => format!("{dead}{evidence}; whether that is too old is unknown"),
        (Some(true), asked) => {
            let asked = asked.unwrap_or_else(|| format!("whether anybody was asked is unknown; {due}"));
            let reason =
                row.stale_reason.as_deref().map_or("reason unknown".to_owned(), |reason| safe(reason, 32));
            format!("{dead}stale ({reason}), {evidence}; {asked}")
        }
    }
}

fn outcome(row: &Shown) -> String {
    if !row.state.is_terminal() {
        return "none yet: it has not ended, as far as is known".to_owned();
    }
    let mut parts = vec![row.state.as_str().to_owned()];
    parts.push(if row.is_cause_known { "cause known" } else { "cause unknown" }.to_owned());
    parts.extend(row.exit_code.map(|code| format!("exit code {code}")));
    parts.extend(row.signal.as_deref().map(|signal| format!("signal {}", safe(signal, 32))));
    parts.join(", ")
}

/// A path. One that is not shown as it is leads nowhere, which is said.
fn reference(path: Option<&str>) -> String {
    let Some(path) = path else { return "unknown".to_owned() };
    let shown = safe(path, PATH_COLUMNS);
    if shown == path { shown } else { format!("not shown as it is, for safety: {shown}") }
}
