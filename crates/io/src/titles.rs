//! Titles that an index beside the folder of journals gives to threads.
//!
//! Input: the path of a journal, and its thread. Output: a title. Invariant: an index is read once, and the last line about a thread
//! counts. Never: holds more than [`ENTRIES`] titles of an index, or fails over a line.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::limits::LINE_BYTES;
use agent_lifecycle_core::decode::{Frame, Framer};
use agent_lifecycle_core::providers::native_id;
use serde_json::Value;

use crate::discover::regular_file;

/// The index in a provider's folder.
const INDEX: &str = "session_index.jsonl";
/// Threads of one index whose titles are held.
const ENTRIES: usize = 65_536;
/// Units kept of a title; more are never shown.
const TITLE_UNITS: usize = 512;
/// Folders above a journal that are looked into: year, month, day and the folder of journals, and the provider's.
const ABOVE: usize = 5;
const CHUNK_BYTES: usize = 64 * 1024;

/// See the module. What was read stays for the next journal.
#[derive(Debug, Default)]
pub struct Titles {
    indexes: HashMap<PathBuf, HashMap<String, String>>,
}

impl Titles {
    /// The title of `thread`, whose journal is at `journal`.
    pub(crate) fn title(&mut self, journal: &Path, thread: &str) -> Option<String> {
        let folders = journal.ancestors().skip(1).take(ABOVE);
        let below = |folder: &&Path| {
            folder.file_name().is_some_and(|name| name == "sessions" || name == "archived_sessions")
        };
        let home = folders.filter(below).find_map(Path::parent)?;
        if !self.indexes.contains_key(home) {
            self.indexes.insert(home.to_owned(), read(&home.join(INDEX)));
        }
        self.indexes[home].get(thread).cloned()
    }
}

/// The titles in an index; one that is not there or cannot be read has none.
fn read(index: &Path) -> HashMap<String, String> {
    let mut titles = HashMap::new();
    let Ok(mut file) = regular_file(index) else { return titles };
    let (mut framer, mut chunk) = (Framer::new(LINE_BYTES), vec![0; CHUNK_BYTES]);
    let mut take = |frame: Frame<'_>| {
        if let Frame::Line { bytes, .. } | Frame::Unterminated { bytes, .. } = frame
            && let Some((thread, title)) = entry(bytes)
            && (titles.len() < ENTRIES || titles.contains_key(&thread))
        {
            titles.insert(thread, title);
        }
    };
    while let Ok(read @ 1..) = file.read(&mut chunk) {
        framer.push(&chunk[..read], &mut take);
    }
    framer.end(&mut take);
    titles
}

fn entry(line: &[u8]) -> Option<(String, String)> {
    let entry: Value = serde_json::from_slice(line).ok()?;
    let title: String = entry.get("thread_name")?.as_str()?.trim().chars().take(TITLE_UNITS).collect();
    let thread = native_id(entry.get("id")?.as_str()?)?;
    (!title.is_empty()).then_some((thread, title))
}
