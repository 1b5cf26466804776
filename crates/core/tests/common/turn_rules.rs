//! The rules of turns, checked over events as JSON. Written from docs/turns.md and the specification; it uses nothing of the sequencer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// How often each rule had something to judge.
pub(crate) type Counters = BTreeMap<&'static str, u64>;

/// Marks texts that revise a message: those need not be its deltas joined.
pub(crate) const REVISED: &str = "REVISED";
/// The secret that no event may show; of text that did not come in pieces, not four units of it.
pub(crate) const SECRET: &str = "zq7-Kx!9vW#3";

#[derive(Default)]
struct Text {
    is_reasoning: bool,
    scope: Option<String>,
    joined: String,
    deltas: u64,
    is_over: bool,
}

#[derive(Default, PartialEq, Clone, Copy, Debug)]
enum Call {
    #[default]
    Growing,
    Complete,
    Started,
    Finished,
}

#[derive(Default)]
struct Tool {
    turn: String,
    scope: Option<String>,
    name: String,
    call: Call,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Rules {
    sequence: u64,
    open: Option<String>,
    begun: BTreeSet<String>,
    ended: BTreeSet<String>,
    texts: BTreeMap<u64, Text>,
    tools: BTreeMap<String, Tool>,
    compactions: BTreeMap<Option<String>, i64>,
    /// By id: the turn it belongs to.
    requests: BTreeMap<String, Option<String>>,
    resolved: BTreeSet<String>,
    has_usage: bool,
    is_closed: bool,
    pub(crate) counters: Counters,
}

fn text<'v>(event: &'v Value, member: &str) -> Option<&'v str> {
    event[member].as_str()
}

fn owned(event: &Value, member: &str) -> Option<String> {
    text(event, member).map(str::to_owned)
}

impl Rules {
    fn count(&mut self, rule: &'static str) {
        *self.counters.entry(rule).or_default() += 1;
    }

    /// Judges what one input made. `ends` says that the input is one that ends a turn by itself, `closes` that it is the last.
    pub(crate) fn judge(&mut self, events: &[Value], ends: bool, closes: bool) -> Result<(), String> {
        if self.is_closed && !events.is_empty() {
            return Err("something is said after the end of everything".to_owned());
        }
        if self.is_closed {
            self.count("silence after disposal");
        }
        if ends {
            self.order(events)?;
        }
        for (at, event) in events.iter().enumerate() {
            self.event(event, events.get(at + 1)).map_err(|fault| format!("{fault}: {event}"))?;
        }
        if closes {
            if let Some(turn) = &self.open {
                return Err(format!("{turn} has no end"));
            }
            if let Some(request) = self.requests.keys().find(|id| !self.resolved.contains(*id)) {
                return Err(format!("{request} has no end"));
            }
            self.is_closed = true;
            self.count("all closed at disposal");
        }
        Ok(())
    }

    /// What closes a turn comes in its order.
    fn order(&mut self, events: &[Value]) -> Result<(), String> {
        let ranks = events.iter().filter(|event| event.get("turnId").is_some()).map(|event| {
            match event["kind"].as_str() {
                Some("compaction_end") => 0,
                Some("assistant_delta" | "assistant_message") => 1,
                Some("reasoning_delta" | "reasoning_finished") => 2,
                Some("tool_execution_started" | "tool_execution_updated" | "tool_execution_finished") => 3,
                Some("approval_resolved" | "user_input_resolved") => 4,
                Some("usage") => 5,
                Some("turn_completed" | "turn_failed") => 6,
                _ => 9,
            }
        });
        let ranks: Vec<u8> = ranks.collect();
        if !ranks.is_sorted() || ranks.last().is_some_and(|last| *last != 6) {
            return Err(format!("closed in the wrong order: {ranks:?}"));
        }
        if ranks.len() > 2 {
            self.count("closing in order");
        }
        Ok(())
    }

