//! Freshness, staleness and forgetting.

mod common;

use agent_lifecycle_core::contract::Moment;
use common::projection::{Story, at, event, tell};

/// The children that `mark_stale` marks at `seconds`.
fn marked(story: &mut Story, seconds: i64) -> Vec<String> {
    let applied = story.projector.mark_stale(at(seconds));
    let name = |applied: agent_lifecycle_core::project::Applied| {
        assert_eq!((applied.status.as_str(), applied.note.unwrap().as_str()), ("stale", "silence"));
        story.projector.get(applied.record.unwrap()).unwrap().child_id.to_string()
    };
    applied.into_iter().map(name).collect()
}

fn fresh_at(story: &Story) -> Moment {
    story.projector.record("s", "c").unwrap().freshness.newest.at
}

fn receive(story: &mut Story, words: &str, received: i64) {
    story.projector.apply(&event(words), Some(at(received))).unwrap();
}

#[test]
fn stale_at_the_deadline_and_once() {
    let mut story =
        tell(&[("created t=0", "applied", "created"), ("c=d created t=50", "applied", "created")]);
    assert_eq!(marked(&mut story, 119), [""; 0]);
    assert_eq!(marked(&mut story, 120), ["c"]);
    assert_eq!(story.record("s", "c"), "created stale open=silence");
    assert_eq!(story.record("s", "d"), "created");
    let deadline =
        story.projector.record("s", "c").unwrap().freshness.reconciliation.as_ref().unwrap().deadline;
    assert_eq!(deadline, at(150));
    assert_eq!(marked(&mut story, 169), [""; 0]);
    assert_eq!(marked(&mut story, 1000), ["d"]);
    assert_eq!(marked(&mut story, 100_000), [""; 0]);
    // Silence alone never ends anything.
    assert_eq!(story.record("s", "c"), "created stale open=silence");
}

#[test]
fn evidence_and_notes() {
    for (words, expected) in [
        ("heartbeat t=100", 100),
        ("activity t=100", 100),
        ("starting t=100", 100),
        // The same state again is evidence.
        ("id=again created t=0", 0),
        ("reconciliation t=100", 0),
        ("diagnostic t=100 text=hello", 0),
        // Older evidence does not make it older.
        ("heartbeat t=-100", 0),
        // Nor does evidence that does not count.
        ("e=p2 heartbeat t=100", 0),
        ("waiting t=100", 0),
    ] {
        let mut story = tell(&[("created t=0", "applied", "created")]);
        let _ = story.step(words);
        assert_eq!(fresh_at(&story), at(expected), "{words}");
    }
    let mut story = tell(&[("created n=0 t=0", "applied", "created n=0")]);
    story.tell(&[
        ("heartbeat n=2 t=100", "provisional sequence_gap", "created n=2 gap"),
        ("heartbeat n=1 t=300", "out_of_order late_sequence", "created n=2"),
    ]);
    assert_eq!(fresh_at(&story), at(100));
}

#[test]
fn a_future_clock_does_not_help() {
    let mut story = Story::new();
    receive(&mut story, "created t=5000", 0);
    assert_eq!(fresh_at(&story), at(0));
    receive(&mut story, "heartbeat t=5000", 10);
    assert_eq!(fresh_at(&story), at(10));
    // Late delivery does not help either: what counts is when it was observed.
    receive(&mut story, "id=late heartbeat t=20", 4000);
    assert_eq!(fresh_at(&story), at(20));
    assert_eq!(marked(&mut story, 139), [""; 0]);
    assert_eq!(marked(&mut story, 140), ["c"]);
    assert_eq!(story.projector.record("s", "c").unwrap().started_at.at, at(5000));
}

#[test]
fn fresh_evidence_clears_a_mark_and_older_evidence_does_not() {
    for (words, clears) in [
        // Marked at 200, so evidence of 80 and before would not have prevented it.
        ("heartbeat t=80", false),
        ("heartbeat t=81", true),
        ("activity t=81", true),
        ("starting t=81", true),
        ("starting t=80", false),
        ("diagnostic t=300", false),
        ("e=p2 heartbeat t=300", false),
    ] {
        let mut story = tell(&[("created t=0", "applied", "created")]);
        assert_eq!(marked(&mut story, 200), ["c"]);
        let record = story.step(words).1;
        assert_eq!(!record.contains("stale"), clears, "{words}: {record}");
        let is_open = record.contains("open=silence");
        assert_eq!(!is_open, clears || record.contains("open=epoch_conflict"), "{words}: {record}");
    }
}

#[test]
fn a_cleared_child_is_marked_again() {
    let mut story = tell(&[("created t=0", "applied", "created")]);
    assert_eq!(marked(&mut story, 120), ["c"]);
    story.tell(&[("heartbeat t=130", "applied", "created")]);
    assert_eq!(marked(&mut story, 249), [""; 0]);
    assert_eq!(marked(&mut story, 250), ["c"]);
}

#[test]
fn an_end_clears_everything_and_is_never_stale() {
    let mut story = tell(&[("created t=0", "applied", "created")]);
    assert_eq!(marked(&mut story, 120), ["c"]);
    story.tell(&[("failed t=1", "applied", "failed")]);
    assert_eq!(marked(&mut story, 100_000), [""; 0]);
}

