//! What is known of a thread beside its turns and tools, told when it is new.
//!
//! Input: the first `session_meta`, turn contexts, the title of an index. Output: [`Facts`] and `agent.metadata`. Invariant: nothing is
//! told twice in a row. Never: takes a title from a prompt.

use super::record::filled;
use super::shapes::Payload;
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Model};
use crate::json::Scalar;
use crate::providers::ids::id;
use crate::providers::say::{Say, cut};
use crate::providers::shape::Shape;
use crate::providers::{Facts, Said};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Known {
    version: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<Model>,
    /// Whether the model and the folder of a turn's context were told.
    is_told: bool,
    pub(super) title: Option<String>,
    window: Option<u32>,
}

impl Known {
    /// Nothing is known but the title that an index gives.
    pub(super) fn new(title: Option<&str>) -> Self {
        let title = title.and_then(|title| cut(title, limits::TITLE));
        Self { title, is_told: true, ..Self::default() }
    }

    /// Tells the program's version, folder and branch.
    pub(super) fn session(&mut self, meta: &Payload<'_>, say: &mut Say<'_>) {
        self.version = filled(&meta.cli_version).and_then(|text| cut(text, limits::ID));
        self.cwd = filled(&meta.cwd).and_then(|text| cut(text, limits::TEXT));
        if let Shape(Some(git)) = &meta.git {
            self.branch = filled(&git.branch).and_then(|text| cut(text, limits::REASON));
        }
        self.tell(say);
    }

    fn tell(&self, say: &mut Say<'_>) {
        let Self { version, cwd, branch, .. } = self;
        let (agent_version, cwd, branch) = (version.clone(), cwd.clone(), branch.clone());
        let facts = Facts { agent_version, cwd, branch, ..Facts::default() };
        if facts != Facts::default() {
            say.said(Said::Facts(facts));
        }
    }

    /// The tokens that fit the context of the turn that begins.
    pub(super) fn window(&mut self, start: &Payload<'_>) {
        self.window = window(&start.model_context_window).or(self.window);
    }

    /// A turn's context: where it works, and the model. Telling them shows that the agent runs, so they wait until it does.
    pub(super) fn turn(&mut self, context: &Payload<'_>, runs: bool, say: &mut Say<'_>) {
        let cwd = filled(&context.cwd).and_then(|text| cut(text, limits::TEXT));
        let is_new_place = cwd.is_some() && cwd != self.cwd;
        if is_new_place {
            self.cwd = cwd;
        }
        let model = filled(&context.model).and_then(id).map(|model| Model {
            id: model,
            display_name: None,
            reasoning_effort: filled(&context.effort).and_then(|text| cut(text, limits::REASONING_EFFORT)),
            context_window_tokens: self.window,
        });
        let is_new_model = model.is_some() && model != self.model;
        if is_new_model {
            self.model = model;
        }
        self.is_told &= !is_new_place && !is_new_model;
        if runs {
            if is_new_place {
                self.tell(say);
            }
            if is_new_model {
                self.tell_model(say);
            }
            self.is_told = true;
        }
    }

    /// The agent runs: tells what waited for it.
    pub(super) fn runs(&mut self, say: &mut Say<'_>) {
        if !std::mem::replace(&mut self.is_told, true) {
            self.tell(say);
            self.tell_model(say);
        }
    }

    fn tell_model(&self, say: &mut Say<'_>) {
        if let Some(model) = self.model.clone() {
            let model = Some(model);
            say.event(AgentEvent::Metadata { agent_id: None, title: None, prompt_text: None, model });
        }
    }
}

fn window(member: &Scalar<'_>) -> Option<u32> {
    let tokens = u32::try_from(member.safe_integer()?).ok()?;
    (1..=limits::CONTEXT_TOKENS.unsigned_abs()).contains(&tokens).then_some(tokens)
}
