//! What a report shows of a row.
//!
//! Input: rows as JSON, from any hand. Output: the members that are shown, or which row is none.
//! Invariant: a member that is missing or of another form is unknown, never a guess, and no other member has influence.
//! Never: repeats a value in an error.

use crate::agent::Outcome;
use crate::contract::identity::identity;
use crate::contract::limits::SAFE_INTEGER;
use crate::contract::{Moment, State, WaitingReason};
use crate::json::{self, Json, JsonFault};
use crate::project::Alive;

/// One row as a report shows it. What is `None` is not known.
#[derive(Clone, Debug)]
pub struct Shown {
    pub(super) key: String,
    pub(super) parent_key: Option<String>,
    pub(super) child_id: String,
    pub(super) source: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) agent_version: Option<String>,
    pub(super) state: State,
    pub(super) state_since: Option<Moment>,
    pub(super) waiting_reason: Option<WaitingReason>,
    pub(super) waits: usize,
    /// What the agent says that it waits for, in the oldest open wait.
    pub(super) wait_text: Option<String>,
    pub(super) turn_outcome: Option<Outcome>,
    pub(super) activity: Option<String>,
    /// How many tools it started. Where that is known, a tool that is not here is not open.
    pub(super) tools: Option<u64>,
    /// The name of the oldest open tool, and since when it is open.
    pub(super) tool: Option<(String, Option<Moment>)>,
    pub(super) open_tools: usize,
    pub(super) live_children: u64,
    pub(super) title: Option<String>,
    pub(super) evidence_at: Option<Moment>,
    pub(super) is_estimated: bool,
    pub(super) is_stale: Option<bool>,
    pub(super) stale_reason: Option<String>,
    pub(super) reconcile: Option<Reconcile>,
    /// Whether its process lives.
    pub(super) process_alive: Alive,
    pub(super) exit_code: Option<f64>,
    pub(super) signal: Option<String>,
    pub(super) is_cause_known: bool,
    pub(super) transcript: Option<String>,
    pub(super) result: Option<String>,
    pub(super) sees_permission_waits: bool,
    pub(super) doubts: Doubts,
}

/// What came of asking how a stale child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reconcile {
    Pending,
    Unanswered,
    Unavailable,
}

/// Why a row may not be all that happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubts {
    pub(super) unread: u64,
    pub(super) has_gap: bool,
    pub(super) has_epoch_conflict: bool,
    pub(super) late: u64,
    pub(super) is_degraded: bool,
}

/// Why rows cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsFault {
    /// Not JSON.
    Json(JsonFault),
    /// The member at this path is not what a row has there.
    Row {
        /// Such as `rows[3].state`.
        path: String,
        /// What it must be.
        must: &'static str,
    },
}

/// The largest exit code of any system, and the lowest.
const EXIT_CODE: f64 = 4_294_967_295.0;

/// The rows in the JSON text of an array.
pub fn read_rows(text: &str) -> Result<Vec<Shown>, RowsFault> {
    let rows = json::parse(text.as_bytes()).map_err(RowsFault::Json)?;
    let Json::Array(rows) = rows else {
        return Err(RowsFault::Row { path: "rows".to_owned(), must: "an array of rows" });
    };
    rows.iter().enumerate().map(|(at, row)| read_row(row, at)).collect()
}

