//! The journals of one session, read side by side in the order of time.
//!
//! Input: files. Output: their bytes for a pipeline, and which part of it can be settled. Invariant: the journal that is behind the
//! others is read next, so what waits is bounded by their chunks. Never: keeps more than [`OPEN`] files open.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::pipeline::{JournalId, Part, Pipeline};

use crate::discover;
use crate::status::CHUNK_BYTES;

/// Items that wait before a part of them is settled.
const WAITING_ITEMS: usize = 65_536;
/// Files that are kept open; a further large one is read to its end at once.
const OPEN: usize = 64;

/// See the module.
pub(crate) struct Merging {
    journals: Vec<Reading>,
    /// Files that could not be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
}

struct Reading {
    path: PathBuf,
    id: JournalId,
    file: Option<Box<dyn Read>>,
    is_over: bool,
}

impl Merging {
    pub(crate) fn new<'a>(journals: impl Iterator<Item = (&'a Path, JournalId)>) -> Self {
        let journals =
            journals.map(|(path, id)| Reading { path: path.to_owned(), id, file: None, is_over: false });
        Self { journals: journals.collect(), unreadable: Vec::new() }
    }

    /// Reads all of them into `pipeline`; `settle` makes events of a part of what waits.
    pub(crate) fn all(&mut self, pipeline: &mut Pipeline, mut settle: impl FnMut(&mut Pipeline, Part)) {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut limit = WAITING_ITEMS;
        // A launch that is found late has its journals read once more; each finding leaves fewer of them.
        let mut again = 2 * self.journals.len();
        loop {
            let next = self.behind(pipeline);
            if let Some(at) = next {
                self.read(at, pipeline, &mut buffer);
                if pipeline.waiting() <= limit {
                    continue;
                }
                settle(pipeline, Part::Before(self.horizon(pipeline)));
                limit = pipeline.waiting() + WAITING_ITEMS;
            } else {
                // At their ends, or held for launches that nothing else can tell any more.
                settle(pipeline, Part::All);
                limit = WAITING_ITEMS;
            }
            let once_more = pipeline.take_again();
            for reading in self.journals.iter_mut().filter(|reading| once_more.contains(&reading.id)) {
                if again > 0 {
                    (reading.file, reading.is_over) = (None, false);
                    again -= 1;
                } else {
                    reading.is_over = true;
                }
            }
            if next.is_none() && self.journals.iter().all(|reading| reading.is_over) {
                return;
            }
        }
    }

    fn unread<'a>(&'a self, pipeline: &'a Pipeline) -> impl Iterator<Item = (usize, &'a Reading)> {
        let readings = self.journals.iter().enumerate();
        readings.filter(|(_, reading)| !reading.is_over && !pipeline.is_held(reading.id))
    }

    /// The journal that is to be read next.
    fn behind(&self, pipeline: &Pipeline) -> Option<usize> {
        let behind = self.unread(pipeline).min_by_key(|(_, reading)| pipeline.newest(reading.id));
        behind.map(|(at, _)| at)
    }

    /// The time before which no journal has more to say; none where only one has anything more.
    fn horizon(&self, pipeline: &Pipeline) -> Option<Moment> {
        if self.unread(pipeline).count() < 2 {
            return None;
        }
        self.unread(pipeline).filter_map(|(_, reading)| pipeline.newest(reading.id)).min()
    }

    /// Reads a chunk of a journal.
    fn read(&mut self, at: usize, pipeline: &mut Pipeline, buffer: &mut [u8]) {
        let open = self.journals.iter().filter(|reading| reading.file.is_some()).count();
        let reading = &mut self.journals[at];
        loop {
            match reading.chunk(buffer) {
                Ok(0) => {
                    (reading.file, reading.is_over) = (None, true);
                    return pipeline.end(reading.id);
                }
                Ok(length) => pipeline.push(reading.id, &buffer[..length]),
                Err(why) => {
                    (reading.file, reading.is_over) = (None, true);
                    self.unreadable.push((reading.path.clone(), why.to_string()));
                    return pipeline.end(reading.id);
                }
            }
            if open < OPEN {
                return;
            }
        }
    }
}

impl Reading {
    fn chunk(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(discover::open(&self.path)?),
        };
        file.read(buffer)
    }
}
