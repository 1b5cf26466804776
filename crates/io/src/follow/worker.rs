//! The following thread: one for a process, whatever is followed.
//!
//! Input: the inbox. Output: events for clients, in the order in which they were requested.
//! Invariant: what changed is looked at when the system tells of it, and at the latest at the next regular look.
//! Never: reads what nobody requested, or waits for a client.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Event;
use super::entry::Entry;
use super::inbox::{Command, Inbox, Key, News, Target};
use super::notifier::MakeNotifier;
use super::watches::{Watch, Watches};

/// Looks between two readings of the inbox.
const LOOKS: usize = 64;

/// How often it looks on its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Where the system tells of changes: it may miss one.
    pub(super) sweep: Duration,
    /// How long the system may take to tell of a change that was seen.
    pub(super) grace: Duration,
}

/// See the module.
pub(super) struct Worker {
    timing: Timing,
    began: Instant,
    pub(super) watches: Watches,
    pub(super) entries: HashMap<Key, Entry>,
    /// Who is concerned by a change of a path.
    names: HashMap<PathBuf, Vec<Key>>,
    /// Who is concerned by what appears in a folder, and under which name that folder was given.
    pub(super) below: HashMap<PathBuf, Vec<(Key, PathBuf)>>,
    timers: BTreeSet<(Instant, Key)>,
    ready: VecDeque<Key>,
    /// Looks that wait until their client has taken events.
    pub(super) stalled: Vec<Key>,
    /// Open files, those that were not looked at for longest first.
    pub(super) open: BTreeMap<u64, Key>,
    pub(super) looks: u64,
    rechecked: Instant,
}

impl Worker {
    pub(super) fn new(inbox: Arc<Inbox>, make: MakeNotifier, timing: Timing) -> Self {
        let now = Instant::now();
        Self {
            watches: Watches::new(make, inbox),
            timing,
            began: now,
            entries: HashMap::new(),
            names: HashMap::new(),
            below: HashMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            stalled: Vec::new(),
            open: BTreeMap::new(),
            looks: 0,
            rechecked: now,
        }
    }

    /// Until it is stopped.
    pub(super) fn run(mut self) {
        loop {
            let next = self.timers.first().map(|(at, _)| *at);
            let until = if self.ready.is_empty() { next } else { Some(Instant::now()) };
            let news = self.watches.wait(until);
            if news.stop {
                return;
            }
            self.take(news);
            self.fire(Instant::now());
            for _ in 0..LOOKS {
                let Some(key) = self.ready.pop_front() else { break };
                self.look(key);
            }
        }
    }

    fn take(&mut self, News { commands, changed, lost, .. }: News) {
        for command in commands {
            match command {
                Command::Add { key, client, target, poll } => {
                    self.entries.insert(key, Entry::new(client, *target, poll));
                    self.attach(key);
                    self.schedule(key);
                }
                Command::Request(key) => {
                    if let Some(entry) = self.entries.get_mut(&key) {
                        entry.is_requested = true;
                    }
                    self.enqueue(key);
                }
                Command::Remove(key) => self.remove(key),
                Command::Room(client) => {
                    for key in mem::take(&mut self.stalled) {
                        let is_its = |entry: &Entry| Arc::ptr_eq(&entry.client, &client);
                        if self.entries.get(&key).is_some_and(is_its) {
                            self.enqueue(key);
                        } else {
                            self.stalled.push(key);
                        }
                    }
                }
                Command::Close(client) => {
                    let its =
                        |(key, entry): (&Key, &Entry)| Arc::ptr_eq(&entry.client, &client).then_some(*key);
                    let keys: Vec<Key> = self.entries.iter().filter_map(its).collect();
                    for key in keys {
                        self.remove(key);
                    }
                }
            }
        }
        if lost {
            for key in self.entries.keys().copied().collect::<Vec<_>>() {
                self.ask_all(key);
            }
        }
        for path in changed {
            self.change(&path);
        }
    }