    fn event(&mut self, event: &Value, next: Option<&Value>) -> Result<(), String> {
        self.sequence += 1;
        if event["sequence"].as_u64() != Some(self.sequence)
            || event["generation"] != 3
            || event["productSessionId"] != "ps_1"
        {
            return Err("it is numbered wrongly".to_owned());
        }
        let whole = event.to_string();
        if whole.contains("native-") {
            return Err("it shows a native id".to_owned());
        }
        // A text whose middle was lost, or came twice, is another text: then only the whole secret can be known.
        let is_joined = matches!(
            event["kind"].as_str(),
            Some("assistant_delta" | "assistant_message" | "tool_execution_updated")
        );
        let least = if is_joined { SECRET.len() } else { 4 };
        for from in 0..=SECRET.len() - least {
            if whole.contains(&SECRET[from..from + least]) {
                return Err("it shows the secret".to_owned());
            }
        }
        if whole.contains("[REDACTED]") {
            self.count("redacted");
        }
        let kind = text(event, "kind").unwrap_or_default().to_owned();
        let turn = owned(event, "turnId");
        if kind == "turn_started" {
            return self.start(turn);
        }
        if let Some(turn) = &turn
            && self.open.as_ref() != Some(turn)
        {
            return Err("its turn is not on".to_owned());
        }
        if self.has_usage && !matches!(kind.as_str(), "turn_completed" | "turn_failed") {
            return Err("something stands between the usage and the end".to_owned());
        }
        match (kind.as_str(), turn) {
            ("adapter_lifecycle", None) => self.count("adapter"),
            ("warning" | "error" | "native_event", turn) => {
                self.count(if turn.is_some() { "note of a turn" } else { "note of none" });
            }
            ("approval_requested" | "user_input_requested", turn) => self.request(event, turn)?,
            ("approval_resolved" | "user_input_resolved", turn) => self.resolve(event, turn.as_ref())?,
            (_, None) => return Err("it needs a turn".to_owned()),
            (kind, Some(turn)) => self.of_turn(kind, turn, event, next)?,
        }
        Ok(())
    }

    fn start(&mut self, turn: Option<String>) -> Result<(), String> {
        let turn = turn.ok_or("a turn has an id")?;
        if self.open.is_some() || !self.begun.insert(turn.clone()) {
            return Err("a turn starts once, and one at a time".to_owned());
        }
        self.count("turn started");
        self.open = Some(turn);
        self.texts.clear();
        self.compactions.clear();
        self.has_usage = false;
        Ok(())
    }

    fn of_turn(
        &mut self,
        kind: &str,
        turn: String,
        event: &Value,
        next: Option<&Value>,
    ) -> Result<(), String> {
        match kind {
            "assistant_delta" | "assistant_message" | "reasoning_started" | "reasoning_delta"
            | "reasoning_finished" => self.piece(kind, event),
            "tool_call" | "tool_execution_started" | "tool_execution_updated" | "tool_execution_finished" => {
                self.tool(kind, &turn, event)
            }
            "plan_updated" | "diff_updated" => Ok(()),
            "usage" => {
                let follows = next.and_then(|next| text(next, "kind"));
                if !matches!(follows, Some("turn_completed" | "turn_failed")) {
                    return Err("the usage comes right before the end".to_owned());
                }
                self.has_usage = true;
                self.count("usage before the end");
                Ok(())
            }
            "compaction_start" => {
                *self.compactions.entry(owned(event, "scope")).or_default() += 1;
                if event["inferred"] == true {
                    self.count("inferred start of a compaction");
                }
                Ok(())
            }
            "compaction_end" => {
                let open = self.compactions.entry(owned(event, "scope")).or_default();
                *open -= 1;
                if *open < 0 {
                    return Err("a compaction ends that did not start".to_owned());
                }
                self.count("compaction ended");
                Ok(())
            }
            "turn_completed" | "turn_failed" => self.end(kind, turn, event),
            _ => Err("there is no such kind".to_owned()),
        }
    }

    fn piece(&mut self, kind: &str, event: &Value) -> Result<(), String> {
        let index = event["contentIndex"].as_u64().ok_or("a piece has an index")?;
        let is_reasoning = kind.starts_with("reasoning");
        let scope = owned(event, "scope");
        let is_new = !self.texts.contains_key(&index);
        if is_reasoning && (kind == "reasoning_started") != is_new {
            return Err("reasoning starts once, and first".to_owned());
        }
        let piece = self.texts.entry(index).or_insert_with(|| Text {
            is_reasoning,
            scope: scope.clone(),
            ..Text::default()
        });
        if piece.is_over || piece.is_reasoning != is_reasoning || piece.scope != scope {
            return Err("its index is of something else, or of what has ended".to_owned());
        }
        let said = text(event, "text").unwrap_or_default();
        match kind {
            "assistant_delta" | "reasoning_delta" => {
                if said.is_empty() {
                    return Err("a delta says something".to_owned());
                }
                piece.joined.push_str(said);
                piece.deltas += 1;
                if piece.deltas > 1 {
                    self.count("index stable over deltas");
                }
            }
            "assistant_message" => {
                piece.is_over = true;
                let (deltas, is_joined) = (piece.deltas, piece.joined == said);
                let is_cut = event["truncated"] == true;
                if is_cut {
                    self.count("truncated message");
                }
                if said.contains(REVISED) {
                    self.count("revised message");
                } else if deltas > 0 && !is_cut && !is_joined {
                    return Err("the message is not its deltas joined".to_owned());
                } else if deltas > 0 {
                    self.count("message of its deltas");
                } else {
                    self.count("message as a whole");
                }
            }
            "reasoning_finished" => {
                piece.is_over = true;
                self.count("reasoning finished");
            }
            _ => {}
        }
        Ok(())
    }

