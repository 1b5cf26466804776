//! The thread of one process on Unix: one loop over its pipes, the guard's socket and the host's orders.
//!
//! Input: what the exchange holds, what the pipes give. Output: messages in the pipe, and what is told. Invariant: the group is killed
//! before the guard is collected, so that its number is nobody else's. Never: blocks on a pipe, reads what the host does not take.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use agent_lifecycle_core::redact::Redactor;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::ending::{Ending, Exit, Reason, Step};
use super::exchange::Exchange;
use super::lines::{Lines, Piece, excerpt};
use super::spawn::{Spawned, spawn};
use super::stderr::Stderr;
use super::{End, Options};

/// Bytes read at once, and how often in a row from one pipe.
const CHUNK: usize = 64 * 1024;
const READS: usize = 16;

/// Starts the thread.
pub(super) fn begin(
    options: Options,
    redactor: Arc<Redactor>,
    tell: Box<dyn Fn() + Send + Sync>,
) -> io::Result<(Arc<Exchange>, JoinHandle<()>)> {
    let (woken, waker) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    waker.set_nonblocking(true)?;
    // A full socket wakes as well.
    let wake = Box::new(move || drop((&waker).write(b"x")));
    let exchange = Arc::new(Exchange::new(tell, wake));
    let shared = Arc::clone(&exchange);
    let thread = std::thread::Builder::new()
        .name("agent-lifecycle-adapter".to_owned())
        .spawn(move || run(&options, redactor, &shared, woken))?;
    Ok((exchange, thread))
}

fn run(options: &Options, redactor: Arc<Redactor>, exchange: &Exchange, woken: UnixStream) {
    match spawn(options) {
        Ok(spawned) => Pump::new(options, redactor, exchange, woken, spawned).run(),
        Err(error) => exchange.end(End::unstarted(&options.guard, &error)),
    }
}

struct Pump<'a> {
    exchange: &'a Exchange,
    redactor: Arc<Redactor>,
    ending: Ending,
    woken: UnixStream,
    guard: Child,
    control: Option<UnixStream>,
    /// What the guard has said of a line that is not complete, and whether it has said anything.
    said: Vec<u8>,
    has_spoken: bool,
    input: Option<File>,
    /// The message that is being written, and how much of it is.
    message: Option<(Vec<u8>, usize)>,
    output: Option<File>,
    lines: Lines,
    errors: Option<File>,
    stderr: Stderr,
    /// What could not be run, and why.
    failure: Option<String>,
    chunk: Vec<u8>,
}

/// What may be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Woken,
    Control,
    Input,
    Output,
    Errors,
}

impl<'a> Pump<'a> {
    fn new(
        options: &Options,
        redactor: Arc<Redactor>,
        exchange: &'a Exchange,
        woken: UnixStream,
        spawned: Spawned,
    ) -> Self {
        let Spawned { guard, control, input, output, errors } = spawned;
        Self {
            exchange,
            stderr: Stderr::new(Arc::clone(&redactor)),
            redactor,
            ending: Ending::new(options.times),
            woken,
            guard,
            control: Some(control),
            said: Vec::new(),
            has_spoken: false,
            input: Some(input),
            message: None,
            output: Some(output),
            lines: Lines::new(options.message_bytes),
            errors: Some(errors),
            failure: None,
            chunk: vec![0; CHUNK],
        }
    }

    fn run(mut self) {
        while self.control.is_some() {
            self.obey();
            match self.ending.due(Instant::now()) {
                Some(Step::Terminate) => self.signal(Signal::TERM),
                Some(Step::Clear) => self.tell_guard(),
                Some(Step::Kill) => self.signal(Signal::KILL),
                Some(Step::GiveUp) => break,
                None => {}
            }
            for source in self.wait() {
                match source {
                    Source::Woken => self.awake(),
                    Source::Control => self.hear_guard(),
                    Source::Input => self.write_input(),
                    Source::Output => self.read_output(),
                    Source::Errors => self.read_errors(),
                }
            }
        }
        self.finish();
    }

    /// Takes the orders and the next message.
    fn obey(&mut self) {
        let orders = self.exchange.orders();
        let now = Instant::now();
        if orders.stop {
            self.ending.stop(Reason::Stopped, now);
        }
        if orders.close {
            self.ending.close(now);
        }
        if self.message.is_none() && self.input.is_some() {
            self.message = self.exchange.next_message().map(|message| (message, 0));
        }
        // Nothing is left to be said to one that is to end.
        let is_ending = orders.close || orders.stop || self.ending.reason().is_some();
        if is_ending && self.message.is_none() {
            self.input = None;
        }
    }

    /// Waits until something can be done.
    fn wait(&mut self) -> Vec<Source> {
        let is_full = self.exchange.is_full();
        if is_full {
            self.ending.output_paused(Instant::now());
        }
        let timeout = self.ending.deadline().map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        let output = self.output.as_ref().filter(|_| !is_full && !self.ending.is_past_output());
        let input = self.input.as_ref().filter(|_| self.message.is_some());
        let control = self.control.as_ref();
        let wanted = [
            Some((Source::Woken, PollFd::new(&self.woken, PollFlags::IN))),
            control.map(|control| (Source::Control, PollFd::new(control, PollFlags::IN))),
            input.map(|input| (Source::Input, PollFd::new(input, PollFlags::OUT))),
            output.map(|output| (Source::Output, PollFd::new(output, PollFlags::IN))),
            self.errors.as_ref().map(|errors| (Source::Errors, PollFd::new(errors, PollFlags::IN))),
        ];
        let (sources, mut fds): (Vec<Source>, Vec<PollFd<'_>>) = wanted.into_iter().flatten().unzip();
        // Interrupted, or out of memory for a moment: it is tried again.
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let found = sources.into_iter().zip(fds).filter(|(_, fd)| !fd.revents().is_empty());
        found.map(|(source, _)| source).collect()
    }

    fn awake(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.woken.read(&mut bytes), Ok(1..)) {}
    }

