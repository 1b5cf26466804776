//! A monitor over real files, with a real thread.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Capability, Moment, State, WaitingReason};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Alive, Config};
use agent_lifecycle_fixtures::Fixture;
use agent_lifecycle_io::monitor::{Monitor, Notice, Options};
use agent_lifecycle_io::status::{self, Scan};
use serde_json::{Value, json};

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

fn options(folder: &Path) -> Options {
    Options {
        folders: vec![folder.join("projects")],
        files: Vec::new(),
        spool: Some(folder.join("spool")),
        home: None,
        processes: false,
        active_within: Duration::from_hours(24),
        content: Content::Titles,
        config: Config { corrections: true, ..Config::default() },
        asks: false,
        authorities: Vec::new(),
        journal: None,
        batch: Duration::from_millis(16),
    }
}

fn open(options: Options) -> (Monitor, Receiver<Notice>) {
    let (sender, notices) = channel();
    let sender = Mutex::new(sender);
    let monitor = Monitor::open(options, move |notice| {
        let _ = sender.lock().unwrap().send(notice);
    });
    let monitor = monitor.unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match notices.recv_timeout(left).expect("ready") {
            Notice::Ready => return (monitor, notices),
            Notice::Changes(changes) => assert!(changes.reset, "all there is comes at once"),
            Notice::Diagnostic { code, message, .. } => println!("{code}: {message}"),
            Notice::Questions(_) => {}
        }
    }
}

