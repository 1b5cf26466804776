//! What the tests of a monitor share: options, files that grow, and rows that are waited for.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::Config;
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_io::monitor::{Monitor, Notice, Options};
use serde_json::{Value, json};

/// How long anything is waited for.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn options(folder: &Path) -> Options {
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

pub fn open(options: Options) -> (Monitor, Receiver<Notice>) {
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
pub fn wait(monitor: &Monitor, what: &str, is_so: impl Fn(&[Row]) -> bool) -> Vec<Row> {
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

pub fn now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Moment::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}

pub fn line(session: &str, uuid: &str, mut record: Value) -> String {
    record["sessionId"] = session.into();
    record["uuid"] = uuid.into();
    record["timestamp"] = now().to_text().into();
    record.to_string() + "\n"
}

pub fn prompt(session: &str, id: &str) -> String {
    let message = json!({"role": "user", "content": "Go."});
    line(session, id, json!({"type": "user", "promptId": id, "message": message}))
}

pub fn call(session: &str, id: &str) -> String {
    let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let message = json!({"id": format!("m-{id}"), "content": [block]});
    line(session, &format!("u-{id}"), json!({"type": "assistant", "message": message}))
}

pub fn done(session: &str, id: &str) -> String {
    let message = json!({"id": id, "stop_reason": "end_turn", "content": []});
    line(session, &format!("u-{id}"), json!({"type": "assistant", "message": message}))
}

pub fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// As a hook leaves a file: whole, or not at all.
pub fn drop_hook(folder: &Path, number: usize, file: &Value) {
    let path = folder.join(format!("spool/{number}.tmp"));
    append(&path, &file.to_string());
    fs::rename(&path, path.with_extension("json")).unwrap();
}

pub fn journal(folder: &Path, session: &str) -> PathBuf {
    folder.join("projects/-w").join(format!("{session}.jsonl"))
}
