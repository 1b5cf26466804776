//! Opening the file of a store: making it, knowing it, bringing it to this version.
//!
//! Input: a path. Output: a connection on which every promise of the store holds, or why not.
//! Invariant: what is made is 0600. Never: opens the file beside `SQLite` (closing it would drop `SQLite`'s locks on it), changes a
//! file that is no store.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent_lifecycle_core::runtime::binding::{BindingCode, BindingFault, Details};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, TransactionBehavior};

use super::Options;
use super::fault::{no_store, of_io, of_sqlite};
use crate::storage::{Disk, Open, Storage};

/// "aglb": which program's file it is.
const APPLICATION: i64 = 0x6167_6c62;
/// What brings a file from each version to the next.
const MIGRATIONS: [&str; 1] = [include_str!("schema.sql")];
/// The version that this program writes.
const VERSION: i64 = MIGRATIONS.len() as i64;
/// Longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a store that ends with its environment still waits for others.
const HURRIED: Duration = Duration::from_millis(500);

/// What the head of a file says.
#[derive(Debug, PartialEq)]
struct Head {
    application: i64,
    version: i64,
    objects: i64,
}

/// Opens the store of `options`; `hurry`, set, shortens every wait.
pub(super) fn open(
    options: &Options,
    hurry: &Arc<AtomicBool>,
) -> Result<(PathBuf, Connection), BindingFault> {
    let path = place(options)?;
    let failed = |error: &Error| of_sqlite(&path, error);
    // Not CREATE: `place` made it, with its own mode.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(|error| failed(&error))?;
    prepare(&mut connection, options.busy_timeout, hurry).map_err(|error| failed(&error))?;
    let head = match head(&connection) {
        Ok(head) => head,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Err(no_store(&path, "is no SQLite file"));
        }
        Err(error) => return Err(failed(&error)),
    };
    know(&path, &head, options.must_exist)?;
    let patience = Patience::new(options.busy_timeout, hurry);
    write_ahead(&connection, patience).map_err(|error| failed(&error))?.then_some(()).ok_or_else(|| {
        BindingFault::new(
            BindingCode::Io,
            format!("{} cannot have a write-ahead log; put it on a local disk", path.display()),
        )
    })?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(|error| failed(&error))?;
    migrate(&path, &mut connection)?;
    Ok((path, connection))
}

/// The path, canonical but for its last name, and a file in it.
fn place(options: &Options) -> Result<PathBuf, BindingFault> {
    let given = options.path.as_path();
    match fs::symlink_metadata(given) {
        Ok(_) => {
            let path = fs::canonicalize(given).map_err(|error| of_io("open", given, &error))?;
            let is_file = fs::metadata(&path).map_err(|error| of_io("open", &path, &error))?.is_file();
            return if is_file { Ok(path) } else { Err(no_store(&path, "is no regular file")) };
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(of_io("open", given, &error)),
    }
    if options.must_exist {
        return Err(no_store(given, "is not there"));
    }
    let name = given.file_name().ok_or_else(|| no_store(given, "is no name of a file"))?;
    let folder = given.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| of_io("find the folder", folder, &error))?;
    let path = folder.join(name);
    match Disk.open(&path, Open::New) {
        Ok(_) => Disk.sync_dir(&folder).map_err(|error| of_io("bring to the medium", &folder, &error))?,
        // Somebody made it meanwhile, and may be using it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(of_io("make", &path, &error)),
    }
    Ok(path)
}

fn prepare(connection: &mut Connection, timeout: Duration, hurry: &Arc<AtomicBool>) -> Result<(), Error> {
    let mut patience = Patience::new(timeout, hurry);
    connection.busy_handler(Some(move |tries| patience.wait(tries)))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

fn head(connection: &Connection) -> Result<Head, Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok(Head {
        application: pragma("application_id")?,
        version: pragma("user_version")?,
        objects: connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
    })
}

/// Whether the file is a store that this program understands, or may become one.
fn know(path: &Path, head: &Head, must_exist: bool) -> Result<(), BindingFault> {
    match *head {
        Head { application: APPLICATION, version, .. } if version > VERSION => {
            let message = format!(
                "{} has format {version}, this program knows {VERSION}; use a newer agent-lifecycle, or another file",
                path.display()
            );
            let details =
                Details { format: Some(version), supported_format: Some(VERSION), ..Details::default() };
            Err(BindingFault::with(BindingCode::NewerFormat, message, details))
        }
        Head { application: APPLICATION, version: 1.., .. } => Ok(()),
        Head { application: 0, version: 0, objects: 0 } if must_exist => Err(no_store(path, "is empty")),
        Head { application: 0, version: 0, objects: 0 } => Ok(()),
        _ => Err(no_store(path, "is a SQLite file of another program")),
    }
}

/// Turns the write-ahead log on. The switch does not ask the busy handler, so it is tried again here.
fn write_ahead(connection: &Connection, mut patience: Patience) -> Result<bool, Error> {
    for tries in 0.. {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) => return Ok(mode == "wal"),
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && patience.wait(tries) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn migrate(path: &Path, connection: &mut Connection) -> Result<(), BindingFault> {
    let failed = |error: Error| of_sqlite(path, &error);
    if head(connection).map_err(failed)?.version == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Somebody may have done it, or more, while this waited.
    let head = head(&transaction).map_err(failed)?;
    know(path, &head, false)?;
    for (step, from) in MIGRATIONS.iter().zip(0_i64..) {
        if from >= head.version {
            transaction.execute_batch(step).map_err(failed)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// How long to wait for other writers.
struct Patience {
    timeout: Duration,
    hurry: Arc<AtomicBool>,
    since: Instant,
    /// Since when a wait was seen to be in a hurry. What waits then shares one time.
    hurried: Option<Instant>,
}

impl Patience {
    fn new(timeout: Duration, hurry: &Arc<AtomicBool>) -> Self {
        Self { timeout, hurry: Arc::clone(hurry), since: Instant::now(), hurried: None }
    }

    /// Waits before try number `tries`; `false` where the time is over.
    fn wait(&mut self, tries: i32) -> bool {
        if tries == 0 {
            self.since = Instant::now();
        }
        let mut is_over = self.since.elapsed() >= self.timeout;
        if self.hurry.load(Ordering::Relaxed) {
            is_over |= self.hurried.get_or_insert_with(Instant::now).elapsed() >= HURRIED;
        }
        if is_over {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1 + u64::from(tries.unsigned_abs())).min(PAUSE));
        true
    }
}
