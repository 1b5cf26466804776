//! One situation each, with injected facts and clocks (cases L2 to L4 and the owners of section 6).

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::lock::{LockError, LockOptions, Locker, Notice};
use crate::process::{Identity, Seen};
use crate::storage::sim::{Injected, Sim};
use crate::storage::{Storage, System};

const NOW: i64 = 1_800_000_000_000;
const LOCK: &str = "/d/j.lock";
const OWNER: &str = "/d/j.lock/owner.json";

/// A machine whose clock moves when somebody sleeps.
struct Fake {
    slept: Mutex<Duration>,
    randoms: Mutex<u64>,
    seen: Seen,
    looked_at: Mutex<Vec<i32>>,
}

impl Fake {
    fn new(seen: Seen) -> Arc<Self> {
        Arc::new(Self {
            slept: Mutex::default(),
            randoms: Mutex::default(),
            seen,
            looked_at: Mutex::default(),
        })
    }
}

impl System for Fake {
    fn now(&self) -> i64 {
        NOW + i64::try_from(self.elapsed().as_millis()).expect("a short test")
    }
    fn elapsed(&self) -> Duration {
        *self.slept.lock().expect("no panic")
    }
    fn sleep(&self, time: Duration) {
        *self.slept.lock().expect("no panic") += time;
    }
    fn random(&self) -> u64 {
        let mut randoms = self.randoms.lock().expect("no panic");
        *randoms += 1;
        *randoms
    }
    fn identity(&self) -> Identity {
        Identity {
            pid: 10,
            host_name: Some("host".to_owned()),
            boot_id: Some("boot".to_owned()),
            pid_namespace: Some("pid:[1]".to_owned()),
            time_namespace: None,
            process_start_time: Some(5),
        }
    }
    fn look(&self, pid: i32) -> Seen {
        self.looked_at.lock().expect("no panic").push(pid);
        self.seen
    }
}

fn sim() -> Sim {
    let sim = Sim::with(&["/", "/d"]);
    sim.state().now = NOW;
    sim
}

/// A lock of `age` milliseconds whose owner file says `owner`.
fn locked(sim: &Sim, owner: Option<&serde_json::Value>, age: i64) {
    sim.state().now = NOW - age;
    sim.make_dir(Path::new(LOCK)).expect("free");
    if let Some(owner) = owner {
        sim.put(OWNER, owner.to_string().as_bytes());
    }
    sim.state().now = NOW;
}

fn locker(sim: &Sim, system: &Arc<Fake>) -> Locker {
    let system: Arc<dyn System> = Arc::<Fake>::clone(system);
    Locker::new(Arc::new(sim.clone()), system, Path::new("/d/j"), LockOptions::default())
}

fn names(sim: &Sim) -> Vec<String> {
    sim.state().names().skip(2).map(|name| name.display().to_string()).collect()
}

#[test]
fn a_free_lock_has_its_owner_inside_and_leaves_nothing() {
    for refuses_rename_new in [false, true] {
        let sim = sim();
        sim.state().refuses_rename_new = refuses_rename_new;
        let system = Fake::new(Seen::Untold);
        let mut locker = locker(&sim, &system);
        let held = locker.acquire().expect("free");
        assert!(!held.has_waited());
        assert!(locker.check(&held).expect("readable"));
        assert_eq!(names(&sim), [LOCK, OWNER, "/d/j.lock.guard"]);
        let record: serde_json::Value =
            serde_json::from_slice(&sim.content(OWNER).expect("there")).expect("JSON");
        assert_eq!(
            record,
            json!({
                "token": "00000000000000010000000000000002", "createdAt": "2027-01-15T08:00:00Z", "pid": 10,
                "hostName": "host", "bootId": "boot", "pidNamespace": "pid:[1]", "processStartTime": 5
            })
        );
        assert!(locker.release(held));
        assert_eq!(names(&sim), ["/d/j.lock.guard"]);
        assert_eq!(locker.take_notices(), []);
    }
}

