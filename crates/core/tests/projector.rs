//! Checks 3 to 8 of the projection: each with its result, and the record after it.

mod common;

use agent_lifecycle_core::contract::{Capability, Code, State};
use common::projection::{Story, event, tell};

#[test]
fn identity_by_sequence() {
    tell(&[
        ("id=a created n=0", "applied", "created n=0"),
        ("id=a created n=0", "deduplicated", "created n=0"),
        ("id=b created n=0", "conflict identity_conflict", "created n=0"),
        ("id=a created n=0 t=1", "conflict identity_conflict", "created n=0"),
        ("id=a heartbeat n=0", "conflict identity_conflict", "created n=0"),
        // With a sequence the id is content only.
        ("id=a heartbeat n=1", "applied", "created n=1"),
        ("id=a heartbeat n=1 text=x", "conflict identity_conflict", "created n=1"),
        // Identity is judged within the child and the source.
        ("id=a c=d created n=0", "applied", "created n=0"),
        ("id=z s=t created n=0", "applied", "created n=0"),
    ]);
}

#[test]
fn identity_by_id() {
    tell(&[
        ("id=a created", "applied", "created"),
        ("id=a created", "deduplicated", "created"),
        ("id=a heartbeat", "conflict identity_conflict", "created"),
        ("id=b starting", "applied", "starting"),
        ("id=c running", "applied", "running"),
        // Before the edge: a repeat of an old state is a repeat, whatever the state is by now.
        ("id=b starting", "deduplicated", "running"),
        ("id=a c=d created", "applied", "created"),
    ]);
}

#[test]
fn identity_that_is_no_longer_checked() {
    let mut story = tell(&[("id=0 created n=0", "applied", "created n=0")]);
    for n in 1..=64 {
        assert_eq!(story.step(&format!("id={n} heartbeat n={n}")).0, "applied");
    }
    story.tell(&[
        // 64 hashes are kept: those of 1 to 64.
        ("id=1 heartbeat n=1", "deduplicated", "created n=64"),
        ("id=x heartbeat n=1", "conflict identity_conflict", "created n=64"),
        ("id=0 created n=0", "deduplicated identity_unchecked", "created n=64"),
        ("id=x running n=0", "deduplicated identity_unchecked", "created n=64"),
    ]);
}

#[test]
fn identity_that_was_evicted() {
    let mut story = tell(&[("id=first created t=0", "applied", "created")]);
    for n in 0..3000 {
        assert_eq!(story.step(&format!("id=h{n} heartbeat t={n}")).0, "applied", "{n}");
    }
    story.tell(&[
        ("id=h2999 heartbeat t=2999", "deduplicated", "created"),
        // 1,024 are remembered at least.
        ("id=h1976 heartbeat t=1976", "deduplicated", "created"),
        ("id=h1976 heartbeat t=9999", "conflict identity_conflict", "created"),
        ("id=h0 heartbeat t=0", "out_of_order identity_evicted", "created"),
        ("id=unknown starting t=5", "out_of_order identity_evicted", "created"),
        // Newer than all that were let go.
        ("id=other starting t=2999", "applied", "starting"),
        // Sequences have a window of their own.
        ("id=n heartbeat n=0 t=0", "applied", "starting n=0"),
    ]);
}

