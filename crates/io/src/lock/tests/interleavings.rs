//! Every interleaving of a few programs at one lock: each step of the protocol is a point where any other may come first.
//!
//! Over the simulated file system all of them are tried (states that were seen are not tried again); on the real one, schedules
//! drawn from the same steps.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::{LockOptions, Locker};
use crate::process::Identity;
use crate::storage::record::{Behind, Player, Steps, Who, step};
use crate::storage::sim::{Sim, State};
use crate::storage::{Disk, Storage};

const NOW: i64 = 1_900_000_000_000;
/// The pid of the program that crashed with the lock, and the first of those that are alive.
const DEAD: i32 = 99;
const FIRST: i32 = 1;

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// One of ours: takes the lock, checks it, gives it back.
    Ours,
    /// A program that knows the plain protocol only: makes the directory, writes its owner, removes it if it is still its own.
    Plain,
    /// A person who removes whatever lock stands there.
    Hand,
}

/// Who believes to hold, in the order of the programs; and what went wrong.
#[derive(Clone, Default, Debug)]
struct World {
    holds: Vec<bool>,
    /// Whether a hold of ours was still its own at its check.
    confirmed: Vec<bool>,
    outcomes: Vec<&'static str>,
    fault: Option<String>,
}

#[derive(Clone)]
struct Scene {
    roles: Vec<Role>,
    directory: PathBuf,
    world: Arc<Mutex<World>>,
}

impl Scene {
    fn who(at: usize) -> Who {
        let pid = FIRST + i32::try_from(at).expect("few");
        let text = |text: &str| Some(text.to_owned());
        let identity = Identity {
            pid,
            host_name: text("h"),
            boot_id: text("b"),
            pid_namespace: None,
            time_namespace: None,
            process_start_time: None,
        };
        Who { identity, now: NOW, dead: vec![DEAD] }
    }

    /// The program at `at`, from its start.
    fn program(&self, at: usize, player: &Player) {
        let journal = self.directory.join("j");
        let lock = self.directory.join("j.lock");
        match self.roles[at] {
            Role::Ours => self.ours(at, player, &journal),
            Role::Plain => self.plain(at, player, &lock),
            Role::Hand => {
                let _ = player.remove_file(&lock.join("owner.json"));
                let _ = player.remove_dir(&lock);
            }
        }
    }

    fn ours(&self, at: usize, player: &Player, journal: &Path) {
        let options = LockOptions {
            timeout: Duration::from_millis(12),
            stale: Duration::from_secs(1),
            sync_owner: false,
        };
        let mut locker = Locker::new(Arc::new(player.clone()), Arc::new(player.clone()), journal, options);
        let Ok(held) = locker.acquire() else {
            self.end(player, at, "timed out");
            return;
        };
        player.note(|| self.hold(at, true));
        let is_ours = locker.check(&held).unwrap_or(false);
        player.note(|| self.confirm(at, is_ours));
        // What would be written is written here.
        player.note(|| self.hold(at, false));
        let released = locker.release(held);
        self.end(player, at, if released { "released" } else { "lost" });
    }

    fn plain(&self, at: usize, player: &Player, lock: &Path) {
        let token = format!("plain-{at}");
        for _ in 0..2 {
            if player.make_dir(lock).is_ok() {
                let pid = Self::who(at).identity.pid;
                let record = format!("{{\"pid\":{pid},\"token\":\"{token}\",\"createdAt\":{NOW}}}");
                if player.write_new(&lock.join("owner.json"), record.as_bytes(), false).is_err() {
                    self.end(player, at, "lost");
                    return;
                }
                let is_own = player
                    .read(&lock.join("owner.json"), 4096)
                    .is_ok_and(|content| String::from_utf8_lossy(&content).contains(&token));
                if is_own {
                    let _ = player.remove_file(&lock.join("owner.json"));
                    let _ = player.remove_dir(lock);
                }
                self.end(player, at, if is_own { "released" } else { "lost" });
                return;
            }
            crate::storage::System::sleep(player, Duration::from_millis(10));
        }
        self.end(player, at, "timed out");
    }

