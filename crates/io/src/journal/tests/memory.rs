//! What an instance remembers of the end changes its cost and nothing else: whatever others do to the end of the file, it answers as
//! an instance does that has just been opened.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;

use super::{append, draft, engine, line, sim};
use crate::journal::{Options, TornTail};
use crate::storage::sim::Sim;
use crate::storage::{Open, Storage};

/// What happens to the file between two appends.
#[derive(Clone, Debug)]
enum Step {
    Own,
    OtherInstance,
    ForeignLine { jump: u64 },
    Repeated,
    Garbage,
    Blank,
    Torn,
    Cut { back: usize },
    Replaced { lines: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Own),
        2 => Just(Step::OtherInstance),
        2 => (1_u64..5).prop_map(|jump| Step::ForeignLine { jump }),
        1 => Just(Step::Repeated),
        1 => Just(Step::Garbage),
        1 => Just(Step::Blank),
        1 => Just(Step::Torn),
        2 => (1_usize..500).prop_map(|back| Step::Cut { back }),
        1 => (0_u64..4).prop_map(|lines| Step::Replaced { lines }),
    ];
    proptest::collection::vec(step, 1..14)
}

/// The largest number so far.
fn largest(sim: &Sim) -> u64 {
    let content = sim.content("/d/j").unwrap_or_default();
    let numbers = content.split(|&byte| byte == b'\n').filter_map(|line| {
        let text = String::from_utf8_lossy(line).into_owned();
        text.rsplit_once("\"journalSequence\":")?.1.trim_end_matches('}').parse().ok()
    });
    numbers.max().unwrap_or(0)
}

fn add(sim: &Sim, bytes: &[u8]) {
    let mut file = sim.open(Path::new("/d/j"), Open::AppendOrNew).expect("there");
    file.append(bytes).expect("written");
}

#[test]
fn it_answers_as_a_new_instance_does() {
    let seen = Mutex::new(BTreeMap::<&'static str, u64>::new());
    let tally = |what| *seen.lock().expect("no panic").entry(what).or_default() += 1;
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) }, |(steps in steps(), quarantines: bool)| {
        let torn_tail = if quarantines { TornTail::Quarantine } else { TornTail::Error };
        let options = Options { torn_tail, ..Options::default() };
        let sim = sim();
        let mut own = engine(&sim, 1, options);
        let mut other = engine(&sim, 1, options);
        for (at, step) in (0_u64..).zip(&steps) {
            match step {
                Step::Own => _ = append(&mut own, &[draft("own", at)]),
                Step::OtherInstance => _ = append(&mut other, &[draft("other", at), draft("other", at + 100)]),
                Step::ForeignLine { jump } => add(&sim, line("f", at, largest(&sim) + jump).as_bytes()),
                Step::Repeated => add(&sim, line("f", at, largest(&sim)).as_bytes()),
                Step::Garbage => add(&sim, b"garbage\n"),
                Step::Blank => add(&sim, b" \r\n\n"),
                Step::Torn => add(&sim, &line("t", at, largest(&sim) + 1).as_bytes()[..200]),
                Step::Cut { back } => {
                    let mut file = sim.open(Path::new("/d/j"), Open::AppendOrNew).expect("there");
                    let length = file.stat().expect("there").length;
                    file.truncate(length.saturating_sub(*back as u64)).expect("cut");
                }
                Step::Replaced { lines } => {
                    let text: String = (0..*lines).map(|id| line("r", at, 10 * at + id + 1)).collect();
                    sim.put("/d/j", text.as_bytes());
                }
            }
            // The same file, seen by an instance without memory.
            let copy = Sim::of(sim.state().clone());
            let expected = append(&mut engine(&copy, 1, options), &[draft("x", at)]);
            let answered = append(&mut own, &[draft("x", at)]);
            tally(match &answered {
                Ok(_) => "appended",
                Err(fault) => fault.code.as_str(),
            });
            prop_assert_eq!(answered, expected);
            prop_assert_eq!(sim.content("/d/j"), copy.content("/d/j"));
            prop_assert_eq!(sim.content("/d/j.quarantine-1"), copy.content("/d/j.quarantine-1"));
            if sim.content("/d/j.quarantine-1").is_some() {
                tally("quarantined");
            }
        }
    });
    let seen = seen.into_inner().expect("no panic");
    for (what, least) in [("appended", 300), ("journal_integrity", 100), ("quarantined", 50)] {
        assert!(seen.get(what).is_some_and(|&times| times >= least), "{what}: {seen:?}");
    }
}
