//! The guard on Windows: a job object that ends all that is in it when the guard ends.
//!
//! Input: the pid of the host. Output: the exit code of the program as its own, or [`NOT_RUN`].
//! Invariant: the program is born in the job, whose only handle is the guard's, so that no end of the guard leaves it behind.

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Command, ExitCode};
use std::ptr;

use super::Task;

/// As in the library part; this file is also compiled without it.
const NOT_RUN: i32 = 0xA6E4_7001_u32.cast_signed();
const SYNCHRONIZE: u32 = 0x0010_0000;
const KILL_ON_JOB_CLOSE: u32 = 0x2000;
const EXTENDED_LIMITS: i32 = 9;
const INFINITE: u32 = u32::MAX;

type Handle = *mut c_void;

/// `JOBOBJECT_EXTENDED_LIMIT_INFORMATION`.
#[repr(C)]
#[derive(Default)]
struct Limits {
    process_time: i64,
    job_time: i64,
    flags: u32,
    least_set: usize,
    most_set: usize,
    processes: u32,
    affinity: usize,
    priority: u32,
    scheduling: u32,
    io: [u64; 6],
    memory: [usize; 4],
}

#[link(name = "kernel32")]
#[expect(unsafe_code, reason = "the system's calls")]
unsafe extern "system" {
    fn OpenProcess(access: u32, inherit: i32, pid: u32) -> Handle;
    fn CreateJobObjectW(attributes: *const c_void, name: *const u16) -> Handle;
    fn SetInformationJobObject(job: Handle, class: i32, value: *const c_void, length: u32) -> i32;
    fn AssignProcessToJobObject(job: Handle, process: Handle) -> i32;
    fn GetCurrentProcess() -> Handle;
    fn WaitForMultipleObjects(count: u32, handles: *const Handle, all: i32, millis: u32) -> u32;
}

/// Runs the task until the program or the host has ended.
pub(super) fn run(task: &Task) -> ExitCode {
    let Some(host) = enter(task.host) else { std::process::exit(NOT_RUN) };
    let mut command = Command::new(&task.program);
    command.args(&task.arguments);
    if !task.directory.is_empty() {
        command.current_dir(&task.directory);
    }
    let Ok(mut child) = command.spawn() else { std::process::exit(NOT_RUN) };
    let streams = [
        std::io::stdin().as_raw_handle(),
        std::io::stdout().as_raw_handle(),
        std::io::stderr().as_raw_handle(),
    ];
    for stream in streams {
        #[expect(unsafe_code, reason = "the program's streams are its own")]
        // SAFETY: nothing in the guard uses its standard streams from here on.
        drop(unsafe { OwnedHandle::from_raw_handle(stream) });
    }
    let handles = [child.as_raw_handle(), host];
    #[expect(unsafe_code, reason = "the system's call")]
    // SAFETY: two handles that are open.
    unsafe {
        WaitForMultipleObjects(2, handles.as_ptr(), 0, INFINITE)
    };
    let code = child.try_wait().ok().flatten().and_then(|status| status.code());
    // What is left of the job ends with the guard.
    std::process::exit(code.unwrap_or(1));
}

/// Puts this process into a job of its own; the handle of the host.
#[expect(unsafe_code, reason = "the system's calls")]
fn enter(host: i32) -> Option<Handle> {
    let limits = Limits { flags: KILL_ON_JOB_CLOSE, ..Limits::default() };
    let length = u32::try_from(size_of::<Limits>()).ok()?;
    // SAFETY: the structure has the layout that the class asks for, and the handles are open. The job's is never closed.
    unsafe {
        let host = OpenProcess(SYNCHRONIZE, 0, u32::try_from(host).ok()?);
        let job = CreateJobObjectW(ptr::null(), ptr::null());
        let is_set = SetInformationJobObject(job, EXTENDED_LIMITS, (&raw const limits).cast(), length) != 0
            && AssignProcessToJobObject(job, GetCurrentProcess()) != 0;
        (!host.is_null() && is_set).then_some(host)
    }
}