fn read_row(row: &Json, at: usize) -> Result<Shown, RowsFault> {
    let wrong = |member: &str, must| RowsFault::Row { path: format!("rows[{at}]{member}"), must };
    if !matches!(row, Json::Object(_)) {
        return Err(wrong("", "a row"));
    }
    let key = row.text_at("key").ok_or_else(|| wrong(".key", "text"))?;
    let child_id = row.text_at("childId").and_then(|id| identity(id).ok());
    let child_id = child_id.ok_or_else(|| wrong(".childId", "an identity of 1 to 512 bytes"))?;
    let state = row.text_at("state").and_then(State::parse);
    let state = state.ok_or_else(|| wrong(".state", "one of the eight states"))?;
    let open = items(within(row, "tools", "open"));
    let name = |tool: &Json| Some((tool.text_at("name")?.to_owned(), moment(tool.get("since"))));
    let of_freshness = |member| within(row, "freshness", member);
    let reconcile = match of_freshness("reconcile").and_then(Json::text) {
        Some("pending") => Some(Reconcile::Pending),
        Some("unanswered") => Some(Reconcile::Unanswered),
        Some("unavailable") => Some(Reconcile::Unavailable),
        _ => None,
    };
    let exit_code = match within(row, "outcome", "exitCode") {
        Some(&Json::Number(code)) if code.fract() == 0.0 && code.abs() <= EXIT_CODE => Some(code),
        _ => None,
    };
    Ok(Shown {
        key: key.to_owned(),
        parent_key: text(row.get("parentKey")),
        child_id: child_id.to_owned(),
        source: text(row.get("source")),
        provider: text(row.get("provider")),
        agent_version: text(row.get("agentVersion")),
        state,
        state_since: moment(row.get("stateSince")),
        waiting_reason: row.text_at("waitingReason").and_then(WaitingReason::parse),
        waits: items(row.get("waits")).len(),
        wait_text: items(row.get("waits")).first().and_then(|wait| text(wait.get("text"))),
        turn_outcome: within(row, "turn", "outcome").and_then(Json::text).and_then(Outcome::parse),
        activity: text(row.get("activity")),
        tools: whole(within(row, "tools", "count")),
        tool: open.first().and_then(name),
        open_tools: open.len(),
        live_children: count(row.get("liveChildren")),
        title: text(row.get("title")),
        evidence_at: moment(of_freshness("at")),
        is_estimated: is_true(of_freshness("estimated")),
        is_stale: match of_freshness("stale") {
            Some(&Json::Bool(is_stale)) => Some(is_stale),
            _ => None,
        },
        stale_reason: text(of_freshness("reason")),
        reconcile,
        process_alive: match within(row, "evidence", "processAlive").and_then(Json::text) {
            Some("yes") => Alive::Yes,
            Some("no") => Alive::No,
            _ => Alive::Unknown,
        },
        exit_code,
        signal: text(within(row, "outcome", "signal")),
        is_cause_known: within(row, "outcome", "cause").and_then(Json::text) == Some("known"),
        transcript: text(row.get("transcript")),
        result: text(row.get("result")),
        sees_permission_waits: within(row, "capabilities", "permissionWaits").and_then(Json::text)
            == Some("known"),
        doubts: Doubts {
            unread: super::UNREAD
                .iter()
                .map(|code| count(within(row, "diagnostics", code)))
                .fold(0, u64::saturating_add),
            has_gap: is_true(row.get("gapDetected")),
            has_epoch_conflict: row.text_at("epochConflict").is_some(),
            late: count(row.get("lateEvidence")),
            is_degraded: is_true(row.get("degraded")),
        },
    })
}

fn within<'a>(row: &'a Json, outer: &str, member: &str) -> Option<&'a Json> {
    row.get(outer)?.get(member)
}

fn items(value: Option<&Json>) -> &[Json] {
    match value {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

fn text(value: Option<&Json>) -> Option<String> {
    value?.text().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn moment(value: Option<&Json>) -> Option<Moment> {
    Moment::parse(value?.text()?)
}

fn is_true(value: Option<&Json>) -> bool {
    matches!(value, Some(Json::Bool(true)))
}

/// A whole number of things.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
fn whole(value: Option<&Json>) -> Option<u64> {
    match value {
        Some(&Json::Number(number)) if (0.0..=SAFE_INTEGER as f64).contains(&number) => Some(number as u64),
        _ => None,
    }
}

fn count(value: Option<&Json>) -> u64 {
    whole(value).unwrap_or(0)
}
