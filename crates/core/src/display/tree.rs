//! Rows as a tree of lines for a terminal.
//!
//! Input: rows and the time. Output: a line for each row, aligned by display width, every text made inert.
//! Invariant: the literal state is always shown. Never: shows a control character, a guess or a percentage.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::shown::Doubts;
use super::text::{counted, cut, inert, span};
use super::words::{PROCESS_DEAD, doubts};
use crate::contract::{Moment, State};
use crate::project::Alive;
use crate::project::rows::Row;

const TITLE_COLUMNS: usize = 48;
const STATE_COLUMNS: usize = 18;
/// Levels that are drawn as branches; what lies deeper is drawn at the last of them, with a mark.
const LEVELS: usize = 9;
/// Before a row that lies deeper than it is drawn.
const DEEPER: &str = "⋯ ";
/// Blanks between columns.
const GAP: usize = 2;
const COLUMNS: usize = 5;
const STATE: usize = 0;
const TITLE: usize = 1;
const DOING: usize = 2;
const FRESHNESS: usize = 3;
const AGENT: usize = 4;

/// The cells of a line, by the columns above.
type Cells = [String; COLUMNS];

/// How a tree is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The present time.
    pub now: Moment,
    /// Whether states are coloured with terminal escapes.
    pub color: bool,
    /// Columns of the terminal; lines are cut there.
    pub width: Option<usize>,
}

/// Columns below which words are saved.
const NARROW: usize = 100;

impl Look {
    /// Whether there is little room: then what a reader can do without is not said.
    fn is_narrow(self) -> bool {
        self.width.is_some_and(|width| width < NARROW)
    }
}

/// The rows as a tree, one line each.
#[must_use]
pub fn tree(rows: &[Row], look: Look) -> String {
    let cells: Vec<Cells> =
        rows.iter().zip(prefixes(rows)).map(|(row, prefix)| cells(row, &prefix, look)).collect();
    let width_of = |column: usize| cells.iter().map(|line| line[column].width()).max().unwrap_or(0);
    let mut widths: [usize; COLUMNS] = std::array::from_fn(width_of);
    if let Some(width) = look.width {
        narrow(&mut widths, width);
    }
    let mut text = String::new();
    for (line, row) in cells.iter().zip(rows) {
        let mut drawn = String::new();
        for (column, width) in widths.into_iter().enumerate().filter(|(_, width)| *width > 0) {
            let cell = cut(&line[column], width);
            let gap = width - cell.width() + GAP;
            drawn.push_str(&if look.color { paint(&cell, column, row) } else { cell });
            drawn.push_str(&" ".repeat(gap));
        }
        text.push_str(drawn.trim_end());
        text.push('\n');
    }
    text
}

/// Makes the columns fit `width`: the program goes first, then the titles and what is done are cut; the state and how fresh it is
/// stay as long as anything does.
fn narrow(widths: &mut [usize; COLUMNS], width: usize) {
    let over = |widths: &[usize; COLUMNS]| {
        let shown = widths.iter().filter(|width| **width > 0);
        shown.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP + width)
    };
    if over(widths) > 0 {
        widths[AGENT] = 0;
    }
    for (column, least) in
        [(TITLE, 20), (DOING, 12), (TITLE, 8), (FRESHNESS, 8), (DOING, 0), (TITLE, 0), (STATE, 1)]
    {
        widths[column] = widths[column].saturating_sub(over(widths)).max(least.min(widths[column]));
    }
}

/// One line that counts what the tree shows.
#[must_use]
pub fn summary(rows: &[Row]) -> String {
    let roots = rows.iter().filter(|row| row.key == row.root_key).count();
    let below = rows.len() - roots;
    let live = rows.iter().filter(|row| !row.state.is_terminal()).count();
    let mut parts = vec![
        counted(roots as u64, "session", "sessions"),
        counted(below as u64, "sub-agent", "sub-agents"),
        format!("{live} not ended"),
    ];
    let stale = rows.iter().filter(|row| row.freshness.stale).count();
    if stale > 0 {
        parts.push(format!("{stale} stale"));
    }
    parts.join(", ")
}

fn cells(row: &Row, prefix: &str, look: Look) -> Cells {
    let title = row.title.as_deref().map_or_else(|| row.child_id.clone(), str::to_owned);
    // Who says so: the agent's program, else the source by its name.
    let agent = match (&row.parent_key, &row.provider) {
        (Some(_), _) => String::new(),
        (None, Some(provider)) => {
            let version =
                row.agent_version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
            inert(&format!("{provider}{version}"))
        }
        (None, None) => cut(&inert(&row.source), TITLE_COLUMNS),
    };
    let state = format!("{prefix}{}", state(row));
    let padding = " ".repeat(STATE_COLUMNS.saturating_sub(state.width()));
    [
        state + &padding,
        cut(&inert(&title), TITLE_COLUMNS),
        cut(&doing(row, look), TITLE_COLUMNS),
        freshness(row, look),
        agent,
    ]
}