/// Waits until the rows are as `is_so` wants.
fn wait(monitor: &Monitor, what: &str, is_so: impl Fn(&[Row]) -> bool) -> Vec<Row> {
    let until = Instant::now() + PATIENCE;
    loop {
        let rows = monitor.rows();
        if is_so(&rows) {
            return rows;
        }
        assert!(Instant::now() < until, "{what}: {rows:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Moment::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}

fn line(session: &str, uuid: &str, mut record: Value) -> String {
    record["sessionId"] = session.into();
    record["uuid"] = uuid.into();
    record["timestamp"] = now().to_text().into();
    record.to_string() + "\n"
}

fn prompt(session: &str, id: &str) -> String {
    let message = json!({"role": "user", "content": "Go."});
    line(session, id, json!({"type": "user", "promptId": id, "message": message}))
}

fn call(session: &str, id: &str) -> String {
    let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let message = json!({"id": format!("m-{id}"), "content": [block]});
    line(session, &format!("u-{id}"), json!({"type": "assistant", "message": message}))
}

fn done(session: &str, id: &str) -> String {
    let message = json!({"id": id, "stop_reason": "end_turn", "content": []});
    line(session, &format!("u-{id}"), json!({"type": "assistant", "message": message}))
}

fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// As a hook leaves a file: whole, or not at all.
fn drop_hook(folder: &Path, number: usize, file: &Value) {
    let path = folder.join(format!("spool/{number}.tmp"));
    append(&path, &file.to_string());
    fs::rename(&path, path.with_extension("json")).unwrap();
}

fn journal(folder: &Path, session: &str) -> PathBuf {
    folder.join("projects/-w").join(format!("{session}.jsonl"))
}

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

/// The journal of a publisher whose process is `pid`: its session waits for a prompt after a turn that was a success.
fn published(pid: u32) -> String {
    let event = |id: &str, child: &str, rest: Value| {
        let mut event = json!({"schemaVersion": 1, "eventId": id, "source": "mine/1", "sourceEpoch": "e",
            "childId": child, "lineage": {"rootChildId": child, "attempt": 1, "external": false},
            "observedAt": now().to_text()});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event.to_string() + "\n"
    };
    let turn = json!({"agent": {"kind": "turn.started", "turnId": "t"}});
    let done = json!({"agent": {"kind": "agent.done", "outcome": "success"}, "turnId": "t"});
    event("owner", "@source", json!({"kind": "diagnostic", "details": {"owner": {"pid": pid}}}))
        + &event("1", "1", json!({"kind": "created", "state": "created"}))
        + &event("2", "1", json!({"kind": "state_changed", "state": "starting"}))
        + &event("3", "1", json!({"kind": "state_changed", "state": "running", "details": turn}))
        + &event(
            "4",
            "1",
            json!({"kind": "state_changed", "state": "waiting", "waitingReason": "prompt", "details": done}),
        )
}

/// The id of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
#[cfg(unix)]
fn the_process_of_a_publisher_is_known_with_its_first_row() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    append(&folder.join("projects/mine-1.jsonl"), &published(std::process::id()));
    let (monitor, notices) = open(options(folder));
    assert_eq!(monitor.rows()[0].evidence.pid, Some(std::process::id()));
    // A row that comes later has it in the changes that bring it.
    append(&folder.join("projects/mine-2.jsonl"), &published(dead_pid()).replace("mine/1", "mine/2"));
    loop {
        let Notice::Changes(changes) = notices.recv_timeout(PATIENCE).expect("changes") else { continue };
        let Some(row) = changes.upserted.iter().find(|row| row.source == "mine/2") else { continue };
        assert_eq!((row.evidence.process_alive, row.state), (Alive::No, State::Completed));
        break;
    }
}

#[test]
fn a_hook_that_is_found_before_the_journal_of_its_session_is_not_lost() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    append(&journal(folder, "s"), &(prompt("s", "p1") + &call("s", "t1")));
    let hook = |session: &str| {
        let event =
            json!({"hook_event_name": "PermissionRequest", "session_id": session, "tool_use_id": "t1"});
        json!({"spoolVersion": 1, "provider": "claude-code", "receivedAt": now().to_text(), "event": event})
    };
    drop_hook(folder, 1, &hook("s"));
    let (monitor, _notices) = open(options(folder));
    let permission = Some(WaitingReason::Permission);
    assert_eq!(monitor.rows()[0].waiting_reason, permission, "with the first rows");
    drop_hook(folder, 2, &hook("later"));
    append(&journal(folder, "later"), &(prompt("later", "p1") + &call("later", "t1")));
    wait(&monitor, "both wait", |rows| {
        rows.len() == 2 && rows.iter().all(|row| row.waiting_reason == permission)
    });
}

#[test]
#[cfg(unix)]
fn a_status_says_of_hooks_and_publishers_what_a_monitor_says_and_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    append(&folder.join(".claude/projects/-w/s.jsonl"), &(prompt("s", "p1") + &call("s", "t1")));
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_use_id": "t1"});
    let file =
        json!({"spoolVersion": 1, "provider": "claude-code", "receivedAt": now().to_text(), "event": event});
    fs::create_dir_all(folder.join("spool")).unwrap();
    fs::write(folder.join("spool/1.json"), file.to_string()).unwrap();
    append(&folder.join("journals/mine-1.jsonl"), &published(dead_pid()));
    append(&folder.join("journals/mine-2.jsonl"), &published(std::process::id()).replace("mine/1", "mine/2"));
    let before = listing(folder);
    if std::env::var_os("CLAUDE_CONFIG_DIR").is_some() {
        println!("skipped: CLAUDE_CONFIG_DIR is set");
        return;
    }
    let mut scan = Scan::new(status::Options {
        paths: Vec::new(),
        home: Some(folder.to_owned()),
        state: Some(folder.to_owned()),
        since_ms: Some(86_400_000),
        active: false,
        now: None,
        content: Content::Titles,
        config: Config::default(),
    });
    while scan.step() {}
    let shown = |rows: &[Row]| {
        let mut shown: Vec<_> = rows
            .iter()
            .map(|row| {
                let reason = row.waiting_reason.map(WaitingReason::as_str);
                (row.key.clone(), row.state.as_str(), reason, row.evidence.process_alive)
            })
            .collect();
        shown.sort_by(|left, right| left.0.cmp(&right.0));
        shown
    };
    let expected = [
        ("claude-code/s".to_owned(), "waiting", Some("permission"), Alive::Unknown),
        ("mine/1".to_owned(), "completed", None, Alive::No),
        ("mine/2".to_owned(), "waiting", Some("prompt"), Alive::Yes),
    ];
    let keyed = |rows: &[Row]| {
        shown(rows)
            .into_iter()
            .map(|(key, state, reason, alive)| (key.replace("#1", ""), state, reason, alive))
            .collect::<Vec<_>>()
    };
    assert_eq!(keyed(&scan.report().rows), expected);
    assert_eq!(listing(folder), before, "nothing is written");
    let folders = vec![folder.join(".claude/projects"), folder.join("journals")];
    let (monitor, _notices) = open(Options { folders, ..options(folder) });
    assert_eq!(keyed(&monitor.rows()), expected);
}

