//! A monitor over real files, with a real thread.

mod monitoring;

use std::fs;
use std::time::{Duration, Instant};

use agent_lifecycle_core::contract::{Capability, State, WaitingReason};
use agent_lifecycle_io::monitor::{Monitor, Notice, Options};
use serde_json::json;

use monitoring::{PATIENCE, append, call, done, drop_hook, journal, line, now, open, options, prompt, wait};

#[test]
fn sessions_appear_and_go_on_in_batches_of_changes() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    append(&journal(folder, "one"), &prompt("one", "p1"));
    let (monitor, notices) = open(options(folder));
    let rows = monitor.rows();
    assert_eq!((rows.len(), rows[0].state), (1, State::Running));

    // Half a line says nothing; the rest does.
    let second = prompt("two", "p2");
    append(&journal(folder, "two"), &second[..second.len() / 2]);
    append(&journal(folder, "one"), &done("one", "m1"));
    wait(&monitor, "the turn ends", |rows| rows[0].waiting_reason == Some(WaitingReason::Prompt));
    assert_eq!(monitor.rows().len(), 1);
    append(&journal(folder, "two"), &second[second.len() / 2..]);
    wait(&monitor, "the second appears", |rows| rows.len() == 2);

    // What was told adds up to the rows.
    let mut told: Vec<String> = vec!["claude-code/one".to_owned()];
    let mut states = Vec::new();
    let until = Instant::now() + PATIENCE;
    while !(told.contains(&"claude-code/two".to_owned()) && states.contains(&State::Waiting)) {
        let left = until.saturating_duration_since(Instant::now());
        if let Notice::Changes(changes) = notices.recv_timeout(left).expect("changes") {
            assert!(!changes.reset);
            told.extend(changes.upserted.iter().map(|row| row.key.clone()));
            states.extend(changes.upserted.iter().map(|row| row.state));
        }
    }
    let explained = monitor.explain("claude-code/one").unwrap();
    assert_eq!(explained.evidence.last().unwrap().effect, "waiting prompt");
    monitor.close();
    monitor.close();
}

#[test]
fn old_files_are_hidden_until_they_are_written() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let old = journal(folder, "old");
    append(&old, &prompt("old", "p1"));
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(72);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    let (monitor, _notices) = open(options(folder));
    assert_eq!((monitor.rows().len(), monitor.hidden()), (0, 1));
    append(&old, &done("old", "m1"));
    let rows = wait(&monitor, "it is read", |rows| rows.len() == 1);
    assert_eq!((rows[0].turns.count, monitor.hidden()), (1, 0));
}

#[test]
fn a_restart_goes_on_from_the_journal_and_doubles_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let with_journal = || Options { journal: Some(folder.join("monitor.jsonl")), ..options(folder) };
    let path = journal(folder, "s");
    append(&path, &(prompt("s", "p1") + &call("s", "t1")));
    let (first, _notices) = open(with_journal());
    wait(&first, "it runs", |rows| rows.first().is_some_and(|row| row.tools.open.len() == 1));
    // A line that was half written when it stopped.
    let rest = call("s", "t2");
    append(&path, &rest[..10]);
    first.close();
    append(&path, &(rest[10..].to_owned() + &done("s", "m1")));
    let (second, _notices) = open(with_journal());
    let rows = second.rows();
    assert_eq!((rows[0].tools.count, rows[0].turns.count, rows[0].late_evidence), (Some(2), 1, 0));
    assert_eq!(rows[0].waiting_reason, Some(WaitingReason::Prompt));
    second.close();
    // A third time nothing is news.
    let before = fs::read_to_string(folder.join("monitor.jsonl")).unwrap().lines().count();
    let (third, _notices) = open(with_journal());
    assert_eq!(json!(third.rows()), json!(rows));
    third.close();
    assert_eq!(fs::read_to_string(folder.join("monitor.jsonl")).unwrap().lines().count(), before);
}