    /// The system told of a change at a path.
    fn change(&mut self, path: &Path) {
        for key in self.names.get(path).cloned().unwrap_or_default() {
            self.prompt(key);
        }
        if self.watches.is_known(path) {
            self.watches.recheck(path, true);
            // Until it was watched again nobody told of changes in it.
            let concerned = |(key, entry): (&Key, &Entry)| {
                entry.folders.iter().any(|folder| folder == path).then_some(*key)
            };
            for key in self.entries.iter().filter_map(concerned).collect::<Vec<_>>() {
                self.ask_all(key);
                self.schedule(key);
            }
        }
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return };
        for (key, given) in self.below.get(folder).cloned().unwrap_or_default() {
            let Self { entries, watches, below, .. } = self;
            let Some(entry) = entries.get_mut(&key) else { continue };
            let Target::Folder(followed) = &mut entry.target else { continue };
            let mut enter = |folder: &Path| enter(watches, below, &mut entry.folders, key, folder);
            let appeared = followed.notice(&given.join(name), &mut enter);
            if !appeared.is_empty() {
                entry.appeared.extend(appeared);
                self.prompt(key);
            }
        }
    }

    /// As [`prompt`](Self::prompt), where it is not known what is new.
    fn ask_all(&mut self, key: Key) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.must_list = true;
        }
        self.prompt(key);
    }

    /// There may be something new, and somebody told of it.
    fn prompt(&mut self, key: Key) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.is_due = true;
            entry.is_unprompted = false;
            entry.is_suspect = false;
        }
        self.enqueue(key);
    }

    fn enqueue(&mut self, key: Key) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        if entry.is_due && entry.is_requested && !entry.is_queued {
            entry.is_queued = true;
            self.ready.push_back(key);
        }
    }

    /// What is to be looked at now without being told.
    fn fire(&mut self, now: Instant) {
        let mut is_sweep = false;
        while let Some((at, key)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, key));
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            entry.timer = None;
            entry.is_unprompted = !entry.is_due || entry.is_unprompted;
            entry.is_due = true;
            entry.must_list = true;
            if mem::take(&mut entry.is_suspect) {
                self.distrust(key);
            }
            if self.entries.get(&key).is_some_and(|entry| entry.folders.is_empty()) {
                self.attach(key);
            }
            is_sweep = true;
            self.enqueue(key);
            self.schedule(key);
        }
        if is_sweep && now.duration_since(self.rechecked) >= self.timing.sweep {
            self.rechecked = now;
            if self.watches.recheck_all() {
                self.schedule_all();
            }
        }
    }

    /// When to look at it without being told. Looks with the same rhythm fall together.
    pub(super) fn schedule(&mut self, key: Key) {
        let now = Instant::now();
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let is_told = !entry.folders.is_empty()
            && entry.folders.iter().all(|folder| *self.watches.watch(folder) == Watch::Told);
        let rhythm = match (is_told && !entry.is_unreadable && !entry.is_adrift(now), entry.is_suspect) {
            (true, false) => self.timing.sweep,
            (true, true) => self.timing.grace,
            (false, _) => entry.poll,
        };
        let nanos = rhythm.as_nanos().max(1);
        let passed = now.duration_since(self.began).as_nanos() / nanos + 1;
        let at = self.began + Duration::from_nanos(u64::try_from(passed * nanos).unwrap_or(u64::MAX / 2));
        let at = if entry.is_suspect { now + rhythm } else { at };
        if let Some(before) = entry.timer.replace(at) {
            self.timers.remove(&(before, key));
        }
        self.timers.insert((at, key));
    }

    fn schedule_all(&mut self) {
        for key in self.entries.keys().copied().collect::<Vec<_>>() {
            self.schedule(key);
        }
    }

    /// Has the folders watched that tell of its changes, as far as they are there.
    fn attach(&mut self, key: Key) {
        let Self { entries, watches, names, .. } = self;
        let Some(entry) = entries.get_mut(&key) else { return };
        if let Target::File(_, path) = &entry.target {
            for (folder, name) in places(path) {
                watches.add(&folder, false);
                names.entry(name.clone()).or_default().push(key);
                entry.folders.push(folder);
                entry.names.push(name);
            }
        }
        self.warn(key);
    }

    /// Tells the client once where the system does not tell.
    pub(super) fn warn(&mut self, key: Key) {
        let Some(entry) = self.entries.get(&key) else { return };
        let reason = entry.folders.iter().find_map(|folder| match self.watches.watch(folder) {
            Watch::Untold(reason) => Some(format!("{}: {reason}", folder.display())),
            Watch::Told | Watch::Missing => None,
        });
        if let Some(message) = reason
            && entry.client.is_first_warning()
        {
            entry.client.push(Event::Polling { key, message });
        }
    }

    fn distrust(&mut self, key: Key) {
        let folders = self.entries.get(&key).map(|entry| entry.folders.clone()).unwrap_or_default();
        let changed = folders.iter().filter(|folder| self.watches.distrust(folder)).count() > 0;
        if changed {
            self.warn(key);
            self.schedule_all();
        }
    }

    fn remove(&mut self, key: Key) {
        let Some(entry) = self.entries.remove(&key) else { return };
        if let Some(at) = entry.timer {
            self.timers.remove(&(at, key));
        }
        self.open.remove(&entry.opened);
        self.stalled.retain(|other| *other != key);
        for name in entry.names {
            retain(&mut self.names, &name, |other| *other != key);
        }
        for folder in entry.folders {
            retain(&mut self.below, &folder, |(other, _)| *other != key);
            self.watches.remove(&folder);
        }
    }
}

/// A followed folder looks into a folder from now on.
pub(super) fn enter(
    watches: &mut Watches,
    below: &mut HashMap<PathBuf, Vec<(Key, PathBuf)>>,
    folders: &mut Vec<PathBuf>,
    key: Key,
    given: &Path,
) {
    let folder = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
    let is_root = folders.is_empty();
    let keys = below.entry(folder.clone()).or_default();
    // It was there before, went, and came again.
    if keys.iter().any(|(other, _)| *other == key) {
        watches.recheck(&folder, true);
        return;
    }
    keys.push((key, given.to_owned()));
    watches.add(&folder, is_root);
    folders.push(folder);
}

fn retain<T>(map: &mut HashMap<PathBuf, Vec<T>>, path: &Path, keep: impl FnMut(&T) -> bool) {
    if let Some(list) = map.get_mut(path) {
        list.retain(keep);
        if list.is_empty() {
            map.remove(path);
        }
    }
}

/// The folders that tell of a file's changes, each with the path that they tell: where its name is, and where it is itself.
fn places(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Vec::new() };
    let Ok(folder) = fs::canonicalize(folder) else { return Vec::new() };
    let mut places = vec![(folder.clone(), folder.join(name))];
    if let Ok(itself) = fs::canonicalize(path)
        && itself != places[0].1
        && let Some(folder) = itself.parent()
    {
        places.push((folder.to_owned(), itself.clone()));
    }
    places
}
