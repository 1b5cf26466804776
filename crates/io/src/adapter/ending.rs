//! How an adapter's process comes to its end: which cause was first, and what is to be done when.
//!
//! Input: what was seen of the process and asked for, each with its time. Output: the steps to take, and the next deadline.
//! Invariant: one cause, and every way leads to the end within the sum of the times. Never: reads a clock, touches a process.

use std::time::{Duration, Instant};

/// Why a process ended, the first cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was closed.
    Closed,
    /// It was stopped at once, for a cause that who stopped it knows.
    Stopped,
    /// It exited or was killed, unasked.
    Exited,
    /// It closed its output and did not exit.
    OutputEnded,
    /// A line over the limit.
    MessageTooLarge,
    /// Its input could not be written.
    WriteFailed,
    /// The program could not be run.
    SpawnFailed,
    /// The guard could not be run.
    GuardUnavailable,
    /// Its guard was ended by somebody else.
    GuardDied,
}

impl Reason {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Stopped => "stopped",
            Self::Exited => "exited",
            Self::OutputEnded => "output_ended",
            Self::MessageTooLarge => "message_too_large",
            Self::WriteFailed => "write_failed",
            Self::SpawnFailed => "spawn_failed",
            Self::GuardUnavailable => "guard_unavailable",
            Self::GuardDied => "guard_died",
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// How long each step may take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From an exit to the end of the output that others hold open, and from the end of the output to the exit.
    pub grace: Duration,
    /// From an exit that was asked for to the end of the output that others hold open: they are to end as well.
    pub closed_grace: Duration,
    /// From the order to close to SIGTERM.
    pub close: Duration,
    /// From SIGTERM to SIGKILL.
    pub terminate: Duration,
    /// From SIGKILL until nothing more is waited for; twice, for the guard's and the host's.
    pub kill: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let millis = Duration::from_millis;
        Self {
            grace: millis(2000),
            closed_grace: millis(100),
            close: millis(2000),
            terminate: millis(500),
            kill: millis(500),
        }
    }
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send SIGTERM to the group.
    Terminate,
    /// Tell the guard to kill all that is left.
    Clear,
    /// Kill the group without the guard's help.
    Kill,
    /// Wait for nothing any more.
    GiveUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// The output has ended, the program not yet.
    Silent,
    /// Its input is to be closed.
    Closing,
    /// The program has ended, its output not yet.
    Draining,
    Terminating,
    Clearing,
    Killing,
    Over,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Ending {
    times: Times,
    phase: Phase,
    deadline: Option<Instant>,
    step: Option<Step>,
    reason: Option<Reason>,
    exit: Option<Exit>,
    has_output_ended: bool,
}

impl Ending {
    pub(super) fn new(times: Times) -> Self {
        Self {
            times,
            phase: Phase::Running,
            deadline: None,
            step: None,
            reason: None,
            exit: None,
            has_output_ended: false,
        }
    }

    /// The first cause, once there is one.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.reason
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// When [`Self::due`] is to be asked again at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether nothing more is expected on the output.
    pub(super) fn is_past_output(&self) -> bool {
        self.phase >= Phase::Clearing
    }

    /// Its input is to be closed in order; what waits to be written still is.
    pub(super) fn close(&mut self, now: Instant) {
        self.reason.get_or_insert(Reason::Closed);
        self.advance(Phase::Closing, now + self.times.close, None);
    }

    /// Something that no closing in order would mend.
    pub(super) fn stop(&mut self, reason: Reason, now: Instant) {
        self.reason.get_or_insert(reason);
        let step = (self.exit.is_none()).then_some(Step::Terminate);
        match step {
            Some(_) => self.advance(Phase::Terminating, now + self.times.terminate, step),
            None => self.clear(now),
        }
    }

    /// Its input cannot be written any more. What it has said is still read.
    pub(super) fn write_failed(&mut self, now: Instant) {
        self.reason.get_or_insert(Reason::WriteFailed);
        self.advance(Phase::Closing, now + self.times.close, None);
    }

    pub(super) fn exited(&mut self, exit: Exit, now: Instant) {
        self.exit.get_or_insert(exit);
        self.reason.get_or_insert(Reason::Exited);
        if self.has_output_ended || self.phase >= Phase::Terminating {
            self.clear(now);
        } else {
            let is_closed = self.reason == Some(Reason::Closed);
            let until = now + if is_closed { self.times.closed_grace } else { self.times.grace };
            let until = self.deadline.map_or(until, |deadline| deadline.min(until));
            self.advance(Phase::Draining, until, None);
        }
    }

    pub(super) fn output_ended(&mut self, now: Instant) {
        self.has_output_ended = true;
        if self.exit.is_some() {
            self.clear(now);
        } else {
            self.advance(Phase::Silent, now + self.times.grace, None);
        }
    }

    /// Nobody reads what was read: what others still hold open is waited for anew.
    pub(super) fn output_paused(&mut self, now: Instant) {
        if self.phase == Phase::Draining {
            self.deadline = Some(now + self.times.grace);
        }
    }

    pub(super) fn guard_gone(&mut self) {
        self.reason.get_or_insert(Reason::GuardDied);
        self.phase = Phase::Over;
        self.deadline = None;
        self.step = None;
    }

