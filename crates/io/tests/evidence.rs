//! Processes that providers' files name, with real processes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use agent_lifecycle_io::evidence::processes;
use agent_lifecycle_io::process::Identity;

fn claim(home: &Path, pid: i64, session: &str, started_at: u128) {
    let folder = home.join(".claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(r#"{{"pid":{pid},"sessionId":"{session}","startedAt":{started_at}}}"#);
    fs::write(folder.join(format!("{session}.json")), text).unwrap();
}

#[test]
fn a_process_is_dead_on_proof_only() {
    if std::env::var_os("CLAUDE_CONFIG_DIR").is_some() {
        println!("skipped: CLAUDE_CONFIG_DIR leads elsewhere");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let mut living = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    claim(home.path(), living.id().into(), "living", now);
    // S8: the pid is at work, but what has it started later than the record says.
    claim(home.path(), living.id().into(), "taken", now - 3_600_000);
    claim(home.path(), gone.id().into(), "gone", now);
    claim(home.path(), 0, "zero", now);
    claim(home.path(), -1, "minus", now);
    fs::write(home.path().join(".claude/sessions/broken.json"), r#"{"pid":1,"#).unwrap();
    let found = processes(Some(home.path()), &Identity::own());
    let alive = |session: &str| found.get(&("claude-code", session.to_owned())).map(|process| process.alive);
    assert_eq!(alive("living"), Some(Some(true)));
    assert_eq!(alive("taken"), Some(Some(false)));
    assert_eq!(alive("gone"), Some(Some(false)));
    assert_eq!(found.len(), 3);
    drop(living.stdin.take());
    living.wait().unwrap();
}