#[test]
fn nothing_touches_an_ended_child() {
    for end in ["completed", "failed", "cancelled", "lost"] {
        let mut story = tell(&[
            ("created n=0", "applied", "created n=0"),
            ("starting n=1", "applied", "starting n=1"),
            ("running n=3", "provisional sequence_gap", "running n=3 gap"),
        ]);
        assert_eq!(story.step(&format!("id=end {end} n=4")).1, format!("{end} n=4 gap"));
        let before = story.projector.record("s", "c").unwrap().clone();
        for (number, words) in [
            "created n=9",
            "starting n=10",
            "running n=11",
            "waiting n=12",
            "completed n=13",
            "failed n=14",
            "cancelled n=15",
            "lost n=16",
            "activity n=17 text=late",
            "heartbeat n=18 t=900",
            "reconciliation n=19",
            "diagnostic n=20",
            // Whatever the sequence: the hole is not filled, there is none without.
            "heartbeat n=2",
            "running",
            "created",
            "lost t=-5",
        ]
        .into_iter()
        .enumerate()
        {
            let (result, record) = story.step(words);
            assert_eq!(result, "terminal_immutable late_evidence", "{words}");
            assert!(record.starts_with(&format!("{end} ")), "{words}: {record}");
            assert!(record.ends_with(&format!(" gap late={}", number + 1)), "{words}: {record}");
            assert_eq!(story.step(words), ("deduplicated".to_owned(), record), "{words}");
        }
        let after = story.projector.record("s", "c").unwrap();
        assert_eq!(
            (after.state_since, after.freshness.newest, &after.activity, after.notes.is_some()),
            (before.state_since, before.freshness.newest, &before.activity, false)
        );
        assert!(after.freshness.reconciliation.is_none());
        // Sixteen are kept, all are counted.
        assert_eq!(story.step("id=one-more heartbeat").1, format!("{end} n=20 gap late=17"));
        let late = story.projector.record("s", "c").unwrap().late_evidence.as_ref().unwrap();
        assert_eq!((late.recent.len(), late.recent[0].event_id.as_ref()), (16, "starting n=10"));
    }
}

#[test]
fn identity_comes_before_the_end() {
    tell(&[
        ("id=a created n=0", "applied", "created n=0"),
        ("id=b failed n=1", "applied", "failed n=1"),
        ("id=b failed n=1", "deduplicated", "failed n=1"),
        ("id=c completed n=1", "conflict identity_conflict", "failed n=1"),
        ("id=a created n=0", "deduplicated", "failed n=1"),
    ]);
}

#[test]
fn what_a_bridge_tells_of_the_time_before_the_end_is_history() {
    let mut story = tell(&[
        ("created t=0", "applied", "created"),
        ("failed t=10", "applied", "failed"),
        ("activity t=10 tool=early", "terminal_immutable history", "failed"),
        ("activity t=10 tool=early", "deduplicated", "failed"),
        ("activity t=11 tool=after", "terminal_immutable late_evidence", "failed late=1"),
        ("completed t=9 tool=state", "terminal_immutable late_evidence", "failed late=2"),
        ("activity t=9", "terminal_immutable late_evidence", "failed late=3"),
    ]);
    let tools = || story.projector.record("s", "c").unwrap().facts.as_ref().unwrap().tools.count;
    assert_eq!(tools(), 1);
    story.tell(&[("id=x activity t=1 tool=again", "terminal_immutable history", "failed late=3")]);
}

#[test]
fn late_sequences() {
    tell(&[
        ("created n=10", "applied", "created n=10"),
        ("starting n=14", "provisional sequence_gap", "starting n=14 gap"),
        // Every kind, legal edge or not, `created` too: they change no state.
        ("running n=11", "out_of_order late_sequence", "starting n=14 gap"),
        ("running n=11", "deduplicated", "starting n=14 gap"),
        ("id=x running n=11", "conflict identity_conflict", "starting n=14 gap"),
        ("created n=12", "out_of_order late_sequence", "starting n=14 gap"),
        ("diagnostic n=9", "out_of_order late_sequence", "starting n=14 gap"),
        // The one that fills the last hole.
        ("heartbeat n=13", "out_of_order late_sequence", "starting n=14"),
        ("heartbeat n=8", "out_of_order late_sequence", "starting n=14"),
        // A terminal state is kept and asked about.
        ("completed n=5", "out_of_order late_sequence", "starting n=14 open=late_sequence late=1"),
        ("completed n=5", "deduplicated", "starting n=14 open=late_sequence late=1"),
        ("running n=15", "applied", "running n=15 open=late_sequence late=1"),
    ]);
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("heartbeat n=2", "provisional sequence_gap", "created n=2 gap"),
        ("failed n=1", "out_of_order late_sequence", "created n=2 open=late_sequence late=1"),
    ]);
}

