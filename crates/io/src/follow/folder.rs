//! The files below a followed folder.
//!
//! Input: that somebody looks at it, or that something at a path changed. Output: files that were not there before.
//! Invariant: a file that is there appears once. Never: follows a link, or remembers more than 65,536 names.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Names that are remembered.
const MOST_NAMES: usize = 65_536;
/// A folder that was changed this shortly before it was listed may have been changed again with the same time.
pub(super) const COARSE: Duration = Duration::from_secs(2);

/// Which files of a folder count.
#[derive(Clone, Copy, Debug)]
pub struct FolderOptions {
    /// Folders below it that are looked into.
    pub depth: usize,
    /// Whether a file counts, by its path.
    pub accepts: fn(&Path) -> bool,
}

/// See the module.
#[derive(Debug)]
pub struct FollowedFolder {
    root: PathBuf,
    options: FolderOptions,
    listings: HashMap<PathBuf, Listing>,
    names: usize,
    is_full: bool,
}

#[derive(Debug, Default)]
struct Listing {
    depth: usize,
    /// The folder's time when it was listed, where that says that a folder with the same time is as it was.
    settled: Option<SystemTime>,
    files: HashSet<OsString>,
}

impl FollowedFolder {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(root: PathBuf, options: FolderOptions) -> Self {
        Self { root, options, listings: HashMap::new(), names: 0, is_full: false }
    }

    /// Whether there are more names than are remembered: files may be missing.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folders that are looked into.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.listings.keys().map(PathBuf::as_path)
    }

    /// What appeared anywhere. `enter` is called with each new folder before it is listed.
    pub fn poll(&mut self, enter: &mut dyn FnMut(&Path)) -> Vec<PathBuf> {
        let mut appeared = Vec::new();
        let known: Vec<PathBuf> = self.listings.keys().cloned().collect();
        if known.is_empty() && self.root.is_dir() {
            self.enter(&self.root.clone(), self.options.depth, enter, &mut appeared);
        }
        for folder in known {
            self.list(&folder, enter, &mut appeared);
        }
        appeared
    }

    /// What appeared at a path directly in a folder that is looked into.
    pub fn notice(&mut self, path: &Path, enter: &mut dyn FnMut(&Path)) -> Vec<PathBuf> {
        let mut appeared = Vec::new();
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return appeared };
        let Some(depth) = self.listings.get(folder).map(|listing| listing.depth) else { return appeared };
        match fs::symlink_metadata(path) {
            Ok(metadata) => {
                self.meet(folder, name.to_owned(), metadata.file_type(), depth, enter, &mut appeared);
            }
            Err(_) => self.forget(path),
        }
        appeared
    }

    fn enter(
        &mut self,
        folder: &Path,
        depth: usize,
        enter: &mut dyn FnMut(&Path),
        appeared: &mut Vec<PathBuf>,
    ) {
        if self.listings.contains_key(folder) || !self.has_room() {
            return;
        }
        enter(folder);
        self.listings.insert(folder.to_owned(), Listing { depth, ..Listing::default() });
        self.names += 1;
        self.list(folder, enter, appeared);
    }

    fn list(&mut self, folder: &Path, enter: &mut dyn FnMut(&Path), appeared: &mut Vec<PathBuf>) {
        let modified = fs::symlink_metadata(folder).and_then(|metadata| metadata.modified());
        let Some(listing) = self.listings.get_mut(folder) else { return };
        let depth = listing.depth;
        let Ok(modified) = modified else { return self.forget(folder) };
        if listing.settled == Some(modified) {
            return;
        }
        let age = SystemTime::now().duration_since(modified).unwrap_or_default();
        listing.settled = (age > COARSE).then_some(modified);
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut present = HashSet::new();
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            present.insert(entry.file_name());
            self.meet(folder, entry.file_name(), kind, depth, enter, appeared);
        }
        if let Some(listing) = self.listings.get_mut(folder) {
            let before = listing.files.len();
            listing.files.retain(|name| present.contains(name));
            self.names -= before - listing.files.len();
        }
    }

    fn meet(
        &mut self,
        folder: &Path,
        name: OsString,
        kind: FileType,
        depth: usize,
        enter: &mut dyn FnMut(&Path),
        appeared: &mut Vec<PathBuf>,
    ) {
        let path = folder.join(&name);
        if kind.is_dir() && depth > 0 {
            self.enter(&path, depth - 1, enter, appeared);
        } else if kind.is_file() && (self.options.accepts)(&path) {
            let is_known = self.listings.get(folder).is_some_and(|listing| listing.files.contains(&name));
            if is_known || !self.has_room() {
                return;
            }
            if let Some(listing) = self.listings.get_mut(folder) {
                listing.files.insert(name);
                self.names += 1;
                appeared.push(path);
            }
        }
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.names < MOST_NAMES;
        self.is_full |= !has_room;
        has_room
    }

    /// A path is gone: what comes there appears anew.
    fn forget(&mut self, path: &Path) {
        let gone: Vec<PathBuf> =
            self.listings.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        for folder in gone {
            self.names -= self.listings.remove(&folder).map_or(0, |listing| listing.files.len() + 1);
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if self.listings.get_mut(folder).is_some_and(|listing| listing.files.remove(name)) {
            self.names -= 1;
        }
    }
}
