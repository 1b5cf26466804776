//! The items of one record, with their contexts.
//!
//! Input: what the mapper says. Output: [`Mapped`] items, numbered. Invariant: indexes count from 0 without a gap.
//! Never: decides anything.

use std::borrow::Cow;

use super::ids::id;
use super::{Context, Mapped, Said};
use crate::agent::AgentEvent;
use crate::contract::{Moment, Timestamp};
use crate::text::fit;

/// The record that items are made of.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Where its line begins.
    pub(super) offset: u64,
    /// Its own id, as written.
    pub(super) uuid: Option<&'a str>,
    /// Its time, as written.
    pub(super) time: Option<&'a str>,
}

/// A time as records have it, where it is one.
pub(super) fn parse_time(text: &str) -> Option<Timestamp<'static>> {
    Timestamp::parse(Cow::Borrowed(text)).map(|time| time.to_static())
}

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
    pub(super) fn new(record: Source<'_>, out: &'o mut Vec<Mapped>) -> Self {
        let Source { offset, uuid, time } = record;
        Self {
            out,
            offset,
            uuid: uuid.and_then(id),
            time: time.and_then(parse_time),
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
