//! A journal of events and corrections, replayed, gives the projection that wrote it.

mod common;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::decode::{DiagnosticCode, JsonlParser};
use agent_lifecycle_core::project::{Alive, Config, Process, Projector, Record};
use agent_lifecycle_core::reconcile::{JournalLine, Snapshot};
use common::authority::{Act, Entry, SnapshotAct, acts, running, words};
use common::projection::{Story, at};
use common::streams::{Delivery, NOTES, Occurred, deliveries, run, statuses, steps};
use proptest::prelude::*;

const CASES: u32 = 120;

const CONFIG: Config = Config {
    stale_after_ms: 120_000,
    reconcile_deadline_ms: 30_000,
    grace_snapshots: 2,
    hash_keys: (1, 2),
    corrections: true,
};

const OPS: [&str; 12] = [
    "correct",
    "agree",
    "request",
    "unanswered",
    "stale",
    "spare",
    "lost",
    "miss",
    "advance_epoch",
    "admit",
    "checkpoint",
    "forget",
];

/// A program that keeps a journal of all that its projection is told.
struct Program {
    live: Projector,
    journal: Vec<String>,
    now: i64,
    snapshots: u32,
    rotated: bool,
}

impl Program {
    fn new() -> Self {
        let live = Projector::new(CONFIG);
        Self { live, journal: Vec::new(), now: 0, snapshots: 0, rotated: false }
    }

    fn write(&mut self, event: &Event<'_>, received_at: Option<Moment>) {
        let event = event.to_json();
        let sequence = self.journal.len() + 1;
        let received =
            received_at.map(|at| format!(",\"receivedAt\":\"{}\"", at.to_text())).unwrap_or_default();
        let open = &event[..event.len() - 1];
        self.journal.push(format!("{open},\"journalSequence\":{sequence}{received}}}"));
    }

    fn hear(&mut self, delivery: &Delivery, occurred: &Occurred) {
        match delivery {
            Delivery::Event(event, received_at) => {
                self.now = self.now.max(received_at.millis_since(at(0)) / 1000);
                if let Ok(applied) = self.live.apply(event, Some(*received_at)) {
                    occurred.count(&applied);
                }
                self.write(event, Some(*received_at));
            }
            Delivery::MarkStale(now) => {
                self.now = self.now.max(now.millis_since(at(0)) / 1000);
                for applied in &self.live.mark_stale(*now) {
                    occurred.count(applied);
                }
            }
        }
    }

    fn act(&mut self, act: &Act, occurred: &Occurred) {
        let child = |child: &usize| ["0", "1", "2", "3"][*child];
        let now = at(self.now);
        match act {
            Act::Wait(seconds) => {
                self.now += seconds;
                let marked = self.live.mark_stale(at(self.now));
                for applied in &marked {
                    occurred.count(applied);
                }
            }
            Act::Request(id) => {
                occurred.count(&self.live.request_reconciliation("s", child(id), "process dead", now));
            }
            Act::Failed(id) => occurred.count(&self.live.reconciliation_failed("s", child(id), now)),
            Act::Unanswered(id) => {
                occurred.count(&self.live.reconciliation_unanswered("s", child(id), now));
            }
            Act::Idle(id) => {
                let entry = Entry { child: *id, state: "waiting", sequence: None, lineage: true };
                self.take_snapshot(&SnapshotAct { entries: vec![entry], ..SnapshotAct::default() }, occurred);
                self.act(&Act::Wait(130), occurred);
                self.live.set_process("s", child(id), Some(Process { pid: 1, alive: Alive::Yes }));
            }
            Act::Snapshot(snapshot) => self.take_snapshot(snapshot, occurred),
            Act::Advance => {
                if let Some(epoch) = self.live.epoch("s").map(str::to_owned) {
                    let _ = self.live.advance_epoch("s", &epoch, &format!("{epoch}+"), now);
                }
            }
            Act::Forget => {
                self.live.forget(now.plus_millis(-20_000));
            }
            Act::Remove(id) => {
                self.live.remove("s", child(id));
            }
            Act::Restart => {
                self.keep_corrections(occurred);
                self.live = replayed(&self.journal, CONFIG);
            }
            Act::Rotate => {
                self.keep_corrections(occurred);
                self.journal.clear();
                self.rotated = true;
                for event in self.live.checkpoint(now) {
                    occurred.mark("checkpoint");
                    self.write(&event, None);
                }
            }
        }
    }

