//! Files that hooks drop, and what they say. `docs/hooks.md` has the format.
//!
//! Input: a file of the spool folder. Output: a [`Hook`], where it is one. Invariant: a file says the same whenever it is read.
//! Never: reads more than [`FILE_BYTES`], believes a member of another type.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::providers::{self, native_id};
use serde_json::Value;

use crate::discover::regular_file;

/// Bytes of a file that a hook dropped.
const FILE_BYTES: u64 = 64 * 1024;
/// Files that are read of the folder at once.
const FILES: usize = 4096;
/// The version of the format.
const VERSION: u64 = 1;

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Names the file.
    pub name: String,
    /// The provider's name.
    pub provider: &'static str,
    /// The session.
    pub session_id: String,
    /// The sub-agent that it is about; the session's own agent without it.
    pub agent_id: Option<String>,
    /// What happened, as the provider calls it.
    pub kind: String,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
    /// The tool that it is about.
    pub tool_name: Option<String>,
    /// What a notification is about.
    pub notification: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Moment,
}

/// Whether a file of the folder may be one.
pub(super) fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json")
}

/// What the file at `path` says; nothing where it is of another version or provider.
pub fn read(path: &Path) -> io::Result<Option<Hook>> {
    let mut text = Vec::new();
    match regular_file(path) {
        Ok(file) => file.take(FILE_BYTES).read_to_end(&mut text)?,
        // The writer tidies the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let file: Value = serde_json::from_slice(&text)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(parse(name, &file))
}

/// What the files of the folder at `path` say, oldest first, and which cannot be read; the newest [`FILES`] of them.
pub(crate) fn read_all(path: &Path) -> (Vec<Hook>, Vec<(PathBuf, io::Error)>) {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_name(path)).collect();
    // A name begins with its time.
    files.sort_unstable();
    let newest = files.split_off(files.len().saturating_sub(FILES));
    let (mut hooks, mut unreadable) = (Vec::new(), Vec::new());
    for file in newest {
        match read(&file) {
            Ok(hook) => hooks.extend(hook),
            Err(error) => unreadable.push((file, error)),
        }
    }
    (hooks, unreadable)
}

fn parse(name: String, file: &Value) -> Option<Hook> {
    if file["spoolVersion"].as_u64() != Some(VERSION) {
        return None;
    }
    let event = &file["event"];
    // A word that a screen could trip over is left out.
    let is_plain =
        |text: &&str| !text.trim().is_empty() && text.chars().all(|c| c.is_ascii() && !c.is_control());
    let text = |member: &str| event[member].as_str().filter(is_plain).map(str::to_owned);
    let provider = file["provider"].as_str()?;
    Some(Hook {
        name,
        provider: providers::ALL.into_iter().find(|known| known.name() == provider)?.name(),
        session_id: native_id(event["session_id"].as_str()?)?,
        agent_id: event["agent_id"].as_str().and_then(native_id),
        kind: text("hook_event_name")?,
        tool_use_id: event["tool_use_id"].as_str().and_then(native_id),
        tool_name: text("tool_name"),
        notification: text("notification_type"),
        reason: text("reason"),
        at: Moment::parse(file["receivedAt"].as_str()?)?,
    })
}
