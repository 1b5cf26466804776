//! The stages from bytes to projection without Node, against `serde_json` validation.
//!
//! `stages <row> <corpus> <rounds>` runs the variants of the row once to warm up and once a round, in turn, and prints JSON
//! lines for `benches/rows.mjs`: `{"variant","result"}` where a variant comes to something, then `{"variant","ms"}` each round.

use std::hint::black_box;
use std::time::Instant;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::decode::JsonlParser;
use agent_lifecycle_core::json;
use agent_lifecycle_core::pipeline::Pipeline;
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::project::{Config, Counts, Projector};
use agent_lifecycle_core::providers::{Told, recognize};
use serde::de::IgnoredAny;

/// What a host reads at a time.
const CHUNK: usize = 64 * 1024;

/// What a stage comes to, as JSON.
type Stage = fn(&[u8]) -> String;

fn main() {
    // cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [row, file, rounds] = &arguments[..] else {
        println!("`npm run bench` makes the corpus and runs this: stages <row> <corpus> <rounds>");
        return;
    };
    let ours: Stage = match row.as_str() {
        "projection" => project,
        "parser" => parse,
        "session" => session,
        _ => panic!("the rows are projection, parser and session"),
    };
    let corpus = std::fs::read(file).expect("the corpus can be read");
    let rounds: usize = rounds.parse().expect("the rounds are a number");
    println!(r#"{{"variant":"ours","result":{}}}"#, ours(&corpus));
    validate(&corpus);
    for _ in 0..rounds {
        for (variant, stage) in [("ours", ours), ("validate", validate)] {
            let started = Instant::now();
            black_box(stage(black_box(&corpus)));
            println!(r#"{{"variant":"{variant}","ms":{}}}"#, started.elapsed().as_secs_f64() * 1000.0);
        }
    }
}

/// Each line is UTF-8 and JSON; nothing is kept of it.
fn validate(corpus: &[u8]) -> String {
    let mut lines = 0;
    let mut rest = corpus;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let text = simdutf8::basic::from_utf8(&rest[..end]).expect("the corpus is UTF-8");
        serde_json::from_str::<IgnoredAny>(text).expect("the corpus is JSON");
        lines += 1;
        rest = &rest[end + 1..];
    }
    format!(r#"{{"events":{lines}}}"#)
}

fn parse(corpus: &[u8]) -> String {
    let mut parser = JsonlParser::default();
    let mut events = 0;
    for chunk in corpus.chunks(CHUNK) {
        parser.push(chunk, &mut |event, _| {
            black_box(event);
            events += 1;
        });
    }
    format!(r#"{{"events":{events}}}"#)
}

fn project(corpus: &[u8]) -> String {
    let mut parser = JsonlParser::default();
    let mut projector = Projector::new(Config::default());
    let mut counts = Counts::default();
    for chunk in corpus.chunks(CHUNK) {
        parser.push(chunk, &mut |event, _| {
            counts.add(projector.apply(&event, None).ok().map(|applied| applied.status));
        });
    }
    json::write(&counts)
}

/// A journal through the whole pipeline, projected after each chunk as somebody who follows it would.
fn session(corpus: &[u8]) -> String {
    let (provider, recognized) = recognize(&corpus[..CHUNK.min(corpus.len())]).expect("a journal");
    let mut pipeline = Pipeline::new(Config::default(), Content::Titles);
    let journal = pipeline.add_journal("session.jsonl", provider, recognized, Told::default());
    // Behind all times of the corpus.
    let now = Moment::from_unix_millis(1_793_491_200_000);
    for chunk in corpus.chunks(CHUNK) {
        pipeline.push(journal, chunk);
        pipeline.settle(now, Some(now), &mut |_, outcome| {
            black_box(outcome);
        });
        pipeline.projector_mut().mark_stale(now);
    }
    let rows = rows(pipeline.projector().records(), &BesideAll::new());
    let (turns, tools) = (rows[0].turns.count, rows[0].tools.count);
    format!(r#"{{"rows":{},"turns":{turns},"tools":{}}}"#, rows.len(), json::write(&tools))
}
