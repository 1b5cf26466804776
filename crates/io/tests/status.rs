//! `status` on folders made for it: what is found, what is shown, what is said about the rest.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Event, Moment, State, WaitingReason};
use agent_lifecycle_core::project::rows::Row;
use agent_lifecycle_core::project::{Config, Projector};
use agent_lifecycle_io::report::Report;
use agent_lifecycle_io::status::{Options, Scan};
use tempfile::TempDir;

/// 2026-03-02T08:00:00Z
const START: u64 = 1_772_438_400;
const DAY_MS: i64 = 86_400_000;

fn at(second: u64) -> Moment {
    Moment::from_unix_millis(i64::try_from(1000 * (START + second)).unwrap())
}

fn options(paths: &[&Path]) -> Options {
    Options {
        paths: paths.iter().map(|path| path.to_path_buf()).collect(),
        home: None,
        state: None,
        since_ms: None,
        active: false,
        now: Some(at(10)),
        content: Content::Titles,
        config: Config::default(),
    }
}

fn default_places(home: &Path) -> Options {
    Options { home: Some(home.to_owned()), since_ms: Some(DAY_MS), ..options(&[]) }
}

/// Whether this machine's own settings lead away from the home folder that a test gives.
fn is_led_away() -> bool {
    let led = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if led {
        println!("skipped: CLAUDE_CONFIG_DIR, CODEX_HOME or XDG_DATA_HOME is set");
    }
    led
}

fn status(options: Options) -> Report {
    let mut scan = Scan::new(options);
    while scan.step() {}
    scan.report().clone()
}

fn user(session: &str, second: u64) -> String {
    format!(
        "{{\"type\":\"user\",\"sessionId\":\"{session}\",\"uuid\":\"u-{session}-{second}\",\"promptId\":\"p{second}\",\"timestamp\":\"{}\",\"message\":{{\"role\":\"user\",\"content\":\"Go.\"}}}}\n",
        at(second).to_text()
    )
}

fn assistant(session: &str, second: u64, block: &str, stop: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"sessionId\":\"{session}\",\"uuid\":\"a-{session}-{second}\",\"timestamp\":\"{}\",\"message\":{{\"id\":\"m{second}\",\"role\":\"assistant\",\"content\":[{block}],\"stop_reason\":\"{stop}\"}}}}\n",
        at(second).to_text()
    )
}

const TEXT: &str = r#"{"type":"text","text":"Done."}"#;
const TOOL: &str = r#"{"type":"tool_use","id":"t1","name":"Bash","input":{}}"#;
const LAUNCH: &str =
    r#"{"type":"tool_use","id":"launch-1","name":"Agent","input":{"description":"Look","prompt":"Look."}}"#;

/// A session that waits for a prompt.
fn idle(session: &str, second: u64) -> String {
    user(session, second) + &assistant(session, second + 1, TEXT, "end_turn")
}

/// A session with a tool that runs.
fn working(session: &str, second: u64) -> String {
    user(session, second) + &assistant(session, second + 1, TOOL, "tool_use")
}

/// Writes a file as of `second`, with the folders above it.
fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>, second: u64) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let modified = UNIX_EPOCH + Duration::from_secs(START + second);
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().to_owned();
    (place, path)
}

fn sessions(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.child_id.as_str()).collect()
}

#[test]
fn a_named_file_is_shown_whole_however_old() {
    let (_place, path) = place();
    let file = path.join("a.jsonl");
    write(&file, idle("a", 0), 0);
    let now = Some(at(400 * 86_400));
    let report = status(Options { now, since_ms: Some(DAY_MS), ..options(&[&file]) });
    assert_eq!((sessions(&report.rows), report.hidden, report.evidence), (vec!["a"], 0, true));
    let row = &report.rows[0];
    assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Prompt)));
    assert_eq!((row.freshness.stale, row.transcript.as_deref()), (true, file.to_str()));
    assert!(report.diagnostics.counts.is_empty());
}

