//! Properties of the projection over random streams. Each counts what occurred, so that no case vanishes unseen.

mod common;

use agent_lifecycle_core::contract::{Code, Event, Moment};
use agent_lifecycle_core::project::{Config, Note, Projector, Status};
use common::event_text;
use common::streams::{
    Delivery, NOTES, Occurred, deliver, deliveries, knowledge, knowledge_of, run, statuses, steps,
};
use proptest::prelude::*;

/// The cases of each property.
const CASES: u32 = 120;

#[test]
fn no_input_revives_the_ended_and_states_move_along_edges() {
    let occurred = Occurred::default();
    run(CASES, &steps(true), |steps| {
        let mut projector = Projector::new(Config::default());
        for delivery in deliveries(&steps) {
            let (event, received) = match &delivery {
                Delivery::Event(event, received) => (event, *received),
                Delivery::MarkStale(now) => {
                    projector.mark_stale(*now).iter().for_each(|applied| occurred.count(applied));
                    continue;
                }
            };
            let look = |projector: &Projector| {
                projector.record("s", &event.child_id).map(|record| (record.state, record.state_since))
            };
            let before = look(&projector);
            let result = projector.apply(event, Some(received));
            let after = look(&projector);
            match &result {
                Ok(applied) => occurred.count(applied),
                Err(refusal) => occurred.mark(refusal.code.as_str()),
            }
            match (before, after) {
                (Some((from, since)), Some((to, since_then))) => {
                    let is_moved = from != to;
                    prop_assert!(!from.is_terminal() || (from, since) == (to, since_then));
                    prop_assert!(!is_moved || from.steps_to(to).is_some(), "{from:?} -> {to:?}");
                    let is_taken = result
                        .is_ok_and(|applied| matches!(applied.status, Status::Applied | Status::Provisional));
                    prop_assert!(!is_moved || is_taken);
                }
                (None, Some((to, _))) => prop_assert!(!to.is_terminal()),
                (None, None) => {}
                (Some(_), None) => prop_assert!(false, "a record is gone"),
            }
        }
        Ok(())
    });
    occurred.require(&statuses(), 50);
    occurred.require(&NOTES, 5);
    occurred.require(&[Code::IllegalTransition.as_str(), Code::AlreadyCreated.as_str()], 50);
}

#[test]
fn what_is_delivered_twice_counts_once() {
    let occurred = Occurred::default();
    run(CASES, &steps(true), |steps| {
        let deliveries = deliveries(&steps);
        let mut projector = Projector::new(Config::default());
        for delivery in &deliveries {
            let first = deliver(&mut projector, delivery);
            let second = deliver(&mut projector, delivery);
            let (Some(first), Some(second)) = (first, second) else { continue };
            match (first, second) {
                (Ok(first), Ok(second)) => {
                    occurred.count(&first);
                    let changes = [Status::Applied, Status::Provisional, Status::TerminalImmutable];
                    prop_assert!(!changes.contains(&second.status), "{second:?} after {first:?}");
                    let is_recorded =
                        changes.contains(&first.status) || first.note == Some(Note::LateSequence);
                    if is_recorded {
                        prop_assert_eq!(second.status, Status::Deduplicated);
                    } else {
                        prop_assert_eq!((second.status, second.note), (first.status, first.note));
                    }
                }
                (Err(first), Err(second)) => prop_assert_eq!(first, second),
                (first, second) => prop_assert!(false, "{first:?}, then {second:?}"),
            }
        }
        prop_assert_eq!(knowledge_of(&projector), knowledge(&deliveries));
        Ok(())
    });
    let seen_once =
        ["applied", "provisional", "deduplicated", "out_of_order", "conflict", "terminal_immutable"];
    occurred.require(&seen_once, 50);
    occurred.require(&NOTES[..13], 5);
}

/// Of a stream in one epoch: everything that was not refused and was about a known child.
#[test]
fn a_stream_delivered_again_changes_nothing() {
    let occurred = Occurred::default();
    run(CASES, &steps(false), |steps| {
        let mut projector = Projector::new(Config::default());
        let mut accepted = Vec::new();
        for delivery in deliveries(&steps) {
            if let Some(Ok(applied)) = deliver(&mut projector, &delivery)
                && applied.note != Some(Note::UnknownChild)
            {
                accepted.push(delivery);
            }
        }
        let before = knowledge_of(&projector);
        for delivery in &accepted {
            if let Some(Ok(applied)) = deliver(&mut projector, delivery) {
                occurred.count(&applied);
            }
        }
        prop_assert_eq!(knowledge_of(&projector), before);
        Ok(())
    });
    // Nothing else is left to answer.
    occurred.require(&["deduplicated", "identity_conflict", "identity_unchecked", "identity_evicted"], 10);
}

