//! What waits for a journal's thread.
//!
//! Input: requests of any thread. Output: groups of appends and single tasks, in their order.
//! Invariant: what waits is bounded, and whatever is accepted is answered, also when the thread ends early.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::engine::Engine;
use super::fault::{Fault, FaultCode};
use super::line::Draft;
use super::worker::Appended;
use crate::lock::Notice;

/// Events and bytes that may wait.
const WAITING_EVENTS: usize = 65_536;
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that are written at once, about.
const GROUP_BYTES: usize = 1024 * 1024;
/// Notices that are kept until somebody asks.
const NOTICES: usize = 32;

/// Something that the thread does with the journal.
pub(super) type Task = Box<dyn FnOnce(&mut Engine) + Send>;
type Done = Box<dyn FnOnce(Vec<Appended>) + Send>;

/// Events that somebody waits for.
pub(super) struct Append {
    drafts: Vec<Draft>,
    answered: Vec<Appended>,
    done: Option<Done>,
    /// The how-manieth it is.
    arrival: u64,
    path: PathBuf,
}

impl Append {
    pub(super) fn new(path: &Path, drafts: Vec<Draft>, done: Done) -> Self {
        Self { drafts, answered: Vec::new(), done: Some(done), arrival: 0, path: path.to_owned() }
    }

    /// Answers all that is not answered yet.
    pub(super) fn refuse(mut self, fault: &Fault) {
        self.answered.resize(self.drafts.len(), Err(fault.clone()));
    }

    fn bytes(&self) -> usize {
        self.drafts.iter().map(Draft::size).sum()
    }
}

impl Drop for Append {
    fn drop(&mut self) {
        let Some(done) = self.done.take() else { return };
        let mut answered = std::mem::take(&mut self.answered);
        // Left over only where the thread ended early.
        let fault = Fault::dropped(&self.path);
        answered.resize(self.drafts.len(), Err(fault));
        done(answered);
    }
}

enum Request {
    Append(Append),
    Task(Task),
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    events: usize,
    bytes: usize,
    arrivals: u64,
    is_closed: bool,
    /// Whether the thread has ended, and whom to tell when it does.
    has_ended: bool,
    at_end: Vec<Box<dyn FnOnce() + Send>>,
    notices: Vec<Notice>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the thread does next.
pub(super) enum Next {
    Append,
    Task(Task),
    End,
}

/// Appends that are written at once: whole requests, or a part of a large one.
pub(super) struct Group {
    appends: Vec<Append>,
    /// Of each, the drafts that are in this group.
    ranges: Vec<std::ops::Range<usize>>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts an append, or gives it back.
    pub(super) fn append(&self, mut append: Append) -> Result<(), (Append, FaultCode)> {
        let mut state = self.state();
        if state.is_closed {
            return Err((append, FaultCode::Closed));
        }
        let (events, bytes) = (append.drafts.len(), append.bytes());
        // One that is too large by itself is taken when nothing else waits.
        let is_full = state.events + events > WAITING_EVENTS || state.bytes + bytes > WAITING_BYTES;
        if is_full && state.events > 0 {
            return Err((append, FaultCode::Busy));
        }
        append.arrival = state.arrivals;
        state.arrivals += 1;
        state.events += events;
        state.bytes += bytes;
        state.requests.push_back(Request::Append(append));
        self.changed.notify_one();
        Ok(())
    }

    /// Accepts a task, or drops it.
    pub(super) fn task(&self, task: Task) -> bool {
        let mut state = self.state();
        if state.is_closed {
            // Not under the lock: what is dropped may answer somebody.
            drop(state);
            drop(task);
            return false;
        }
        state.requests.push_back(Request::Task(task));
        self.changed.notify_one();
        true
    }

    /// How many appends have come so far.
    pub(super) fn arrivals(&self) -> u64 {
        self.state().arrivals
    }

    /// Accepts nothing more; what waits is still done.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Calls `done` when the thread has ended, or now if it has.
    pub(super) fn at_end(&self, done: Box<dyn FnOnce() + Send>) {
        let mut state = self.state();
        if !state.has_ended {
            return state.at_end.push(done);
        }
        drop(state);
        done();
    }

    /// The thread has ended.
    pub(super) fn end(&self) {
        let waiting = {
            let mut state = self.state();
            state.has_ended = true;
            std::mem::take(&mut state.at_end)
        };
        for done in waiting {
            done();
        }
    }

    /// Waits for something to do.
    pub(super) fn next(&self) -> Next {
        let mut state = self.state();
        loop {
            match state.requests.pop_front() {
                Some(Request::Task(task)) => return Next::Task(task),
                Some(append) => {
                    state.requests.push_front(append);
                    return Next::Append;
                }
                None if state.is_closed => return Next::End,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// The appends at the front; none where something else is there.
    pub(super) fn group(&self) -> Option<Group> {
        self.group_before(u64::MAX)
    }

    /// The appends at the front that came before the `arrival`th.
    pub(super) fn group_before(&self, arrival: u64) -> Option<Group> {
        let mut state = self.state();
        let mut group = Group { appends: Vec::new(), ranges: Vec::new() };
        let mut bytes = 0;
        while let Some(Request::Append(append)) = state.requests.front() {
            if bytes >= GROUP_BYTES || append.arrival >= arrival {
                break;
            }
            let Some(Request::Append(append)) = state.requests.pop_front() else { break };
            let start = append.answered.len();
            let mut end = start;
            while end < append.drafts.len() && bytes < GROUP_BYTES {
                bytes += append.drafts[end].size();
                end += 1;
            }
            group.ranges.push(start..end);
            group.appends.push(append);
        }
        (!group.appends.is_empty()).then_some(group)
    }

    /// Answers the appends of a group with the number of its first event, or why it failed.
    pub(super) fn answer(&self, group: Group, outcome: &Result<u64, Fault>) {
        let mut number = outcome.as_ref().copied().unwrap_or(0);
        for (mut append, range) in group.appends.into_iter().zip(group.ranges) {
            let count = range.len();
            match outcome {
                Ok(_) => {
                    append.answered.extend((0..count as u64).map(|at| Ok(number + at)));
                    number += count as u64;
                }
                // What is left of a large append would come after a hole.
                Err(fault) => append.answered.resize(append.drafts.len(), Err(fault.clone())),
            }
            let is_whole = append.answered.len() == append.drafts.len();
            let mut state = self.state();
            if is_whole {
                state.events -= append.drafts.len();
                state.bytes -= append.bytes();
                drop(state);
                if let Some(done) = append.done.take() {
                    done(std::mem::take(&mut append.answered));
                }
            } else {
                state.requests.push_front(Request::Append(append));
            }
        }
    }

    /// Keeps notices for whoever asks.
    pub(super) fn note(&self, notices: Vec<Notice>) {
        let kept = &mut self.state().notices;
        for notice in notices {
            if kept.len() < NOTICES && !kept.contains(&notice) {
                kept.push(notice);
            }
        }
    }

    pub(super) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state().notices)
    }
}

impl Group {
    /// Whether a request has more than is in this group.
    pub(super) fn is_partial(&self) -> bool {
        self.appends.iter().zip(&self.ranges).any(|(append, range)| range.end < append.drafts.len())
    }

    /// The drafts, in order.
    pub(super) fn drafts(&self) -> Vec<&Draft> {
        self.appends
            .iter()
            .zip(&self.ranges)
            .flat_map(|(append, range)| &append.drafts[range.clone()])
            .collect()
    }
}
