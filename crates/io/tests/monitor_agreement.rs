//! What a monitor says of hooks, publishers, nested sub-agents and its own journal, and that one reading says the same.

mod monitoring;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{State, WaitingReason};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Alive, Config};
use agent_lifecycle_fixtures::Fixture;
use agent_lifecycle_io::monitor::{Monitor, Notice, Options};
use agent_lifecycle_io::status::{self, Scan};
use serde_json::{Value, json};

use monitoring::{PATIENCE, append, call, done, drop_hook, journal, now, open, options, prompt, wait};

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

/// What one reading of a file says.
fn read_once(file: &Path) -> Vec<Row> {
    let mut scan = Scan::new(status::Options {
        paths: vec![file.to_owned()],
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

#[test]
#[cfg(unix)]
fn one_reading_of_a_publisher_that_died_in_an_open_turn_says_that_nobody_can_be_asked() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("projects/mine-1.jsonl");
    // Without the end of its turn.
    let open_turn: String = published(dead_pid()).split_inclusive('\n').take(4).collect();
    append(&file, &open_turn);
    let said = |rows: &[Row]| {
        let [row] = rows else { panic!("one row") };
        (row.state, row.evidence.process_alive, row.freshness.stale, row.freshness.reconcile)
    };
    assert_eq!(said(&read_once(&file)), (State::Running, Alive::No, false, Some("unavailable")));
    // A monitor goes on until the deadline, and then concludes.
    let (monitor, _notices) = open(options(place.path()));
    assert_eq!(said(&monitor.rows()), (State::Running, Alive::No, false, Some("pending")));
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

#[test]
#[cfg(unix)]
fn what_was_not_active_for_long_is_shown_where_its_process_lives() {
    if std::env::var_os("CLAUDE_CONFIG_DIR").is_some() {
        println!("skipped: CLAUDE_CONFIG_DIR is set");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(72);
    let files = [
        (".claude/projects/-w/lives-on.jsonl", prompt("lives-on", "p1")),
        (".claude/projects/-w/is-over.jsonl", prompt("is-over", "p1")),
        ("journals/mine-1.jsonl", published(dead_pid())),
        ("journals/mine-2.jsonl", published(std::process::id()).replace("mine/1", "mine/2")),
    ];
    for (file, text) in &files {
        append(&folder.join(file), text);
        fs::File::options().write(true).open(folder.join(file)).unwrap().set_modified(long_ago).unwrap();
    }
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let claim = json!({"pid": std::process::id(), "sessionId": "lives-on", "startedAt": u64::try_from(started).unwrap()});
    fs::create_dir_all(folder.join(".claude/sessions")).unwrap();
    fs::write(folder.join(".claude/sessions/lives-on.json"), claim.to_string()).unwrap();
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
    let keys = |rows: &[Row]| {
        let mut keys: Vec<_> = rows.iter().map(|row| row.key.replace("#1", "")).collect();
        keys.sort();
        keys
    };
    let expected = ["claude-code/lives-on", "mine/2"];
    assert_eq!((keys(&scan.report().rows), scan.report().hidden), (expected.map(str::to_owned).to_vec(), 2));
    let folders = vec![folder.join(".claude/projects"), folder.join("journals")];
    let home = Some(folder.to_owned());
    let (monitor, _notices) = open(Options { folders, home, processes: true, ..options(folder) });
    assert_eq!((keys(&monitor.rows()), monitor.hidden()), (expected.map(str::to_owned).to_vec(), 2));
}
