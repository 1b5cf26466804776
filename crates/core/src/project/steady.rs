//! The time that silence is measured by, which a clock that is set and a machine that sleeps do not move.
//!
//! Input: readings of the wall clock and of a monotonic one. Output: the present time, and whether the wall clock jumped.
//! Invariant: between jumps, time passes as the monotonic clock says. Never: reads a clock.

use crate::contract::Moment;

/// Milliseconds by which the clocks may drift apart between two readings.
const TOLERANCE_MS: i64 = 5_000;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    wall: Moment,
    monotonic_ms: i64,
}

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The present time.
    pub now: Moment,
    /// Whether the wall clock jumped since the last reading: what was silent before is to be given a fresh window.
    pub jumped: bool,
}

impl Steady {
    /// Starts with both clocks as they are.
    #[must_use]
    pub fn new(wall: Moment, monotonic_ms: i64) -> Self {
        Self { wall, monotonic_ms }
    }

    /// Takes the clocks as they are now.
    pub fn read(&mut self, wall: Moment, monotonic_ms: i64) -> Reading {
        let expected = self.wall.plus_millis(monotonic_ms.saturating_sub(self.monotonic_ms).max(0));
        let is_near = |one: Moment, other: Moment| one <= other.plus_millis(TOLERANCE_MS);
        let jumped = !(is_near(wall, expected) && is_near(expected, wall));
        let now = if jumped { wall } else { expected };
        *self = Self { wall: now, monotonic_ms: self.monotonic_ms.max(monotonic_ms) };
        Reading { now, jumped }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reading, Steady};
    use crate::contract::Moment;

    #[test]
    fn only_a_jump_moves_time_otherwise() {
        let at = Moment::from_unix_millis;
        let mut steady = Steady::new(at(1_000_000), 50);
        for (wall, monotonic, now, jumped) in [
            (1_002_000, 2_050, 1_002_000, false),
            // Drift is smoothed away.
            (1_003_900, 3_050, 1_003_000, false),
            (1_002_500, 4_050, 1_004_000, false),
            // Eight hours of sleep, then a clock that is set back.
            (29_806_000, 6_050, 29_806_000, true),
            (29_807_000, 7_050, 29_807_000, false),
            (1_000_000, 8_050, 1_000_000, true),
            // A monotonic clock never goes back; one that does stands still.
            (1_000_000, 8_000, 1_000_000, false),
            (1_001_000, 9_050, 1_001_000, false),
        ] {
            let expected = Reading { now: at(now), jumped };
            assert_eq!(steady.read(at(wall), monotonic), expected, "{wall} {monotonic}");
        }
    }
}
