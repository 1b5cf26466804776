//! Appends: their numbers, their cost, and what keeps them from going wrong.

use std::io::ErrorKind;
use std::path::Path;

use super::{append, draft, engine, line, sim, text};
use crate::journal::engine::Engine;
use crate::journal::registry::Unsynced;
use crate::journal::{Durability, FaultCode, Options, Outcome};
use crate::storage::Storage;
use crate::storage::sim::Injected;

#[test]
fn the_bytes_of_a_first_group() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    assert_eq!(append(&mut engine, &[draft("a", 1), draft("b", 1)]), Ok(1));
    assert_eq!(append(&mut engine, &[draft("a", 2)]), Ok(3));
    assert_eq!(text(&sim), line("a", 1, 1) + &line("b", 1, 2) + &line("a", 2, 3));
    assert!(engine.notices.is_empty());
}

#[test]
fn what_others_added_is_counted_on_from() {
    let sim = sim();
    let mut first = engine(&sim, 1, Options::default());
    let mut second = engine(&sim, 1, Options::default());
    assert_eq!(append(&mut first, &[draft("a", 1)]), Ok(1));
    assert_eq!(append(&mut second, &[draft("b", 1)]), Ok(2));
    assert_eq!(append(&mut first, &[draft("a", 2)]), Ok(3));
    // A program of the plain protocol leaves a hole, a blank line and other members.
    let foreign = line("c", 1, 9).replace('{', "{ ") + " \r\n";
    sim.put("/d/j", (text(&sim) + &foreign).as_bytes());
    assert_eq!(append(&mut first, &[draft("a", 3)]), Ok(10));
    assert_eq!(append(&mut second, &[draft("b", 2)]), Ok(11));
    let verified = second.verify().expect("readable");
    assert!(verified.valid && verified.locked);
    assert_eq!((verified.entries, verified.first_sequence, verified.last_sequence), (6, Some(1), Some(11)));
    assert_eq!((verified.hole_count, verified.holes[0].after, verified.holes[0].before), (1, 3, 9));
}

#[test]
fn a_file_that_is_not_the_one_remembered_is_read_anew() {
    for (name, present, expected) in [
        ("shrunk", line("a", 1, 5), 6),
        ("longer, another end", line("a", 1, 5) + &line("b", 2, 7) + &line("c", 3, 8) + &line("d", 4, 9), 10),
        ("as long, another end", line("a", 1, 2) + &line("a", 9, 3), 4),
        ("empty", String::new(), 1),
    ] {
        let sim = sim();
        let mut engine = engine(&sim, 1, Options::default());
        assert_eq!(append(&mut engine, &[draft("a", 1), draft("a", 2)]), Ok(1));
        // Written over, as an editor may do: the same file.
        let mut file = sim.open(Path::new("/d/j"), crate::storage::Open::Append).expect("there");
        file.truncate(0).expect("cut");
        file.append(present.as_bytes()).expect("written");
        drop(file);
        assert_eq!(append(&mut engine, &[draft("a", 3)]), Ok(expected), "{name}");
    }
}

#[test]
fn a_sync_for_each_group_and_none_without() {
    let count = |durability, appends: u64| {
        let sim = sim();
        let mut engine = engine(&sim, 1, Options { durability, ..Options::default() });
        for id in 0..appends {
            append(&mut engine, &[draft("a", id), draft("b", id)]).expect("free");
        }
        sim.state().syncs
    };
    // Each hold syncs the lock's owner and the journal.
    assert_eq!(count(Durability::Fsync, 3), 6);
    assert_eq!(count(Durability::Os, 3), 0);
}

/// How many calls one append makes that change something, when the journal is there.
fn calls_of_an_append() -> (u64, u64) {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    append(&mut engine, &[draft("a", 1)]).expect("free");
    let before = sim.state().calls();
    append(&mut engine, &[draft("a", 2)]).expect("free");
    let after = sim.state().calls();
    (before, after)
}

