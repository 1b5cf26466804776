//! What bridged events add up to: turns and what goes on in them.

mod common;

use agent_lifecycle_core::agent::Outcome;
use agent_lifecycle_core::project::facts::Facts;
use common::projection::{Story, event};

/// The facts after a created child and these events.
fn facts(events: &[&str]) -> Facts {
    let mut story = Story::new();
    story.step("created");
    for (number, words) in events.iter().enumerate() {
        let applied = story.projector.apply(&event(&format!("id=e{number} activity {words}")), None);
        assert!(applied.is_ok(), "{words}");
    }
    *story.projector.record("s", "c").unwrap().facts.clone().unwrap()
}

/// The names of open tools.
fn open(facts: &Facts) -> Vec<&str> {
    facts.tools.open.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn the_end_of_a_turn_ends_what_it_ran() {
    let running = ["turn=1", "tool=a", "tool=b"];
    assert_eq!(open(&facts(&running)), ["a", "b"]);
    for (more, left) in [
        (&["done=success"][..], &[][..]),
        (&["done=success in=1"], &[]),
        // Another turn beside it ends nothing; one that takes its place does.
        (&["turn=2"], &["a", "b"]),
        (&["turn=2", "done=success"], &["a", "b"]),
        (&["turn=2", "done=success in=1"], &[]),
        (&["turn=2 instead=1"], &[]),
        // The end of another turn ends nothing of this one; the same turn again goes on.
        (&["done=success in=0"], &["a", "b"]),
        (&["turn=1"], &["a", "b"]),
    ] {
        let facts = facts(&[&running, more].concat());
        assert_eq!((open(&facts).as_slice(), facts.tools.count), (left, 2), "{more:?}");
    }
}

#[test]
fn a_turn_that_goes_on_is_one_turn() {
    for (events, count, is_open, outcomes) in [
        (&["turn=1"][..], 1, true, &[None][..]),
        (&["turn=1", "turn=1"], 1, true, &[None]),
        (&["turn=1", "done=success"], 1, false, &[Some("success")]),
        (&["turn=1", "done=success", "turn=1"], 1, true, &[None]),
        (&["turn=1", "done=success", "turn=1", "done=error"], 1, false, &[Some("error")]),
        (&["turn=1", "turn=2", "done=success"], 2, false, &[None, Some("success")]),
    ] {
        let facts = facts(events);
        let recent: Vec<Option<&str>> =
            facts.turns.recent.iter().map(|turn| turn.outcome.map(Outcome::as_str)).collect();
        assert_eq!((facts.turns.count, recent.as_slice()), (count, outcomes), "{events:?}");
        assert_eq!(facts.turn.unwrap().open, is_open, "{events:?}");
    }
}
