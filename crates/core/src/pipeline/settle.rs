//! What was pushed becomes events: all of it, or the part before which no journal has more to say.
//!
//! Input: items of a session's journals, each journal's in its order. Output: events, applied in the order of time.
//! Invariant: parts that are settled one after the other give what all of it gives. Never: shows an agent whose launch is still to be read.

use std::collections::HashSet;

use super::journal::{Binding, Dated};
use super::{JournalId, Outcome, Pipeline, SessionState};
use crate::bridge::{Item, Scope};
use crate::contract::{Event, Kind, Moment, State};
use crate::project::explain::{Origin, Place};
use crate::project::{Applied, Projector, Record};

/// Items remembered of a session of which an agent has several journals.
const REPEATS: usize = 4 * 1024 * 1024;

/// How much of what was pushed is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it: the journals were read to their present ends.
    All,
    /// What belongs before this time, or at any with `None`, but for agents whose launch is not read: more follows.
    Before(Option<Moment>),
}

impl Pipeline {
    /// The newest time that a journal has told.
    #[must_use]
    pub fn newest(&self, journal: JournalId) -> Option<Moment> {
        self.journals.get(journal.0)?.tracks.iter().filter_map(|track| track.highest).max()
    }

    /// Whether nothing more of a journal is to be read before others, because its agent's launch has not been read.
    #[must_use]
    pub fn is_held(&self, journal: JournalId) -> bool {
        self.journals.get(journal.0).is_some_and(|journal| journal.tracks.iter().any(|track| track.is_held))
    }

    /// Makes events of everything that was pushed, merged by time over the journals of each session, and applies them. Of a session of
    /// which journals are to be [read again](Self::take_again) nothing is told before they were.
    /// `fallback` is the time of records for which their journals give none. With `now`, a time beyond it is not
    /// believed: the record takes the last one that is.
    pub fn settle(
        &mut self,
        fallback: Moment,
        now: Option<Moment>,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        self.settle_part(Part::All, fallback, now, on_event);
    }