    fn hold(&self, at: usize, holds: bool) {
        let mut world = self.world.lock().expect("no panic");
        world.holds[at] = holds;
        let ours =
            (0..self.roles.len()).filter(|&at| self.roles[at] == Role::Ours && world.holds[at]).count();
        if ours > 1 {
            world.fault = Some(format!("{ours} of ours hold at once"));
        }
    }

    fn confirm(&self, at: usize, is_ours: bool) {
        self.world.lock().expect("no panic").confirmed[at] = is_ours;
    }

    fn end(&self, player: &Player, at: usize, outcome: &'static str) {
        player.note(|| self.world.lock().expect("no panic").outcomes[at] = outcome);
    }
}

fn scene(roles: &[Role], directory: &Path) -> Scene {
    let count = roles.len();
    let world = World {
        holds: vec![false; count],
        confirmed: vec![false; count],
        outcomes: vec![""; count],
        fault: None,
    };
    Scene { roles: roles.to_vec(), directory: directory.to_owned(), world: Arc::new(Mutex::new(world)) }
}

/// The lock of a program that crashed, with a record that proves it.
fn stale_lock(storage: &dyn Storage, directory: &Path) {
    let lock = directory.join("j.lock");
    storage.make_dir(&lock).expect("free");
    let record = format!("{{\"pid\":{DEAD},\"token\":\"dead\",\"hostName\":\"h\",\"bootId\":\"b\"}}");
    storage.write_new(&lock.join("owner.json"), record.as_bytes(), false).expect("free");
}

/// What is left when all programs are through, how they fared, and what went wrong on the way.
struct Ends {
    faults: HashSet<String>,
    states: usize,
    outcomes: HashSet<Vec<&'static str>>,
    left: HashSet<Vec<String>>,
}

/// Tries every interleaving.
fn explore(roles: &[Role], stale: bool, refuses_rename_new: bool) -> Ends {
    let ends = explore_on(roles, stale, |state| state.refuses_rename_new = refuses_rename_new);
    assert_eq!(ends.faults, HashSet::new(), "{roles:?}");
    ends
}

fn explore_on(roles: &[Role], stale: bool, set: impl FnOnce(&mut State)) -> Ends {
    let sim = Sim::with(&["/", "/d"]);
    if stale {
        stale_lock(&sim, Path::new("/d"));
    }
    sim.state().now = NOW;
    set(&mut sim.state());
    let scene = scene(roles, Path::new("/d"));
    let behind = Behind::Sim(sim.clone());
    let mut ends = Ends { faults: HashSet::new(), states: 0, outcomes: HashSet::new(), left: HashSet::new() };
    let mut seen = HashSet::new();
    let first = scene.world.lock().expect("no panic").clone();
    let mut open: Vec<(State, Vec<Steps>, World)> =
        vec![(sim.state().clone(), vec![Steps::default(); roles.len()], first)];
    while let Some((state, programs, world)) = open.pop() {
        if programs.iter().all(|program| program.is_over) {
            ends.outcomes.insert(world.outcomes.clone());
            ends.left.insert(state.names().skip(2).map(|name| name.display().to_string()).collect());
        }
        for at in 0..programs.len() {
            if programs[at].is_over {
                continue;
            }
            *sim.state() = state.clone();
            *scene.world.lock().expect("no panic") = world.clone();
            let next = step(&programs[at], &behind, &Scene::who(at), &|player| scene.program(at, player));
            let world = scene.world.lock().expect("no panic").clone();
            if let Some(fault) = world.fault {
                ends.faults.insert(fault);
                continue;
            }
            let mut programs = programs.clone();
            programs[at] = next;
            let after = sim.state().clone();
            let mut hasher = DefaultHasher::new();
            after.mark().hash(&mut hasher);
            for program in &programs {
                (program.seen, program.is_over).hash(&mut hasher);
            }
            if seen.insert(hasher.finish()) {
                open.push((after, programs, world));
            }
        }
    }
    ends.states = seen.len();
    ends
}

