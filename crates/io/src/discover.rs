//! Finds journals: in named files and folders, or in the places where agents keep theirs.
//!
//! Input: paths. Output: files with what their first bytes show them to be, and stores that cannot be read.
//! Invariant: content decides, never a name; the order does not depend on the file system. Never: follows a link in a folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::evidence::folder_of;
use crate::unsupported;
use agent_lifecycle_core::contract::Event;
use agent_lifecycle_core::contract::limits::LINE_BYTES;
use agent_lifecycle_core::decode::{Frame, Framer};
use agent_lifecycle_core::providers::{self, Provider, Recognized, Role, Told, native_id};

pub use crate::titles::Titles;
use crate::zst;

/// Bytes of lines by which a file is recognised.
const HEAD_BYTES: usize = 1024 * 1024;
/// Bytes that are read at most to find those lines behind over-long ones.
const SEARCHED_BYTES: usize = 64 * 1024 * 1024;
const CHUNK_BYTES: usize = 64 * 1024;
/// Lines that are tried for an event.
const LINES: usize = 1024;
/// A path and the folders above it whose session's file is looked for beside them: an agent of a workflow lies four below.
const ABOVE: usize = 5;
/// Folders below a named one that are looked into.
const DEPTH: usize = 12;

/// What a file is.
#[derive(Clone, Debug)]
pub enum Format {
    /// An agent's own journal.
    Journal(&'static dyn Provider, Recognized),
    /// A stream of schema-v1 events.
    SchemaV1,
    /// Neither.
    Unknown,
    /// Nothing yet.
    Blank,
}

/// A file that may hold a journal.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where it is.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Files that may hold a journal, by path.
    pub files: Vec<Candidate>,
    /// Places that exist and are read.
    pub places: Vec<PathBuf>,
    /// Stores of agents that this package cannot read.
    pub unsupported: Vec<PathBuf>,
    /// Files that were named themselves.
    pub named: Vec<PathBuf>,
    /// The files of the sessions that named paths are only a part of.
    pub parents: Vec<PathBuf>,
    /// Named paths that are not there or cannot be read, with the reason.
    pub missing: Vec<String>,
    /// Folders and files below named ones that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// The files behind `paths`: each file itself, with the journals of its sub-agents, and every `*.jsonl`, `*.ndjson` and `*.jsonl.zst`
/// below each folder.
#[must_use]
pub fn named(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        if let Err(error) = add_named(path, &mut found) {
            found.missing.push(format!("{}: {error}", path.display()));
        }
        found.unsupported.extend(unsupported::databases(path));
        found.parents.extend(parent_of(path));
    }
    found.tidy();
    found.parents.retain(|parent| !found.files.iter().any(|file| file.path == *parent));
    found.parents.sort();
    found.parents.dedup();
    found
}

fn add_named(path: &Path, found: &mut Found) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() {
        fs::read_dir(path)?;
        walk(path, DEPTH, found);
    } else {
        regular_file(path)?;
        add_file(path, found);
        found.named.push(path.to_owned());
        for beside in beside(path) {
            walk(&beside, DEPTH, found);
        }
        add_neighbours(path, found);
    }
    Ok(())
}

/// The files in the places where agents of this machine's user keep their journals, and the journals of publishers in the state
/// directory.
#[must_use]
pub fn default_places(home: Option<&Path>, state: Option<&Path>) -> Found {
    let mut found = Found::default();
    for place in providers::ALL.iter().flat_map(|provider| provider.places()) {
        let Some(folder) = folder_of(place, home).filter(|folder| folder.is_dir()) else { continue };
        walk(&folder, DEPTH, &mut found);
        found.places.push(folder);
    }
    // An empty folder of publishers is no evidence of anything: whoever publishes nothing is not seen there.
    if let Some(journals) = state.map(|state| state.join("journals")).filter(|folder| folder.is_dir()) {
        walk(&journals, DEPTH, &mut found);
    }
    found.unsupported = unsupported::stores(home);
    found.tidy();
    found
}

/// The file of the session that a sub-agent's journal or a session's folder is a part of, where it lies beside.
fn parent_of(path: &Path) -> Option<PathBuf> {
    let named_like = |folder: &Path| {
        let name = folder.file_name()?.to_str()?;
        Some(folder.with_file_name(format!("{name}.jsonl")))
    };
    let mut may_be: Vec<PathBuf> = path.ancestors().take(ABOVE).filter_map(named_like).collect();
    if path.is_file()
        && let Ok(Format::Journal(_, Recognized { session_id, role: Role::Child { .. }, .. })) = format(path)
        // A session id is no path.
        && Path::new(&session_id).components().count() == 1
    {
        may_be.push(path.with_file_name(format!("{session_id}.jsonl")));
    }
    let is_session =
        |path: &Path| matches!(format(path), Ok(Format::Journal(_, Recognized { role: Role::Root, .. })));
    may_be.into_iter().find(|parent| parent.is_file() && is_session(parent))
}

