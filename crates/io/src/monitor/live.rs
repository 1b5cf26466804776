//! Agents that work now: files as they grow, to one projection.
//!
//! Input: chunks of files, evidence and answers, each with the present time. Output: rows, what changed, what is to be read again.
//! Invariant: however the chunks came, the rows are those of one reading. Never: waits, or concludes `lost` without an authority.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, Refusal};
use agent_lifecycle_core::decode::JsonlParser;
use agent_lifecycle_core::pipeline::{JournalId, Outcome, Pipeline, StreamId, Telling};
use agent_lifecycle_core::project::explain::Explanation;
use agent_lifecycle_core::project::rows::{Row, row_key, rows};
use agent_lifecycle_core::project::{ChangeSet, Config, Reconciled, Record, Status};
use agent_lifecycle_core::providers::{Provider, Recognized, Role};
use agent_lifecycle_core::reconcile::Snapshot;

use super::families::Families;
use super::hooks::{self, Waiting};
use super::owners::Owners;
use super::questions::Questions;
use super::spool::Hook;
use crate::discover::{self, Format, Titles};
use crate::evidence::{Process, SessionName};
use crate::process::{Owner, Verdict};
use crate::status::read_chunks;

/// Bytes of a file that are held until it shows what it is.
const HEAD_BYTES: usize = 1024 * 1024;
/// Items that wait at most before they become events.
const WAITING_ITEMS: usize = 262_144;

/// See the module.
#[derive(Debug)]
pub struct Live {
    pipeline: Pipeline,
    files: HashMap<PathBuf, Held>,
    titles: Titles,
    families: Families,
    /// Sessions that have journals of their own.
    own: Arc<HashSet<String>>,
    processes: HashMap<SessionName, Process>,
    questions: Questions,
    owners: Owners,
    hooks: Waiting,
    /// Events that a journal is to hold, where there is one.
    record: Option<Vec<(Event<'static>, Option<Moment>)>>,
}

/// What is known of a followed file.
#[derive(Debug)]
enum Held {
    /// It has not shown what it is.
    Head(Vec<u8>),
    /// An agent's journal, and the bytes that were read of it.
    Journal(JournalId, u64),
    /// A stream of schema-v1 events.
    Stream(Box<JsonlParser>, StreamId),
    /// Nothing of ours.
    Foreign,
}

impl Live {
    /// A projection of nothing, or what an earlier run left. With `records`, what a journal is to hold is kept to be
    /// [taken](Self::take_record).
    #[must_use]
    pub fn new(config: Config, content: Content, before: Option<Pipeline>, records: bool) -> Self {
        let mut pipeline = before.map_or_else(|| Pipeline::new(config, content), Pipeline::restored);
        pipeline.remember_items();
        Self {
            pipeline,
            files: HashMap::new(),
            titles: Titles::default(),
            families: Families::default(),
            own: Arc::default(),
            processes: HashMap::new(),
            questions: Questions::default(),
            owners: Owners::default(),
            hooks: Waiting::default(),
            record: records.then(Vec::new),
        }
    }

    /// Takes the next bytes of the file at `path`.
    pub fn take(&mut self, path: &Path, bytes: &[u8], now: Moment) {
        let mut file = self.files.remove(path).unwrap_or(Held::Head(Vec::new()));
        match &mut file {
            Held::Head(head) => {
                head.extend_from_slice(bytes);
                let head = std::mem::take(head);
                file = self.recognize(path, head, now);
            }
            Held::Journal(journal, read) => {
                *read += bytes.len() as u64;
                self.pipeline.push(*journal, bytes);
            }
            Held::Stream(parser, stream) => self.take_stream(parser, *stream, bytes, now),
            Held::Foreign => {}
        }
        self.files.insert(path.to_owned(), file);
        if self.pipeline.waiting() > WAITING_ITEMS {
            self.settle(now);
        }
    }

    /// The file at `path` holds something else now, from its first byte.
    pub fn replace(&mut self, path: &Path) {
        if let Some(Held::Journal(journal, _)) = self.files.insert(path.to_owned(), Held::Head(Vec::new())) {
            self.pipeline.retire(journal);
        }
    }

