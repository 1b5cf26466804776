//! `owner.json`: who holds a lock.
//!
//! Input: the directory of a lock. Output: its owner, its token, its age. Invariant: a record that cannot be understood is nobody's.
//! Never: trusts what another program wrote.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use serde::Serialize;
use serde_json::Value;

use crate::process::{Identity, Owner};
use crate::storage::Storage;

/// An owner's record is a few hundred bytes; more is not one.
const RECORD_BYTES: usize = 64 * 1024;

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) token: String,
    pub(super) owner: Owner,
    /// Unix time in milliseconds.
    pub(super) created_at: Option<i64>,
    /// The pid as it is written, also one that is none.
    pub(super) written_pid: String,
}

/// The record in the lock `directory`; none where there is no readable one.
pub(super) fn read(storage: &dyn Storage, directory: &Path) -> io::Result<Option<Record>> {
    match storage.read(&file(directory), RECORD_BYTES) {
        Ok(content) => Ok(parse(&content)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
        // The lock itself is no directory, or its owner file is none.
        Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::IsADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the lock `directory` is there with this token.
pub(super) fn has_token(storage: &dyn Storage, directory: &Path, token: &str) -> io::Result<bool> {
    Ok(read(storage, directory)?.is_some_and(|record| record.token == token))
}

/// The owner file of a lock.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join("owner.json")
}

/// The record that `identity` writes.
pub(super) fn write(identity: &Identity, token: &str, now: i64) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        token: &'a str,
        created_at: Moment,
        #[serde(flatten)]
        identity: &'a Identity,
    }
    let written = Written { token, created_at: Moment::from_unix_millis(now), identity };
    serde_json::to_string(&written).unwrap_or_default() + "\n"
}

fn parse(content: &[u8]) -> Option<Record> {
    let record: Value = serde_json::from_slice(content).ok()?;
    let token = record.get("token")?.as_str().filter(|token| !token.is_empty())?.to_owned();
    let created_at = match record.get("createdAt") {
        Some(Value::String(text)) => {
            Moment::parse(text).map(|moment| moment.millis_since(Moment::from_unix_millis(0)))
        }
        Some(Value::Number(millis)) => millis.as_i64(),
        _ => None,
    };
    let written_pid = record.get("pid").map_or_else(|| "none".to_owned(), shown);
    Some(Record { token, owner: Owner::read(&record), created_at, written_pid })
}

/// A value in a message: short, and on one line.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(32) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// How old a lock is: since the newer of the directory's change and the record's own time. A time ahead of the clock is no age.
pub(super) fn age(now: i64, modified: i64, created_at: Option<i64>) -> u64 {
    let newest = created_at.map_or(modified, |created_at| created_at.max(modified));
    u64::try_from(now.saturating_sub(newest)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{age, parse, write};
    use crate::process::{Identity, Owner};

    #[test]
    fn what_is_written_is_read_back() {
        let own = Identity::own();
        let record = parse(write(&own, "t", 1_234).as_bytes()).expect("a record");
        assert_eq!(record.token, "t");
        assert_eq!(record.created_at, Some(1_234));
        assert_eq!(record.written_pid, own.pid.to_string());
        assert_eq!(record.owner, Owner::from(own));
    }

    #[test]
    fn other_programs_write_less() {
        let record = parse(br#"{"pid":5,"token":"a","createdAt":1700000000000}"#).expect("a record");
        assert_eq!((record.owner.pid, record.created_at), (Some(5), Some(1_700_000_000_000)));
        let record = parse(br#"{"pid":1.5,"token":"a"}"#).expect("a record");
        assert_eq!((record.owner.pid, record.created_at, record.written_pid.as_str()), (None, None, "1.5"));
        for nobody in [&b""[..], b"{", b"[]", b"{}", br#"{"pid":5}"#, br#"{"pid":5,"token":""}"#, b"\0\0"] {
            assert_eq!(parse(nobody), None, "{nobody:?}");
        }
    }

    #[test]
    fn the_newer_time_counts() {
        for (now, modified, created_at, expected) in [
            (100, 40, None, 60),
            (100, 40, Some(90), 10),
            (100, 90, Some(40), 10),
            (100, 200, Some(40), 0),
            (100, 40, Some(i64::MAX), 0),
            (100, 40, Some(i64::MIN), 60),
        ] {
            assert_eq!(age(now, modified, created_at), expected);
        }
    }
}
