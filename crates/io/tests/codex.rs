//! Codex homes as they are on disk: compressed and archived rollouts, copies, and the titles of the index.

use std::fs;
use std::path::Path;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_io::report::Report;
use agent_lifecycle_io::status::{Options, Scan};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

const ROOT: &str = "0197c3d2-0000-7000-8000-000000000001";
const CHILD: &str = "0197c3d2-0000-7000-8000-000000000002";
const NESTED: &str = "0197c3d2-0000-7000-8000-000000000003";
const DAY: &str = "sessions/2026/03/02";

fn line(second: u32, kind: &str, payload: &Value) -> String {
    json!({"timestamp": format!("2026-03-02T08:00:{second:02}.000Z"), "type": kind, "payload": payload})
        .to_string()
        + "\n"
}

fn event(second: u32, kind: &str, mut payload: Value) -> String {
    payload["type"] = kind.into();
    line(second, "event_msg", &payload)
}

/// A thread that called a tool and used tokens in its one turn.
fn rollout(thread: &str, parent: Option<&str>, from: u32) -> String {
    let mut meta = json!({"id": thread, "timestamp": format!("2026-03-02T08:00:{from:02}.000Z"), "cwd": "/home/ada/reef",
        "cli_version": "0.147.0", "source": "cli"});
    if let Some(parent) = parent {
        meta["source"] = json!({"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}});
    }
    let tokens =
        json!({"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 7, "total_tokens": 107});
    let call = json!({"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": format!("call-{thread}")});
    let output = json!({"type": "function_call_output", "call_id": format!("call-{thread}"), "output": "x".repeat(300)});
    let started = 1_772_438_400 + from;
    [
        line(from, "session_meta", &meta),
        event(from, "task_started", json!({"turn_id": format!("t-{thread}"), "started_at": started})),
        line(from + 1, "response_item", &call),
        event(
            from + 2,
            "token_count",
            json!({"info": {"total_token_usage": tokens, "last_token_usage": tokens}}),
        ),
        line(from + 3, "response_item", &output),
        event(from + 4, "task_complete", json!({"turn_id": format!("t-{thread}")})),
    ]
    .concat()
}

fn write(home: &Path, name: &str, bytes: &[u8]) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn zst(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
}

fn options(path: &Path) -> Options {
    Options {
        paths: vec![path.to_owned()],
        home: None,
        state: None,
        since_ms: None,
        active: false,
        now: Moment::parse("2026-03-02T08:01:00Z"),
        content: Content::Titles,
        config: Config::default(),
    }
}

fn status(path: &Path) -> Report {
    let mut scan = Scan::new(options(path));
    while scan.step() {}
    scan.report().clone()
}

/// What a row says that copies could double.
fn short(row: &Row) -> (String, State, u64, Option<u64>, Option<u64>, u64) {
    let input = row.usage.as_ref().map(|usage| usage.input);
    (row.child_id.clone(), row.state, row.turns.count, row.tools.count, input, row.late_evidence)
}

fn expected(thread: &str, state: State) -> (String, State, u64, Option<u64>, Option<u64>, u64) {
    (thread.to_owned(), state, 1, Some(1), Some(60), 0)
}

#[test]
fn one_session_wherever_its_journals_lie_and_however_often() {
    let (root, child) = (rollout(ROOT, None, 0), rollout(CHILD, Some(ROOT), 10));
    let torn = &child[..child.len() - 20];
    let (root_zst, child_zst) = (zst(&root), zst(&child));
    let homes: [&[(&str, &[u8])]; 6] = [
        &[
            ("sessions/2026/03/02/rollout-a.jsonl", root.as_bytes()),
            ("sessions/2026/03/02/rollout-b.jsonl", child.as_bytes()),
        ],
        &[
            ("archived_sessions/rollout-a.jsonl", root.as_bytes()),
            ("archived_sessions/rollout-b.jsonl.zst", &child_zst),
        ],
        &[
            ("sessions/2026/03/02/rollout-a.jsonl.zst", &root_zst),
            ("sessions/2026/03/02/rollout-b.jsonl.zst", &child_zst),
        ],
        // The same threads twice.
        &[
            ("sessions/2026/03/02/rollout-a.jsonl", root.as_bytes()),
            ("archived_sessions/rollout-a.jsonl", root.as_bytes()),
            ("sessions/2026/03/02/rollout-b.jsonl", child.as_bytes()),
            ("sessions/2026/03/02/rollout-b.jsonl.zst", &child_zst),
        ],
        // Only the sub-agent twice, one copy not written to its end.
        &[
            ("sessions/2026/03/02/rollout-a.jsonl", root.as_bytes()),
            ("archived_sessions/rollout-b.jsonl", torn.as_bytes()),
            ("sessions/2026/03/02/rollout-b.jsonl", child.as_bytes()),
        ],
        // Content decides: a compressed journal under a plain name.
        &[("sessions/a.jsonl", &root_zst), ("sessions/b.jsonl", child.as_bytes())],
    ];
    for (at, files) in homes.into_iter().enumerate() {
        let home = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            write(home.path(), name, bytes);
        }
        let report = status(home.path());
        let rows: Vec<_> = report.rows.iter().map(short).collect();
        assert_eq!(rows, [expected(ROOT, State::Waiting), expected(CHILD, State::Completed)], "home {at}");
        assert_eq!(report.rows[1].parent_key.as_ref(), Some(&report.rows[0].key), "home {at}");
        assert_eq!(report.diagnostics.unreadable, [""; 0], "home {at}");
    }
}

#[test]
fn a_sub_agent_of_a_sub_agent_finds_its_session() {
    let home = tempfile::tempdir().unwrap();
    for (thread, parent, from) in [(ROOT, None, 0), (CHILD, Some(ROOT), 10), (NESTED, Some(CHILD), 11)] {
        write(
            home.path(),
            &format!("{DAY}/rollout-{thread}.jsonl"),
            rollout(thread, parent, from).as_bytes(),
        );
    }
    let report = status(home.path());
    let parents: Vec<_> =
        report.rows.iter().map(|row| (row.child_id.as_str(), row.parent_key.as_deref())).collect();
    let (root, child) = (report.rows[0].key.as_str(), report.rows[1].key.as_str());
    assert_eq!(parents, [(ROOT, None), (CHILD, Some(root)), (NESTED, Some(child))]);
    assert!(report.rows.iter().all(|row| row.session_id.as_deref() == Some(ROOT)));
}

#[test]
fn the_last_title_of_the_index_counts_and_a_broken_line_loses_none() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &format!("{DAY}/rollout-a.jsonl"), rollout(ROOT, None, 0).as_bytes());
    write(home.path(), "archived_sessions/rollout-b.jsonl", rollout(CHILD, None, 0).as_bytes());
    write(home.path(), "archived_sessions/rollout-c.jsonl", rollout(NESTED, None, 0).as_bytes());
    let entry =
        |id: &str, name: &str| json!({"id": id, "thread_name": name, "updated_at": "2026-03-02T08:00:00Z"});
    let index = format!(
        "{}\n{{\"id\":\n[]\n{}\n{}",
        entry(ROOT, "Count fish"),
        entry(ROOT, "Count the reef fish"),
        entry(CHILD, "Chart the reef")
    );
    write(home.path(), "session_index.jsonl", index.as_bytes());
    let mut titles: Vec<_> =
        status(&home.path().join("sessions")).rows.into_iter().map(|row| row.title).collect();
    titles.extend(status(&home.path().join("archived_sessions")).rows.into_iter().map(|row| row.title));
    titles.sort();
    assert_eq!(titles, [None, Some("Chart the reef".to_owned()), Some("Count the reef fish".to_owned())]);
}

#[test]
fn a_compressed_journal_that_is_cut_or_broken_gives_what_came_before_and_says_so() {
    // More than one block of 128 KiB, so that there is something before the cut.
    let mut text = rollout(ROOT, None, 0);
    let mut noise = 1_u64;
    for at in 0..3000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at);
        text +=
            &event(50, "agent_message", json!({"message": format!("{noise:x}{:x}", noise.rotate_left(13))}));
    }
    let whole = zst(&text);
    let cut = &whole[..whole.len() - 9];
    let mut broken = whole.clone();
    let late = broken.len() - 2000;
    broken[late..late + 1000].fill(0xff);
    for (what, bytes) in [("cut", cut), ("broken", &broken[..])] {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), &format!("{DAY}/rollout-a.jsonl.zst"), bytes);
        let report = status(home.path());
        assert_eq!(
            report.rows.iter().map(short).collect::<Vec<_>>(),
            [expected(ROOT, State::Waiting)],
            "{what}"
        );
        let [unreadable] = &report.diagnostics.unreadable[..] else {
            panic!("{what}: {:?}", report.diagnostics)
        };
        assert!(unreadable.contains("rollout-a.jsonl.zst: compressed: "), "{what}: {unreadable}");
    }
}

