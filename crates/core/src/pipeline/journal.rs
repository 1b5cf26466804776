//! One journal on its way: its lines, its sessions, and the times of what they say.
//!
//! Input: mapped items in the order of the journal. Output: items with a time and a place among those of other journals.
//! Invariant: the order inside a journal stays. Never: believes a time beyond the present.

use super::{JournalReport, SessionState};
use crate::bridge::item_name;
use crate::contract::{Moment, Timestamp};
use crate::decode::{DiagnosticLog, Framer};
use crate::providers::{Context, Mapped, Provider, Reader, Recognized, Role, Told};

#[derive(Debug)]
pub(super) struct Journal {
    pub(super) path: String,
    pub(super) provider: &'static dyn Provider,
    pub(super) recognized: Recognized,
    pub(super) told: Told,
    pub(super) reader: Box<dyn Reader>,
    pub(super) framer: Framer,
    pub(super) log: DiagnosticLog,
    /// One for each owner of the reader.
    pub(super) tracks: Vec<Track>,
    pub(super) skipped: u64,
    /// What was read: beyond the first byte of the last line.
    pub(super) read: u64,
    /// How far it was read before it was to be read again, for the owners at these places.
    pub(super) read_before: u64,
    pub(super) again: Vec<usize>,
}

/// The records of one agent in one journal.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) session: usize,
    pub(super) binding: Binding,
    pub(super) pending: Vec<Pending>,
    /// Whether nothing but an equal prompt binds it.
    pub(super) is_by_prompt: bool,
    /// Whether its launch is to be read before anything of it is shown.
    pub(super) is_held: bool,
    /// The first and the last time that a record of it had, whether or not it said anything.
    pub(super) first_time: Option<Timestamp<'static>>,
    pub(super) last_time: Option<Timestamp<'static>>,
    /// The highest time so far.
    pub(super) highest: Option<Moment>,
    /// The last time that was believed, and the highest place so far.
    pub(super) believed: Option<Timestamp<'static>>,
    pub(super) placed: Option<Moment>,
}

/// Which child of its session the records are of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Binding {
    /// The session's own.
    Own,
    /// A sub-agent's whose launch is not known yet; nothing was shown.
    Unknown,
    /// A sub-agent's that was shown as itself, for want of a launch.
    Unattributed(String),
    /// The sub-agent's with this id.
    Bound(String),
}

impl Binding {
    /// The sub-agent's id in the projection.
    pub(super) fn child(&self) -> Option<&str> {
        match self {
            Self::Own | Self::Unknown => None,
            Self::Unattributed(child) | Self::Bound(child) => Some(child),
        }
    }
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) mapped: Mapped,
    /// The type of its record.
    pub(super) record: &'static str,
    pub(super) name: u128,
    /// Its own time, else the last one before it.
    pub(super) at: Option<Timestamp<'static>>,
    /// The highest time so far.
    pub(super) place: Option<Moment>,
}

/// Names an item among all of its session: by the record's uuid, else by its place and line.
pub(super) fn name(session_id: &str, role: &Role, mapped: &Mapped, line: &[u8]) -> u128 {
    let Context { uuid, offset, index, .. } = &mapped.context;
    let (session, index) = (session_id.as_bytes(), index.to_le_bytes());
    match (uuid, role) {
        (Some(uuid), _) => item_name(&[session, uuid.as_bytes(), &index]),
        (None, Role::Root) => item_name(&[session, b"", &offset.to_le_bytes(), line, &index]),
        (None, Role::Child { agent_id }) => {
            item_name(&[session, agent_id.as_bytes(), &offset.to_le_bytes(), line, &index])
        }
    }
}

/// A pending item with its time.
#[derive(Debug)]
pub(super) struct Dated {
    pub(super) mapped: Mapped,
    pub(super) record: &'static str,
    pub(super) name: u128,
    /// The place of its journal.
    pub(super) journal: usize,
    pub(super) child: Option<String>,
    pub(super) at: Timestamp<'static>,
    pub(super) estimated: bool,
    pub(super) place: Moment,
}

