//! Making a damaged journal valid again without deleting anything.
//!
//! Input: the journal, the lock held. Output: a new file in its place with every line that is an event; the rest in quarantine.
//! Invariant: quarantine and new file are on the medium before the name changes. Never: changes a line that is valid in its place.

use std::path::PathBuf;

use agent_lifecycle_core::contract::identity::SOURCE_NOTE;
use agent_lifecycle_core::contract::{Event, Moment};
use serde::Serialize;
use serde_json::json;

use super::engine::{Engine, append_all};
use super::fault::Fault;
use super::line::{self, Draft};
use super::scan::{FAULTS, LineProblem, Piece, Place, Scanner};
use crate::lock::Held;
use crate::storage::{File, Open};

/// Whose notes about journals are.
pub(super) const SOURCE: &str = "agent-lifecycle/journal";
/// Bytes of the new file that are gathered before they are written.
const WRITE_BYTES: usize = 256 * 1024;

/// What a repair has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    /// Whether anything was changed.
    pub changed: bool,
    /// Entries that were kept.
    pub kept: u64,
    /// Of these, entries that got another number.
    pub renumbered: u64,
    /// Lines and remains of lines that went to quarantine.
    pub quarantined: u64,
    /// Where they are.
    pub quarantine: Option<PathBuf>,
    /// What was wrong. At most 32, in the order of the file.
    pub problems: Vec<LineProblem>,
    /// How much was wrong.
    pub problem_count: u64,
}

/// The new file while it is written.
struct Rewriter {
    target: Box<dyn File>,
    buffer: String,
    report: Repaired,
    last: Option<u64>,
    /// From the first line whose number does not increase, all lines get new ones.
    is_renumbering: bool,
    /// Parts of the old file for the quarantine.
    parts: Vec<Place>,
    failed: Option<std::io::Error>,
}

impl Engine {
    /// Repairs the journal, if it needs it.
    pub(super) fn repair(&mut self) -> Result<Repaired, Fault> {
        self.under_lock(|engine, held| {
            let Some(file) = engine.open_if_there(Open::Read)? else { return Ok(Repaired::default()) };
            let length = file.stat().map_err(|error| engine.io("look at", &error))?.length;
            let mut is_valid = true;
            let mut kept = 0;
            Scanner::new(0, length, None)
                .run(&*file, &mut |piece, _| match piece {
                    Piece::Entry { .. } => kept += 1,
                    Piece::Blank => {}
                    _ => is_valid = false,
                })
                .map_err(|error| engine.io("read", &error))?;
            if is_valid {
                return Ok(Repaired { kept, ..Repaired::default() });
            }
            engine.rewrite(held, &*file, length)
        })
    }

    fn rewrite(&mut self, held: &Held, file: &dyn File, length: u64) -> Result<Repaired, Fault> {
        self.sweep_drafts();
        let draft = self.draft_path();
        let failed = |error: &std::io::Error| Fault::io("write", &draft, error);
        let target = self.storage.open(&draft, Open::New).map_err(|error| failed(&error))?;
        let mut rewriter = Rewriter {
            target,
            buffer: String::new(),
            report: Repaired { changed: true, ..Repaired::default() },
            last: None,
            is_renumbering: false,
            parts: Vec::new(),
            failed: None,
        };
        let outcome = self.fill(&mut rewriter, file, length);
        let Rewriter { mut target, buffer, report, .. } = match outcome {
            Ok(()) => rewriter,
            Err(fault) => {
                let _ = self.storage.remove_file(&draft);
                return Err(fault);
            }
        };
        let written = append_all(&mut *target, buffer.as_bytes()).and_then(|()| target.sync());
        if let Err(error) = written {
            let _ = self.storage.remove_file(&draft);
            let fault = failed(&error);
            return Err(match &report.quarantine {
                Some(path) => self.without_quarantine(path, fault),
                None => fault,
            });
        }
        self.put_in_place(held, &draft)?;
        Ok(report)
    }

    /// Writes the new file but for its last part, and the quarantine.
    fn fill(&mut self, rewriter: &mut Rewriter, file: &dyn File, length: u64) -> Result<(), Fault> {
        Scanner::new(0, length, None)
            .run(file, &mut |piece, place| rewriter.take(&piece, place))
            .map_err(|error| self.io("read", &error))?;
        if let Some(error) = rewriter.failed.take() {
            return Err(self.io("write anew", &error));
        }
        if !rewriter.parts.is_empty() {
            let path = self.keep_in_quarantine(file, &rewriter.parts)?;
            rewriter.report.quarantine = Some(path);
        }
        let note = self.repair_note(&rewriter.report);
        rewriter.write(&note);
        Ok(())
    }

