//! Contract section 4: stale, questions and answers, complete snapshots, omission, lost.

mod common;

use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_core::project::{Alive, Applied, Config, Process, Projector};
use agent_lifecycle_core::reconcile::Snapshot;
use common::authority::{Act, acts};
use common::projection::{Story, at, event, summary};
use common::streams::{Occurred, deliver, deliveries, run, steps};
use proptest::prelude::*;
use serde_json::json;

fn words(applied: &Applied) -> String {
    let notes = [applied.note, applied.also].into_iter().flatten();
    let words = notes.map(agent_lifecycle_core::project::Note::as_str);
    std::iter::once(applied.status.as_str()).chain(words).collect::<Vec<_>>().join(" ")
}

fn running() -> Story {
    let mut story = Story::new();
    for words in ["created n=0", "starting n=1", "running n=2"] {
        story.step(words);
    }
    story
}

/// A snapshot of everything, from words: `t=` seconds, `id=`, `e=` epoch, `advances`, then for each child `child:state`, with
/// `:number` for a sequence and `:+` for a lineage. `named` makes it one of the children that it names.
fn snapshot(text: &str) -> Snapshot {
    let (mut seconds, mut id, mut epoch, mut advances, mut all) = (0, text, "p1", false, true);
    let (mut children, mut names) = (Vec::new(), Vec::new());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("t", value)) => seconds = value.parse().unwrap(),
            Some(("id", value)) => id = value,
            Some(("e", value)) => epoch = value,
            _ if word == "advances" => advances = true,
            _ if word == "named" => all = false,
            _ => {
                let mut parts = word.split(':');
                let name = parts.next().unwrap();
                let mut child = json!({"childId": name, "state": parts.next().unwrap()});
                for part in parts {
                    match part {
                        "+" => {
                            child["lineage"] = json!({"rootChildId": name, "attempt": 1, "external": false});
                        }
                        "prompt" => child["waitingReason"] = part.into(),
                        number => child["sequence"] = number.parse::<u64>().unwrap().into(),
                    }
                }
                names.push(name);
                children.push(child);
            }
        }
    }
    let coverage = if all { json!("all") } else { json!(names) };
    let value = json!({
        "complete": true, "source": "s", "sourceEpoch": epoch, "snapshotId": id,
        "observedAt": at(seconds).to_text(), "coverage": coverage, "children": children, "advancesEpoch": advances,
    });
    Snapshot::from_json(value.to_string().as_bytes()).unwrap()
}

/// What becomes of a snapshot: results, then `audit` entries, then what was discovered, then why it had no effect.
fn reconcile(story: &mut Story, text: &str) -> String {
    let reconciled = match story.projector.reconcile(&snapshot(text), None) {
        Ok(reconciled) => reconciled,
        Err(refusal) => return format!("refused {} {}", refusal.code.as_str(), refusal.path),
    };
    let mut said: Vec<String> = reconciled.results.iter().map(words).collect();
    said.extend(reconciled.audit.iter().map(|entry| {
        let child = entry.child_id.as_deref().unwrap_or("@source");
        format!("{child}:{}>{}", entry.from.as_deref().unwrap_or("null"), entry.to)
    }));
    said.extend(reconciled.discovered.iter().map(|child| format!("discovered {}", child.child_id)));
    said.extend(reconciled.note.map(|note| note.as_str().to_owned()));
    said.join(", ")
}

fn row(projector: &Projector) -> Row {
    rows(projector.records(), &BesideAll::new()).remove(0)
}

/// S1, S11: stale after the window, lost after the failed question, once; a late completion is kept and changes nothing.
#[test]
fn silence_then_a_failed_question_loses_a_child_once() {
    let mut story = running();
    let fails =
        |story: &mut Story, seconds| words(&story.projector.reconciliation_failed("s", "c", at(seconds)));
    assert_eq!(fails(&mut story, 500), "deduplicated", "nobody asked");
    assert_eq!(story.projector.mark_stale(at(119)), []);
    assert_eq!(story.projector.mark_stale(at(120)).len(), 1);
    assert_eq!(story.projector.mark_stale(at(10_000)), [], "once");
    for (seconds, result, record) in [
        (149, "provisional reconciliation_pending", "running n=2 stale open=silence"),
        (150, "applied reconciliation_failed", "lost n=2"),
        (151, "deduplicated", "lost n=2"),
    ] {
        assert_eq!(fails(&mut story, seconds), result);
        assert_eq!(story.record("s", "c"), record);
    }
    assert_eq!(story.projector.record("s", "c").unwrap().state_since, at(150));
    story.tell(&[("completed n=3 t=160", "terminal_immutable late_evidence", "lost n=3 late=1")]);
    let unknown = story.projector.reconciliation_failed("s", "nobody", at(0));
    assert_eq!(words(&unknown), "conflict unknown_child");
}

