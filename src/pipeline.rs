//! One session's journals, pushed from JavaScript: what the demonstration and the fixtures play.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::display::tree;
use agent_lifecycle_core::pipeline::{JournalId, Pipeline};
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::providers::{Told, recognize};
use napi::{Env, Result};
use napi_derive::napi;

use crate::convert::{moment, text};
use crate::projector::NativeProjectorOptions;
use crate::status::NativeLook;

/// The journals of one session on their way to rows.
#[napi]
pub struct NativePipeline {
    pipeline: Pipeline,
    journals: Vec<JournalId>,
}

#[napi]
impl NativePipeline {
    /// Without journals.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, options: Option<NativeProjectorOptions>) -> Result<Self> {
        let config = options.unwrap_or_default().config(env)?;
        Ok(Self { pipeline: Pipeline::new(config, Content::Titles), journals: Vec::new() })
    }

    /// Adds the journal that begins with `head`; its number, or nothing where that is no transcript.
    #[napi(catch_unwind)]
    pub fn add_journal(&mut self, path: String, head: &[u8], launch: Option<String>) -> Option<u32> {
        let (provider, recognized) = recognize(head)?;
        let journal = self.pipeline.add_journal(path, provider, recognized, Told { launch, title: None });
        self.journals.push(journal);
        u32::try_from(self.journals.len() - 1).ok()
    }

    /// Takes the next bytes of a journal.
    #[napi(catch_unwind)]
    pub fn push(&mut self, journal: u32, chunk: &[u8]) {
        if let Some(&journal) = self.journals.get(journal as usize) {
            self.pipeline.push(journal, chunk);
        }
    }

    /// Makes events of everything that was pushed and marks what is stale at `now`. Gives the journals that are to be pushed again
    /// from their first byte, and settled.
    #[napi(catch_unwind)]
    pub fn settle(&mut self, env: Env, now: String) -> Result<Vec<u32>> {
        let now = moment(env, &now, "now")?;
        self.pipeline.settle(now, Some(now), &mut |_, _| {});
        self.pipeline.projector_mut().mark_stale(now);
        let again = self.pipeline.take_again();
        let numbers = (0..).zip(&self.journals).filter(|(_, id)| again.contains(id));
        Ok(numbers.map(|(number, _)| number).collect())
    }

    /// The rows as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn rows(&self) -> String {
        text(&rows(self.pipeline.projector().records(), &BesideAll::new()))
    }

    /// The rows as text for people.
    #[napi(catch_unwind)]
    pub fn text(&self, env: Env, now: String, look: NativeLook) -> Result<String> {
        let rows = rows(self.pipeline.projector().records(), &BesideAll::new());
        Ok(tree(&rows, look.look(env, moment(env, &now, "now")?)?))
    }
}