#[test]
fn the_first_event_of_a_child() {
    let states = ["created", "starting", "running", "waiting", "completed", "failed", "cancelled", "lost"];
    let others = ["activity", "heartbeat", "reconciliation", "diagnostic"];
    for (flag, opening) in [("", &states[..1]), (" external", &states[..4])] {
        for words in states.iter().chain(&others) {
            let (result, record) = Story::new().step(&format!("{words}{flag}"));
            if opening.contains(words) {
                assert_eq!(result, "applied", "{words}{flag}");
                assert!(record.starts_with(words), "{words}{flag}: {record}");
            } else {
                assert_eq!(
                    (result.as_str(), record.as_str()),
                    ("conflict unknown_child", ""),
                    "{words}{flag}"
                );
            }
        }
    }
}

#[test]
fn a_second_created_is_refused_and_records_nothing() {
    let story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("id=again created n=1", "refused already_created", "created n=0"),
        ("id=again created", "refused already_created", "created n=0"),
        ("id=again created n=9", "refused already_created", "created n=0"),
        // Not even its identity.
        ("id=again heartbeat n=1", "applied", "created n=1"),
        ("id=again heartbeat", "applied", "created n=1"),
        // Nor one of an external child.
        ("c=x running external", "applied", "running"),
        ("c=x created external", "refused already_created", "running"),
    ]);
    assert_eq!(story.projector.records().count(), 2);
}

#[test]
fn gaps_of_every_kind_and_how_they_are_filled() {
    for words in ["activity", "heartbeat", "starting", "failed", "reconciliation", "diagnostic"] {
        let mut story = tell(&[("created n=5", "applied", "created n=5")]);
        let (result, record) = story.step(&format!("{words} n=7"));
        assert_eq!(result, "provisional sequence_gap", "{words}");
        assert!(record.contains("n=7 gap"), "{words}: {record}");
    }
    tell(&[
        ("created", "applied", "created"),
        // The first sequence sets the base, wherever it is.
        ("heartbeat n=9007199254740980", "applied", "created n=9007199254740980"),
        ("heartbeat n=9007199254740991", "provisional sequence_gap", "created n=9007199254740991 gap"),
        // An event without a sequence neither shows nor fills a gap.
        ("starting", "applied", "starting n=9007199254740991 gap"),
    ]);
    let mut story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("heartbeat n=4", "provisional sequence_gap", "created n=4 gap"),
    ]);
    story.tell(&[
        // The next one in order is no gap of its own, but the first one stays.
        ("heartbeat n=5", "applied", "created n=5 gap"),
        ("heartbeat n=7", "provisional sequence_gap", "created n=7 gap"),
        ("heartbeat n=2", "out_of_order late_sequence", "created n=7 gap"),
        ("heartbeat n=6", "out_of_order late_sequence", "created n=7 gap"),
        ("heartbeat n=1", "out_of_order late_sequence", "created n=7 gap"),
        ("heartbeat n=3", "out_of_order late_sequence", "created n=7"),
    ]);
}

/// The contract's edges, and what is reached over missing ones.
const EDGES: [(&str, &str, &str); 8] = [
    ("created", "starting cancelled failed lost", "running waiting completed"),
    ("starting", "running waiting cancelled failed lost", "completed"),
    ("running", "waiting completed failed cancelled lost", ""),
    ("waiting", "running completed failed cancelled lost", ""),
    ("completed", "", ""),
    ("failed", "", ""),
    ("cancelled", "", ""),
    ("lost", "", ""),
];

/// A story whose child is in `state`, by legal edges, at sequence 9.
fn in_state(state: &str) -> Story {
    let path: &[&str] = match state {
        "created" => &["created"],
        "starting" => &["created", "starting"],
        "running" => &["created", "starting", "running"],
        "waiting" => &["created", "starting", "waiting"],
        "completed" => &["created", "starting", "running", "completed"],
        ended => &["created", ended],
    };
    let mut story = Story::new();
    for (word, n) in path.iter().zip(10 - path.len()..) {
        assert_eq!(story.step(&format!("{word} n={n}")).0, "applied");
    }
    story
}

