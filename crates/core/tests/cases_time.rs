//! Cases about time, order and two of a kind, at the projector.

mod common;

use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::project::steady::Steady;
use agent_lifecycle_core::project::{Config, Note, Projector, Status};
use common::projection::{at, event};

fn apply(projector: &mut Projector, words: &str) -> agent_lifecycle_core::project::Applied {
    projector.apply(&event(words), None).unwrap()
}

fn running(projector: &mut Projector, source: &str) {
    for (second, state) in ["created", "starting", "running"].into_iter().enumerate() {
        assert_eq!(apply(projector, &format!("s={source} t={second} {state}")).status, Status::Applied);
    }
}

fn is_stale(projector: &Projector, source: &str) -> bool {
    projector.record(source, "c").unwrap().freshness.stale.is_some()
}

#[test]
fn s9_a_wall_clock_that_jumps_makes_nothing_stale() {
    let mut projector = Projector::new(Config::default());
    running(&mut projector, "s");
    let millis = |seconds: i64| seconds * 1000;
    let mut clock = Steady::new(at(2), millis(100));
    let jump = clock.read(at(8 * 3600), millis(102));
    assert!(jump.jumped);
    projector.open_window(jump.now);
    assert!(projector.mark_stale(jump.now).is_empty() && !is_stale(&projector, "s"));
    // Real silence after the jump still counts.
    let later = |seconds: i64| (at(8 * 3600 + seconds), millis(102 + seconds));
    for (seconds, stale) in [(119, false), (120, true)] {
        let (wall, monotonic) = later(seconds);
        let reading = clock.read(wall, monotonic);
        assert!(!reading.jumped);
        projector.mark_stale(reading.now);
        assert_eq!(is_stale(&projector, "s"), stale, "{seconds}");
    }
}

#[test]
fn s10_what_was_missed_comes_after_a_reconnect_and_a_gap_asks_for_a_snapshot() {
    let mut projector = Projector::new(Config::default());
    running(&mut projector, "s");
    let (first, missed) = ("s=s n=10 t=5 activity", "s=s n=11 t=6 completed");
    assert_eq!(apply(&mut projector, first).status, Status::Applied);
    // From 10 again: what is known is deduplicated, what was missed is taken.
    assert_eq!(apply(&mut projector, first).status, Status::Deduplicated);
    assert_eq!(apply(&mut projector, missed).status, Status::Applied);
    assert_eq!(projector.record("s", "c").unwrap().state, State::Completed);

    running(&mut projector, "other");
    apply(&mut projector, "s=other n=10 t=5 activity");
    let gap = apply(&mut projector, "s=other n=12 t=6 activity");
    assert_eq!((gap.status, gap.note), (Status::Provisional, Some(Note::SequenceGap)));
    assert!(gap.wants_snapshot());
    assert!(projector.record("other", "c").unwrap().gap_detected);
}

#[test]
fn s14_two_processes_are_two_sources_and_heartbeats_keep_one_fresh() {
    let mut projector = Projector::new(Config::default());
    running(&mut projector, "my-agent/1");
    running(&mut projector, "my-agent/2");
    assert_eq!(projector.records().count(), 2);
    let quiet: Moment = at(300);
    for second in (30..=300).step_by(30) {
        apply(&mut projector, &format!("s=my-agent/1 id=beat{second} t={second} heartbeat"));
        projector.mark_stale(at(second));
        assert!(!is_stale(&projector, "my-agent/1"), "{second}");
    }
    projector.mark_stale(quiet);
    assert!(is_stale(&projector, "my-agent/2"));
    // A heartbeat proves life, not progress.
    assert_eq!(projector.record("my-agent/1", "c").unwrap().state_since, at(2));
}
