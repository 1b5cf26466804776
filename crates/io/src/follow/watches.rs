//! Which folders are watched, and which must be looked at instead.
//!
//! Input: folders that matter to somebody. Output: for each whether the system tells of its changes.
//! Invariant: a folder is watched once, whoever needs it. Never: trusts a watch that missed a change.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::inbox::{Inbox, News};
use super::notifier::{COVERS_BELOW, MakeNotifier, Notifier, is_remote};
use super::position::FileId;

/// How a folder is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// The system tells of changes.
    Told,
    /// It is not there.
    Missing,
    /// The system does not tell, now or at all; the reason for people.
    Untold(String),
}

struct Folder {
    users: usize,
    watch: Watch,
    id: Option<FileId>,
    below: bool,
    /// It is not worth trying again.
    is_final: bool,
}

/// See the module.
pub(super) struct Watches {
    make: MakeNotifier,
    inbox: Arc<Inbox>,
    notifier: Option<Box<dyn Notifier>>,
    folders: HashMap<PathBuf, Folder>,
}

impl Watches {
    pub(super) fn new(make: MakeNotifier, inbox: Arc<Inbox>) -> Self {
        Self { make, inbox, notifier: None, folders: HashMap::new() }
    }

    /// Waits for news, at the latest until the time has come.
    pub(super) fn wait(&mut self, until: Option<Instant>) -> News {
        match &mut self.notifier {
            Some(notifier) => notifier.wait(&self.inbox, until),
            None => self.inbox.take(until),
        }
    }

    /// Somebody needs a folder, or all `below` it.
    pub(super) fn add(&mut self, folder: &Path, below: bool) -> &Watch {
        if !self.folders.contains_key(folder) {
            let made = Folder { users: 0, watch: Watch::Missing, id: None, below, is_final: false };
            self.folders.insert(folder.to_owned(), made);
            self.begin(folder);
        }
        let Some(entry) = self.folders.get_mut(folder) else { return &Watch::Missing };
        entry.users += 1;
        &entry.watch
    }

    /// Somebody no longer needs it.
    pub(super) fn remove(&mut self, folder: &Path) {
        let Some(entry) = self.folders.get_mut(folder) else { return };
        entry.users -= 1;
        if entry.users == 0 {
            self.folders.remove(folder);
            if let Some(notifier) = &mut self.notifier {
                notifier.unwatch(folder);
            }
        }
    }

    pub(super) fn watch(&self, folder: &Path) -> &Watch {
        self.folders.get(folder).map_or(&Watch::Missing, |entry| &entry.watch)
    }

    pub(super) fn is_known(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Something `happened` to the folder itself, or may have: whether its watch is another now.
    pub(super) fn recheck(&mut self, folder: &Path, happened: bool) -> bool {
        let Some(entry) = self.folders.get(folder) else { return false };
        // A new folder may have the number of the old one.
        if entry.is_final || !happened && entry.watch == Watch::Told && entry.id == id_of(folder) {
            return false;
        }
        let before = entry.watch.clone();
        if before == Watch::Told
            && let Some(notifier) = &mut self.notifier
        {
            notifier.unwatch(folder);
        }
        self.begin(folder);
        before != *self.watch(folder)
    }

    /// Rechecks all: whether one is watched in another way now.
    pub(super) fn recheck_all(&mut self) -> bool {
        let all: Vec<PathBuf> = self.folders.keys().cloned().collect();
        all.into_iter().filter(|folder| self.recheck(folder, false)).count() > 0
    }

    /// The system did not tell of a change.
    pub(super) fn distrust(&mut self, folder: &Path) -> bool {
        let Some(entry) = self.folders.get_mut(folder).filter(|entry| entry.watch == Watch::Told) else {
            return false;
        };
        entry.watch = Watch::Untold("the system did not tell of a change".to_owned());
        entry.is_final = true;
        true
    }

    fn begin(&mut self, folder: &Path) {
        let id = id_of(folder);
        let below = self.folders.get(folder).is_some_and(|entry| entry.below);
        let (watch, is_final) = if id.is_none() {
            (Watch::Missing, false)
        } else if is_remote(folder) {
            (Watch::Untold("it may be on another machine".to_owned()), true)
        } else if self.is_covered(folder) {
            (Watch::Told, false)
        } else {
            match self.try_watch(folder, below) {
                Ok(()) => (Watch::Told, false),
                Err(error) if error.kind() == ErrorKind::NotFound => (Watch::Missing, false),
                Err(error) => (Watch::Untold(error.to_string()), false),
            }
        };
        if let Some(entry) = self.folders.get_mut(folder) {
            entry.watch = watch;
            entry.id = id;
            entry.is_final = is_final;
        }
    }

    /// Whether a watch of a folder above covers it.
    fn is_covered(&self, folder: &Path) -> bool {
        let covers = |above: &Path| {
            self.folders.get(above).is_some_and(|entry| entry.below && entry.watch == Watch::Told)
        };
        COVERS_BELOW && folder.ancestors().skip(1).any(covers)
    }

    fn try_watch(&mut self, folder: &Path, below: bool) -> io::Result<()> {
        let notifier = match &mut self.notifier {
            Some(notifier) => notifier,
            empty => empty.insert((self.make)(Arc::clone(&self.inbox))?),
        };
        notifier.watch(folder, below)
    }
}

fn id_of(folder: &Path) -> Option<FileId> {
    fs::metadata(folder).ok().filter(fs::Metadata::is_dir).map(|metadata| FileId::of(&metadata))
}
