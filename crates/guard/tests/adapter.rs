//! Processes that are run through the guard, from start to end, with real programs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use agent_lifecycle_core::redact::Redactor;
use agent_lifecycle_io::adapter::{Adapter, End, Exit, Options, Reason, Times, Told};
use agent_lifecycle_io::process::{Seen, look};

/// Long enough for any machine; nothing waits for it where all is well.
const PATIENCE: Duration = Duration::from_mins(1);

fn options(program: &str, arguments: &[&str]) -> Options {
    Options {
        guard: env!("CARGO_BIN_EXE_agent-lifecycle-guard").into(),
        program: program.to_owned(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        directory: None,
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        message_bytes: 8192,
        redactor: Redactor::default(),
        times: Times::default(),
    }
}

fn shell(script: &str) -> Options {
    options("/bin/sh", &["-c", script])
}

struct Run {
    adapter: Adapter,
    told: Receiver<()>,
}

impl Run {
    fn start(options: Options) -> Self {
        let (tell, told): (Sender<()>, _) = channel();
        let adapter = Adapter::start(options, move || tell.send(()).unwrap_or_default()).expect("a thread");
        Self { adapter, told }
    }

    fn next(&self) -> Told {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(told) = self.adapter.take() {
                return told;
            }
            let left = until.saturating_duration_since(Instant::now());
            self.told.recv_timeout(left).expect("told in time");
        }
    }

    /// The next messages, one by one, other things left out.
    fn message(&self) -> String {
        loop {
            match self.next() {
                Told::Messages(text) => return text,
                Told::Ended(end) => panic!("ended: {end:?}"),
                _ => {}
            }
        }
    }

    /// All that was said until the end.
    fn end(&self) -> (Vec<String>, End) {
        let mut said = Vec::new();
        loop {
            match self.next() {
                Told::Messages(text) => said.extend(text.lines().map(str::to_owned)),
                Told::Noise { excerpt, count } => said.push(format!("noise {count} {excerpt}")),
                Told::Ended(end) => return (said, end),
                Told::Started { .. } | Told::Written(_) => {}
            }
        }
    }
}

