//! The guard on Unix: one thread, one loop over the host's socket and the ends of children.
//!
//! Input: the socket; a byte on it, or its end, is the order to end everything. Output: lines on it: `started <pid>`,
//! `failed <directory|program> <errno>`, `exited <code>`, `signalled <number>`.
//! Invariant: a pid is signalled only while it is an uncollected child of the guard, or the guard's own group.

use std::ffi::c_int;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use super::Task;

/// How often children are looked for before the guard gives up on those that do not die, and how long each time.
const ROUNDS: usize = 40;
const ROUND_MS: c_int = 10;

/// The few calls of the system that the standard library does not have.
#[expect(unsafe_code, reason = "the system's calls; each wrapper is safe to call")]
mod calls {
    use std::ffi::c_int;

    #[cfg(target_os = "linux")]
    type Count = std::ffi::c_ulong;
    #[cfg(not(target_os = "linux"))]
    type Count = std::ffi::c_uint;

    pub(super) const SIGHUP: c_int = 1;
    pub(super) const SIGINT: c_int = 2;
    pub(super) const SIGKILL: c_int = 9;
    pub(super) const SIGTERM: c_int = 15;
    pub(super) const SIGCHLD: c_int = if cfg!(target_os = "linux") { 17 } else { 20 };
    const SIG_DFL: usize = 0;
    pub(super) const SIG_IGN: usize = 1;
    const WNOHANG: c_int = 1;
    const POLLIN: i16 = 1;

    #[repr(C)]
    struct Polled {
        fd: c_int,
        wanted: i16,
        found: i16,
    }

    unsafe extern "C" {
        #[link_name = "signal"]
        fn c_signal(number: c_int, handler: usize) -> usize;
        #[link_name = "kill"]
        fn c_kill(pid: c_int, number: c_int) -> c_int;
        fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
        fn poll(polled: *mut Polled, count: Count, timeout: c_int) -> c_int;
        fn dup2(from: c_int, to: c_int) -> c_int;
        fn setpgid(pid: c_int, group: c_int) -> c_int;
        fn write(fd: c_int, bytes: *const u8, count: usize) -> isize;
        #[cfg(target_os = "linux")]
        fn prctl(option: c_int, ...) -> c_int;
    }

    pub(super) fn handle(number: c_int, handler: usize) {
        // SAFETY: the handler is SIG_IGN, or a function that is async-signal-safe.
        unsafe { c_signal(number, handler) };
    }

    /// Every signal as a program expects it. Async-signal-safe.
    pub(super) fn reset_signals() {
        // Those that cannot be set, or do not exist, are refused and stay.
        (1..=64).for_each(|number| handle(number, SIG_DFL));
    }

    pub(super) fn kill(pid: c_int) {
        // SAFETY: takes numbers alone.
        unsafe { c_kill(pid, SIGKILL) };
    }

    pub(super) fn lead_group() {
        // SAFETY: takes numbers alone.
        unsafe { setpgid(0, 0) };
    }

    /// What is orphaned below this process becomes its child, not init's.
    pub(super) fn adopt_orphans() {
        #[cfg(target_os = "linux")]
        // SAFETY: PR_SET_CHILD_SUBREAPER takes one number.
        unsafe {
            prctl(36, 1_usize, 0_usize, 0_usize, 0_usize)
        };
    }

    /// A child that has ended, and its status. `Err` where there are no children at all.
    pub(super) fn collect() -> Result<Option<(c_int, c_int)>, ()> {
        let mut status = 0;
        // SAFETY: the status is written to a place that lives for the call.
        match unsafe { waitpid(-1, &raw mut status, WNOHANG) } {
            0 => Ok(None),
            -1 => Err(()),
            pid => Ok(Some((pid, status))),
        }
    }

    /// Which of two descriptors can be read; waits at most `timeout` milliseconds, for ever for -1.
    pub(super) fn readable(one: c_int, other: c_int, timeout: c_int) -> (bool, bool) {
        let mut polled = [one, other].map(|fd| Polled { fd, wanted: POLLIN, found: 0 });
        // SAFETY: the array has the length that is said.
        if unsafe { poll(polled.as_mut_ptr(), 2, timeout) } < 1 {
            return (false, false);
        }
        (polled[0].found != 0, polled[1].found != 0)
    }

    pub(super) fn replace(fd: c_int, with: c_int) {
        // SAFETY: takes numbers alone; nothing in the guard uses the descriptors that are replaced.
        unsafe { dup2(with, fd) };
    }

    pub(super) fn write_byte(fd: c_int) {
        // SAFETY: one byte that lives for ever.
        unsafe { write(fd, b"x".as_ptr(), 1) };
    }
}

/// Where the handler of SIGCHLD writes.
static WAKE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_child_end(_: c_int) {
    calls::write_byte(WAKE.load(Ordering::Relaxed));
}

