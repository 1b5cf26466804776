//! One journal on its way: its lines, its sessions, and the times of what they say.
//!
//! Input: mapped items in the order of the journal. Output: items with a time and a place among those of other journals.
//! Invariant: the order inside a journal stays. Never: believes a time beyond the present.

use std::borrow::Cow;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::{JournalReport, SessionState};
use crate::contract::{Moment, Timestamp};
use crate::decode::{DiagnosticLog, Framer};
use crate::providers::Mapped;
use crate::providers::claude_code::{Mapper, Recognized, Role};

#[derive(Debug)]
pub(super) struct Journal {
    pub(super) path: String,
    pub(super) recognized: Recognized,
    /// The launch that a file beside the journal names.
    pub(super) launch: Option<String>,
    pub(super) framer: Framer,
    pub(super) log: DiagnosticLog,
    pub(super) tracks: Vec<Track>,
    /// The track of the last record that named a session.
    pub(super) current: usize,
    pub(super) skipped: u64,
}

/// The records of one session in one journal.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) session: usize,
    pub(super) mapper: Mapper,
    /// The sub-agent's id in the projection, for a sub-agent's journal that is placed.
    pub(super) child: Option<String>,
    pub(super) pending: Vec<Pending>,
    /// The first and the last time that a record of it had, whether or not it said anything.
    pub(super) first_time: Option<Timestamp<'static>>,
    pub(super) last_time: Option<Timestamp<'static>>,
    /// The highest time so far.
    pub(super) highest: Option<Moment>,
    /// The last time that was believed, and the highest place so far.
    pub(super) believed: Option<Timestamp<'static>>,
    pub(super) placed: Option<Moment>,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) mapped: Mapped,
    pub(super) name: u128,
    /// Its own time, else the last one before it.
    pub(super) at: Option<Timestamp<'static>>,
    /// The highest time so far.
    pub(super) place: Option<Moment>,
}

/// Names an item among all of its session: by the record's uuid, else by its place and line.
pub(super) fn name(session_id: &str, role: &Role, mapped: &Mapped, line: &[u8]) -> u128 {
    let mut hasher = SipHasher13::new();
    let mut part = |bytes: &[u8]| {
        hasher.write_usize(bytes.len());
        hasher.write(bytes);
    };
    part(session_id.as_bytes());
    if let Some(uuid) = &mapped.context.uuid {
        part(uuid.as_bytes());
    } else {
        match role {
            Role::Root => part(b""),
            Role::Child { agent_id } => part(agent_id.as_bytes()),
        }
        part(&mapped.context.offset.to_le_bytes());
        part(line);
    }
    part(&mapped.context.index.to_le_bytes());
    hasher.finish128().as_u128()
}

/// A pending item with its time.
pub(super) struct Dated {
    pub(super) mapped: Mapped,
    pub(super) name: u128,
    pub(super) child: Option<String>,
    pub(super) at: Timestamp<'static>,
    pub(super) estimated: bool,
    pub(super) place: Moment,
}

impl Track {
    pub(super) fn new(session: usize, role: Role) -> Self {
        Self {
            session,
            mapper: Mapper::new(role),
            child: None,
            pending: Vec::new(),
            first_time: None,
            last_time: None,
            highest: None,
            believed: None,
            placed: None,
        }
    }

    pub(super) fn note_time(&mut self, time: Option<&str>) {
        let Some(time) = time.and_then(|text| Timestamp::parse(Cow::Borrowed(text))) else { return };
        self.highest = self.highest.max(Some(time.moment()));
        self.last_time = Some(time.to_static());
        self.first_time.get_or_insert_with(|| time.to_static());
    }

    /// Moves what is pending to `out` with its time: a record's own, else the last of its journal, else the first that follows. A
    /// time beyond `now` is none.
    pub(super) fn date(&mut self, fallback: Moment, now: Option<Moment>, out: &mut Vec<Dated>) {
        let is_past = |at: Moment| now.is_none_or(|now| at <= now);
        let is_believed = |at: &Timestamp<'_>| is_past(at.moment());
        let later = self.pending.iter().find_map(|pending| pending.at.clone().filter(is_believed));
        let first = self.first_time.clone().filter(is_believed).or(later);
        for Pending { mapped, name, at, place } in self.pending.drain(..) {
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
            out.push(Dated { mapped, name, child: self.child.clone(), at, estimated, place });
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
        let own = self.tracks.iter().filter(|track| *track.mapper.role() == Role::Root);
        let beyond: u64 = own.map(|track| sessions[track.session].bridge.beyond()).sum();
        if beyond > 0 {
            diagnostics.insert("too_many_children", beyond);
        }
        let children = self.tracks.iter().filter(|track| track.mapper.records() > 0).map(|track| {
            let session = &sessions[track.session];
            (session.bridge.source().to_owned(), track.child.clone().unwrap_or_else(|| session.id.clone()))
        });
        let unknown_records = self.tracks.iter().map(|track| track.mapper.unknown_records()).sum();
        if unknown_records > 0 {
            diagnostics.insert("unknown_record", unknown_records);
        }
        JournalReport {
            path: self.path.clone(),
            children: children.collect(),
            diagnostics,
            records: self.tracks.iter().map(|track| track.mapper.records()).sum(),
            unknown_records,
        }
    }
}