impl Track {
    pub(super) fn new(session: usize, role: &Role) -> Self {
        Self {
            session,
            binding: if *role == Role::Root { Binding::Own } else { Binding::Unknown },
            pending: Vec::new(),
            is_by_prompt: false,
            is_held: false,
            first_time: None,
            last_time: None,
            highest: None,
            believed: None,
            placed: None,
        }
    }

    pub(super) fn forget_times(&mut self) {
        self.first_time = None;
        self.last_time = None;
        self.highest = None;
        self.believed = None;
        self.placed = None;
    }

    pub(super) fn note_time(&mut self, time: Option<Timestamp<'static>>) {
        let Some(time) = time else { return };
        self.highest = self.highest.max(Some(time.moment()));
        self.first_time.get_or_insert_with(|| time.clone());
        self.last_time = Some(time);
    }

    /// Moves what is pending to `out` with its time: a record's own, else the last of its journal, else the first that follows. A
    /// time beyond `now` is none. With `before` only what belongs before that time is moved, and what has a time.
    pub(super) fn date(
        &mut self,
        journal: usize,
        fallback: Moment,
        now: Option<Moment>,
        before: Option<Moment>,
        out: &mut Vec<Dated>,
    ) {
        let is_past = |at: Moment| now.is_none_or(|now| at <= now);
        let is_believed = |at: &Timestamp<'_>| is_past(at.moment());
        let later = self.pending.iter().find_map(|pending| pending.at.clone().filter(is_believed));
        let first = self.first_time.clone().filter(is_believed).or(later);
        let ready = before.map_or(self.pending.len(), |before| {
            let is_before = |pending: &Pending| {
                pending.place.or(first.as_ref().map(Timestamp::moment)).is_some_and(|place| place < before)
            };
            self.pending.iter().position(|pending| !is_before(pending)).unwrap_or(self.pending.len())
        });
        for Pending { mapped, record, name, at, place } in self.pending.drain(..ready) {
            let believed = at.filter(is_believed).or_else(|| self.believed.clone());
            self.believed.clone_from(&believed);
            let known = believed.or_else(|| first.clone());
            let estimated = known.is_none();
            let at = known.unwrap_or_else(|| fallback.into());
            self.placed = self
                .placed
                .max(place.filter(|place| is_past(*place)))
                .max((!estimated).then_some(at.moment()));
            let place = self.placed.unwrap_or_else(|| at.moment());
            let child = self.binding.child().map(str::to_owned);
            out.push(Dated { mapped, record, name, journal, child, at, estimated, place });
        }
    }
}

impl Journal {
    pub(super) fn report(&self, sessions: &[SessionState]) -> JournalReport {
        let mut diagnostics = self.log.counts().clone();
        if self.skipped > 0 {
            diagnostics.insert("too_many_sessions", self.skipped);
        }
        // Told once for a session, by the journal that is the session's own.
        let own = self.tracks.iter().filter(|track| track.binding == Binding::Own);
        let beyond: u64 = own.map(|track| sessions[track.session].bridge.beyond()).sum();
        if beyond > 0 {
            diagnostics.insert("too_many_children", beyond);
        }
        let owners = self.reader.owners();
        let children =
            self.tracks.iter().zip(owners).filter(|(_, owner)| owner.records > 0).map(|(track, _)| {
                let session = &sessions[track.session];
                let bridge = &session.bridge;
                let child = track.binding.child().map(|id| bridge.child_name(id));
                let child = child.as_deref().unwrap_or_else(|| bridge.root_name());
                (bridge.source().to_owned(), bridge.newest_life(child))
            });
        let unknown_records = owners.iter().map(|owner| owner.unknown_records).sum();
        if unknown_records > 0 {
            diagnostics.insert("unknown_record", unknown_records);
        }
        JournalReport {
            path: self.path.clone(),
            children: children.collect(),
            diagnostics,
            records: owners.iter().map(|owner| owner.records).sum(),
            unknown_records,
        }
    }
}
