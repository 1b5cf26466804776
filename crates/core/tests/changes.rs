//! `changes_since`: what changed, by cursor.

mod common;

use std::collections::BTreeMap;

use agent_lifecycle_core::project::changes::REMOVALS;
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::project::{ChangeSet, Config, Projector};
use common::authority::{Act, acts};
use common::projection::{Story, at, event};
use common::streams::{Occurred, deliver, deliveries, run, steps};
use proptest::prelude::*;

fn ask(projector: &mut Projector, cursor: &str) -> ChangeSet {
    projector.changes_since(Some(cursor), &BesideAll::new())
}

/// The keys of an answer: `+` upserted, `-` removed, `!` for a reset.
fn keys(changes: &ChangeSet) -> String {
    let upserted = changes.upserted.iter().map(|row| format!("+{}", row.key));
    let removed = changes.removed.iter().map(|key| format!("-{key}"));
    let reset = changes.reset.then(|| "!".to_owned());
    reset.into_iter().chain(upserted).chain(removed).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_changed_and_what_changes_with_it() {
    let mut story = Story::new();
    let first = story.projector.changes_since(None, &BesideAll::new());
    assert_eq!(keys(&first), "!");
    let mut cursor = first.cursor;
    for (words, expected) in [
        ("c=root created", "+s#root"),
        ("c=root starting", "+s#root"),
        ("c=root waiting why=prompt", "+s#root"),
        // The parent has a live child, and waits for it.
        ("c=a parent=root created", "+s#root +s#a"),
        ("c=a starting", "+s#a"),
        ("c=other created s=t", "+t#other"),
        // Said before.
        ("c=a starting", ""),
        ("c=a failed", "+s#root +s#a"),
        // A new life takes the place of the old one.
        ("c=a#2 parent=root attempt=2 created", "+s#root +s#a#2 -s#a"),
        ("c=nobody heartbeat", ""),
    ] {
        let _ = story.projector.apply(&event(words), None);
        let changes = ask(&mut story.projector, &cursor);
        assert_eq!(keys(&changes), expected, "{words}");
        // The same cursor again gives the same.
        assert_eq!(keys(&ask(&mut story.projector, &cursor)), expected, "{words}");
        cursor = changes.cursor;
        assert_eq!(keys(&ask(&mut story.projector, &cursor)), "", "{words}");
    }
    let parent = rows(story.projector.records(), &BesideAll::new()).remove(0);
    assert_eq!(parent.live_children, 1);
    story.projector.mark_stale(at(120));
    assert_eq!(keys(&ask(&mut story.projector, &cursor)), "+s#root +s#a#2 +t#other");
    assert!(story.projector.remove("s", "a#2"));
    assert!(!story.projector.remove("s", "a#2"));
    assert_eq!(keys(&ask(&mut story.projector, &cursor)), "+t#other +s#root +s#a -s#a#2");
    story.projector.forget(at(1));
    assert_eq!(keys(&ask(&mut story.projector, &cursor)), "+t#other +s#root -s#a#2 -s#a");
    // A removal alone is a change, told once.
    cursor = ask(&mut story.projector, &cursor).cursor;
    story.projector.remove("t", "other");
    let last = ask(&mut story.projector, &cursor);
    assert_eq!(keys(&last), "-t#other");
    assert_eq!(keys(&ask(&mut story.projector, &last.cursor)), "");
}

#[test]
fn a_cursor_that_says_nothing_gives_everything() {
    let mut story = Story::new();
    story.step("created");
    let cursor = ask(&mut story.projector, "").cursor;
    let (instance, revision) = cursor.split_once('.').unwrap();
    let later = format!("{instance}.{}", revision.parse::<u64>().unwrap() + 1);
    let padded = format!("{instance}.0{revision}");
    let foreign = {
        let config = Config { hash_keys: (7, 8), ..Config::default() };
        Projector::new(config).changes_since(None, &BesideAll::new()).cursor
    };
    for cursor in
        ["", "x", "1", later.as_str(), padded.as_str(), foreign.as_str(), &cursor[..cursor.len() - 1]]
    {
        assert_eq!(keys(&ask(&mut story.projector, cursor)), "! +s#c", "{cursor}");
    }
    assert_eq!(keys(&ask(&mut story.projector, &cursor)), "");
}

#[test]
fn removals_are_remembered_within_a_bound() {
    let mut projector = Projector::new(Config::default());
    let mut cursors = Vec::new();
    for child in 0..REMOVALS + 2 {
        let id = format!("c{child}");
        projector.apply(&event(&format!("s={id} c={id} created")), None).unwrap();
        cursors.push(projector.changes_since(Some(""), &BesideAll::new()).cursor);
        projector.remove(&id, &id);
        ask(&mut projector, "");
    }
    assert!(ask(&mut projector, &cursors[0]).reset);
    assert!(ask(&mut projector, &cursors[1]).reset);
    let changes = ask(&mut projector, &cursors[2]);
    assert_eq!((changes.reset, changes.removed.len()), (false, REMOVALS));
}

/// Two readers, one of whom asks less often, both have the rows that there are.
#[test]
fn who_applies_the_changes_has_the_rows() {
    let occurred = Occurred::default();
    run(50, &(steps(true), acts()), |(steps, acts)| {
        let mut projector = Projector::new(Config::default());
        let mut readers: [(String, BTreeMap<String, String>); 2] = Default::default();
        let mut now = 0;
        let deliveries = deliveries(&steps);
        for (place, delivery) in deliveries.iter().enumerate() {
            deliver(&mut projector, delivery);
            for (_, act) in acts.iter().filter(|(when, _)| when % deliveries.len() == place) {
                match act {
                    Act::Wait(seconds) => {
                        now += seconds;
                        projector.mark_stale(at(now));
                    }
                    Act::Remove(child) => {
                        projector.remove("s", &child.to_string());
                    }
                    Act::Forget => {
                        projector.forget(at(now));
                    }
                    _ => {}
                }
            }
            for (reader, (cursor, rows)) in readers.iter_mut().enumerate() {
                if place + 1 < deliveries.len() && place % (5 + reader * 20) != 0 {
                    continue;
                }
                let changes = ask(&mut projector, cursor);
                if changes.reset {
                    rows.clear();
                    occurred.mark("reset");
                }
                for key in &changes.removed {
                    rows.remove(key);
                    occurred.mark("removed");
                }
                for row in &changes.upserted {
                    rows.insert(row.key.clone(), agent_lifecycle_core::json::write(row));
                    occurred.mark("upserted");
                }
                *cursor = changes.cursor;
            }
        }
        let there: BTreeMap<String, String> = rows(projector.records(), &BesideAll::new())
            .iter()
            .map(|row| (row.key.clone(), agent_lifecycle_core::json::write(row)))
            .collect();
        for (_, rows) in &readers {
            prop_assert_eq!(rows, &there);
        }
        Ok(())
    });
    occurred.require(&["reset", "removed", "upserted"], 20);
}
