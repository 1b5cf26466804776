//! One Codex journal: its lines, and the one agent whose records are in it.
//!
//! Input: lines. Output: what they say. Invariant: a journal has one owner, the thread that its first record names; copies of another
//! thread's records are read as copies. Never: gives an item to another thread.

use super::mapper::Mapper;
use super::record::read;
use crate::providers::say::parse_time;
use crate::providers::{Line, Mapped, Owner, Reader, Recognized, RecordFault, Told};

/// See the module.
#[derive(Debug)]
pub struct JournalReader {
    owner: [Owner; 1],
    mapper: Mapper,
}

impl JournalReader {
    /// A reader that has read nothing.
    #[must_use]
    pub fn new(recognized: &Recognized, told: &Told) -> Self {
        let Recognized { session_id, role, parent } = recognized.clone();
        let mapper = Mapper::new(session_id.clone(), role.clone(), parent, told);
        Self { owner: [Owner::new(session_id, role)], mapper }
    }
}

impl Reader for JournalReader {
    fn read(
        &mut self,
        line: &[u8],
        offset: u64,
        _is_elsewhere: &dyn Fn(&str) -> bool,
        out: &mut Vec<Mapped>,
    ) -> Result<Line, RecordFault> {
        read(line, |record| {
            let [owner] = &mut self.owner;
            let known = record.known_type();
            owner.records += 1;
            owner.unknown_records += u64::from(known.is_none());
            self.mapper.record(record, offset, out);
            Line::Read {
                owner: 0,
                record: known.unwrap_or("other"),
                time: record.timestamp().and_then(parse_time),
            }
        })
    }

    fn owners(&self) -> &[Owner] {
        &self.owner
    }
}