#[test]
fn every_edge() {
    for (from, legal, reached) in EDGES {
        let is_terminal = legal.is_empty();
        for to in State::ALL.map(State::as_str) {
            let is_in = |words: &str| words.split(' ').any(|word| word == to);
            for (sequence, is_gap) in [("", false), (" n=10", false), (" n=11", true)] {
                let mut story = in_state(from);
                let before = story.record("s", "c");
                let (result, record) = story.step(&format!("id=x {to}{sequence}"));
                let case = format!("{from} -> {to}{sequence}: {record}");
                if is_terminal {
                    assert_eq!(result, "terminal_immutable late_evidence", "{case}");
                    assert!(record.starts_with(from), "{case}");
                    continue;
                }
                let expected = match (is_in(legal) || from == to, is_gap) {
                    _ if to == "created" => "refused already_created",
                    (true, false) => "applied",
                    (true, true) => "provisional sequence_gap",
                    (false, true) if is_in(reached) => "provisional missing_edge",
                    _ => "refused illegal_transition",
                };
                assert_eq!(result, expected, "{case}");
                if expected.starts_with("refused") {
                    assert_eq!(record, before, "{case}");
                    // Nothing was recorded, so the identity is free.
                    let retried = story.step(&format!("id=x heartbeat{sequence}")).0;
                    assert!(!retried.contains("conflict"), "{case}");
                } else {
                    assert!(record.starts_with(to), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_refused_edge_names_both_states() {
    let mut story = in_state("created");
    let refusal = story.projector.apply(&event("completed n=10"), None).unwrap_err();
    assert_eq!((refusal.code, refusal.path.as_ref()), (Code::IllegalTransition, "$.state"));
    for words in ["Illegal transition", "created", "completed"] {
        assert!(refusal.message.contains(words), "{}", refusal.message);
    }
}

#[test]
fn a_missing_edge_is_judged_from_the_last_state_event() {
    // The hole is before the last state event: it explains nothing.
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("starting n=2", "provisional sequence_gap", "starting n=2 gap"),
        ("completed n=3", "refused illegal_transition", "starting n=2 gap"),
    ]);
    // The hole is after it, although no gap is before this event.
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("heartbeat n=2", "provisional sequence_gap", "created n=2 gap"),
        ("running n=3", "provisional missing_edge", "running n=3 gap"),
    ]);
    // It was filled by an event that brought no state.
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("heartbeat n=2", "provisional sequence_gap", "created n=2 gap"),
        ("heartbeat n=1", "out_of_order late_sequence", "created n=2"),
        ("running n=3", "refused illegal_transition", "created n=2"),
    ]);
    // A child cannot go back to where no path leads.
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("starting n=1", "applied", "starting n=1"),
        ("running n=2", "applied", "running n=2"),
        ("starting n=9", "refused illegal_transition", "running n=2"),
    ]);
}

#[test]
fn the_same_state_again_is_evidence() {
    let mut story = tell(&[
        ("created t=0", "applied", "created"),
        ("starting t=1", "applied", "starting"),
        ("waiting t=2 why=prompt", "applied", "waiting why=prompt"),
        ("waiting t=3 why=child", "applied", "waiting why=child"),
    ]);
    let record = story.projector.record("s", "c").unwrap();
    assert_eq!(record.state_since, common::projection::at(2));
    assert_eq!(record.freshness.newest.at, common::projection::at(3));
    story.tell(&[("running t=4", "applied", "running"), ("id=r2 running t=5", "applied", "running")]);
    assert_eq!(story.projector.record("s", "c").unwrap().state_since, common::projection::at(4));
}

#[test]
fn notes_are_kept_and_bounded() {
    let mut story = tell(&[("created text=begin", "applied", "created")]);
    for n in 1..=20 {
        let (result, record) = story.step(&format!("diagnostic id=d{n} text=note{n}"));
        assert_eq!((result.as_str(), record), ("applied", format!("created notes={n}")));
    }
    let record = story.projector.record("s", "c").unwrap();
    assert_eq!(record.activity.as_deref(), Some("begin"));
    let notes = record.notes.as_ref().unwrap();
    assert_eq!((notes.recent.len(), notes.recent[15].activity.as_deref()), (16, Some("note20")));
}

