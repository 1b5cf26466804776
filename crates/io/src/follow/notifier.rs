//! Who tells of changes in folders: the system, on Linux itself, elsewhere through `notify`.
//!
//! Input: folders to be watched. Output: changed paths, in the inbox or to whoever waits.
//! Invariant: what is not watched is said to be not watched. Never: watches a file system that other machines may write.

use std::io;
#[cfg(not(target_os = "linux"))]
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

#[cfg(not(target_os = "linux"))]
use notify::event::EventKind;
#[cfg(not(target_os = "linux"))]
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::inbox::{Inbox, News};

/// Whether one watch covers the folders below as cheaply as the folder itself.
pub(super) const COVERS_BELOW: bool = cfg!(any(target_os = "macos", windows));

/// Watches folders.
pub(super) trait Notifier: Send {
    /// Tells of changes of the folder's entries from now on; where [`COVERS_BELOW`] and `below`, also of those below.
    fn watch(&mut self, folder: &Path, below: bool) -> io::Result<()>;
    /// No longer. That it was not watched is no error.
    fn unwatch(&mut self, folder: &Path);
    /// Waits for news: what is in the inbox, and what the notifier itself has to tell, at the latest when the time has come.
    fn wait(&mut self, inbox: &Inbox, until: Option<Instant>) -> News {
        inbox.take(until)
    }
}

/// Makes a notifier that tells the inbox, or whoever [waits](Notifier::wait).
pub(super) type MakeNotifier = Box<dyn Fn(Arc<Inbox>) -> io::Result<Box<dyn Notifier>> + Send>;

/// The system's.
#[cfg(target_os = "linux")]
pub(super) fn system() -> MakeNotifier {
    Box::new(|inbox| Ok(Box::new(super::inotify::Inotify::new(&inbox)?) as Box<dyn Notifier>))
}

/// The system's.
#[cfg(not(target_os = "linux"))]
pub(super) fn system() -> MakeNotifier {
    Box::new(|inbox| {
        let tell = move |told: notify::Result<notify::Event>| match told {
            Ok(event) if event.need_rescan() => inbox.lost(),
            // Reading is what we do ourselves.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            Ok(event) => inbox.changed(event.paths),
            Err(_) => inbox.lost(),
        };
        let watcher = notify::recommended_watcher(tell).map_err(into_io)?;
        Ok(Box::new(System(watcher)) as Box<dyn Notifier>)
    })
}

#[cfg(not(target_os = "linux"))]
struct System(RecommendedWatcher);

#[cfg(not(target_os = "linux"))]
impl Notifier for System {
    fn watch(&mut self, folder: &Path, below: bool) -> io::Result<()> {
        let mode = if below && COVERS_BELOW { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        self.0.watch(folder, mode).map_err(into_io)
    }

    fn unwatch(&mut self, folder: &Path) {
        // A folder that is gone is not watched any more.
        drop(self.0.unwatch(folder));
    }
}

#[cfg(not(target_os = "linux"))]
fn into_io(error: notify::Error) -> io::Error {
    match error.kind {
        notify::ErrorKind::Io(error) => error,
        notify::ErrorKind::PathNotFound => ErrorKind::NotFound.into(),
        notify::ErrorKind::MaxFilesWatch => {
            io::Error::new(ErrorKind::StorageFull, "the system's limit of watches is reached")
        }
        _ => io::Error::other(error),
    }
}

/// Whether changes of a folder may be made by other machines, of which nobody tells.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn is_remote(folder: &Path) -> bool {
    /// NFS, SMB in three versions, 9P (the Windows drives of WSL), FUSE, Ceph, AFS twice, Coda, Lustre, GFS2, OCFS2, shared folders of a virtual machine.
    const REMOTE: [u32; 14] = [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x0BD0_0BD0,
        0x0116_1970,
        0x7461_636F,
        0x786F_4256,
    ];
    rustix::fs::statfs(folder)
        .is_ok_and(|about| REMOTE.into_iter().any(|magic| i128::from(magic) == i128::from(about.f_type)))
}

/// Whether changes of a folder may be made by other machines, of which nobody tells.
#[cfg(target_os = "macos")]
pub(super) fn is_remote(folder: &Path) -> bool {
    /// Set for file systems on this machine.
    const MNT_LOCAL: u32 = 0x1000;
    rustix::fs::statfs(folder).is_ok_and(|about| about.f_flags & MNT_LOCAL == 0)
}

/// Whether changes of a folder may be made by other machines, of which nobody tells.
#[cfg(windows)]
pub(super) fn is_remote(folder: &Path) -> bool {
    use std::path::{Component, Prefix};
    let Some(Component::Prefix(prefix)) = folder.components().next() else { return false };
    matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..))
}

/// Whether changes of a folder may be made by other machines, of which nobody tells.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos", windows)))]
pub(super) fn is_remote(_folder: &Path) -> bool {
    true
}