#[test]
fn replaying_what_was_accepted_gives_the_same_projection() {
    let occurred = Occurred::default();
    run(CASES, &steps(true), |steps| {
        let deliveries = deliveries(&steps);
        let mut projector = Projector::new(Config::default());
        let mut accepted = Vec::new();
        for delivery in &deliveries {
            let is_accepted = match deliver(&mut projector, delivery) {
                Some(Ok(applied)) => {
                    occurred.count(&applied);
                    applied.status != Status::Deduplicated && applied.note != Some(Note::IdentityConflict)
                }
                Some(Err(refusal)) => {
                    occurred.mark(refusal.code.as_str());
                    false
                }
                None => true,
            };
            if is_accepted {
                accepted.push(delivery);
            }
        }
        prop_assert_eq!(knowledge(accepted), knowledge_of(&projector));
        Ok(())
    });
    occurred.require(&NOTES[..13], 5);
    occurred.require(&["illegal_transition", "already_created", "deduplicated"], 50);
}

/// Members at and beyond their sensible ends, in no sensible order.
fn extremes() -> impl Strategy<Value = Vec<(String, usize)>> {
    let times = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-05-17T12:00:00Z"];
    let kinds = [
        r#""created","state":"created""#,
        r#""created","state":"created""#,
        r#""state_changed","state":"running""#,
        r#""state_changed","state":"waiting""#,
        r#""terminal","state":"lost""#,
        r#""heartbeat""#,
        r#""reconciliation","details":{"epochAdvance":{"from":"p0"}}"#,
        r#""reconciliation","details":{"epochAdvance":{"from":"p1"}}"#,
        r#""activity","details":{"agent":{"kind":"agent.exited","exitCode":-1e308},"facts":{"usage":{"messageId":"m","input":9007199254740991}}}"#,
        r#""activity","details":{"timeEstimated":true,"agent":[],"facts":7}"#,
    ];
    let sequences = ["", "0", "1", "7", "9007199254740990", "9007199254740991"];
    let member = (
        prop::sample::select(Vec::from(kinds)),
        prop::sample::select(Vec::from(sequences)),
        prop::sample::select(Vec::from(times)),
        prop::sample::select(vec![r#""p1""#, r#""p1""#, r#""p1""#, r#""p1""#, r#""p0""#, r#""p2""#]),
        prop::sample::select(vec![r#""c""#, r#""d""#, r#""@source""#]),
        prop::sample::select(vec![r#""1""#, r#""2""#, r#""3""#, r#""4""#]),
        0..3_usize,
    );
    let event = member.prop_map(|(kind, sequence, time, epoch, child, id, received)| {
        let time = format!("{time:?}");
        let changes = [
            ("kind", kind),
            ("sequence", sequence),
            ("observedAt", time.as_str()),
            ("sourceEpoch", epoch),
            ("childId", child),
            ("eventId", id),
        ];
        (event_text(&changes), received)
    });
    prop::collection::vec(event, 1..200)
}

#[test]
fn nothing_panics() {
    let occurred = Occurred::default();
    let moments = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"].map(Moment::parse);
    run(CASES, &extremes(), |events| {
        let mut projector = Projector::new(Config { stale_after_ms: i64::MAX, ..Config::default() });
        let mut normal = Projector::new(Config::default());
        for (text, received) in &events {
            // A note about the source has no state; the contract refuses the others.
            let Ok(event) = Event::from_json(text.as_bytes()) else {
                prop_assert!(text.contains("@source"), "{text}");
                continue;
            };
            let received_at = moments.get(*received).copied().flatten();
            let _ = projector.apply(&event, received_at);
            for _ in 0..2 {
                if let Ok(applied) = normal.apply(&event, received_at) {
                    occurred.count(&applied);
                }
            }
            if let Some(now) = received_at {
                projector.mark_stale(now);
                normal.mark_stale(now).iter().for_each(|applied| occurred.count(applied));
                if event.sequence == Some(7) {
                    let _ = normal.advance_epoch("s", "p2", "p3", now);
                    normal.forget(now);
                    projector.forget(now);
                }
            }
        }
        for record in normal.records().chain(projector.records()) {
            let is_written = agent_lifecycle_core::json::write(record).starts_with('{');
            prop_assert!(is_written);
        }
        Ok(())
    });
    occurred.require(&statuses(), 50);
}
