//! Contract section 4: complete snapshots.

mod common;

use agent_lifecycle_core::contract::State;
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_core::project::{Config, Projector};
use agent_lifecycle_core::reconcile::Snapshot;
use common::authority::{Act, acts, reconcile, running, snapshot};
use common::projection::{Story, at};
use common::streams::{Occurred, deliver, deliveries, run, steps};
use proptest::prelude::*;
use serde_json::json;

fn row(projector: &Projector) -> Row {
    rows(projector.records(), &BesideAll::new()).remove(0)
}

#[test]
fn a_snapshot_corrects_agrees_and_is_outdated() {
    let mut story = running();
    story.step("heartbeat n=5 t=5");
    assert_eq!(story.record("s", "c"), "running n=5 gap");
    for (text, said, record) in [
        // Below the highest sequence.
        ("t=10 c:waiting:4", "out_of_order snapshot_outdated", "running n=5 gap"),
        // Agreement settles the gap; its sequence is the highest from now on.
        ("t=11 c:running:7", "applied", "running n=7"),
        (
            "t=12 c:waiting:7:prompt",
            "applied authoritative_snapshot, c:running>waiting",
            "waiting why=prompt n=7",
        ),
        // The same state without a reason keeps the one that is known.
        ("t=13 c:waiting", "applied", "waiting why=prompt n=7"),
        ("t=14 c:created", "applied authoritative_snapshot, c:waiting>created", "created n=7"),
        // The same id, and an older one, say nothing, whatever they say.
        ("t=15 id=t=14_c:created c:failed", "applied authoritative_snapshot, c:created>failed", "failed n=7"),
        ("t=16 id=t=14_c:created c:running", "snapshot_repeated", "failed n=7"),
        ("t=14 id=older c:running", "snapshot_repeated", "failed n=7"),
        // It ended, and stays so.
        ("t=17 c:running", "terminal_immutable end_contradicted", "failed n=7"),
        ("t=18 c:failed", "terminal_immutable", "failed n=7"),
    ] {
        assert_eq!(reconcile(&mut story, text), said, "{text}");
        assert_eq!(story.record("s", "c"), record, "{text}");
    }
    let audit = &story.projector.audit().recent[0];
    let audit = serde_json::to_value(audit).unwrap();
    assert_eq!(
        audit,
        json!({
            "source": "s", "childId": "c", "from": "running", "to": "waiting", "snapshotId": "t=12 c:waiting:7:prompt",
            "observedAt": "2026-05-17T12:00:12Z", "reason": "authoritative_snapshot",
        })
    );
}

#[test]
fn an_entry_without_a_sequence_is_judged_by_time() {
    let mut story = running();
    story.step("waiting n=3 t=10");
    for (text, said) in [
        ("t=9 c:running", "out_of_order snapshot_outdated"),
        ("t=10 c:running", "applied authoritative_snapshot, c:waiting>running"),
    ] {
        assert_eq!(reconcile(&mut story, text), said, "{text}");
    }
    // A sequence counts more than a time.
    story.step("running n=4 t=20");
    assert_eq!(
        reconcile(&mut story, "t=15 c:waiting:4"),
        "applied authoritative_snapshot, c:running>waiting"
    );
}

#[test]
fn an_accepted_entry_is_evidence_of_its_time_and_answers_the_question() {
    let mut story = running();
    story.projector.mark_stale(at(200));
    assert_eq!(reconcile(&mut story, "t=190 c:running"), "applied");
    assert_eq!(story.record("s", "c"), "running n=2");
    assert_eq!(story.projector.mark_stale(at(309)), []);
    assert_eq!(story.projector.mark_stale(at(310)).len(), 1);
    assert_eq!(row(&story.projector).freshness.reconcile, Some("pending"), "there are snapshots to ask for");
    // A clock that runs ahead does not help.
    let ahead = snapshot("t=9000 c:running");
    story.projector.reconcile(&ahead, Some(at(320))).unwrap();
    assert_eq!(story.projector.record("s", "c").unwrap().freshness.newest.at, at(320));
    // The event that the snapshot reflects adds nothing, the next one goes on.
    assert_eq!(reconcile(&mut story, "t=9001 c:running:6"), "applied");
    story.tell(&[
        ("waiting n=6 t=9001", "deduplicated identity_unchecked", "running n=6"),
        ("waiting n=5 t=9001", "out_of_order late_sequence", "running n=6"),
        ("waiting n=7 t=9002", "applied", "waiting why=other n=7"),
    ]);
}

#[test]
fn what_a_snapshot_settled_is_no_hole_any_more() {
    let mut story = running();
    story.step("heartbeat n=5 t=5");
    assert_eq!(reconcile(&mut story, "t=6 c:running"), "applied");
    story.tell(&[
        ("heartbeat n=7 t=7", "provisional sequence_gap", "running n=7 gap"),
        // 3 and 4 are missing for good, and do not matter.
        ("heartbeat n=6 t=6", "out_of_order late_sequence", "running n=7"),
    ]);
}