fn state(row: &Row) -> String {
    match row.waiting_reason {
        Some(reason) => format!("{} {}", row.state.as_str(), reason.as_str()),
        None => row.state.as_str().to_owned(),
    }
}

/// What it does, or how its last turn ended.
fn doing(row: &Row, look: Look) -> String {
    let mut parts = Vec::new();
    if row.live_children > 0 {
        parts.push(format!("{} live", row.live_children));
    }
    if let Some(tool) = row.tools.open.first() {
        let more = match row.tools.open.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        parts.push(format!("{} {}{more}", inert(&tool.name), span(look.now.millis_since(tool.since))));
    } else if let Some(text) = row.waits.first().and_then(|wait| wait.text.as_deref()) {
        parts.push(inert(text));
    } else if row.provider.is_none()
        && let Some(activity) = &row.activity
    {
        parts.push(inert(activity));
    }
    if let Some(outcome) = row.turn.as_ref().and_then(|turn| turn.outcome)
        && !row.state.is_terminal()
    {
        parts.push(format!("{}{}", if look.is_narrow() { "" } else { "last turn " }, outcome.as_str()));
    }
    parts.join(", ")
}

fn freshness(row: &Row, look: Look) -> String {
    let mut parts = Vec::new();
    let age = span(look.now.millis_since(row.freshness.at));
    let age = if row.freshness.estimated { format!("about {age}") } else { age };
    if row.state.is_terminal() {
        parts.push(span(row.state_since.millis_since(row.started_at)));
    } else {
        if row.evidence.process_alive == Alive::No {
            parts.push(PROCESS_DEAD.to_owned());
        }
        parts.push(if row.freshness.stale { format!("stale {age}") } else { format!("{age} ago") });
        if row.freshness.reconcile == Some("unavailable") && !look.is_narrow() {
            parts.push("no way to ask".to_owned());
        }
    }
    let unread = super::UNREAD.iter().filter_map(|code| row.diagnostics.get(code)).sum();
    let of = Doubts {
        unread,
        has_gap: row.gap_detected,
        has_epoch_conflict: row.epoch_conflict.is_some(),
        late: row.late_evidence,
        is_degraded: row.degraded,
    };
    parts.extend(doubts(&of, |late| format!("{late} late")));
    parts.join(", ")
}

/// The branches before each row, which stands below its parent.
fn prefixes(rows: &[Row]) -> Vec<String> {
    let mut last_below: HashMap<Option<&str>, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        last_below.insert(row.parent_key.as_deref(), at);
    }
    // For each row: its level, and the trunk that its children continue.
    let mut trunks: HashMap<&str, (usize, String)> = HashMap::new();
    let mut prefixes = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let above = row.parent_key.as_deref().and_then(|parent| trunks.get(parent));
        let (prefix, level, trunk) = match above {
            None => (String::new(), 0, String::new()),
            Some((LEVELS, above)) => (format!("{above}{DEEPER}"), LEVELS, above.clone()),
            Some((level, above)) if last_below.get(&row.parent_key.as_deref()) == Some(&at) => {
                (format!("{above}└─ "), level + 1, format!("{above}   "))
            }
            Some((level, above)) => (format!("{above}├─ "), level + 1, format!("{above}│  ")),
        };
        trunks.insert(&row.key, (level, trunk));
        prefixes.push(prefix);
    }
    prefixes
}

/// The cell with colours: the word of the state by what it means, an error red, what is not fresh yellow.
fn paint(cell: &str, column: usize, row: &Row) -> String {
    let colored = |text: &str, code: &str| cell.replacen(text, &format!("\u{1b}[{code}m{text}\u{1b}[0m"), 1);
    match column {
        STATE => {
            let code = match row.state {
                State::Created | State::Starting => "36",
                State::Running => "32",
                State::Waiting => "33",
                State::Completed => "2",
                State::Failed | State::Lost => "31",
                State::Cancelled => "35",
            };
            colored(row.state.as_str(), code)
        }
        DOING => colored("error", "31"),
        FRESHNESS if row.freshness.stale || cell.contains(PROCESS_DEAD) => colored(cell, "33"),
        _ => cell.to_owned(),
    }
}
