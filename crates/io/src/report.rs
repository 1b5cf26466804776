//! What a status was found to be, as JSON and as text for people.
//!
//! Input: rows and what was wrong. Output: `status --json` through serde, or lines. Never: hides that something was not read.

use std::collections::BTreeMap;

use agent_lifecycle_core::display::{Look, NO_EVIDENCE, NO_SESSION, inert, summary, tree};
use agent_lifecycle_core::project::rows::Row;
use serde::Serialize;

/// What was read. Written as JSON it is the result of `status --json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The rows: trees, the one with the newest evidence first.
    pub rows: Vec<Row>,
    /// Sessions that are not shown.
    pub hidden: usize,
    /// What was wrong with what was read.
    pub diagnostics: Diagnostics,
    /// Whether any source of evidence exists.
    pub evidence: bool,
}

/// See [`Report::diagnostics`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct Diagnostics {
    /// Faults by their code, and events that came to nothing by theirs.
    pub counts: BTreeMap<String, u64>,
    /// The files behind the counts, with their own; the first of them.
    pub files: Vec<FileCounts>,
    /// The files of the sessions that named paths are only a part of.
    pub parents: Vec<String>,
    /// Stores of agents that this package cannot read.
    pub unsupported: Vec<String>,
    /// Named files that hold no journal that this package knows; the first of them.
    pub unrecognized: Vec<String>,
    /// Named paths that are not there or cannot be read, and why.
    pub missing: Vec<String>,
    /// What else could not be read, and why.
    pub unreadable: Vec<String>,
}

/// What was wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// Its path.
    pub path: String,
    /// Faults by their code, as in [`Diagnostics::counts`].
    pub counts: BTreeMap<String, u64>,
}

/// Files behind the counts that the text names.
const SHOWN_FILES: usize = 3;

impl Report {
    /// The report as lines. `hint` says how what is hidden can be shown.
    #[must_use]
    pub fn text(&self, look: Look, hint: &str) -> String {
        let mut lines = Vec::new();
        if !self.rows.is_empty() {
            lines.push(tree(&self.rows, look));
        }
        let hidden = format!("{} hidden ({hint})", self.hidden);
        lines.push(match (self.evidence, self.rows.is_empty(), self.hidden) {
            (false, ..) => NO_EVIDENCE.to_owned(),
            (true, true, 0) => NO_SESSION.to_owned(),
            (true, true, _) => format!("no session shown, {hidden}"),
            (true, false, 0) => summary(&self.rows),
            (true, false, _) => format!("{}, {hidden}", summary(&self.rows)),
        });
        let Diagnostics { counts, files, parents, unsupported, unrecognized, missing: _, unreadable } =
            &self.diagnostics;
        let sum = |counts: &BTreeMap<String, u64>| {
            counts.iter().map(|(code, times)| format!("{code} {times}")).collect::<Vec<_>>().join(", ")
        };
        if !counts.is_empty() {
            lines.push(format!("diagnostics: {}", sum(counts)));
        }
        for FileCounts { path, counts } in files.iter().take(SHOWN_FILES) {
            lines.push(format!("  {}: {}", inert(path), sum(counts)));
        }
        if !files.is_empty() {
            let more = if files.len() > SHOWN_FILES { "and more files; " } else { "" };
            lines.push(format!("  {more}run `agent-lifecycle validate <file>` for the places"));
        }
        lines.extend(parents.iter().map(|path| {
            format!("part of a session: run `agent-lifecycle status {}` to see the whole of it", inert(path))
        }));
        let told = |what: &'static str| move |item: &String| format!("{what}{}", inert(item));
        lines.extend(unsupported.iter().map(told("unsupported source: found ")));
        lines.extend(unrecognized.iter().map(told("no journal of a known kind: ")));
        lines.extend(unreadable.iter().map(told("unreadable: ")));
        lines.join("\n") + "\n"
    }
}
