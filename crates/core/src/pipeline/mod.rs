//! The journals of sessions through the whole pipeline: bytes -> records -> agent events -> events -> projection.
//!
//! Input: journals, and their bytes in batches. Output: the projection, and what became of every event.
//! Invariant: one batch or many, the same journals give the same records. Never: reads a file or a clock.

mod bind;
mod journal;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::bridge::{Bridge, Content, Item, Scope, Session};
use crate::contract::limits::LINE_BYTES;
use crate::contract::{Event, Moment, Refusal};
use crate::decode::parser::{line, log_json_fault};
use crate::decode::{DiagnosticCode, DiagnosticLog, Framer};
use crate::project::rows::{Beside, BesideAll};
use crate::project::{Applied, Config, Projector};
use crate::providers::claude_code::{Recognized, RecordFault, Role, read};

use journal::{Dated, Journal, Pending, Track, name};

/// The constant epoch of sessions on disk: their journals have no sequences that could start anew.
pub const FILE_EPOCH: &str = "file";
/// The name of the provider, the first part of its sources.
pub const PROVIDER: &str = "claude-code";
/// Records of unknown type, of a hundred, above which a row is degraded.
const DEGRADED_PERCENT: u64 = 20;
/// Items remembered of a session with several journals of its own.
const REPEATS: usize = 4 * 1024 * 1024;
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
    /// Sessions that are read elsewhere.
    elsewhere: Arc<HashSet<String>>,
    waiting: usize,
}

#[derive(Debug)]
struct SessionState {
    id: String,
    bridge: Bridge,
    /// Items that were taken, by name, where the session has several journals of its own: copies repeat records.
    taken: HashSet<u128>,
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
        Self {
            projector: Projector::new(config),
            content,
            journals: Vec::new(),
            sessions: Vec::new(),
            elsewhere: Arc::default(),
            waiting: 0,
        }
    }

    /// Names sessions that are read elsewhere, from journals of their own: their records in other journals are passed over.
    pub fn leave_to_others(&mut self, sessions: Arc<HashSet<String>>) {
        self.elsewhere = sessions;
    }

    /// Adds a journal. `launch` is the launch that a file beside it names (`toolUseId` of `agent-<id>.meta.json`).
    pub fn add_journal(
        &mut self,
        path: impl Into<String>,
        recognized: Recognized,
        launch: Option<String>,
    ) -> JournalId {
        let session = session_index(&recognized.session_id, &mut self.sessions, self.content);
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
        let Self { journals, sessions, content, elsewhere, waiting, .. } = self;
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
                    if *recognized.session_id != *session_id && elsewhere.contains(session_id) {
                        return;
                    }
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
            *waiting += mapped.len();
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
        self.waiting
    }

    /// Makes events of everything that was pushed, merged by time over the journals of each session, and applies them.
    /// `fallback` is the time of records for which their journals give none. With `now`, a time beyond it is not
    /// believed: the record takes the last one that is.
    pub fn settle(
        &mut self,
        fallback: Moment,
        now: Option<Moment>,
        on_event: &mut impl FnMut(&Event<'_>, &Outcome),
    ) {
        self.bind_journals();
        self.waiting = 0;
        let mut order: Vec<usize> = (0..self.journals.len()).collect();
        order.sort_by(|&left, &right| self.journals[left].path.cmp(&self.journals[right].path));
        for session in 0..self.sessions.len() {
            let mut merged = Vec::new();
            let mut own_journals = 0;
            for &journal in &order {
                for track in self.journals[journal].tracks.iter_mut().filter(|track| track.session == session)
                {
                    own_journals += usize::from(*track.mapper.role() == Role::Root);
                    track.date(fallback, now, &mut merged);
                }
            }
            // Stable, and each journal's places ascend: the order inside a journal and of equal places stays.
            merged.sort_by_key(|dated| dated.place);
            let SessionState { bridge, taken, .. } = &mut self.sessions[session];
            for dated in &merged {
                if own_journals > 1 && taken.len() < REPEATS && !taken.insert(dated.name) {
                    continue;
                }
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
                    let outcome = projector.apply_once(&event, ahead.map(|now| now.min(fallback)));
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
}

fn session_index(id: &str, sessions: &mut Vec<SessionState>, content: Content) -> usize {
    sessions.iter().position(|session| session.id == id).unwrap_or_else(|| {
        let session = Session {
            provider: PROVIDER.to_owned(),
            session_id: id.to_owned(),
            epoch: FILE_EPOCH.to_owned(),
            content,
        };
        sessions.push(SessionState {
            id: id.to_owned(),
            bridge: Bridge::new(session),
            taken: HashSet::new(),
        });
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