#[test]
fn who_is_waited_for_and_who_is_not() {
    let full = |pid: serde_json::Value| {
        json!({ "pid": pid, "token": "t", "hostName": "host", "bootId": "boot", "pidNamespace": "pid:[1]",
                "processStartTime": 100 })
    };
    let with = |name: &str, value: &str| {
        let mut record = full(json!(20));
        record[name] = json!(value);
        record
    };
    let bare = json!({ "pid": 20, "token": "t" });
    let fresh = json!({ "pid": 20, "token": "t", "createdAt": NOW - 1000 });
    let absent = Seen::Absent;
    let alive = |started| Seen::Present { started: Some(started), zombie: false };
    let zombie = Seen::Present { started: Some(100), zombie: true };
    // The record, what is seen of its pid, the lock's age in milliseconds, and whether it is taken.
    for (owner, seen, age, taken) in [
        (full(json!(20)), absent, 5_000, true),
        (full(json!(20)), alive(101), 5_000, true),
        (full(json!(20)), zombie, 5_000, true),
        (with("bootId", "b2"), alive(100), 5_000, true),
        (full(json!(20)), alive(100), 1_000_000_000, false),
        (full(json!(20)), Seen::Forbidden { started: Some(100) }, 1_000_000_000, false),
        (with("hostName", "other"), absent, 1_000_000_000, false),
        (with("pidNamespace", "pid:[2]"), absent, 1_000_000_000, false),
        (full(json!(0)), absent, 1_000_000_000, false),
        (full(json!(-1)), absent, 1_000_000_000, false),
        (full(json!(1.5)), absent, 1_000_000_000, false),
        (full(json!("20")), absent, 1_000_000_000, false),
        // Judged by its pid alone, it must be old by the longer measure. The wait adds five seconds to its age.
        (bare.clone(), absent, 300_000, true),
        (bare.clone(), absent, 290_000, false),
        (bare, alive(1), 1_000_000_000, false),
        (fresh, absent, 1_000_000_000, false),
    ] {
        let sim = sim();
        locked(&sim, Some(&owner), age);
        let system = Fake::new(seen);
        let mut locker = locker(&sim, &system);
        match locker.acquire() {
            Ok(held) => {
                assert!(taken, "robbed: {owner} {seen:?} {age}");
                assert!(locker.check(&held).expect("readable"));
                assert_eq!(names(&sim), [LOCK, OWNER, "/d/j.lock.guard"]);
            }
            Err(LockError::TimedOut(message)) => {
                assert!(!taken, "not taken: {owner} {seen:?} {age}: {message}");
                let start = "journal lock timeout: /d/j.lock was not free for 5000 ms: its owner, pid ";
                assert!(message.starts_with(start), "{message}");
                assert!(message.contains(&owner["pid"].to_string()), "{message}");
            }
            Err(error) => panic!("{owner}: {error}"),
        }
        if owner["pid"].as_i64() != Some(20) {
            assert!(system.looked_at.lock().expect("no panic").is_empty(), "probed: {owner}");
        }
        assert_eq!(locker.take_notices(), []);
    }
}

