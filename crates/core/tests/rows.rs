//! Rows: which lives are shown, and where they stand.

mod common;

use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use common::projection::{Story, event};

/// The rows after these events.
fn rows_of(events: &[&str]) -> Vec<Row> {
    let mut story = Story::new();
    for words in events {
        story.projector.apply(&event(words), None).unwrap();
    }
    rows(story.projector.records(), &BesideAll::new())
}

/// Each row in short form: key, state, the keys of its parent and root, and its live children where there are any.
fn short(rows: &[Row]) -> Vec<String> {
    let line = |row: &Row| {
        let name = |key: &str| key.strip_prefix("s#").unwrap_or(key).to_owned();
        let parent = row.parent_key.as_deref().map_or("-".to_owned(), name);
        let live = if row.live_children > 0 { format!(" {}", row.live_children) } else { String::new() };
        format!("{} {} {parent} {}{live}", name(&row.key), row.state.as_str(), name(&row.root_key))
    };
    rows.iter().map(line).collect()
}

#[test]
fn the_newest_life_is_shown_and_every_one_that_has_not_ended() {
    for (events, expected) in [
        // An older life that ended is history.
        (&["c=x created", "c=x failed", "c=x#2 attempt=2 root=x created"][..], &["x#2 created - x#2"][..]),
        // One that goes on is shown beside the newest, whatever that does.
        (
            &[
                "c=x created",
                "c=x starting",
                "c=x#2 attempt=2 root=x created",
                "c=x#2 attempt=2 root=x failed",
            ],
            &["x starting - x", "x#2 failed - x#2"],
        ),
        (
            &[
                "c=r created",
                "c=x root=r created",
                "c=x#2 attempt=2 root=r created",
                "c=x#3 attempt=3 root=r created",
                "c=x#2 attempt=2 root=r failed",
                "c=x#3 attempt=3 root=r failed",
            ],
            &["r created - r 1", "x created r r", "x#3 failed r r"],
        ),
        // Two sources share no things, and a number that is not the attempt makes no life.
        (
            &["c=x created", "c=x failed", "s=t c=x#2 attempt=2 created", "c=x#3 attempt=2 created"],
            &["x failed - x", "x#3 created - x#3", "t#x#2 created - t#x#2"],
        ),
    ] {
        assert_eq!(short(&rows_of(events)), expected, "{events:?}");
    }
}

#[test]
fn children_keep_their_parent_when_it_lives_again() {
    for (events, expected) in [
        // Whether the parent's older life ended and whichever of its lives is named.
        (
            &[
                "c=r created",
                "c=p root=r created",
                "c=k root=r parent=p created t=1",
                "c=p failed root=r",
                "c=p#2 attempt=2 root=r created",
                "c=p#2 attempt=2 root=r failed",
                "c=p#3 attempt=3 root=r created",
                "c=l root=r parent=p#2 created t=2",
            ][..],
            &["r created - r 1", "p#3 created r r 2", "k created p#3 r", "l created p#3 r"][..],
        ),
        (
            &[
                "c=r created",
                "c=p root=r created",
                "c=k root=r parent=p created",
                "c=p#2 attempt=2 root=r created t=1",
            ],
            &["r created - r 2", "p created r r", "p#2 created r r 1", "k created p#2 r"],
        ),
        // The root too: its own lives stand beside each other.
        (
            &[
                "c=root created",
                "c=k root=root created",
                "c=root failed",
                "c=root#2 attempt=2 root=root created",
            ],
            &["root#2 created - root#2 1", "k created root#2 root#2"],
        ),
        (
            &["c=root created", "c=k root=root created", "c=root#2 attempt=2 root=root created t=1"],
            &["root created - root", "root#2 created - root#2 1", "k created root#2 root#2"],
        ),
        // A new life that names its older one as its parent stands under the root.
        (
            &["c=r created", "c=x root=r created", "c=x#2 attempt=2 root=r parent=x created"],
            &["r created - r 2", "x created r r", "x#2 created r r"],
        ),
        // The first life is not known any more, or the root never was.
        (
            &["c=p#2 attempt=2 root=p created", "c=k root=p parent=p created t=1"],
            &["p#2 created - p#2 1", "k created p#2 p#2"],
        ),
        (&["c=k root=r created"], &["k created - r"]),
    ] {
        assert_eq!(short(&rows_of(events)), expected, "{events:?}");
    }
}

#[test]
fn only_a_prompt_is_shown_as_a_wait_for_children() {
    for (reason, shown) in [
        ("prompt", "child"),
        ("question", "question"),
        ("permission", "permission"),
        ("blocked", "blocked"),
        ("other", "other"),
    ] {
        let waits = format!("waiting why={reason}");
        let mut events = vec!["created", "starting", waits.as_str(), "c=k root=c created"];
        let look = |events: &[&str]| {
            let row = rows_of(events).swap_remove(0);
            (row.waiting_reason.unwrap().as_str(), row.attention.map(|attention| attention.kind.as_str()))
        };
        let attention = Some(shown).filter(|shown| *shown != "child");
        assert_eq!(look(&events), (shown, attention));
        // With no child that lives it is what it says.
        events.push("c=k root=c failed");
        assert_eq!(look(&events), (reason, Some(reason)));
    }
}

/// Each is above another: the one that started first is shown as a root, with everything below it.
#[test]
fn a_circle_of_parents_is_broken_at_its_first_member() {
    for (events, expected) in [
        // The root itself is said to stand below its child.
        (
            &["c=a root=a parent=b created", "c=b root=a parent=a created"][..],
            &["a created - a 1", "b created a a"][..],
        ),
        (
            &["c=b root=z parent=a t=1 created", "c=a root=z parent=b t=2 created"],
            &["b created - z 1", "a created b z"],
        ),
        // Started at once: by name. What hangs below the circle hangs below it still, whenever it started.
        (
            &[
                "c=leaf root=z parent=c t=0 created",
                "c=c root=z parent=b t=1 created",
                "c=b root=z parent=a t=1 created",
                "c=a root=z parent=c t=1 created",
            ],
            &["a created - z 1", "b created a z 1", "c created b z 1", "leaf created c z"],
        ),
        // Two circles and a tree.
        (
            &[
                "c=d root=z parent=c t=1 created",
                "c=c root=z parent=d t=2 created",
                "c=b root=z parent=a t=3 created",
                "c=a root=z parent=b t=4 created",
                "c=r t=5 created",
                "c=k root=r t=6 created",
            ],
            &[
                "d created - z 1",
                "c created d z",
                "b created - z 1",
                "a created b z",
                "r created - r 1",
                "k created r r",
            ],
        ),
    ] {
        assert_eq!(short(&rows_of(events)), expected, "{events:?}");
    }
}