#[test]
fn fresh_evidence_answers_silence_only() {
    let mut story = tell(&[
        ("created n=0 t=0", "applied", "created n=0"),
        ("starting n=2 t=0", "provisional sequence_gap", "starting n=2 gap"),
    ]);
    assert_eq!(marked(&mut story, 120), ["c"]);
    story.tell(&[
        ("failed n=1 t=0", "out_of_order late_sequence", "starting n=2 stale open=late_sequence late=1"),
        ("heartbeat n=3 t=130", "applied", "starting n=3 open=late_sequence late=1"),
    ]);
    // The other way round: the question that is open stays the one that was asked first.
    assert_eq!(marked(&mut story, 250), ["c"]);
    assert_eq!(story.record("s", "c"), "starting n=3 stale open=late_sequence late=1");
    story.tell(&[("heartbeat n=4 t=260", "applied", "starting n=4 open=late_sequence late=1")]);
}

#[test]
fn an_estimated_time_gives_way_to_the_first_real_one() {
    let mut story = tell(&[("created t=1000 estimated", "applied", "created")]);
    assert_eq!(fresh_at(&story), at(1000));
    story.tell(&[("starting t=10", "applied", "starting"), ("heartbeat t=5", "applied", "starting")]);
    let record = story.projector.record("s", "c").unwrap();
    assert_eq!((record.started_at.at, record.freshness.newest.at), (at(10), at(10)));
    // It is looked at when the real time says, not when the estimated one would have.
    assert_eq!(marked(&mut story, 129), [""; 0]);
    assert_eq!(marked(&mut story, 130), ["c"]);
    // An estimate does not take the place of what is known.
    story.tell(&[("heartbeat t=900 estimated", "applied", "starting stale open=silence")]);
    assert_eq!(fresh_at(&story), at(10));
    assert_eq!(marked(&mut story, 5000), [""; 0]);
}

#[test]
fn an_estimated_time_is_no_content() {
    tell(&[
        ("id=a created t=1000 estimated", "applied", "created"),
        ("id=a created t=2000 estimated", "deduplicated", "created"),
        ("id=b n=4 heartbeat t=1000 estimated", "applied", "created n=4"),
        ("id=b n=4 heartbeat t=2000 estimated", "deduplicated", "created n=4"),
        ("id=c n=5 heartbeat t=1000", "applied", "created n=5"),
        ("id=c n=5 heartbeat t=2000", "conflict identity_conflict", "created n=5"),
    ]);
}

#[test]
fn an_estimated_time_hides_no_contradiction() {
    for number in ["", " n=4"] {
        for (first, second, expected) in [
            // A second reading knows the time that the first had to guess, or the other way round.
            ("heartbeat t=1000 estimated", "heartbeat t=2000", "deduplicated"),
            ("heartbeat t=1000", "heartbeat t=2000 estimated", "deduplicated"),
            ("activity text=x extra=1 t=1", "activity text=x extra=1 t=2 estimated", "deduplicated"),
            ("activity text=x extra=1 t=1 estimated", "activity text=x extra=1 t=2", "deduplicated"),
            // Whatever else differs is a contradiction.
            ("activity text=x t=1", "activity text=y t=1 estimated", "conflict identity_conflict"),
            ("activity text=x t=1 estimated", "activity text=y t=1", "conflict identity_conflict"),
            ("activity text=x estimated", "activity text=y estimated", "conflict identity_conflict"),
            ("heartbeat t=1 extra=1", "heartbeat t=1 extra=2 estimated", "conflict identity_conflict"),
            // The mark is that member with that value, at that place.
            (
                r#"heartbeat extra={"timeEstimated":true}"#,
                r#"heartbeat extra={"timeEstimated":1}"#,
                "conflict identity_conflict",
            ),
            ("heartbeat t=1", r#"heartbeat t=2 extra={"timeEstimated":true}"#, "conflict identity_conflict"),
        ] {
            let mut story = tell(&[("created", "applied", "created")]);
            assert_eq!(story.step(&format!("id=a{number} {first}")).0, "applied", "{first}");
            assert_eq!(
                story.step(&format!("id=a{number} {second}")).0,
                expected,
                "{first}, {second}{number}"
            );
        }
    }
}

#[test]
fn only_ended_children_are_forgotten() {
    let mut story = tell(&[
        ("c=live created t=0", "applied", "created"),
        ("c=old created t=0", "applied", "created"),
        ("c=old failed t=10", "applied", "failed"),
        ("c=new created t=0", "applied", "created"),
        ("c=new lost t=20", "applied", "lost"),
    ]);
    let key = story.projector.apply(&event("id=h c=old heartbeat t=0"), None).unwrap().record.unwrap();
    let mut forget = |seconds| -> Vec<String> {
        let removed = story.projector.forget(at(seconds));
        removed.into_iter().map(|(source, child)| format!("{source} {child}")).collect()
    };
    assert_eq!(forget(10), [""; 0]);
    assert_eq!(forget(11), ["s old"]);
    assert_eq!(forget(11), [""; 0]);
    assert_eq!(forget(1000), ["s new"]);
    assert!(story.projector.get(key).is_none());
    let left: Vec<&str> = story.projector.records().map(|record| record.child_id.as_ref()).collect();
    assert_eq!(left, ["live"]);
    // Its place goes to another child; the key of the forgotten one does not name that.
    story.tell(&[
        ("c=old heartbeat t=30", "conflict unknown_child", ""),
        ("c=another created t=30", "applied", "created"),
        ("c=more created t=30", "applied", "created"),
    ]);
    assert!(story.projector.get(key).is_none());
    // Deadlines of forgotten children mark nobody else, and the others are marked once.
    assert_eq!(marked(&mut story, 149), ["live"]);
    let mut rest = marked(&mut story, 1000);
    rest.sort();
    assert_eq!(rest, ["another", "more"]);
}
