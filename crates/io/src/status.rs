//! The state of the agents behind files and folders, read once, session by session.
//!
//! Input: places and a time. Output: rows, and what could not be read. Invariant: one session is in memory at a time, but for
//! its rows. Never: concludes that a child is lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::decode::JsonlParser;
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::rows::{BesideAll, Row, host_status, rows};
use agent_lifecycle_core::project::{Alive, Config, Projector};
use agent_lifecycle_core::providers::{self, Provider, Recognized, Role, gather};

use crate::discover::{self, Candidate, Format, Found, Titles};
use crate::evidence::{self, Process, SessionName};
use crate::merging::Merging;
use crate::monitor::hooks;
use crate::monitor::owners::Owners;
use crate::monitor::spool::{self, Hook};
use crate::process::{Identity, Owner, judge, look};
use crate::report::{FileCounts, Report};

/// Files that are named in a report: unrecognised ones, and ones with faults.
const NAMED: usize = 32;
/// Bytes read at once.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// What is to be read, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files and folders; none means the default places.
    pub paths: Vec<PathBuf>,
    /// The home folder that the default places are in.
    pub home: Option<PathBuf>,
    /// The state directory, where publishers and hooks leave what they say; read with the default places.
    pub state: Option<PathBuf>,
    /// In the default places, sessions without evidence for this long are counted, not shown.
    pub since_ms: Option<i64>,
    /// Only what is at work or waits for somebody.
    pub active: bool,
    /// The present time; the clock's where it is not given.
    pub now: Option<Moment>,
    /// How much of prompts and texts reaches rows.
    pub content: Content,
    /// How the projection judges.
    pub config: Config,
}

/// Reads sessions one at a time.
#[derive(Debug)]
pub struct Scan {
    options: Options,
    now: Moment,
    queue: Vec<Group>,
    total: usize,
    report: Report,
    /// The sessions that have journals of their own.
    sessions: Arc<HashSet<String>>,
    /// The processes that are known to work on sessions.
    processes: HashMap<SessionName, Process>,
    /// What hooks say of sessions, oldest first.
    hooks: HashMap<SessionName, Vec<Hook>>,
    /// The titles that indexes give.
    titles: Titles,
    /// The newest evidence of each tree of rows in the report, and its length.
    trees: Vec<(Moment, usize)>,
}

