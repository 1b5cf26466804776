//! What a projection costs. A binary of its own, because it counts every allocation.

mod common;

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::project::{Alive, Config, Process, Projector};
use common::event_text;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Bytes that a projection of `children` holds more after `events` than before, for each child.
fn bytes_per_child(children: usize, events: &[String]) -> usize {
    let before = ALLOCATED.current_usage();
    let mut projector = Projector::new(Config::default());
    for child in 0..children {
        let id = format!("\"c{child:05}\"");
        for text in events {
            let text = text.replace(r#""c""#, &id);
            let event = Event::from_json(text.as_bytes()).unwrap();
            projector.apply(&event, None).unwrap();
        }
    }
    assert_eq!(projector.records().count(), children);
    (ALLOCATED.current_usage() - before) / children
}

/// An event with this kind or state, sequence or none, and id.
fn text(state: &str, sequence: Option<u64>, id: &str, more: &[(&str, &str)]) -> String {
    let kind = match state {
        "created" | "heartbeat" | "diagnostic" => state,
        "failed" => "terminal",
        _ => "state_changed",
    };
    let (kind, state) = match kind {
        "heartbeat" | "diagnostic" => (format!("{kind:?}"), String::new()),
        _ => (format!("{kind:?}"), format!("{state:?}")),
    };
    let (id, sequence) = (format!("{id:?}"), sequence.map(|number| number.to_string()).unwrap_or_default());
    let mut changes: Vec<(&str, &str)> =
        vec![("kind", &kind), ("state", &state), ("eventId", &id), ("sequence", &sequence)];
    changes.extend(more);
    event_text(&changes)
}

#[test]
fn records_are_bounded() {
    // The rules of redaction are compiled once for the process.
    let _ = agent_lifecycle_core::redact::redact_excerpt(b"password=open sesame", 512, true);
    let created = || text("created", Some(0), "created", &[]);
    // Eight thousand and some: every list that doubles has just done so.
    let one = bytes_per_child(8200, &[created()]);
    let unsequenced = bytes_per_child(8200, &[text("created", None, "created", &[])]);
    println!("one event: {one} bytes, unsequenced {unsequenced}");
    // The text: source, root, and the child's id twice.
    let texts = 1 + 6 + 6 + 6;
    assert!(one.max(unsequenced) < 700 + texts, "{one} or {unsequenced} bytes with one event");

    // Windows of both kinds, full: holes between all sequences, and more ids than are remembered.
    let sequences = (0..1000).map(|number| text("heartbeat", Some(2 + 2 * number), "sequenced", &[]));
    let ids = (0..3000).map(|number| {
        text("heartbeat", None, &format!("id{number}"), &[("observedAt", "\"2026-05-18T00:00:00Z\"")])
    });
    let windows: Vec<String> = std::iter::once(created()).chain(sequences).chain(ids).collect();
    let full = bytes_per_child(20, &windows);
    println!("full windows: {full} bytes");
    assert!(full < 24 * 1024, "{full} bytes with full windows");

    // Notes and late evidence, each with its longest texts: 16 entries of each kind.
    let long = "x".repeat(512);
    let activity = format!("{long:?}");
    let long_id = |number: usize| format!("{number:0>512}");
    let notes = (0..100).map(|number| text("diagnostic", None, &long_id(number), &[("activity", &activity)]));
    let late = (200..300).map(|number| text("heartbeat", None, &long_id(number), &[("activity", &activity)]));
    let end = text("failed", Some(1), "failed", &[]);
    let rings: Vec<String> = std::iter::once(created()).chain(notes).chain([end]).chain(late).collect();
    let rings = bytes_per_child(20, &rings) - one;
    let texts = 16 * (512 + 512) + 16 * 512;
    // Besides the texts: the entries of the rings, and the ids that were seen.
    println!("full rings: {rings} bytes, {texts} of them texts");
    assert!(rings < texts + 8 * 1024, "{rings} bytes with full rings");
    a_child_that_was_spared_is_watched_once();
}

/// In the one test, because tests of one process may run at the same time.
fn a_child_that_was_spared_is_watched_once() {
    let mut projector = Projector::new(Config::default());
    let mut take = |text: &str| {
        let event = Event::from_json(text.as_bytes()).unwrap();
        projector.apply(&event, None).unwrap();
    };
    for (number, state) in ["created", "starting", "waiting"].into_iter().enumerate() {
        let more: &[_] = if state == "waiting" { &[("waitingReason", "\"prompt\"")] } else { &[] };
        take(&text(state, Some(number as u64), state, more));
    }
    projector.set_process("s", "c", Some(Process { pid: 1, alive: Alive::Yes }));
    assert_eq!(projector.mark_stale(Moment::parse("2026-05-19T00:00:00Z").unwrap()), []);
    let before = ALLOCATED.current_usage();
    for number in 10..4010 {
        let beat = text("heartbeat", Some(number), "beat", &[]);
        projector.apply(&Event::from_json(beat.as_bytes()).unwrap(), None).unwrap();
    }
    let grown = ALLOCATED.current_usage().saturating_sub(before);
    println!("spared: {grown} bytes more");
    assert!(grown < 8 * 1024, "{grown} bytes for 4000 heartbeats");
}
