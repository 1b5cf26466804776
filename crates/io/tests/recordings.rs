//! Real journals show what `expected.json` says that they show. It was written by reading them; it is the arbiter.
//!
//! The recordings are beside the repository on some machines only; where they are absent this says so and passes.

use std::fs;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_io::status::{Options, Scan};
use serde_json::Value;

fn recordings() -> Option<PathBuf> {
    let named = std::env::var_os("AGENT_LIFECYCLE_RECORDINGS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let folder = named.unwrap_or_else(beside);
    if folder.join("expected.json").is_file() {
        return Some(folder);
    }
    println!("skipped: no recordings in {}", folder.display());
    None
}

/// Every file that holds a journal below `folder`.
fn journals(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(journals(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push(path);
        }
    }
    found
}

/// The time of the last record; where none has a time, the present.
fn last_time(folder: &Path) -> Option<Moment> {
    let times = journals(folder).into_iter().flat_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.into_iter().filter_map(|record| Moment::parse(record["timestamp"].as_str()?))
    });
    times.max()
}

/// The rows of `path` as `status --now` shows them.
fn status(path: &Path, now: Option<Moment>) -> Vec<Row> {
    let options = Options {
        paths: vec![path.to_owned()],
        home: None,
        state: None,
        since_ms: None,
        active: false,
        now,
        content: agent_lifecycle_core::bridge::Content::Titles,
        config: agent_lifecycle_core::project::Config::default(),
    };
    let mut scan = Scan::new(options);
    while scan.step() {}
    let report = scan.report();
    assert!(report.evidence, "{}", path.display());
    assert!(report.diagnostics.counts.is_empty(), "{}: {:?}", path.display(), report.diagnostics);
    serde_json::to_value(report).unwrap();
    report.rows.clone()
}

fn outcomes(row: &Row) -> Vec<Value> {
    row.turns.recent.iter().map(|turn| serde_json::to_value(turn.outcome).unwrap()).collect()
}

/// `is_old`: the journals have no times, and the files are older than the deadline.
fn check(name: &str, rows: &[Row], is_old: bool, expected: &Value) {
    let roots: Vec<&Row> = rows.iter().filter(|row| row.parent_key.is_none()).collect();
    let [root] = roots[..] else { panic!("{name}: {} roots", roots.len()) };
    assert_eq!(serde_json::to_value(root.state).unwrap(), expected["root"]["state"], "{name}: state");
    let reason = serde_json::to_value(root.waiting_reason).unwrap();
    assert_eq!(reason, expected["root"]["waitingReason"], "{name}: waitingReason");
    assert_eq!(Value::from(outcomes(root)), expected["turns"], "{name}: turns");
    assert_eq!(root.turns.count, root.turns.recent.len() as u64, "{name}");
    assert_eq!(Value::from(root.tools.count), expected["tools"], "{name}: tools");
    // A child that never ran has not ended either.
    let never_ran =
        expected["children"].as_array().unwrap().iter().filter(|child| child.get("state").is_none());
    let never_ran = never_ran.count();
    assert_eq!((root.tools.open.len(), root.live_children), (0, never_ran), "{name}");
    assert_eq!(root.freshness.stale, is_old, "{name}");
    let children: Vec<&Row> = rows.iter().filter(|row| row.parent_key.is_some()).collect();
    let expected = expected["children"].as_array().unwrap();
    assert_eq!(children.len(), expected.len(), "{name}: children");
    for (child, expected) in children.into_iter().zip(expected) {
        assert_eq!(child.parent_key.as_ref(), Some(&root.key), "{name}");
        match expected.get("state") {
            Some(state) => {
                assert_eq!(serde_json::to_value(child.state).unwrap(), *state, "{name}: {}", child.key);
            }
            // Nothing ran yet, nothing ended.
            None => assert_eq!(child.state, State::Created, "{name}: {}", child.key),
        }
        if let Some(tools) = expected.get("tools") {
            assert_eq!(Value::from(child.tools.count), *tools, "{name}: tools of {}", child.key);
        }
        assert_eq!((child.tools.open.len(), child.late_evidence), (0, 0), "{name}: {}", child.key);
    }
}

/// Checks every recording of `provider`.
fn check_all(provider: &str) {
    let Some(recordings) = recordings() else { return };
    let expected: Value =
        serde_json::from_slice(&fs::read(recordings.join("expected.json")).unwrap()).unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(recordings.join(provider)).unwrap() {
        let folder = entry.unwrap().path();
        let name = format!("{provider}/{}", folder.file_name().unwrap().to_string_lossy());
        let expected = expected.get(&name).unwrap_or_else(|| panic!("{name} is not in expected.json"));
        let now = last_time(&folder);
        check(&name, &status(&folder, now), now.is_none(), expected);
        let root = folder.join("root.jsonl");
        if root.is_file() {
            check(&name, &status(&root, now), now.is_none(), expected);
        }
        for cut in expected.get("atPrefix").and_then(Value::as_array).into_iter().flatten() {
            at_prefix(&name, &folder, now, cut);
        }
        seen += 1;
    }
    let of_provider = |key: &&String| key.starts_with(&format!("{provider}/"));
    assert_eq!(seen, expected.as_object().unwrap().keys().filter(of_provider).count());
}

#[test]
fn every_claude_code_recording_shows_what_is_expected() {
    check_all("claude-code");
}

#[test]
fn every_codex_recording_shows_what_is_expected() {
    check_all("codex");
}

/// The root's journal cut, those of the sub-agents as they are.
fn at_prefix(name: &str, folder: &Path, now: Option<Moment>, cut: &Value) {
    let lines = usize::try_from(cut["rootLines"].as_u64().unwrap()).unwrap();
    let place = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(folder.join("root.jsonl")).unwrap();
    let text: String = text.split_inclusive('\n').take(lines).collect();
    fs::write(place.path().join("root.jsonl"), text).unwrap();
    for file in journals(&folder.join("subagents")) {
        let copy = place.path().join(file.strip_prefix(folder).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&file, copy).unwrap();
    }
    let rows = status(place.path(), now);
    assert_eq!(Value::from(rows[0].live_children), cut["liveChildren"], "{name} after {lines} lines");
    let live = rows[1..].iter().filter(|row| !row.state.is_terminal()).count();
    assert_eq!((live, rows.len()), (rows[0].live_children, 4), "{name} after {lines} lines");
}
