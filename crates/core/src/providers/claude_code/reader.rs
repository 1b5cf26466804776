//! One Claude Code journal: its lines, and the agents whose records are in it.
//!
//! Input: lines. Output: what they say, and whose they are. Invariant: a record belongs to the session that it names, else to the
//! one that was named last. Never: keeps more than [`OWNERS`] agents apart.

use super::mapper::Mapper;
use super::record::{Record, read};
use crate::providers::ids::id;
use crate::providers::say::parse_time;
use crate::providers::{Launches, Line, Mapped, Orphan, Owner, Reader, Recognized, RecordFault, Role};

/// Agents that one journal may hold; records of further ones are counted, not read.
const OWNERS: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct JournalReader {
    role: Role,
    owners: Vec<Owner>,
    mappers: Vec<Mapper>,
    /// The owner of the last record that named a session.
    current: usize,
}

impl JournalReader {
    /// A reader that has read nothing.
    #[must_use]
    pub fn new(recognized: &Recognized) -> Self {
        let Recognized { session_id, role, parent: _ } = recognized.clone();
        let mut reader = Self { role: role.clone(), owners: Vec::new(), mappers: Vec::new(), current: 0 };
        reader.add(session_id, role);
        reader
    }

    fn add(&mut self, session_id: String, role: Role) -> usize {
        self.mappers.push(Mapper::new(role.clone()));
        self.owners.push(Owner::new(session_id, role));
        self.owners.len() - 1
    }

    /// The place of the owner of a record, a new one where there is room.
    fn owner(&mut self, record: &Record<'_>) -> Option<usize> {
        let Some(session_id) = record.session_id().and_then(id) else { return Some(self.current) };
        let known = self.owners.iter().position(|owner| owner.session_id == session_id);
        let owner = known
            .or_else(|| (self.owners.len() < OWNERS).then(|| self.add(session_id, self.role.clone())))?;
        self.current = owner;
        Some(owner)
    }
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
            if record.session_id().is_some_and(|session| session != own && is_elsewhere(session)) {
                return Line::Elsewhere;
            }
            let Some(owner) = self.owner(record) else { return Line::Beyond };
            self.owners[owner].records += 1;
            self.owners[owner].unknown_records += u64::from(!record.is_known());
            self.mappers[owner].record(record, offset, out);
            Line::Read {
                owner,
                record: record.known_type().unwrap_or("other"),
                time: record.timestamp().and_then(parse_time),
            }
        })
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
