//! The thread of a monitor: files as they grow, time as it passes.
//!
//! Input: events of a follower, clocks, evidence. Output: [`Notice`]s. Invariant: everything goes through one [`Live`], in order.
//! Never: holds the projection while it waits.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::steady::Steady;

use super::live::Live;
use super::options::{Notice, Options};
use super::recorder::Recorder;
use super::spool;
use crate::discover;
use crate::evidence;
use crate::follow::{ChunkKind, Event, FileOptions, FolderOptions, Follower, Key, Start};
use crate::process::{Identity, judge, look};
use crate::status::moment;

/// Folders below a followed one that are looked into.
const DEPTH: usize = 12;
/// Bytes that are read of a file at once.
const CHUNK_BYTES: usize = 256 * 1024;
/// Time between looks at files of which the system does not tell.
const POLL: Duration = Duration::from_millis(500);
/// Time between looks at the clock.
const TICK: Duration = Duration::from_secs(1);
/// Ticks between looks at processes and at what stands beside journals.
const SLOW_TICKS: u32 = 2;

/// Where notices go.
pub(super) type Sink = Arc<dyn Fn(Notice) + Send + Sync>;

/// What the thread shares with whoever asks.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) live: Mutex<Live>,
    pub(super) state: Mutex<State>,
}

/// What is known of the monitor itself.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) is_closing: bool,
    /// Files that are followed and were not written for long.
    pub(super) hidden: usize,
    /// Something was asked of it that may have changed rows.
    pub(super) is_touched: bool,
}

impl Shared {
    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module.
pub(super) struct Watch {
    options: Options,
    shared: Arc<Shared>,
    follower: Follower,
    sink: Sink,
    recorder: Option<Recorder>,
    files: HashMap<Key, Followed>,
    folders: HashMap<Key, Folder>,
    /// The files that appeared.
    paths: HashSet<PathBuf>,
    /// What was there when it was opened and is not read yet.
    unread: HashSet<Key>,
    is_ready: bool,
    started: Instant,
    clock: Steady,
    cursor: Option<String>,
    told_at: Instant,
    is_changed: bool,
}

struct Followed {
    path: PathBuf,
    /// It was not written for long; it is read from its start when it is.
    is_dormant: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Journals,
    Spool,
}

impl Watch {
    pub(super) fn new(
        options: Options,
        shared: Arc<Shared>,
        follower: Follower,
        recorder: Option<Recorder>,
        sink: Sink,
    ) -> Self {
        let now = moment(SystemTime::now());
        let started = Instant::now();
        Self {
            options,
            shared,
            follower,
            sink,
            recorder,
            files: HashMap::new(),
            folders: HashMap::new(),
            paths: HashSet::new(),
            unread: HashSet::new(),
            is_ready: false,
            started,
            clock: Steady::new(now, 0),
            cursor: None,
            told_at: started,
            is_changed: true,
        }
    }

    /// Runs until the monitor is closed.
    pub(super) fn run(mut self) {
        self.look_at_processes();
        self.follow_all();
        self.be_ready_when_read();
        let mut ticked = Instant::now();
        let mut ticks = 0_u32;
        while !self.shared.state().is_closing {
            let mut waited = TICK.saturating_sub(ticked.elapsed());
            if self.is_changed {
                waited = waited.min(self.options.batch.saturating_sub(self.told_at.elapsed()));
            }
            if let Some(event) = self.follower.next(waited) {
                self.take(event);
            }
            let is_touched = std::mem::take(&mut self.shared.state().is_touched);
            self.is_changed |= is_touched;
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                ticks = ticks.wrapping_add(1);
                self.tick(ticks.is_multiple_of(SLOW_TICKS));
            }
            if self.is_changed && self.told_at.elapsed() >= self.options.batch {
                self.tell();
            }
        }
        self.tell();
        if let Some(recorder) = self.recorder {
            recorder.close();
        }
    }

