//! What is known of an agent beside its turns and tools, told when it is new.
//!
//! Input: envelopes, titles and models. Output: [`Facts`] and `agent.metadata`. Invariant: nothing is told twice in a row; a title
//! that the user gave is not replaced by a made one. Never: takes `<synthetic>` for a model.

use super::record::{Message, Record, Usage, filled};
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Model};
use crate::json::Scalar;
use crate::providers::ids::id;
use crate::providers::say::{Say, cut};
use crate::providers::{ContextUse, Facts, MessageUsage, Said};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Known {
    version: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    title: Option<String>,
    title_rank: Option<TitleRank>,
    usage: Option<MessageUsage>,
    context: Option<ContextUse>,
}

/// Which title counts: a lower one never replaces a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TitleRank {
    Prompt,
    Made,
    Given,
}

impl Known {
    /// Tells the program's version, folder and branch.
    pub(super) fn program(&mut self, record: &Record<'_>, say: &mut Say<'_>) {
        let facts = Facts {
            agent_version: news(&mut self.version, &record.version, limits::ID),
            cwd: news(&mut self.cwd, &record.cwd, limits::TEXT),
            branch: news(&mut self.branch, &record.git_branch, limits::REASON),
            ..Facts::default()
        };
        if facts != Facts::default() {
            say.said(Said::Facts(facts));
        }
    }

    /// Tells a title. A last prompt is one only until there is another.
    pub(super) fn title(&mut self, record: &Record<'_>, say: &mut Say<'_>) {
        let (rank, title) = match record.record_type() {
            Some("custom-title") => (TitleRank::Given, &record.custom_title),
            Some("ai-title") => (TitleRank::Made, &record.ai_title),
            _ => (TitleRank::Prompt, &record.last_prompt),
        };
        if self.title_rank > Some(rank) {
            return;
        }
        if let Some(title) = news(&mut self.title, title, limits::TITLE) {
            self.title_rank = Some(rank);
            say.event(AgentEvent::Metadata {
                agent_id: None,
                title: Some(title),
                prompt_text: None,
                model: None,
            });
        }
    }

    /// Tells a model.
    pub(super) fn model(&mut self, message: &Message<'_>, say: &mut Say<'_>) {
        let Some(model) = filled(&message.model).and_then(id) else { return };
        if self.model.as_ref() == Some(&model) {
            return;
        }
        self.model = Some(model.clone());
        let model =
            Model { id: model, display_name: None, reasoning_effort: None, context_window_tokens: None };
        say.event(AgentEvent::Metadata {
            agent_id: None,
            title: None,
            prompt_text: None,
            model: Some(model),
        });
    }

    /// Tells what a message used, and with that how full the context was; a later line of the message replaces what an earlier one
    /// said. What fits the context is nowhere written.
    pub(super) fn usage(&mut self, message: &Message<'_>, say: &mut Say<'_>) {
        let (Some(Usage { input, cache_creation, cache_read, output }), Some(message_id)) =
            (&message.usage.0, filled(&message.id).and_then(id))
        else {
            return;
        };
        let tokens = |member: &Scalar<'_>| member.safe_integer().unwrap_or(0);
        let usage = MessageUsage {
            message_id,
            input: tokens(input),
            cached: tokens(cache_creation).saturating_add(tokens(cache_read)),
            output: tokens(output),
        };
        let is_measured =
            [input, cache_creation, cache_read].iter().any(|read| read.safe_integer().is_some());
        let used = ContextUse { used: usage.input.saturating_add(usage.cached), window: None };
        let context = Some(used).filter(|used| is_measured && self.context != Some(*used));
        self.context = context.or(self.context);
        let usage = Some(usage).filter(|usage| self.usage.as_ref() != Some(usage));
        if let Some(usage) = &usage {
            self.usage = Some(usage.clone());
        }
        if usage.is_some() || context.is_some() {
            say.said(Said::Facts(Facts { usage, context, ..Facts::default() }));
        }
    }
}

/// The text of `member` within `limit`, where it differs from `known`.
fn news(known: &mut Option<String>, member: &Scalar<'_>, limit: usize) -> Option<String> {
    let text = cut(filled(member)?, limit)?;
    if known.as_ref() == Some(&text) {
        return None;
    }
    known.replace(text.clone());
    Some(text)
}
