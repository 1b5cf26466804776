//! Whether a JSON value is an agent event.
//!
//! Input: JSON text. Output: every rule that the value breaks, in the order of the table. Invariant: the table is the one place
//! that says which members an event has and what they hold. Never: changes a value, or repeats one in a message.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeSeed;

use super::event::{Outcome, WaitState, limits};
use super::time::occurred_at;
use crate::contract::limits::JSON_DEPTH;
use crate::json::{self, Json, JsonFault, Repair};
use crate::text;

/// What a member must hold.
#[derive(Clone, Copy)]
enum Rule {
    /// An identity.
    Id,
    /// Display text of at most so many UTF-16 code units.
    Text(usize),
    Outcome,
    WaitState,
    ExitCode,
    Tokens,
    Time,
    Model,
}

#[derive(Clone, Copy)]
struct Member {
    name: &'static str,
    rule: Rule,
    required: bool,
}

const fn required(name: &'static str, rule: Rule) -> Member {
    Member { name, rule, required: true }
}

const fn optional(name: &'static str, rule: Rule) -> Member {
    Member { name, rule, required: false }
}

const AGENT: Member = optional("agentId", Rule::Id);
const TITLE: Member = optional("title", Rule::Text(limits::TITLE));
const PROMPT: Member = optional("promptText", Rule::Text(limits::TEXT));
const MODEL: Member = optional("model", Rule::Model);
const SUMMARY: Member = optional("summary", Rule::Text(limits::TEXT));
const REASON: Member = optional("reason", Rule::Text(limits::REASON));
const DESCRIPTION: Member = optional("description", Rule::Text(limits::REASON));
const SUBAGENT: Member = required("subagentId", Rule::Id);
const OUTCOME: Member = required("outcome", Rule::Outcome);

/// The twelve kinds and their members, in the order in which issues are given.
const KINDS: &[(&str, &[Member])] = &[
    ("session.started", &[TITLE, PROMPT, MODEL]),
    ("agent.metadata", &[AGENT, TITLE, PROMPT, MODEL]),
    ("turn.started", &[AGENT, required("turnId", Rule::Id), PROMPT]),
    (
        "tool.started",
        &[AGENT, required("toolId", Rule::Id), required("name", Rule::Text(limits::TOOL_NAME)), DESCRIPTION],
    ),
    ("tool.finished", &[AGENT, required("toolId", Rule::Id), optional("outcome", Rule::Outcome)]),
    ("wait.started", &[AGENT, required("waitId", Rule::Id), required("state", Rule::WaitState), REASON]),
    ("wait.finished", &[AGENT, required("waitId", Rule::Id)]),
    ("agent.done", &[AGENT, OUTCOME, SUMMARY]),
    (
        "agent.exited",
        &[AGENT, optional("exitCode", Rule::ExitCode), optional("signal", Rule::Text(limits::SIGNAL))],
    ),
    ("session.stopped", &[REASON]),
    ("subagent.started", &[SUBAGENT, optional("parentAgentId", Rule::Id), TITLE, PROMPT, MODEL]),
    ("subagent.done", &[SUBAGENT, OUTCOME, SUMMARY]),
];

/// Every event may have it; it is judged last.
const OCCURRED_AT: Member = optional("occurredAt", Rule::Time);

const MODEL_MEMBERS: &[Member] = &[
    required("id", Rule::Id),
    optional("displayName", Rule::Text(limits::MODEL_NAME)),
    optional("reasoningEffort", Rule::Text(limits::REASONING_EFFORT)),
    optional("contextWindowTokens", Rule::Tokens),
];

/// Unknown members that one object gets issues for; the rest get one issue together, with their number.
const UNKNOWN_LISTED: usize = 256;
/// UTF-16 code units of an unknown member's name that a path repeats.
const NAME_UNITS: usize = 256;

/// What the JSON text was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON from outside.
    Json,
    /// A JavaScript value: an empty array stands for `undefined`. Its arrays are written as something else that is refused.
    JavaScript,
}

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueCode {
    /// Not an object where one is needed.
    InvalidType,
    /// No kind of event.
    InvalidEvent,
    /// A member that is not in the table.
    UnknownField,
    /// No text, empty, too long, or an identity with a lone surrogate.
    InvalidString,
    /// No number of tokens.
    InvalidNumber,
    /// No outcome.
    InvalidOutcome,
    /// No state of a wait.
    InvalidState,
    /// No exit code.
    InvalidExitCode,
    /// No date-time.
    InvalidTimestamp,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// `$`, `$.kind`, `$.model.id`.
    pub path: String,
    /// Which rule.
    pub code: IssueCode,
    /// What must be; to be read after the path.
    pub message: Cow<'static, str>,
}

