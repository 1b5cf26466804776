//! Contract section 4: stale, questions and their answers, omission, lost.

mod common;

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::rows::{BesideAll, Row, rows};
use agent_lifecycle_core::project::{Alive, Process, Projector};
use common::authority::{reconcile, running, snapshot, words};
use common::projection::{Story, at, event, summary};

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

/// S13: it was found stale before its process was found alive.
#[test]
fn a_mark_that_silence_made_ends_with_the_process_of_an_idle_session() {
    let alive = |alive| Some(Process { pid: 7, alive });
    let stale = "waiting why=prompt n=3 stale open=silence";
    for (found, then) in [(Alive::Yes, "waiting why=prompt n=3"), (Alive::No, stale), (Alive::Unknown, stale)]
    {
        let mut story = running();
        story.step("waiting why=prompt n=3");
        story.projector.mark_stale(at(500));
        assert_eq!(story.record("s", "c"), stale);
        story.projector.set_process("s", "c", alive(found));
        assert_eq!(story.record("s", "c"), then, "{found:?}");
        // Once it is not known to live any more, silence counts again.
        story.projector.set_process("s", "c", None);
        story.projector.mark_stale(at(501));
        assert_eq!(story.record("s", "c"), stale);
    }
    // One that works, or waits for something else, is stale whether or not its process lives.
    for words in ["running n=3", "waiting why=question n=3"] {
        let mut story = running();
        story.step(words);
        story.projector.mark_stale(at(500));
        let before = story.record("s", "c");
        story.projector.set_process("s", "c", alive(Alive::Yes));
        assert_eq!(story.record("s", "c"), before, "{words}");
        // That it waits for its user is said late.
        story.step("waiting why=prompt n=4 t=10");
        assert_eq!(story.record("s", "c"), "waiting why=prompt n=4", "{words}");
    }
    // What an authority said of it, and what the host asks, is not about silence.
    let mut story = running();
    story.step("waiting why=prompt n=3");
    reconcile(&mut story, "t=10");
    reconcile(&mut story, "t=20");
    story.projector.set_process("s", "c", alive(Alive::Yes));
    assert_eq!(story.record("s", "c"), "waiting why=prompt n=3 stale open=complete_snapshot_missing");
    let mut story = running();
    story.step("waiting why=prompt n=3");
    story.projector.mark_stale(at(500));
    story.projector.request_reconciliation("s", "c", "asked", at(501));
    story.projector.set_process("s", "c", alive(Alive::Yes));
    assert_eq!(story.record("s", "c"), "waiting why=prompt n=3 open=asked");
}

/// Evidence that comes late counts as if it had come in time: what is known in the end does not depend on when it came.
#[test]
fn the_count_of_omissions_does_not_depend_on_when_evidence_comes() {
    let (live, stale) = ("running n=3", "running n=3 stale open=complete_snapshot_missing");
    // Snapshots that leave the child out at these seconds, evidence of it at this one, and what is known in the end: two snapshots
    // in a row that are not older than the evidence make it stale.
    for (snapshots, heard, expected) in [
        (&[10, 20, 30, 40][..], 25, stale),
        (&[10, 20, 30], 25, live),
        (&[10, 20, 30], 15, stale),
        (&[10, 20], 15, live),
        (&[10, 20], 10, stale),
        (&[10, 20, 30, 40], 31, live),
        (&[10, 20, 30, 40], 30, stale),
        (&[10, 20, 30, 40], 50, live),
    ] {
        let in_time = snapshots.partition_point(|&at| at < heard);
        for place in in_time..=snapshots.len() {
            let mut story = running();
            for (at, seconds) in snapshots.iter().enumerate() {
                if at == place {
                    story.step(&format!("heartbeat n=3 t={heard}"));
                }
                reconcile(&mut story, &format!("t={seconds}"));
            }
            if place == snapshots.len() {
                story.step(&format!("heartbeat n=3 t={heard}"));
            }
            assert_eq!(story.record("s", "c"), expected, "{snapshots:?}, {heard} after {place}");
        }
    }
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

/// A sub-agent that is heard of keeps its session from looking stale; a question about either is not the other's.
#[test]
fn a_question_is_about_one_child() {
    let mut story = running();
    let mut of_session = event("activity id=session n=3");
    of_session.details = agent_lifecycle_core::json::parse(br#"{"facts":{"provider":"p"}}"#).ok();
    story.projector.apply(&of_session, None).unwrap();
    story.step("c=d parent=c created t=100");
    story.projector.mark_stale(at(120));
    let shown = |story: &Story| -> Vec<(bool, Option<&'static str>)> {
        let rows = rows(story.projector.records(), &BesideAll::new());
        rows.iter().map(|row| (row.freshness.stale, row.freshness.reconcile)).collect()
    };
    assert_eq!(shown(&story), [(false, None), (false, None)]);
    story.projector.request_reconciliation("s", "d", "why", at(121));
    assert_eq!(shown(&story), [(false, None), (false, Some("pending"))]);
    story.projector.request_reconciliation("s", "c", "why", at(122));
    story.projector.reconciliation_unanswered("s", "d", at(123));
    assert_eq!(shown(&story), [(false, Some("pending")), (false, Some("unanswered"))]);
}

#[test]
fn a_snapshot_may_come_with_a_grace_of_its_own() {
    for (graces, stale_at) in [(&[1][..], 0), (&[3, 3, 3], 2), (&[3, 3, 2], 2), (&[9, 9, 9, 1], 3)] {
        let mut story = running();
        for (index, grace) in graces.iter().enumerate() {
            let taken = snapshot(&format!("t={} d:created", 11 + index));
            let stale = story.projector.reconcile_within(*grace, &taken, None).unwrap().results.len();
            assert_eq!(stale == 1, index == stale_at, "{graces:?} at {index}");
        }
        let expected = "running n=2 stale open=complete_snapshot_missing";
        assert_eq!(story.record("s", "c"), expected, "{graces:?}");
    }
}

#[test]
fn open_questions_of_a_source_are_listed() {
    let mut story = running();
    let list = |story: &Story| -> Vec<String> {
        let open = story.projector.questions("s");
        open.map(|(child, question)| format!("{child} {} {:?}", question.reason, question.asked)).collect()
    };
    assert_eq!(list(&story), [""; 0]);
    assert_eq!(story.projector.mark_stale(at(200)).len(), 1);
    assert_eq!(list(&story), ["c silence Unasked"]);
    assert_eq!(story.projector.questions("other").count(), 0);
    story.projector.request_reconciliation("s", "c", "silence", at(201));
    assert_eq!(list(&story), ["c silence Pending"]);
    story.projector.reconciliation_unanswered("s", "c", at(202));
    assert_eq!(list(&story), ["c silence Unanswered"]);
    // An end leaves nothing to ask.
    story.step("failed n=3 t=203");
    assert_eq!(list(&story), [""; 0]);
}