    /// Whether the file at `path` is nothing that is read.
    #[must_use]
    pub fn is_foreign(&self, path: &Path) -> bool {
        matches!(self.files.get(path), Some(Held::Foreign))
    }

    fn recognize(&mut self, path: &Path, head: Vec<u8>, now: Moment) -> Held {
        match discover::format_of(&head) {
            Format::Journal(provider, recognized) => {
                let journal = self.add(path, provider, recognized);
                self.pipeline.push(journal, &head);
                Held::Journal(journal, head.len() as u64)
            }
            Format::SchemaV1 => {
                let mut parser = Box::new(JsonlParser::default());
                let stream = self.pipeline.add_stream(path.display().to_string());
                self.take_stream(&mut parser, stream, &head, now);
                Held::Stream(parser, stream)
            }
            Format::Unknown if head.len() >= HEAD_BYTES => Held::Foreign,
            Format::Unknown | Format::Blank => Held::Head(head),
        }
    }

    fn add(&mut self, path: &Path, provider: &'static dyn Provider, recognized: Recognized) -> JournalId {
        let (recognized, moved) = self.families.place(provider.name(), recognized);
        if !moved.is_empty() {
            self.move_to(&recognized.session_id, provider, &moved);
        }
        if recognized.role == Role::Root && !self.own.contains(&recognized.session_id) {
            Arc::make_mut(&mut self.own).insert(recognized.session_id.clone());
            self.pipeline.leave_to_others(Arc::clone(&self.own));
        }
        let told = discover::told_beside(path, &recognized, &mut self.titles);
        self.pipeline.add_journal(path.display().to_string(), provider, recognized, told)
    }

    /// Has the journals of these agents read again as of the session that they turned out to be of.
    fn move_to(&mut self, session: &str, provider: &'static dyn Provider, agents: &[String]) {
        let is_moved = |recognized: &Recognized| match &recognized.role {
            Role::Child { agent_id } => recognized.parent.is_some() && agents.contains(agent_id),
            Role::Root => false,
        };
        let journals = self.files.iter().filter_map(|(path, held)| match held {
            Held::Journal(journal, read) => Some((path.clone(), *journal, *read)),
            _ => None,
        });
        let mut again = Vec::new();
        for (path, journal, read) in journals.collect::<Vec<_>>() {
            let Some(recognized) = self.pipeline.recognized(journal).filter(|found| is_moved(found)) else {
                continue;
            };
            let recognized = Recognized { session_id: session.to_owned(), ..recognized.clone() };
            self.pipeline.withdraw(journal);
            let told = discover::told_beside(&path, &recognized, &mut self.titles);
            let journal = self.pipeline.add_journal(path.display().to_string(), provider, recognized, told);
            self.files.insert(path, Held::Journal(journal, read));
            again.push(journal);
        }
        self.read_again(&again);
    }

    fn take_stream(&mut self, parser: &mut JsonlParser, stream: StreamId, bytes: &[u8], now: Moment) {
        let Self { pipeline, owners, record, .. } = self;
        parser.push_journal(bytes, &mut |mut line, (offset, _)| {
            let is_ahead = line.event.observed_at.moment() > now;
            line.received_at = line.received_at.or(is_ahead.then_some(now));
            let outcome = pipeline.take_line(&line, stream, offset);
            owners.hear(&line.event);
            keep(&line.event, &outcome, line.received_at, record);
        });
    }

    /// Looks whether the processes live that say of themselves, in their journals, who they are.
    pub fn look_at_owners(&mut self, look: impl Fn(&Owner) -> Verdict, now: Moment) {
        let ends = self.owners.look(self.pipeline.projector_mut(), Some(&mut self.questions), look, now);
        for event in ends {
            let _ = self.take_event(&event, now, Some("process"));
        }
        self.keep_corrections();
    }

