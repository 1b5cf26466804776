//! How a monitor is opened, and what it tells.
//!
//! Input: nothing. Output: plain data. Never: decides anything.

use std::path::PathBuf;
use std::time::Duration;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::project::{ChangeSet, Config};

use super::questions::Asked;

/// How a monitor is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folders where agents of this machine keep their journals, and the state directory.
    pub folders: Vec<PathBuf>,
    /// Files that are followed whatever they are called.
    pub files: Vec<PathBuf>,
    /// The folder where hooks drop files, where there is one.
    pub spool: Option<PathBuf>,
    /// The home folder, for processes.
    pub home: Option<PathBuf>,
    /// Whether processes are looked at.
    pub processes: bool,
    /// Files below folders that were not written for this long are followed, and read when they are written.
    pub active_within: Duration,
    /// How much of prompts and texts goes into events.
    pub content: Content,
    /// How the projection judges.
    pub config: Config,
    /// Whether somebody asks authorities: then rows say that an answer is waited for.
    pub asks: bool,
    /// Sources whose own snapshots are asked for, whether or not somebody asks of others.
    pub authorities: Vec<String>,
    /// A journal of its own, from which it goes on after a restart.
    pub journal: Option<PathBuf>,
    /// Least time between two tellings.
    pub batch: Duration,
}

/// What a monitor tells.
#[derive(Debug)]
pub enum Notice {
    /// Rows changed.
    Changes(ChangeSet),
    /// Questions that only an authority can answer.
    Questions(Vec<Asked>),
    /// Something is not as it should be; it goes on.
    Diagnostic {
        /// What.
        code: &'static str,
        /// Where.
        path: Option<String>,
        /// One sentence.
        message: String,
    },
    /// What was there when it was opened is read.
    Ready,
}
