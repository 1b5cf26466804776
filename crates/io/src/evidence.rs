//! Which processes work on which sessions, and whether they live.
//!
//! Input: the folders where providers keep a file for each process. Output: for each session its process, alive, dead or unknown.
//! Invariant: a process is called dead on proof only. Never: reads more than [`FILES`] files, or a large one.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::{self, Alive};
use agent_lifecycle_core::providers::{self, Place, ProcessClaim};

use crate::discover::regular_file;
use crate::process::{Identity, Owner, Verdict, judge, look, started_at};
use crate::status::moment;

/// Files of processes that are read of one provider.
pub const FILES: usize = 4096;
/// Bytes of such a file.
const FILE_BYTES: u64 = 64 * 1024;
/// A process writes its file after it was started, and clocks are set now and then.
const SLACK_MS: i64 = 5_000;

/// A session: the provider's name and its id there.
pub type SessionName = (&'static str, String);

/// The process of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Whether it lives, where that can be told.
    pub alive: Option<bool>,
    /// When it was started, as its file says.
    pub started_at: Option<Moment>,
}

impl Process {
    /// As rows have it.
    #[must_use]
    pub fn evidence(&self) -> project::Process {
        let alive = match self.alive {
            Some(true) => Alive::Yes,
            Some(false) => Alive::No,
            None => Alive::Unknown,
        };
        project::Process { pid: self.pid.unsigned_abs(), alive }
    }
}

/// The processes that files in the default places of this user's home name, as this process, `here`, sees them.
#[must_use]
pub fn processes(home: Option<&Path>, here: &Identity) -> HashMap<SessionName, Process> {
    let mut found = HashMap::new();
    for provider in providers::ALL {
        let Some(folder) = provider.processes().and_then(|place| folder_of(&place, home)) else { continue };
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let files = entries.flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        for claim in files.take(FILES).filter_map(|path| provider.process(&read(&path)?)) {
            let process =
                Process { pid: claim.pid, alive: is_alive(&claim, here), started_at: claim.started_at };
            let name = (provider.name(), claim.session_id);
            // Of several that name one session, one that lives speaks for it.
            let known: Option<&Process> = found.get(&name);
            if known.is_none_or(|known| known.alive != Some(true)) {
                found.insert(name, process);
            }
        }
    }
    found
}

/// Whether the first line of a publisher's journal names a process, and that lives.
pub(crate) fn has_living_owner(journal: &Path, here: &Identity) -> bool {
    let Some(head) = read(journal) else { return false };
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let note: Option<serde_json::Value> = serde_json::from_slice(first).ok();
    let owner = note.as_ref().and_then(|note| note.get("details")?.get("owner"));
    owner.is_some_and(|owner| matches!(judge(&Owner::read(owner), here, look), Verdict::Alive(_)))
}

/// The folders where the agents of this user keep their journals, also those that are not there yet.
#[must_use]
pub fn journal_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let places = providers::ALL.iter().flat_map(|provider| provider.places());
    places.filter_map(|place| folder_of(place, home)).collect()
}

/// The folder that `place` means on this machine.
#[must_use]
pub fn folder_of(place: &Place, home: Option<&Path>) -> Option<PathBuf> {
    let named = std::env::var_os(place.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(named.or_else(|| home.map(|home| home.join(place.folder)))?.join(place.below))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    regular_file(path).ok()?.take(FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Whether the process that a file names is the one that wrote it and lives.
fn is_alive(claim: &ProcessClaim, here: &Identity) -> Option<bool> {
    match judge(&Owner { pid: Some(claim.pid), ..Owner::default() }, here, look) {
        Verdict::Dead { .. } => Some(false),
        Verdict::Unknown(_) => None,
        Verdict::Alive(_) => {
            let began = started_at(claim.pid).map(moment).zip(claim.started_at);
            // A process that started later only has the pid.
            Some(began.is_none_or(|(began, claimed)| began <= claimed.plus_millis(SLACK_MS)))
        }
    }
}