/// S4: no answer is no end; the next line of the child ends the mark and the question.
#[test]
fn no_answer_says_nothing() {
    let mut story = running();
    story.projector.mark_stale(at(179));
    assert_eq!(row(&story.projector).freshness.reconcile, Some("unavailable"), "nobody asks");
    let ask = |story: &mut Story, seconds| {
        words(&story.projector.request_reconciliation("s", "c", "silent", at(seconds)))
    };
    let no_answer =
        |story: &mut Story, seconds| words(&story.projector.reconciliation_unanswered("s", "c", at(seconds)));
    assert_eq!(ask(&mut story, 180), "applied");
    assert_eq!(row(&story.projector).freshness.reconcile, Some("pending"));
    assert_eq!(ask(&mut story, 181), "deduplicated");
    assert_eq!(no_answer(&mut story, 210), "applied reconciliation_unanswered");
    assert_eq!(no_answer(&mut story, 211), "deduplicated");
    assert_eq!(row(&story.projector).freshness.reconcile, Some("unanswered"));
    // Asked again, it has a new deadline.
    assert_eq!(ask(&mut story, 300), "applied");
    let failed = story.projector.reconciliation_failed("s", "c", at(329));
    assert_eq!(words(&failed), "provisional reconciliation_pending");
    story.tell(&[("heartbeat n=3 t=301", "applied", "running n=3")]);
    assert_eq!(row(&story.projector).freshness.reconcile, None);
    assert_eq!(no_answer(&mut story, 400), "deduplicated", "nothing is open");
}

#[test]
fn a_question_of_the_host() {
    let mut story = running();
    let ask = |story: &mut Story, reason: &str, seconds| {
        words(&story.projector.request_reconciliation("s", "c", reason, at(seconds)))
    };
    assert_eq!(ask(&mut story, "process dead, token=abcdefgh12345678", 10), "applied");
    assert_eq!(story.record("s", "c"), "running n=2 open=process dead, token=[REDACTED]");
    let row = row(&story.projector);
    assert_eq!((row.freshness.stale, row.freshness.reconcile), (false, Some("pending")));
    // What it said before it was asked about proves nothing; what it says after does.
    story.step("heartbeat n=3 t=10");
    assert!(story.record("s", "c").contains("open="));
    story.tell(&[("heartbeat n=4 t=11", "applied", "running n=4")]);
    // What only an authority can answer stays.
    story.step("heartbeat n=5 e=p9 t=12");
    assert_eq!(ask(&mut story, "process dead", 13), "applied");
    story.tell(&[("heartbeat n=5 t=20", "applied", "running n=5 conflict=p9 open=epoch_conflict")]);
    let lost = story.projector.reconciliation_failed("s", "c", at(42));
    assert_eq!(words(&lost), "applied reconciliation_failed", "the first deadline counts");
    assert_eq!(ask(&mut story, "process dead", 50), "terminal_immutable");
    let unknown = story.projector.request_reconciliation("s", "nobody", "why", at(0));
    assert_eq!(words(&unknown), "conflict unknown_child");
}

