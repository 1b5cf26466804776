//! Tests of following, on real files; the system's watcher is real, fails, or is silent.

mod files;
mod folders;
mod threads;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::position::{Chunk, ChunkKind};

/// A temporary folder and a journal in it.
pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn append(&self, name: &str, bytes: impl AsRef<[u8]>) {
        append(&self.path(name), bytes);
    }

    /// In place: the file stays the same one.
    pub(super) fn rewrite(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }
}

pub(super) fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(bytes.as_ref()).unwrap();
}

/// `append "..."` and so on.
pub(super) fn shown(chunk: &Chunk) -> String {
    format!("{} {:?}", chunk.kind.as_str(), String::from_utf8_lossy(&chunk.bytes))
}

/// What a consumer has after chunks: nothing of before a replace or a truncate is left.
pub(super) fn content<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Vec<u8> {
    chunks.into_iter().fold(Vec::new(), |mut content, chunk| {
        if chunk.kind != ChunkKind::Append {
            content.clear();
        }
        assert_eq!(chunk.offset, content.len() as u64);
        content.extend_from_slice(&chunk.bytes);
        content
    })
}