    fn take_snapshot(&mut self, act: &SnapshotAct, occurred: &Occurred) {
        self.snapshots += u32::from(!act.again);
        let present = self.live.epoch("s").unwrap_or("p0").to_owned();
        let epoch = if act.advances { format!("{present}!") } else { present };
        let text = act.text(&epoch, &format!("snap{}", self.snapshots), at(self.now - act.age), |child| {
            self.live.record("s", child).and_then(common::authority::highest)
        });
        let snapshot = Snapshot::from_json(text.as_bytes()).unwrap_or_else(|fault| panic!("{fault}: {text}"));
        // The grace is the host's at that moment; a replay does not know it.
        let grace = u64::from(self.snapshots % 3) + 1;
        let received = act.received.then(|| at(self.now));
        let reconciled = self.live.reconcile_within(grace, &snapshot, received).unwrap();
        for applied in &reconciled.results {
            occurred.count(applied);
        }
        if let Some(note) = reconciled.note {
            occurred.mark(note.as_str());
        }
        if !reconciled.discovered.is_empty() {
            occurred.mark("discovered");
        }
    }

    fn keep_corrections(&mut self, occurred: &Occurred) {
        for event in self.live.take_corrections() {
            let details = agent_lifecycle_core::json::write(&event.details);
            let details: serde_json::Value = serde_json::from_str(&details).unwrap();
            let op = details["lifecycle"]["op"].as_str().unwrap();
            occurred.mark(OPS.into_iter().find(|word| *word == op).unwrap());
            self.write(&event, None);
        }
    }
}

/// The projection of a journal.
fn replayed(journal: &[String], config: Config) -> Projector {
    let mut projector = Projector::new(config);
    for line in journal {
        let JournalLine { event, journal_sequence, received_at } =
            JournalLine::from_json(line.as_bytes()).unwrap();
        assert!(journal_sequence.is_some());
        let _ = projector.replay(&event, received_at);
    }
    assert_eq!(projector.take_corrections(), [], "what is replayed is not said again");
    projector
}

/// All that a projection knows of what was said, windows and all, in an order that does not depend on where records are. A process
/// is in no journal, and so is that a record is spared because of it.
fn everything(projector: &Projector) -> String {
    let record = |record: &Record| {
        let mut record = record.clone();
        record.process = None;
        let text = format!("{record:#?}");
        text.lines().filter(|line| !line.trim_start().starts_with("spared:")).collect::<Vec<_>>().join("\n")
    };
    let mut records: Vec<String> = projector.records().map(record).collect();
    records.sort_unstable();
    let mut checkpoint: Vec<String> = projector.checkpoint(at(0)).iter().map(Event::to_json).collect();
    checkpoint.sort_unstable();
    let notes = projector.source_notes("s");
    format!("{:?} {notes:?} {} {}", projector.epoch("s"), records.join("\n"), checkpoint.join("\n"))
}

/// The lines in which two texts differ; they are long.
fn difference(left: &str, right: &str) -> Vec<(String, String)> {
    let (left, right): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    let longest = left.len().max(right.len());
    let line = |lines: &[&str], at: usize| lines.get(at).copied().unwrap_or_default().to_owned();
    let differ =
        (0..longest).map(|at| (line(&left, at), line(&right, at))).filter(|(left, right)| left != right);
    differ.take(5).collect()
}

fn script() -> impl Strategy<Value = (Vec<Delivery>, Vec<(usize, Act)>)> {
    (steps(true), acts()).prop_map(|(steps, acts)| (deliveries(&steps), acts))
}