    fn now(&mut self) -> Moment {
        self.clock.read(moment(SystemTime::now()), self.elapsed()).now
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn follow_all(&mut self) {
        let spool = self.options.spool.clone().map(|path| (path, Folder::Spool));
        let folders: Vec<_> =
            self.options.folders.iter().map(|path| (path.clone(), Folder::Journals)).chain(spool).collect();
        for (path, kind) in folders {
            let accepts = match kind {
                Folder::Journals => discover::is_journal_name,
                Folder::Spool => spool::is_name,
            };
            let options = FolderOptions { depth: DEPTH, accepts };
            match self.follower.add_folder(&path, options, POLL) {
                Ok(key) => {
                    self.folders.insert(key, kind);
                    self.unread.insert(key);
                    self.follower.request(key);
                }
                Err(error) => self.complain("unreadable", Some(&path), &error.to_string()),
            }
        }
        for path in self.options.files.clone() {
            self.follow(path, false);
        }
    }

    fn follow(&mut self, path: PathBuf, is_dormant: bool) {
        let start = if is_dormant { Start::End } else { Start::Beginning };
        match self.follower.add_file(&path, FileOptions { start, poll: POLL, most_bytes: CHUNK_BYTES }) {
            Ok(key) => {
                self.shared.state().hidden += usize::from(is_dormant);
                if !is_dormant && !self.is_ready {
                    self.unread.insert(key);
                }
                self.files.insert(key, Followed { path, is_dormant });
                self.follower.request(key);
            }
            Err(error) => self.complain("unreadable", Some(&path), &error.to_string()),
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Chunk { file, chunk } => self.take_chunk(file, chunk.kind, &chunk.bytes),
            Event::Appeared { folder, paths } => {
                for path in paths {
                    match self.folders.get(&folder) {
                        Some(Folder::Spool) => self.take_hook(&path),
                        _ => self.appeared(path),
                    }
                }
                self.follower.request(folder);
            }
            Event::CaughtUp { key } => {
                self.unread.remove(&key);
            }
            Event::Unreadable { key, message } => {
                // What cannot be read is not waited for.
                self.unread.remove(&key);
                let path = self.files.get(&key).map(|file| file.path.clone());
                self.complain("unreadable", path.as_deref(), &message);
            }
            Event::Polling { message, .. } => self.complain("polling", None, &message),
            Event::Full { .. } => {
                self.complain("too_many_files", None, "a folder has more files than are followed");
            }
        }
        self.be_ready_when_read();
    }

    /// Says that it is ready, once what was there is read.
    fn be_ready_when_read(&mut self) {
        if !self.is_ready && self.unread.is_empty() {
            self.is_ready = true;
            self.tick(false);
            self.tell();
            (self.sink)(Notice::Ready);
        }
    }

    fn appeared(&mut self, path: PathBuf) {
        // A name that comes back is followed already.
        if !self.paths.insert(path.clone()) {
            return;
        }
        let now = self.now();
        let written = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).map(moment);
        let active = i64::try_from(self.options.active_within.as_millis()).unwrap_or(i64::MAX);
        let is_old = written.is_ok_and(|written| written < now.plus_millis(-active));
        let is_dormant = is_old && !self.lives(&path);
        if !discover::is_compressed(&path) {
            return self.follow(path, is_dormant);
        }
        // Compressed journals do not grow.
        if is_dormant {
            self.shared.state().hidden += 1;
            return;
        }
        let read = crate::status::read_chunks(&path, |chunk| self.shared.live().take(&path, chunk, now));
        if let Err(error) = read {
            self.complain("unreadable", Some(&path), &error.to_string());
        }
        self.is_changed = true;
    }

    /// Whether a journal that was not written for long is of an agent whose process lives.
    fn lives(&self, path: &Path) -> bool {
        let published =
            self.options.spool.as_deref().and_then(Path::parent).map(|state| state.join("journals"));
        if path.parent() == published.as_deref() && published.is_some() {
            return evidence::has_living_owner(path, &Identity::own());
        }
        let shown = path.to_string_lossy();
        self.shared.live().living_sessions().any(|session| shown.contains(session))
    }