#[test]
fn whatever_fails_nothing_acknowledged_is_lost_and_the_next_append_knows() {
    let (before, after) = calls_of_an_append();
    assert!(after - before > 8, "{before} {after}");
    let mut codes = Vec::new();
    for call in before + 1..=after {
        for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::Other] {
            let sim = sim();
            let mut engine = engine(&sim, 1, Options::default());
            append(&mut engine, &[draft("a", 1)]).expect("free");
            sim.state().faults.insert(call, Injected::Error(kind));
            let outcome = append(&mut engine, &[draft("a", 2)]);
            sim.state().faults.clear();
            let first = line("a", 1, 1);
            match &outcome {
                Ok(number) => assert_eq!((*number, text(&sim)), (2, first.clone() + &line("a", 2, 2))),
                Err(fault) => {
                    assert!(fault.message.contains("/d/j"), "{fault}");
                    codes.push(fault.code);
                    match fault.outcome {
                        Outcome::NotWritten => assert_eq!(text(&sim), first, "call {call}"),
                        Outcome::Unknown => assert!(text(&sim).starts_with(&first), "call {call}"),
                    }
                }
            }
            let again = append(&mut engine, &[draft("a", 3)]);
            if outcome.as_ref().is_err_and(|fault| fault.code == FaultCode::SyncFailed) {
                assert_eq!(again.expect_err("poisoned").code, FaultCode::SyncFailed);
            } else {
                again.unwrap_or_else(|fault| panic!("call {call}: {fault}"));
                assert!(engine.verify().expect("readable").valid);
            }
        }
    }
    assert!(codes.contains(&FaultCode::Io) && codes.contains(&FaultCode::SyncFailed), "{codes:?}");
}

#[test]
fn a_short_write_goes_on_and_is_undone_where_it_cannot() {
    let (before, after) = calls_of_an_append();
    let whole = line("a", 1, 1) + &line("a", 2, 2);
    let mut undone = 0;
    for call in before + 1..=after {
        for length in [0, 1, 100] {
            for then in [None, Some(ErrorKind::StorageFull)] {
                let sim = sim();
                let mut engine = engine(&sim, 1, Options::default());
                append(&mut engine, &[draft("a", 1)]).expect("free");
                sim.state().faults.insert(call, Injected::Short(length));
                if let Some(kind) = then {
                    // The sync between two parts of one group comes first.
                    sim.state().faults.insert(call + 2, Injected::Error(kind));
                }
                match append(&mut engine, &[draft("a", 2)]) {
                    Ok(_) => assert_eq!(text(&sim), whole, "call {call}"),
                    Err(fault) if fault.outcome == Outcome::NotWritten => {
                        assert_eq!(text(&sim), line("a", 1, 1), "call {call}: {fault}");
                        undone += usize::from(fault.message.contains("cut off again"));
                    }
                    Err(fault) => assert_eq!(fault.code, FaultCode::SyncFailed, "{fault}"),
                }
            }
        }
    }
    assert!(undone >= 2, "{undone}");
}

