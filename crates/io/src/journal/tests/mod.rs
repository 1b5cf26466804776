//! What the journal promises: over the simulated file system with every crash, and on the real one with its threads.

mod crashes;
mod damage;
mod fences;
mod memory;
mod rotation;
mod threads;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_lifecycle_core::contract::{Event, Moment};

use super::engine::Engine;
use super::fault::Fault;
use super::line::{Draft, Entry};
use super::registry::Unsynced;
use super::{Options, Projection};
use crate::process::{Identity, Seen};
use crate::storage::System;
use crate::storage::sim::Sim;

const JOURNAL: &str = "/d/j";

/// A machine of one boot, whose clock moves when somebody sleeps.
struct Fake {
    slept: Mutex<Duration>,
    randoms: Mutex<u64>,
    boot: u64,
}

impl Fake {
    fn new(boot: u64) -> Arc<Self> {
        // Numbers differ between boots, as random ones do.
        Arc::new(Self { slept: Mutex::default(), randoms: Mutex::new(boot << 32), boot })
    }
}

impl System for Fake {
    fn now(&self) -> i64 {
        1_800_000_000_000
            + i64::try_from(self.boot * 1_000_000).expect("few boots")
            + i64::try_from(self.elapsed().as_millis()).expect("a short test")
    }
    fn elapsed(&self) -> Duration {
        *self.slept.lock().expect("no panic")
    }
    fn sleep(&self, time: Duration) {
        *self.slept.lock().expect("no panic") += time;
    }
    fn random(&self) -> u64 {
        let mut randoms = self.randoms.lock().expect("no panic");
        *randoms += 1;
        *randoms
    }
    fn identity(&self) -> Identity {
        Identity {
            pid: 10,
            host_name: Some("host".to_owned()),
            boot_id: Some(format!("boot {}", self.boot)),
            pid_namespace: None,
            time_namespace: None,
            process_start_time: None,
        }
    }
    fn look(&self, _pid: i32) -> Seen {
        Seen::Present { started: None, zombie: false }
    }
}

fn sim() -> Sim {
    Sim::with(&["/", "/d"])
}

fn engine(sim: &Sim, boot: u64, options: Options) -> Engine {
    Engine::new(Arc::new(sim.clone()), Fake::new(boot), Path::new(JOURNAL), options, Unsynced::default())
}

/// The text of an event of `child`.
fn event_text(child: &str, id: u64) -> String {
    format!(
        r#"{{"schemaVersion":1,"eventId":"{child}-{id}","source":"s","sourceEpoch":"1","childId":"{child}","lineage":{{"rootChildId":"{child}","attempt":0,"external":false}},"kind":"heartbeat","observedAt":"2026-01-01T00:00:00Z","capabilities":{{"history":"unknown","heartbeat":"unknown","snapshot":"unknown","cancel":"unknown","terminalCause":"unknown"}}}}"#
    )
}

fn draft(child: &str, id: u64) -> Draft {
    let text = event_text(child, id);
    Draft::new(&Event::from_json(text.as_bytes()).expect("an event"), None)
}

/// The line of an event with a number.
fn line(child: &str, id: u64, sequence: u64) -> String {
    draft(child, id).numbered(sequence) + "\n"
}

/// Appends a group as the journal's thread does.
fn append(engine: &mut Engine, drafts: &[Draft]) -> Result<u64, Fault> {
    let drafts: Vec<&Draft> = drafts.iter().collect();
    engine.under_lock(|engine, held| {
        let mut opened = engine.open_to_append()?;
        engine.append(held, &mut opened, &drafts)
    })
}

fn text(sim: &Sim) -> String {
    String::from_utf8(sim.content(JOURNAL).unwrap_or_default()).expect("text")
}

/// A projection that keeps the ids of events; its checkpoint is one event for each.
#[derive(Default)]
struct Ids(Vec<String>);

impl Projection for Ids {
    fn take(&mut self, entry: &Entry<'_>) {
        let id = entry.event.event_id.to_string();
        if entry.event.source == "s" && !self.0.contains(&id) {
            self.0.push(id);
        }
    }

    fn checkpoint(&self, _at: Moment) -> Vec<Event<'static>> {
        self.0
            .iter()
            .map(|id| {
                let (child, number) = id.rsplit_once('-').expect("an id of these tests");
                let text = event_text(child, number.parse().expect("a number"));
                Event::from_json(text.as_bytes()).expect("an event").to_static()
            })
            .collect()
    }
}