struct Guard {
    host: UnixStream,
    wake: UnixStream,
    /// The program, until it has been collected.
    program: Option<c_int>,
}

/// Runs the task until everything has ended.
pub(super) fn run(task: &Task) -> ExitCode {
    calls::lead_group();
    for number in [calls::SIGHUP, calls::SIGINT, calls::SIGTERM] {
        calls::handle(number, calls::SIG_IGN);
    }
    calls::adopt_orphans();
    let Ok((host, wake)) = channels(task.host) else { return ExitCode::from(70) };
    let mut guard = Guard { host, wake, program: None };
    if !guard.begin(task) {
        return ExitCode::FAILURE;
    }
    guard.watch();
    guard.end();
    // Not reached: the group that was killed is its own.
    ExitCode::FAILURE
}

#[expect(unsafe_code, reason = "the descriptor comes as a number")]
fn channels(host: c_int) -> std::io::Result<(UnixStream, UnixStream)> {
    // SAFETY: the host left it open for the guard, and nothing else uses it.
    let given = unsafe { UnixStream::from_raw_fd(host) };
    // The copy is close-on-exec.
    let host = given.try_clone()?;
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    WAKE.store(woken.as_raw_fd(), Ordering::Relaxed);
    // As long as the guard lives.
    std::mem::forget(woken);
    calls::handle(calls::SIGCHLD, on_child_end as *const () as usize);
    Ok((host, wake))
}

impl Guard {
    /// Starts the program, and lets go of its streams.
    fn begin(&mut self, task: &Task) -> bool {
        if !task.directory.is_empty()
            && let Err(error) = std::env::set_current_dir(&task.directory)
        {
            return self.failed("directory", &error);
        }
        let mut command = Command::new(&task.program);
        command.args(&task.arguments);
        let prepare = || {
            calls::reset_signals();
            Ok(())
        };
        // The standard library empties the signal mask.
        #[expect(unsafe_code, reason = "runs between fork and exec")]
        // SAFETY: signal is async-signal-safe, and nothing is allocated.
        unsafe {
            command.pre_exec(prepare)
        };
        match command.spawn() {
            Ok(child) => {
                let pid = child.id().cast_signed();
                self.program = Some(pid);
                self.say(&format!("started {pid}"));
            }
            Err(error) => return self.failed("program", &error),
        }
        if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
            (0..=2).for_each(|fd| calls::replace(fd, null.as_raw_fd()));
        }
        // It keeps no file system busy.
        let _ = std::env::set_current_dir("/");
        true
    }

    fn failed(&mut self, what: &str, error: &std::io::Error) -> bool {
        self.say(&format!("failed {what} {}", error.raw_os_error().unwrap_or(0)));
        false
    }

    /// Where the host is gone nobody needs to know.
    fn say(&mut self, line: &str) {
        let _ = self.host.write_all(format!("{line}\n").as_bytes());
    }

    /// Until the host is gone or gives the order.
    fn watch(&mut self) {
        loop {
            let (is_order, is_end) = calls::readable(self.host.as_raw_fd(), self.wake.as_raw_fd(), -1);
            if is_end {
                self.awake();
                let _ = self.collect();
            }
            if is_order {
                return;
            }
        }
    }

    fn awake(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(1..)) {}
    }

    /// Collects what has ended, and tells of the program. `Err` where no child is left.
    fn collect(&mut self) -> Result<(), ()> {
        while let Some((pid, status)) = calls::collect()? {
            if self.program != Some(pid) {
                continue;
            }
            self.program = None;
            let status = ExitStatus::from_raw(status);
            match (status.code(), status.signal()) {
                (Some(code), _) => self.say(&format!("exited {code}")),
                (None, Some(number)) => self.say(&format!("signalled {number}")),
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Kills children until there are none, in the group and out of it, then the group and with it the guard.
    fn end(&mut self) {
        for _ in 0..ROUNDS {
            self.awake();
            if self.collect().is_err() {
                break;
            }
            self.children().into_iter().for_each(calls::kill);
            let wake = self.wake.as_raw_fd();
            calls::readable(wake, wake, ROUND_MS);
        }
        calls::kill(0);
    }

    /// The children that are not collected. What is below them becomes a child when they are gone, on Linux.
    fn children(&self) -> Vec<c_int> {
        let own = std::process::id().cast_signed();
        let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut children: Vec<c_int> = pids.filter(|&pid| parent(pid) == Some(own)).collect();
        children.extend(self.program.filter(|pid| !children.contains(pid)));
        children
    }
}

/// The parent of a process, where there is `/proc`. The name of a command, in brackets, may hold brackets itself.
fn parent(pid: c_int) -> Option<c_int> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}
