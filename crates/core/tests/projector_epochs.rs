//! Check 2 of the projection: the epochs of a source.

mod common;

use agent_lifecycle_core::contract::Code;
use common::projection::{Story, at, event, tell};

#[test]
fn the_first_event_of_a_source_sets_its_epoch() {
    let story = tell(&[
        // Even one that comes to nothing.
        ("e=p7 heartbeat", "conflict unknown_child", ""),
        ("e=p1 created", "conflict epoch_conflict", ""),
        ("e=p7 created", "applied", "created"),
        ("s=other e=p1 created", "applied", "created"),
    ]);
    assert_eq!(story.projector.epoch("s"), Some("p7"));
    assert_eq!(story.projector.epoch("other"), Some("p1"));
    assert_eq!(story.projector.epoch("third"), None);
}

#[test]
fn an_unannounced_epoch_is_shown_and_changes_no_state() {
    tell(&[
        ("created n=0", "applied", "created n=0"),
        ("e=p2 running n=1", "conflict epoch_conflict", "created n=0 conflict=p2 open=epoch_conflict"),
        ("e=p2 running n=1", "conflict epoch_conflict", "created n=0 conflict=p2 open=epoch_conflict"),
        ("e=p3 heartbeat", "conflict epoch_conflict", "created n=0 conflict=p3 open=epoch_conflict"),
        // Life in the present epoch does not answer the question that the other epoch raised.
        ("heartbeat n=1", "applied", "created n=1 conflict=p3 open=epoch_conflict"),
        ("lost n=2", "applied", "lost n=2 conflict=p3"),
        // A child that has ended needs no authority.
        ("e=p4 completed n=9", "conflict epoch_conflict", "lost n=2 conflict=p4"),
    ]);
}

#[test]
fn an_event_announces_an_epoch() {
    let mut story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("starting n=1", "applied", "starting n=1"),
        ("e=p2 heartbeat n=0", "conflict epoch_conflict", "starting n=1 conflict=p2 open=epoch_conflict"),
        // Another `from` than the present epoch, and another kind of event, announce nothing.
        (
            "e=p2 reconciliation n=0 from=p0",
            "conflict epoch_conflict",
            "starting n=1 conflict=p2 open=epoch_conflict",
        ),
        (
            "e=p2 diagnostic n=0 from=p1",
            "conflict epoch_conflict",
            "starting n=1 conflict=p2 open=epoch_conflict",
        ),
        (
            "e=p2 reconciliation n=0 from=p1",
            "applied epoch_advanced",
            "starting n=0 open=epoch_conflict notes=1",
        ),
        // The announcement is the first event of the new epoch's window.
        ("e=p2 reconciliation n=0 from=p1", "deduplicated", "starting n=0 open=epoch_conflict notes=1"),
        ("e=p2 heartbeat n=0", "conflict identity_conflict", "starting n=0 open=epoch_conflict notes=1"),
        ("e=p2 running n=2", "provisional sequence_gap", "running n=2 gap open=epoch_conflict notes=1"),
        ("e=p2 heartbeat n=1", "out_of_order late_sequence", "running n=2 open=epoch_conflict notes=1"),
        // There is no way back.
        (
            "e=p1 reconciliation n=0 from=p2",
            "out_of_order epoch_retired",
            "running n=2 open=epoch_conflict notes=1",
        ),
    ]);
    assert_eq!(story.projector.epoch("s"), Some("p2"));
    let audit = story.projector.audit();
    assert_eq!(audit.count, 1);
    let entry = &audit.recent[0];
    assert_eq!(
        (entry.source.as_str(), entry.from.as_deref().unwrap(), entry.to.as_str(), entry.reason),
        ("s", "p1", "p2", "epoch_advanced")
    );
    // It is announced for every child of the source.
    story.tell(&[("c=d e=p2 created n=0", "applied", "created n=0")]);
}

