//! What the journal and its lock need of a file system and of the system around it, and nothing more.
//!
//! Input: paths and bytes. Output: what the system answers. Invariant: each call is one step that a crash or another process may
//! come before or after, so that a simulated system can try every one. Never: buffers, retries or decides.

mod disk;
#[cfg(test)]
pub(crate) mod record;
#[cfg(test)]
pub(crate) mod sim;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

pub use disk::{Disk, Machine};

use crate::process::{Identity, Seen};

/// What kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a link, a pipe, a device.
    Other,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stat {
    /// The device that it is on.
    pub device: u64,
    /// Its number on that device.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What it is.
    pub kind: FileKind,
    /// When its content was last changed, in milliseconds of Unix time.
    pub modified: i64,
}

impl Stat {
    /// Whether both are of one file.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Open {
    /// To be read. It must be there.
    Read,
    /// To be read, and written at its end only. It must be there.
    Append,
    /// As `Append`, and made where it is missing; never follows a link.
    AppendOrNew,
    /// As `Append`, and must not be there.
    New,
}

/// A file system. Links at the end of a path are not followed, but for [`Open::Read`].
pub trait Storage: Send + Sync {
    /// Opens a regular file; what it makes is 0600. Anything but a regular file is an error.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>>;
    /// The content of a small file; more than `limit` bytes is an error.
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>>;
    /// Makes a file with this content, which must not be there; with `sync` it is on the medium before this returns.
    fn write_new(&self, path: &Path, content: &[u8], sync: bool) -> io::Result<()>;
    /// What has this name.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// The names in a directory.
    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>>;
    /// Makes a directory, 0700.
    fn make_dir(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Removes the name of a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Gives something another name, in place of what has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives something another name that nothing has. [`io::ErrorKind::Unsupported`] where the system cannot.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name that nothing has.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Brings the names in a directory to the medium.
    fn sync_dir(&self, directory: &Path) -> io::Result<()>;
}

/// An open file. Dropping it closes it and gives up its lock.
pub trait File: Send {
    /// What is known of it.
    fn stat(&self) -> io::Result<Stat>;
    /// Reads from `offset` on; 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes at the end, perhaps less than all.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Makes room for `bytes` more without changing the length. [`io::ErrorKind::Unsupported`] where the system cannot.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;
    /// Cuts it to `length`.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Brings its content and length to the medium.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes the operating system's exclusive lock on it, which belongs to this opening alone. `false` where another has it;
    /// [`io::ErrorKind::Unsupported`] where the file system has none.
    fn try_lock(&mut self) -> io::Result<bool>;
}

/// Clocks, chance and processes.
pub trait System: Send + Sync {
    /// The wall clock, in milliseconds of Unix time.
    fn now(&self) -> i64;
    /// A clock that never jumps.
    fn elapsed(&self) -> Duration;
    /// Waits.
    fn sleep(&self, time: Duration);
    /// A random number.
    fn random(&self) -> u64;
    /// This process.
    fn identity(&self) -> Identity;
    /// What the system says of a pid.
    fn look(&self, pid: i32) -> Seen;
}
