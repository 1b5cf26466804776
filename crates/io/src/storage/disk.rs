//! The real file system and the real machine.
//!
//! Input and output: see [`Storage`] and [`System`]. Invariant: every file is opened close-on-exec and without waiting (a pipe in a
//! journal's place must not hang its host). Never: follows a link where something is written.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, Metadata, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{File, FileKind, Open, Stat, Storage, System};
use crate::process::{self, Identity, Seen};

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// The clocks and processes of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Storage for Disk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match how {
            Open::Read => {}
            Open::Append => _ = options.append(true),
            Open::AppendOrNew => _ = options.append(true).create(true),
            Open::New => _ = options.append(true).create_new(true),
        }
        platform::careful(&mut options, how != Open::Read);
        let file = options.open(path)?;
        if file.metadata()?.is_file() {
            return Ok(Box::new(file));
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"))
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let mut options = OpenOptions::new();
        platform::careful(options.read(true), true);
        let mut content = Vec::new();
        options.open(path)?.take(limit as u64 + 1).read_to_end(&mut content)?;
        if content.len() > limit {
            return Err(io::Error::new(ErrorKind::InvalidData, "it is too large"));
        }
        Ok(content)
    }

    fn write_new(&self, path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
        let mut options = OpenOptions::new();
        platform::careful(options.write(true).create_new(true), true);
        let mut file = options.open(path)?;
        file.write_all(content)?;
        if sync { file.sync_data() } else { Ok(()) }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        fs::symlink_metadata(path).map(|metadata| stat(&metadata))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        platform::make_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        platform::sync_dir(directory)
    }
}

impl File for fs::File {
    fn stat(&self) -> io::Result<Stat> {
        self.metadata().map(|metadata| stat(&metadata))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        platform::read_at(self, offset, buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        platform::reserve(self, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        match fs::File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) if platform::has_no_locks(&error) => {
                Err(ErrorKind::Unsupported.into())
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn stat(metadata: &Metadata) -> Stat {
    let kind = if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    };
    let (device, inode) = platform::identity(metadata);
    let modified = metadata.modified().map_or(0, unix_millis);
    Stat { device, inode, length: metadata.len(), kind, modified }
}

fn unix_millis(time: SystemTime) -> i64 {
    let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    time.duration_since(UNIX_EPOCH).map_or_else(|before| -millis(before.duration()), millis)
}

impl System for Machine {
    fn now(&self) -> i64 {
        unix_millis(SystemTime::now())
    }

    fn elapsed(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn random(&self) -> u64 {
        // The keys of a new state are random, and so is what they make of nothing.
        RandomState::new().build_hasher().finish()
    }

    fn identity(&self) -> Identity {
        Identity::own()
    }

    fn look(&self, pid: i32) -> Seen {
        process::look(pid)
    }
}

#[cfg(unix)]
mod platform {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    pub(super) fn careful(options: &mut OpenOptions, own: bool) {
        let mut flags = OFlags::NONBLOCK;
        if own {
            flags |= OFlags::NOFOLLOW;
        }
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }

    pub(super) fn make_dir(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    pub(super) fn identity(metadata: &Metadata) -> (u64, u64) {
        (metadata.dev(), metadata.ino())
    }

    pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    pub(super) fn sync_dir(directory: &Path) -> io::Result<()> {
        // File systems that cannot sync a directory have nothing to sync it to.
        match fs::File::open(directory)?.sync_all() {
            Err(error)
                if matches!(error.raw_os_error().map(Errno::from_raw_os_error), Some(Errno::INVAL)) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn has_no_locks(error: &io::Error) -> bool {
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        matches!(errno, Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL))
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(ErrorKind::Unsupported.into()),
            other => other.map_err(io::Error::from),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        let end = file.metadata()?.len();
        match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Err(ErrorKind::Unsupported.into()),
            other => other.map_err(io::Error::from),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn reserve(_file: &File, _bytes: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

#[cfg(windows)]
mod platform {
    use std::fs::{self, File, Metadata, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::os::windows::fs::{FileExt, MetadataExt};
    use std::path::Path;

    pub(super) fn careful(_options: &mut OpenOptions, _own: bool) {}

    pub(super) fn make_dir(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    /// The file's index needs an unstable call; the time of its making stands in for it.
    pub(super) fn identity(metadata: &Metadata) -> (u64, u64) {
        (0, metadata.creation_time())
    }

    pub(super) fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        file.seek_read(buffer, offset)
    }

    pub(super) fn sync_dir(_directory: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn has_no_locks(error: &io::Error) -> bool {
        error.kind() == ErrorKind::Unsupported
    }

    pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn reserve(_file: &File, _bytes: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}
