//! Rows: the one shape that every display, command and client gets.
//!
//! Input: a projection, and what is known beside it. Output: one row per life that is shown, in tree order.
//! Invariant: every member is backed by the record or by the evidence given. Never: judges, never reads a clock.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::facts::{Facts, OpenTool, Place, Turn, Turns, Usage, Wait};
use super::lives::Lives;
use super::record::{Alive, Record};
use crate::agent::ContextUse;
use crate::contract::{Capability, Moment, State, WaitingReason};

/// What is known of a child beside its record.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The path of its journal.
    pub transcript: Option<String>,
    /// Faults in its journal by their code.
    pub diagnostics: BTreeMap<&'static str, u64>,
    /// Whether more than 20 % of its journal's records were of unknown types.
    pub degraded: bool,
    /// Whether a wait for a permission would be seen.
    pub permission_waits: bool,
}

/// [`Beside`] by source and child id.
pub type BesideAll = HashMap<(String, String), Beside>;

/// One row. Members that are not known are `null`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Unique among all rows, and stable.
    pub key: String,
    /// The child.
    pub child_id: String,
    /// Who speaks of it.
    pub source: String,
    /// The provider.
    pub provider: Option<String>,
    /// The version of the agent program.
    pub agent_version: Option<String>,
    /// The provider's id of the session.
    pub session_id: Option<String>,
    /// The row that it belongs under.
    pub parent_key: Option<String>,
    /// The row of its root.
    pub root_key: String,
    /// Which life this is.
    pub attempt: u64,
    /// The literal state.
    pub state: State,
    /// Since when.
    pub state_since: Moment,
    /// What it waits for.
    pub waiting_reason: Option<WaitingReason>,
    /// Open waits.
    pub waits: Vec<Wait>,
    /// The newest turn.
    pub turn: Option<Turn>,
    /// All turns.
    pub turns: Turns,
    /// The newest activity text.
    pub activity: Option<String>,
    /// Tools.
    pub tools: RowTools,
    /// Rows directly below it that have not ended.
    pub live_children: usize,
    /// The title.
    pub title: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where it works.
    pub place: Place,
    /// When the first event about it was observed.
    pub started_at: Moment,
    /// How fresh the evidence is.
    pub freshness: RowFreshness,
    /// Its process.
    pub evidence: Evidence,
    /// How it ended.
    pub outcome: RowOutcome,
    /// Tokens used.
    pub usage: Option<Usage>,
    /// How full its context is.
    pub context: Option<ContextUse>,
    /// The path of its journal.
    pub transcript: Option<String>,
    /// Where its result is.
    pub result: Option<String>,
    /// What its source can tell.
    pub capabilities: RowCapabilities,
    /// Whether events are missing.
    pub gap_detected: bool,
    /// An unannounced epoch that spoke of it.
    pub epoch_conflict: Option<String>,
    /// How many events came after its end.
    pub late_evidence: u64,
    /// Faults in its journal, and what an adapter did not understand of it, by their code.
    pub diagnostics: BTreeMap<&'static str, u64>,
    /// Whether its journal has so much that is unknown that the row may be wrong.
    pub degraded: bool,
    /// What wants a person's attention.
    pub attention: Option<Attention>,
    /// What the host attached.
    pub host: Option<()>,
}

/// See [`Row::freshness`].
#[derive(Clone, Debug, Serialize)]
pub struct RowFreshness {
    /// The newest evidence of it, or of a sub-agent in its session that lives.
    pub at: Moment,
    /// Whether that time is a guess from the file's own; left out where it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Whether that is too old.
    pub stale: bool,
    /// Why it is stale.
    pub reason: Option<Cow<'static, str>>,
    /// What came of asking, see [`Record::reconcile`].
    pub reconcile: Option<&'static str>,
}

/// See [`Row::tools`].
#[derive(Clone, Debug, Serialize)]
pub struct RowTools {
    /// How many were started; nothing where no record of its own was read.
    pub count: Option<u64>,
    /// Those that go on, oldest first.
    pub open: Vec<OpenTool>,
}

/// See [`Row::evidence`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The process.
    pub pid: Option<u32>,
    /// Whether it lives: `unknown` where nothing tells.
    pub process_alive: Alive,
}

/// See [`Row::outcome`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowOutcome {
    /// The terminal state, once there is one.
    pub terminal: Option<State>,
    /// The exit code of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether the cause of the end is known.
    pub cause: Capability,
}

/// What a row's source can tell.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCapabilities {
    /// The contract's capabilities.
    #[serde(flatten)]
    pub of_source: crate::contract::Capabilities,
    /// Whether a wait for a permission would be seen.
    pub permission_waits: Capability,
}

