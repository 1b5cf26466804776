//! What a provider is: where its journals are, which files are ones, and what their records say.
//!
//! Input: the bytes of a file and of its lines. Output: [`Mapped`] items, and whose they are. Invariant: content decides, never a
//! name; the same lines give the same items, however they came. Never: touches a file, concludes anything from prose.

use std::collections::HashMap;
use std::fmt::Debug;

use super::{Launches, Mapped, Orphan};
use crate::contract::{Moment, Timestamp};
use crate::json::JsonFault;

/// One kind of agent, and all that is known of its journals.
pub trait Provider: Debug + Sync {
    /// Its name, the first part of its sources.
    fn name(&self) -> &'static str;

    /// Discovery: the folders where its journals are.
    fn places(&self) -> &'static [Place];

    /// The recogniser: whose journal begins with `head`, where it is one.
    fn recognize(&self, head: &[u8]) -> Option<Recognized>;

    /// Evidence: the folder with one file for each process of it, where the provider keeps one.
    fn processes(&self) -> Option<Place> {
        None
    }

    /// What the text of such a file says.
    fn process(&self, _text: &[u8]) -> Option<ProcessClaim> {
        None
    }

    /// The mapper: a reader for a journal that was recognised.
    fn reader(&self, recognized: &Recognized, told: Told) -> Box<dyn Reader>;
}

/// A folder where a provider keeps journals: `below` the folder that the environment variable names, else in the home folder.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The variable that names the provider's folder.
    pub variable: &'static str,
    /// The provider's folder in the home folder, without that variable.
    pub folder: &'static str,
    /// The folder of journals in it.
    pub below: &'static str,
}

/// What a journal was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognized {
    /// The session that its records belong to, as far as the journal tells; with sub-agents it is their root's.
    pub session_id: String,
    /// Whose records they are.
    pub role: Role,
    /// The agent that a sub-agent's journal names as the one that started it.
    pub parent: Option<String>,
}

/// Whose records a journal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The session's own.
    Root,
    /// Those of a sub-agent.
    Child {
        /// Its own id.
        agent_id: String,
    },
}

/// What a file says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessClaim {
    /// The session that it works on.
    pub session_id: String,
    /// Its process id, a positive integer.
    pub pid: i32,
    /// When it was started.
    pub started_at: Option<Moment>,
}

/// What stands beside a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The launch that a file names as the one of this sub-agent.
    pub launch: Option<String>,
    /// The title that an index gives the session.
    pub title: Option<String>,
}

/// Reads one journal, line by line.
pub trait Reader: Debug + Send {
    /// Reads the next line, which begins at `offset`; what it says goes to `out`. Records of a session for which `is_elsewhere`
    /// says so are passed over.
    ///
    /// # Errors
    ///
    /// The line is no record.
    fn read(
        &mut self,
        line: &[u8],
        offset: u64,
        is_elsewhere: &dyn Fn(&str) -> bool,
        out: &mut Vec<Mapped>,
    ) -> Result<Line, RecordFault>;

    /// Reads what is certain of a line that is too long to be held, from its first bytes; `None` where nothing is.
    fn read_head(&mut self, _head: &[u8], _offset: u64, _out: &mut Vec<Mapped>) -> Option<Line> {
        None
    }

    /// Whose records were read so far; the first is the one that the journal was recognised by. An owner keeps its place.
    fn owners(&self) -> &[Owner];

    /// The sub-agents that an owner launched, where journals are bound to their launches.
    fn launches(&mut self, _owner: usize) -> Option<&mut Launches> {
        None
    }

    /// What a launcher needs to know of an owner's journal to claim it.
    fn orphan(&self, _owner: usize) -> Option<Orphan> {
        None
    }
}

/// One agent whose records are in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its session.
    pub session_id: String,
    /// Which agent of the session.
    pub role: Role,
    /// Its records, repeated ones included.
    pub records: u64,
    /// Those of a type that the provider does not know.
    pub unknown_records: u64,
}

impl Owner {
    /// One of whom nothing was read.
    #[must_use]
    pub fn new(session_id: String, role: Role) -> Self {
        Self { session_id, role, records: 0, unknown_records: 0 }
    }
}

/// What became of a line that is a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// It was read.
    Read {
        /// Whose it is: a place in [`Reader::owners`].
        owner: usize,
        /// Its type, as the provider names it; `other` for one that it does not know.
        record: &'static str,
        /// When, where it says.
        time: Option<Timestamp<'static>>,
    },
    /// It belongs to a session that is read elsewhere.
    Elsewhere,
    /// It belongs to one more agent than a journal may hold.
    Beyond,
}

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// It is not JSON.
    Json(JsonFault),
    /// It is JSON, and no object.
    NotAnObject,
}

impl From<JsonFault> for RecordFault {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

/// Gives sub-agents whose journals name only who started them the session of their root, as far as the journals lead there.
pub fn gather<'a>(journals: impl Iterator<Item = &'a mut Recognized>) {
    let mut journals: Vec<&mut Recognized> = journals.collect();
    let parents: HashMap<String, (Option<String>, String)> = journals
        .iter()
        .filter_map(|journal| match &journal.role {
            Role::Root => Some((journal.session_id.clone(), (None, journal.session_id.clone()))),
            Role::Child { agent_id } => {
                Some((agent_id.clone(), (Some(journal.parent.clone()?), journal.session_id.clone())))
            }
        })
        .collect();
    for journal in &mut journals {
        let mut above = journal.parent.clone();
        // A circle of parents has no root; nobody is deeper than there are journals.
        for _ in 0..parents.len() {
            let Some((parent, session_id)) = above.as_ref().and_then(|id| parents.get(id)) else { break };
            journal.session_id.clone_from(session_id);
            above.clone_from(parent);
        }
    }
}