#[test]
fn a_death_that_ripens_during_the_wait_is_used() {
    let sim = sim();
    locked(
        &sim,
        Some(
            &json!({ "pid": 20, "token": "t", "hostName": "host", "bootId": "b2" , "pidNamespace": "pid:[1]" }),
        ),
        4_000,
    );
    let system = Fake::new(Seen::Untold);
    let held = locker(&sim, &system).acquire().expect("old after a second");
    assert!(held.has_waited());
    assert!(system.elapsed() >= Duration::from_secs(1) && system.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_lock_without_owner_is_waited_for_then_told() {
    for owner in [None, Some(json!({ "pid": 20 })), Some(json!([]))] {
        let sim = sim();
        locked(&sim, owner.as_ref(), 5);
        let error = locker(&sim, &Fake::new(Seen::Absent)).acquire().err().expect("held");
        assert!(
            matches!(&error, LockError::TimedOut(message) if message.contains("no readable owner.json")),
            "{error}"
        );
        assert!(names(&sim).contains(&LOCK.to_owned()));

        let sim = Sim::of(sim.state().clone());
        let system = Fake::new(Seen::Absent);
        *system.slept.lock().expect("no panic") = Duration::from_mins(5);
        let error = locker(&sim, &system).acquire().err().expect("held");
        assert!(
            matches!(&error, LockError::NoOwner(message) if message.contains("remove /d/j.lock by hand")),
            "{error}"
        );
        assert_eq!(system.elapsed(), Duration::from_mins(5), "nothing to wait for");
        assert!(names(&sim).contains(&LOCK.to_owned()));
    }
}

#[test]
fn a_lock_that_was_taken_from_us_is_left_alone() {
    let sim = sim();
    let mut locker = locker(&sim, &Fake::new(Seen::Untold));
    let held = locker.acquire().expect("free");
    // Somebody removes it, and another takes it.
    sim.remove_file(Path::new(OWNER)).expect("there");
    sim.put(OWNER, br#"{"pid":30,"token":"theirs"}"#);
    assert!(!locker.check(&held).expect("readable"));
    assert!(!locker.release(held));
    assert_eq!(locker.take_notices(), [Notice::LostAtRelease(LOCK.into())]);
    assert_eq!(sim.content(OWNER).as_deref(), Some(&br#"{"pid":30,"token":"theirs"}"#[..]));
}

#[test]
fn a_dead_owner_s_lock_goes_with_all_that_is_in_it() {
    let sim = sim();
    let dead =
        json!({ "pid": 20, "token": "t", "hostName": "host", "bootId": "b2", "pidNamespace": "pid:[1]" });
    locked(&sim, Some(&dead), 5_000);
    sim.state().now = NOW - 5_000;
    sim.put("/d/j.lock/notes", b"of another program");
    sim.state().now = NOW;
    let mut locker = locker(&sim, &Fake::new(Seen::Untold));
    let held = locker.acquire().expect("old");
    assert_eq!(names(&sim), [LOCK, OWNER, "/d/j.lock.guard"]);
    assert!(locker.release(held));
}

#[test]
fn a_hold_that_was_dropped_is_given_back_by_its_own_locker_only() {
    let sim = sim();
    let alive = Seen::Present { started: None, zombie: false };
    let mut first = locker(&sim, &Fake::new(alive));
    drop(first.acquire().expect("free"));
    // For another program of the same kind the owner is alive.
    assert!(matches!(locker(&sim, &Fake::new(alive)).acquire(), Err(LockError::TimedOut(_))));
    let held = first.acquire().expect("its own");
    assert!(first.release(held));
    assert_eq!(first.take_notices(), []);
    assert!(!names(&sim).contains(&LOCK.to_owned()));
}

#[test]
fn one_of_ours_waits_for_the_guard_and_names_its_holder() {
    let sim = sim();
    let first = Fake::new(Seen::Untold);
    let mut holder = locker(&sim, &first);
    let held = holder.acquire().expect("free");
    // The lock is removed by hand under its holder, who is stopped.
    sim.remove_file(Path::new(OWNER)).expect("there");
    sim.remove_dir(Path::new(LOCK)).expect("empty");
    let error = locker(&sim, &Fake::new(Seen::Untold)).acquire().err().expect("guarded");
    assert!(error.to_string().ends_with("the guard /d/j.lock.guard is held by pid 10"), "{error}");
    assert!(!holder.check(&held).expect("readable"));
    assert!(!holder.release(held));
    assert!(locker(&sim, &Fake::new(Seen::Untold)).acquire().is_ok());
}

#[test]
fn a_guard_that_was_renamed_excludes_nobody_so_it_is_taken_anew() {
    let sim = sim();
    let held = locker(&sim, &Fake::new(Seen::Untold)).acquire().expect("free");
    sim.rename(Path::new("/d/j.lock.guard"), Path::new("/d/elsewhere")).expect("there");
    let mut second = locker(&sim, &Fake::new(Seen::Untold));
    // The new guard is free, but the lock is not.
    assert!(
        matches!(second.acquire(), Err(LockError::TimedOut(message)) if message.contains("its owner, pid 10"))
    );
    drop(held);
}

#[test]
fn without_locks_of_the_system_one_warning() {
    let sim = sim();
    sim.state().refuses_locks = true;
    let mut locker = locker(&sim, &Fake::new(Seen::Untold));
    for _ in 0..3 {
        let held = locker.acquire().expect("free");
        assert!(locker.release(held));
    }
    assert_eq!(locker.take_notices(), [Notice::NoGuard("/d/j.lock.guard".into())]);
}

#[test]
fn leftovers_of_the_dead_are_swept_and_of_the_living_not() {
    let dead =
        json!({ "pid": 20, "token": "t", "hostName": "host", "bootId": "b2", "pidNamespace": "pid:[1]" });
    let living =
        json!({ "pid": 10, "token": "t", "hostName": "host", "bootId": "boot", "pidNamespace": "pid:[1]" });
    for (owner, age, swept) in [(&dead, 5_000, true), (&dead, 4_999, false), (&living, 1_000_000, false)] {
        for name in ["/d/j.lock.a.tmp", "/d/j.lock.a.released", "/d/j.lock.stale-a"] {
            let sim = sim();
            sim.state().now = NOW - age;
            sim.make_dir(Path::new(name)).expect("free");
            sim.put(&format!("{name}/owner.json"), owner.to_string().as_bytes());
            sim.put("/d/j.lock.notes", b"mine");
            sim.state().now = NOW;
            locker(&sim, &Fake::new(Seen::Present { started: None, zombie: false })).sweep();
            assert_eq!(!names(&sim).contains(&name.to_owned()), swept, "{name} {age}");
            assert!(names(&sim).contains(&"/d/j.lock.notes".to_owned()));
        }
    }
}

#[test]
fn whatever_fails_the_error_names_the_file_and_the_lock_is_usable_after() {
    // A free run takes so many changing calls, from the guard's making to the removal.
    let free = sim();
    let mut locker_of_free = locker(&free, &Fake::new(Seen::Untold));
    let held = locker_of_free.acquire().expect("free");
    locker_of_free.release(held);
    let calls = free.state().calls();
    assert!(calls >= 7, "{calls}");
    for call in 1..=calls {
        for kind in [std::io::ErrorKind::StorageFull, std::io::ErrorKind::ReadOnlyFilesystem] {
            let sim = sim();
            sim.state().faults.insert(call, Injected::Error(kind));
            let mut locker = locker(&sim, &Fake::new(Seen::Present { started: None, zombie: false }));
            match locker.acquire() {
                Ok(held) => _ = locker.release(held),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("/d/j.lock") && text.starts_with("cannot "), "{text}");
                }
            }
            let held = locker.acquire().unwrap_or_else(|error| panic!("call {call}: {error}"));
            assert!(locker.check(&held).expect("readable"));
            assert!(locker.release(held));
            assert!(!names(&sim).contains(&LOCK.to_owned()), "call {call}: {:?}", names(&sim));
        }
    }
}
