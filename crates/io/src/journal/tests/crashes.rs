//! Every power cut: at each step of a workload, every image that may be on the medium is opened again.
//!
//! Shows: valid, or one torn tail; nothing acknowledged under fsync is missing; repair and quarantine delete nothing.

use std::collections::BTreeMap;

use super::{Ids, append, draft, engine};
use crate::journal::engine::Engine;
use crate::journal::replay::Replayed;
use crate::journal::{Options, Rotation, TornTail};
use crate::storage::sim::{Sim, State};
use crate::storage::{Open, Storage};

/// What is acknowledged so far is noted in the simulation: the numbers of events of child `a`.
fn acknowledge(sim: &Sim, ids: impl IntoIterator<Item = u64>) {
    sim.state().notes.extend(ids);
}

fn append_acknowledged(sim: &Sim, engine: &mut Engine, ids: &[u64]) {
    let drafts: Vec<_> = ids.iter().map(|&id| draft("a", id)).collect();
    append(engine, &drafts).expect("free");
    acknowledge(sim, ids.iter().copied());
}

/// Appends of two instances, a reclaim of a crashed holder's lock, a torn tail, a repair, a rotation.
fn workload(sim: &Sim) {
    let quarantining = Options { torn_tail: TornTail::Quarantine, ..Options::default() };
    let mut first = engine(sim, 1, Options::default());
    append_acknowledged(sim, &mut first, &[1]);
    append_acknowledged(sim, &mut first, &[2, 3]);
    let mut second = engine(sim, 1, quarantining);
    append_acknowledged(sim, &mut second, &[4]);
    append_acknowledged(sim, &mut first, &[5]);
    // A program of an earlier boot crashed with the lock, in the middle of a line.
    drop(engine(sim, 0, Options::default()).lock().expect("free"));
    let mut file = sim.open("/d/j".as_ref(), Open::Append).expect("there");
    file.append(b"{\"torn").expect("written");
    drop(file);
    append_acknowledged(sim, &mut second, &[6]);
    let mut file = sim.open("/d/j".as_ref(), Open::Append).expect("there");
    file.append(b"damage\n").expect("written");
    drop(file);
    first.repair().expect("repairable");
    append_acknowledged(sim, &mut first, &[7]);
    first.rotate(Rotation { keep: None, shared_writers: false }, &mut Ids::default()).expect("rotated");
    append_acknowledged(sim, &mut second, &[8]);
    second.rotate(Rotation { keep: None, shared_writers: false }, &mut Ids::default()).expect("rotated");
    append_acknowledged(sim, &mut first, &[9]);
}

fn ids_in(engine: &mut Engine) -> Vec<u64> {
    let mut ids = Vec::new();
    let mut replay = engine.replay().expect("readable");
    while replay
        .step(&mut |replayed| {
            if let Replayed::Entry(entry, ..) = replayed
                && let Some(id) = entry.event.event_id.strip_prefix("a-")
            {
                ids.push(id.parse().expect("a number"));
            }
        })
        .expect("readable")
    {}
    ids
}

/// Every file's bytes, for a search.
fn all_bytes(sim: &Sim) -> Vec<u8> {
    let names: Vec<String> = sim.state().names().map(|name| name.display().to_string()).collect();
    names.iter().filter_map(|name| sim.content(name)).flatten().collect()
}

#[derive(Default, Debug)]
struct Counts {
    images: usize,
    valid: usize,
    torn: usize,
    locked: usize,
    without_owner: usize,
}

/// A lock whose owner file did not reach the medium, though the directory did, must be removed by hand. That is only where the file
/// system changes the order of names, which it must not.
fn remove_by_hand(sim: &Sim, in_order: bool, counts: &mut Counts) {
    let lock = "/d/j.lock".as_ref();
    if sim.stat(lock).is_ok() && sim.content("/d/j.lock/owner.json").is_none() {
        assert!(!in_order, "a lock without an owner");
        counts.without_owner += 1;
        sim.remove_dir(lock).expect("empty");
    }
}

