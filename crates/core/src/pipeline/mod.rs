//! The journals of sessions through the whole pipeline: bytes -> records -> agent events -> events -> projection.
//!
//! Input: journals, and their bytes in batches. Output: the projection, and what became of every event.
//! Invariant: one batch or many, the same journals give the same records. Never: reads a file or a clock.

mod again;
mod bind;
mod elsewhere;
mod journal;
mod parents;
mod settle;
mod stream;
mod tell;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::bridge::{Bridge, Content, Session};
use crate::contract::limits::LINE_BYTES;
use crate::contract::{Capabilities, Capability, Refusal};
use crate::decode::parser::{line, log_json_fault};
use crate::decode::{DiagnosticCode, DiagnosticLog, Frame, Framer};
use crate::project::explain::{Explainer, Explanation};
use crate::project::rows::{Beside, BesideAll};
use crate::project::{Applied, Config, Projector};
use crate::providers::{Line, Provider, Recognized, RecordFault, Told, native_id};

pub use tell::Telling;

pub use settle::Part;
pub use stream::StreamId;

use journal::{Binding, Dated, Journal, Pending, Track, name};
use settle::apply;

/// The constant epoch of sessions on disk: their journals have no sequences that could start anew.
pub const FILE_EPOCH: &str = "file";
/// Records of unknown type, of a hundred, above which a row is degraded.
const DEGRADED_PERCENT: u64 = 20;

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
    /// Their places by provider and id.
    places: HashMap<(&'static str, String), usize>,
    /// Sessions that are read elsewhere.
    elsewhere: Arc<HashSet<String>>,
    waiting: usize,
    beside: BesideAll,
    again: Vec<JournalId>,
    /// Whether the projection began with what an earlier process knew.
    is_restored: bool,
    /// Whether items are remembered, so that a journal that is read anew says nothing twice.
    remembers_items: bool,
    explainer: Explainer,
}