#[test]
fn live_is_replay() {
    let occurred = Occurred::default();
    run(CASES, &script(), |(deliveries, acts)| {
        let mut program = Program::new();
        for (place, delivery) in deliveries.iter().enumerate() {
            program.hear(delivery, &occurred);
            for (_, act) in acts.iter().filter(|(when, _)| *when % deliveries.len() == place) {
                program.act(act, &occurred);
            }
            program.keep_corrections(&occurred);
        }
        let again = replayed(&program.journal, CONFIG);
        prop_assert_eq!(difference(&everything(&again), &everything(&program.live)), []);
        if !program.rotated {
            prop_assert_eq!(format!("{:?}", again.audit()), format!("{:?}", program.live.audit()));
        }
        // Whatever was said twice is told once.
        let twice: Vec<String> =
            program.journal.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        let twice = replayed(&twice, CONFIG);
        prop_assert_eq!(states(&twice), states(&program.live));
        // A checkpoint stands for everything before it, also behind what it stands for.
        let checkpoint: Vec<String> = {
            let mut rotated = Program::new();
            for event in &program.live.checkpoint(at(0)) {
                rotated.write(event, None);
            }
            rotated.journal
        };
        prop_assert_eq!(
            difference(&everything(&replayed(&checkpoint, CONFIG)), &everything(&program.live)),
            []
        );
        let both: Vec<String> = program.journal.iter().chain(&checkpoint).cloned().collect();
        prop_assert_eq!(difference(&everything(&replayed(&both, CONFIG)), &everything(&program.live)), []);
        // Whoever hashes with other keys knows as much of the children.
        let stranger = replayed(&checkpoint, Config { hash_keys: (3, 4), ..CONFIG });
        prop_assert_eq!(states(&stranger), states(&program.live));
        Ok(())
    });
    occurred.require(&statuses(), 50);
    occurred.require(&NOTES, 5);
    let answers = [
        "reconciliation_pending",
        "reconciliation_failed",
        "reconciliation_unanswered",
        "authoritative_snapshot",
        "snapshot_admitted",
        "snapshot_outdated",
        "snapshot_repeated",
        "end_contradicted",
        "complete_snapshot_missing",
        "discovered",
    ];
    occurred.require(&answers, 5);
    occurred.require(&OPS, 5);
}

/// What is known of children, without windows.
fn states(projector: &Projector) -> Vec<String> {
    let mut records: Vec<String> = projector.records().map(agent_lifecycle_core::json::write).collect();
    records.sort_unstable();
    records
}

#[test]
fn a_plain_reader_keeps_corrections_as_notes() {
    let mut program = Program::new();
    let occurred = Occurred::default();
    for words in ["id=1 c=0 created", "id=2 c=0 starting", "id=3 c=0 running"] {
        program.hear(&Delivery::Event(Box::new(common::projection::event(words)), at(0)), &occurred);
    }
    program.act(&Act::Wait(120), &occurred);
    program.act(&Act::Wait(30), &occurred);
    program.act(&Act::Failed(0), &occurred);
    program.act(&Act::Advance, &occurred);
    program.keep_corrections(&occurred);
    assert_eq!(common::projection::summary(program.live.record("s", "0").unwrap()), "lost");
    let mut plain = Projector::new(CONFIG);
    for line in &program.journal {
        plain.apply(&Event::from_json(line.as_bytes()).unwrap(), None).unwrap();
    }
    // A stale mark and a loss are notes to it, and so is the advance, but for the epoch that it announces.
    assert_eq!(common::projection::summary(plain.record("s", "0").unwrap()), "running notes=2");
    assert_eq!(plain.epoch("s"), Some("p1+"));
}