/// S13: an idle session whose process lives is not stale; one whose process is not known is, and is never lost by that.
#[test]
fn an_idle_session_with_its_process_is_not_stale() {
    let mut story = running();
    story.step("waiting why=prompt n=3");
    let alive = |alive| Some(Process { pid: 7, alive });
    assert!(story.projector.set_process("s", "c", alive(Alive::Yes)));
    assert!(!story.projector.set_process("s", "nobody", None));
    assert_eq!(story.projector.mark_stale(at(10_000)), []);
    let shown = row(&story.projector);
    assert_eq!((shown.evidence.pid, shown.evidence.process_alive), (Some(7), Alive::Yes));
    assert_eq!(story.projector.mark_stale(at(20_000)), []);
    // The process is gone: it is looked at again.
    story.projector.set_process("s", "c", alive(Alive::No));
    assert_eq!(story.projector.mark_stale(at(20_000)).len(), 1);
    story.step("heartbeat n=4 t=30000");
    story.projector.set_process("s", "c", alive(Alive::Yes));
    assert_eq!(story.projector.mark_stale(at(40_000)), []);
    // It runs again, so that silence counts again.
    story.step("running n=5 t=40001");
    assert_eq!(story.projector.mark_stale(at(50_000)).len(), 1);
    // A child that is not a root is never spared.
    story.step("c=d parent=c created t=50000");
    story.step("c=d parent=c starting t=50000");
    story.step("c=d parent=c waiting why=prompt t=50000");
    story.projector.set_process("s", "d", alive(Alive::Yes));
    assert_eq!(story.projector.mark_stale(at(60_000)).len(), 1);
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
fn omission_counts_under_full_coverage_only_and_ends_nothing() {
    let mut story = running();
    story.step("c=d created t=0");
    let mut take = |text: &str| reconcile(&mut story, text);
    assert_eq!(take("t=10 d:created"), "applied");
    assert_eq!(take("t=11 named d:created"), "applied", "it speaks of d only");
    assert_eq!(take("t=12 named"), "");
    assert_eq!(take("t=10 id=again d:created"), "snapshot_repeated");
    assert_eq!(take("t=13 d:created"), "applied, stale complete_snapshot_missing");
    let stale = "running n=2 stale open=complete_snapshot_missing";
    assert_eq!(story.record("s", "c"), stale);
    assert_eq!(reconcile(&mut story, "t=14 d:created"), "applied", "once");
    assert_eq!(row(&story.projector).freshness.reconcile, Some("pending"));
    // Only a failed question ends it, after its deadline.
    let early = story.projector.reconciliation_failed("s", "c", at(42));
    assert_eq!(words(&early), "provisional reconciliation_pending");
    // Evidence from before the snapshot does not help, newer does, and the count begins again.
    story.tell(&[("heartbeat n=3 t=13", "applied", stale.replace("n=2", "n=3").as_str())]);
    story.tell(&[("heartbeat n=4 t=15", "applied", "running n=4")]);
    assert_eq!(reconcile(&mut story, "t=20 d:created"), "applied", "missed once");
    story.step("heartbeat n=5 t=21");
    assert_eq!(
        reconcile(&mut story, "t=22 d:created"),
        "applied",
        "once again, as it was heard of in between"
    );
    assert_eq!(reconcile(&mut story, "t=23 d:created c:running:5"), "applied, applied");
    assert_eq!(reconcile(&mut story, "t=24 d:created"), "applied");
    story.step("heartbeat n=6 t=30");
    assert_eq!(reconcile(&mut story, "t=25 d:created"), "applied", "newer than the snapshot: not missed");
    assert_eq!(reconcile(&mut story, "t=31 d:created"), "applied");
    assert_eq!(reconcile(&mut story, "t=32 d:created"), "applied, stale complete_snapshot_missing");
    let lost = story.projector.reconciliation_failed("s", "c", at(62));
    assert_eq!(words(&lost), "applied reconciliation_failed");
}

/// S10: after a gap, and of a child that is not known, a snapshot is wanted.
#[test]
fn a_gap_wants_a_snapshot() {
    let mut story = Story::new();
    for (words, wants) in
        [("running n=0", true), ("created n=10", false), ("starting n=11", false), ("completed n=13", true)]
    {
        let applied = story.projector.apply(&event(words), None).unwrap();
        assert_eq!(applied.wants_snapshot(), wants, "{words}");
    }
    story.tell(&[("running n=12", "terminal_immutable late_evidence", "completed n=13 gap late=1")]);
}

/// S7: a sub-agent that started and whose session ended without a stop: lost by the answer, not completed.
#[test]
fn a_child_outlives_its_session_until_an_authority_answers() {
    let mut story = running();
    for words in ["c=d parent=c created", "c=d parent=c starting", "c=d parent=c running", "completed n=3"] {
        story.step(words);
    }
    assert_eq!(story.record("s", "d"), "running");
    story.projector.mark_stale(at(120));
    story.projector.reconciliation_failed("s", "d", at(150));
    assert_eq!(story.record("s", "d"), "lost");
    assert_eq!(story.record("s", "c"), "completed n=3");
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

#[test]
fn times_at_the_ends_do_no_harm() {
    let mut story = running();
    let ends =
        ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"].map(|text| Moment::parse(text).unwrap());
    for now in ends {
        story.projector.mark_stale(now);
        story.projector.request_reconciliation("s", "c", "why", now);
        story.projector.reconciliation_failed("s", "c", now);
    }
    assert_eq!(summary(story.projector.record("s", "c").unwrap()), "lost n=2");
}