/// A display text that is to be cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// The object that holds it, where that is not the event.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'static str>,
    /// Its name.
    pub member: &'static str,
    /// UTF-16 code units to keep: its limit, or one less where that would cut through a character.
    pub units: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Every broken rule.
    pub issues: Vec<Issue>,
    /// Every display text that is too long; only where `fit` is asked for, and then it is no issue.
    pub cuts: Vec<Cut>,
}

/// Judges the value in `text`. With `fit`, a display text that is too long is to be cut and is no fault.
///
/// # Errors
/// The text is not JSON, or it is nested too deep.
pub fn validate(text: &str, form: Form, fit: bool) -> Result<Verdict, JsonFault> {
    let read = json::read(text.as_bytes(), |text, repair| {
        // The depth is checked before, so the reader's own, lower limit would only lose values.
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let value = Json::seed(JSON_DEPTH).deserialize(&mut reader)?;
        reader.end()?;
        Ok((value, repair))
    })?;
    let (Some(value), repair) = read else { return Err(JsonFault::TooDeep) };
    let mut judge = Judge { repair, form, fit, verdict: Verdict::default() };
    judge.event(&value);
    Ok(judge.verdict)
}

type Members = [(String, Json)];

struct Judge {
    repair: Repair,
    form: Form,
    fit: bool,
    verdict: Verdict,
}

impl Judge {
    fn event(&mut self, value: &Json) {
        let Json::Object(members) = value else {
            return self.issue("$".to_owned(), IssueCode::InvalidType, "must be an object".into());
        };
        let kind = value.text_at("kind").and_then(|kind| KINDS.iter().find(|(name, _)| *name == kind));
        let Some((kind, table)) = kind else {
            // Without a kind there is no table to judge the other members by.
            let words: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            let is_missing = value.get("kind").is_none_or(|kind| self.is_undefined(kind));
            let message = missing(is_missing, format!("must be one of {}", words.join(", ")).into());
            return self.issue("$.kind".to_owned(), IssueCode::InvalidEvent, message);
        };
        self.unknown(None, kind, members, |name| {
            name == "kind" || name == OCCURRED_AT.name || table.iter().any(|member| member.name == name)
        });
        for member in table.iter().chain([&OCCURRED_AT]) {
            self.member(None, *member, members);
        }
    }

    fn model(&mut self, members: &Members) {
        let parent = Some(MODEL.name);
        self.unknown(parent, "a model", members, |name| {
            MODEL_MEMBERS.iter().any(|member| member.name == name)
        });
        for member in MODEL_MEMBERS {
            self.member(parent, *member, members);
        }
    }

    fn unknown(
        &mut self,
        parent: Option<&str>,
        owner: &str,
        members: &Members,
        is_known: impl Fn(&str) -> bool,
    ) {
        let mut count = 0_usize;
        for (name, _) in members.iter().filter(|(name, _)| !is_known(name)) {
            count += 1;
            if count <= UNKNOWN_LISTED {
                let name = self.repair.display(Cow::Borrowed(text::fit(name, NAME_UNITS)));
                let message = format!("is no member of {owner}");
                self.issue(path(parent, &name), IssueCode::UnknownField, message.into());
            }
        }
        if count > UNKNOWN_LISTED {
            let message = format!("has {} more members that are none of {owner}", count - UNKNOWN_LISTED);
            let path = parent.map_or_else(|| "$".to_owned(), |parent| path(None, parent));
            self.issue(path, IssueCode::UnknownField, message.into());
        }
    }