#[test]
fn a_hook_tells_of_a_permission_wait_and_its_call_ends_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let path = journal(folder, "s");
    append(&path, &(prompt("s", "p1") + &call("s", "t1")));
    let (monitor, _notices) = open(options(folder));
    assert_eq!(monitor.rows()[0].capabilities.permission_waits, Capability::Unknown);
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash"});
    let file =
        json!({"spoolVersion": 1, "provider": "claude-code", "receivedAt": now().to_text(), "event": event});
    drop_hook(folder, 1, &file);
    let rows = wait(&monitor, "it waits", |rows| rows[0].state == State::Waiting);
    assert_eq!(rows[0].waiting_reason, Some(WaitingReason::Permission));
    assert_eq!(rows[0].capabilities.permission_waits, Capability::Known);
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]});
    append(&path, &line("s", "r", json!({"type": "user", "message": result})));
    wait(&monitor, "it runs again", |rows| rows[0].state == State::Running);
}

#[test]
fn a_file_that_is_replaced_and_one_that_is_nothing_are_borne() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let path = journal(folder, "s");
    append(&path, &prompt("s", "p1"));
    append(&folder.join("projects/-w/notes.jsonl"), "{\"hello\":1}\n");
    let (monitor, _notices) = open(options(folder));
    let text = prompt("s", "p1") + &done("s", "m1");
    fs::write(path.with_extension("tmp"), &text).unwrap();
    fs::rename(path.with_extension("tmp"), &path).unwrap();
    let rows = wait(&monitor, "the turn ends", |rows| rows[0].waiting_reason == Some(WaitingReason::Prompt));
    assert_eq!((rows.len(), rows[0].turns.count), (1, 1));
    append(&path, &prompt("s", "p3"));
    wait(&monitor, "the next turn", |rows| rows[0].turns.count == 2);
}

#[test]
fn a_hook_that_comes_late_says_nothing_of_what_is_over() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let path = journal(folder, "s");
    let before = now().plus_millis(-1000);
    append(&path, &(prompt("s", "p1") + &call("s", "t1") + &done("s", "m1")));
    let (monitor, _notices) = open(options(folder));
    for (number, time) in [before.to_text(), "1970-01-01T00:00:00Z".to_owned()].into_iter().enumerate() {
        let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash"});
        let file = json!({"spoolVersion": 1, "provider": "claude-code", "receivedAt": time, "event": event});
        drop_hook(folder, number, &file);
    }
    wait(&monitor, "the hooks are heard", |rows| rows[0].capabilities.permission_waits == Capability::Known);
    // The next prompt comes after both were read.
    append(&path, &prompt("s", "p2"));
    let rows = wait(&monitor, "the next turn", |rows| rows[0].turns.count == 2);
    assert_eq!((rows[0].state, rows[0].waits.len()), (State::Running, 0));
    // One from a clock that is ahead counts as of now, so that the call's result ends it.
    append(&path, &call("s", "t2"));
    wait(&monitor, "the call", |rows| rows[0].tools.open.len() == 1);
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_use_id": "t2"});
    let file = json!({"spoolVersion": 1, "provider": "claude-code", "receivedAt": "2099-01-01T00:00:00Z", "event": event});
    drop_hook(folder, 9, &file);
    let rows = wait(&monitor, "it waits", |rows| rows[0].state == State::Waiting);
    assert!(rows[0].freshness.at <= now());
}

#[test]
fn a_journal_belongs_to_one_monitor() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let with_journal = || Options { journal: Some(folder.join("monitor.jsonl")), ..options(folder) };
    // As another process holds it.
    let other = fs::File::create(folder.join("monitor.jsonl.monitor")).unwrap();
    other.lock().unwrap();
    let fault = Monitor::open(with_journal(), |_| {}).unwrap_err();
    assert!(format!("{fault:?}").contains("single writer"), "{fault:?}");
    drop(other);
    let (monitor, _notices) = open(with_journal());
    monitor.close();
}

#[test]
fn a_monitor_of_nothing_is_ready_at_once() {
    let place = tempfile::tempdir().unwrap();
    let (monitor, _notices) = open(Options { folders: Vec::new(), spool: None, ..options(place.path()) });
    assert!(monitor.rows().is_empty());
}