    /// Whether a journal named its process.
    pub(super) fn has_owners(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Whether a child came whose process its journal names and that was not looked at.
    pub(super) fn has_new_owner(&self) -> bool {
        self.owners.is_due()
    }

    /// Makes events of what was taken.
    pub fn settle(&mut self, now: Moment) {
        // Each late finding leaves fewer journals without a launch.
        for _ in 0..=self.files.len() {
            let Self { pipeline, record, .. } = self;
            pipeline.settle(now, Some(now), &mut |event, outcome| keep(event, outcome, None, record));
            // What was taken back comes before what is said in its place.
            self.keep_corrections();
            let again = self.pipeline.take_again();
            if again.is_empty() {
                break;
            }
            self.read_again(&again);
        }
        self.tell_processes(now);
    }

    /// Pushes what was read of these journals once more.
    fn read_again(&mut self, journals: &[JournalId]) {
        for (path, held) in &self.files {
            let Held::Journal(journal, read) = held else { continue };
            if !journals.contains(journal) {
                continue;
            }
            let mut left = *read;
            // A file that is gone has said what it had to say.
            let _ = read_chunks(path, |chunk| {
                let length = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                self.pipeline.push(*journal, &chunk[..length]);
                left -= length as u64;
            });
        }
    }

    /// Applies events that a host gives, such as those of its own bridge.
    pub fn apply(&mut self, event: &Event<'_>, now: Moment) -> Outcome {
        self.take_event(event, now, None)
    }

    fn take_event(&mut self, event: &Event<'_>, now: Moment, record: Option<&'static str>) -> Outcome {
        let outcome = self.pipeline.take_event(event, Some(now), record);
        keep(event, &outcome, Some(now), &mut self.record);
        outcome
    }

    /// Tells something of a session, as hooks do; `false` where no journal of it is read.
    pub fn tell(&mut self, session: (&'static str, &str), telling: &Telling<'_>) -> bool {
        let Self { pipeline, record, .. } = self;
        pipeline.tell(session, telling, &mut |event, outcome| keep(event, outcome, None, record))
    }

    /// Takes what a hook says at `now`. Of a session whose journal is not read it is kept until one is.
    pub fn hook(&mut self, hook: Hook, now: Moment) {
        let Self { pipeline, record, .. } = self;
        if !hooks::take(pipeline, &hook, now, &mut |event, outcome| keep(event, outcome, None, record)) {
            self.hooks.add(hook);
        }
    }

    /// The processes that are known to work on sessions now. One that names another session than before leaves the former.
    pub fn set_processes(&mut self, processes: HashMap<SessionName, Process>, now: Moment) {
        let before = std::mem::replace(&mut self.processes, processes);
        for (provider, session) in before.into_keys() {
            if !self.processes.contains_key(&(provider, session.clone())) {
                let Self { pipeline, record, .. } = self;
                pipeline.tell_process((provider, &session), None, now, &mut |event, outcome| {
                    keep(event, outcome, None, record);
                });
            }
        }
        self.tell_processes(now);
    }

    /// The sessions whose process is known to live. Their names are in the paths of their journals.
    pub(super) fn living_sessions(&self) -> impl Iterator<Item = &str> {
        let living = self.processes.iter().filter(|(_, process)| process.alive == Some(true));
        living.map(|((_, session), _)| session.as_str()).filter(|session| !session.is_empty())
    }

    fn tell_processes(&mut self, now: Moment) {
        let Self { pipeline, processes, questions, record, .. } = self;
        for ((provider, session), process) in processes.iter() {
            let source = format!("{provider}/{session}");
            if process.alive == Some(true) {
                questions.lives(&source);
            }
            if process.alive == Some(false) && questions.is_dead(&source, process.pid) {
                continue;
            }
            let told = Some((process.evidence(), process.started_at));
            pipeline.tell_process((provider, session), told, now, &mut |event, outcome| {
                keep(event, outcome, None, record);
                if process.alive == Some(false) {
                    questions.died(&event.source, process.pid, now);
                }
            });
        }
    }

    /// Lets time pass: what is silent for too long is marked, and answers that an authority gave are drawn. `jumped` says that the
    /// clock did, so that silence before now does not count.
    pub fn tick(&mut self, now: Moment, jumped: bool) {
        for hook in self.hooks.take() {
            self.hook(hook, now);
        }
        let projector = self.pipeline.projector_mut();
        if jumped {
            projector.open_window(now);
        }
        projector.mark_stale(now);
        self.draw(now);
    }

    /// Concludes what answers and proven deaths allow.
    fn draw(&mut self, now: Moment) {
        for ((source, child_id), by) in self.questions.draw(self.pipeline.projector_mut(), now) {
            self.pipeline.note_lost((&source, &child_id), by, now);
        }
        self.keep_corrections();
    }

    /// Looks once more at what stands beside the journals of sub-agents that have no launch.
    pub fn look_beside(&mut self) {
        for (path, held) in &self.files {
            let Held::Journal(journal, _) = held else { continue };
            if self.pipeline.is_unattributed(*journal)
                && let Some(recognized) = self.pipeline.recognized(*journal).cloned()
            {
                let told = discover::told_beside(path, &recognized, &mut self.titles);
                self.pipeline.tell_beside_journal(*journal, told);
            }
        }
    }

    /// Takes a complete snapshot of a source.
    pub fn reconcile(&mut self, snapshot: &Snapshot, now: Moment) -> Result<Reconciled, Refusal> {
        let reconciled = self.pipeline.projector_mut().reconcile(snapshot, Some(now));
        self.keep_corrections();
        reconciled
    }

    /// The records that a snapshot was about, as they are now.
    pub fn records_of<'a>(&'a self, reconciled: &'a Reconciled) -> impl Iterator<Item = &'a Record> {
        let projector = self.pipeline.projector();
        reconciled.results.iter().filter_map(|applied| projector.get(applied.record?))
    }

    /// Questions that were not given to the host yet. Where somebody `asks` of its source, rows say so.
    pub fn take_questions(
        &mut self,
        asks: impl Fn(&str) -> bool,
        now: Moment,
    ) -> Vec<super::questions::Asked> {
        let questions = self.questions.take(self.pipeline.projector());
        let projector = self.pipeline.projector_mut();
        for question in questions.iter().filter(|question| asks(&question.source)) {
            projector.request_reconciliation(&question.source, &question.child_id, &question.reason, now);
        }
        questions
    }

    /// Takes an answer about a child.
    pub fn answer(&mut self, source: &str, child_id: &str, answer: super::questions::Answer, now: Moment) {
        self.questions.answer(self.pipeline.projector_mut(), (source, child_id), answer, now);
        self.draw(now);
    }

    /// Drops children that ended before a time.
    pub fn forget(&mut self, before: Moment) -> usize {
        let removed = self.pipeline.forget(before);
        self.keep_corrections();
        removed
    }

    /// What a journal is to hold since this was last called, in order.
    pub fn take_record(&mut self) -> Vec<(Event<'static>, Option<Moment>)> {
        self.keep_corrections();
        self.record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn keep_corrections(&mut self) {
        let corrections = self.pipeline.projector_mut().take_corrections();
        if let Some(record) = &mut self.record {
            record.extend(corrections.into_iter().map(|event| (event, None)));
        }
    }

    /// All rows in tree order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        rows(self.pipeline.projector().records(), self.pipeline.beside())
    }

    /// The rows that changed since a cursor.
    pub fn changes_since(&mut self, cursor: Option<&str>) -> ChangeSet {
        let (projector, beside) = self.pipeline.projection();
        projector.changes_since(cursor, beside)
    }

    /// What stands behind the state of the row with this key.
    #[must_use]
    pub fn explain(&self, key: &str) -> Option<Explanation> {
        let record = self
            .pipeline
            .projector()
            .records()
            .find(|record| row_key(&record.source, &record.child_id) == key)?;
        self.pipeline.explain(&record.source, &record.child_id)
    }
}

/// Keeps an event for the journal where it changed anything.
fn keep(
    event: &Event<'_>,
    outcome: &Outcome,
    received_at: Option<Moment>,
    record: &mut Option<Vec<(Event<'static>, Option<Moment>)>>,
) {
    let is_news = outcome.as_ref().is_ok_and(|applied| applied.status != Status::Deduplicated);
    if let Some(record) = record.as_mut().filter(|_| is_news) {
        record.push((event.to_static(), received_at));
    }
}
