//! The journal without Node: a replay against `serde_json` validation.
//!
//! `journal <row> <corpus> <rounds>` prints what `benches/rows.mjs` reads: `{"variant","result"}` of the warm-up, then
//! `{"variant","ms"}` for each round. The row is `replay`.

use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

use agent_lifecycle_io::journal::{Durability, Journal, Options, Replayed};
use serde::de::IgnoredAny;

fn main() {
    // cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [_, corpus, rounds] = &arguments[..] else {
        println!("`npm run bench` makes the corpus and runs this: journal replay <corpus> <rounds>");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("journal.jsonl");
    number(Path::new(corpus), &path);
    let options = Options { durability: Durability::Os, ..Options::default() };
    let journal = Journal::open(&path, options).expect("free");
    let entries = replay(&journal);
    println!(r#"{{"variant":"ours","result":{{"entries":{entries}}}}}"#);
    validate(&path);
    for _ in 0..rounds.parse().expect("a number") {
        let started = Instant::now();
        black_box(replay(&journal));
        println!(r#"{{"variant":"ours","ms":{}}}"#, started.elapsed().as_secs_f64() * 1000.0);
        let started = Instant::now();
        black_box(validate(&path));
        println!(r#"{{"variant":"validate","ms":{}}}"#, started.elapsed().as_secs_f64() * 1000.0);
    }
    journal.join();
}

/// The corpus as a journal.
fn number(corpus: &Path, path: &Path) {
    let corpus = std::fs::read_to_string(corpus).expect("the corpus can be read");
    let mut file = BufWriter::new(std::fs::File::create(path).expect("a file"));
    for (line, sequence) in corpus.lines().zip(1_u64..) {
        writeln!(file, "{},\"journalSequence\":{sequence}}}", &line[..line.len() - 1]).expect("room");
    }
    file.flush().expect("room");
}

fn replay(journal: &Journal) -> u64 {
    let (sender, receiver) = mpsc::channel();
    journal.replay(move |replay| sender.send(replay).expect("waited for"));
    let mut replay = receiver.recv().expect("an answer").expect("readable");
    let mut entries = 0;
    while replay
        .step(&mut |replayed| entries += u64::from(matches!(replayed, Replayed::Entry(..))))
        .expect("readable")
    {}
    entries
}

/// Each line is UTF-8 and JSON; nothing is kept of it.
fn validate(path: &Path) -> u64 {
    let content = std::fs::read(path).expect("readable");
    let mut lines = 0;
    for line in content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let text = std::str::from_utf8(line).expect("the corpus is UTF-8");
        serde_json::from_str::<IgnoredAny>(text).expect("the corpus is JSON");
        lines += 1;
    }
    lines
}
