//! How a host hands the guard its end of the control socket.
//!
//! Input: the command that will run the guard, and the socket. Output: the command, with the socket open in the guard alone.
//! Invariant: in the host it stays close-on-exec, so that no other child of the host ever has it.

#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::process::Command;

/// The name of the executable.
pub const FILE_NAME: &str = if cfg!(windows) { "agent-lifecycle-guard.exe" } else { "agent-lifecycle-guard" };

/// The exit code of a guard on Windows that could not run the program: no program ends with it by accident.
pub const NOT_RUN: u32 = 0xA6E4_7001;

/// Leaves `socket` open in what `command` runs, under its number here.
#[cfg(unix)]
#[expect(unsafe_code, reason = "between fork and exec only calls such as fcntl are allowed")]
pub fn inherit(command: &mut Command, socket: OwnedFd) {
    use std::ffi::c_int;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    unsafe extern "C" {
        fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    }
    const F_SETFD: c_int = 2;
    let clear = move || {
        // SAFETY: the descriptor is open, for the closure owns it, and fcntl is async-signal-safe.
        match unsafe { fcntl(socket.as_raw_fd(), F_SETFD, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: the closure calls fcntl alone and allocates nothing.
    unsafe { command.pre_exec(clear) };
}
