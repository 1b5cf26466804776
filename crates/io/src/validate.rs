//! Checks a JSON Lines file: is every line a schema-v1 event, and does the stream make sense? Of an agent's own journal: is
//! every line a record?
//!
//! Input: a file. Output: counts, the first faults with their places, and what became of the events.
//! Never: changes anything, holds more than one line.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::decode::{Diagnostic, JsonlParser};
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::{Config, Projector};
use agent_lifecycle_core::providers::{Provider, Recognized, Told};
use serde::Serialize;

use crate::discover::{self, Format};
use crate::status::{count_fault, read_chunks};

/// Faults of the projection that are named with their place.
const FAULTS: usize = 32;

/// What a file was found to be.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Its path.
    pub path: String,
    /// `schema-v1`, or the provider whose journal it is.
    pub format: &'static str,
    /// Lines that are events, or records of an agent's own journal.
    pub events: u64,
    /// What became of them, by status; `refused` where an event breaks the state graph.
    pub results: BTreeMap<&'static str, u64>,
    /// Faults by their code.
    pub faults: BTreeMap<&'static str, u64>,
    /// The first faults of lines.
    pub diagnostics: Vec<Fault>,
    /// The first events that were refused or contradict others.
    pub rejected: Vec<Rejected>,
}

/// A fault of a line.
#[derive(Debug, Serialize)]
pub struct Fault {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
}

/// An event that is well formed but does not fit what came before.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// Why.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The line, from 1.
    pub line: u64,
    /// Absolute offset of the line, in bytes.
    pub offset: u64,
    /// The child that it is about.
    pub child_id: String,
    /// The event's id.
    pub event_id: String,
}

impl Report {
    /// Whether anything was wrong.
    #[must_use]
    pub fn is_faulty(&self) -> bool {
        !self.faults.is_empty()
    }
}

/// Reads the file at `path`.
pub fn validate(path: &Path) -> io::Result<Report> {
    let mut report = Report {
        path: path.display().to_string(),
        format: "schema-v1",
        events: 0,
        results: BTreeMap::new(),
        faults: BTreeMap::new(),
        diagnostics: Vec::new(),
        rejected: Vec::new(),
    };
    match discover::format(path)? {
        Format::Journal(provider, recognized) => read_journal(path, provider, recognized, &mut report)?,
        Format::SchemaV1 | Format::Unknown | Format::Blank => read_events(path, &mut report)?,
    }
    number_lines(path, &mut report)?;
    Ok(report)
}

/// Tells which lines the faults are in, by reading the file once more where there are any.
fn number_lines(path: &Path, report: &mut Report) -> io::Result<()> {
    let faults = report.diagnostics.iter_mut().map(|fault| (fault.diagnostic.offset, &mut fault.line));
    let rejected = report.rejected.iter_mut().map(|event| (event.offset, &mut event.line));
    let mut places: Vec<(u64, &mut u64)> = faults.chain(rejected).collect();
    if places.is_empty() {
        return Ok(());
    }
    places.sort_unstable_by_key(|(offset, _)| *offset);
    let mut places = places.into_iter().peekable();
    let (mut read, mut line) = (0_u64, 1_u64);
    read_chunks(path, |chunk| {
        for byte in chunk {
            while let Some((_, number)) = places.next_if(|(offset, _)| *offset <= read) {
                *number = line;
            }
            line += u64::from(*byte == b'\n');
            read += 1;
        }
    })?;
    places.for_each(|(_, number)| *number = line);
    Ok(())
}

fn read_journal(
    path: &Path,
    provider: &'static dyn Provider,
    recognized: Recognized,
    report: &mut Report,
) -> io::Result<()> {
    let mut pipeline = Pipeline::new(Config::default(), Content::None);
    let journal = pipeline.add_journal(path.display().to_string(), provider, recognized, Told::default());
    read_chunks(path, |chunk| pipeline.push(journal, chunk))?;
    pipeline.end(journal);
    report.format = provider.name();
    for journal in pipeline.reports() {
        report.events += journal.records;
        report.results.insert("record", journal.records - journal.unknown_records);
        report.results.insert("unknown_record", journal.unknown_records);
        report.faults = journal.diagnostics;
        // Records of unknown types are no fault of the file.
        report.faults.remove("unknown_record");
    }
    report.diagnostics = pipeline.diagnostics().flat_map(|(_, log)| log.kept().iter().map(fault)).collect();
    Ok(())
}

fn read_events(path: &Path, report: &mut Report) -> io::Result<()> {
    let mut parser = JsonlParser::default();
    let mut projector = Projector::new(Config::default());
    read_chunks(path, |chunk| {
        parser.push_journal(chunk, &mut |line, (offset, _)| {
            report.events += 1;
            let outcome = projector.take_line(&line);
            let before: u64 = report.faults.values().sum();
            count_fault(&outcome, &mut report.faults);
            let is_fault = report.faults.values().sum::<u64>() > before;
            let (word, code, message) = match outcome {
                Ok(applied) => {
                    let word = applied.status.as_str();
                    let note = applied.note;
                    (
                        word,
                        note.map_or(word, |note| note.as_str()),
                        note.map_or_else(String::new, |note| {
                            projector.message(note, &line.event.source).into_owned()
                        }),
                    )
                }
                Err(refusal) => ("refused", refusal.code.as_str(), refusal.to_string()),
            };
            *report.results.entry(word).or_default() += 1;
            if is_fault && report.rejected.len() < FAULTS {
                report.rejected.push(Rejected {
                    code,
                    message,
                    line: 0,
                    offset,
                    child_id: line.event.child_id.into_owned(),
                    event_id: line.event.event_id.into_owned(),
                });
            }
        });
    })?;
    parser.end();
    for (code, times) in parser.diagnostics().counts() {
        *report.faults.entry(code).or_default() += times;
    }
    report.diagnostics = parser.diagnostics().kept().iter().map(fault).collect();
    Ok(())
}

/// A fault whose line is still to be found.
fn fault(diagnostic: &Diagnostic) -> Fault {
    Fault { line: 0, diagnostic: diagnostic.clone() }
}
