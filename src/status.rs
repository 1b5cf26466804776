//! The command's `status` and `validate`.

use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::display::Look;
use agent_lifecycle_io::status::{Options, Scan};
use agent_lifecycle_io::validate::validate;
use napi::{Env, Result};
use napi_derive::napi;

use crate::convert::{content_level, integer, optional_moment, text};
use crate::error::Refusal;
use crate::projector::NativeProjectorOptions;

/// What `status` is to read, and how.
#[napi(object)]
pub struct NativeStatusOptions {
    /// Files and folders; none means the default places.
    pub paths: Vec<String>,
    /// The home folder.
    pub home: Option<String>,
    /// The state directory, read with the default places.
    pub state_directory: Option<String>,
    /// In the default places: milliseconds without evidence after which a session is counted, not shown.
    pub since_ms: Option<f64>,
    /// Only what is at work or waits for somebody.
    pub active: bool,
    /// The present time; the clock's by default.
    pub now: Option<String>,
    /// `none`, `titles` or `full`.
    pub content: String,
}

/// How text is drawn.
#[napi(object)]
pub struct NativeLook {
    /// With terminal colours.
    pub color: bool,
    /// Columns; lines are cut there.
    pub width: Option<f64>,
}

impl NativeLook {
    pub(crate) fn look(&self, env: Env, now: Moment) -> Result<Look> {
        let width = self.width.map(|width| integer(env, Some(width), 1, 0, "width")).transpose()?;
        Ok(Look { now, color: self.color, width: width.and_then(|width| usize::try_from(width).ok()) })
    }
}

/// A status that is being read.
#[napi]
pub struct NativeStatus {
    scan: Scan,
    /// How to see what is hidden.
    hint: &'static str,
}

#[napi]
impl NativeStatus {
    /// Finds what is to be read.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: NativeStatusOptions) -> Result<Self> {
        let NativeStatusOptions { paths, home, state_directory, since_ms, active, now, content } = options;
        let hint = match (active, paths.is_empty()) {
            (false, _) => "--all shows them",
            (true, false) => "without --active they are shown",
            (true, true) => "--all without --active shows them",
        };
        let options = Options {
            paths: paths.into_iter().map(PathBuf::from).collect(),
            home: home.map(PathBuf::from),
            state: state_directory.map(PathBuf::from),
            since_ms: since_ms.map(|since| integer(env, Some(since), 0, 0, "sinceMs")).transpose()?,
            active,
            now: optional_moment(env, now, "now")?,
            content: content_level(env, &content)?,
            config: NativeProjectorOptions::default().config(env)?,
        };
        Ok(Self { scan: Scan::new(options), hint })
    }

    /// Reads the next session. `false` when there is none.
    #[napi(catch_unwind)]
    pub fn step(&mut self) -> bool {
        self.scan.step()
    }

    /// Sessions read, and how many there are.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> Vec<u32> {
        let (read, total) = self.scan.progress();
        [read, total].map(|count| u32::try_from(count).unwrap_or(u32::MAX)).to_vec()
    }

    /// Named paths that are not there or cannot be read, and why.
    #[napi(catch_unwind)]
    pub fn missing(&mut self) -> Vec<String> {
        self.scan.report().diagnostics.missing.clone()
    }

    /// `{rows, hidden, diagnostics, evidence}` as JSON text.
    #[napi(catch_unwind)]
    pub fn json(&mut self) -> String {
        text(self.scan.report())
    }

    /// The report as text for people.
    #[napi(catch_unwind)]
    pub fn text(&mut self, env: Env, look: NativeLook) -> Result<String> {
        let look = look.look(env, self.scan.now())?;
        Ok(self.scan.report().text(look, self.hint))
    }
}

/// What the file at `path` is found to be, as JSON text.
#[napi(catch_unwind)]
pub fn validate_file(env: Env, path: String) -> Result<String> {
    validate(Path::new(&path)).map(|report| text(&report)).map_err(|error| {
        let error = std::io::Error::new(error.kind(), format!("{path}: {error}"));
        unreadable(env, &error)
    })
}

fn unreadable(env: Env, error: &std::io::Error) -> napi::Error {
    Refusal { code: "unreadable", path: None, message: &error.to_string() }.into_error(env)
}
