//! Running the guard.
//!
//! Input: what is to be run. Output: the guard as a child, the pipes of the program, and the host's end of the control socket.
//! Invariant: the host's ends are close-on-exec and do not block; the guard leads a group of its own.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;

use super::Options;

/// How often a guard is tried that is open for writing: another thread may be between fork and exec with it.
const BUSY_TRIES: u32 = 50;

/// A guard that runs, and how it is reached.
pub(super) struct Spawned {
    pub(super) guard: Child,
    pub(super) control: UnixStream,
    pub(super) input: File,
    pub(super) output: File,
    pub(super) errors: File,
}

/// Runs the guard; an error is the guard's, never the program's.
pub(super) fn spawn(options: &Options) -> io::Result<Spawned> {
    let (control, theirs) = UnixStream::pair()?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&theirs).to_string();
    let mut command = Command::new(&options.guard);
    command
        .arg(number)
        .arg(options.directory.as_deref().unwrap_or_else(|| "".as_ref()))
        .arg(&options.program)
        .args(&options.arguments)
        .env_clear()
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    agent_lifecycle_guard::inherit(&mut command, OwnedFd::from(theirs));
    let mut guard = run(&mut command)?;
    let missing = || io::Error::from(ErrorKind::BrokenPipe);
    let input = File::from(OwnedFd::from(guard.stdin.take().ok_or_else(missing)?));
    let output = File::from(OwnedFd::from(guard.stdout.take().ok_or_else(missing)?));
    let errors = File::from(OwnedFd::from(guard.stderr.take().ok_or_else(missing)?));
    control.set_nonblocking(true)?;
    for pipe in [&input, &output, &errors] {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    Ok(Spawned { guard, control, input, output, errors })
}

fn run(command: &mut Command) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match command.spawn() {
            Err(error) if error.raw_os_error() == Some(Errno::TXTBSY.raw_os_error()) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            outcome => return outcome,
        }
    }
    command.spawn()
}