#[test]
fn an_accepted_entry_ends_a_row_of_misses() {
    let mut story = running();
    assert_eq!(reconcile(&mut story, "t=10"), "");
    // Received before it was observed, it is older evidence than the snapshot that missed the child.
    story.projector.reconcile(&snapshot("t=11 named c:running"), Some(at(5))).unwrap();
    assert_eq!(reconcile(&mut story, "t=12"), "");
    assert_eq!(reconcile(&mut story, "t=13"), "stale complete_snapshot_missing");
}

#[test]
fn a_snapshot_makes_children_known() {
    let mut story = Story::new();
    // It also makes the source known, and its epoch.
    assert_eq!(
        reconcile(&mut story, "t=5 e=p7 c:running:9:+ d:waiting:+ e:running"),
        "applied snapshot_admitted, applied snapshot_admitted, c:null>running, d:null>waiting, discovered e"
    );
    assert_eq!(story.projector.epoch("s"), Some("p7"));
    assert_eq!(story.record("s", "c"), "running n=9");
    assert_eq!(story.record("s", "d"), "waiting why=other");
    assert_eq!(story.record("s", "e"), "");
    let admitted = story.projector.record("s", "c").unwrap();
    assert_eq!((admitted.started_at.at, admitted.freshness.newest.at), (at(5), at(5)));
    story.tell(&[
        ("e=p7 completed n=10 t=6", "applied", "completed n=10"),
        ("e=p7 c=d created t=6", "refused already_created", "waiting why=other"),
    ]);
    // What it says of the agent is folded, and redacted.
    let mut value = json!({
        "complete": true, "source": "s", "sourceEpoch": "p7", "snapshotId": "x", "observedAt": at(9).to_text(),
        "coverage": ["d"], "children": [{"childId": "d", "state": "waiting", "details": {
            "agent": {"kind": "agent.metadata", "title": "deploy with token=abcdefgh12345678"},
        }}],
    });
    let taken = Snapshot::from_json(value.to_string().as_bytes()).unwrap();
    story.projector.reconcile(&taken, None).unwrap();
    let title = |story: &Story| story.projector.record("s", "d").unwrap().facts.clone().unwrap().title;
    assert_eq!(title(&story).as_deref(), Some("deploy with token=[REDACTED]"));
    // An outdated entry adds nothing.
    value["snapshotId"] = "y".into();
    value["children"][0]["details"]["agent"]["title"] = "other".into();
    value["observedAt"] = at(9).to_text().into();
    story.step("e=p7 c=d running t=20");
    let outdated = Snapshot::from_json(value.to_string().as_bytes()).unwrap();
    story.projector.reconcile(&outdated, None).unwrap();
    assert_eq!(title(&story).as_deref(), Some("deploy with token=[REDACTED]"));
}

#[test]
fn a_snapshot_of_another_epoch() {
    let mut story = running();
    assert_eq!(reconcile(&mut story, "t=1 e=p2 c:failed"), "refused epoch_mismatch $.sourceEpoch");
    assert_eq!(story.record("s", "c"), "running n=2");
    assert_eq!(story.projector.audit().count, 0);
    assert_eq!(
        reconcile(&mut story, "t=1 e=p2 advances c:waiting:0"),
        "applied authoritative_snapshot, @source:p1>p2, c:running>waiting"
    );
    assert_eq!(story.record("s", "c"), "waiting why=other n=0");
    assert_eq!(story.projector.epoch("s"), Some("p2"));
    for text in ["t=2 e=p1 c:failed", "t=2 e=p1 advances c:failed"] {
        assert_eq!(reconcile(&mut story, text), "refused epoch_mismatch $.sourceEpoch", "{text}");
    }
    // The refused one was not taken, so that its id is not known.
    assert_eq!(reconcile(&mut story, "t=1 id=x e=p2 advances c:waiting:0"), "applied");
}

