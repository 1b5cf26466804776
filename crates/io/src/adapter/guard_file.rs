//! The guard that is embedded in the addon, as a file that can be run.
//!
//! Input: its bytes and a private folder. Output: the path of an executable that holds exactly these bytes.
//! Invariant: whatever stands at the path is compared byte by byte before it is run; a file of another is replaced.

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The bytes of the guard, which is embedded as a Zstandard frame.
///
/// # Errors
/// Where it is none.
pub fn unpack_guard(compressed: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    StreamingDecoder::new(compressed).map_err(io::Error::other)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes `bytes` to `folder` unless they are there, under a name with their hash.
///
/// # Errors
/// Where the folder or the file cannot be written.
pub fn write_guard(folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    let end = if cfg!(windows) { ".exe" } else { "" };
    let path = folder.join(format!("guard-{:032x}{end}", hasher.finish128().as_u128()));
    if is_whole(&path, bytes) {
        return Ok(path);
    }
    // Under a name of this process, then by rename: others may be at it too, and nobody sees half of it.
    let draft = folder.join(format!("guard-{}.new", std::process::id()));
    let written = write(&draft, bytes).and_then(|()| fs::rename(&draft, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(path)
}

fn is_whole(path: &Path, bytes: &[u8]) -> bool {
    let Ok(stat) = fs::symlink_metadata(path) else { return false };
    stat.is_file()
        && is_private(&stat)
        && stat.len() == bytes.len() as u64
        && fs::read(path).is_ok_and(|found| found == bytes)
}

#[cfg(unix)]
fn is_private(stat: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    stat.mode() & 0o777 == 0o700 && stat.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

fn write(draft: &Path, bytes: &[u8]) -> io::Result<()> {
    // What is there was left by a process that had this number, or laid there.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
    let mut file = options.open(draft)?;
    file.write_all(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::write_guard;

    #[test]
    fn the_file_holds_the_bytes_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = write_guard(folder.path(), b"one").unwrap();
        let check = || {
            assert_eq!(write_guard(folder.path(), b"one").unwrap(), path);
            assert_eq!(fs::read(&path).unwrap(), b"one");
            let stat = fs::symlink_metadata(&path).unwrap();
            assert!(stat.is_file());
            assert_eq!(stat.mode() & 0o7777, 0o700);
        };
        check();
        let inode = fs::metadata(&path).unwrap().ino();
        check();
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "not written again");
        fs::write(&path, b"two").unwrap();
        check();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        check();
        let other = folder.path().join("other");
        fs::write(&other, b"one").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o700)).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        check();
        assert_ne!(write_guard(folder.path(), b"two").unwrap(), path);
        // What an earlier process left half is no hindrance.
        fs::write(folder.path().join(format!("guard-{}.new", std::process::id())), b"half").unwrap();
        fs::remove_file(&path).unwrap();
        check();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no leftovers");
    }
}
