//! Stores of agents that this package cannot read, so that they are named and not taken for silence.
//!
//! Input: a home folder, or a path that somebody named. Output: the paths of such stores. Invariant: what is named exists.
//! Never: opens more of a store than its first bytes.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::discover::regular_file;

/// Where other agents keep their sessions: the variable that names the folder above, that folder in the home folder, and the store.
const STORES: [(Option<&str>, &str, &str); 7] = [
    (None, ".copilot", "session-state"),
    (None, ".cursor", "chats"),
    (None, ".gemini", "tmp"),
    (None, ".qwen", "tmp"),
    (Some("XDG_DATA_HOME"), ".local/share", "goose/sessions"),
    (Some("XDG_DATA_HOME"), ".local/share", "opencode/opencode.db"),
    (Some("XDG_DATA_HOME"), ".local/share", "opencode/storage"),
];
/// How a database of `SQLite` begins (the file format's header string).
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Stores named of one folder.
const NAMED: usize = 32;

/// The stores of this machine's user.
#[must_use]
pub fn stores(home: Option<&Path>) -> Vec<PathBuf> {
    let store = |&(variable, above, store): &(Option<&str>, &str, &str)| {
        let named = variable.and_then(std::env::var_os).filter(|value| !value.is_empty()).map(PathBuf::from);
        Some(named.or_else(|| home.map(|home| home.join(above)))?.join(store))
    };
    STORES.iter().filter_map(store).filter(|store| store.exists()).collect()
}

/// The databases behind a path that somebody named: itself, or those in the folder.
#[must_use]
pub fn databases(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return if is_database(path) { vec![path.to_owned()] } else { Vec::new() };
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let databases =
        files.map(|entry| entry.path()).filter(|path| has_database_name(path) && is_database(path));
    let mut databases: Vec<PathBuf> = databases.take(NAMED).collect();
    databases.sort();
    databases
}

fn has_database_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "db" || end == "sqlite" || end == "sqlite3")
}

fn is_database(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = regular_file(path);
    file.is_ok_and(|file| file.take(SQLITE.len() as u64).read_to_end(&mut head).is_ok()) && head == SQLITE
}