/// What wants a person's attention.
#[derive(Clone, Debug, Serialize)]
pub struct Attention {
    /// Stable as long as it is the same wait.
    pub id: String,
    /// What it waits for.
    pub kind: WaitingReason,
    /// Since when.
    pub since: Moment,
}

/// A row in one of five words: `working`, `waiting`, `blocked`, `idle`, `done`. A stale row keeps its word.
#[must_use]
pub fn host_status(row: &Row) -> &'static str {
    match (row.state, row.waiting_reason) {
        (State::Created | State::Starting | State::Running, _)
        | (State::Waiting, Some(WaitingReason::Child)) => "working",
        (State::Waiting, Some(WaitingReason::Blocked)) => "blocked",
        (State::Waiting, Some(WaitingReason::Prompt)) => "idle",
        (State::Waiting, _) => "waiting",
        (State::Completed | State::Failed | State::Cancelled | State::Lost, _) => "done",
    }
}

/// The key of a child's row: the source, with `#` and the child's id unless that is the source's own session.
#[must_use]
pub fn row_key(source: &str, child_id: &str) -> String {
    let escaped = source.replace('%', "%25").replace('#', "%23");
    match source.split_once('/') {
        Some((_, session)) if session == child_id => escaped,
        _ => format!("{escaped}#{child_id}"),
    }
}

/// The rows of all records in tree order: roots as they started, children below their parents as they started.
#[must_use]
pub fn rows<'a>(records: impl Iterator<Item = &'a Record>, beside: &BesideAll) -> Vec<Row> {
    let lives = Lives::new(records);
    let records = &lives.shown;
    let mut by_start: Vec<usize> = (0..records.len()).collect();
    by_start.sort_by_key(|&at| {
        let record = records[at];
        (record.started_at.at, &record.source, &record.child_id)
    });
    let mut parents: Vec<Option<usize>> = (0..records.len()).map(|at| lives.parent(at)).collect();
    break_circles(&mut parents, &by_start);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); records.len()];
    let mut roots = Vec::new();
    for &at in &by_start {
        match parents[at] {
            Some(parent) => children[parent].push(at),
            None => roots.push(at),
        }
    }
    let mut order = Vec::with_capacity(records.len());
    let mut stack: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(at) = stack.pop() {
        order.push(at);
        stack.extend(children[at].iter().rev());
    }
    let mut rows: Vec<Row> = Vec::with_capacity(order.len());
    for &at in &order {
        let live = children[at].iter().filter(|&&child| !records[child].state.is_terminal()).count();
        let mut row = row(records[at], live, beside);
        row.parent_key =
            parents[at].map(|parent| row_key(&records[parent].source, &records[parent].child_id));
        if let Some(root) = lives.root(at) {
            row.root_key = row_key(&records[root].source, &records[root].child_id);
        }
        rows.push(row);
    }
    refresh_parents(&mut rows);
    calm_below_ended_roots(&mut rows);
    rows
}

/// Of each circle of parents, the first in `order` becomes a root: who walks up from any row comes to an end.
fn break_circles(parents: &mut [Option<usize>], order: &[usize]) {
    let mut ranks = vec![0; parents.len()];
    for (rank, &place) in order.iter().enumerate() {
        ranks[place] = rank;
    }
    let mut walks = vec![None; parents.len()];
    for (walk, &start) in order.iter().enumerate() {
        let mut at = Some(start);
        while let Some(place) = at.filter(|&place| walks[place].is_none()) {
            walks[place] = Some(walk);
            at = parents[place];
        }
        // Only a walk that meets itself has found a circle.
        let Some(met) = at.filter(|&place| walks[place] == Some(walk)) else { continue };
        let mut circle = vec![met];
        while let Some(next) = circle.last().and_then(|&last| parents[last]).filter(|&next| next != met) {
            circle.push(next);
        }
        if let Some(first) = circle.into_iter().min_by_key(|&place| ranks[place]) {
            parents[first] = None;
        }
    }
}

/// Nobody can answer a sub-agent whose session is over: it wants no attention, whatever state it was left in.
fn calm_below_ended_roots(rows: &mut [Row]) {
    let ended: HashSet<String> =
        rows.iter().filter(|row| row.state.is_terminal()).map(|row| row.key.clone()).collect();
    for row in rows.iter_mut().filter(|row| row.key != row.root_key && ended.contains(&row.root_key)) {
        row.attention = None;
    }
}