/// What the file at `path` is, by its first lines; over-long ones are passed over.
pub fn format(path: &Path) -> io::Result<Format> {
    let mut file = open(path)?;
    let mut framer = Framer::new(LINE_BYTES);
    let (mut head, mut chunk, mut read) = (Vec::new(), vec![0; CHUNK_BYTES], 0);
    while read < SEARCHED_BYTES && head.len() < HEAD_BYTES {
        let length = file.read(&mut chunk)?;
        let mut take = |frame: Frame<'_>| {
            if let Frame::Line { bytes, .. } | Frame::Unterminated { bytes, .. } = frame {
                head.extend_from_slice(bytes);
                head.push(b'\n');
            }
        };
        if length == 0 {
            framer.end(&mut take);
        } else {
            framer.push(&chunk[..length], &mut take);
        }
        read += length;
        match format_of(&head) {
            // Only over-long lines.
            Format::Blank if length == 0 && read > 0 && head.is_empty() => return Ok(Format::Unknown),
            Format::Unknown | Format::Blank if length > 0 => {}
            format => return Ok(format),
        }
    }
    Ok(Format::Unknown)
}

/// What a file is that begins with `head`.
#[must_use]
pub fn format_of(head: &[u8]) -> Format {
    if let Some((provider, recognized)) = providers::recognize(head) {
        return Format::Journal(provider, recognized);
    }
    if head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii().is_empty() {
        return Format::Blank;
    }
    let lines =
        head.split(|byte| *byte == b'\n').map(|line| line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    let is_event = |line: &[u8]| Event::from_json(line.trim_ascii_end()).is_ok();
    if lines.take(LINES).any(is_event) { Format::SchemaV1 } else { Format::Unknown }
}

/// What the files beside a journal tell of it. `titles` remembers the indexes that were read.
#[must_use]
pub fn told_beside(journal: &Path, recognized: &Recognized, titles: &mut Titles) -> Told {
    let thread = match &recognized.role {
        Role::Root => &recognized.session_id,
        Role::Child { agent_id } => agent_id,
    };
    Told { launch: launch_beside(journal), title: titles.title(journal, thread) }
}

/// The launch that the `.meta.json` beside a sub-agent's journal names.
fn launch_beside(journal: &Path) -> Option<String> {
    let mut text = Vec::new();
    let meta = regular_file(&journal.with_extension("meta.json")).ok()?;
    meta.take(64 * 1024).read_to_end(&mut text).ok()?;
    let meta: serde_json::Value = serde_json::from_slice(&text).ok()?;
    native_id(meta.get("toolUseId")?.as_str()?)
}

/// Opens a journal to be read to the end that it has now; a compressed one is read as what it holds.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = regular_file(path)?;
    let length = match file.metadata()?.len() {
        // What the system makes up on reading has no length.
        0 => u64::MAX,
        length => length,
    };
    zst::reader(file, length)
}

/// Opens a file that ends: a pipe or a device could keep a reader for ever.
pub fn regular_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

/// Where the journals of the sub-agents of a session's file may be.
fn beside(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let own = path.file_stem().map(|stem| folder.join(stem).join("subagents"));
    own.into_iter().chain([folder.join("subagents")]).filter(|folder| folder.is_dir()).collect()
}

/// Adds the sub-agents of a session's file that older versions keep in the same folder, among those of other sessions: the name says
/// which files may be ones, and the session that they name says whose.
fn add_neighbours(path: &Path, found: &mut Found) {
    let Ok(Format::Journal(provider, Recognized { session_id, role: Role::Root, .. })) = format(path) else {
        return;
    };
    for entry in path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let may_be = name.to_string_lossy().starts_with("agent-")
            && path.extension().is_some_and(|end| end == "jsonl")
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        if may_be
            && let Ok(Format::Journal(other, below)) = format(&path)
            && other.name() == provider.name()
            && below.session_id == session_id
            && below.role != Role::Root
        {
            add_file(&path, found);
        }
    }
}

fn walk(folder: &Path, depth: usize, found: &mut Found) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return found.unreadable.push((folder.to_owned(), error.to_string())),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && is_journal_name(&path) => {
                add_file(&path, found);
            }
            _ => {}
        }
    }
}

/// Whether a file is called like one that is compressed: it does not grow.
pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "zst")
}

/// Whether a file in a folder is looked into.
pub(crate) fn is_journal_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    [b".jsonl".as_slice(), b".ndjson", b".jsonl.zst"].iter().any(|end| name.ends_with(end))
}

fn add_file(path: &Path, found: &mut Found) {
    match fs::metadata(path).and_then(|metadata| metadata.modified()) {
        Ok(modified) => found.files.push(Candidate { path: path.to_owned(), modified }),
        Err(error) => found.unreadable.push((path.to_owned(), error.to_string())),
    }
}

impl Found {
    /// In the order of their paths, each once.
    fn tidy(&mut self) {
        self.files.sort_by(|left, right| left.path.cmp(&right.path));
        let mut seen = HashSet::new();
        // One file under two names would be two copies of one session's journal.
        self.files
            .retain(|file| seen.insert(fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone())));
    }
}