#[test]
fn every_cut_of_a_small_compressed_journal_gives_a_row_or_a_diagnostic() {
    let whole = zst(&rollout(ROOT, None, 0));
    for cut in 4..whole.len() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), "rollout-a.jsonl.zst", &whole[..cut]);
        let report = status(home.path());
        assert!(!report.diagnostics.unreadable.is_empty(), "{cut} of {} bytes: {report:?}", whole.len());
    }
}

#[test]
fn several_frames_and_skipped_ones_are_one_journal_and_noise_is_no_panic() {
    let text = rollout(ROOT, None, 0);
    let (first, second) = text.split_at(text.len() / 2);
    let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "rollout-a.jsonl.zst", &[zst(first), skipped.clone(), zst(second), skipped].concat());
    let report = status(home.path());
    assert_eq!(report.rows.iter().map(short).collect::<Vec<_>>(), [expected(ROOT, State::Waiting)]);
    assert!(report.diagnostics.unreadable.is_empty(), "{:?}", report.diagnostics);
    let whole = zst(&text);
    for at in 4..whole.len() {
        let mut noisy = whole.clone();
        noisy[at] ^= 0x5a;
        write(home.path(), "rollout-a.jsonl.zst", &noisy);
        // Whatever it holds, something is said of it.
        let report = status(home.path());
        let counts = &report.diagnostics;
        assert!(
            !report.rows.is_empty() || !counts.unreadable.is_empty() || !counts.counts.is_empty(),
            "{at}: {report:?}"
        );
    }
}

#[test]
fn both_folders_of_the_default_place_are_read() {
    if std::env::var_os("CODEX_HOME").is_some() {
        println!("skipped: CODEX_HOME is set");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &format!(".codex/{DAY}/rollout-a.jsonl"), rollout(ROOT, None, 0).as_bytes());
    write(home.path(), ".codex/archived_sessions/rollout-b.jsonl.zst", &zst(&rollout(CHILD, None, 0)));
    let mut scan =
        Scan::new(Options { paths: Vec::new(), home: Some(home.path().to_owned()), ..options(home.path()) });
    while scan.step() {}
    let mut shown: Vec<_> = scan.report().rows.iter().map(|row| row.source.clone()).collect();
    shown.retain(|source| source.starts_with("codex/"));
    shown.sort();
    assert_eq!(shown, [format!("codex/{ROOT}"), format!("codex/{CHILD}")]);
}