#[test]
fn a_folder_is_read_to_its_depth_and_a_path_that_is_not_there_is_told() {
    let (_place, path) = place();
    write(path.join("one/a.jsonl"), idle("a", 0), 1);
    write(path.join("two/deep/b.jsonl"), working("b", 2), 3);
    write(path.join("two/deep/b.txt"), working("c", 2), 3);
    let report = status(options(&[&path]));
    assert_eq!(sessions(&report.rows), ["b", "a"]);
    // What is not there is told by name and hides nothing else.
    let missing = path.join("missing.jsonl");
    let report = status(options(&[&missing, &path]));
    assert_eq!(sessions(&report.rows), ["b", "a"]);
    let [told] = &report.diagnostics.missing[..] else { panic!("one path is missing") };
    assert!(told.contains("missing.jsonl: "), "{told}");
}

#[test]
fn the_default_places_show_the_last_day_and_count_the_rest() {
    if is_led_away() {
        return;
    }
    let (_place, home) = place();
    let projects = home.join(".claude/projects/-w");
    write(projects.join("old.jsonl"), idle("old", 0), 1);
    // Touched today, with nothing in it that is.
    write(projects.join("touched.jsonl"), idle("touched", 0), 100_000);
    write(projects.join("new.jsonl"), idle("new", 99_000), 99_001);
    let mut options = Options { now: Some(at(100_000)), ..default_places(&home) };
    let report = status(options.clone());
    assert_eq!((sessions(&report.rows), report.hidden, report.evidence), (vec!["new"], 2, true));
    options.since_ms = None;
    let report = status(options);
    assert_eq!((report.rows.len(), report.hidden), (3, 0));
}

#[test]
fn a_file_that_is_met_in_several_ways_is_read_once() {
    let (_place, path) = place();
    let file = path.join("a.jsonl");
    write(&file, working("a", 0), 1);
    let other_name = path.join(".").join("a.jsonl");
    let mut paths = vec![file.clone(), path.clone(), other_name];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, path.join("link")).unwrap();
        paths.push(path.join("link"));
    }
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let report = status(options(&paths));
    assert_eq!(sessions(&report.rows), ["a"]);
    assert_eq!((report.rows[0].tools.count, report.rows[0].turns.count), (Some(1), 1));
    assert!(report.diagnostics.counts.is_empty(), "{:?}", report.diagnostics);
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_shown() {
    use std::os::unix::fs::PermissionsExt;
    let (_place, path) = place();
    write(path.join("a.jsonl"), idle("a", 0), 1);
    let closed = path.join("closed.jsonl");
    write(&closed, idle("b", 0), 1);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&closed).is_ok() {
        return println!("skipped: this user may read everything");
    }
    let report = status(options(&[&path]));
    assert_eq!(sessions(&report.rows), ["a"]);
    let [why] = &report.diagnostics.unreadable[..] else { panic!("{:?}", report.diagnostics) };
    assert!(why.contains("closed.jsonl"), "{why}");
}

#[test]
#[cfg(unix)]
fn a_loop_of_links_ends() {
    let (_place, path) = place();
    write(path.join("deep/a.jsonl"), idle("a", 0), 1);
    std::os::unix::fs::symlink(&path, path.join("deep/again")).unwrap();
    std::os::unix::fs::symlink(path.join("gone.jsonl"), path.join("broken.jsonl")).unwrap();
    let report = status(options(&[&path]));
    assert_eq!(sessions(&report.rows), ["a"]);
}

#[test]
fn d10_an_empty_file_and_a_file_of_one_lf_are_no_error_and_no_evidence() {
    let (_place, path) = place();
    for (name, text) in [("empty.jsonl", ""), ("lf.jsonl", "\n"), ("blank.jsonl", "\u{feff}\r\n \n")] {
        let file = path.join(name);
        write(&file, text, 1);
        let report = status(options(&[&file]));
        assert!(report.rows.is_empty() && !report.evidence, "{name}");
        assert!(report.diagnostics.counts.is_empty(), "{name}: {:?}", report.diagnostics);
        assert!(report.diagnostics.unreadable.is_empty(), "{name}");
    }
}