    /// The step that is due, each once.
    pub(super) fn due(&mut self, now: Instant) -> Option<Step> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            match self.phase {
                Phase::Silent => self.stop(Reason::OutputEnded, now),
                Phase::Closing => {
                    self.advance(Phase::Terminating, now + self.times.terminate, Some(Step::Terminate));
                }
                Phase::Draining | Phase::Terminating => self.clear(now),
                Phase::Clearing => self.advance(Phase::Killing, now + self.times.kill, Some(Step::Kill)),
                Phase::Killing => {
                    self.phase = Phase::Over;
                    self.deadline = None;
                    self.step = Some(Step::GiveUp);
                }
                Phase::Running | Phase::Over => {}
            }
        }
        self.step.take()
    }

    fn clear(&mut self, now: Instant) {
        self.advance(Phase::Clearing, now + self.times.kill, Some(Step::Clear));
    }

    /// Never back: who is closing is not running again, and who was told to end has no second chance.
    fn advance(&mut self, phase: Phase, deadline: Instant, step: Option<Step>) {
        if phase > self.phase {
            self.phase = phase;
            self.deadline = Some(deadline);
            self.step = step;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::{Ending, Exit, Reason, Step, Times};

    /// Something that happens, at a time in milliseconds.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Close,
        Stop,
        WriteFailed,
        Exited,
        OutputEnded,
        Paused,
    }
    use Act::{Close, Exited, OutputEnded, Paused, Stop, WriteFailed};

    /// The steps with their times, until a minute is over.
    fn play(acts: &[(u64, Act)]) -> (Vec<(u64, Step)>, Option<Reason>) {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut ending = Ending::new(Times::default());
        let mut steps = Vec::new();
        for millis in 0..60_000 {
            for (_, act) in acts.iter().filter(|(when, _)| *when == millis) {
                match act {
                    Close => ending.close(at(millis)),
                    Stop => ending.stop(Reason::MessageTooLarge, at(millis)),
                    WriteFailed => ending.write_failed(at(millis)),
                    Exited => ending.exited(Exit::Code(7), at(millis)),
                    OutputEnded => ending.output_ended(at(millis)),
                    Paused => ending.output_paused(at(millis)),
                }
            }
            if let Some(step) = ending.due(at(millis)) {
                steps.push((millis, step));
            }
        }
        (steps, ending.reason())
    }

    #[test]
    fn the_first_cause_counts_and_steps_come_in_order_at_their_times() {
        use Step::{Clear, GiveUp, Kill, Terminate};
        let after = |at: u64| [(at, Clear), (at + 500, Kill), (at + 1000, GiveUp)];
        let terminated = |at: u64| [&[(at, Terminate)][..], &after(at + 500)].concat();
        for (acts, steps, reason) in [
            (&[][..], vec![], None),
            (&[(10, Close)], terminated(2010), Some(Reason::Closed)),
            (&[(10, Close), (1000, Close)], terminated(2010), Some(Reason::Closed)),
            (&[(10, Close), (50, Stop)], terminated(50), Some(Reason::Closed)),
            (&[(10, Stop), (20, Close)], terminated(10), Some(Reason::MessageTooLarge)),
            (&[(10, WriteFailed)], terminated(2010), Some(Reason::WriteFailed)),
            // The exit is known at once where the output ends; else others may hold it open for the grace.
            (&[(10, OutputEnded), (30, Exited)], after(30).to_vec(), Some(Reason::Exited)),
            (&[(10, Exited), (30, OutputEnded)], after(30).to_vec(), Some(Reason::Exited)),
            (&[(10, Exited)], after(2010).to_vec(), Some(Reason::Exited)),
            (&[(10, Exited), (1500, Paused)], after(3500).to_vec(), Some(Reason::Exited)),
            (&[(10, Paused)], vec![], None),
            (&[(10, OutputEnded)], terminated(2010), Some(Reason::OutputEnded)),
            (&[(10, WriteFailed), (20, Exited)], after(2010).to_vec(), Some(Reason::WriteFailed)),
            // A closed one that exits waits for nobody long, nor longer than it would have.
            (&[(10, Close), (1000, Exited)], after(1100).to_vec(), Some(Reason::Closed)),
            (&[(10, Close), (1990, Exited)], after(2010).to_vec(), Some(Reason::Closed)),
            (&[(10, Close), (20, Exited), (30, OutputEnded)], after(30).to_vec(), Some(Reason::Closed)),
            (&[(10, Exited), (20, Stop)], after(20).to_vec(), Some(Reason::Exited)),
            (
                &[(10, Stop), (200, Exited)],
                [&[(10, Terminate)][..], &after(200)].concat(),
                Some(Reason::MessageTooLarge),
            ),
        ] {
            assert_eq!(play(acts), (steps, reason), "{acts:?}");
        }
    }

    #[test]
    fn a_guard_that_is_gone_ends_it() {
        let now = Instant::now();
        let mut ending = Ending::new(Times::default());
        ending.stop(Reason::Stopped, now);
        ending.guard_gone();
        assert_eq!((ending.due(now + Duration::from_secs(9)), ending.deadline()), (None, None));
        assert_eq!(ending.reason(), Some(Reason::Stopped));
        let mut ending = Ending::new(Times::default());
        ending.guard_gone();
        assert_eq!(ending.reason(), Some(Reason::GuardDied));
    }

    proptest! {
        #[test]
        fn every_way_that_begins_ends(
            acts in prop::collection::vec(
                (0_u64..3000, prop::sample::select(vec![Close, Stop, WriteFailed, Exited, OutputEnded])),
                1..6,
            ),
        ) {
            let (steps, reason) = play(&acts);
            prop_assert!(reason.is_some());
            prop_assert_eq!(steps.last().map(|(_, step)| *step), Some(Step::GiveUp));
            let kinds: Vec<Step> = steps.iter().map(|(_, step)| *step).collect();
            let order = [Step::Terminate, Step::Clear, Step::Kill, Step::GiveUp];
            let places: Vec<usize> =
                kinds.iter().filter_map(|kind| order.iter().position(|known| known == kind)).collect();
            prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", kinds);
        }
    }
}
