//! The threads of one process on Windows: a loop over events, and one thread for each pipe.
//!
//! Input: what the exchange holds, what the pipes give. Output: messages in the pipe, and what is told. Invariant: nothing is read
//! that the host does not take; the guard's end ends its job. There is no SIGTERM here: the guard is ended instead.

use std::io::{self, Read, Write};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_lifecycle_core::redact::Redactor;

use super::ending::{Ending, Exit, Reason, Step};
use super::exchange::Exchange;
use super::lines::{Lines, Piece, excerpt};
use super::stderr::Stderr;
use super::{End, Options};

const CHUNK: usize = 64 * 1024;
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// How often it is asked whether the guard has ended: the standard library cannot wait for that and for events at once.
const LOOK: Duration = Duration::from_millis(10);

enum Event {
    Wake,
    Output(Vec<u8>),
    OutputEnded,
    Errors(Vec<u8>),
    Written(usize),
    WriteFailed,
}

/// Starts the threads.
pub(super) fn begin(
    options: Options,
    redactor: Arc<Redactor>,
    tell: Box<dyn Fn() + Send + Sync>,
) -> io::Result<(Arc<Exchange>, JoinHandle<()>)> {
    let (events, received) = channel();
    let wake = events.clone();
    let exchange = Arc::new(Exchange::new(tell, Box::new(move || drop(wake.send(Event::Wake)))));
    let shared = Arc::clone(&exchange);
    let thread = named(move || run(&options, redactor, &shared, &events, &received))?;
    Ok((exchange, thread))
}

fn named(run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("agent-lifecycle-adapter".to_owned()).spawn(run)
}

fn run(
    options: &Options,
    redactor: Arc<Redactor>,
    exchange: &Exchange,
    events: &Sender<Event>,
    received: &Receiver<Event>,
) {
    let started = spawn(options).and_then(|guard| Pump::new(options, redactor, exchange, guard, events));
    match started {
        Ok(pump) => pump.run(received),
        Err(error) => exchange.end(End::unstarted(&options.guard, &error)),
    }
}

fn spawn(options: &Options) -> io::Result<Child> {
    Command::new(&options.guard)
        .arg(std::process::id().to_string())
        .arg(options.directory.as_deref().unwrap_or_else(|| "".as_ref()))
        .arg(&options.program)
        .args(&options.arguments)
        .env_clear()
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .creation_flags(CREATE_NO_WINDOW)
        .spawn()
}

struct Pump<'a> {
    exchange: &'a Exchange,
    redactor: Arc<Redactor>,
    ending: Ending,
    guard: Child,
    /// To the thread that writes; gone when the input is closed.
    input: Option<Sender<Vec<u8>>>,
    is_writing: bool,
    /// Lets the thread that reads the output go on; owed to it while the host takes nothing.
    go_on: Sender<()>,
    owes: bool,
    lines: Option<Lines>,
    stderr: Stderr,
}

impl<'a> Pump<'a> {
    fn new(
        options: &Options,
        redactor: Arc<Redactor>,
        exchange: &'a Exchange,
        mut guard: Child,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let (go_on, may_go_on) = channel();
        let (input, messages) = channel::<Vec<u8>>();
        if let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (guard.stdin.take(), guard.stdout.take(), guard.stderr.take())
        {
            let told = events.clone();
            named(move || {
                for message in messages {
                    let event = match stdin.write_all(&message) {
                        Ok(()) => Event::Written(message.len()),
                        Err(_) => Event::WriteFailed,
                    };
                    let _ = told.send(event);
                }
            })?;
            let told = events.clone();
            named(move || {
                read(stdout, |chunk| told.send(Event::Output(chunk)).is_ok() && may_go_on.recv().is_ok());
                let _ = told.send(Event::OutputEnded);
            })?;
            let told = events.clone();
            named(move || read(stderr, |chunk| told.send(Event::Errors(chunk)).is_ok()))?;
        }
        exchange.started(guard.id().cast_signed());
        Ok(Self {
            exchange,
            stderr: Stderr::new(Arc::clone(&redactor)),
            redactor,
            ending: Ending::new(options.times),
            guard,
            input: Some(input),
            is_writing: false,
            go_on,
            owes: false,
            lines: Some(Lines::new(options.message_bytes)),
        })
    }