#[test]
fn an_announcement_clears_the_conflict_of_every_child() {
    tell(&[
        ("created", "applied", "created"),
        ("c=d created", "applied", "created"),
        ("e=p2 heartbeat", "conflict epoch_conflict", "created conflict=p2 open=epoch_conflict"),
        ("c=d e=p2 reconciliation from=p1", "applied epoch_advanced", "created notes=1"),
        ("e=p2 id=h2 heartbeat", "applied", "created open=epoch_conflict"),
    ]);
}

#[test]
fn an_announcement_about_an_unknown_child() {
    let mut story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("c=new e=p2 reconciliation n=0 from=p1", "applied epoch_advanced", ""),
        ("c=new e=p2 reconciliation n=0 from=p1", "deduplicated", ""),
        // Identity is judged per child: other children of that source are free to use the same sequence.
        ("c=@source e=p2 diagnostic n=0", "applied", ""),
        ("c=other e=p2 created n=0", "applied", "created n=0"),
        // This child has used its sequence 0.
        ("c=new e=p2 created n=0", "conflict identity_conflict", ""),
        ("c=new e=p2 heartbeat n=1", "conflict unknown_child", ""),
        ("c=new e=p2 created n=1", "applied", "created n=1"),
        ("c=new e=p2 reconciliation n=0 from=p1", "deduplicated", "created n=1"),
        ("e=p2 starting n=5", "applied", "starting n=5"),
    ]);
    assert_eq!(story.projector.audit().count, 1);
    story.tell(&[
        ("c=late e=p3 reconciliation n=0 from=p2", "applied epoch_advanced", ""),
        ("c=late e=p3 created n=2", "provisional sequence_gap", "created n=2 gap"),
        ("c=late e=p3 heartbeat n=1", "out_of_order late_sequence", "created n=2"),
    ]);
}

#[test]
fn a_source_note_announces_an_epoch() {
    let story = tell(&[
        ("created n=3", "applied", "created n=3"),
        ("c=@source e=p2 reconciliation from=p1", "applied epoch_advanced", ""),
        ("c=@source e=p2 reconciliation from=p1", "deduplicated", ""),
        ("e=p2 starting n=0", "applied", "starting n=0"),
    ]);
    assert_eq!(story.projector.source_notes("s").unwrap().count, 1);
}

#[test]
fn a_retired_epoch() {
    let mut story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("c=ended created n=0", "applied", "created n=0"),
        ("c=ended failed n=1", "applied", "failed n=1"),
        ("e=p2 reconciliation n=0 from=p1", "applied epoch_advanced", "created n=0 notes=1"),
        ("starting n=1", "out_of_order epoch_retired", "created n=0 notes=1"),
        ("heartbeat n=2", "out_of_order epoch_retired", "created n=0 notes=1"),
        ("c=unknown completed n=2", "out_of_order epoch_retired", ""),
        // A terminal state is evidence; on a live record it is a question.
        ("completed n=3", "out_of_order epoch_retired", "created n=0 open=epoch_retired late=1 notes=1"),
        ("completed n=3", "out_of_order epoch_retired", "created n=0 open=epoch_retired late=1 notes=1"),
        ("c=ended completed n=2", "out_of_order epoch_retired", "failed late=1"),
    ]);
    let late = &story.projector.record("s", "c").unwrap().late_evidence.as_ref().unwrap().recent[0];
    assert_eq!((late.event_id.as_ref(), late.code.as_str()), ("completed n=3", "epoch_retired"));
    // Fresh evidence answers no such question, the end does.
    story.tell(&[
        ("e=p2 heartbeat t=500", "applied", "created n=0 open=epoch_retired late=1 notes=1"),
        ("e=p2 lost t=501", "applied", "lost n=0 late=1 notes=1"),
    ]);
}

