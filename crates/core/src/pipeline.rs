//! The journals of sessions through the whole pipeline: bytes -> records -> agent events -> events -> projection.
//!
//! Input: journals, and their bytes in batches. Output: the projection, and what became of every event.
//! Invariant: one batch or many, the same journals give the same records. Never: reads a file or a clock.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::bridge::{Bridge, Content, Item, Scope, Session};
use crate::contract::limits::LINE_BYTES;
use crate::contract::{Event, Moment, Refusal, Timestamp};
use crate::decode::parser::{line, log_json_fault};
use crate::decode::{DiagnosticCode, DiagnosticLog, Framer};
use crate::project::rows::{Beside, BesideAll};
use crate::project::{Applied, Config, Projector};
use crate::providers::Mapped;
use crate::providers::claude_code::{Mapper, Recognized, RecordFault, Role, read};

/// The constant epoch of sessions on disk: their journals have no sequences that could start anew.
pub const FILE_EPOCH: &str = "file";
/// The name of the provider, the first part of its sources.
pub const PROVIDER: &str = "claude-code";
/// Records of unknown type, of a hundred, above which a row is degraded.
const DEGRADED_PERCENT: u64 = 20;
/// Sessions that one journal may name; records of further ones are counted, not read.
const SESSIONS_PER_JOURNAL: usize = 64;

/// Names a journal of one pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalId(usize);

/// See the module.
#[derive(Debug)]
pub struct Pipeline {
    projector: Projector,
    content: Content,
    journals: Vec<Journal>,
    sessions: Vec<SessionState>,
}

#[derive(Debug)]
struct SessionState {
    id: String,
    bridge: Bridge,
}

#[derive(Debug)]
struct Journal {
    path: String,
    recognized: Recognized,
    /// The launch that a file beside the journal names.
    launch: Option<String>,
    framer: Framer,
    log: DiagnosticLog,
    tracks: Vec<Track>,
    /// The track of the last record that named a session.
    current: usize,
    skipped: u64,
}

/// The records of one session in one journal.
#[derive(Debug)]
struct Track {
    session: usize,
    mapper: Mapper,
    /// The sub-agent's id in the projection, for a sub-agent's journal that is placed.
    child: Option<String>,
    pending: Vec<Pending>,
    /// The first and the last time that a record of it had, whether or not it said anything.
    first_time: Option<Timestamp<'static>>,
    last_time: Option<Timestamp<'static>>,
    /// The highest time so far.
    highest: Option<Moment>,
}

#[derive(Debug)]
struct Pending {
    mapped: Mapped,
    name: u128,
    /// Its own time, else the last one before it.
    at: Option<Timestamp<'static>>,
    /// The highest time so far.
    place: Option<Moment>,
}

/// What became of an event.
pub type Outcome = Result<Applied, Refusal>;

/// What a journal was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalReport {
    /// Its path.
    pub path: String,
    /// The child that it is the journal of: source and child id, for each session in it.
    pub children: Vec<(String, String)>,
    /// Faults by their code.
    pub diagnostics: BTreeMap<&'static str, u64>,
    /// Records read.
    pub records: u64,
    /// Records of a type that the provider does not know.
    pub unknown_records: u64,
}

impl Pipeline {
    /// An empty pipeline.
    #[must_use]
    pub fn new(config: Config, content: Content) -> Self {
        Self { projector: Projector::new(config), content, journals: Vec::new(), sessions: Vec::new() }
    }

    /// Adds a journal. `launch` is the launch that a file beside it names (`toolUseId` of `agent-<id>.meta.json`).
    pub fn add_journal(
        &mut self,
        path: impl Into<String>,
        recognized: Recognized,
        launch: Option<String>,
    ) -> JournalId {
        let session = self.session(&recognized.session_id);
        let track = Track::new(session, recognized.role.clone());
        self.journals.push(Journal {
            path: path.into(),
            recognized,
            launch,
            framer: Framer::new(LINE_BYTES),
            log: DiagnosticLog::default(),
            tracks: vec![track],
            current: 0,
            skipped: 0,
        });
        JournalId(self.journals.len() - 1)
    }