#[test]
fn no_place_is_no_evidence_and_an_empty_place_is_evidence_of_nothing() {
    if is_led_away() {
        return;
    }
    let (_place, home) = place();
    let report = status(default_places(&home));
    assert!(report.rows.is_empty() && !report.evidence && report.hidden == 0);
    assert!(!status(Options { home: None, ..default_places(&home) }).evidence);
    fs::create_dir_all(home.join(".claude/projects/-w")).unwrap();
    let report = status(default_places(&home));
    assert!(report.rows.is_empty() && report.evidence);
}

#[test]
fn foreign_files_are_counted_and_never_believed() {
    let (_place, path) = place();
    write(path.join("a.jsonl"), idle("a", 0), 1);
    write(path.join("foreign.jsonl"), "{\"hello\":1}\n{\"state\":\"running\"}\n", 1);
    write(path.join("binary.jsonl"), [0xff_u8; 4096], 1);
    write(path.join("s/workflows/run/journal.jsonl"), "{\"type\":\"started\",\"agentId\":\"x\"}\n", 1);
    let report = status(options(&[&path]));
    assert_eq!(sessions(&report.rows), ["a"]);
    assert_eq!(report.diagnostics.counts.get("unrecognized_file"), Some(&3));
    let report = status(options(&[&path.join("foreign.jsonl")]));
    assert!(report.rows.is_empty() && !report.evidence);
}

#[test]
fn a_store_that_cannot_be_read_is_named() {
    if is_led_away() {
        return;
    }
    let (_place, home) = place();
    let store = home.join(".local/share/opencode/opencode.db");
    write(store.clone(), "SQLite format 3\0", 1);
    write(home.join(".gemini/tmp/a/chats/session.json"), "{}", 1);
    let found = [home.join(".gemini/tmp"), store.clone()].map(|path| path.display().to_string());
    let report = status(default_places(&home));
    assert_eq!(report.diagnostics.unsupported, found);
    assert!(report.rows.is_empty() && !report.evidence);
    // Also where it was named, or is in a named folder; a file that only has the name of a database is none.
    write(store.with_file_name("other.db"), "SQLite", 1);
    for named in [store.clone(), store.parent().unwrap().to_owned()] {
        let report = status(options(&[&named]));
        assert_eq!(report.diagnostics.unsupported, [store.display().to_string()], "{}", named.display());
    }
}

#[test]
fn a_large_folder_is_read_newest_first_one_session_at_a_time() {
    let (_place, path) = place();
    for second in 0..300_u64 {
        // Names say nothing about age.
        let name = format!("{:03}", second * 7 % 300);
        write(path.join(format!("{name}.jsonl")), idle(&name, second), second);
    }
    let mut scan = Scan::new(options(&[&path]));
    assert_eq!(scan.progress(), (0, 300));
    for read in 1..=300_u64 {
        assert!(scan.step());
        assert_eq!(scan.progress(), (usize::try_from(read).unwrap(), 300));
        let rows = &scan.report().rows;
        assert_eq!(rows.len() as u64, read);
        assert_eq!(rows.last().unwrap().started_at, at(300 - read));
    }
    assert!(!scan.step());
}