#[test]
fn a_lock_that_was_taken_before_the_write_stops_it() {
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    append(&mut engine, &[draft("a", 1)]).expect("free");
    let owner = Path::new("/d/j.lock/owner.json");
    let outcome = engine.under_lock(|engine, held| {
        let mut opened = engine.open_to_append()?;
        sim.remove_file(owner).expect("held");
        sim.put("/d/j.lock/owner.json", br#"{"pid":7,"token":"theirs"}"#);
        engine.append(held, &mut opened, &[&draft("a", 2)])
    });
    let fault = outcome.expect_err("lost");
    assert_eq!((fault.code, fault.outcome), (FaultCode::LockLost, Outcome::NotWritten));
    assert!(fault.message.contains("nothing was written"), "{fault}");
    assert_eq!(text(&sim), line("a", 1, 1));
    assert!(sim.content("/d/j.lock/owner.json").is_some(), "the other's lock stands");
}

#[test]
fn a_lock_that_was_taken_after_the_write_leaves_the_outcome_open() {
    // The owner file is replaced while the journal is synced.
    struct Thief(crate::storage::sim::Sim);
    struct ThiefFile(Box<dyn crate::storage::File>, crate::storage::sim::Sim);
    impl crate::storage::File for ThiefFile {
        fn stat(&self) -> std::io::Result<crate::storage::Stat> {
            self.0.stat()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read_at(offset, buffer)
        }
        fn append(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.append(bytes)
        }
        fn reserve(&mut self, bytes: u64) -> std::io::Result<()> {
            self.0.reserve(bytes)
        }
        fn truncate(&mut self, length: u64) -> std::io::Result<()> {
            self.0.truncate(length)
        }
        fn sync(&mut self) -> std::io::Result<()> {
            self.1.remove_file(Path::new("/d/j.lock/owner.json"))?;
            self.1.put("/d/j.lock/owner.json", br#"{"pid":7,"token":"theirs"}"#);
            self.0.sync()
        }
        fn try_lock(&mut self) -> std::io::Result<bool> {
            self.0.try_lock()
        }
    }
    impl Storage for Thief {
        fn open(
            &self,
            path: &Path,
            how: crate::storage::Open,
        ) -> std::io::Result<Box<dyn crate::storage::File>> {
            Ok(Box::new(ThiefFile(self.0.open(path, how)?, self.0.clone())))
        }
        fn read(&self, path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
            self.0.read(path, limit)
        }
        fn write_new(&self, path: &Path, content: &[u8], sync: bool) -> std::io::Result<()> {
            self.0.write_new(path, content, sync)
        }
        fn stat(&self, path: &Path) -> std::io::Result<crate::storage::Stat> {
            self.0.stat(path)
        }
        fn list(&self, directory: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
            self.0.list(directory)
        }
        fn make_dir(&self, path: &Path) -> std::io::Result<()> {
            self.0.make_dir(path)
        }
        fn remove_dir(&self, path: &Path) -> std::io::Result<()> {
            self.0.remove_dir(path)
        }
        fn remove_file(&self, path: &Path) -> std::io::Result<()> {
            self.0.remove_file(path)
        }
        fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
            self.0.rename(from, to)
        }
        fn rename_new(&self, from: &Path, to: &Path) -> std::io::Result<()> {
            self.0.rename_new(from, to)
        }
        fn link(&self, from: &Path, to: &Path) -> std::io::Result<()> {
            self.0.link(from, to)
        }
        fn sync_dir(&self, directory: &Path) -> std::io::Result<()> {
            self.0.sync_dir(directory)
        }
    }
    let sim = sim();
    let thief = std::sync::Arc::new(Thief(sim.clone()));
    let mut engine =
        Engine::new(thief, super::Fake::new(1), Path::new("/d/j"), Options::default(), Unsynced::default());
    let fault = append(&mut engine, &[draft("a", 1), draft("a", 2)]).expect_err("lost");
    assert_eq!(
        (fault.code, fault.outcome, fault.sequences),
        (FaultCode::LockLost, Outcome::Unknown, Some((1, 2)))
    );
    assert!(fault.message.contains("unknown"), "{fault}");
}

#[test]
fn after_a_failed_sync_the_file_is_written_anew_before_anything_is_acknowledged() {
    let (_, after) = calls_of_an_append();
    let sim = sim();
    let mut engine = engine(&sim, 1, Options::default());
    append(&mut engine, &[draft("a", 1)]).expect("free");
    // The last sync of the append.
    let failing = (1..=after)
        .rev()
        .find(|&call| {
            let sim = super::sim();
            let mut engine = super::engine(&sim, 1, Options::default());
            append(&mut engine, &[draft("a", 1)]).expect("free");
            sim.state().faults.insert(call, Injected::Error(ErrorKind::Other));
            append(&mut engine, &[draft("a", 2)]).is_err_and(|fault| fault.code == FaultCode::SyncFailed)
        })
        .expect("a sync");
    sim.state().faults.insert(failing, Injected::Error(ErrorKind::Other));
    let fault = append(&mut engine, &[draft("a", 2)]).expect_err("the sync fails");
    assert_eq!((fault.code, fault.sequences), (FaultCode::SyncFailed, Some((2, 2))));
    assert_eq!(append(&mut engine, &[draft("a", 3)]).expect_err("poisoned").code, FaultCode::SyncFailed);

    // Another instance, as of another process: the mark beside the journal tells it.
    let mut other = super::engine(&sim, 1, Options::default());
    assert_eq!(append(&mut other, &[draft("b", 1)]), Ok(3));
    let whole = line("a", 1, 1) + &line("a", 2, 2) + &line("b", 1, 3);
    assert_eq!(text(&sim), whole);
    // Whatever a power cut takes now, it takes none of this.
    for image in sim.state().images(Some(1)) {
        let content = image.content("/d/j").expect("the journal is there");
        assert_eq!(String::from_utf8_lossy(content), whole);
    }
    assert!(sim.content("/d/j.unsynced").is_none());
}
