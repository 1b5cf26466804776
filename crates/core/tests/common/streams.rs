//! Random streams of events: few children, duplicates, reorderings, gaps, epochs, contradictions, ends.

use std::cell::RefCell;
use std::collections::BTreeMap;

use agent_lifecycle_core::contract::{Event, Moment, Refusal};
use agent_lifecycle_core::project::{Applied, Config, Note, Projector, Status};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestRng, TestRunner};

use super::projection::{at, event};

/// One step of a source with three children.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The next event of a child, after this many sequences that are never delivered; or one without a sequence.
    Next { child: usize, word: &'static str, skip: Option<u64> },
    /// An earlier delivery once more, counted back from the last one, with other content or the same.
    Again { back: usize, other: bool },
    /// An event observed so many seconds ago, with a sequence so far below the next one, or without.
    Late { child: usize, word: &'static str, age: i64, back: Option<u64> },
    /// An event of an epoch that was retired, or that is not announced.
    Foreign { child: usize, word: &'static str, ahead: bool },
    /// An event of this child, or a note about the source, announces the next epoch.
    Announce { child: &'static str },
    /// 200 seconds pass, and silence is marked.
    Silence,
    /// So many heartbeats in a row that contents, or ids, are let go.
    Burst { child: usize, sequenced: bool },
}

const WORDS: [&str; 16] = [
    "created",
    "starting",
    "running",
    "running",
    "running",
    "waiting",
    "waiting",
    "completed",
    "failed",
    "heartbeat",
    "heartbeat",
    "activity",
    "diagnostic",
    "starting external",
    "activity tool=t",
    "activity tool=t",
];

/// Streams that stay in their epoch, or do not.
pub(crate) fn steps(epochs: bool) -> impl Strategy<Value = Vec<Step>> {
    let (child, word) = (0..3_usize, prop::sample::select(&WORDS[..]));
    let skip = prop_oneof![4 => Just(Some(0)), 2 => Just(Some(2)), 2 => Just(None)];
    let foreign = (child.clone(), word.clone(), any::<bool>());
    let ages = prop::sample::select(&[50, 2000][..]);
    let late = (child.clone(), word.clone(), ages, prop::option::of(1..6_u64));
    let announcer = prop::sample::select(&["0", "1", "2", "new", "@source"][..]);
    let epoch = u32::from(epochs);
    let step = prop_oneof![
        40 => (child.clone(), word, skip).prop_map(|(child, word, skip)| Step::Next { child, word, skip }),
        12 => (0..20_usize, prop::bool::weighted(0.3)).prop_map(|(back, other)| Step::Again { back, other }),
        10 => late.prop_map(|(child, word, age, back)| Step::Late { child, word, age, back }),
        4 * epoch => foreign.prop_map(|(child, word, ahead)| Step::Foreign { child, word, ahead }),
        2 * epoch => announcer.prop_map(|child| Step::Announce { child }),
        2 => Just(Step::Silence),
        1 => (child, any::<bool>()).prop_map(|(child, sequenced)| Step::Burst { child, sequenced }),
    ];
    // Every other stream begins with the beginnings of its children.
    (prop::collection::vec(step, 1..100), any::<bool>()).prop_map(|(steps, begins)| {
        let begin =
            |child| ["created", "starting", "running"].map(|word| Step::Next { child, word, skip: Some(0) });
        (0..3).flat_map(begin).filter(|_| begins).chain(steps).collect()
    })
}

/// What reaches a projection.
#[derive(Clone, Debug)]
pub(crate) enum Delivery {
    Event(Box<Event<'static>>, Moment),
    MarkStale(Moment),
}

/// The source: its counters, its clock, and what it has said.
#[derive(Default)]
struct Sender {
    next: [u64; 3],
    epoch: u64,
    now: i64,
    said: Vec<String>,
    deliveries: Vec<Delivery>,
}

/// What the source of `steps` delivers.
pub(crate) fn deliveries(steps: &[Step]) -> Vec<Delivery> {
    let mut sender = Sender::default();
    for (number, step) in steps.iter().enumerate() {
        sender.now += 1;
        sender.take(number, step);
    }
    sender.deliveries
}

impl Sender {
    fn take(&mut self, number: usize, step: &Step) {
        let Self { epoch, now, .. } = *self;
        match *step {
            Step::Next { child, word, skip } => {
                let sequence = skip.map(|skip| self.sequence(child, skip)).unwrap_or_default();
                self.say(format!("id={number} c={child} e=p{epoch} t={now} {word}{sequence}"));
            }
            Step::Again { back, other } => {
                if let Some(place) = self.said.len().checked_sub(back + 1) {
                    let words = self.said[place].clone();
                    self.say(if other { format!("{words} text=other") } else { words });
                }
            }
            Step::Late { child, word, age, back } => {
                let sequence = back.map(|back| format!(" n={}", self.next[child].saturating_sub(back)));
                let sequence = sequence.unwrap_or_default();
                self.say(format!("id={number} c={child} e=p{epoch} t={} {word}{sequence}", now - age));
            }
            Step::Foreign { child, word, ahead } => {
                let foreign = if ahead { epoch + 5 } else { epoch.max(1) - 1 };
                self.say(format!("id={number} c={child} e=p{foreign} t={now} {word} n=1"));
            }
            Step::Announce { child } => {
                self.epoch += 1;
                self.next = [0; 3];
                let to = self.epoch;
                self.say(format!("id={number} c={child} e=p{to} t={now} reconciliation from=p{epoch}"));
            }
            Step::Silence => {
                self.now += 200;
                self.deliveries.push(Delivery::MarkStale(at(self.now)));
            }
            Step::Burst { child, sequenced } => {
                for beat in 0..if sequenced { 70 } else { 1200 } {
                    self.now += 1;
                    let sequence = if sequenced { self.sequence(child, 0) } else { String::new() };
                    let words =
                        format!("id={number}.{beat} c={child} e=p{epoch} t={} heartbeat{sequence}", self.now);
                    self.deliver(&words);
                }
            }
        }
    }

    fn sequence(&mut self, child: usize, skip: u64) -> String {
        self.next[child] += skip + 1;
        format!(" n={}", self.next[child])
    }

    fn say(&mut self, words: String) {
        self.deliver(&words);
        self.said.push(words);
    }

    fn deliver(&mut self, words: &str) {
        self.deliveries.push(Delivery::Event(Box::new(event(words)), at(self.now)));
    }
}

/// Delivers to `projector`; `None` for a mark.
pub(crate) fn deliver(projector: &mut Projector, delivery: &Delivery) -> Option<Result<Applied, Refusal>> {
    match delivery {
        Delivery::Event(event, received) => Some(projector.apply(event, Some(*received))),
        Delivery::MarkStale(now) => {
            projector.mark_stale(*now);
            None
        }
    }
}

/// Everything that a projection of `deliveries` knows, as text.
pub(crate) fn knowledge<'a>(deliveries: impl IntoIterator<Item = &'a Delivery>) -> String {
    let mut projector = Projector::new(Config::default());
    for delivery in deliveries {
        deliver(&mut projector, delivery);
    }
    knowledge_of(&projector)
}

pub(crate) fn knowledge_of(projector: &Projector) -> String {
    let records: Vec<_> = projector.records().collect();
    format!(
        "{:?} {records:?} {:?} {:?}",
        projector.epoch("s"),
        projector.source_notes("s"),
        projector.audit()
    )
}

/// Counts the statuses and notes of the answers of all cases of a property.
#[derive(Default)]
pub(crate) struct Occurred(RefCell<BTreeMap<&'static str, u64>>);

impl Occurred {
    pub(crate) fn count(&self, applied: &Applied) {
        let notes = [applied.note, applied.also].into_iter().flatten().map(Note::as_str);
        for word in notes.chain([applied.status.as_str()]) {
            *self.0.borrow_mut().entry(word).or_default() += 1;
        }
    }

    pub(crate) fn mark(&self, word: &'static str) {
        *self.0.borrow_mut().entry(word).or_default() += 1;
    }

    /// Each of `words` occurred at least `least` times.
    #[track_caller]
    pub(crate) fn require(&self, words: &[&'static str], least: u64) {
        let counts = self.0.borrow();
        let missing: Vec<_> =
            words.iter().filter(|word| counts.get(*word).is_none_or(|count| *count < least)).collect();
        assert!(missing.is_empty(), "{missing:?} occurred less than {least} times: {counts:?}");
    }
}

/// Every status.
pub(crate) fn statuses() -> Vec<&'static str> {
    Status::ALL.map(Status::as_str).to_vec()
}

/// Every note, those first that only streams with several epochs give.
pub(crate) const NOTES: [&str; 14] = [
    "epoch_retired",
    "epoch_conflict",
    "epoch_advanced",
    "identity_conflict",
    "identity_evicted",
    "identity_unchecked",
    "unknown_child",
    "sequence_gap",
    "missing_edge",
    "late_sequence",
    "late_evidence",
    "history",
    "lineage_changed",
    "silence",
];

/// Runs a property on the same `cases` streams every time.
pub(crate) fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = RunnerConfig { cases, failure_persistence: None, ..RunnerConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(strategy, property).unwrap_or_else(|fault| panic!("{fault}"));
}
