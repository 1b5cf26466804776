//! What Claude Code journals say, read from their raw lines by the few rules that the fixtures need.
//!
//! Input: lines in the order in which they were written, as JSON values. Output: what each row must show after them. Never: uses
//! the package's own reading of a journal.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

/// A line: its journal's agent and launch, as far as files tell, and its record.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The sub-agent whose own journal it stands in.
    pub(crate) agent: Option<String>,
    /// The launch that a file beside the journal names.
    pub(crate) launch: Option<String>,
    pub(crate) record: Value,
}

/// What is true of one agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    /// `None` for a session.
    pub(crate) parent: Option<String>,
    pub(crate) attempt: u64,
    /// Whether it wrote anything, or a result confirmed it.
    pub(crate) begun: bool,
    /// How it ended: the word of a state.
    pub(crate) ended: Option<&'static str>,
    /// Its turns with their outcomes; the last one may be open.
    pub(crate) turns: Vec<(String, Option<&'static str>)>,
    pub(crate) is_open: bool,
    pub(crate) questions: BTreeSet<String>,
    /// Tools that were started, where a record of its own was read in this life.
    pub(crate) tools: Option<usize>,
    pub(crate) open_tools: BTreeSet<String>,
    messages: HashSet<String>,
    command: bool,
}

impl Agent {
    fn start(&mut self, id: String) {
        if self.is_open {
            self.open_tools.clear();
            self.questions.clear();
        }
        self.turns.push((id, None));
        self.is_open = true;
        self.command = false;
    }

    fn end(&mut self, outcome: &'static str) {
        if std::mem::take(&mut self.is_open) {
            self.turns.last_mut().unwrap().1 = Some(outcome);
            self.open_tools.clear();
            self.questions.clear();
        }
    }

    fn restart(&mut self) {
        let attempt = self.attempt + 1;
        *self = Self { parent: self.parent.clone(), attempt, begun: true, ..Self::default() };
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// By the id of a session, else of a launch, else of an agent.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// The id of each sub-agent's row.
    rows: HashMap<String, String>,
    /// What each call is, by its id: the agent that made it and its name.
    calls: HashMap<String, (String, String)>,
    uuids: HashSet<String>,
    chains: HashMap<String, String>,
    session: String,
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

fn blocks(record: &Value) -> &[Value] {
    record["message"]["content"].as_array().map_or(&[][..], Vec::as_slice)
}

/// The first text of a message, after a reminder.
fn words(content: &Value) -> Option<&str> {
    let first = content.as_str().or_else(|| {
        content.as_array()?.iter().find(|block| block["type"] == "text").map(|block| text(block, "text"))
    })?;
    let rest = first.strip_prefix("<system-reminder>").and_then(|rest| rest.split_once("</system-reminder>"));
    Some(rest.map_or(first, |(_, rest)| rest.trim_start()))
}

fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    Some(text.split_once(&format!("<{name}>"))?.1.split_once(&format!("</{name}>"))?.0)
}

impl Truth {
    /// What is true after `lines`.
    pub(crate) fn of(lines: &[Told]) -> Self {
        let mut truth = Self::default();
        truth.bind(lines);
        truth.uuids.clear();
        truth.chains.clear();
        for line in lines {
            truth.add(line);
        }
        truth
    }

