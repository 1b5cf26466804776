//! What `SQLite` and the file system say, as faults of a store.
//!
//! Input: an error, and what was to be done. Output: a [`BindingFault`]. Never: repeats a value of a row.

use std::io;
use std::path::Path;

use agent_lifecycle_core::runtime::binding::{BindingCode, BindingFault};
use rusqlite::{Error, ErrorCode};

/// A fault of a statement on the store at `path`.
pub(super) fn of_sqlite(path: &Path, error: &Error) -> BindingFault {
    let path = path.display();
    let (code, message) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            BindingCode::Busy,
            format!("other writers kept {path} busy for all the time that was waited; try again"),
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
            BindingCode::Corrupt,
            format!(
                "{path} is damaged; put back a copy of it, after `agent-lifecycle bindings repair` has told more"
            ),
        ),
        Some(ErrorCode::ConstraintViolation) => (
            BindingCode::Corrupt,
            format!(
                "{path} holds what its own constraints forbid; `agent-lifecycle bindings repair` tells more"
            ),
        ),
        Some(ErrorCode::DiskFull) => {
            (BindingCode::Io, format!("the disk of {path} is full; make room and try again"))
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => (
            BindingCode::Io,
            format!(
                "cannot open or write {path} and the files beside it; check the permissions of file and folder"
            ),
        ),
        Some(other) => {
            // Whether a commit that failed on the medium counts is known to the next reader only.
            (
                BindingCode::Io,
                format!("{path} failed ({other:?}); read the binding again before anything is decided"),
            )
        }
        // A column of another type than the table allows, or text that is no UTF-8.
        None => (
            BindingCode::Corrupt,
            format!(
                "{path} holds a value that no store writes; `agent-lifecycle bindings repair` tells more"
            ),
        ),
    };
    BindingFault::new(code, message)
}

/// A fault of the file system.
pub(super) fn of_io(doing: &str, path: &Path, error: &io::Error) -> BindingFault {
    BindingFault::new(BindingCode::Io, format!("cannot {doing} {}: {error}", path.display()))
}

/// A file that is no store.
pub(super) fn no_store(path: &Path, why: &str) -> BindingFault {
    BindingFault::new(BindingCode::NoStore, format!("{} {why}", path.display()))
}
