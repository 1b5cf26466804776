//! What the system says of this process and of a pid.
//!
//! Input: a pid. Output: facts as [`Seen`]; what a system does not tell is absent or [`Seen::Untold`].
//! Never: signals a process (signal 0 is none).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Identity, Seen};

#[cfg(unix)]
mod system {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    use super::Seen;

    pub(super) fn host_name() -> Option<String> {
        let name = rustix::system::uname().nodename().to_string_lossy().trim().to_owned();
        (!name.is_empty()).then_some(name)
    }

    pub(super) fn ticks_per_second() -> u64 {
        rustix::param::clock_ticks_per_second().max(1)
    }

    /// Whether the pid is anybody's, by signal 0.
    pub(super) fn ask(pid: i32, started: Option<u64>, zombie: bool) -> Seen {
        let Some(pid) = Pid::from_raw(pid) else { return Seen::Untold };
        match test_kill_process(pid) {
            Ok(()) => Seen::Present { started, zombie },
            Err(Errno::SRCH) => Seen::Absent,
            // A zombie of another user is a zombie all the same.
            Err(Errno::PERM) if zombie => Seen::Present { started, zombie },
            Err(Errno::PERM) => Seen::Forbidden { started },
            Err(_) => Seen::Untold,
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::Seen;

    pub(super) fn host_name() -> Option<String> {
        std::env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
    }

    /// Never asked: there is no `/proc`.
    pub(super) fn ticks_per_second() -> u64 {
        1
    }

    /// The standard library cannot tell, so nobody is ever taken for dead here.
    pub(super) fn ask(_pid: i32, _started: Option<u64>, _zombie: bool) -> Seen {
        Seen::Untold
    }
}

/// This process.
pub(super) fn own() -> Identity {
    let link = |path: &str| std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned());
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    Identity {
        pid: i32::try_from(std::process::id()).unwrap_or_default(),
        host_name: system::host_name(),
        boot_id: boot_id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()),
        pid_namespace: link("/proc/self/ns/pid"),
        time_namespace: link("/proc/self/ns/time"),
        process_start_time: stat("self").and_then(|stat| stat.started),
    }
}

/// What the system says of `pid`, a positive integer.
#[must_use]
pub fn look(pid: i32) -> Seen {
    let stat = stat(&pid.to_string());
    system::ask(pid, stat.as_ref().and_then(|stat| stat.started), stat.as_ref().is_some_and(Stat::is_zombie))
}

/// When the process with this pid was started by the clock, where the system tells.
#[must_use]
pub fn started_at(pid: i32) -> Option<SystemTime> {
    let ticks = stat(&pid.to_string())?.started?;
    let system = std::fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let since_boot = ticks.saturating_mul(1000) / system::ticks_per_second();
    UNIX_EPOCH.checked_add(Duration::from_secs(boot) + Duration::from_millis(since_boot))
}

/// What `/proc/<pid>/stat` says, where there is such a thing.
#[derive(Debug, PartialEq)]
struct Stat {
    state: u8,
    threads: u64,
    started: Option<u64>,
}

impl Stat {
    /// A leader that left its threads behind is shown as a zombie while they live on.
    fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

fn stat(process: &str) -> Option<Stat> {
    parse(&std::fs::read(format!("/proc/{process}/stat")).ok()?)
}

/// The name of the command, in brackets, may itself hold brackets and spaces: the last bracket ends it.
fn parse(line: &[u8]) -> Option<Stat> {
    let close = line.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    // The first one is the third field of the file.
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        threads: fields.get(17)?.parse().ok()?,
        started: fields.get(19)?.parse().ok(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::{Stat, look, parse};
    use crate::process::{Identity, Seen, Verdict, judge};

    #[test]
    fn a_name_may_look_like_fields() {
        let line = b"7 (a) Z 1 (b) ) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 12345 1 2\n";
        assert_eq!(parse(line), Some(Stat { state: b'S', threads: 9, started: Some(12345) }));
        for broken in [&b""[..], b"7 (a", b"7 (a) S 1", b"7 (a)"] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_zombie_with_threads_lives() {
        assert!(Stat { state: b'Z', threads: 1, started: None }.is_zombie());
        assert!(!Stat { state: b'Z', threads: 2, started: None }.is_zombie());
        assert!(!Stat { state: b'T', threads: 1, started: None }.is_zombie());
    }

    #[test]
    fn this_process_lives_and_linux_tells_all() {
        let own = Identity::own();
        assert!(own.host_name.is_some() && own.boot_id.is_some() && own.pid_namespace.is_some(), "{own:?}");
        assert_eq!(look(own.pid), Seen::Present { started: own.process_start_time, zombie: false });
        assert!(own.process_start_time.is_some());
        assert!(matches!(judge(&own.clone().into(), &own, look), Verdict::Alive(_)));
    }

    #[test]
    fn a_child_is_alive_then_a_zombie_then_gone() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat runs");
        let pid = i32::try_from(child.id()).expect("a pid");
        let seen = look(pid);
        assert!(matches!(seen, Seen::Present { zombie: false, started: Some(_) }), "{seen:?}");
        drop(child.stdin.take());
        // It ends by itself now, and is a zombie until it is waited for.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !matches!(look(pid), Seen::Present { zombie: true, .. }) {
            assert!(std::time::Instant::now() < deadline, "no zombie: {:?}", look(pid));
            std::thread::yield_now();
        }
        child.wait().expect("it ended");
        assert_eq!(look(pid), Seen::Absent);
    }
}