/// Files that belong together.
#[derive(Debug)]
enum Group {
    /// The journals of one session.
    Session { provider: &'static dyn Provider, journals: Vec<(Candidate, Recognized)> },
    /// A schema-v1 stream.
    Stream(Candidate),
}

impl Scan {
    /// Finds what is to be read.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let found = if options.paths.is_empty() {
            discover::default_places(options.home.as_deref(), options.state.as_deref())
        } else {
            discover::named(&options.paths)
        };
        let now = options.now.unwrap_or_else(|| moment(SystemTime::now()));
        // What lives now says nothing about another time.
        let processes = match options.now {
            None => evidence::processes(options.home.as_deref(), &Identity::own()),
            Some(_) => HashMap::new(),
        };
        let mut scan = Self {
            options,
            now,
            queue: Vec::new(),
            total: 0,
            report: Report::default(),
            sessions: Arc::default(),
            processes,
            hooks: HashMap::new(),
            titles: Titles::default(),
            trees: Vec::new(),
        };
        scan.read_hooks();
        scan.sort(found);
        scan
    }

    /// The time that ages are told against.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Sessions and streams that are read, and how many there are.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.total - self.queue.len(), self.total)
    }

    /// Reads the next session or stream. `false` when there is none.
    pub fn step(&mut self) -> bool {
        let Some(group) = self.queue.pop() else { return false };
        let rows = match group {
            Group::Session { provider, journals } => self.read_session(provider, &journals),
            Group::Stream(file) => self.read_stream(&file),
        };
        self.add(rows);
        true
    }

    /// What was read, the session with the newest evidence first.
    #[must_use]
    pub fn report(&mut self) -> &Report {
        let mut rows = std::mem::take(&mut self.report.rows).into_iter();
        let mut trees: Vec<(Moment, Vec<Row>)> = Vec::new();
        for &(newest, length) in &self.trees {
            trees.push((newest, rows.by_ref().take(length).collect()));
        }
        trees.sort_by_key(|(newest, _)| Reverse(*newest));
        self.trees = trees.iter().map(|(newest, tree)| (*newest, tree.len())).collect();
        self.report.rows = trees.into_iter().flat_map(|(_, tree)| tree).collect();
        &self.report
    }

    /// Reads what hooks left. What came later than `now` is not there yet.
    fn read_hooks(&mut self) {
        let state = self.options.state.clone().filter(|_| self.options.paths.is_empty());
        let Some(spool) = state.map(|state| state.join("spool")) else { return };
        let (hooks, unreadable) = spool::read_all(&spool);
        for hook in hooks.into_iter().filter(|hook| self.options.now.is_none_or(|now| hook.at <= now)) {
            self.hooks.entry((hook.provider, hook.session_id.clone())).or_default().push(hook);
        }
        for (path, why) in unreadable {
            self.unreadable(&path, &why.to_string());
        }
    }

    /// Groups what was found by session and drops what is too old to be shown.
    fn sort(&mut self, found: Found) {
        let Found { files, places, unsupported, named, parents, missing, unreadable } = found;
        let shown = |path: PathBuf| path.display().to_string();
        self.report.diagnostics.unsupported = unsupported.into_iter().map(shown).collect();
        self.report.diagnostics.parents = parents.into_iter().map(shown).collect();
        self.report.diagnostics.missing = missing;
        self.report.evidence = !places.is_empty();
        for (path, why) in unreadable {
            self.unreadable(&path, &why);
        }
        let mut journals: Vec<(&'static dyn Provider, Candidate, Recognized)> = Vec::new();
        for file in files {
            match discover::format(&file.path) {
                Ok(Format::Journal(provider, recognized)) => {
                    journals.push((provider, file, recognized));
                    self.report.evidence = true;
                }
                Ok(Format::SchemaV1) => {
                    self.queue.push(Group::Stream(file));
                    self.report.evidence = true;
                }
                Ok(Format::Blank) => {}
                Ok(Format::Unknown) => {
                    self.count("unrecognized_file", 1);
                    self.blame(&file.path.display().to_string(), &BTreeMap::from([("unrecognized_file", 1)]));
                    // What somebody named is answered for by name; a folder may hold anything.
                    if named.contains(&file.path) && self.report.diagnostics.unrecognized.len() < NAMED {
                        self.report.diagnostics.unrecognized.push(file.path.display().to_string());
                    }
                }
                Err(error) => self.unreadable(&file.path, &error.to_string()),
            }
        }
        for provider in providers::ALL {
            let own = journals.iter_mut().filter(|(of, ..)| of.name() == provider.name());
            gather(own.map(|(.., recognized)| recognized));
        }
        let mut sessions: HashMap<(&str, String), usize> = HashMap::new();
        for (provider, file, recognized) in journals {
            let name = (provider.name(), recognized.session_id.clone());
            let at = *sessions.entry(name).or_insert_with(|| {
                self.queue.push(Group::Session { provider, journals: Vec::new() });
                self.queue.len() - 1
            });
            if let Group::Session { journals, .. } = &mut self.queue[at] {
                journals.push((file, recognized));
            }
        }
        self.sessions = Arc::new(sessions.into_keys().map(|(_, session)| session).collect());
        if let Some(oldest) = self.oldest() {
            let before = self.queue.len();
            let here = Identity::own();
            let processes = &self.processes;
            self.queue.retain(|group| moment(group.modified()) >= oldest || group.lives(processes, &here));
            self.report.hidden += before - self.queue.len();
        }
        // Read from the end of the list: newest first.
        self.queue.sort_by_key(Group::modified);
        self.total = self.queue.len();
    }

    /// Evidence older than this hides a session in the default places, unless its process lives.
    fn oldest(&self) -> Option<Moment> {
        let since = self.options.since_ms.filter(|_| self.options.paths.is_empty())?;
        Some(self.now.plus_millis(-since))
    }

    fn read_session(
        &mut self,
        provider: &'static dyn Provider,
        journals: &[(Candidate, Recognized)],
    ) -> Vec<Row> {
        let mut pipeline = Pipeline::new(self.options.config, self.options.content);
        let modified = journals.iter().map(|(file, _)| file.modified).max().unwrap_or(UNIX_EPOCH);
        let mut faults = BTreeMap::new();
        // The session's own journal first: of journals that are read equally far it comes first.
        let (own, below): (Vec<_>, Vec<_>) =
            journals.iter().partition(|(_, recognized)| recognized.role == Role::Root);
        pipeline.leave_to_others(Arc::clone(&self.sessions));
        let journals: Vec<_> = own
            .into_iter()
            .chain(below)
            .map(|(file, recognized)| {
                let told = discover::told_beside(&file.path, recognized, &mut self.titles);
                let path = file.path.display().to_string();
                (file, pipeline.add_journal(path, provider, recognized.clone(), told))
            })
            .collect();
        let mut read = Merging::new(journals.iter().map(|(file, id)| (file.path.as_path(), *id)));
        read.all(&mut pipeline, |pipeline, part| {
            pipeline.settle_part(part, moment(modified), Some(self.now), &mut |_, outcome| {
                count_fault(outcome, &mut faults);
            });
        });
        for (path, why) in read.unreadable {
            self.unreadable(&path, &why);
        }
        for session in pipeline.sessions().collect::<Vec<_>>() {
            if let Some(process) = self.processes.get(&session) {
                let told = Some((process.evidence(), process.started_at));
                pipeline.tell_process((session.0, &session.1), told, self.now, &mut |_, outcome| {
                    count_fault(outcome, &mut faults);
                });
            }
            for hook in self.hooks.get(&session).into_iter().flatten() {
                hooks::take(&mut pipeline, hook, self.now, &mut |_, outcome| {
                    count_fault(outcome, &mut faults);
                });
            }
        }
        self.count_all(&faults);
        pipeline.projector_mut().mark_stale(self.now);
        let mut own = Some(faults);
        for mut report in pipeline.reports() {
            self.count_all(&report.diagnostics);
            // What came to nothing is said of the session, by its first journal.
            report.diagnostics.extend(own.take().into_iter().flatten());
            self.blame(&report.path, &report.diagnostics);
        }
        rows(pipeline.projector().records(), pipeline.beside())
    }

    fn read_stream(&mut self, file: &Candidate) -> Vec<Row> {
        let mut parser = JsonlParser::default();
        let mut projector = Projector::new(self.options.config);
        let mut owners = Owners::default();
        let mut faults = BTreeMap::new();
        let (now, modified) = (self.now, moment(file.modified));
        let read = read_chunks(&file.path, |chunk| {
            parser.push_journal(chunk, &mut |mut line, _| {
                // What is dated ahead of the clock came no later than the file was written.
                let ahead = line.event.observed_at.moment() > now;
                line.received_at = line.received_at.or_else(|| ahead.then(|| now.min(modified)));
                count_fault(&projector.take_line(&line), &mut faults);
                owners.hear(&line.event);
            });
        });
        if let Err(error) = read {
            self.unreadable(&file.path, &error.to_string());
        }
        parser.end();
        // As a monitor has it, but that nobody waits for a deadline. What lives now says nothing about another time.
        if self.options.now.is_none() && !owners.is_empty() {
            let here = Identity::own();
            let judged = |owner: &Owner| judge(owner, &here, look);
            for event in owners.look(&mut projector, None, judged, now) {
                count_fault(&projector.apply(&event, Some(now)), &mut faults);
            }
        }
        for (code, times) in parser.diagnostics().counts() {
            *faults.entry(code).or_default() += times;
        }
        self.count_all(&faults);
        self.blame(&file.path.display().to_string(), &faults);
        projector.mark_stale(self.now);
        rows(projector.records(), &BesideAll::new())
    }

    /// Adds the rows of a session, newest session first, but for what is not to be shown.
    fn add(&mut self, rows: Vec<Row>) {
        let oldest = self.oldest();
        let mut trees: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            match trees.last_mut() {
                Some(tree) if row.parent_key.is_some() => tree.push(row),
                _ => trees.push(vec![row]),
            }
        }
        for mut tree in trees {
            let is_shown = |row: &Row| {
                oldest.is_none_or(|oldest| row.freshness.at >= oldest)
                    || row.evidence.process_alive == Alive::Yes
            };
            if !tree.iter().any(is_shown) {
                self.report.hidden += 1;
                continue;
            }
            if self.options.active {
                keep_active(&mut tree);
                self.report.hidden += usize::from(tree.is_empty());
            }
            if let Some(newest) = tree.iter().map(|row| row.freshness.at).max() {
                self.trees.push((newest, tree.len()));
            }
            self.report.rows.append(&mut tree);
        }
    }

    fn count(&mut self, code: &str, times: u64) {
        *self.report.diagnostics.counts.entry(code.to_owned()).or_default() += times;
    }

    fn count_all(&mut self, counts: &BTreeMap<&'static str, u64>) {
        for (code, times) in counts {
            self.count(code, *times);
        }
    }

    /// Names a file behind counts.
    fn blame(&mut self, path: &str, counts: &BTreeMap<&'static str, u64>) {
        let files = &mut self.report.diagnostics.files;
        if !counts.is_empty() && files.len() < NAMED {
            let counts = counts.iter().map(|(code, times)| ((*code).to_owned(), *times)).collect();
            files.push(FileCounts { path: path.to_owned(), counts });
        }
    }

    fn unreadable(&mut self, path: &Path, why: &str) {
        self.report.diagnostics.unreadable.push(format!("{}: {why}", path.display()));
    }
}