    /// What the guard says; where it says nothing more, it is gone.
    fn hear_guard(&mut self) {
        let mut bytes = [0; 256];
        loop {
            let Some(control) = &mut self.control else { return };
            match control.read(&mut bytes) {
                Ok(count @ 1..) => self.said.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {
                    self.control = None;
                    self.ending.guard_gone();
                }
            }
            while let Some(end) = self.said.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.said.drain(..=end).collect();
                self.heard(String::from_utf8_lossy(&line).trim_end());
            }
        }
    }

    fn heard(&mut self, line: &str) {
        self.has_spoken = true;
        let now = Instant::now();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| text.parse::<i32>().unwrap_or(0);
        match words[..] {
            ["started", pid] => self.exchange.started(number(pid)),
            ["exited", code] => self.ending.exited(Exit::Code(number(code)), now),
            ["signalled", signal] => self.ending.exited(Exit::Signal(number(signal)), now),
            ["failed", what, errno] => {
                let error = io::Error::from_raw_os_error(number(errno));
                self.failure = Some(format!("the {what}: {error}"));
                self.ending.stop(Reason::SpawnFailed, now);
            }
            _ => {}
        }
    }

    fn read_errors(&mut self) {
        for _ in 0..READS {
            let Some(errors) = &mut self.errors else { return };
            match errors.read(&mut self.chunk) {
                Ok(count @ 1..) => self.stderr.push(&self.chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => self.errors = None,
            }
        }
    }

    fn read_output(&mut self) {
        for _ in 0..READS {
            let Some(output) = &mut self.output else { return };
            let (exchange, redactor) = (self.exchange, &self.redactor);
            let emit = &mut |piece: Piece<'_>| match piece {
                Piece::Message(text) => exchange.message(text),
                Piece::Noise(bytes) => exchange.noise(|| excerpt(bytes, redactor)),
            };
            let (outcome, has_ended) = match output.read(&mut self.chunk) {
                Ok(count @ 1..) => (self.lines.push(&self.chunk[..count], emit), false),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => (self.lines.end(emit), true),
            };
            if has_ended {
                self.output = None;
                self.ending.output_ended(Instant::now());
            }
            if outcome.is_err() {
                self.output = None;
                self.ending.stop(Reason::MessageTooLarge, Instant::now());
            }
            if self.exchange.is_full() {
                return;
            }
        }
    }

    fn write_input(&mut self) {
        while let (Some(input), Some((message, done))) = (&mut self.input, &mut self.message) {
            match input.write(&message[*done..]) {
                Ok(count @ 1..) => *done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {
                    self.end_input();
                    return self.ending.write_failed(Instant::now());
                }
            }
            if *done == message.len() {
                self.exchange.written(*done);
                self.message = self.exchange.next_message().map(|message| (message, 0));
            }
        }
    }

    /// Writes nothing more; what was written in part stays so.
    fn end_input(&mut self) {
        self.input = None;
        self.message = None;
        self.exchange.take_no_more();
    }

    /// To the whole group; the guard ignores SIGTERM.
    fn signal(&mut self, signal: Signal) {
        self.end_input();
        let Some(pid) = Pid::from_raw(self.guard.id().cast_signed()) else { return };
        // It may have ended just now.
        let _ = kill_process_group(pid, signal);
    }

    /// The guard kills what is left, in the group and out of it, and itself last.
    fn tell_guard(&mut self) {
        self.end_input();
        if let Some(control) = &mut self.control {
            let _ = control.write(b"k");
        }
    }

    /// Kills the group, collects the guard and tells the end.
    fn finish(mut self) {
        let is_gone = self.control.is_none();
        if is_gone && let Some(pid) = Pid::from_raw(self.guard.id().cast_signed()) {
            // Not collected: its number, which is the group's, is nobody else's yet.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        }
        self.signal(Signal::KILL);
        self.read_errors();
        if !self.ending.is_past_output() || self.ending.reason() == Some(Reason::GuardDied) {
            self.read_output();
        }
        let mut reason = self.ending.reason().unwrap_or(Reason::GuardDied);
        if is_gone {
            let code = self.guard.wait().ok().and_then(|status| status.code());
            if reason == Reason::GuardDied
                && !self.has_spoken
                && let Some(code) = code
            {
                // No guard at all, such as a text that a shell was asked to run.
                reason = Reason::GuardUnavailable;
                self.failure = Some(format!("it ended before it ran the program, with exit code {code}"));
            }
        }
        self.exchange.end(End {
            reason,
            exit: self.ending.exit(),
            stderr: self.stderr.finish(),
            message: self.failure.take().unwrap_or_default(),
        });
        // A guard that does not die, such as one in the system's hands, is collected when it does.
        let _ = self.guard.wait();
    }
}
