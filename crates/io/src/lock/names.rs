//! The names beside a journal that its lock uses.
//!
//! Input: the journal's path. Output: `<path>.lock` and what stands beside it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(super) struct Names {
    lock: PathBuf,
}

impl Names {
    pub(super) fn of(journal: &Path) -> Self {
        let mut lock = journal.as_os_str().to_owned();
        lock.push(".lock");
        Self { lock: lock.into() }
    }

    /// The lock: a directory.
    pub(super) fn lock(&self) -> &Path {
        &self.lock
    }

    /// The file that ours lock by the operating system.
    pub(super) fn guard(&self) -> PathBuf {
        self.with(".guard")
    }

    /// A lock that is being made.
    pub(super) fn made(&self, token: &str) -> PathBuf {
        self.with(&format!(".{token}.tmp"))
    }

    /// A lock that is being removed by its owner.
    pub(super) fn released(&self, token: &str) -> PathBuf {
        self.with(&format!(".{token}.released"))
    }

    /// A lock that is being removed for its dead owner.
    pub(super) fn stale(&self, token: &str) -> PathBuf {
        self.with(&format!(".stale-{token}"))
    }

    /// The directory that all of them are in.
    pub(super) fn directory(&self) -> &Path {
        match self.lock.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Whether a name in the directory is that of a lock being made or removed.
    pub(super) fn is_leftover(&self, name: &OsStr) -> bool {
        let own = self.lock.file_name().unwrap_or_default().as_encoded_bytes();
        let Some(rest) = name.as_encoded_bytes().strip_prefix(own) else { return false };
        rest.starts_with(b".stale-")
            || rest.len() > b"..tmp".len() && rest.starts_with(b".") && rest.ends_with(b".tmp")
            || rest.len() > b"..released".len() && rest.starts_with(b".") && rest.ends_with(b".released")
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut name: OsString = self.lock.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::Names;

    #[test]
    fn leftovers_are_told_from_everything_else() {
        let names = Names::of(Path::new("/d/j.jsonl"));
        for (name, expected) in [
            ("j.jsonl.lock.stale-1", true),
            ("j.jsonl.lock.1.tmp", true),
            ("j.jsonl.lock.1.released", true),
            ("j.jsonl.lock", false),
            ("j.jsonl.lock.guard", false),
            ("j.jsonl.lock.tmp", false),
            ("j.jsonl.lockx.1.tmp", false),
            ("other.jsonl.lock.1.tmp", false),
            ("j.jsonl", false),
        ] {
            assert_eq!(names.is_leftover(OsStr::new(name)), expected, "{name}");
        }
        assert_eq!(names.directory(), Path::new("/d"));
        assert_eq!(Names::of(Path::new("j")).directory(), Path::new("."));
    }
}