#[test]
fn the_host_advances_an_epoch() {
    let mut story = Story::new();
    let advance = |story: &mut Story, from: &str, to: &str| {
        let result = story.projector.advance_epoch("s", from, to, at(10));
        result.map_err(|refusal| (refusal.code, refusal.path.into_owned()))
    };
    let refused = |path: &str| Err((Code::EpochMismatch, path.to_owned()));
    assert_eq!(advance(&mut story, "p1", "p2"), refused("$.source"));
    story.tell(&[
        ("created n=4", "applied", "created n=4"),
        ("starting n=6", "provisional sequence_gap", "starting n=6 gap"),
        ("e=p2 heartbeat", "conflict epoch_conflict", "starting n=6 gap conflict=p2 open=epoch_conflict"),
    ]);
    assert_eq!(advance(&mut story, "p0", "p2"), refused("$.from"));
    assert_eq!(advance(&mut story, "p1", "p1"), refused("$.to"));
    // An epoch that no event can be of would shut the source out.
    for to in ["", " ", " p2", "p\0", &"x".repeat(513)] {
        assert_eq!(advance(&mut story, "p1", to), Err((Code::InvalidId, "$.to".to_owned())));
    }
    assert_eq!(advance(&mut story, "p1", "p2"), Ok(()));
    // The record continues; its window is dropped at once.
    assert_eq!(story.record("s", "c"), "starting gap open=epoch_conflict");
    assert_eq!(advance(&mut story, "p1", "p3"), refused("$.from"));
    assert_eq!(advance(&mut story, "p2", "p1"), refused("$.to"));
    assert_eq!(story.projector.audit().recent[0].observed_at, at(10).to_text());
    story.tell(&[("e=p2 running n=0", "applied", "running n=0 gap open=epoch_conflict")]);
}

#[test]
fn what_was_missing_in_a_retired_epoch_stays_missing() {
    let mut story = tell(&[
        ("created n=0", "applied", "created n=0"),
        ("starting n=2", "provisional sequence_gap", "starting n=2 gap"),
    ]);
    story.projector.advance_epoch("s", "p1", "p2", at(10)).unwrap();
    story.tell(&[
        ("e=p2 running n=5", "applied", "running n=5 gap"),
        // Below the base of the new epoch nothing was missing, so nothing is filled.
        ("e=p2 heartbeat n=3", "out_of_order late_sequence", "running n=5 gap"),
        ("e=p2 heartbeat n=7", "provisional sequence_gap", "running n=7 gap"),
        ("e=p2 heartbeat n=6", "out_of_order late_sequence", "running n=7 gap"),
    ]);
}

#[test]
fn the_last_sixteen_retired_epochs_are_remembered() {
    let mut story = tell(&[("e=p0 created", "applied", "created")]);
    for number in 0..17 {
        let (from, to) = (format!("p{number}"), format!("p{}", number + 1));
        story.projector.advance_epoch("s", &from, &to, at(number)).unwrap();
    }
    // p0 to p16 were retired, p17 is the present one.
    let mut result = |epoch: &str| {
        let applied = story.projector.apply(&event(&format!("e={epoch} heartbeat")), None).unwrap();
        applied.note.map(agent_lifecycle_core::project::Note::as_str)
    };
    for number in 1..17 {
        assert_eq!(result(&format!("p{number}")), Some("epoch_retired"));
    }
    assert_eq!(result("p0"), Some("epoch_conflict"));
    assert_eq!(result("p17"), None);
}

#[test]
fn a_missing_edge_is_looked_for_in_the_present_epoch() {
    // The last state of the old epoch had a higher sequence than anything in the new one.
    tell(&[
        ("created n=8", "applied", "created n=8"),
        ("starting n=9", "applied", "starting n=9"),
        ("e=p2 reconciliation n=0 from=p1", "applied epoch_advanced", "starting n=0 notes=1"),
        ("e=p2 completed n=3", "provisional missing_edge", "completed n=3 gap notes=1"),
    ]);
}
