//! Contract sections 3, 4 and 7: epochs, snapshots and ids that look like secrets are told apart, live and replayed, and not shown.

mod common;

use agent_lifecycle_core::contract::Event;
use agent_lifecycle_core::json::write;
use agent_lifecycle_core::project::{Config, Projector};
use agent_lifecycle_core::redact::{redact_text, safe_name};
use common::authority::{snapshot, words};
use common::projection::{at, event};

const CONFIG: Config = Config {
    stale_after_ms: 120_000,
    reconcile_deadline_ms: 30_000,
    grace_snapshots: 2,
    hash_keys: (1, 2),
    corrections: true,
};

/// An identity that the rules take for a secret.
fn secret(letter: char) -> String {
    let key = format!("sk-ant-api03-{}", String::from(letter).repeat(24));
    assert_eq!(redact_text(&key), "[REDACTED]");
    key
}

/// A projection and its journal.
struct Program {
    live: Projector,
    journal: Vec<String>,
}

impl Program {
    fn tell(&mut self, told: &str) -> String {
        let text = event(told).to_json();
        let event = Event::from_json(text.as_bytes()).unwrap();
        let result = words(&self.live.apply(&event, None).unwrap());
        self.journal.push(event.to_json());
        result
    }

    fn snapshot(&mut self, told: &str) -> Option<&'static str> {
        let reconciled = self.live.reconcile(&snapshot(told), None).unwrap();
        self.keep();
        reconciled.note.map(agent_lifecycle_core::project::Note::as_str)
    }

    fn keep(&mut self) {
        self.journal.extend(self.live.take_corrections().iter().map(Event::to_json));
    }
}

fn replayed(journal: &[String]) -> Projector {
    let mut projector = Projector::new(Config { corrections: false, ..CONFIG });
    for line in journal {
        projector.replay(&Event::from_json(line.as_bytes()).unwrap(), None).unwrap();
    }
    projector
}

fn states(projector: &Projector) -> Vec<String> {
    projector.records().map(write).collect()
}

fn checkpoint(projector: &Projector) -> Vec<String> {
    projector.checkpoint(at(0)).iter().map(Event::to_json).collect()
}

/// Every way in which an epoch, a snapshot or an event is named in details: an advance by the host, one in the stream, one by a
/// snapshot; snapshots twice; an unannounced epoch; late evidence and notes.
#[test]
fn what_looks_like_a_secret_still_names_one_thing() {
    let [first, second, third, fourth, fifth] = ['a', 'b', 'c', 'd', 'e'].map(secret);
    let mut program = Program { live: Projector::new(CONFIG), journal: Vec::new() };
    assert_eq!(program.tell(&format!("e={first} created")), "applied");
    assert_eq!(program.tell(&format!("e={first} c=gone created")), "applied");
    assert_eq!(program.tell(&format!("e={first} c=gone failed t=1")), "applied");
    assert_eq!(
        program.tell(&format!("e={first} c=gone completed t=2 id={fourth}")),
        "terminal_immutable late_evidence"
    );
    assert_eq!(program.tell(&format!("e={first} diagnostic t=2 id={fifth}")), "applied");
    program.live.advance_epoch("s", &first, &second, at(3)).unwrap();
    program.keep();
    // Only the name of the present epoch announces the next one.
    assert_eq!(
        program.tell(&format!("e={third} reconciliation from={fourth} t=4 id=no")),
        "conflict epoch_conflict"
    );
    assert_eq!(
        program.tell(&format!("e={third} reconciliation from={second} t=5 id=yes")),
        "applied epoch_advanced"
    );
    assert_eq!(program.tell(&format!("e={first} starting t=6")), "out_of_order epoch_retired");
    // Two snapshots, and the first one again.
    assert_eq!(program.snapshot(&format!("t=10 id={first} e={third} c:running")), None);
    assert_eq!(program.snapshot(&format!("t=11 id={second} e={third} c:waiting")), None);
    assert_eq!(program.snapshot(&format!("t=12 id={first} e={third} c:running")), Some("snapshot_repeated"));
    assert_eq!(program.snapshot(&format!("t=13 id={third} e={fourth} advances c:running")), None);
    assert_eq!(program.tell(&format!("e={fifth} activity t=14")), "conflict epoch_conflict");

    let again = replayed(&program.journal);
    assert_eq!(again.epoch("s"), Some(fourth.as_str()));
    assert_eq!(states(&again), states(&program.live));
    assert_eq!(format!("{:?}", again.audit()), format!("{:?}", program.live.audit()));
    assert_eq!(checkpoint(&again), checkpoint(&program.live));
    // From a checkpoint too, the past is known to be past, and a snapshot to be known.
    let mut restored = replayed(&checkpoint(&program.live));
    assert_eq!(states(&restored), states(&program.live));
    for epoch in [&first, &second, &third] {
        let late = restored.apply(&event(&format!("e={epoch} running t=20 id=late")), None).unwrap();
        assert_eq!(words(&late), "out_of_order epoch_retired");
    }
    let known =
        restored.reconcile(&snapshot(&format!("t=30 id={second} e={fourth} c:waiting")), None).unwrap();
    assert_eq!(known.note.map(agent_lifecycle_core::project::Note::as_str), Some("snapshot_repeated"));
    assert_eq!(restored.record("s", "c").unwrap().epoch_conflict.as_deref(), Some(&*safe_name(&fifth)));
    // An event shows the epoch and the id that it has itself, and no other.
    for line in program.journal.iter().chain(&checkpoint(&program.live)) {
        let own = Event::from_json(line.as_bytes()).unwrap();
        for key in [&first, &second, &third, &fourth, &fifth] {
            let is_own = *own.source_epoch == **key || *own.event_id == **key;
            assert!(is_own || !line.contains(key.as_str()), "{key} in {line}");
        }
    }
}

#[test]
fn a_name_is_its_own_name_and_tells_things_apart() {
    let (a, b) = (secret('a'), secret('b'));
    assert_eq!(safe_name("epoch-7"), "epoch-7");
    let name = safe_name(&a);
    assert!(name.starts_with("[REDACTED:") && name.len() == 43, "{name}");
    assert_ne!(name, safe_name(&b));
    assert_eq!(safe_name(&name), name);
    // Only a note that is about epochs and snapshots names them; everywhere else a secret is a secret.
    let text = |kind: &str, details: &str| {
        let line = event(&format!("{kind} id=x")).to_json();
        let (head, _) = line.split_once(r#","capabilities""#).unwrap();
        let line = format!(r#"{head},"details":{details}}}"#);
        write(&Event::from_json(line.as_bytes()).unwrap().details)
    };
    let details = |value: &str| {
        format!(
            r#"{{"epochAdvance":{{"from":"{value}","to":"[REDACTED]"}},"lifecycle":{{"from":"{value}","reason":"[REDACTED]"}}}}"#
        )
    };
    let given = details(&a).replace("[REDACTED]", &a);
    assert_eq!(text("reconciliation", &given), details(&name));
    assert_eq!(text("diagnostic", &given), details("[REDACTED]"));
}