    /// Which launch each sub-agent is of: by a file, a result, or the same prompt.
    fn bind(&mut self, lines: &[Told]) {
        let mut launches: Vec<(&str, &str)> = Vec::new();
        let mut prompts: Vec<(String, &str)> = Vec::new();
        for line in lines {
            if let (Some(agent), Some(launch)) = (&line.agent, &line.launch) {
                self.rows.insert(agent.clone(), launch.clone());
            }
            for block in blocks(&line.record) {
                if matches!(text(block, "name"), "Agent" | "Task") {
                    launches.push((text(block, "id"), text(&block["input"], "prompt")));
                }
                let named = text(&line.record["toolUseResult"], "agentId");
                if block["type"] == "tool_result" && !named.is_empty() {
                    self.rows.insert(named.to_owned(), text(block, "tool_use_id").to_owned());
                }
            }
            if let Some(agent) = self.agent_of(line)
                && line.record["type"] == "user"
                && !prompts.iter().any(|(known, _)| *known == agent)
                && let Some(prompt) = words(&line.record["message"]["content"])
            {
                prompts.push((agent, prompt));
            }
        }
        for (agent, prompt) in prompts {
            let launch = launches.iter().find(|(_, asked)| *asked == prompt);
            let row = launch.map_or_else(|| agent.clone(), |(launch, _)| (*launch).to_owned());
            self.rows.entry(agent).or_insert(row);
        }
    }

    /// The sub-agent that wrote a line.
    fn agent_of(&mut self, line: &Told) -> Option<String> {
        let record = &line.record;
        if line.agent.is_some() || record["isSidechain"] != true {
            return line.agent.clone();
        }
        let uuid = text(record, "uuid").to_owned();
        let chain = match (record["agentId"].as_str(), self.chains.get(text(record, "parentUuid"))) {
            (Some(agent), _) => agent.to_owned(),
            (None, Some(chain)) => chain.clone(),
            (None, None) => format!("sidechain:{uuid}"),
        };
        self.chains.insert(uuid, chain.clone());
        Some(chain)
    }

    fn add(&mut self, line: &Told) {
        let record = &line.record;
        if !record.is_object() {
            return;
        }
        let session = record["forkedFrom"]["sessionId"].as_str().or(record["sessionId"].as_str());
        if let Some(session) = session {
            session.clone_into(&mut self.session);
        }
        let agent = self.agent_of(line);
        if record["uuid"].as_str().is_some_and(|uuid| !self.uuids.insert(uuid.to_owned())) {
            return;
        }
        let is_below = agent.is_some();
        let key = agent.map_or(self.session.clone(), |agent| self.rows.get(&agent).cloned().unwrap_or(agent));
        let parent = is_below.then(|| self.session.clone());
        let own = self.agents.entry(key.clone()).or_insert_with(|| Agent {
            parent,
            attempt: 1,
            ..Agent::default()
        });
        own.begun = true;
        own.tools.get_or_insert(0);
        match text(record, "type") {
            "user" => self.user(&key, record, is_below),
            "assistant" => self.assistant(&key, record),
            "system" if record["subtype"] == "turn_duration" => self.own(&key).end("success"),
            "queue-operation" if record["operation"] == "enqueue" => self.report(text(record, "content")),
            "attachment" => self.report(text(&record["attachment"], "prompt")),
            _ => {}
        }
    }

    fn own(&mut self, key: &str) -> &mut Agent {
        self.agents.get_mut(key).unwrap()
    }

    fn user(&mut self, key: &str, record: &Value, is_below: bool) {
        let results: Vec<&Value> =
            blocks(record).iter().filter(|block| block["type"] == "tool_result").collect();
        for result in &results {
            self.result(key, result, record);
        }
        if record["isCompactSummary"] == true || record["isVisibleInTranscriptOnly"] == true {
            return;
        }
        let words = words(&record["message"]["content"]).unwrap_or_default();
        if words.starts_with("[Request interrupted by user") {
            return self.own(key).end("cancelled");
        }
        if !results.is_empty() || words.is_empty() {
            return;
        }
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| words.starts_with(prefix));
        let is_meta = record["isMeta"] == true;
        let is_sent = is_below && record["origin"]["kind"] == "coordinator";
        let fallback = format!("user:{}", text(record, "uuid"));
        let id = match record["promptId"].as_str().filter(|_| !is_below) {
            Some(id) if !self.own(key).turns.iter().any(|turn| turn.0 == id) => id.to_owned(),
            _ => fallback,
        };
        if starts(&["<task-notification>"]) {
            self.report(words);
            if !self.own(key).is_open {
                self.own(key).start(id);
            }
        } else if starts(&["<command-name>", "<command-message>"]) {
            self.own(key).command = true;
        } else if starts(&["<local-command-", "<bash-"]) {
        } else if is_meta && starts(&["Stop hook feedback"]) {
            let own = self.own(key);
            own.is_open = true;
            own.turns.last_mut().unwrap().1 = None;
        } else if !is_meta || is_sent || self.own(key).command {
            let own = self.own(key);
            if own.ended.is_some() {
                own.restart();
                own.tools = Some(0);
            }
            own.start(id);
        }
    }

