//! Where a followed file was read to, in a form that survives a restart.
//!
//! Input: chunks. Output: the place behind the last complete line, with what stands before it as a hash.
//! Invariant: a place names the file, not only the offset. Never: keeps more than 512 bytes of a file.

use std::fs::Metadata;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

/// Bytes before a place by which it is recognised.
pub(super) const TAIL_BYTES: usize = 512;

/// Which file: two names of one file have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Elsewhere the time of its creation, which two files may share: the content before the place tells them apart then.
    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        let created =
            metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            device: created.map_or(0, |created| u64::from(created.subsec_nanos())),
            inode: created.map_or(0, |created| created.as_secs()),
        }
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file.
    pub file: FileId,
    /// Bytes from its start.
    pub offset: u64,
    /// How many bytes before the place the hash is of, at most 512.
    pub checked: u16,
    /// The hash of those bytes.
    pub tail: u64,
}

impl Position {
    /// A place with what stands before it, of which the last 512 bytes count.
    #[must_use]
    pub fn new(file: FileId, offset: u64, before: &[u8]) -> Self {
        let tail = &before[before.len().saturating_sub(TAIL_BYTES)..];
        let checked = u16::try_from(tail.len()).unwrap_or(u16::MAX);
        Self { file, offset, checked, tail: SipHasher13::new().hash(tail) }
    }

    /// Whether this stands before the place.
    pub(super) fn is_behind(&self, before: &[u8]) -> bool {
        before.len() == usize::from(self.checked) && SipHasher13::new().hash(before) == self.tail
    }
}

/// How a chunk follows what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// More of the same.
    Append,
    /// The file has another content from its start.
    Replace,
    /// The file became shorter than what was read; it begins anew.
    Truncate,
}

impl ChunkKind {
    /// The word of the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Replace => "replace",
            Self::Truncate => "truncate",
        }
    }
}

/// New bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// How they follow what came before.
    pub kind: ChunkKind,
    /// The bytes; may be empty where the kind says enough.
    pub bytes: Vec<u8>,
    /// The file that they were read from.
    pub file: FileId,
    /// Where in it they begin.
    pub offset: u64,
}

/// Keeps the place behind the last complete line of the chunks that were taken: where to go on after a restart.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    recent: Vec<u8>,
    position: Option<Position>,
}

impl Trail {
    /// Takes the next chunk.
    pub fn take(&mut self, chunk: &Chunk) {
        if chunk.kind != ChunkKind::Append {
            self.recent.clear();
            self.position = None;
        }
        let before = self.recent.len();
        self.recent.extend_from_slice(&chunk.bytes);
        if let Some(end) = chunk.bytes.iter().rposition(|byte| *byte == b'\n') {
            let offset = chunk.offset + end as u64 + 1;
            self.position = Some(Position::new(chunk.file, offset, &self.recent[..=before + end]));
        }
        self.recent.drain(..self.recent.len().saturating_sub(TAIL_BYTES));
    }

    /// Behind the last complete line; nothing where no line is complete.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.position
    }
}
