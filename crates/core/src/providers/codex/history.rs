//! Which records of a journal are another thread's, copied when it began.
//!
//! Input: the first `session_meta`, then records. Output: whether a record is a copy. Invariant: what was once live stays so.
//! Never: takes a record for live before one has shown that the copies are over.

use super::shapes::Payload;
use crate::contract::Moment;
use crate::providers::shape::Shape;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Whether copies may come.
    is_open: bool,
    /// The second in which the thread began, where that is known.
    began: Option<i64>,
    /// Whether another thread's `session_meta` was read.
    has_copies: bool,
}

impl History {
    /// What the first record tells; `time` is the record's own.
    pub(super) fn of(meta: &Payload<'_>, time: Option<Moment>) -> Self {
        let is_spawned = matches!(&meta.source, Shape(Some(origin))
            if matches!(&origin.subagent, Shape(Some(subagent)) if subagent.thread_spawn.0.is_some()));
        let is_forked = meta.forked_from_id.text().is_some_and(|id| !id.trim().is_empty());
        let began = meta.timestamp.text().and_then(Moment::parse).or(time);
        Self { is_open: is_spawned || is_forked, began: began.map(second), has_copies: false }
    }

    /// Another `session_meta` than the first.
    pub(super) fn another_meta(&mut self) {
        self.has_copies = true;
    }

    /// Whether a record that starts no turn is a copy.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the start of a turn is a copy. The first that is none ends the history. An older version gives it no `started_at`;
    /// the time of its record then tells, unless copies are known to be there: their records may be dated anew.
    pub(super) fn holds_start(&mut self, start: &Payload<'_>, time: Option<Moment>) -> bool {
        if !self.is_open {
            return false;
        }
        let started = start.started_at.safe_integer().and_then(|second| i64::try_from(second).ok());
        let started = started.or_else(|| time.filter(|_| !self.has_copies).map(second));
        let is_live = match (self.began, started) {
            (Some(began), Some(started)) => started >= began,
            (None, _) | (_, None) => !self.has_copies,
        };
        self.is_open = !is_live;
        self.is_open
    }
}

fn second(moment: Moment) -> i64 {
    moment.millis_since(Moment::from_unix_millis(0)).div_euclid(1000)
}