#[test]
fn a_meta_file_binds_the_journal_beside_it_to_its_launch() {
    let (_place, path) = place();
    write(path.join("s.jsonl"), user("s", 0) + &assistant("s", 1, LAUNCH, "tool_use"), 1);
    // Nothing else binds it: another prompt, and no result yet. The id is of the form that a name gives.
    let own = assistant("s", 3, TOOL, "tool_use")
        .replace("\"sessionId\"", "\"isSidechain\":true,\"agentId\":\"aname-0f3c\",\"sessionId\"");
    let journal = path.join("s/subagents/agent-aname-0f3c.jsonl");
    write(&journal, own, 3);
    let unbound = status(options(&[&path]));
    assert_eq!(sessions(&unbound.rows), ["s", "launch-1", "aname-0f3c"]);
    write(journal.with_extension("meta.json"), r#"{"agentType":"Explore","toolUseId":"launch-1"}"#, 3);
    for paths in [path.clone(), path.join("s.jsonl")] {
        let report = status(options(&[&paths]));
        assert_eq!(sessions(&report.rows), ["s", "launch-1"]);
        let [root, child] = &report.rows[..] else { panic!() };
        assert_eq!((root.live_children, root.tools.count), (1, Some(0)));
        assert_eq!(
            (child.state, child.tools.count, child.title.as_deref()),
            (State::Running, Some(1), Some("Look"))
        );
        assert_eq!(child.transcript.as_deref(), journal.to_str());
    }
}

#[test]
fn d6_sub_agents_bind_in_all_three_places_and_what_is_no_transcript_is_none() {
    let (_place, path) = place();
    let of = |agent: &str, line: String| {
        line.replace("\"sessionId\"", &format!("\"isSidechain\":true,\"agentId\":\"{agent}\",\"sessionId\""))
    };
    let launch = |second: u64, id: &str| assistant("s", second, &LAUNCH.replace("launch-1", id), "tool_use");
    let result = |second: u64, id: &str, agent: &str| {
        let block = format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]"#);
        let details =
            format!(r#""toolUseResult":{{"status":"async_launched","agentId":"{agent}"}},"sessionId""#);
        user("s", second).replace("\"Go.\"", &block).replace("\"sessionId\"", &details)
    };
    // Among the session's own lines, in the project folder, and in the session's folder; a workflow's one level deeper.
    let root = [
        user("s", 0),
        launch(1, "l-own"),
        launch(2, "l-folder"),
        launch(3, "l-below"),
        of("aname-0f3c", assistant("s", 4, TOOL, "tool_use")),
        result(5, "l-own", "aname-0f3c"),
        result(6, "l-folder", "afolder-1"),
    ];
    write(path.join("s.jsonl"), root.concat(), 6);
    write(path.join("agent-afolder-1.jsonl"), of("afolder-1", assistant("s", 7, TOOL, "tool_use")), 7);
    write(path.join("s/subagents/agent-abelow.jsonl"), of("abelow", assistant("s", 8, TOOL, "tool_use")), 8);
    write(path.join("s/subagents/agent-abelow.meta.json"), r#"{"toolUseId":"l-below","spawnDepth":1}"#, 8);
    let workflow = path.join("s/subagents/workflows/wf_1");
    write(workflow.join("agent-aflow.jsonl"), of("aflow", assistant("s", 9, TOOL, "tool_use")), 9);
    write(workflow.join("agent-aflow.meta.json"), r#"{"agentType":"workflow-subagent"}"#, 9);
    write(
        workflow.join("journal.jsonl"),
        "{\"type\":\"started\",\"key\":\"v2:1\",\"agentId\":\"aflow\"}\n",
        9,
    );
    // Of another session in the same folder.
    let other = of("aother", assistant("other", 9, TOOL, "tool_use"));
    write(path.join("agent-aother.jsonl"), other, 9);
    for (paths, others) in [(path.join("s.jsonl"), 0), (path.clone(), 1)] {
        let report = status(options(&[&paths]));
        let (mine, rest): (Vec<&Row>, Vec<&Row>) =
            report.rows.iter().partition(|row| row.session_id.as_deref() == Some("s"));
        let mut shown: Vec<&str> = mine.iter().map(|row| row.child_id.as_str()).collect();
        shown.sort_unstable();
        assert_eq!(shown, ["aflow", "l-below", "l-folder", "l-own", "s"]);
        assert_eq!(rest.len(), others);
        let [root, below @ ..] = &mine[..] else { panic!() };
        assert_eq!((root.child_id.as_str(), root.live_children, root.tools.count), ("s", 4, Some(0)));
        for row in below {
            assert_eq!(row.parent_key.as_ref(), Some(&root.key), "{}", row.child_id);
            assert_eq!((row.state, row.tools.count), (State::Running, Some(1)), "{}", row.child_id);
        }
        assert_eq!(report.diagnostics.counts.get("unrecognized_file"), Some(&1));
    }
}

#[test]
fn active_keeps_what_works_or_waits_for_somebody_and_what_stands_above_it() {
    let (_place, path) = place();
    write(path.join("idle.jsonl"), idle("idle", 0), 1);
    write(path.join("working.jsonl"), working("working", 2), 3);
    let launched = user("above", 4) + &assistant("above", 5, LAUNCH, "tool_use");
    write(path.join("above.jsonl"), launched + &assistant("above", 6, TEXT, "end_turn"), 6);
    let report = status(Options { active: true, ..options(&[&path]) });
    assert_eq!(sessions(&report.rows), ["above", "launch-1", "working"]);
    assert_eq!(report.rows[0].waiting_reason, Some(WaitingReason::Child));
    assert_eq!(report.hidden, 1);
}

#[test]
fn a_session_in_another_journal_is_left_to_its_own() {
    let (_place, path) = place();
    write(path.join("a.jsonl"), idle("a", 0) + &user("b", 5), 9);
    write(path.join("b.jsonl"), idle("b", 5), 9);
    let report = status(options(&[&path]));
    let mut shown = sessions(&report.rows);
    shown.sort_unstable();
    assert_eq!(shown, ["a", "b"]);
    assert!(report.rows.iter().all(|row| row.waiting_reason == Some(WaitingReason::Prompt)));
    // Alone, the journal tells of both.
    assert_eq!(status(options(&[&path.join("a.jsonl")])).rows.len(), 2);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_beside_a_journal_holds_nothing_up() {
    let (_place, path) = place();
    write(path.join("agent-x.jsonl"), working("a", 0), 1);
    let made = std::process::Command::new("mkfifo").arg(path.join("agent-x.meta.json")).status();
    assert!(made.is_ok_and(|made| made.success()), "mkfifo");
    assert_eq!(status(options(&[&path])).rows.len(), 1);
}

#[test]
fn the_corrections_of_a_journal_are_made_again_and_those_of_a_plain_stream_are_notes() {
    let (_place, path) = place();
    let at = |second: i64| Moment::from_unix_millis(1_772_438_400_000).plus_millis(second * 1000);
    let event = |id: &str, second: i64, rest: &str| {
        let lineage = r#"{"rootChildId":"c","attempt":1,"external":false}"#;
        let time = at(second).to_text();
        let text = format!(
            r#"{{"schemaVersion":1,"eventId":"{id}","source":"s","sourceEpoch":"1","childId":"c","lineage":{lineage},"observedAt":"{time}",{rest}}}"#
        );
        Event::from_json(text.as_bytes()).unwrap().to_static()
    };
    let mut events = vec![
        event("1", 0, r#""kind":"created","state":"created""#),
        event("2", 1, r#""kind":"state_changed","state":"starting""#),
    ];
    let config = Config { corrections: true, ..Config::default() };
    let mut projector = Projector::new(config);
    for event in &events {
        projector.apply(event, None).unwrap();
    }
    projector.mark_stale(at(200));
    projector.reconciliation_failed("s", "c", at(300));
    events.extend(projector.take_corrections());
    let lines = |numbered: bool| -> String {
        let line = |(at, event): (usize, &Event<'_>)| {
            let mut value: serde_json::Value = serde_json::from_str(&event.to_json()).unwrap();
            if numbered {
                value["journalSequence"] = (at + 1).into();
            }
            value.to_string() + "\n"
        };
        events.iter().enumerate().map(line).collect()
    };
    for (numbered, state) in [(true, State::Lost), (false, State::Starting)] {
        let file = path.join(format!("{numbered}.jsonl"));
        write(file.clone(), lines(numbered), 300);
        let report = status(Options { now: Some(at(300)), ..options(&[&file]) });
        assert_eq!(report.rows[0].state, state, "numbered: {numbered}");
        assert_eq!(report.diagnostics.counts.len(), 0);
    }
}