/// The image is opened on the next boot.
fn reopen(image: State, counts: &mut Counts) {
    let notes = image.notes.clone();
    let in_order = image.in_order;
    let sim = Sim::of(image);
    remove_by_hand(&sim, in_order, counts);
    counts.images += 1;
    counts.locked += usize::from(sim.content("/d/j.lock/owner.json").is_some());
    let before = sim.content("/d/j").unwrap_or_default();
    let mut engine = engine(&sim, 2, Options::default());
    let verified = engine.verify().expect("readable");
    assert!(
        verified.valid
            || verified.torn_tail && verified.problem_count == 1
            || before.windows(7).any(|seven| seven == b"damage\n"),
        "{verified:?} {}",
        String::from_utf8_lossy(&before)
    );
    counts.valid += usize::from(verified.valid);
    counts.torn += usize::from(verified.torn_tail);
    let ids = ids_in(&mut engine);
    for note in &notes {
        assert!(ids.contains(note), "{note} is missing of {notes:?}: {}", String::from_utf8_lossy(&before));
    }
    if !verified.valid {
        engine.repair().expect("repairable");
        let everything = all_bytes(&sim);
        for line in before.split_inclusive(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            assert!(
                line.is_empty() || memchr::memmem::find(&everything, line).is_some(),
                "deleted: {}",
                String::from_utf8_lossy(line)
            );
        }
    }
    append(&mut engine, &[draft("a", 100)]).expect("usable");
    assert!(engine.verify().expect("readable").valid);
    assert_eq!(ids_in(&mut engine).len(), ids.len() + 1);
}

#[test]
fn power_cuts_of_a_workload() {
    let counts = cut(7);
    assert!(
        counts.images > 500 && counts.valid > 100 && counts.torn > 200 && counts.locked > 100,
        "{counts:?}"
    );
}

/// `cargo nextest run -p agent-lifecycle-io --run-ignored only power_cut`
#[test]
#[ignore = "half a minute; the one above takes a seventh of the prefixes"]
fn every_power_cut_of_a_workload() {
    let counts = cut(1);
    assert!(counts.images > 3000 && counts.torn > 1000, "{counts:?}");
}

fn cut(step: usize) -> Counts {
    let sim = super::sim();
    sim.record();
    workload(&sim);
    let history = sim.take_history();
    assert!(history.len() > 100, "{}", history.len());
    let mut counts = Counts::default();
    // Images that look alike are opened once, with all that was acknowledged in any of them.
    let mut seen: BTreeMap<u64, (State, usize)> = BTreeMap::new();
    let mut unsynced = None;
    for state in history {
        // A write waits for its sync over several steps; its prefixes are the same at each.
        let is_new = unsynced.replace(state.unsynced_mark()) != Some(state.unsynced_mark());
        for image in state.images(is_new.then_some(step)) {
            let acknowledged = image.notes.len();
            let in_order = image.in_order || seen.get(&image.mark()).is_some_and(|(other, _)| other.in_order);
            let entry = seen.entry(image.mark()).or_insert_with(|| (image.clone(), acknowledged));
            if entry.1 < acknowledged {
                *entry = (image, acknowledged);
            }
            entry.0.in_order = in_order;
        }
    }
    for (image, _) in seen.into_values() {
        reopen(image, &mut counts);
    }
    counts
}

#[test]
fn a_sync_that_is_left_out_is_noticed() {
    // Without syncs, an acknowledged event may be missing: the test above would fail.
    let sim = super::sim();
    let mut os =
        engine(&sim, 1, Options { durability: crate::journal::Durability::Os, ..Options::default() });
    append_acknowledged(&sim, &mut os, &[1]);
    let lost = sim.state().images(Some(1)).into_iter().any(|image| {
        let sim = Sim::of(image);
        !ids_in(&mut engine(&sim, 2, Options::default())).contains(&1)
    });
    assert!(lost);
}