#[test]
fn a_record_beyond_one_event_takes_several() {
    let mut program = Program::new();
    let occurred = Occurred::default();
    for word in ["created", "starting", "running"] {
        let event = common::projection::event(&format!("id={word} c=0 {word}"));
        program.hear(&Delivery::Event(Box::new(event), at(0)), &occurred);
    }
    for number in 0..1300 {
        let wide = format!("{number:0>500}");
        let words = format!("id={wide} c=0 t={number} activity tool={wide}");
        let event = common::projection::event(&words);
        program.hear(&Delivery::Event(Box::new(event), at(number)), &occurred);
        let note = common::projection::event(&format!("id={wide}note c=0 t={number} diagnostic text={wide}"));
        program.hear(&Delivery::Event(Box::new(note), at(number)), &occurred);
    }
    let checkpoint = program.live.checkpoint(at(2000));
    assert!(checkpoint.len() > 2, "{}", checkpoint.len());
    let mut lines = Program::new();
    for event in &checkpoint {
        lines.write(event, None);
    }
    assert_eq!(everything(&replayed(&lines.journal, CONFIG)), everything(&program.live));
    // A part that is missing makes no record.
    for missing in 1..lines.journal.len() {
        let mut torn = lines.journal.clone();
        torn.remove(missing);
        assert_eq!(replayed(&torn, CONFIG).records().count(), 0, "without part {missing}");
    }
}

#[test]
fn a_checkpoint_revives_nothing() {
    let mut story = common::projection::Story::new();
    for words in ["created", "starting", "running"] {
        story.step(words);
    }
    let checkpoint = story.projector.checkpoint(at(0));
    story.step("failed");
    let results: Vec<_> =
        checkpoint.iter().map(|event| story.projector.replay(event, None).unwrap().status.as_str()).collect();
    assert_eq!(results, ["applied", "terminal_immutable"]);
    assert_eq!(story.record("s", "c"), "failed");
    // Nor does any other correction.
    let mut other = Projector::new(CONFIG);
    for words in ["created", "starting", "running"] {
        other.apply(&common::projection::event(words), None).unwrap();
    }
    let entry = Entry { child: 0, state: "waiting", sequence: None, lineage: false };
    let act = SnapshotAct { entries: vec![entry], ..SnapshotAct::default() };
    let text = act.text("p1", "snap", at(0), |_| None).replace("\"0\"", "\"c\"");
    other.reconcile(&Snapshot::from_json(text.as_bytes()).unwrap(), None).unwrap();
    for event in other.take_corrections().iter().filter(|event| event.child_id == "c") {
        let applied = story.projector.replay(event, None).unwrap();
        assert_eq!(applied.status.as_str(), "terminal_immutable");
    }
    assert_eq!(story.record("s", "c"), "failed");
}

#[test]
fn journal_lines() {
    let event = common::projection::event("created").to_json();
    let with = |more: &str| format!("{}{more}}}", &event[..event.len() - 1]);
    for (more, expected) in [
        ("", Ok((None, None))),
        (",\"journalSequence\":7", Ok((Some(7), None))),
        (",\"journalSequence\":7,\"receivedAt\":\"2026-05-17T12:00:01Z\"", Ok((Some(7), Some(at(1))))),
        // Without a sequence it is of no journal.
        (",\"receivedAt\":\"2026-05-17T12:00:01Z\"", Ok((None, None))),
        (",\"journalSequence\":\"7\"", Err("$.journalSequence")),
        (",\"journalSequence\":-1", Err("$.journalSequence")),
        (",\"journalSequence\":7,\"receivedAt\":null", Err("$.receivedAt")),
    ] {
        let line = with(more);
        let got = JournalLine::from_json(line.as_bytes())
            .map(|line| (line.journal_sequence, line.received_at))
            .map_err(|fault| agent_lifecycle_core::contract::Refusal::from(fault).path.into_owned());
        assert_eq!(got, expected.map_err(str::to_owned), "{more}");
    }
}

#[test]
fn a_parser_reads_a_journal() {
    let event = common::projection::event("created").to_json();
    let journalled = format!("{},\"journalSequence\":7}}\n", &event[..event.len() - 1]);
    let wrong = journalled.replace(":7}", ":-7}");
    let mut parser = JsonlParser::default();
    let mut lines = Vec::new();
    parser.push_journal(format!("{event}\n{wrong}{journalled}").as_bytes(), &mut |line, (offset, _)| {
        lines.push((line.journal_sequence, offset));
    });
    let second = event.len() as u64 + 1;
    assert_eq!(lines, [(None, 0), (Some(7), second + wrong.len() as u64)]);
    let faults: Vec<_> = parser.diagnostics().kept().iter().map(|fault| (fault.code, fault.offset)).collect();
    assert_eq!(faults, [(DiagnosticCode::InvalidEvent, second)]);
}

