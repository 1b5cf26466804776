//! What all instances of one process know of each other's journals.
//!
//! Input: canonical paths. Output: whether a path is free. Invariant: one instance for each path and process, across all worker
//! threads and environments that share this library.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::fault::{Fault, FaultCode};

fn open() -> MutexGuard<'static, HashSet<PathBuf>> {
    static OPEN: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The journals whose last sync failed; copies share it.
#[derive(Clone, Default)]
pub(super) struct Unsynced(Arc<Mutex<HashSet<PathBuf>>>);

impl Unsynced {
    /// That of this process.
    pub(super) fn of_process() -> Self {
        static KNOWN: LazyLock<Unsynced> = LazyLock::new(Unsynced::default);
        KNOWN.clone()
    }

    pub(super) fn add(&self, path: &Path) {
        self.paths().insert(path.to_owned());
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.paths().contains(path)
    }

    pub(super) fn forget(&self, path: &Path) {
        self.paths().remove(path);
    }

    fn paths(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have a journal open; dropped, the path is free again.
#[derive(Debug)]
pub(super) struct Registration(PathBuf);

impl Registration {
    /// Registers the canonical `path`.
    pub(super) fn take(path: &Path) -> Result<Self, Fault> {
        if open().insert(path.to_owned()) {
            return Ok(Self(path.to_owned()));
        }
        let message = format!(
            "single writer: {} is already open in this process; use that instance, or close it first",
            path.display()
        );
        Err(Fault::new(FaultCode::SingleWriter, path, message))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        open().remove(&self.0);
    }
}

/// The one name of a journal: its directory without links, and itself without one where it is there.
pub(super) fn canonical(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(path) => return Ok(path),
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Err(_) if path.is_symlink() => {
            return Err(io::Error::new(ErrorKind::NotFound, "it is a link to nothing"));
        }
        Err(_) => {}
    }
    let name: OsString = match path.file_name() {
        Some(name) => name.to_owned(),
        None => return Err(io::Error::new(ErrorKind::InvalidInput, "it names no file")),
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let message = format!("the folder {} is not there; create it first", parent.display());
            io::Error::new(ErrorKind::NotFound, message)
        }
        _ => error,
    })?;
    Ok(folder.join(name))
}
