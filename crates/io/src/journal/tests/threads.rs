//! The journal with its thread, on the real file system.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use super::{Ids, draft, line};
use crate::journal::worker::Appended;
use crate::journal::{Draft, Durability, Fault, FaultCode, Journal, Options, Rotation};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().canonicalize().expect("there").join("j.jsonl");
    (folder, path)
}

/// Waits for the one answer of a call.
fn answer<T: Send + 'static>(call: impl FnOnce(Box<dyn FnOnce(T) + Send>)) -> T {
    let (sender, receiver) = mpsc::channel();
    call(Box::new(move |value| _ = sender.send(value)));
    receiver.recv_timeout(Duration::from_mins(1)).expect("an answer")
}

fn append(journal: &Journal, drafts: Vec<Draft>) -> Vec<Appended> {
    answer(|done| journal.append(drafts, done))
}

fn open(path: &Path) -> Journal {
    Journal::open(path, Options::default()).expect("free")
}

#[test]
fn appended_is_there_and_the_file_is_private() {
    let (folder, path) = folder();
    let journal = open(&path);
    assert_eq!(append(&journal, vec![draft("a", 1), draft("a", 2)]), [Ok(1), Ok(2)]);
    assert_eq!(append(&journal, vec![]), []);
    // An answer comes when the lock is free again.
    assert!(!path.with_file_name("j.jsonl.lock").exists());
    journal.join();
    assert_eq!(std::fs::read_to_string(&path).expect("there"), line("a", 1, 1) + &line("a", 2, 2));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for entry in std::fs::read_dir(folder.path()).expect("there") {
            let entry = entry.expect("there");
            let mode = entry.metadata().expect("there").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", entry.path().display());
        }
    }
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .expect("there")
        .map(|entry| entry.expect("there").file_name().into_string().expect("text"))
        .filter(|name| name != "j.jsonl" && name != "j.jsonl.lock.guard")
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn one_instance_for_each_canonical_path_until_it_is_closed() {
    let (folder, path) = folder();
    let journal = open(&path);
    append(&journal, vec![draft("a", 1)]).pop().expect("one").expect("free");
    let mut aliases =
        vec![path.clone(), folder.path().join("./j.jsonl"), folder.path().join("../x/../j.jsonl")];
    aliases.pop();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&path, folder.path().join("link")).expect("free");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("up")).expect("free");
        aliases.push(folder.path().join("link"));
        aliases.push(folder.path().join("up/j.jsonl"));
    }
    for alias in &aliases {
        // From another thread, as another worker of the host would.
        let fault = std::thread::scope(|scope| {
            scope
                .spawn(|| Journal::open(alias, Options::default()).err().expect("taken"))
                .join()
                .expect("no panic")
        });
        assert_eq!(fault.code, FaultCode::SingleWriter);
        assert!(fault.message.starts_with("single writer: "), "{fault}");
    }
    answer(|done| journal.close(move || done(())));
    assert_eq!(
        append(&journal, vec![draft("a", 2)])[0].as_ref().expect_err("closed").code,
        FaultCode::Closed
    );
    let again = open(&aliases[aliases.len() - 1]);
    assert_eq!(append(&again, vec![draft("a", 2)]), [Ok(2)]);
    again.join();
}

#[test]
fn what_waits_when_it_is_closed_is_written_first() {
    let (_folder, path) = folder();
    let journal = open(&path);
    let (sender, receiver) = mpsc::channel();
    for id in 0..50 {
        let sender = sender.clone();
        journal.append(vec![draft("a", id)], move |answered| sender.send(answered).expect("waited for"));
    }
    journal.join();
    drop(sender);
    let answered: Vec<Appended> = receiver.iter().flatten().collect();
    assert_eq!(answered, (1..=50).map(Ok).collect::<Vec<Appended>>());
    drop(journal);
    assert_eq!(std::fs::read_to_string(&path).expect("there").lines().count(), 50);
}

