//! The lock and the journal among real processes (cases L1, L3, L5, L6).
//!
//! Each test starts this binary again as its workers: the test `worker` does what the environment says.
//! The long versions: `cargo nextest run -p agent-lifecycle-io --test journal_processes --run-ignored only long`.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use agent_lifecycle_core::contract::Event;
use agent_lifecycle_io::journal::{Draft, Durability, Journal, Options, TornTail, Verified};
use agent_lifecycle_io::lock::{LockOptions, Locker};
use agent_lifecycle_io::storage::{Disk, Machine};

const ROLE: &str = "JOURNAL_TEST_ROLE";
const PATH: &str = "JOURNAL_TEST_PATH";
const NAME: &str = "JOURNAL_TEST_NAME";

/// Started as a worker, this process does its role and ends; as a test it has nothing to do.
#[test]
fn worker() {
    let (Ok(role), Ok(path), Ok(name)) = (std::env::var(ROLE), std::env::var(PATH), std::env::var(NAME))
    else {
        return;
    };
    match role.as_str() {
        "lock" => lock_rounds(Path::new(&path)),
        "append" => append_lines(Path::new(&path), &name),
        "hold" => hold(Path::new(&path)),
        other => panic!("no role {other}"),
    }
}

/// A worker and its pipes; killed when the test ends.
struct Worker {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Worker {
    fn start(role: &str, path: &Path, name: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "worker", "--nocapture"])
            .env(ROLE, role)
            .env(PATH, path)
            .env(NAME, name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this binary runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    fn tell(&mut self, word: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{word}").expect("it reads");
    }

    /// The next line that begins with `> `; none at the end.
    fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            // The test runner writes before it, on the same line.
            if let Some(at) = line.find("> ") {
                return Some(line[at + 2..].trim_end().to_owned());
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(word: &str) {
    println!("> {word}");
    std::io::stdout().flush().expect("somebody listens");
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().canonicalize().expect("there").join("j.jsonl");
    (folder, path)
}

/// The pid of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("true runs");
    child.wait().expect("it ends");
    child.id()
}

/// A number that differs between processes and calls.
fn chance() -> u64 {
    use agent_lifecycle_io::storage::System;
    Machine.random()
}

// L1

/// One hold for each line that is read. A file that only the holder makes shows whether it is alone.
fn lock_rounds(path: &Path) {
    let options = LockOptions { timeout: Duration::from_mins(1), stale: Duration::ZERO, sync_owner: false };
    let mut locker = Locker::new(Arc::new(Disk), Arc::new(Machine), path, options);
    let witness = path.with_extension("witness");
    say("ready");
    for _ in std::io::stdin().lines() {
        // Somebody is always between two steps.
        std::thread::sleep(Duration::from_micros(chance() % 2000));
        let held = locker.acquire().expect("in time");
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&witness);
        let is_ours = locker.check(&held).expect("readable");
        std::thread::sleep(Duration::from_micros(chance() % 500));
        let removed = made.is_ok() && std::fs::remove_file(&witness).is_ok();
        let released = locker.release(held);
        say(match (made.is_ok(), is_ours, removed, released) {
            (true, true, true, true) => "alone",
            (false, ..) => "two hold",
            (_, false, ..) => "its lock was removed",
            _ => "not released",
        });
        assert_eq!(locker.take_notices(), []);
    }
}

fn reclaim_rounds(processes: usize, rounds: usize) {
    let (_folder, path) = folder();
    let lock = path.with_extension("jsonl.lock");
    let mut workers: Vec<Worker> =
        (0..processes).map(|at| Worker::start("lock", &path, &at.to_string())).collect();
    for worker in &mut workers {
        assert_eq!(worker.hear().as_deref(), Some("ready"));
    }
    let dead = dead_pid();
    for round in 0..rounds {
        std::fs::create_dir(&lock).expect("free");
        let record =
            format!("{{\"pid\":{dead},\"token\":\"dead-{round}\",\"createdAt\":\"2020-01-01T00:00:00Z\"}}");
        std::fs::write(lock.join("owner.json"), record).expect("free");
        for worker in &mut workers {
            worker.tell("go");
        }
        for worker in &mut workers {
            assert_eq!(worker.hear().as_deref(), Some("alone"), "round {round}");
        }
        let left: Vec<_> = std::fs::read_dir(path.parent().expect("a folder"))
            .expect("there")
            .map(|entry| entry.expect("there").file_name())
            .collect();
        assert_eq!(left, ["j.jsonl.lock.guard"], "round {round}");
    }
}

#[test]
fn sixteen_processes_and_one_stale_lock() {
    reclaim_rounds(16, 10);
}

#[test]
#[ignore = "a minute"]
fn long_sixteen_processes_and_one_stale_lock() {
    reclaim_rounds(16, 200);
}

// L3

/// Takes the lock and keeps it until a line comes.
fn hold(path: &Path) {
    let options = LockOptions { timeout: Duration::from_secs(5), ..LockOptions::default() };
    let mut locker = Locker::new(Arc::new(Disk), Arc::new(Machine), path, options);
    let held = locker.acquire().expect("free");
    say("held");
    let _ = std::io::stdin().lines().next();
    say(if locker.check(&held).expect("readable") { "still held" } else { "lost" });
    say(if locker.release(held) { "released" } else { "left alone" });
}

#[test]
fn a_stopped_holder_whose_lock_is_removed_is_named_and_stops_when_it_goes_on() {
    let (_folder, path) = folder();
    let lock = path.with_extension("jsonl.lock");
    let mut holder = Worker::start("hold", &path, "");
    assert_eq!(holder.hear().as_deref(), Some("held"));
    let pid = holder.child.id();
    std::fs::remove_dir_all(&lock).expect("held");
    // One of ours waits for the guard.
    let options = Options { lock_timeout: Duration::from_millis(100), ..Options::default() };
    let journal = Journal::open(&path, options).expect("free");
    let (sender, receiver) = mpsc::channel();
    journal.append(vec![draft("a", 1, 10)], move |answered| sender.send(answered).expect("waited for"));
    let answered = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer");
    let fault = answered[0].as_ref().expect_err("guarded");
    assert!(fault.message.contains(&format!("is held by pid {pid}")), "{fault}");
    journal.join();
    // Another, of the plain protocol, takes it.
    std::fs::create_dir(&lock).expect("free");
    std::fs::write(lock.join("owner.json"), "{\"pid\":1,\"token\":\"theirs\"}").expect("free");
    holder.tell("go on");
    assert_eq!(holder.hear().as_deref(), Some("lost"));
    assert_eq!(holder.hear().as_deref(), Some("left alone"));
    assert!(lock.join("owner.json").exists());
}

// L5 and L6

fn draft(writer: &str, id: u64, bytes: usize) -> Draft {
    let text = format!(
        r#"{{"schemaVersion":1,"eventId":"{writer}-{id}","source":"s","sourceEpoch":"1","childId":"{writer}","lineage":{{"rootChildId":"{writer}","attempt":0,"external":false}},"kind":"diagnostic","observedAt":"2026-01-01T00:00:00Z","details":{{"text":"{}"}}}}"#,
        "word ".repeat(bytes / 5)
    );
    Draft::new(&Event::from_json(text.as_bytes()).expect("an event"), None)
}

/// Appends one event for each line that is read, `<id> <bytes>`, and says which number it got.
fn append_lines(path: &Path, name: &str) {
    let durability = if name.starts_with("os") { Durability::Os } else { Durability::Fsync };
    let options = Options {
        lock_timeout: Duration::from_mins(2),
        stale_lock: Duration::ZERO,
        durability,
        torn_tail: TornTail::Quarantine,
    };
    let journal = Journal::open(path, options).expect("free");
    say("ready");
    for line in std::io::stdin().lines() {
        let line = line.expect("text");
        let (id, bytes) = line.split_once(' ').expect("two words");
        let id: u64 = id.parse().expect("a number");
        let drafts = vec![draft(name, id, bytes.parse().expect("a number"))];
        journal.append(drafts, move |answered| match &answered[0] {
            Ok(sequence) => say(&format!("{id} {sequence}")),
            Err(fault) => say(&format!("fault {fault}")),
        });
    }
    journal.join();
}

/// The journal's ids by number, and what `verify` says of it.
fn read(path: &Path) -> (BTreeMap<u64, String>, Verified) {
    let journal =
        Journal::open(path, Options { stale_lock: Duration::ZERO, ..Options::default() }).expect("closed");
    let (sender, receiver) = mpsc::channel();
    journal.verify(move |verified| sender.send(verified).expect("waited for"));
    let verified = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer").expect("readable");
    journal.join();
    let mut ids = BTreeMap::new();
    let content = std::fs::read(path).unwrap_or_default();
    for line in content.split(|&byte| byte == b'\n') {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        let id = value["eventId"].as_str().expect("an event").to_owned();
        ids.insert(value["journalSequence"].as_u64().expect("numbered"), id);
    }
    (ids, verified)
}

fn many_writers(processes: u64, records: u64) {
    let (_folder, path) = folder();
    let mut workers: Vec<Worker> =
        (0..processes).map(|at| Worker::start("append", &path, &format!("os{at}"))).collect();
    for worker in &mut workers {
        assert_eq!(worker.hear().as_deref(), Some("ready"));
    }
    for worker in &mut workers {
        for id in 0..records {
            // 16 to 60 kB of details, which may have 64 KiB at most.
            worker.tell(&format!("{id} {}", 16_000 + (id * 7919) % 44_000));
        }
        drop(worker.child.stdin.take());
    }
    let mut acknowledged = BTreeMap::new();
    for (at, worker) in workers.iter_mut().enumerate() {
        for _ in 0..records {
            let heard = worker.hear().expect("an answer");
            let (id, sequence) = heard.split_once(' ').expect("two words");
            acknowledged.insert(
                sequence.parse::<u64>().unwrap_or_else(|_| panic!("{heard}")),
                format!("os{at}-{id}"),
            );
        }
    }
    drop(workers);
    let (ids, verified) = read(&path);
    assert!(verified.valid, "{verified:?}");
    assert_eq!((verified.entries, verified.hole_count), (processes * records, 0));
    assert_eq!(ids, acknowledged);
}

#[test]
fn eight_processes_append_without_a_gap() {
    many_writers(8, 25);
}

#[test]
#[ignore = "half a minute"]
fn long_eight_processes_append_without_a_gap() {
    many_writers(8, 200);
}

/// Writers are killed at random moments; nothing that was acknowledged is missing, and whoever is left goes on.
fn killed_writers(processes: usize, rounds: usize) {
    let (_folder, path) = folder();
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let mut workers: Vec<(String, Worker)> = Vec::new();
    let mut next = 0;
    let mut torn = 0;
    for round in 0..rounds {
        while workers.len() < processes {
            let name = format!("w{next}");
            next += 1;
            workers.push((name.clone(), Worker::start("append", &path, &name)));
        }
        for (_, worker) in &mut workers {
            for id in 0..6 {
                worker.tell(&format!("{} 3000", round * 6 + id));
            }
        }
        std::thread::sleep(Duration::from_micros(chance() % 30_000));
        // Half of them die at once.
        for (_, worker) in workers.iter_mut().take(processes / 2) {
            worker.child.kill().expect("it may be killed");
        }
        let (dying, living): (Vec<_>, Vec<_>) =
            workers.into_iter().enumerate().partition(|(at, _)| *at < processes / 2);
        workers = living.into_iter().map(|(_, worker)| worker).collect();
        for (name, mut worker) in dying.into_iter().map(|(_, worker)| worker) {
            while let Some(heard) = worker.hear() {
                note(&name, &heard, &mut acknowledged);
            }
        }
        // Those that live answer everything.
        for (name, worker) in &mut workers {
            let mut answers = 0;
            while answers < 6 {
                let heard = worker.hear().expect("it lives");
                answers += usize::from(note(name, &heard, &mut acknowledged));
            }
        }
        torn += usize::from(
            std::fs::read_dir(path.parent().expect("a folder"))
                .expect("there")
                .any(|entry| entry.expect("there").file_name().to_string_lossy().contains("quarantine")),
        );
        let (ids, verified) = read_while_open(&path);
        assert!(verified, "round {round}");
        for (sequence, id) in &acknowledged {
            assert_eq!(ids.get(sequence), Some(id), "round {round}: {sequence} was acknowledged");
        }
    }
    drop(workers);
    assert!(acknowledged.len() >= rounds, "{} of {rounds} rounds, {torn} torn", acknowledged.len());
    let (_, verified) = read(&path);
    assert!(verified.valid || verified.torn_tail && verified.problem_count == 1, "{verified:?}");
}

/// Takes down an acknowledgement.
fn note(name: &str, heard: &str, acknowledged: &mut BTreeMap<u64, String>) -> bool {
    assert!(!heard.starts_with("fault"), "{heard}");
    let Some((id, sequence)) = heard.split_once(' ') else { return false };
    // A line that was cut by the end of its writer is no acknowledgement.
    let Ok(sequence) = sequence.parse() else { return false };
    acknowledged.insert(sequence, format!("{name}-{id}"));
    true
}

/// The ids by number, and whether all lines are entries in order, but for a torn last one.
fn read_while_open(path: &Path) -> (BTreeMap<u64, String>, bool) {
    let content = std::fs::read(path).unwrap_or_default();
    let mut ids = BTreeMap::new();
    let mut last = 0;
    let mut is_valid = true;
    let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    for line in content[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(line) else {
            is_valid = false;
            continue;
        };
        let sequence = value["journalSequence"].as_u64().expect("numbered");
        is_valid &= sequence > last;
        last = sequence;
        ids.insert(sequence, value["eventId"].as_str().expect("an event").to_owned());
    }
    (ids, is_valid)
}

#[test]
fn writers_that_are_killed_lose_nothing_that_was_acknowledged() {
    killed_writers(8, 5);
}

#[test]
#[ignore = "minutes"]
fn long_writers_that_are_killed_lose_nothing_that_was_acknowledged() {
    let start = Instant::now();
    killed_writers(8, 200);
    eprintln!("{:?}", start.elapsed());
}