    fn run(mut self, received: &Receiver<Event>) {
        while !self.ending.is_past_output() {
            self.obey();
            if self.ending.exit().is_none()
                && let Ok(Some(status)) = self.guard.try_wait()
            {
                self.ended(status.code());
            }
            match self.ending.due(Instant::now()) {
                Some(Step::GiveUp | Step::Kill | Step::Clear | Step::Terminate) => break,
                None => {}
            }
            let left =
                self.ending.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if let Ok(event) = received.recv_timeout(left.map_or(LOOK, |left| left.min(LOOK))) {
                self.take(event);
            }
        }
        self.input = None;
        // Its end closes the job.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        while let Ok(event) = received.recv_timeout(LOOK) {
            self.take(event);
        }
        self.exchange.end(End {
            reason: self.ending.reason().unwrap_or(Reason::GuardDied),
            exit: self.ending.exit(),
            stderr: self.stderr.finish(),
            message: String::new(),
        });
    }

    fn ended(&mut self, code: Option<i32>) {
        let now = Instant::now();
        if code == Some(agent_lifecycle_guard::NOT_RUN.cast_signed()) {
            self.ending.stop(Reason::SpawnFailed, now);
        } else if let Some(code) = code {
            self.ending.exited(Exit::Code(code), now);
        } else {
            self.ending.guard_gone();
        }
    }

    fn obey(&mut self) {
        let (orders, now) = (self.exchange.orders(), Instant::now());
        if orders.stop {
            self.ending.stop(Reason::Stopped, now);
        }
        if orders.close {
            self.ending.close(now);
        }
        if !self.is_writing
            && let Some(input) = &self.input
        {
            match self.exchange.next_message() {
                Some(message) => self.is_writing = input.send(message).is_ok(),
                None if self.ending.reason().is_some() => self.input = None,
                None => {}
            }
        }
        if self.owes && self.exchange.is_full() {
            self.ending.output_paused(now);
        } else if self.owes {
            self.owes = false;
            let _ = self.go_on.send(());
        }
    }

    fn take(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Wake => {}
            Event::Output(chunk) => {
                self.owes = true;
                self.said(|lines, emit| lines.push(&chunk, emit));
            }
            Event::OutputEnded => {
                self.said(|lines, emit| lines.end(emit));
                self.lines = None;
                self.ending.output_ended(now);
            }
            Event::Errors(chunk) => self.stderr.push(&chunk),
            Event::Written(length) => {
                self.is_writing = false;
                self.exchange.written(length);
            }
            Event::WriteFailed => {
                self.input = None;
                self.exchange.take_no_more();
                self.ending.write_failed(now);
            }
        }
    }

    fn said(
        &mut self,
        read: impl FnOnce(&mut Lines, &mut dyn FnMut(Piece<'_>)) -> Result<(), super::lines::TooLarge>,
    ) {
        let (exchange, redactor) = (self.exchange, &self.redactor);
        let Some(lines) = &mut self.lines else { return };
        let emit = &mut |piece: Piece<'_>| match piece {
            Piece::Message(text) => exchange.message(text),
            Piece::Noise(bytes) => exchange.noise(|| excerpt(bytes, redactor)),
        };
        if read(lines, emit).is_err() {
            self.lines = None;
            self.ending.stop(Reason::MessageTooLarge, Instant::now());
        }
    }
}

/// Reads until the end, or until nobody wants more.
fn read(mut pipe: impl Read, mut take: impl FnMut(Vec<u8>) -> bool) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk) {
        if !take(chunk[..count].to_vec()) {
            return;
        }
    }
}