#[test]
fn notes_about_the_source_make_no_record() {
    let story = tell(&[
        ("c=@source diagnostic id=a n=7", "applied", ""),
        ("c=@source diagnostic id=a n=7", "deduplicated", ""),
        ("c=@source diagnostic id=b n=7", "conflict identity_conflict", ""),
        // Checks 4 to 8 are not for it: neither order nor gaps.
        ("c=@source reconciliation id=c n=90", "applied", ""),
        ("c=@source diagnostic id=d n=3", "applied", ""),
        ("c=@source e=p2 diagnostic", "conflict epoch_conflict", ""),
    ]);
    assert_eq!(story.projector.records().count(), 0);
    assert_eq!(story.projector.source_notes("s").unwrap().count, 3);
}

#[test]
fn the_first_lineage_stays() {
    let story = tell(&[
        ("created root=a", "applied", "created"),
        ("starting root=b", "applied lineage_changed", "starting"),
    ]);
    assert_eq!(story.projector.record("s", "c").unwrap().lineage.root_child_id, "a");
}

#[test]
fn s2_a_child_that_ended_stays_as_it_ended() {
    let mut story = tell(&[
        ("c=parent created", "applied", "created"),
        ("c=parent starting", "applied", "starting"),
        ("c=parent running", "applied", "running"),
        ("c=child root=parent created", "applied", "created"),
        ("c=child root=parent starting", "applied", "starting"),
        ("c=child root=parent running", "applied", "running"),
        // The parent's turn ended; it waits, which is no end.
        ("c=parent waiting why=child", "applied", "waiting why=child"),
        ("c=child root=parent completed", "applied", "completed"),
        (
            "c=child root=parent activity text=progress",
            "terminal_immutable late_evidence",
            "completed late=1",
        ),
    ]);
    assert_eq!(story.record("s", "parent"), "waiting why=child");
    assert_eq!(story.projector.record("s", "child").unwrap().activity, None);
    story.tell(&[("c=parent id=p2 running", "applied", "running")]);
}

#[test]
fn s11_a_late_completion_does_not_revive_the_lost() {
    let story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("starting n=1", "applied", "starting n=1"),
        ("running n=2", "applied", "running n=2"),
        ("lost n=3", "applied", "lost n=3"),
        ("completed n=4", "terminal_immutable late_evidence", "lost n=4 late=1"),
    ]);
    let late = &story.projector.record("s", "c").unwrap().late_evidence.as_ref().unwrap().recent[0];
    assert_eq!((late.event_id.as_ref(), late.state), ("completed n=4", Some(State::Completed)));
}

#[test]
fn a_life_passes_the_fewest_states() {
    use State::{Completed, Created, Failed, Running, Starting, Waiting};
    for (from, to, steps) in [
        (Created, Starting, Some(&[][..])),
        (Created, Running, Some(&[Starting])),
        (Created, Waiting, Some(&[Starting])),
        // Over `running`, as a life without a wait goes; never over a wait that nobody named.
        (Created, Completed, Some(&[Starting, Running])),
        (Starting, Completed, Some(&[Running])),
        (Waiting, Completed, Some(&[])),
        (Running, Starting, None),
        (Failed, Running, None),
    ] {
        assert_eq!(from.steps_to(to), steps, "{from:?} -> {to:?}");
    }
}

#[test]
fn what_a_source_can_tell_is_not_taken_back() {
    let mut story = tell(&[("created known=history", "applied", "created")]);
    let look = |story: &Story| {
        let known = story.projector.record("s", "c").unwrap().capabilities;
        [known.history, known.cancel].map(|capability| capability == Capability::Known)
    };
    assert_eq!(look(&story), [true, false]);
    story.tell(&[("heartbeat", "applied", "created"), ("activity known=cancel", "applied", "created")]);
    assert_eq!(look(&story), [true, true]);
}