#[derive(Debug)]
struct SessionState {
    id: String,
    bridge: Bridge,
    /// Its journals' tracks: the place of the journal, and of the owner in it.
    tracks: Vec<(usize, usize)>,
    /// Whether it has something to settle.
    is_pending: bool,
    /// Whether hooks speak of it.
    has_hooks: bool,
    /// What was said of sub-agents whose launch is not known yet.
    unplaced: Vec<Dated>,
    /// Whether its journals say again what was said before, in this process or an earlier one.
    is_repeated: bool,
    /// Items that were taken, by name, where an agent of the session has several journals: copies repeat records.
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
            places: HashMap::new(),
            elsewhere: Arc::default(),
            waiting: 0,
            beside: BesideAll::new(),
            again: Vec::new(),
            is_restored: false,
            remembers_items: false,
            explainer: Explainer::default(),
        }
    }

    /// What it has taken so far is what an earlier process knew: sessions that are read from now on may say it again.
    #[must_use]
    pub fn restored(mut self) -> Self {
        self.is_restored = true;
        self
    }

    /// Remembers every item, so that a journal that is replaced by the same, or by more of it, says nothing twice.
    pub fn remember_items(&mut self) {
        self.remembers_items = true;
    }

    /// Names sessions that are read elsewhere, from journals of their own: their records in other journals are passed over.
    pub fn leave_to_others(&mut self, sessions: Arc<HashSet<String>>) {
        self.elsewhere = sessions;
    }

    /// Adds a journal of `provider`, and what stands beside it.
    pub fn add_journal(
        &mut self,
        path: impl Into<String>,
        provider: &'static dyn Provider,
        recognized: Recognized,
        told: Told,
    ) -> JournalId {
        let reader = provider.reader(&recognized, told.clone());
        self.journals.push(Journal {
            path: path.into(),
            provider,
            recognized,
            told,
            reader,
            framer: Framer::new(LINE_BYTES),
            log: DiagnosticLog::default(),
            tracks: Vec::new(),
            skipped: 0,
            read: 0,
            read_before: 0,
            again: Vec::new(),
        });
        let at = self.journals.len() - 1;
        self.add_tracks(at);
        JournalId(at)
    }

    /// Takes the next bytes of a journal. Their events are made by the next [`settle`](Self::settle).
    pub fn push(&mut self, journal: JournalId, chunk: &[u8]) {
        let JournalId(at) = journal;
        let Some(journal) = self.journals.get_mut(at) else { return };
        let mut framer = std::mem::replace(&mut journal.framer, Framer::new(LINE_BYTES));
        let mut mapped = Vec::new();
        framer.push(chunk, &mut |frame| {
            let journal = &mut self.journals[at];
            if let Some(track) = journal.tracks.first() {
                self.sessions[track.session].is_pending = true;
            }
            let elsewhere = &self.elsewhere;
            let (bytes, place, read) = match (line(&frame, &mut journal.log), frame) {
                (Some((bytes, place)), _) => {
                    let is_elsewhere = |id: &str| elsewhere.contains(id);
                    (bytes, place, journal.reader.read(bytes, place.0, &is_elsewhere, &mut mapped))
                }
                (None, Frame::Oversize { offset, length, head }) => {
                    let Some(read) = journal.reader.read_head(head, offset, &mut mapped) else { return };
                    (head, (offset, length), Ok(read))
                }
                (None, _) => return,
            };
            let (owner, record, time) = match read {
                Ok(Line::Read { owner, record, time }) => (owner, record, time),
                Ok(Line::Elsewhere) => return,
                Ok(Line::Beyond) => {
                    journal.skipped += 1;
                    return;
                }
                Err(RecordFault::Json(fault)) => {
                    return log_json_fault(&mut journal.log, fault, place, bytes);
                }
                Err(RecordFault::NotAnObject) => {
                    let message = "the line is JSON but no object";
                    return journal.log.add(DiagnosticCode::InvalidEvent, message, place, bytes, false);
                }
            };
            if owner >= journal.tracks.len() {
                self.add_tracks(at);
            }
            let journal = &mut self.journals[at];
            journal.read = place.0 + 1;
            if journal.is_known(owner, place.0) {
                journal.tracks[owner].note_time(time);
                return mapped.clear();
            }
            let track = &mut journal.tracks[owner];
            let session = &mut self.sessions[track.session];
            track.note_time(time);
            self.waiting += mapped.len();
            session.is_pending = true;
            let Some(role) = journal.reader.owners().get(owner).map(|owner| &owner.role) else { return };
            let named = mapped.drain(..).map(|mapped| {
                let name = name(&session.id, role, &mapped, bytes);
                let at = mapped.context.time.clone().or_else(|| track.last_time.clone());
                Pending { mapped, record, name, at, place: track.highest }
            });
            track.pending.extend(named);
        });
        self.journals[at].framer = framer;
    }

    /// Ends a journal: what no line end closed is reported.
    pub fn end(&mut self, journal: JournalId) {
        if let Some(Journal { framer, log, tracks, .. }) = self.journals.get_mut(journal.0) {
            if let Some(track) = tracks.first() {
                self.sessions[track.session].is_pending = true;
            }
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

    /// The projection.
    #[must_use]
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// The projection, to be asked with a time.
    pub fn projector_mut(&mut self) -> &mut Projector {
        &mut self.projector
    }

    /// The sessions whose journals it has: provider's name and id.
    pub fn sessions(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.places.keys().cloned()
    }

    /// What stands beside a journal, where that has changed: a launch that is named now takes the journal over.
    pub fn tell_beside_journal(&mut self, journal: JournalId, told: Told) {
        let Some(journal) = self.journals.get_mut(journal.0) else { return };
        if journal.told != told {
            journal.told = told;
            for track in &journal.tracks {
                self.sessions[track.session].is_pending = true;
            }
        }
    }

    /// What a journal was recognised as.
    #[must_use]
    pub fn recognized(&self, journal: JournalId) -> Option<&Recognized> {
        self.journals.get(journal.0).map(|journal| &journal.recognized)
    }

    /// Whether a sub-agent's journal has no launch yet.
    #[must_use]
    pub fn is_unattributed(&self, journal: JournalId) -> bool {
        let tracks = self.journals.get(journal.0).map(|journal| &journal.tracks);
        tracks.into_iter().flatten().any(|track| matches!(track.binding, Binding::Unattributed(_)))
    }

    /// What stands behind the state of a child.
    #[must_use]
    pub fn explain(&self, source: &str, child_id: &str) -> Option<Explanation> {
        let record = self.projector.record(source, child_id)?;
        Some(
            self.explainer
                .explain(record, |journal| self.journals.get(journal).map(|journal| journal.path.clone())),
        )
    }

    /// What each journal was found to be, in the order in which they were added.
    #[must_use]
    pub fn reports(&self) -> Vec<JournalReport> {
        self.journals.iter().map(|journal| journal.report(&self.sessions)).collect()
    }

    /// What the journals tell of the children beside their events, as of the last [`settle`](Self::settle).
    #[must_use]
    pub fn beside(&self) -> &BesideAll {
        &self.beside
    }

    /// The projection, and what the journals tell beside it.
    pub fn projection(&mut self) -> (&mut Projector, &BesideAll) {
        (&mut self.projector, &self.beside)
    }

    fn tell_beside(&mut self, session: usize) {
        let has_hooks = self.sessions[session].has_hooks;
        let mut journals: Vec<usize> = self.sessions[session].tracks.iter().map(|(at, _)| *at).collect();
        journals.dedup();
        for at in journals {
            let JournalReport { path, children, diagnostics, records, unknown_records } =
                self.journals[at].report(&self.sessions);
            let degraded = unknown_records * 100 > records * DEGRADED_PERCENT;
            for child in children {
                let transcript = Some(path.clone());
                let (diagnostics, permission_waits) = (diagnostics.clone(), has_hooks);
                self.beside.insert(child, Beside { transcript, diagnostics, degraded, permission_waits });
            }
        }
        self.tell_guesses(session);
        self.projector.touch(self.sessions[session].bridge.source());
    }

    /// Faults of all journals with their places, in the order in which the journals were added.
    pub fn diagnostics(&self) -> impl Iterator<Item = (&str, &DiagnosticLog)> {
        self.journals.iter().map(|journal| (journal.path.as_str(), &journal.log))
    }

    /// The places of sessions that have something to settle.
    fn pending_sessions(&self) -> Vec<usize> {
        (0..self.sessions.len()).filter(|&session| self.sessions[session].is_pending).collect()
    }

    /// Gives each owner of a journal's reader its track.
    fn add_tracks(&mut self, at: usize) {
        let journal = &mut self.journals[at];
        let provider = journal.provider.name();
        for owner in &journal.reader.owners()[journal.tracks.len()..] {
            let place = (provider, owner.session_id.clone());
            let session = *self.places.entry(place).or_insert_with(|| {
                let session = Session {
                    source: format!("{provider}/{}", native_id(&owner.session_id).unwrap_or_default()),
                    provider: provider.to_owned(),
                    session_id: owner.session_id.clone(),
                    epoch: FILE_EPOCH.to_owned(),
                    content: self.content,
                    external: true,
                    capabilities: Capabilities { history: Capability::Known, ..Capabilities::default() },
                };
                self.sessions.push(SessionState {
                    id: owner.session_id.clone(),
                    bridge: Bridge::new(session),
                    tracks: Vec::new(),
                    is_pending: false,
                    has_hooks: false,
                    unplaced: Vec::new(),
                    is_repeated: self.is_restored,
                    taken: HashSet::new(),
                });
                self.sessions.len() - 1
            });
            self.sessions[session].tracks.push((at, journal.tracks.len()));
            journal.tracks.push(Track::new(session, &owner.role));
        }
    }
}
