//! One instance of a journal on one thread: what it remembers between operations.
//!
//! Input: storage, system, path, options. Output: the state that the other modules work on.
//! Invariant: what is remembered is checked against the file before it is used.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::fault::Fault;
use super::registry::Unsynced;
use super::tail::Tail;
use super::{Durability, Options};
use crate::lock::{LockOptions, Locker, Notice};
use crate::storage::{File, Open, Storage, System};

/// An instance without its thread.
pub(super) struct Engine {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) system: Arc<dyn System>,
    pub(super) path: PathBuf,
    pub(super) options: Options,
    pub(super) locker: Locker,
    /// The end of the journal as this instance knows it.
    pub(super) tail: Option<Tail>,
    /// Whether the directory was synced since this instance was opened.
    pub(super) is_directory_synced: bool,
    /// Whether a sync failed: no appends until it is opened again.
    pub(super) has_failed_sync: bool,
    /// When another holder was met last, by the clock that never jumps.
    pub(super) met_other: Option<Duration>,
    pub(super) notices: Vec<Notice>,
    pub(super) unsynced: Unsynced,
}

impl Engine {
    /// An instance for the journal at the canonical `path`.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        system: Arc<dyn System>,
        path: &Path,
        options: Options,
        unsynced: Unsynced,
    ) -> Self {
        let lock = LockOptions {
            timeout: options.lock_timeout,
            stale: options.stale_lock,
            sync_owner: options.durability == Durability::Fsync,
        };
        Self {
            locker: Locker::new(Arc::clone(&storage), Arc::clone(&system), path, lock),
            storage,
            system,
            path: path.to_owned(),
            options,
            tail: None,
            is_directory_synced: false,
            has_failed_sync: false,
            met_other: None,
            notices: Vec::new(),
            unsynced,
        }
    }

    /// The journal's directory.
    pub(super) fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// A path beside the journal.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut path: OsString = self.path.as_os_str().to_owned();
        path.push(suffix);
        path.into()
    }

    /// A file that becomes the journal by a rename; what a crash leaves of it is swept by the next holder.
    pub(super) fn draft_path(&self) -> PathBuf {
        self.beside(&format!(".{:016x}.draft", self.system.random()))
    }

    /// The journal, by name.
    pub(super) fn open(&self, how: Open) -> Result<Box<dyn File>, Fault> {
        self.storage.open(&self.path, how).map_err(|error| self.io("open", &error))
    }

    /// The journal, by name, if it is there.
    pub(super) fn open_if_there(&self, how: Open) -> Result<Option<Box<dyn File>>, Fault> {
        match self.storage.open(&self.path, how) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io("open", &error)),
        }
    }

    /// The error of the system at the journal itself.
    pub(super) fn io(&self, doing: &str, error: &io::Error) -> Fault {
        Fault::io(doing, &self.path, error)
    }

    pub(super) fn fsyncs(&self) -> bool {
        self.options.durability == Durability::Fsync
    }

    /// Numbers `n` of the files `<path>.<prefix><n>`, ascending.
    pub(super) fn numbered(&self, prefix: &str) -> Result<Vec<u64>, Fault> {
        let names =
            self.storage.list(self.directory()).map_err(|error| self.io("list the folder of", &error))?;
        let own = self.beside(&format!(".{prefix}"));
        let own = own.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        let mut numbers: Vec<u64> = names
            .iter()
            .filter_map(|name| {
                let digits = name.as_encoded_bytes().strip_prefix(&own[..])?;
                let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && digits[0] != b'0';
                std::str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Writes all of `bytes`, and nothing else where that fails in the middle.
pub(super) fn append_all(file: &mut dyn File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
