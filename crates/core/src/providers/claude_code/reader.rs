//! One Claude Code journal: its lines, and the agents whose records are in it.
//!
//! Input: lines. Output: what they say, and whose they are. Invariant: a record belongs to the session and agent that it names or
//! was copied from, else to the ones that were named last. Never: keeps more than [`OWNERS`] agents apart.

use hashbrown::HashMap;

use super::head::whole_members;
use super::mapper::Mapper;
use super::record::{Record, filled, read};
use super::sidechains::Sidechains;
use crate::providers::ids::{fingerprint, fingerprint_all, id};
use crate::providers::say::parse_time;
use crate::providers::{Launches, Line, Mapped, Orphan, Owner, Reader, Recognized, RecordFault, Role};

/// Agents that one journal may hold; records of further ones are counted, not read.
const OWNERS: usize = 1024;
/// Sessions that one journal may hold.
const SESSIONS: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct JournalReader {
    role: Role,
    owners: Vec<Owner>,
    mappers: Vec<Mapper>,
    /// The places of owners by session and agent.
    places: HashMap<u64, usize>,
    /// The owners that are sessions.
    sessions: Vec<usize>,
    /// The owner of the last record that named a session.
    current: usize,
    sidechains: Sidechains,
}

impl JournalReader {
    /// A reader that has read nothing.
    #[must_use]
    pub fn new(recognized: &Recognized) -> Self {
        let Recognized { session_id, role, parent: _ } = recognized.clone();
        let mut reader = Self {
            role: role.clone(),
            owners: Vec::new(),
            mappers: Vec::new(),
            places: HashMap::new(),
            sessions: Vec::new(),
            current: 0,
            sidechains: Sidechains::new(),
        };
        reader.add(session_id, role);
        reader
    }

    fn add(&mut self, session_id: String, role: Role) -> usize {
        let at = self.owners.len();
        if role == Role::Root {
            self.sessions.push(at);
        }
        self.places.insert(place(&session_id, &role), at);
        self.mappers.push(Mapper::new(role.clone()));
        self.owners.push(Owner::new(session_id, role));
        at
    }

    /// The place of an owner, a new one where there is room.
    fn owner(&mut self, session_id: &str, role: Role) -> Option<usize> {
        if let Some(known) = self.places.get(&place(session_id, &role)) {
            return Some(*known);
        }
        let has_room = self.owners.len() < OWNERS && (role != Role::Root || self.sessions.len() < SESSIONS);
        has_room.then(|| self.add(session_id.to_owned(), role))
    }

    /// The session of a record: the one that it was copied from, names, or repeats a record of.
    fn session(&self, record: &Record<'_>) -> Option<String> {
        let named = record.session_id().and_then(id);
        if let Some(origin) = record.copied_from().and_then(id) {
            return Some(origin);
        }
        let uuid = filled(&record.uuid).map(fingerprint);
        let first = self
            .sessions
            .iter()
            .find(|at| uuid.is_some_and(|uuid| self.sessions.len() > 1 && self.mappers[**at].has_read(uuid)));
        first.map(|at| self.owners[*at].session_id.clone()).or(named)
    }

    /// The agent of a record, as far as it tells.
    fn agent(&mut self, session_id: &str, record: &Record<'_>) -> Agent {
        let named = record.agent_id().and_then(id);
        match (&self.role, named) {
            // In a sub-agent's own journal, what tells nothing else is its own.
            (Role::Child { agent_id }, named) => {
                let is_other = named.as_ref().is_some_and(|named| named != agent_id);
                match named.filter(|_| is_other && record.is_sidechain()) {
                    Some(agent_id) => Agent::Known(Role::Child { agent_id }),
                    None if record.is_main() && record.agent_id().is_none() => Agent::Known(Role::Root),
                    None => Agent::Known(self.role.clone()),
                }
            }
            (Role::Root, _) if !record.is_sidechain() => Agent::Known(Role::Root),
            (Role::Root, Some(agent_id)) => Agent::Known(Role::Child { agent_id }),
            (Role::Root, None) => match self.sidechains.of(session_id, record) {
                Some(agent_id) => Agent::Known(Role::Child { agent_id }),
                None => Agent::Lost,
            },
        }
    }

    /// Whose a record is, and whether what it says can be told of anybody.
    fn place(&mut self, record: &Record<'_>) -> Option<(usize, bool)> {
        let Some(session_id) = self.session(record) else { return Some((self.current, true)) };
        let (role, is_told) = match self.agent(&session_id, record) {
            Agent::Known(role) => (role, true),
            Agent::Lost => (Role::Root, false),
        };
        let is_below = role != Role::Root && self.role == Role::Root;
        let known = self.owners.len();
        let owner = self.owner(&session_id, role)?;
        if is_below {
            let session = self.places.get(&place(&session_id, &Role::Root)).copied();
            if let Some(session) = session.filter(|_| owner == known) {
                let prompt = self.mappers[session].context_prompt;
                self.mappers[owner].context_prompt = prompt;
            }
        } else if is_told && record.copied_from().is_none() {
            self.current = owner;
        }
        Some((owner, is_told))
    }
}

/// Who wrote a record.
enum Agent {
    Known(Role),
    /// Some sub-agent; which one is not known.
    Lost,
}

fn place(session_id: &str, role: &Role) -> u64 {
    let agent = match role {
        Role::Root => "",
        Role::Child { agent_id } => agent_id,
    };
    fingerprint_all([session_id, "\0", agent])
}

impl Reader for JournalReader {
    fn read(
        &mut self,
        line: &[u8],
        offset: u64,
        is_elsewhere: &dyn Fn(&str) -> bool,
        out: &mut Vec<Mapped>,
    ) -> Result<Line, RecordFault> {
        read(line, |record| {
            let own = &self.owners[0].session_id;
            let session = record.copied_from().or(record.session_id());
            if session.is_some_and(|session| session != own && is_elsewhere(session)) {
                return Line::Elsewhere;
            }
            let Some((owner, is_told)) = self.place(record) else { return Line::Beyond };
            self.owners[owner].records += 1;
            self.owners[owner].unknown_records += u64::from(!record.is_known());
            if is_told {
                self.mappers[owner].record(record, offset, out);
            }
            Line::Read {
                owner,
                record: record.known_type().unwrap_or("other"),
                time: record.timestamp().and_then(parse_time),
            }
        })
    }

    fn read_head(&mut self, head: &[u8], offset: u64, out: &mut Vec<Mapped>) -> Option<Line> {
        let whole = whole_members(head)?;
        let line = read(&whole, |record| {
            let (owner, is_told) = self.place(record)?;
            let says = is_told && self.mappers[owner].head(record, offset, out);
            says.then(|| {
                self.owners[owner].records += 1;
                let record_type = record.known_type().unwrap_or("other");
                Line::Read { owner, record: record_type, time: record.timestamp().and_then(parse_time) }
            })
        });
        line.ok().flatten()
    }

    fn owners(&self) -> &[Owner] {
        &self.owners
    }

    fn launches(&mut self, owner: usize) -> Option<&mut Launches> {
        self.mappers.get_mut(owner).map(|mapper| &mut mapper.launches)
    }

    fn orphan(&self, owner: usize) -> Option<Orphan> {
        self.mappers.get(owner)?.orphan()
    }
}