/// Every file below a folder, with its length.
fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(listing(&entry.path()));
        } else {
            found.push((entry.path(), entry.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_damaged_journal_is_told_once_with_its_place_and_nothing_valid_is_lost() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    append(&journal(folder, "s"), &prompt("s", "p1"));
    let own = folder.join("monitor.jsonl");
    let with_journal = || Options { journal: Some(own.clone()), ..options(folder) };
    let (monitor, _notices) = open(with_journal());
    monitor.close();
    drop(monitor);
    let whole = fs::read_to_string(&own).unwrap();
    let (first, rest) = whole.split_at(whole.find('\n').unwrap() + 1);
    fs::write(&own, format!("{first}nonsense\n{rest}")).unwrap();

    let faults = std::sync::Arc::new(Mutex::new(Vec::new()));
    let heard = std::sync::Arc::clone(&faults);
    let monitor = Monitor::open(with_journal(), move |notice| {
        if let Notice::Diagnostic { code, path, message } = notice {
            heard.lock().unwrap().push((code, path, message));
        }
    });
    let monitor = monitor.unwrap();
    for (number, told) in [(2, 2), (3, 3)] {
        append(
            &journal(folder, "s"),
            &(done("s", &format!("m{number}")) + &prompt("s", &format!("p{number}"))),
        );
        wait(&monitor, "the next turn", |rows| rows.first().is_some_and(|row| row.turns.count == told));
    }
    let explained = monitor.explain("claude-code/s").unwrap();
    assert_eq!(explained.evidence[0].journal, Some(own.display().to_string()), "read from its own journal");
    // A repair beside it lets it go on, with what it could not write.
    let repairing =
        agent_lifecycle_io::journal::Journal::open(&own, agent_lifecycle_io::journal::Options::default());
    assert!(repairing.is_err(), "one instance for each path in a process");
    assert_eq!(faults.lock().unwrap().len(), 1, "{faults:?}");
    let (code, path, message) = faults.lock().unwrap()[0].clone();
    assert_eq!((code, path), ("journal_integrity", Some(own.display().to_string())));
    assert!(message.contains(&format!("malformed at byte {}", first.len())), "{message}");
    assert!(message.contains("journal repair"), "{message}");
    // As the command does it, in another process: the bad line goes.
    fs::write(&own, &whole).unwrap();
    let until = Instant::now() + PATIENCE;
    while fs::read_to_string(&own).unwrap().matches("\"turnId\":\"p3\"").count() == 0 {
        assert!(Instant::now() < until, "what waited is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    monitor.close();
    drop(monitor);
    let (monitor, _notices) = open(with_journal());
    assert_eq!(monitor.rows()[0].turns.count, 3);
}

/// Key, parent, title and model of each row.
fn whose(rows: &[Row]) -> Vec<[Option<String>; 4]> {
    let of =
        |row: &Row| [Some(row.key.clone()), row.parent_key.clone(), row.title.clone(), row.model.clone()];
    rows.iter().map(of).collect()
}

#[test]
fn nested_sub_agents_have_the_parents_of_one_reading_in_whatever_order_their_files_grow() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for name in ["claude-code/nested-to-depth-5", "codex/spawned-children"] {
        let fixture = Fixture::read(&fixtures.join(name)).unwrap();
        let whole = tempfile::tempdir().unwrap();
        let path =
            |place: &Path, journal: usize| place.join("projects").join(&fixture.journals[journal].path);
        let write = |place: &Path, journal: usize, part: &[u8]| {
            let (from, to) = (fixture.folder.join(&fixture.journals[journal].path), path(place, journal));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let meta = from.with_extension("meta.json");
            if meta.exists() {
                fs::copy(meta, to.with_extension("meta.json")).unwrap();
            }
            append(&to, std::str::from_utf8(part).unwrap());
        };
        let count = fixture.journals.len();
        for journal in 0..count {
            write(whole.path(), journal, &fixture.journals[journal].bytes);
        }
        let expected = whose(&status(whole.path()));
        assert!(expected.iter().any(|[_, parent, ..]| parent.as_ref().is_some_and(|key| key.contains('#'))));
        let mut had_guess = false;
        for order in [(0..count).collect::<Vec<_>>(), (0..count).rev().collect()] {
            let place = tempfile::tempdir().unwrap();
            let (monitor, _notices) = open(options(place.path()));
            for &journal in &order {
                let bytes = &fixture.journals[journal].bytes;
                let cut = bytes.len() / 2;
                let cut = (cut..=bytes.len()).find(|at| std::str::from_utf8(&bytes[..*at]).is_ok()).unwrap();
                write(place.path(), journal, &bytes[..cut]);
                write(place.path(), journal, &bytes[cut..]);
                let file = path(place.path(), journal).display().to_string();
                let rows = wait(&monitor, "the journal is read", |rows| {
                    rows.iter().any(|row| row.transcript.as_ref() == Some(&file))
                });
                had_guess |= rows.iter().any(|row| row.diagnostics.contains_key("parent_unknown"));
            }
            let rows = wait(&monitor, &format!("{name} {order:?}"), |rows| whose(rows) == expected);
            assert!(rows.iter().all(|row| !row.diagnostics.contains_key("parent_unknown")));
        }
        // An agent that names its parent itself has only its session to find.
        assert!(had_guess || name.starts_with("codex/"), "{name}: a launch is read after its journal");
    }
}

/// The rows of one reading.
fn status(place: &Path) -> Vec<Row> {
    let mut scan = Scan::new(status::Options {
        paths: vec![place.to_owned()],
        home: None,
        state: None,
        since_ms: None,
        active: false,
        now: None,
        content: Content::Titles,
        config: Config::default(),
    });
    while scan.step() {}
    scan.report().rows.clone()
}
