//! Properties of Hermes' lifecycle over random messages and snapshots. What occurred is counted, so that no case vanishes unseen.

mod common;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::State;
use common::hermes::Host;
use common::streams::{Occurred, run};
use proptest::prelude::*;

/// One message of a random stream, or a snapshot of random delegations.
#[derive(Clone, Debug)]
enum Said {
    Word(String, i64),
    Status(bool, String, i64),
}

fn said() -> impl Strategy<Value = Said> {
    const STATUSES: [&str; 9] = [
        "pending",
        "starting",
        "active",
        "running",
        "waiting",
        "completed",
        "failed",
        "cancelled",
        "exploded",
    ];
    let child = (0..3_u8, 0..2_u8).prop_map(|(child, session)| format!("{child}@{session}"));
    let word = (child, 0..14_usize, 0..9_usize).prop_map(|(child, what, status)| match what {
        0..=1 => format!("spawn:{child}"),
        2..=3 => format!("start:{child}"),
        4..=5 => format!("tool:{child}:bash"),
        6 => format!("end:{child}"),
        7..=9 => format!("end:{child}:{}", STATUSES[status]),
        10..=11 => format!("input:{child}:{}", State::ALL[status.min(6)].as_str()),
        12 => format!("correct:{child}:{}", State::ALL[status.min(6)].as_str()),
        _ => format!("missing:{child}"),
    });
    let delegations = prop::collection::btree_map((0..3_u8, 0..2_u8), 0..9_usize, 0..6).prop_map(|named| {
        let words = named.into_iter().map(|((c, s), status)| format!("{c}@{s}:{}", STATUSES[status]));
        words.collect::<Vec<_>>().join(" ")
    });
    prop_oneof![
        5 => (word, 0..60_i64).prop_map(|(word, second)| Said::Word(word, second)),
        1 => (any::<bool>(), delegations, 0..60_i64).prop_map(|(complete, named, at)| Said::Status(complete, named, at)),
    ]
}

/// What must occur in a random stream.
const CASES: [&str; 25] = [
    "created",
    "created*",
    "activity",
    "heartbeat",
    "diagnostic",
    "starting*",
    "running*",
    "running",
    "waiting",
    "completed",
    "failed",
    "cancelled",
    "late_event",
    "unknown_child",
    "illegal_transition",
    "already_created",
    "invalid_state",
    "late_evidence",
    "deduplicated",
    "snapshot_admitted",
    "snapshot_outdated",
    "end_contradicted",
    "complete_snapshot_missing",
    "converged",
    "ended before",
];

fn hear(host: &mut Host, said: &Said) -> String {
    match said {
        Said::Word(word, second) => host.say(word, *second),
        Said::Status(complete, named, second) => {
            host.status(if *complete { "complete" } else { "incomplete" }, named, *second)
        }
    }
}

#[test]
fn whatever_comes_in_whatever_order_no_event_is_refused_and_nothing_ended_moves() {
    let occurred = Occurred::default();
    run(200, &prop::collection::vec(said(), 1..40), |stream| {
        let mut host = Host::new(None, Content::Titles);
        for said in &stream {
            let before: Vec<_> = records(&host);
            let text = hear(&mut host, said);
            mark(&occurred, &text);
            // The lifecycle offers no event that the projector must refuse: whatever is illegal it has reported.
            prop_assert!(
                !text.contains("(illegal_transition)") && !text.contains("(already_created)"),
                "{text}"
            );
            let after = records(&host);
            for (name, state) in &before {
                let (_, now) = after.iter().find(|(other, _)| other == name).expect("no record is dropped");
                prop_assert!(!state.is_terminal() || now == state, "{name} {state:?} {now:?}");
            }
            // A second hearing changes nothing. An intent has no time of its own, and two of them are two.
            if !matches!(said, Said::Word(word, _) if word.starts_with("correct")) {
                let again = hear(&mut host, said);
                prop_assert!(!again.contains("(identity_conflict)"), "{again}");
                mark(&occurred, &again);
                prop_assert_eq!(records(&host), after, "{:?} again", said);
            }
        }
        // After the next complete snapshot, each that has not ended is as it says, and nobody is lost.
        let named = "0@0:running 1@0:waiting 2@1:pending";
        host.status("complete", named, 100);
        for (name, expected) in [("0@0", State::Running), ("1@0", State::Waiting), ("2@1", State::Created)] {
            let id = host.hermes.child_id(&name[..1], &name[2..]);
            let state = host.state(&id).expect("a child that is named is known");
            prop_assert!(state == expected || state.is_terminal(), "{id} {state:?}");
            occurred.mark(if state == expected { "converged" } else { "ended before" });
        }
        prop_assert!(records(&host).iter().all(|(_, state)| *state != State::Lost));
        Ok(())
    });
    occurred.require(&CASES, 20);
}

/// Counts the cases in what [`Host::apply`] says.
fn mark(occurred: &Occurred, text: &str) {
    for word in text.split([' ', '(', ')']) {
        let word = word.rsplit(['.', '!', '=']).next().unwrap_or_default();
        CASES.iter().filter(|case| **case == word).for_each(|case| occurred.mark(case));
    }
}

fn records(host: &Host) -> Vec<(String, State)> {
    let mut records: Vec<_> =
        host.projector.records().map(|record| (record.child_id.to_string(), record.state)).collect();
    records.sort_by(|(one, _), (other, _)| one.cmp(other));
    records
}