    /// Takes the next bytes of a journal. Their events are made by the next [`settle`](Self::settle).
    pub fn push(&mut self, journal: JournalId, chunk: &[u8]) {
        let Self { journals, sessions, content, .. } = self;
        let Some(Journal { recognized, framer, log, tracks, current, skipped, .. }) =
            journals.get_mut(journal.0)
        else {
            return;
        };
        let mut mapped = Vec::new();
        framer.push(chunk, &mut |frame| {
            let Some((bytes, place)) = line(&frame, log) else { return };
            let read = read(bytes, |record| {
                if let Some(session_id) = record.session_id() {
                    let Some(track) = track_of(session_id, &recognized.role, tracks, sessions, *content)
                    else {
                        *skipped += 1;
                        return;
                    };
                    *current = track;
                }
                let track = &mut tracks[*current];
                track.note_time(record.timestamp());
                track.mapper.record(record, place.0, &mut mapped);
            });
            match read {
                Ok(()) => {}
                Err(RecordFault::Json(fault)) => log_json_fault(log, fault, place, bytes),
                Err(RecordFault::NotAnObject) => {
                    log.add(
                        DiagnosticCode::InvalidEvent,
                        "the line is JSON but no object",
                        place,
                        bytes,
                        false,
                    );
                }
            }
            let track = &mut tracks[*current];
            let named = mapped.drain(..).map(|mapped| {
                let name = name(&sessions[track.session].id, track.mapper.role(), &mapped, bytes);
                let at = mapped.context.time.clone().or_else(|| track.last_time.clone());
                Pending { mapped, name, at, place: track.highest }
            });
            track.pending.extend(named);
        });
    }

    /// Ends a journal: what no line end closed is reported.
    pub fn end(&mut self, journal: JournalId) {
        if let Some(Journal { framer, log, .. }) = self.journals.get_mut(journal.0) {
            framer.end(&mut |frame| {
                line(&frame, log);
            });
        }
    }

    /// Items that wait for [`settle`](Self::settle).
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.journals.iter().flat_map(|journal| &journal.tracks).map(|track| track.pending.len()).sum()
    }

    /// Makes events of everything that was pushed, merged by time over the journals of each session, and applies them.
    /// `fallback` is the time of records for which their journals give none. With `now`, a record from the future is evidence no later
    /// than that, nor than `fallback`.
    pub fn settle(
        &mut self,
        fallback: Moment,
        now: Option<Moment>,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        self.bind_journals();
        let mut order: Vec<usize> = (0..self.journals.len()).collect();
        order.sort_by(|&left, &right| self.journals[left].path.cmp(&self.journals[right].path));
        for session in 0..self.sessions.len() {
            let mut merged = Vec::new();
            for &journal in &order {
                for track in self.journals[journal].tracks.iter_mut().filter(|track| track.session == session)
                {
                    track.date(fallback, &mut merged);
                }
            }
            // Stable, and each journal's places ascend: the order inside a journal and of equal places stays.
            merged.sort_by_key(|dated| dated.place);
            let bridge = &mut self.sessions[session].bridge;
            for dated in &merged {
                let Dated { mapped, name, child, at, estimated, .. } = dated;
                let item = Item {
                    scope: child.as_deref().map_or(Scope::Root, Scope::Child),
                    name: *name,
                    at: at.clone(),
                    estimated: *estimated,
                    turn_id: mapped.context.turn_id.as_deref(),
                    said: &mapped.said,
                };
                let projector = &mut self.projector;
                bridge.take(&item, &mut |event| {
                    let ahead = now.filter(|now| event.observed_at.moment() > *now);
                    let outcome = projector.apply(&event, ahead.map(|now| now.min(fallback)));
                    on_event(&event, &outcome);
                });
            }
        }
    }

    /// The projection.
    #[must_use]
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// The projection, to be asked with a time.
    pub fn projector_mut(&mut self) -> &mut Projector {
        &mut self.projector
    }

    /// What each journal was found to be, in the order in which they were added.
    #[must_use]
    pub fn reports(&self) -> Vec<JournalReport> {
        self.journals.iter().map(|journal| journal.report(&self.sessions)).collect()
    }

    /// What the journals tell of the children beside their events.
    #[must_use]
    pub fn beside(&self) -> BesideAll {
        let mut all = BesideAll::new();
        for JournalReport { path, children, diagnostics, records, unknown_records } in self.reports() {
            let degraded = unknown_records * 100 > records * DEGRADED_PERCENT;
            for child in children {
                let transcript = Some(path.clone());
                all.insert(child, Beside { transcript, diagnostics: diagnostics.clone(), degraded });
            }
        }
        all
    }

    /// Faults of all journals with their places, in the order in which the journals were added.
    pub fn diagnostics(&self) -> impl Iterator<Item = (&str, &DiagnosticLog)> {
        self.journals.iter().map(|journal| (journal.path.as_str(), &journal.log))
    }

    fn session(&mut self, id: &str) -> usize {
        session_index(id, &mut self.sessions, self.content)
    }

    /// Finds the launch of each sub-agent's journal: what a file beside it names, else what a result names, else an equal prompt.
    fn bind_journals(&mut self) {
        for session in 0..self.sessions.len() {
            let mut orphans = Vec::new();
            for journal in 0..self.journals.len() {
                for at in 0..self.journals[journal].tracks.len() {
                    let track = &self.journals[journal].tracks[at];
                    if track.session != session || track.child.is_some() {
                        continue;
                    }
                    let Role::Child { agent_id } = track.mapper.role().clone() else { continue };
                    let launch = self.journals[journal].launch.clone();
                    if let Some(launch) = &launch {
                        for mapper in self.mappers(session) {
                            mapper.bind(launch, &agent_id);
                        }
                    }
                    let bound = launch.or_else(|| {
                        self.mappers(session)
                            .find_map(|mapper| mapper.launch_of(&agent_id).map(str::to_owned))
                    });
                    let track = &mut self.journals[journal].tracks[at];
                    match bound {
                        Some(launch) => track.child = Some(launch),
                        None => orphans.extend(track.mapper.orphan()),
                    }
                }
            }
            let claimed: Vec<_> = self.mappers(session).flat_map(|mapper| mapper.claim(&orphans)).collect();
            for track in self.journals.iter_mut().flat_map(|journal| &mut journal.tracks) {
                let Role::Child { agent_id } = track.mapper.role() else { continue };
                if track.session == session && track.child.is_none() && !track.pending.is_empty() {
                    let launch = claimed.iter().find(|(claimant, _)| claimant == agent_id);
                    // Without a launch it is shown all the same, as itself.
                    track.child = Some(launch.map_or_else(|| agent_id.clone(), |(_, launch)| launch.clone()));
                }
            }
        }
    }

    fn mappers(&mut self, session: usize) -> impl Iterator<Item = &mut Mapper> {
        let tracks = self.journals.iter_mut().flat_map(|journal| &mut journal.tracks);
        tracks.filter(move |track| track.session == session).map(|track| &mut track.mapper)
    }
}