fn is_gone(pid: i32) -> bool {
    matches!(look(pid), Seen::Absent | Seen::Present { zombie: true, .. })
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pid_in(path: &Path) -> i32 {
    wait_until("a pid", || fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn every_way_to_end_has_its_reason_and_exit() {
    for (options, said, reason, exit, stderr) in [
        (options("/bin/false", &[]), vec![], Reason::Exited, Some(Exit::Code(1)), ""),
        (shell("echo oh >&2; exit 7"), vec![], Reason::Exited, Some(Exit::Code(7)), "oh\n"),
        (shell("kill -9 $$"), vec![], Reason::Exited, Some(Exit::Signal(9)), ""),
        (shell("printf '{\"last\":1}'"), vec!["{\"last\":1}"], Reason::Exited, Some(Exit::Code(0)), ""),
        (
            shell("echo hello; echo '{}'"),
            vec!["noise 1 hello", "{}"],
            Reason::Exited,
            Some(Exit::Code(0)),
            "",
        ),
        // It would go on for ever.
        (shell("echo '{}'; tr '\\0' x </dev/zero"), vec!["{}"], Reason::MessageTooLarge, None, ""),
    ] {
        let arguments = options.arguments.clone();
        let (lines, end) = Run::start(options).end();
        assert_eq!((lines, end.reason), (said.iter().map(|&line| line.to_owned()).collect(), reason));
        assert_eq!(end.stderr, stderr, "{arguments:?}");
        if exit.is_some() {
            assert_eq!(end.exit, exit, "{arguments:?}");
        }
    }
}

#[test]
fn what_cannot_be_run_says_so() {
    let (_, end) = Run::start(options("/nowhere/program", &[])).end();
    assert_eq!((end.reason, end.exit), (Reason::SpawnFailed, None));
    assert!(end.message.starts_with("the program: No such file"), "{}", end.message);
    let missing = Options { directory: Some("/nowhere".into()), ..options("true", &[]) };
    let (_, end) = Run::start(missing).end();
    assert_eq!(end.reason, Reason::SpawnFailed);
    assert!(end.message.starts_with("the directory: No such file"), "{}", end.message);
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "no program").unwrap();
    let locked = text.with_file_name("locked");
    fs::write(&locked, "").unwrap();
    fs::set_permissions(&text, PermissionsExt::from_mode(0o700)).unwrap();
    for guard in [Path::new("/nowhere/guard"), &text, &locked] {
        let (_, end) = Run::start(Options { guard: guard.into(), ..options("true", &[]) }).end();
        assert_eq!(end.reason, Reason::GuardUnavailable, "{}", guard.display());
        let words = if guard == text { "it ended before" } else { guard.to_str().unwrap() };
        assert!(end.message.starts_with(words), "{}", end.message);
    }
}

#[test]
fn messages_go_both_ways_and_are_counted() {
    let run = Run::start(options("cat", &[]));
    for number in 1..=3_u64 {
        assert_eq!(run.adapter.write(&format!("{{\"n\":{number}}}")), Ok(number));
    }
    let (mut lines, mut written) = (Vec::new(), 0);
    while lines.len() < 3 || written < 3 {
        match run.next() {
            Told::Messages(text) => lines.extend(text.lines().map(str::to_owned)),
            Told::Written(count) => written = count,
            told => assert!(matches!(told, Told::Started { .. }), "{told:?}"),
        }
    }
    assert_eq!(lines, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"]);
    run.adapter.close();
    let (_, end) = run.end();
    assert_eq!((end.reason, end.exit), (Reason::Closed, Some(Exit::Code(0))));
    assert!(run.adapter.write("{}").is_err());
}

#[test]
fn the_program_gets_its_environment_directory_and_signals_as_new() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let run = Run::start(Options {
        directory: Some(place.clone()),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("GIVEN".to_owned(), "a b".to_owned())],
        ..shell(
            r#"printf '{"pwd":"%s","given":"%s","home":"%s"}\n' "$(pwd)" "$GIVEN" "$HOME"
            grep -E '^Sig(Blk|Ign)' /proc/self/status >&2"#,
        )
    });
    let (lines, end) = run.end();
    assert_eq!(lines, [format!(r#"{{"pwd":"{}","given":"a b","home":""}}"#, place.display())]);
    if cfg!(target_os = "linux") {
        let masks = end.stderr.lines().filter_map(|line| line.split_once('\t'));
        let masks: Vec<(&str, u64)> =
            masks.map(|(name, mask)| (name, u64::from_str_radix(mask, 16).unwrap())).collect();
        // Numbers 32 and 33 are the C library's own.
        let own = 3 << 31;
        assert_eq!(masks.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["SigBlk:", "SigIgn:"]);
        assert!(masks.iter().all(|(_, mask)| mask & !own == 0), "{masks:?}");
    }
}

#[test]
fn one_that_ignores_everything_is_killed() {
    let times =
        Times { close: Duration::from_millis(50), terminate: Duration::from_millis(50), ..Times::default() };
    let run = Run::start(Options { times, ..shell("trap '' TERM; echo '{}'; while :; do sleep 1; done") });
    run.message();
    run.adapter.close();
    let (_, end) = run.end();
    assert_eq!((end.reason, end.exit), (Reason::Closed, Some(Exit::Signal(9))));
}

#[test]
fn sigterm_comes_before_sigkill_and_reaches_the_group() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let times = Times { close: Duration::from_millis(50), terminate: PATIENCE, ..Times::default() };
    let script = format!(
        "(trap 'echo yes > {0}; exit' TERM; echo '{{}}'; while :; do sleep 0.05; done) & \
         trap 'wait; exit 3' TERM; while :; do sleep 0.05; done",
        heard.display()
    );
    let run = Run::start(Options { times, ..shell(&script) });
    run.message();
    run.adapter.close();
    let (_, end) = run.end();
    assert_eq!(end.exit, Some(Exit::Code(3)));
    assert_eq!(fs::read_to_string(heard).unwrap(), "yes\n");
}

#[test]
fn a_grandchild_that_holds_the_output_does_not_hide_the_exit_and_does_not_outlive_it() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    let times = Times { grace: Duration::from_millis(100), ..Times::default() };
    // One in the group, and where there is such a program one that has left it.
    let script = format!(
        "sleep 300 & echo $! > {}; setsid sh -c 'echo $$ > {}; exec sleep 300' & echo '{{\"result\":1}}'; \
         while ! [ -s {} ]; do sleep 0.01; done; exit 5",
        inside.display(),
        outside.display(),
        if cfg!(target_os = "linux") { outside.display() } else { inside.display() },
    );
    let (lines, end) = Run::start(Options { times, ..shell(&script) }).end();
    assert_eq!(lines, ["{\"result\":1}"]);
    assert_eq!((end.reason, end.exit), (Reason::Exited, Some(Exit::Code(5))));
    wait_until("one in the group is gone", || is_gone(pid_in(&inside)));
    if cfg!(target_os = "linux") {
        assert!(is_gone(pid_in(&outside)), "the guard waits for what left the group");
    }
}

#[test]
fn an_output_that_ends_without_an_exit_ends_the_process() {
    let times = Times { grace: Duration::from_millis(100), ..Times::default() };
    let run = Run::start(Options { times, ..shell("echo '{}'; exec >&-; sleep 300") });
    let (lines, end) = run.end();
    assert_eq!((lines.len(), end.reason, end.exit), (1, Reason::OutputEnded, Some(Exit::Signal(15))));
}

#[test]
fn an_input_that_is_closed_ends_the_process_and_its_exit_is_known() {
    let run = Run::start(shell("exec <&-; echo '{}'; sleep 0.2; echo '{\"last\":1}'; exit 7"));
    run.message();
    // The guard lets go of its copy a moment after the program runs.
    wait_until("nothing can be written", || run.adapter.write("{}").is_err());
    let (lines, end) = run.end();
    assert_eq!(lines, ["{\"last\":1}"]);
    assert_eq!((end.reason, end.exit), (Reason::WriteFailed, Some(Exit::Code(7))));
}

#[test]
fn a_guard_that_is_killed_takes_the_group_along() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 300 & echo $! > {}; echo \"{{\\\"guard\\\":$PPID}}\"; wait", pids.display());
    let run = Run::start(shell(&script));
    let said = run.message();
    let guard = said.trim_start_matches("{\"guard\":").trim_end_matches('}');
    assert!(std::process::Command::new("kill").args(["-9", guard]).status().unwrap().success());
    let (_, end) = run.end();
    assert_eq!(end.reason, Reason::GuardDied);
    wait_until("the grandchild is gone", || is_gone(pid_in(&pids)));
}

