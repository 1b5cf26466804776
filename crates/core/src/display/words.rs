//! What is said of one row.
//!
//! Input: a row and the time. Output: phrases, of bounded width, without foreign text that could pose as another phrase.
//! Invariant: what is not known is said as unknown. Never: says how a child is from how old its evidence is.

use super::shown::{Doubts, Shown};
use super::text::{counted, safe, span};
use crate::contract::{Moment, State};

/// Columns of a title, an activity, a tool's name or another foreign phrase.
pub(super) const PHRASE_COLUMNS: usize = 120;
/// Columns of an identity: all that one can have.
const IDENTITY_COLUMNS: usize = 512;

/// Of a child that has not ended, where evidence says so.
pub(super) const PROCESS_DEAD: &str = "process dead";

/// The child's id.
pub(super) fn id(row: &Shown) -> String {
    match safe(&row.child_id, IDENTITY_COLUMNS) {
        shown if shown.trim().is_empty() => "(an id without a visible character)".to_owned(),
        shown => shown,
    }
}

/// The literal state, and what it waits for.
pub(super) fn state(row: &Shown) -> String {
    match (row.state, row.waiting_reason) {
        (State::Waiting, Some(reason)) => format!("waiting {}", reason.as_str()),
        (state, _) => state.as_str().to_owned(),
    }
}

/// Whether the row is of a live child that is marked stale: of one that ended, no silence says anything.
pub(super) fn is_stale(row: &Shown) -> bool {
    row.is_stale == Some(true) && !row.state.is_terminal()
}

/// How old its newest evidence is.
pub(super) fn evidence(row: &Shown, now: Moment) -> String {
    let Some(at) = row.evidence_at else { return "age of the last evidence unknown".to_owned() };
    let about = if row.is_estimated { "about " } else { "" };
    let age = now.millis_since(at);
    let age = match age {
        0.. => format!("{} ago", span(age)),
        _ => format!("{} after the present time", span(at.millis_since(now))),
    };
    format!("last evidence {about}{age}")
}

/// The open tool.
pub(super) fn tool(row: &Shown, now: Moment) -> Option<String> {
    let (name, since) = row.tool.as_ref()?;
    let since = since.map_or("since when is unknown".to_owned(), |since| span(now.millis_since(since)));
    let more = match row.open_tools {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!("tool {}, {since}{more}", safe(name, PHRASE_COLUMNS)))
}

/// What the children come to: how many there are, live, stale, and ended in each way.
pub(super) fn sum(rows: &[Shown]) -> String {
    let live = rows.iter().filter(|row| !row.state.is_terminal()).count();
    let mut parts = vec![format!("{live} not ended")];
    let stale = rows.iter().filter(|row| is_stale(row)).count();
    if stale > 0 {
        parts.push(format!("{stale} stale"));
    }
    for state in State::ALL.into_iter().filter(|state| state.is_terminal()) {
        let ended = rows.iter().filter(|row| row.state == state).count();
        if ended > 0 {
            parts.push(format!("{ended} {}", state.as_str()));
        }
    }
    if rows.len() > super::SHOWN_ROWS {
        parts.push(format!("{} not shown", rows.len() - super::SHOWN_ROWS));
    }
    format!("{}: {}", counted(rows.len() as u64, "child", "children"), parts.join(", "))
}

/// Why the row may not be all that happened; `late` says how much came too late.
pub(super) fn doubts(of: &Doubts, late: impl Fn(u64) -> String) -> Vec<String> {
    let mut parts = Vec::new();
    if of.unread > 0 {
        parts.push(counted(of.unread, "bad line", "bad lines"));
    }
    for (is_so, words) in [(of.has_gap, "events missing"), (of.has_epoch_conflict, "epoch conflict")] {
        if is_so {
            parts.push(words.to_owned());
        }
    }
    if of.late > 0 {
        parts.push(late(of.late));
    }
    if of.is_degraded {
        parts.push("degraded: unknown records".to_owned());
    }
    parts
}