    fn assistant(&mut self, key: &str, record: &Value) {
        let message = &record["message"];
        let own = self.own(key);
        own.command = false;
        let is_new = own.messages.insert(text(message, "id").to_owned());
        let is_error = record["isApiErrorMessage"] == true;
        if is_new && !own.is_open && message["model"] != "<synthetic>" {
            own.start(format!("assistant:{}", text(message, "id")));
        }
        for block in blocks(record) {
            let (id, name) = (text(block, "id").to_owned(), text(block, "name"));
            if block["type"] != "tool_use" || self.calls.contains_key(&id) {
                continue;
            }
            self.calls.insert(id.clone(), (key.to_owned(), name.to_owned()));
            match name {
                "Agent" | "Task" => self.child(id, key),
                "AskUserQuestion" | "ExitPlanMode" => {
                    self.own(key).questions.insert(id);
                }
                _ => {
                    let own = self.own(key);
                    own.tools = own.tools.map(|tools| tools + 1);
                    own.open_tools.insert(id);
                }
            }
        }
        if is_error {
            self.own(key).end("error");
        } else if message["stop_reason"] == "end_turn" {
            self.own(key).end("success");
        }
    }

    /// A sub-agent that was launched, maybe after its journal was read.
    fn child(&mut self, id: String, parent: &str) {
        let child = self.agents.entry(id).or_insert_with(|| Agent { attempt: 1, ..Agent::default() });
        child.parent = Some(parent.to_owned());
    }

    fn result(&mut self, key: &str, result: &Value, record: &Value) {
        let id = text(result, "tool_use_id").to_owned();
        let own = self.own(key);
        own.questions.remove(&id);
        own.open_tools.remove(&id);
        let details = &record["toolUseResult"];
        let is_error = result["is_error"] == true;
        match self.calls.get(&id).map_or("", |call| call.1.as_str()) {
            "Agent" | "Task" if details["status"] == "async_launched" => self.own(&id).begun = true,
            "Agent" | "Task" => self.over(&id, if is_error { "failed" } else { "completed" }),
            "Workflow" if details["status"] == "async_launched" => {
                self.child(id.clone(), key);
                self.own(&id).begun = true;
            }
            "SendMessage" => {
                let resumed = self.rows.get(text(details, "resumedAgentId")).cloned();
                if let Some(child) = resumed.and_then(|row| self.agents.get_mut(&row))
                    && child.ended.is_some()
                {
                    child.restart();
                }
            }
            _ => {}
        }
    }

    fn over(&mut self, id: &str, state: &'static str) {
        if let Some(child) = self.agents.get_mut(id) {
            child.ended = child.ended.or(Some(state));
        }
    }

    fn report(&mut self, words: &str) {
        if !words.starts_with("<task-notification>") {
            return;
        }
        let state = match tag(words, "status").unwrap_or_default() {
            "completed" => "completed",
            "killed" => "cancelled",
            _ => "failed",
        };
        self.over(tag(words, "tool-use-id").unwrap_or_default(), state);
    }

    /// The sub-agents of `key` that have not ended.
    pub(crate) fn live(&self, key: &str) -> usize {
        self.agents
            .values()
            .filter(|child| child.parent.as_deref() == Some(key) && child.ended.is_none())
            .count()
    }
}