    /// The entry that tells what was done.
    fn repair_note(&self, report: &Repaired) -> Draft {
        let name = report.quarantine.as_ref().and_then(|path| path.file_name());
        let problems: Vec<_> = report
            .problems
            .iter()
            .map(
                |problem| json!({ "code": problem.code, "offset": problem.offset, "length": problem.length }),
            )
            .collect();
        let details = json!({ "journal": {
            "op": "repair",
            "kept": report.kept,
            "renumbered": report.renumbered,
            "quarantined": report.quarantined,
            "quarantine": name.map(|name| name.to_string_lossy()),
            "problems": problems,
            "problemCount": report.problem_count,
        }});
        self.note("repair", &details)
    }

    /// A note about this journal.
    pub(super) fn note(&self, op: &str, details: &serde_json::Value) -> Draft {
        let id = format!("{op}-{:016x}{:016x}", self.system.random(), self.system.random());
        let event = json!({
            "schemaVersion": 1, "eventId": id, "source": SOURCE, "sourceEpoch": "1", "childId": SOURCE_NOTE,
            "lineage": { "rootChildId": SOURCE_NOTE, "attempt": 0, "external": false },
            "kind": "diagnostic",
            "observedAt": Moment::from_unix_millis(self.system.now()).to_text(),
            "details": details,
        });
        let text = event.to_string();
        let event = Event::from_json(text.as_bytes());
        Draft::new(&event.unwrap_or_else(|_| unreachable!("a note is an event")), None)
    }
}

impl Rewriter {
    fn take(&mut self, piece: &Piece<'_>, place: Place) {
        match piece {
            Piece::Blank => {}
            Piece::Entry { entry, bytes } if !self.is_renumbering => {
                self.report.kept += 1;
                self.last = Some(entry.sequence);
                self.keep(bytes);
            }
            Piece::Entry { bytes, .. } => self.renumber(bytes),
            Piece::Unnumbered { event_bytes, problem } => {
                self.problem(problem);
                // NUL bytes behind an entry: the entry is kept, and what stood there as it was.
                if problem.code == "malformed" {
                    self.quarantine(place);
                }
                match line::read(event_bytes) {
                    Ok(entry)
                        if !self.is_renumbering && self.last.is_none_or(|last| entry.sequence > last) =>
                    {
                        self.report.kept += 1;
                        self.last = Some(entry.sequence);
                        self.keep(event_bytes);
                    }
                    _ => {
                        self.is_renumbering = true;
                        self.renumber(event_bytes);
                    }
                }
            }
            Piece::Bad { problem } | Piece::Torn { problem } => {
                self.problem(problem);
                self.quarantine(place);
            }
        }
    }

    fn problem(&mut self, problem: &LineProblem) {
        self.report.problem_count += 1;
        if self.report.problems.len() < FAULTS {
            self.report.problems.push(problem.clone());
        }
    }

    fn quarantine(&mut self, place: Place) {
        self.report.quarantined += 1;
        match self.parts.last_mut() {
            Some((offset, length)) if *offset + *length == place.0 => *length += place.1,
            _ => self.parts.push(place),
        }
    }

    /// Keeps an event as it stands, under the next number.
    fn renumber(&mut self, bytes: &[u8]) {
        let number = self.last.map_or(1, |last| last + 1);
        self.report.kept += 1;
        self.report.renumbered += 1;
        self.last = Some(number);
        line::renumber(bytes, number, &mut self.buffer);
        self.end_line();
    }

    fn write(&mut self, draft: &Draft) {
        let number = self.last.map_or(1, |last| last + 1);
        self.last = Some(number);
        draft.write(number, &mut self.buffer);
        self.end_line();
    }

    fn keep(&mut self, bytes: &[u8]) {
        // An entry is valid UTF-8, so that nothing is replaced here.
        self.buffer.push_str(&String::from_utf8_lossy(bytes));
        self.end_line();
    }

    fn end_line(&mut self) {
        self.buffer.push('\n');
        if self.buffer.len() >= WRITE_BYTES {
            if let Err(error) = append_all(&mut *self.target, self.buffer.as_bytes()) {
                self.failed.get_or_insert(error);
            }
            self.buffer.clear();
        }
    }
}