/// Nothing is left but the guard, and what a notice told of.
fn leaves_no_lock(ends: &Ends) {
    for left in &ends.left {
        assert_eq!(left, &["/d/j.lock.guard"], "of {} states", ends.states);
    }
}

#[test]
fn two_reclaimers_of_ours() {
    for refuses_rename_new in [false, true] {
        let ends = explore(&[Role::Ours, Role::Ours], true, refuses_rename_new);
        assert!(ends.states > 100, "{}", ends.states);
        leaves_no_lock(&ends);
        assert!(ends.outcomes.contains(&vec!["released", "released"]), "{:?}", ends.outcomes);
        for outcome in &ends.outcomes {
            assert!(outcome.contains(&"released") && !outcome.contains(&"lost"), "{outcome:?}");
        }
    }
}

#[test]
fn a_reclaimer_and_a_plain_program() {
    for refuses_rename_new in [false, true] {
        let ends = explore(&[Role::Ours, Role::Ours, Role::Plain], true, refuses_rename_new);
        assert!(ends.states > 1000, "{}", ends.states);
        assert!(ends.outcomes.iter().any(|outcome| outcome[2] == "released"));
        // Nobody loses a lock that nobody removed by hand.
        for outcome in &ends.outcomes {
            assert!(!outcome.contains(&"lost"), "{outcome:?}");
        }
    }
}

#[test]
fn a_displaced_holder_and_a_late_release() {
    for refuses_rename_new in [false, true] {
        for roles in [
            &[Role::Ours, Role::Hand, Role::Ours][..],
            &[Role::Ours, Role::Hand, Role::Plain],
            &[Role::Ours, Role::Ours, Role::Hand],
        ] {
            let ends = explore(roles, false, refuses_rename_new);
            assert!(ends.states > 300, "{roles:?}: {}", ends.states);
            let displaced = ends.outcomes.iter().any(|outcome| outcome[0] == "lost");
            assert!(displaced, "no schedule displaces the holder: {:?}", ends.outcomes);
        }
    }
}

/// Shows that the search finds two holders where there are two: where the file system has no locks, a lock that is removed by
/// hand is free for all.
#[test]
fn without_the_guard_two_hold() {
    let ends = explore_on(&[Role::Ours, Role::Hand, Role::Ours], false, |state| state.refuses_locks = true);
    assert_eq!(ends.faults, HashSet::from(["2 of ours hold at once".to_owned()]));
}

/// A schedule on the real file system: who takes the next step, by a small generator.
fn play(roles: &[Role], stale: bool, refuses_rename_new: bool, seed: u64) -> Vec<&'static str> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if stale {
        stale_lock(&Disk, folder.path());
    }
    let scene = scene(roles, folder.path());
    let behind = Behind::Real { refuses_rename_new };
    let mut programs = vec![Steps::default(); roles.len()];
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while programs.iter().any(|program| !program.is_over) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = usize::try_from(random >> 33).expect("31 bits") % programs.len();
        if !programs[at].is_over {
            programs[at] = step(&programs[at], &behind, &Scene::who(at), &|player| scene.program(at, player));
            assert_eq!(scene.world.lock().expect("no panic").fault, None, "{roles:?} seed {seed}");
        }
    }
    let world = scene.world.lock().expect("no panic").clone();
    world.outcomes
}

#[test]
fn schedules_on_the_real_file_system() {
    for refuses_rename_new in [false, true] {
        for (roles, stale) in [
            (&[Role::Ours, Role::Ours][..], true),
            (&[Role::Ours, Role::Ours, Role::Plain], true),
            (&[Role::Ours, Role::Hand, Role::Ours], false),
            (&[Role::Ours, Role::Hand, Role::Plain], false),
        ] {
            let outcomes: HashSet<_> =
                (0..40).map(|seed| play(roles, stale, refuses_rename_new, seed)).collect();
            assert!(outcomes.len() > 1, "{roles:?}: {outcomes:?}");
        }
    }
}