/// What a sub-agent that lives wrote last is evidence of those above it in its session: they are one process. Of children that
/// other programs speak of, nobody knows that.
fn refresh_parents(rows: &mut [Row]) {
    let places: HashMap<String, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.key.clone(), at)).collect();
    // Children stand behind their parents.
    for at in (0..rows.len()).rev() {
        let child = &rows[at];
        let above = child.parent_key.as_ref().and_then(|key| places.get(key)).copied();
        let (false, Some(above)) = (child.state.is_terminal(), above.filter(|&above| above < at)) else {
            continue;
        };
        let freshness = child.freshness.clone();
        let parent = &mut rows[above];
        let is_session = parent.provider.is_some();
        if is_session && !parent.state.is_terminal() && freshness.at > parent.freshness.at {
            parent.freshness.at = freshness.at;
            parent.freshness.estimated = freshness.estimated;
            if !freshness.stale {
                // A question about itself stays its own; that nobody can be asked how a silent one is matters only while it is stale.
                let is_of_silence = parent.freshness.stale;
                let reconcile =
                    parent.freshness.reconcile.filter(|word| *word != "unavailable" || !is_of_silence);
                parent.freshness = RowFreshness { reconcile, ..freshness };
            }
        }
    }
}

/// Whether records of its own were read, so that what is not in them did not happen.
fn is_counted(record: &Record, facts: &Facts) -> bool {
    let is_session = *record.child_id == *record.lineage.root_child_id;
    facts.turn.is_some() || facts.tools.count > 0 || (is_session && facts.provider.is_some())
}

/// The row of a record, below no other.
fn row(record: &Record, live_children: usize, beside: &BesideAll) -> Row {
    let key = row_key(&record.source, &record.child_id);
    let nothing = Facts::default();
    let facts = record.facts.as_deref().unwrap_or(&nothing);
    let beside = beside.get(&(record.source.to_string(), record.child_id.to_string()));
    let Beside { transcript, diagnostics, degraded, permission_waits } = beside.cloned().unwrap_or_default();
    let waiting_reason = match record.waiting_reason {
        Some(WaitingReason::Prompt) if live_children > 0 => Some(WaitingReason::Child),
        reason => reason,
    };
    let stale = record.freshness.stale.as_deref();
    // Nothing of an agent that is over goes on, whether or not its journal came to say so.
    let is_over = record.state.is_terminal();
    Row {
        child_id: record.child_id.to_string(),
        source: record.source.to_string(),
        provider: facts.provider.clone(),
        agent_version: facts.agent_version.clone(),
        session_id: facts.session_id.clone(),
        parent_key: None,
        root_key: row_key(&record.source, &record.lineage.root_child_id),
        attempt: record.lineage.attempt,
        state: record.state,
        state_since: record.state_since,
        waiting_reason,
        waits: if is_over { Vec::new() } else { facts.waits.clone() },
        turn: facts.turn.clone().map(|turn| Turn { open: turn.open && !is_over, ..turn }),
        turns: facts.turns.clone(),
        activity: record.activity.as_deref().map(str::to_owned),
        tools: RowTools {
            count: is_counted(record, facts).then_some(facts.tools.count),
            open: if is_over { Vec::new() } else { facts.tools.open.clone() },
        },
        live_children,
        title: facts.title.clone(),
        model: facts.model.clone(),
        place: facts.place.clone(),
        started_at: record.started_at.at,
        freshness: RowFreshness {
            at: record.freshness.newest.at,
            estimated: record.freshness.newest.estimated,
            stale: stale.is_some(),
            reason: stale.map(|stale| stale.reason.clone()),
            reconcile: record.reconcile(),
        },
        evidence: Evidence {
            pid: record.process.map(|process| process.pid),
            process_alive: record.process_alive(),
        },
        outcome: RowOutcome {
            terminal: record.state.is_terminal().then_some(record.state),
            exit_code: facts.exit.as_ref().and_then(|exit| exit.code),
            signal: facts.exit.as_ref().and_then(|exit| exit.signal.clone()),
            cause: record.capabilities.terminal_cause,
        },
        usage: facts.usage.clone(),
        context: facts.context,
        transcript,
        result: None,
        capabilities: RowCapabilities {
            of_source: record.capabilities,
            permission_waits: if permission_waits { Capability::Known } else { Capability::Unknown },
        },
        gap_detected: record.gap_detected,
        epoch_conflict: record.epoch_conflict.as_deref().map(str::to_owned),
        late_evidence: record.late_evidence.as_ref().map_or(0, |late| late.count),
        diagnostics,
        degraded,
        attention: waiting_reason.filter(|&reason| reason != WaitingReason::Child).map(|kind| Attention {
            id: format!("{key}@{}/{}", record.state_since.to_text(), kind.as_str()),
            kind,
            since: record.state_since,
        }),
        host: None,
        key,
    }
}
