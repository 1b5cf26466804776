//! The process guard: runs one program for a host, and ends it and all that it started when the host ends.
//!
//! Input: a place to meet the host, a working directory ("" for its own), the program and its arguments.
//! Output: on the way to the host, how the program began and ended. Invariant: nothing of its group outlives it.
//! Never: reads or writes the program's streams, uses a shell.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix::run;
#[cfg(windows)]
use windows::run;

use std::ffi::OsString;
use std::process::ExitCode;

/// What the host asks for.
struct Task {
    /// On Unix the number of the open control socket, on Windows the pid of the host.
    host: i32,
    /// Where to work.
    directory: OsString,
    program: OsString,
    arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    let Some(task) = task(std::env::args_os().skip(1)) else {
        eprintln!("agent-lifecycle-guard is run by agent-lifecycle, not by hand");
        return ExitCode::from(64);
    };
    run(&task)
}

fn task(mut given: impl Iterator<Item = OsString>) -> Option<Task> {
    let host = given.next()?.to_str()?.parse().ok().filter(|&host| host > 2)?;
    Some(Task { host, directory: given.next()?, program: given.next()?, arguments: given.collect() })
}