    fn tool(&mut self, kind: &str, turn: &str, event: &Value) -> Result<(), String> {
        let id = owned(event, "toolCallId").ok_or("a call has an id")?;
        let (scope, name) = (owned(event, "scope"), owned(event, "toolName").ok_or("a tool has a name")?);
        let is_new = !self.tools.contains_key(&id);
        if is_new != (kind == "tool_call") && is_new {
            return Err("a call comes first".to_owned());
        }
        let tool = self.tools.entry(id).or_insert_with(|| Tool {
            turn: turn.to_owned(),
            scope: scope.clone(),
            name: name.clone(),
            call: Call::Growing,
        });
        if tool.turn != turn || tool.scope != scope || (tool.name != name && tool.name != "unknown") {
            return Err("its id is of another call".to_owned());
        }
        tool.name = name;
        let before = tool.call;
        tool.call = match (kind, before) {
            ("tool_call", Call::Growing) if event["argsComplete"] == true => Call::Complete,
            ("tool_call", Call::Growing) => Call::Growing,
            ("tool_execution_started", Call::Growing | Call::Complete)
            | ("tool_execution_updated", Call::Started) => Call::Started,
            ("tool_execution_finished", Call::Started) => Call::Finished,
            _ => return Err(format!("it does not follow on {before:?}")),
        };
        if !is_new && kind == "tool_call" {
            self.count("call that grows");
        }
        if event["inferred"] == true {
            self.count(match kind {
                "tool_call" => "inferred call",
                "tool_execution_started" => "inferred start of a tool",
                _ => "tool ended as an error",
            });
            if kind == "tool_execution_finished" && event["isError"] != true {
                return Err("a tool that nobody ended is an error".to_owned());
            }
        }
        if kind == "tool_execution_finished" {
            self.count("tool finished");
        }
        Ok(())
    }

    fn request(&mut self, event: &Value, turn: Option<String>) -> Result<(), String> {
        let id = owned(&event["request"], "requestId").ok_or("a request has an id")?;
        if self.requests.insert(id, turn).is_some() {
            return Err("a request opens once".to_owned());
        }
        self.count("request opened");
        Ok(())
    }

    fn resolve(&mut self, event: &Value, turn: Option<&String>) -> Result<(), String> {
        let id = owned(event, "requestId").ok_or("a request has an id")?;
        if self.requests.get(&id).map(Option::as_ref) != Some(turn) || !self.resolved.insert(id) {
            return Err("a request that was opened ends once".to_owned());
        }
        self.count(match text(event, "outcome") {
            Some("responded") => "request responded",
            Some("cleared") => "request cleared",
            Some("expired") => "request expired",
            Some("aborted") => "request aborted",
            _ => return Err("a request ends in one of four ways".to_owned()),
        });
        Ok(())
    }

    fn end(&mut self, kind: &str, turn: String, event: &Value) -> Result<(), String> {
        // A message may have had nothing to say, and then it has no events at all; what has deltas has its end.
        if self.texts.values().any(|piece| !piece.is_over)
            || self.tools.values().any(|tool| tool.turn == turn && tool.call != Call::Finished)
            || self.compactions.values().any(|open| *open != 0)
        {
            return Err("something is open at the end of its turn".to_owned());
        }
        let of_turn = self.requests.iter().filter(|(_, of)| of.as_ref() == Some(&turn));
        if of_turn.into_iter().any(|(id, _)| !self.resolved.contains(id)) {
            return Err("a request is open at the end of its turn".to_owned());
        }
        self.open = None;
        self.has_usage = false;
        if !self.ended.insert(turn) {
            return Err("a turn ends once".to_owned());
        }
        let rule = match (
            kind,
            text(event, "status"),
            event["confirmed"].as_bool(),
            text(&event["details"], "code"),
        ) {
            ("turn_completed", Some("completed"), Some(true), None) => "completed",
            ("turn_completed", Some("interrupted"), Some(true), None) => "interrupted",
            ("turn_completed", Some("interrupted"), Some(false), None) => "interrupted, unconfirmed",
            ("turn_failed", None, None, Some("failed")) => "failed",
            ("turn_failed", None, None, Some("overflow")) => "failed by overflow",
            ("turn_failed", None, None, Some("exit")) => "failed by exit",
            ("turn_failed", None, None, Some("deadline")) => "failed by deadline",
            _ => return Err("a turn does not end so".to_owned()),
        };
        self.count(rule);
        Ok(())
    }
}
