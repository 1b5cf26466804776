//! Tool calls, questions and launches of sub-agents, and what becomes of them.
//!
//! Input: blocks of calls and results, task reports. Output: their events. Invariant: a call starts and ends once, a
//! sub-agent ends once. Never: reads the text of a result.

use super::calls::{Call, CallKind, CallResult, Status};
use super::content::{Block, Input};
use super::mapper::Mapper;
use super::notification::{Notification, TaskReport};
use super::record::{Message, Record, filled};
use super::reports::Way;
use super::turns::Place;
use crate::agent::event::limits;
use crate::agent::{AgentEvent, Outcome, WaitState};
use crate::providers::Said;
use crate::providers::ids::{fingerprint, id};
use crate::providers::launches::PromptKey;
use crate::providers::say::{Say, cut};

impl Mapper {
    pub(super) fn tool_use(&mut self, block: &Block<'_>, place: &Place, say: &mut Say<'_>) {
        let (Some(call_id), Some(name)) = (filled(&block.id).and_then(id), filled(&block.name)) else {
            return;
        };
        let key = fingerprint(&call_id);
        if !self.calls.starts(key) {
            return;
        }
        let nothing = Input::default();
        let input = block.input.0.as_ref().unwrap_or(&nothing);
        let kind = match name {
            "SendMessage" => CallKind::Message,
            "Agent" | "Task" => CallKind::Launch { in_background: input.run_in_background.is_true() },
            // After the end of its turn nothing waits for an answer.
            "ExitPlanMode" | "AskUserQuestion" if *place != (Place::Past { has_ended: true }) => {
                CallKind::Question
            }
            "Workflow" => CallKind::Workflow,
            _ => CallKind::Tool,
        };
        let mut started = None;
        match kind {
            CallKind::Launch { .. } => started = Some(self.launch(&call_id, input, say)),
            CallKind::Question => say.event(AgentEvent::WaitStarted {
                wait_id: call_id.clone(),
                state: WaitState::Waiting,
                agent_id: None,
                reason: Some("question".to_owned()),
            }),
            CallKind::Tool | CallKind::Message | CallKind::Workflow => {
                // Where a tool is pointed at tells what it does; commands and queries may hold anything and are left out.
                let told = [&input.description, &input.file_path, &input.pattern];
                let description = told.into_iter().find_map(filled);
                say.event(AgentEvent::ToolStarted {
                    tool_id: call_id.clone(),
                    name: cut(name, limits::TOOL_NAME).unwrap_or_default(),
                    agent_id: None,
                    description: description.and_then(|text| cut(text, limits::REASON)),
                });
            }
        }
        let turn = say.turn.as_deref().map(fingerprint);
        let title = [&input.description, &input.name].into_iter().find_map(filled);
        let title = title.filter(|_| kind == CallKind::Workflow).and_then(|text| cut(text, limits::TITLE));
        let call = Call { id: started.unwrap_or(call_id), kind, title, turn };
        if let Some((call, result)) = self.calls.open(key, call) {
            self.finish(call, result, say);
        }
    }

    /// Launches a sub-agent, or one that is known again; its id.
    fn launch(&mut self, call: &str, input: &Input<'_>, say: &mut Say<'_>) -> String {
        let prompt = filled(&input.prompt);
        let title = filled(&input.description).and_then(|text| cut(text, limits::TITLE));
        let prompt_text = prompt.and_then(|text| cut(text, limits::TEXT));
        let resumed = filled(&input.resume).and_then(id);
        let launch = if let Some(known) = resumed.as_ref().and_then(|agent| self.launches.named(agent)) {
            let known = known.to_owned();
            resumed.and_then(|agent| self.launches.restart(&agent));
            known
        } else {
            let key = prompt.map(|text| PromptKey::new(self.context_prompt, [text]));
            self.launches.start(call, title.clone(), key);
            call.to_owned()
        };
        say.event(subagent_started(launch.clone(), title, prompt_text));
        launch
    }

    pub(super) fn tool_results(&mut self, record: &Record<'_>, message: &Message<'_>, say: &mut Say<'_>) {
        let is_result = |block: &&Block<'_>| block.kind.text() == Some("tool_result");
        let results: Vec<&Block<'_>> = message.content.blocks().iter().filter(is_result).collect();
        // `toolUseResult` speaks of the record's only result; among several it could be anyone's.
        let details = record.tool_use_result.0.as_ref();
        let told = Status::of(details.and_then(|details| details.status.text()));
        let (status, details) = if results.len() == 1 { (told, details) } else { (told.of_several(), None) };
        for block in results {
            let Some(call_id) = filled(&block.tool_use_id).and_then(id) else { continue };
            let result = CallResult {
                is_error: block.is_error.is_true(),
                status,
                agent_id: details
                    .and_then(|details| filled(&details.agent_id).or_else(|| filled(&details.task_id)))
                    .and_then(id),
                resumed: details.and_then(|details| filled(&details.resumed_agent_id)).and_then(id),
            };
            if let Some((call, result)) = self.calls.close(fingerprint(&call_id), result) {
                self.finish(call, result, say);
            }
        }
    }

