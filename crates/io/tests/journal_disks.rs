//! The journal on a full and on a read-only disk: a small tmpfs, mounted where this may be done, else the test says that it is
//! left out.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use agent_lifecycle_core::contract::Event;
use agent_lifecycle_io::journal::{Draft, Durability, Fault, FaultCode, Journal, Options, Outcome};

/// A mounted file system; unmounted when dropped.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if mounted {
            return Some(Self { folder });
        }
        eprintln!("left out: a tmpfs may not be mounted here");
        None
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("j.jsonl")
    }

    fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let status = Command::new("mount")
            .args(["-o", &options])
            .arg(self.folder.path())
            .status()
            .expect("mount runs");
        assert!(status.success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

fn draft(id: u64) -> Draft {
    let text = format!(
        r#"{{"schemaVersion":1,"eventId":"{id}","source":"s","sourceEpoch":"1","childId":"c","lineage":{{"rootChildId":"c","attempt":0,"external":false}},"kind":"diagnostic","observedAt":"2026-01-01T00:00:00Z","details":{{"text":"{}"}}}}"#,
        "word ".repeat(2000)
    );
    Draft::new(&Event::from_json(text.as_bytes()).expect("an event"), None)
}

fn append(journal: &Journal, ids: &[u64]) -> Vec<Result<u64, Fault>> {
    let (sender, receiver) = mpsc::channel();
    journal.append(ids.iter().map(|&id| draft(id)).collect(), move |answered| _ = sender.send(answered));
    receiver.recv_timeout(Duration::from_mins(1)).expect("an answer")
}

fn ids(path: &Path) -> Vec<u64> {
    let content = std::fs::read_to_string(path).expect("text");
    assert!(content.ends_with('\n'));
    let id = |line| {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON")["eventId"].as_str()?.parse().ok()
    };
    content.lines().map(|line| id(line).expect("a number")).collect()
}

#[test]
fn a_full_disk_gives_an_error_with_the_path_and_loses_nothing() {
    for durability in [Durability::Fsync, Durability::Os] {
        let Some(disk) = Mounted::new("256k") else { return };
        let path = disk.path();
        let journal = Journal::open(&path, Options { durability, ..Options::default() }).expect("free");
        let mut acknowledged = Vec::new();
        let fault = loop {
            let id = acknowledged.len() as u64;
            match append(&journal, &[id]).remove(0) {
                Ok(_) => acknowledged.push(id),
                Err(fault) => break fault,
            }
            assert!(acknowledged.len() < 100, "it is never full");
        };
        assert!(acknowledged.len() > 5, "{acknowledged:?}");
        assert_eq!((fault.code, fault.outcome), (FaultCode::Io, Outcome::NotWritten), "{fault}");
        assert!(fault.message.contains("j.jsonl") && fault.message.contains("No space left"), "{fault}");
        assert_eq!(ids(&path), acknowledged);
        // With room, it goes on.
        disk.remount("size=1m");
        assert_eq!(append(&journal, &[1000]), [Ok(acknowledged.len() as u64 + 1)]);
        journal.join();
    }
}

#[test]
fn a_read_only_disk_gives_an_error_with_the_path_and_can_be_read() {
    let Some(disk) = Mounted::new("1m") else { return };
    let path = disk.path();
    let journal = Journal::open(&path, Options::default()).expect("free");
    assert_eq!(append(&journal, &[0, 1]), [Ok(1), Ok(2)]);
    journal.join();
    drop(journal);
    disk.remount("ro");
    let journal = Journal::open(&path, Options::default()).expect("free");
    let fault = append(&journal, &[2]).remove(0).expect_err("read-only");
    assert_eq!((fault.code, fault.outcome), (FaultCode::Io, Outcome::NotWritten));
    assert!(fault.message.contains("j.jsonl") && fault.message.contains("Read-only"), "{fault}");
    let (sender, receiver) = mpsc::channel();
    journal.verify(move |verified| _ = sender.send(verified));
    let verified = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer").expect("readable");
    assert!(verified.valid && !verified.locked);
    assert_eq!(verified.entries, 2);
    journal.join();
    disk.remount("rw");
    assert_eq!(ids(&path), [0, 1]);
}