    fn take_chunk(&mut self, key: Key, kind: ChunkKind, bytes: &[u8]) {
        let Some(Followed { path, is_dormant }) = self.files.get(&key) else { return };
        let path = path.clone();
        if *is_dormant {
            self.files.remove(&key);
            self.follower.remove(key);
            self.shared.state().hidden -= 1;
            return self.follow(path, false);
        }
        let now = self.now();
        let mut live = self.shared.live();
        if kind != ChunkKind::Append {
            live.replace(&path);
        }
        live.take(&path, bytes, now);
        let is_foreign = live.is_foreign(&path);
        drop(live);
        self.is_changed = true;
        if is_foreign {
            self.files.remove(&key);
            self.unread.remove(&key);
            self.follower.remove(key);
        } else {
            self.follower.request(key);
        }
    }

    fn take_hook(&mut self, path: &Path) {
        match spool::read(path) {
            Ok(Some(hook)) => {
                let now = self.now();
                // What the journal has is read first, so that what a hook says comes on top of it.
                let mut live = self.shared.live();
                live.settle(now);
                live.hook(hook, now);
                drop(live);
                self.is_changed = true;
            }
            Ok(None) => {}
            Err(error) => self.complain("hook_unreadable", Some(path), &error.to_string()),
        }
    }

    fn tick(&mut self, is_slow: bool) {
        let elapsed = self.elapsed();
        let reading = self.clock.read(moment(SystemTime::now()), elapsed);
        if is_slow {
            self.look_at_processes();
        }
        // Until all that was there is read, nothing is concluded from a part of it.
        if !self.is_ready {
            return;
        }
        let mut live = self.shared.live();
        live.settle(reading.now);
        live.tick(reading.now, reading.jumped);
        if is_slow {
            live.look_beside();
        }
        let Options { asks, authorities, .. } = &self.options;
        let is_asked = |source: &str| *asks || authorities.iter().any(|named| named == source);
        let questions = live.take_questions(is_asked, reading.now);
        drop(live);
        self.is_changed = true;
        if !questions.is_empty() {
            (self.sink)(Notice::Questions(questions));
        }
    }

    fn look_at_processes(&mut self) {
        let here = Identity::own();
        let processes =
            self.options.processes.then(|| evidence::processes(self.options.home.as_deref(), &here));
        let now = self.now();
        let mut live = self.shared.live();
        if let Some(processes) = processes {
            live.set_processes(processes, now);
        }
        // A journal that says who writes it may lie anywhere.
        live.look_at_owners(|owner| judge(owner, &here, look), now);
    }

    /// Tells what changed since it was last told.
    fn tell(&mut self) {
        let now = self.now();
        let mut live = self.shared.live();
        if self.is_ready {
            live.settle(now);
            if live.has_new_owner() {
                look_at_owners(&mut live, now);
            }
        }
        let record = live.take_record();
        // Before it is ready nobody waits for parts; then all there is comes at once.
        let changes = self.is_ready.then(|| live.changes_since(self.cursor.as_deref()));
        drop(live);
        if let Some(recorder) = &mut self.recorder {
            recorder.append(&record, &*self.sink);
        }
        self.told_at = Instant::now();
        self.is_changed = false;
        if let Some(changes) = changes {
            self.cursor = Some(changes.cursor.clone());
            if changes.reset || !(changes.upserted.is_empty() && changes.removed.is_empty()) {
                (self.sink)(Notice::Changes(changes));
            }
        }
    }

    fn complain(&self, code: &'static str, path: Option<&Path>, message: &str) {
        let path = path.map(|path| path.display().to_string());
        (self.sink)(Notice::Diagnostic { code, path, message: message.to_owned() });
    }
}

fn look_at_owners(live: &mut Live, now: Moment) {
    if !live.has_owners() {
        return;
    }
    let here = Identity::own();
    live.look_at_owners(|owner| judge(owner, &here, look), now);
}