/// Corrections that nobody made, in any order, about any child: no panic, and what ended stays as it ended.
#[test]
fn hostile_corrections_do_no_harm() {
    let occurred = Occurred::default();
    let values = |list: &'static [&'static str]| prop::sample::select(list);
    let correction = (
        prop::sample::select(&OPS[..]),
        values(&["0", "1", "9", "@source"]),
        values(&["p0", "p1", "p2"]),
        values(&["null", "\"running\"", "\"created\"", "\"completed\"", "\"p1\"", "7"]),
        values(&["0", "1", "9007199254740991", "-1", "\"x\""]),
        values(&["\"0000-01-01T00:00:00Z\"", "\"9999-12-31T23:59:59Z\"", "\"2026-05-17T12:10:00Z\"", "1"]),
        values(&["{}", "[]", "{\"state\":\"running\"}", "{\"retired\":[\"p9\"]}", "7"]),
    );
    run(200, &prop::collection::vec(correction, 1..60), |corrections| {
        let mut projector = Projector::new(CONFIG);
        for words in ["c=0 created n=1", "c=0 starting n=3", "c=1 created", "c=1 failed"] {
            projector.apply(&common::projection::event(&format!("{words} e=p1")), None).unwrap();
        }
        for (number, (op, child, epoch, to, integer, time, record)) in corrections.into_iter().enumerate() {
            let words = format!("id=x{number} c={child} e={epoch} reconciliation from=p1");
            let event = common::projection::event(&words).to_json();
            let lifecycle = format!(
                "\"lifecycle\":{{\"op\":\"{op}\",\"at\":\"2026-05-17T12:10:00Z\",\"to\":{to},\"sequence\":{integer},\
                 \"misses\":{integer},\"part\":1,\"parts\":1,\"record\":{record},\"deadlineAt\":{time},\
                 \"threshold\":{time},\"snapshotId\":{to},\"reason\":{to}}},\"epochAdvance\""
            );
            let text = event.replace("\"epochAdvance\"", &lifecycle);
            let event = Event::from_json(text.as_bytes()).unwrap();
            // What was forgotten may begin anew; nothing else ends an end.
            let ended =
                projector.record("s", "1").map(|record| record.state).filter(|state| state.is_terminal());
            if let Ok(applied) = projector.replay(&event, None) {
                occurred.count(&applied);
            }
            let state = projector.record("s", "1").map(|record| record.state);
            prop_assert!(
                state == ended || ended.is_none_or(|_| op == "forget"),
                "{op}: {ended:?}, {state:?}"
            );
            projector.mark_stale(at(100_000));
        }
        Ok(())
    });
    occurred.require(&["applied", "deduplicated", "conflict", "terminal_immutable", "checkpoint_broken"], 20);
}

/// A line does not shorten the time that an authority has to answer.
#[test]
fn a_replayed_loss_is_judged_by_the_open_question() {
    let lost = |story: &mut Story, number: i64, seconds: i64| {
        let event = common::projection::event(&format!("id=l{number} reconciliation from=p1 t={seconds}"));
        let lifecycle = format!(
            r#""lifecycle":{{"op":"lost","from":"running","to":"lost","at":"{}","deadlineAt":"{}"}},"epochAdvance""#,
            at(seconds).to_text(),
            at(1).to_text()
        );
        let text = event.to_json().replace("\"epochAdvance\"", &lifecycle);
        words(&story.projector.replay(&Event::from_json(text.as_bytes()).unwrap(), None).unwrap())
    };
    let mut story = running();
    assert_eq!(lost(&mut story, 1, 5), "deduplicated", "there is no question");
    story.projector.request_reconciliation("s", "c", "asked", at(10));
    assert_eq!(lost(&mut story, 2, 39), "provisional reconciliation_pending");
    assert_eq!(story.record("s", "c"), "running n=2 open=asked");
    assert_eq!(lost(&mut story, 3, 40), "applied reconciliation_failed");
    assert_eq!(story.record("s", "c"), "lost n=2");
}