    fn finish(&mut self, call: Call, result: CallResult, say: &mut Say<'_>) {
        let Call { id: call_id, kind, title, .. } = call;
        let CallResult { is_error, status, agent_id, resumed } = result;
        let outcome = if is_error { Outcome::Error } else { Outcome::Success };
        match kind {
            CallKind::Question => say.event(AgentEvent::WaitFinished { wait_id: call_id, agent_id: None }),
            CallKind::Tool => tool_finished(call_id, outcome, say),
            CallKind::Message => {
                tool_finished(call_id, outcome, say);
                let Some(agent_id) = resumed.filter(|_| !is_error) else { return };
                if let Some((launch, title)) = self.launches.restart(&agent_id) {
                    say.event(subagent_started(launch.clone(), title, None));
                    say.said(Said::Confirmed { launch });
                } else {
                    // Another journal may have told that it ended, or have launched it.
                    say.said(Said::Resumed { agent_id });
                }
            }
            CallKind::Workflow => {
                tool_finished(call_id.clone(), outcome, say);
                if !is_error && status == Status::Launched {
                    self.launches.start(&call_id, title.clone(), None);
                    say.event(subagent_started(call_id.clone(), title, None));
                    self.launched(call_id, agent_id, say);
                }
            }
            CallKind::Launch { in_background } => {
                let end = match status {
                    _ if is_error => Some(Outcome::Error),
                    Status::Ended(outcome) => Some(outcome),
                    Status::Launched | Status::Unknown | Status::Absent => None,
                };
                self.bound(&call_id, agent_id, say);
                if let Some(outcome) = end {
                    self.subagent_done(call_id, outcome, say);
                } else if status == Status::Absent && !in_background {
                    // The journals of sub-agents have no `toolUseResult`.
                    self.launches.returned(&call_id, say.moment());
                    say.said(Said::Returned { launch: call_id });
                } else {
                    say.said(Said::Confirmed { launch: call_id });
                }
            }
        }
    }

    fn launched(&mut self, launch: String, agent_id: Option<String>, say: &mut Say<'_>) {
        self.bound(&launch, agent_id, say);
        say.said(Said::Confirmed { launch });
    }

    fn bound(&mut self, launch: &str, agent_id: Option<String>, say: &mut Say<'_>) {
        if let Some(agent_id) = agent_id {
            self.launches.name(launch, &agent_id);
            say.said(Said::Binding { launch: launch.to_owned(), agent_id });
        }
    }

    fn subagent_done(&mut self, launch: String, outcome: Outcome, say: &mut Say<'_>) {
        if self.launches.finish(&launch, outcome, say.moment()) {
            say.event(AgentEvent::SubagentDone { subagent_id: launch, outcome, summary: None });
        }
    }

    /// The call that an interruption refused, where its result has not been written before.
    pub(super) fn refuse_last_call(&mut self, say: &mut Say<'_>) {
        let turn = say.turn.as_deref().map(fingerprint);
        match self.calls.take_last(turn) {
            Some(Call { id, kind: CallKind::Question, .. }) => {
                say.event(AgentEvent::WaitFinished { wait_id: id, agent_id: None });
            }
            Some(Call { id, kind: CallKind::Launch { .. }, .. }) => {
                self.subagent_done(id, Outcome::Cancelled, say);
            }
            Some(Call { id, .. }) => tool_finished(id, Outcome::Cancelled, say),
            None => {}
        }
    }

    pub(super) fn task_reports(&mut self, notification: &Notification<'_>, way: Way, say: &mut Say<'_>) {
        for report in notification.reports() {
            let outcome = match report.status {
                // A report without a status tells of no end.
                None => continue,
                Some("completed") => Outcome::Success,
                Some("killed" | "cancelled" | "canceled") => Outcome::Cancelled,
                Some(_) => Outcome::Error,
            };
            let TaskReport { tool_use_id, task_id, summary, .. } = report;
            let summary = summary.and_then(|text| cut(text, limits::TEXT));
            let Some(launch) = self.launches.find(tool_use_id, task_id) else {
                let (tool_use_id, agent_id) = (tool_use_id.and_then(id), task_id.and_then(id));
                let Some(of) = tool_use_id.as_deref().or(agent_id.as_deref()) else { continue };
                if self.reports.is_new(of, &report, way, say.moment()) {
                    say.said(Said::Reported { tool_use_id, agent_id, outcome, summary });
                }
                continue;
            };
            if self.reports.is_new(&launch, &report, way, say.moment())
                && self.launches.finish_reported(&launch, outcome, say.moment())
            {
                say.event(AgentEvent::SubagentDone { subagent_id: launch, outcome, summary });
            }
        }
    }
}

fn subagent_started(subagent_id: String, title: Option<String>, prompt_text: Option<String>) -> AgentEvent {
    AgentEvent::SubagentStarted { subagent_id, parent_agent_id: None, title, prompt_text, model: None }
}

fn tool_finished(tool_id: String, outcome: Outcome, say: &mut Say<'_>) {
    say.event(AgentEvent::ToolFinished { tool_id, agent_id: None, outcome: Some(outcome) });
}