#[test]
fn a_large_append_is_written_in_parts_and_in_order() {
    let (_folder, path) = folder();
    let journal =
        Journal::open(&path, Options { durability: Durability::Os, ..Options::default() }).expect("free");
    // More than three megabytes.
    let drafts: Vec<Draft> = (0..10_000).map(|id| draft("a", id)).collect();
    let (sender, receiver) = mpsc::channel();
    let many = sender.clone();
    journal.append(drafts, move |answered| many.send(answered).expect("waited for"));
    journal.append(vec![draft("b", 1)], move |answered| sender.send(answered).expect("waited for"));
    let answered = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer");
    assert_eq!(answered, (1..=10_000).map(Ok).collect::<Vec<Appended>>());
    assert_eq!(receiver.recv_timeout(Duration::from_mins(1)).expect("an answer"), [Ok(10_001)]);
    let verified = answer(|done| journal.verify(done)).expect("readable");
    assert!(verified.valid);
    assert_eq!((verified.entries, verified.hole_count), (10_001, 0));
    journal.join();
}

#[test]
fn too_much_at_once_is_refused_and_said() {
    let (_folder, path) = folder();
    let journal =
        Journal::open(&path, Options { durability: Durability::Os, ..Options::default() }).expect("free");
    // The thread is kept busy while the queue is filled.
    let (go, wait) = mpsc::channel::<()>();
    journal.run(move || wait.recv().expect("told to go on"));
    let drafts: Vec<Draft> = (0..60_000).map(|id| draft("a", id)).collect();
    let (sender, receiver) = mpsc::channel();
    for drafts in [drafts.clone(), drafts] {
        let sender = sender.clone();
        journal.append(drafts, move |answered| sender.send(answered).expect("waited for"));
    }
    let refused = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer");
    assert!(refused.iter().all(|one| one.as_ref().is_err_and(|fault| fault.code == FaultCode::Busy)));
    go.send(()).expect("it waits");
    let written = receiver.recv_timeout(Duration::from_mins(1)).expect("an answer");
    assert!(written.iter().all(Result::is_ok));
    journal.join();
}

#[test]
fn a_lock_that_is_held_ends_in_an_error_with_path_owner_and_age() {
    let (_folder, path) = folder();
    let lock = path.with_file_name("j.jsonl.lock");
    std::fs::create_dir(&lock).expect("free");
    let pid = std::process::id();
    std::fs::write(lock.join("owner.json"), format!("{{\"pid\":{pid},\"token\":\"t\"}}")).expect("free");
    let options = Options { lock_timeout: Duration::from_millis(50), ..Options::default() };
    let journal = Journal::open(&path, options).expect("free");
    let fault = append(&journal, vec![draft("a", 1)]).remove(0).expect_err("held");
    assert_eq!(fault.code, FaultCode::LockTimeout);
    let start = format!(
        "journal lock timeout: {} was not free for 50 ms: its owner, pid {pid}, has held it for ",
        lock.display()
    );
    assert!(fault.message.starts_with(&start) && fault.message.ends_with("is alive"), "{fault}");
    std::fs::remove_dir_all(&lock).expect("there");
    assert_eq!(append(&journal, vec![draft("a", 1)]), [Ok(1)]);
    journal.join();
}

/// A projection with a bug.
struct Panics;

impl crate::journal::Projection for Panics {
    fn take(&mut self, _: &crate::journal::Entry<'_>) {
        panic!("asked to panic");
    }
    fn checkpoint(
        &self,
        _: agent_lifecycle_core::contract::Moment,
    ) -> Vec<agent_lifecycle_core::contract::Event<'static>> {
        Vec::new()
    }
}

#[test]
fn a_panic_in_one_task_leaves_the_journal_usable() {
    let (_folder, path) = folder();
    let journal = open(&path);
    journal.run(|| panic!("asked to panic"));
    assert_eq!(append(&journal, vec![draft("a", 1)]), [Ok(1)]);
    // It panics while it has the lock.
    let rotation = Rotation { keep: None, shared_writers: false };
    let fault = answer(|done| journal.rotate(rotation, Box::new(Panics), done)).expect_err("it panicked");
    assert!(fault.message.contains("is a bug"), "{fault}");
    assert_eq!(fault.outcome, crate::journal::Outcome::Unknown);
    assert_eq!(append(&journal, vec![draft("a", 2)]), [Ok(2)]);
    journal.join();
}