#[test]
fn snapshots_that_are_none() {
    let valid = json!({
        "complete": true, "source": "s", "sourceEpoch": "p1", "snapshotId": "x", "observedAt": at(1).to_text(),
        "coverage": "all", "advancesEpoch": false, "children": [{"childId": "a", "state": "running"}, {"childId": "c", "state": "running"}],
    });
    let with = |pointer: &str, value: serde_json::Value| {
        let mut changed = valid.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    let lineage = json!({"rootChildId": "c", "attempt": -1, "external": false});
    let bulk = json!({"x": "y".repeat(60_000)});
    for (text, expected) in [
        ("[]".to_owned(), "invalid_snapshot $"),
        ("{".to_owned(), "invalid_snapshot $"),
        (with("/complete", false.into()), "incomplete_snapshot $.complete"),
        (with("/complete", "true".into()), "incomplete_snapshot $.complete"),
        (with("/source", " ".into()), "invalid_id $.source"),
        (with("/sourceEpoch", 1.into()), "invalid_id $.sourceEpoch"),
        (with("/snapshotId", "x".repeat(513).into()), "invalid_id $.snapshotId"),
        (with("/observedAt", "2026-02-30T00:00:00Z".into()), "invalid_timestamp $.observedAt"),
        (with("/advancesEpoch", 1.into()), "invalid_snapshot $.advancesEpoch"),
        (with("/coverage", "some".into()), "invalid_snapshot $.coverage"),
        (with("/coverage", json!(["a"])), "invalid_snapshot $.coverage"),
        (with("/coverage", json!(["a", "c", "d"])), "invalid_snapshot $.coverage"),
        (with("/coverage", json!({})), "invalid_snapshot $.coverage"),
        (with("/children", json!({})), "invalid_snapshot $.children"),
        (with("/children", json!([5])), "invalid_snapshot $.children[0]"),
        (
            with("/children/1", json!({"childId": "a", "state": "running"})),
            "invalid_snapshot $.children[1].childId",
        ),
        (
            with("/children/1", json!({"childId": "@source", "state": "running"})),
            "invalid_id $.children[1].childId",
        ),
        (with("/children/1", json!({"childId": "c", "state": "idle"})), "invalid_state $.children[1].state"),
        (
            with("/children/1", json!({"childId": "c", "state": "running", "waitingReason": "prompt"})),
            "invalid_waiting_reason $.children[1].waitingReason",
        ),
        (
            with("/children/1", json!({"childId": "c", "state": "running", "sequence": 1.5})),
            "invalid_sequence $.children[1].sequence",
        ),
        (
            with("/children/1", json!({"childId": "c", "state": "running", "details": []})),
            "invalid_details $.children[1].details",
        ),
        (
            with("/children/1", json!({"childId": "c", "state": "running", "details": bulk})),
            "invalid_details $.children[1].details",
        ),
        (
            with("/children/1", json!({"childId": "c", "state": "running", "lineage": lineage})),
            "invalid_lineage $.children[1].lineage.attempt",
        ),
    ] {
        let refusal = Snapshot::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(format!("{} {}", refusal.code.as_str(), refusal.path), expected, "{text}");
    }
    assert!(Snapshot::from_json(valid.to_string().as_bytes()).is_ok());
    assert!(Snapshot::from_json(with("/coverage", json!(["c", "a"])).as_bytes()).is_ok());
}

/// After any history, one complete snapshot makes the projection equal to the truth for every child that has not ended, with exactly
/// one audit entry for each difference.
#[test]
fn one_complete_snapshot_restores_the_truth() {
    let occurred = Occurred::default();
    let truths = prop::collection::vec(prop::sample::select(&State::ALL[..]), 4);
    run(120, &(steps(true), acts(), truths), |(steps, acts, truths)| {
        let mut projector = Projector::new(Config::default());
        let mut now = 0;
        let deliveries = deliveries(&steps);
        for (place, delivery) in deliveries.iter().enumerate() {
            // A part of what is said is lost.
            if place % 3 != 1 {
                deliver(&mut projector, delivery);
            }
            for (_, act) in acts.iter().filter(|(when, _)| when % deliveries.len() == place) {
                match act {
                    Act::Wait(seconds) => {
                        now += seconds;
                        projector.mark_stale(at(now));
                    }
                    Act::Request(child) => {
                        projector.request_reconciliation("s", &child.to_string(), "asked", at(now));
                    }
                    Act::Failed(child) => {
                        let failed = projector.reconciliation_failed("s", &child.to_string(), at(now + 40));
                        occurred.count(&failed);
                    }
                    _ => {}
                }
            }
        }
        let names = ["0", "1", "2", "3"];
        let before = names.map(|name| projector.record("s", name).map(|record| record.state));
        let epoch = projector.epoch("s").unwrap_or("p0").to_owned();
        let children: Vec<_> = names.iter().zip(&truths).map(|(name, state)| json!({
            "childId": name, "state": state, "lineage": {"rootChildId": name, "attempt": 1, "external": false},
        })).collect();
        let text = json!({
            "complete": true, "source": "s", "sourceEpoch": epoch, "snapshotId": "truth", "coverage": "all",
            "observedAt": at(1_000_000).to_text(), "children": children,
        });
        let truth = Snapshot::from_json(text.to_string().as_bytes()).unwrap();
        let reconciled = projector.reconcile(&truth, None).unwrap();
        let mut differences = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            let record = projector.record("s", name).unwrap();
            if before[at].is_some_and(State::is_terminal) {
                occurred.mark("ended");
                prop_assert_eq!(Some(record.state), before[at]);
                continue;
            }
            prop_assert_eq!(record.state, truths[at]);
            prop_assert!(!record.gap_detected && record.freshness.stale.is_none());
            prop_assert!(record.freshness.reconciliation.is_none());
            occurred.mark(match before[at] {
                None => "admitted",
                Some(state) if state == truths[at] => "agreed",
                Some(_) => "corrected",
            });
            if before[at] != Some(truths[at]) {
                differences.push((
                    name.to_owned(),
                    before[at].map(|state| state.as_str().to_owned()),
                    truths[at],
                ));
            }
        }
        let audited: Vec<_> = reconciled
            .audit
            .iter()
            .map(|entry| {
                (entry.child_id.clone().unwrap(), entry.from.clone(), State::parse(&entry.to).unwrap())
            })
            .collect();
        prop_assert_eq!(audited, differences);
        Ok(())
    });
    occurred.require(&["ended", "admitted", "agreed", "corrected", "reconciliation_failed"], 10);
}