fn session_index(id: &str, sessions: &mut Vec<SessionState>, content: Content) -> usize {
    sessions.iter().position(|session| session.id == id).unwrap_or_else(|| {
        let session = Session {
            provider: PROVIDER.to_owned(),
            session_id: id.to_owned(),
            epoch: FILE_EPOCH.to_owned(),
            content,
        };
        sessions.push(SessionState { id: id.to_owned(), bridge: Bridge::new(session) });
        sessions.len() - 1
    })
}

/// The track of a session in a journal; a further session of the journal gets one, as far as there is room.
fn track_of(
    session_id: &str,
    role: &Role,
    tracks: &mut Vec<Track>,
    sessions: &mut Vec<SessionState>,
    content: Content,
) -> Option<usize> {
    let known = tracks.iter().position(|track| sessions[track.session].id == session_id);
    if known.is_none() && tracks.len() < SESSIONS_PER_JOURNAL {
        let session = session_index(session_id, sessions, content);
        tracks.push(Track::new(session, role.clone()));
        return Some(tracks.len() - 1);
    }
    known
}

/// Names an item among all of its session: by the record's uuid, else by its place and line.
fn name(session_id: &str, role: &Role, mapped: &Mapped, line: &[u8]) -> u128 {
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
struct Dated {
    mapped: Mapped,
    name: u128,
    child: Option<String>,
    at: Timestamp<'static>,
    estimated: bool,
    place: Moment,
}

impl Track {
    fn new(session: usize, role: Role) -> Self {
        Self {
            session,
            mapper: Mapper::new(role),
            child: None,
            pending: Vec::new(),
            first_time: None,
            last_time: None,
            highest: None,
        }
    }

    fn note_time(&mut self, time: Option<&str>) {
        let Some(time) = time.and_then(|text| Timestamp::parse(Cow::Borrowed(text))) else { return };
        self.highest = self.highest.max(Some(time.moment()));
        self.last_time = Some(time.to_static());
        self.first_time.get_or_insert_with(|| time.to_static());
    }

    /// Moves what is pending to `out` with its time: a record's own, else the last of its journal, else the first that follows.
    fn date(&mut self, fallback: Moment, out: &mut Vec<Dated>) {
        for Pending { mapped, name, at, place } in self.pending.drain(..) {
            let known = at.or_else(|| self.first_time.clone());
            let estimated = known.is_none();
            let at = known.unwrap_or_else(|| fallback.into());
            let place = place.unwrap_or_else(|| at.moment());
            out.push(Dated { mapped, name, child: self.child.clone(), at, estimated, place });
        }
    }
}

impl Journal {
    fn report(&self, sessions: &[SessionState]) -> JournalReport {
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