    /// Does [`settle`](Self::settle) for a part of what was pushed.
    pub fn settle_part(
        &mut self,
        part: Part,
        fallback: Moment,
        now: Option<Moment>,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        self.bind_journals(part);
        let unread = self.sessions_to_be_read_again();
        self.waiting = 0;
        for session in self.pending_sessions() {
            if unread.contains(&session) {
                // What is read again belongs between what waits.
                let tracks = self.sessions[session].tracks.iter();
                self.waiting +=
                    tracks.map(|&(at, owner)| self.journals[at].tracks[owner].pending.len()).sum::<usize>();
                continue;
            }
            let mut merged = Vec::new();
            let (mut agents, mut has_copies) = (HashSet::new(), false);
            let state = &mut self.sessions[session];
            state.is_pending = false;
            state.tracks.sort_by(|left, right| {
                let path = |at: usize| &self.journals[at].path;
                path(left.0).cmp(path(right.0)).then(left.cmp(right))
            });
            let before = match part {
                Part::All => None,
                Part::Before(time) => time,
            };
            for &(journal, owner) in &state.tracks {
                let track = &mut self.journals[journal].tracks[owner];
                has_copies |= track.binding != Binding::Unknown && !agents.insert(track.binding.clone());
                if !track.is_held {
                    track.date(journal, fallback, now, before, &mut merged);
                }
                self.waiting += track.pending.len();
                state.is_pending |= !track.pending.is_empty();
            }
            self.place_elsewhere(session, &mut merged);
            // Stable, and each journal's places ascend: the order inside a journal and of equal places stays.
            merged.sort_by_key(|dated| dated.place);
            let state = &mut self.sessions[session];
            let SessionState { bridge, taken, is_repeated, .. } = state;
            let is_first = !*is_repeated;
            if has_copies || self.remembers_items {
                merged.retain(|dated| taken.len() >= REPEATS || taken.insert(dated.name));
            }
            for (at, dated) in merged.iter().enumerate() {
                let Dated { mapped, record, name, journal, child, at: time, estimated, .. } = dated;
                let (journal, record, offset) = (*journal, *record, mapped.context.offset);
                let item = Item {
                    scope: child.as_deref().map_or(Scope::Root, Scope::Child),
                    name: *name,
                    at: time.clone(),
                    estimated: *estimated,
                    place: Some(dated.place),
                    turn_id: mapped.context.turn_id.as_deref(),
                    said: &mapped.said,
                };
                // Only the projection knows what authorities said.
                if let Some((id, life)) = bridge.may_renew(&item)
                    && let Some(record) = self.projector.record(bridge.source(), &life)
                    && let Some(ended_at) = record.ended_at()
                {
                    bridge.end(&id, record.state, ended_at);
                }
                let (projector, explainer, is_restored) =
                    (&mut self.projector, &mut self.explainer, self.is_restored);
                let place = Place::Journal(journal, offset);
                let mut emit = |event: Event<'static>| {
                    if is_restored && let Some(forgotten) = forget_guess(projector, &event) {
                        // Told before what comes in its place.
                        for correction in projector.take_corrections() {
                            on_event(&correction, &Ok(forgotten));
                        }
                    }
                    let ahead = now.filter(|now| event.observed_at.moment() > *now);
                    let received_at = ahead.map(|now| now.min(fallback));
                    let outcome = apply(projector, &event, received_at, is_first);
                    explainer.note(&event, &outcome, Origin { place, record }, received_at);
                    on_event(&event, &outcome);
                };
                let next = merged.get(at + 1);
                let ends_record =
                    next.is_none_or(|next| (next.journal, next.mapped.context.offset) != (journal, offset));
                bridge.take(&item, ends_record, &mut emit);
                if next.is_none() {
                    bridge.conclude(&mut emit);
                }
            }
            let is_misread = bridge.take_misread();
            self.tell_beside(session);
            if is_misread && !self.is_judged(session) {
                self.read_session_again(session);
            }
        }
    }

    /// Marks the agents whose launch a further part may tell.
    pub(super) fn hold_back(&mut self, session: usize, part: Part) {
        for (at, owner) in self.sessions[session].tracks.clone() {
            let journal = &mut self.journals[at];
            let can_launch = journal.reader.launches(owner).is_some();
            let track = &journal.tracks[owner];
            let launch = match &track.binding {
                Binding::Bound(launch) => Some(launch.clone()),
                _ => None,
            };
            let is_waiting =
                part != Part::All && track.binding != Binding::Own && can_launch && !track.pending.is_empty();
            let mut is_read = false;
            if is_waiting && let Some(launch) = &launch {
                self.each_launcher(session, |launches| is_read |= launches.knows(launch));
            }
            let track = &mut self.journals[at].tracks[owner];
            let is_shown = matches!(track.binding, Binding::Unattributed(_));
            track.is_held = is_waiting && !is_read && !is_shown;
        }
    }
}

/// Drops what an earlier process knew of a child whose launch it did not read, where the launch names another parent: the journals say
/// the rest again. What that process concluded to be lost stays.
fn forget_guess(projector: &mut Projector, event: &Event<'_>) -> Option<Applied> {
    let is_inferred = event.details.as_ref().is_some_and(|details| details.get("inferred").is_some());
    if event.kind != Kind::Created || is_inferred {
        return None;
    }
    let is_other = |record: &Record| {
        record.state != State::Lost && record.lineage.parent_child_id != event.lineage.parent_child_id
    };
    projector.record(&event.source, &event.child_id).filter(|record| is_other(record))?;
    projector.removed(&event.source, &event.child_id)
}

/// Applies an event of the bridge.
pub(super) fn apply(
    projector: &mut Projector,
    event: &Event<'_>,
    received_at: Option<Moment>,
    is_first: bool,
) -> Outcome {
    if is_first { projector.apply_once(event, received_at) } else { projector.apply(event, received_at) }
}