#[test]
fn the_end_of_the_process_writes_what_waits_but_waits_for_nobody() {
    let (_folder, path) = folder();
    let options = Options { lock_timeout: Duration::from_hours(1), ..Options::default() };
    let journal = Journal::open(&path, options).expect("free");
    let (sender, receiver) = mpsc::channel();
    let first = sender.clone();
    journal.append(vec![draft("a", 1)], move |answered| first.send(answered).expect("waited for"));
    journal.end();
    assert_eq!(receiver.recv().expect("answered"), [Ok(1)]);
    drop(journal);

    let lock = path.with_file_name("j.jsonl.lock");
    std::fs::create_dir(&lock).expect("free");
    let pid = std::process::id();
    std::fs::write(lock.join("owner.json"), format!("{{\"pid\":{pid},\"token\":\"t\"}}")).expect("free");
    let journal = Journal::open(&path, options).expect("free");
    journal.append(vec![draft("a", 2)], move |answered| sender.send(answered).expect("waited for"));
    journal.end();
    let answered = receiver.recv().expect("answered");
    assert_eq!(answered[0].as_ref().expect_err("held").code, FaultCode::LockTimeout);
}

#[test]
fn places_where_no_journal_can_be() {
    let (folder, path) = folder();
    let fault = Journal::open(&folder.path().join("no/such/j"), Options::default()).err().expect("no folder");
    assert_eq!(fault.code, FaultCode::Io);
    let told =
        format!("the folder {} is not there; create it first", folder.path().join("no/such").display());
    assert!(fault.message.ends_with(&told), "{fault}");
    // A folder, and a pipe, in the journal's place: an error, and no hang.
    std::fs::create_dir(&path).expect("free");
    let mut places = vec![path.clone()];
    #[cfg(unix)]
    {
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        places.push(pipe);
        let link = folder.path().join("nowhere");
        std::os::unix::fs::symlink(folder.path().join("nothing"), &link).expect("free");
        assert_eq!(
            Journal::open(&link, Options::default()).err().expect("a link to nothing").code,
            FaultCode::Io
        );
    }
    for place in places {
        let journal = open(&place);
        let fault = append(&journal, vec![draft("a", 1)]).remove(0).expect_err("no file");
        assert_eq!(fault.code, FaultCode::Io);
        assert!(fault.message.contains(place.file_name().expect("named").to_str().expect("text")), "{fault}");
        journal.join();
    }
}

#[test]
fn rotate_repair_and_replay_by_the_thread() {
    let (_folder, path) = folder();
    std::fs::write(&path, line("a", 1, 1) + "damage\n").expect("free");
    let journal = open(&path);
    let fault = append(&journal, vec![draft("a", 2)]).remove(0).expect_err("damaged");
    assert_eq!(fault.code, FaultCode::Integrity);
    assert!(answer(|done| journal.repair(done)).expect("repairable").changed);
    assert_eq!(append(&journal, vec![draft("a", 2)]), [Ok(3)]);
    let rotation = Rotation { keep: None, shared_writers: false };
    let rotated = answer(|done| journal.rotate(rotation, Box::<Ids>::default(), done)).expect("rotated");
    assert_eq!((rotated.entries, rotated.last_sequence), (3, Some(6)));
    let mut replay = answer(|done| journal.replay(done)).expect("readable");
    let mut count = 0;
    while replay.step(&mut |_| count += 1).expect("readable") {}
    assert_eq!(count, 3);
    journal.join();
    let closed: Result<_, Fault> = answer(|done| journal.verify(done));
    assert_eq!(closed.expect_err("closed").code, FaultCode::Closed);
}

#[test]
fn sixty_four_appends_at_once_cost_two_syncs() {
    use std::sync::Arc;

    use crate::storage::Machine;
    use crate::storage::sim::Sim;

    let (folder, path) = folder();
    let place = folder.path().canonicalize().expect("there");
    let directories: Vec<&str> = place.ancestors().map(|path| path.to_str().expect("text")).collect();
    let sim = Sim::with(&directories);
    let journal =
        Journal::open_on(Arc::new(sim.clone()), Arc::new(Machine), &path, Options::default()).expect("free");
    append(&journal, vec![draft("a", 0)]).pop().expect("one").expect("free");
    // All of them wait before the thread comes to the first.
    let (go, wait) = mpsc::channel::<()>();
    journal.run(move || wait.recv().expect("told to go on"));
    let (sender, receiver) = mpsc::channel();
    for id in 1..=64 {
        let sender = sender.clone();
        journal.append(vec![draft("a", id)], move |answered| sender.send(answered).expect("waited for"));
    }
    let before = sim.state().syncs;
    go.send(()).expect("it waits");
    drop(sender);
    assert_eq!(receiver.iter().flatten().flatten().count(), 64);
    journal.join();
    // One of the lock's owner, one of the journal.
    assert_eq!(sim.state().syncs - before, 2);
}
