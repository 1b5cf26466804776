//! The items of one record, with their contexts.
//!
//! Input: what the mapper says. Output: [`Mapped`] items, numbered. Invariant: indexes count from 0 without a gap.
//! Never: decides anything.

use std::borrow::Cow;

use super::ids::id;
use super::record::{Record, filled};
use crate::agent::AgentEvent;
use crate::contract::{Moment, Timestamp};
use crate::providers::{Context, Mapped, Said};
use crate::text::fit;

/// See the module.
pub(super) struct Say<'o> {
    out: &'o mut Vec<Mapped>,
    offset: u64,
    uuid: Option<String>,
    time: Option<Timestamp<'static>>,
    index: u32,
    has_event: bool,
    /// The turn that the items belong to from here on.
    pub(super) turn: Option<String>,
}

impl<'o> Say<'o> {
    pub(super) fn new(record: &Record<'_>, offset: u64, out: &'o mut Vec<Mapped>) -> Self {
        let time = record.timestamp().and_then(|text| Timestamp::parse(Cow::Borrowed(text)));
        Self {
            out,
            offset,
            uuid: filled(&record.uuid).and_then(id),
            time: time.map(|time| time.to_static()),
            index: 0,
            has_event: false,
            turn: None,
        }
    }

    pub(super) fn moment(&self) -> Option<Moment> {
        self.time.as_ref().map(Timestamp::moment)
    }

    pub(super) fn event(&mut self, event: AgentEvent) {
        self.has_event = true;
        self.said(Said::Event(event));
    }

    pub(super) fn said(&mut self, said: Said) {
        let context = Context {
            offset: self.offset,
            uuid: self.uuid.clone(),
            index: self.index,
            time: self.time.clone(),
            turn_id: self.turn.clone(),
        };
        self.index += 1;
        self.out.push(Mapped { context, said });
    }

    /// Says that there was activity, where the record gave no event.
    pub(super) fn activity_unless_event(&mut self) {
        if !self.has_event {
            self.said(Said::Activity);
        }
    }
}

/// `text` within `limit`; `None` for a blank one.
pub(super) fn cut(text: &str, limit: usize) -> Option<String> {
    let text = fit(text.trim(), limit);
    (!text.is_empty()).then(|| text.to_owned())
}
