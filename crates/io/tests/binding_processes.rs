//! Several real processes on one store: they claim, write and release, and are killed in between.
//!
//! The test starts this binary again as its workers: the test `worker` does what the environment says.
#![cfg(unix)]

mod bindings;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use agent_lifecycle_core::runtime::binding::{BindingCode, Expected, Mode};
use agent_lifecycle_io::binding_store::Repair;
use bindings::{
    ask, check_history, check_natives, claim, create, folder, get, id, list, native, open_at, store_file,
    value,
};
use serde_json::json;

const PATH: &str = "BINDINGS_TEST_PATH";
const SEED: &str = "BINDINGS_TEST_SEED";
const SESSIONS: [&str; 3] = ["ps_a", "ps_b", "ps_c"];
const NATIVES: [&str; 4] = ["n1", "n2", "n3", "n4"];

/// Started as a worker, this process works until it is killed; as a test it has nothing to do.
#[test]
fn worker() {
    if let (Ok(path), Ok(seed)) = (std::env::var(PATH), std::env::var(SEED)) {
        work(Path::new(&path), seed.parse().expect("a number"));
    }
}

/// Random numbers that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

fn work(path: &Path, seed: u64) {
    let store = open_at(path);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let say = |word: &str| println!("> {word}");
    for at in 0_u32.. {
        let name = SESSIONS[dice.below(SESSIONS.len())];
        let claimed = match ask(|done| store.claim(id(name), true, done)) {
            Ok(claimed) => claimed,
            Err(fault) => {
                say(fault.code.as_str());
                continue;
            }
        };
        say(&format!("claimed {name} {}", claimed.generation));
        let mut revision = claimed.binding.revision;
        for _ in 0..1 + dice.below(4) {
            let next = NATIVES[dice.below(NATIVES.len())];
            if dice.below(3) == 0 {
                let kept = ask(|done| store.reserve(native(name, "codex", next), done));
                say(kept.map_or_else(|fault| fault.code.as_str(), |_| "reserved"));
            }
            let state = ["bound", "error"][dice.below(2)];
            let members = json!({ "state": state, "nativeSessionId": next, "metadata": { "at": at } });
            let expected = Expected { revision, mode: Mode::Rebind, generation: Some(claimed.generation) };
            match ask(|done| store.update(value(name, &members), expected, done)) {
                Ok(binding) => {
                    revision = binding.revision;
                    say("updated");
                }
                Err(fault) if fault.code == BindingCode::NativeTaken => say("binding_native_taken"),
                // Only owners write here, so nobody else can have changed what this process owns.
                Err(fault) => say(&format!("broken {name} {}: {fault}", fault.code.as_str())),
            }
        }
        if dice.below(4) > 0 {
            // The native id is let go of, so that others get it.
            let expected = Expected { revision, mode: Mode::Rebind, generation: Some(claimed.generation) };
            match ask(|done| store.update(value(name, &json!({})), expected, done)) {
                Ok(_) => say("unbound"),
                Err(fault) => say(&format!("broken {name} {}: {fault}", fault.code.as_str())),
            }
        }
        match ask(|done| store.release(id(name), claimed.generation, done)) {
            Ok(true) => say("released"),
            other => say(&format!("broken {name}: {other:?}")),
        }
    }
}

/// A worker whose words arrive as they are said; killed when it is dropped.
struct Worker {
    child: Child,
    words: Receiver<String>,
}

impl Worker {
    fn start(path: &Path, seed: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "worker", "--nocapture"])
            .env(PATH, path)
            .env(SEED, seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this binary runs");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, words) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test runner writes before it, on the same line.
                if let Some(at) = line.find("> ")
                    && tell.send(line[at + 2..].to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Self { child, words }
    }

    /// Kills it, and takes what it said until then.
    fn kill(mut self, said: &mut Vec<String>) {
        self.child.kill().expect("it runs until it is killed");
        self.child.wait().expect("it ended");
        said.extend(self.words.iter());
    }
}

#[test]
fn killed_processes_leave_a_store_in_which_every_promise_holds() {
    let folder = folder();
    let path = store_file(&folder);
    let store = open_at(&path);
    for name in SESSIONS {
        create(&store, name, &json!({})).expect("made");
    }
    let mut said: Vec<String> = Vec::new();
    let mut workers: Vec<Worker> = (1..=4).map(|seed| Worker::start(&path, seed)).collect();
    for round in 0..16_u64 {
        let worker = workers.remove(0);
        // It is killed in the middle of whatever comes after so many words.
        for _ in 0..7 + round {
            said.push(worker.words.recv().expect("it works"));
        }
        workers.push(Worker::start(&path, 100 + round));
        worker.kill(&mut said);
        // In between everything can be read, and is right.
        let bindings = list(&store);
        assert_eq!(bindings.len(), SESSIONS.len());
        check_natives(&bindings);
    }
    for worker in workers {
        worker.kill(&mut said);
    }
    let broken: Vec<&String> = said.iter().filter(|word| word.starts_with("broken")).collect();
    assert!(broken.is_empty(), "{broken:#?}");

    // No generation was given twice.
    let mut claims: Vec<&String> = said.iter().filter(|word| word.starts_with("claimed")).collect();
    let given = claims.len();
    claims.sort();
    claims.dedup();
    assert_eq!(claims.len(), given);

    let found = ask(|done| store.repair(Repair { dry_run: true, release: None }, done)).expect("a report");
    assert!(found.corrupt.is_empty() && found.file_faults.is_empty() && found.owned.is_empty(), "{found:?}");
    assert_eq!(found.stray_native_ids, 0);
    let bindings = list(&store);
    check_natives(&bindings);
    for binding in &bindings {
        check_history(&store, binding);
        let name = binding.content.product_session_id.as_str();
        let before = binding.generation;
        let claimed = ask(|done| store.claim(id(name), true, done)).expect("every owner is dead");
        assert_eq!(claimed.generation, before + 1);
        // What a killed process kept for later is free too.
        assert_eq!(get(&store, name).as_ref(), Some(&claimed.binding));
    }
    for (at, next) in NATIVES.into_iter().enumerate() {
        let name = format!("ps_new{at}");
        let is_bound = bindings.iter().any(|binding| {
            binding.content.native_session_id.as_ref().is_some_and(|native| native.as_str() == next)
        });
        let made = create(&store, &name, &json!({ "state": "bound", "nativeSessionId": next }));
        assert_eq!(made.is_err(), is_bound, "{next}: {made:?}");
    }
    assert!(claim(&store, "ps_none").is_err());

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in &said {
        *counts.entry(word.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    for word in
        ["claimed", "updated", "unbound", "released", "reserved", "binding_owned", "binding_native_taken"]
    {
        assert!(counts.get(word).is_some_and(|times| *times > 0), "{word}: {counts:?}");
    }
}
