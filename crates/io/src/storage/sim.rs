//! A file system in memory that can lose power at any step.
//!
//! Input: the calls of [`Storage`]. Output: their answers, a copy of the state before each change, and every image that a crash may
//! leave of a state. Invariant: an image holds what was synced; of the rest any part may be there, in any order.

mod file;
mod images;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::Hash;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use file::SimFile;

use super::{File, FileKind, Open, Stat, Storage};

/// A file system; copies share it.
#[derive(Clone, Default)]
pub(crate) struct Sim(Arc<Mutex<State>>);

/// All of it at one moment.
#[derive(Clone, Default, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct State {
    nodes: BTreeMap<u64, Node>,
    names: BTreeMap<PathBuf, u64>,
    /// The names on the medium, and what was done to names since their directory was synced.
    durable: BTreeMap<PathBuf, u64>,
    pending: Vec<NameChange>,
    next_inode: u64,
    next_handle: u64,
    calls: u64,
    /// The wall clock in milliseconds, and what the test has noted so far.
    pub(crate) now: i64,
    pub(crate) notes: Vec<u64>,
    /// How often a file was synced.
    pub(crate) syncs: u64,
    /// What it cannot do.
    pub(crate) refuses_rename_new: bool,
    pub(crate) refuses_locks: bool,
    /// What goes wrong at which changing call.
    pub(crate) faults: BTreeMap<u64, Injected>,
    /// Of an image: whether names reached the medium in the order in which they were changed.
    pub(crate) in_order: bool,
    recording: bool,
    history: Vec<State>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Directory {
        modified: i64,
    },
    File {
        data: Vec<u8>,
        durable: Vec<u8>,
        pending: Vec<Change>,
        /// What a failed sync has dropped: a later one does not bring it to the medium.
        dropped: Vec<(usize, usize)>,
        locked_by: Option<u64>,
        modified: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NameChange {
    Add { path: PathBuf, inode: u64 },
    Remove { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
}

/// What goes wrong at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Injected {
    /// It fails and has no effect.
    Error(ErrorKind),
    /// A write takes only so many bytes.
    Short(usize),
}

impl Sim {
    pub(crate) fn with(directories: &[&str]) -> Self {
        let sim = Self::default();
        for path in directories {
            sim.state().add_node(Path::new(path), Node::Directory { modified: 0 });
        }
        let mut state = sim.state();
        state.durable = state.names.clone();
        state.pending.clear();
        drop(state);
        sim
    }

    pub(crate) fn of(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// From here on a copy of the state is kept before each change.
    pub(crate) fn record(&self) {
        self.state().recording = true;
    }

    /// The copies, and the present state.
    pub(crate) fn take_history(&self) -> Vec<State> {
        let mut state = self.state();
        state.recording = false;
        let mut history = std::mem::take(&mut state.history);
        history.push(state.clone());
        history
    }

    pub(crate) fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.state().content(path).cloned()
    }

    pub(crate) fn put(&self, path: &str, content: &[u8]) {
        let mut state = self.state();
        let modified = state.now;
        let node = Node::File {
            data: content.to_vec(),
            durable: content.to_vec(),
            pending: Vec::new(),
            dropped: Vec::new(),
            locked_by: None,
            modified,
        };
        let inode = state.add_node(Path::new(path), node);
        state.durable.insert(path.into(), inode);
        state.pending.pop();
    }

    pub(super) fn file(&self, inode: u64, handle: u64) -> impl File + use<> {
        SimFile { sim: self.clone(), inode, handle, closes: false }
    }

    pub(super) fn close(&self, handle: u64) {
        for node in self.state().nodes.values_mut() {
            if let Node::File { locked_by, .. } = node
                && *locked_by == Some(handle)
            {
                *locked_by = None;
            }
        }
    }

    pub(super) fn open_raw(&self, path: &Path, how: Open) -> io::Result<(u64, u64)> {
        let mut state = self.state();
        let found = state.names.get(path).copied();
        let inode = match (how, found) {
            (Open::New, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
            (Open::Read | Open::Append, None) => return Err(ErrorKind::NotFound.into()),
            (_, Some(inode)) => inode,
            (Open::New | Open::AppendOrNew, None) => {
                state.change()?;
                state.parent(path)?;
                let modified = state.now;
                let node = Node::File {
                    data: Vec::new(),
                    durable: Vec::new(),
                    pending: Vec::new(),
                    dropped: Vec::new(),
                    locked_by: None,
                    modified,
                };
                state.add_node(path, node)
            }
        };
        if matches!(state.nodes.get(&inode), Some(Node::Directory { .. })) {
            return Err(ErrorKind::IsADirectory.into());
        }
        state.next_handle += 1;
        Ok((inode, state.next_handle))
    }
}

impl State {
    pub(crate) fn content(&self, path: &str) -> Option<&Vec<u8>> {
        match self.nodes.get(self.names.get(Path::new(path))?)? {
            Node::File { data, .. } => Some(data),
            Node::Directory { .. } => None,
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path)
    }

    /// Counts a call that changes something, keeps a copy, and injects what is to go wrong.
    fn change(&mut self) -> io::Result<Option<usize>> {
        if self.recording {
            let copy = Self { recording: false, history: Vec::new(), ..self.without_history() };
            self.history.push(copy);
        }
        self.calls += 1;
        match self.faults.get(&self.calls) {
            Some(Injected::Error(kind)) => Err((*kind).into()),
            Some(Injected::Short(length)) => Ok(Some(*length)),
            None => Ok(None),
        }
    }

    fn without_history(&mut self) -> Self {
        let history = std::mem::take(&mut self.history);
        let copy = self.clone();
        self.history = history;
        copy
    }

    /// How many changing calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    fn parent(&self, path: &Path) -> io::Result<()> {
        let parent =
            path.parent().and_then(|parent| self.names.get(parent)).and_then(|inode| self.nodes.get(inode));
        match parent {
            Some(Node::Directory { .. }) => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn touch_parent(&mut self, path: &Path) {
        let now = self.now;
        let parent = path.parent().and_then(|parent| self.names.get(parent)).copied();
        if let Some(Node::Directory { modified }) = parent.and_then(|inode| self.nodes.get_mut(&inode)) {
            *modified = now;
        }
    }

    fn add_node(&mut self, path: &Path, node: Node) -> u64 {
        self.next_inode += 1;
        let inode = self.next_inode;
        self.nodes.insert(inode, node);
        self.names.insert(path.to_owned(), inode);
        self.pending.push(NameChange::Add { path: path.to_owned(), inode });
        self.touch_parent(path);
        inode
    }

    fn has_children(&self, path: &Path) -> bool {
        self.names.keys().any(|name| name.parent() == Some(path))
    }

    fn is_directory(&self, path: &Path) -> bool {
        let inode = self.names.get(path);
        matches!(inode.and_then(|inode| self.nodes.get(inode)), Some(Node::Directory { .. }))
    }

    fn rename(&mut self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        if !self.names.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        self.parent(to)?;
        if self.names.contains_key(to) {
            if !replace {
                return Err(ErrorKind::AlreadyExists.into());
            }
            match (self.is_directory(from), self.is_directory(to)) {
                (true, true) if self.has_children(to) => return Err(ErrorKind::DirectoryNotEmpty.into()),
                (true, false) => return Err(ErrorKind::NotADirectory.into()),
                (false, true) => return Err(ErrorKind::IsADirectory.into()),
                _ => {}
            }
        }
        move_names(&mut self.names, from, to);
        self.pending.push(NameChange::Rename { from: from.to_owned(), to: to.to_owned() });
        self.touch_parent(from);
        self.touch_parent(to);
        Ok(())
    }
}

/// Moves a name and, of a directory, all names in it.
fn move_names(names: &mut BTreeMap<PathBuf, u64>, from: &Path, to: &Path) {
    let moved: Vec<PathBuf> = names.keys().filter(|name| name.starts_with(from)).cloned().collect();
    for name in moved {
        if let (Some(inode), Ok(rest)) = (names.remove(&name), name.strip_prefix(from)) {
            let path = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            names.insert(path, inode);
        }
    }
}

impl Storage for Sim {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let (inode, handle) = self.open_raw(path, how)?;
        Ok(Box::new(SimFile { sim: self.clone(), inode, handle, closes: true }))
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(path).ok_or(ErrorKind::NotFound)?;
        match state.nodes.get(inode) {
            Some(Node::File { data, .. }) if data.len() <= limit => Ok(data.clone()),
            Some(Node::File { .. }) => Err(ErrorKind::InvalidData.into()),
            _ => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn write_new(&self, path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
        let mut file = self.open(path, Open::New)?;
        let mut rest = content;
        while !rest.is_empty() {
            rest = &rest[file.append(rest)?..];
        }
        if sync { file.sync() } else { Ok(()) }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let state = self.state();
        let inode = *state.names.get(path).ok_or(ErrorKind::NotFound)?;
        state.nodes.get(&inode).map(|node| node.stat(inode)).ok_or(ErrorKind::NotFound.into())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let state = self.state();
        let inside = state.names.keys().filter(|name| name.parent() == Some(directory));
        Ok(inside.filter_map(|name| name.file_name().map(OsString::from)).collect())
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.names.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.change()?;
        state.parent(path)?;
        let modified = state.now;
        state.add_node(path, Node::Directory { modified });
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        if !state.is_directory(path) {
            return Err(ErrorKind::NotFound.into());
        }
        if state.has_children(path) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        state.names.remove(path);
        state.pending.push(NameChange::Remove { path: path.to_owned() });
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        if state.is_directory(path) {
            return Err(ErrorKind::IsADirectory.into());
        }
        state.names.remove(path).ok_or(ErrorKind::NotFound)?;
        state.pending.push(NameChange::Remove { path: path.to_owned() });
        state.touch_parent(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.rename(from, to, true)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.refuses_rename_new {
            return Err(ErrorKind::Unsupported.into());
        }
        state.change()?;
        state.rename(from, to, false)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let inode = *state.names.get(from).ok_or(ErrorKind::NotFound)?;
        state.parent(to)?;
        if state.names.contains_key(to) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.names.insert(to.to_owned(), inode);
        state.pending.push(NameChange::Add { path: to.to_owned(), inode });
        Ok(())
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let is_here = |change: &NameChange| {
            let (NameChange::Add { path, .. } | NameChange::Remove { path }) = change else {
                let NameChange::Rename { from, .. } = change else { return false };
                return from.parent() == Some(directory);
            };
            path.parent() == Some(directory)
        };
        let (done, open) = std::mem::take(&mut state.pending).into_iter().partition(is_here);
        state.pending = open;
        let done: Vec<NameChange> = done;
        for change in done {
            match change {
                NameChange::Add { path, inode } => _ = state.durable.insert(path, inode),
                NameChange::Remove { path } => _ = state.durable.remove(&path),
                NameChange::Rename { from, to } => move_names(&mut state.durable, &from, &to),
            }
        }
        Ok(())
    }
}

impl Node {
    fn stat(&self, inode: u64) -> Stat {
        let (length, kind, modified) = match self {
            Self::Directory { modified } => (0, FileKind::Directory, *modified),
            Self::File { data, modified, .. } => (data.len() as u64, FileKind::File, *modified),
        };
        Stat { device: 1, inode, length, kind, modified }
    }
}