impl Group {
    /// Whether the process that works on it is known to live.
    fn lives(&self, processes: &HashMap<SessionName, Process>, here: &Identity) -> bool {
        match self {
            Self::Session { provider, journals } => journals.first().is_some_and(|(_, recognized)| {
                let process = processes.get(&(provider.name(), recognized.session_id.clone()));
                process.is_some_and(|process| process.alive == Some(true))
            }),
            Self::Stream(file) => evidence::has_living_owner(&file.path, here),
        }
    }

    fn modified(&self) -> SystemTime {
        match self {
            Self::Session { journals, .. } => {
                journals.iter().map(|(file, _)| file.modified).max().unwrap_or(UNIX_EPOCH)
            }
            Self::Stream(file) => file.modified,
        }
    }
}

/// Keeps rows at work or waiting for somebody, and those above them.
fn keep_active(tree: &mut Vec<Row>) {
    let mut kept: Vec<String> = Vec::new();
    // Children stand behind their parents, so a parent of a kept row is still to come.
    for row in tree.iter().rev() {
        if !matches!(host_status(row), "idle" | "done") || kept.contains(&row.key) {
            kept.push(row.key.clone());
            kept.extend(row.parent_key.clone());
        }
    }
    tree.retain(|row| kept.contains(&row.key));
}

/// Reads a file from its start to its present end; what came before a fault is handed over before the fault is.
pub(crate) fn read_chunks(path: &Path, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut file = discover::open(path)?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        take(&buffer[..read]);
    }
    Ok(())
}

/// Counts an event that came to nothing or contradicts.
pub(crate) fn count_fault(
    outcome: &agent_lifecycle_core::pipeline::Outcome,
    faults: &mut BTreeMap<&'static str, u64>,
) {
    use agent_lifecycle_core::project::{Note, Status};
    let code = match outcome {
        Ok(applied) => match (applied.status, applied.note) {
            (Status::Applied | Status::Stale, _)
            | (Status::Deduplicated, None)
            | (_, Some(Note::History)) => return,
            (status, note) => note.map_or(status.as_str(), Note::as_str),
        },
        Err(refusal) => refusal.code.as_str(),
    };
    *faults.entry(code).or_default() += 1;
}

/// The moment of a file's time or the clock's.
pub(crate) fn moment(time: SystemTime) -> Moment {
    let millis = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Moment::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