    fn member(&mut self, parent: Option<&'static str>, member: Member, members: &Members) {
        let found = members.iter().find(|(name, _)| name == member.name).map(|(_, value)| value);
        let found = found.filter(|value| !self.is_undefined(value));
        let holds = match (found, member.rule) {
            (None, _) => !member.required,
            (Some(Json::Object(members)), Rule::Model) => return self.model(members),
            (Some(Json::Text(text)), Rule::Text(most)) => match self.units(text) {
                0 => false,
                units if units > most && self.fit => {
                    let units = self.units_within(text, most);
                    self.verdict.cuts.push(Cut { parent, member: member.name, units });
                    true
                }
                units => units <= most,
            },
            (Some(Json::Text(text)), rule) => self.is_word(text, rule),
            (Some(Json::Number(number)), Rule::ExitCode) => {
                is_integer(*number, -limits::EXIT_CODE, limits::EXIT_CODE)
            }
            (Some(Json::Number(number)), Rule::Tokens) => is_integer(*number, 1, limits::CONTEXT_TOKENS),
            (Some(_), _) => false,
        };
        if !holds {
            let (code, message) = broken(member.rule);
            self.issue(path(parent, member.name), code, missing(found.is_none(), message));
        }
    }

    fn is_undefined(&self, value: &Json) -> bool {
        self.form == Form::JavaScript && matches!(value, Json::Array(items) if items.is_empty())
    }

    /// Whether a text is what a rule other than that of display text wants.
    fn is_word(&self, text: &str, rule: Rule) -> bool {
        match rule {
            Rule::Id => (1..=limits::ID).contains(&self.units(text)) && !self.repair.has_lone_surrogate(text),
            Rule::Outcome => Outcome::parse(text).is_some(),
            Rule::WaitState => WaitState::parse(text).is_some(),
            Rule::Time => occurred_at(text).is_some(),
            Rule::Text(_) | Rule::ExitCode | Rule::Tokens | Rule::Model => false,
        }
    }

    /// The UTF-16 code units of `text` as it was before it was repaired: a lone surrogate is one.
    fn units(&self, text: &str) -> usize {
        match self.repair.stand_in {
            Some(_) => text.chars().map(|c| self.units_of(c)).sum(),
            None => text::units(text),
        }
    }

    /// The code units of the longest beginning of `text` that has at most `most` and cuts no character.
    fn units_within(&self, text: &str, most: usize) -> usize {
        let ends = text.chars().scan(0, |end, c| {
            *end += self.units_of(c);
            Some(*end)
        });
        ends.take_while(|end| *end <= most).last().unwrap_or(0)
    }

    fn units_of(&self, c: char) -> usize {
        if self.repair.stand_in == Some(c) { 1 } else { c.len_utf16() }
    }

    fn issue(&mut self, path: String, code: IssueCode, message: Cow<'static, str>) {
        self.verdict.issues.push(Issue { path, code, message });
    }
}

/// Where a member stands. A name comes from the caller: what would move a cursor is not repeated.
fn path(parent: Option<&str>, name: &str) -> String {
    let name = name.replace(char::is_control, "\u{fffd}");
    match parent {
        Some(parent) => format!("$.{parent}.{name}"),
        None => format!("$.{name}"),
    }
}

/// What must be, said of a member that may be missing.
fn missing(is_missing: bool, must: Cow<'static, str>) -> Cow<'static, str> {
    if is_missing { format!("is missing and {must}").into() } else { must }
}

fn is_integer(number: f64, least: i32, most: i32) -> bool {
    number.fract() == 0.0 && (f64::from(least)..=f64::from(most)).contains(&number)
}

fn broken(rule: Rule) -> (IssueCode, Cow<'static, str>) {
    let (code, message) = match rule {
        Rule::Id => (
            IssueCode::InvalidString,
            format!("must be text of 1 to {} UTF-16 code units without lone surrogates", limits::ID),
        ),
        Rule::Text(most) => {
            (IssueCode::InvalidString, format!("must be text of 1 to {most} UTF-16 code units"))
        }
        Rule::Outcome => (IssueCode::InvalidOutcome, "must be success, error or cancelled".to_owned()),
        Rule::WaitState => (IssueCode::InvalidState, "must be waiting or blocked".to_owned()),
        Rule::ExitCode => {
            let most = limits::EXIT_CODE;
            (IssueCode::InvalidExitCode, format!("must be an integer from -{most} to {most}"))
        }
        Rule::Tokens => {
            (IssueCode::InvalidNumber, format!("must be an integer from 1 to {}", limits::CONTEXT_TOKENS))
        }
        Rule::Time => (
            IssueCode::InvalidTimestamp,
            format!(
                "must be an ISO date-time with seconds and Z or an offset, such as 2026-05-17T22:29:21Z, of at most {} characters",
                limits::TIME
            ),
        ),
        Rule::Model => (IssueCode::InvalidType, "must be an object".to_owned()),
    };
    (code, message.into())
}