#[test]
fn a_handle_that_is_dropped_stops_its_process() {
    let run = Run::start(shell("echo \"{\\\"pid\\\":$$}\"; sleep 300"));
    let said = run.message();
    let pid = said.trim_start_matches("{\"pid\":").trim_end_matches('}').parse().unwrap();
    drop(run);
    wait_until("it is gone", || is_gone(pid));
}

#[test]
fn nobody_who_takes_means_that_nothing_is_read_and_nothing_is_lost() {
    // More than is held, without anybody taking it until the writer has ended.
    let run = Run::start(shell(
        "i=0; while [ $i -lt 40000 ]; do echo \"{\\\"n\\\":$i,\\\"text\\\":\\\"0123456789012345678901234567890123456789\\\"}\"; \
         i=$((i+1)); done",
    ));
    run.told.recv_timeout(PATIENCE).expect("the beginning");
    let (lines, end) = run.end();
    assert_eq!(lines.len(), 40_000);
    assert!(lines.iter().enumerate().all(|(at, line)| line.starts_with(&format!("{{\"n\":{at},"))));
    assert_eq!(end.exit, Some(Exit::Code(0)));
}

#[test]
fn a_guard_that_is_run_by_hand_runs_nothing() {
    for arguments in [&[][..], &["3"], &["2", "", "true"], &["x", "", "true"]] {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_agent-lifecycle-guard"))
            .args(arguments)
            .output()
            .expect("the guard runs");
        assert_eq!(run.status.code(), Some(64), "{arguments:?}");
        assert!(String::from_utf8_lossy(&run.stderr).contains("not by hand"));
    }
}
