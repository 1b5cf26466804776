//! What goes into a sequencer.
//!
//! Input: the JSON text of one input, as `ts/runtime/observation.ts` describes it. Output: the input, typed, or what is wrong with it.
//! Invariant: names of the harness are bounded. Never: says whether an input is possible now.

use crate::contract::Timestamp;
use crate::json::Json;
use crate::runtime::fields::{Fields, InputFault, NativeId};
use crate::runtime::request::{Ask, Outcome, Request, Resolution};
use crate::runtime::semantic::{AdapterState, ExitStatus, Usage};

/// One input.
#[derive(Clone, Debug)]
pub struct Input {
    /// When it happened, as written.
    pub at: String,
    /// What happened.
    pub step: Step,
    /// Bytes of the text that it came as.
    pub size: usize,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Step {
    /// A prompt is about to be sent.
    Begin(String),
    /// The harness accepted it.
    Accepted {
        /// The host's turn.
        turn_id: String,
        /// The harness's.
        native: Option<String>,
    },
    /// The harness refused it.
    Rejected(String),
    /// Something was seen.
    Observation(Place, Seen),
    /// A request was opened.
    Opened(Request),
    /// A request ended.
    Resolved(Resolution),
    /// The turn is to be interrupted.
    Abort(Option<String>),
    /// The harness ended a turn.
    Terminal(Terminal),
    /// The process ended.
    Exit {
        /// How.
        status: ExitStatus,
        /// In words.
        message: Option<String>,
        /// Whether the host wanted it.
        expected: bool,
    },
    /// The session is disposed of.
    Close,
    /// The turn took too long.
    Deadline(String),
}

/// Where an observation belongs.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The harness's turn.
    pub native_turn: Option<String>,
    /// The sub-agent.
    pub scope: Option<String>,
    /// The message, call or compaction.
    pub item: Option<NativeId>,
    /// The observation itself.
    pub event: Option<NativeId>,
}

/// The end of a turn, as the harness says it.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// The harness's turn.
    pub native_turn: Option<String>,
    /// The sub-agent whose turn it is.
    pub scope: Option<String>,
    /// How it ended.
    pub status: Status,
    /// In words.
    pub message: Option<String>,
    /// More of it.
    pub details: Option<Json>,
    /// Its tokens.
    pub usage: Option<Usage>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Completed,
    /// It was stopped.
    Interrupted,
    /// Badly.
    Failed,
}

/// Text of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// The next of it.
    Delta(String),
    /// The next of it as UTF-16 code units, where it begins or ends in the middle of a character.
    Units(Vec<u16>),
    /// All of it so far.
    Cumulative(String),
}

/// What was seen.
#[derive(Clone, Debug)]
pub enum Seen {
    /// The harness began a turn.
    TurnStarted,
    /// Of a message, or of reasoning.
    Text {
        /// Which of the two.
        is_reasoning: bool,
        /// Its text.
        text: Option<Text>,
        /// Whether it ends with that.
        done: bool,
    },
    /// Of a call.
    Tool {
        /// Its tool.
        name: Option<String>,
        /// What of it.
        phase: Phase,
    },
    /// Tokens.
    Usage(Usage),
    /// A plan.
    Plan(Json),
    /// Changes.
    Diff(Json),
    /// A compaction began, or ended.
    Compaction {
        /// Which of the two.
        ended: bool,
    },
    /// Something that belongs to a turn only where one is on.
    Note(Note),
    /// Of the adapter.
    Adapter(AdapterState, Option<String>),
}

/// What of a call was seen.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Its arguments.
    Call {
        /// As far as they go.
        args: Option<Json>,
        /// Whether that is all.
        complete: bool,
    },
    /// It runs.
    Started,
    /// Its output.
    Updated {
        /// As text.
        text: Option<Text>,
        /// As anything else.
        partial: Option<Json>,
    },
    /// It is done.
    Finished {
        /// What came of it.
        result: Option<Json>,
        /// Whether that is an error.
        is_error: bool,
    },
}

/// Something to know.
#[derive(Clone, Debug)]
pub enum Note {
    /// A warning.
    Warning(Option<String>, String),
    /// An error that ends no turn.
    Error(Option<String>, String, Option<Json>),
    /// What has no kind.
    Native(String, Option<Json>),
}

impl Input {
    /// The input in `text`.
    ///
    /// # Errors
    /// The member that is wrong.
    pub fn parse(text: &str) -> Result<Self, InputFault> {
        let mut fields = Fields::parse(text, "input")?;
        let at = fields.need_text("at")?;
        let at = Timestamp::parse(at.into())
            .ok_or_else(|| fields.fault("at", "must be RFC 3339 UTC, such as 2026-05-17T22:29:21Z"))?;
        let step = step(&mut fields)?;
        Ok(Self { at: at.as_str().to_owned(), step, size: text.len() })
    }

    /// What the input is called in diagnostics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.step {
            Step::Begin(_) => "begin",
            Step::Accepted { .. } => "accepted",
            Step::Rejected(_) => "rejected",
            Step::Observation(_, seen) => seen.name(),
            Step::Opened(_) => "requestOpened",
            Step::Resolved(_) => "requestResolved",
            Step::Abort(_) => "abort",
            Step::Terminal(_) => "terminal",
            Step::Exit { .. } => "exit",
            Step::Close => "close",
            Step::Deadline(_) => "deadline",
        }
    }
}

impl Seen {
    fn name(&self) -> &'static str {
        match self {
            Self::TurnStarted => "turn_started",
            Self::Text { is_reasoning: false, .. } => "assistant",
            Self::Text { is_reasoning: true, .. } => "reasoning",
            Self::Tool { phase: Phase::Call { .. }, .. } => "tool_call",
            Self::Tool { phase: Phase::Started, .. } => "tool_started",
            Self::Tool { phase: Phase::Updated { .. }, .. } => "tool_updated",
            Self::Tool { phase: Phase::Finished { .. }, .. } => "tool_finished",
            Self::Usage(_) => "usage",
            Self::Plan(_) => "plan",
            Self::Diff(_) => "diff",
            Self::Compaction { ended: false } => "compaction_started",
            Self::Compaction { ended: true } => "compaction_finished",
            Self::Note(Note::Warning(..)) => "warning",
            Self::Note(Note::Error(..)) => "error",
            Self::Note(Note::Native(..)) => "native",
            Self::Adapter(..) => "adapter",
        }
    }
}

fn step(fields: &mut Fields) -> Result<Step, InputFault> {
    let input = fields.need_text("input")?;
    Ok(match input.as_str() {
        "begin" => Step::Begin(fields.need_id("turnId")?),
        "accepted" => {
            Step::Accepted { turn_id: fields.need_id("turnId")?, native: fields.native_name("nativeTurnId")? }
        }
        "rejected" => Step::Rejected(fields.need_id("turnId")?),
        "observation" => {
            let place = Place {
                native_turn: fields.native_name("nativeTurnId")?,
                scope: fields.native_name("scope")?,
                item: fields.native_id("nativeItemId")?,
                event: fields.native_id("nativeEventId")?,
            };
            Step::Observation(place, seen(fields)?)
        }
        "requestOpened" => match (fields.take("approval"), fields.take("userInput")) {
            (Some(request), None) => Step::Opened(Request::read(request, "approval", Ask::Approval)?),
            (None, Some(request)) => Step::Opened(Request::read(request, "userInput", Ask::UserInput)?),
            _ => return Err(fields.fault("approval", "must be a request, or else userInput must be one")),
        },
        "requestResolved" => Step::Resolved(resolution(fields)?),
        "abort" => Step::Abort(fields.id("turnId")?),
        "terminal" => Step::Terminal(terminal(fields)?),
        "exit" => {
            let status =
                ExitStatus { exit_code: fields.integer("exitCode")?, signal: fields.text("signal")? };
            let (message, expected) = (fields.text("message")?, fields.flag("expected")?.unwrap_or(false));
            Step::Exit { status, message, expected }
        }
        "close" => Step::Close,
        "deadline" => Step::Deadline(fields.need_id("turnId")?),
        _ => {
            let message = "must be begin, accepted, rejected, observation, requestOpened, requestResolved, abort, terminal, exit, close or deadline";
            return Err(fields.fault("input", message));
        }
    })
}

fn terminal(fields: &mut Fields) -> Result<Terminal, InputFault> {
    let status = match fields.need_text("status")?.as_str() {
        "completed" => Status::Completed,
        "interrupted" => Status::Interrupted,
        "failed" => Status::Failed,
        _ => return Err(fields.fault("status", "must be completed, interrupted or failed")),
    };
    Ok(Terminal {
        native_turn: fields.native_name("nativeTurnId")?,
        scope: fields.native_name("scope")?,
        status,
        message: fields.text("message")?,
        details: fields.take("details"),
        usage: fields.take("usage").map(usage).transpose()?,
    })
}

fn resolution(fields: &mut Fields) -> Result<Resolution, InputFault> {
    let request_id = fields.need_id("requestId")?;
    let outcome = Outcome::parse(&fields.need_text("outcome")?)
        .ok_or_else(|| fields.fault("outcome", "must be responded, cleared, expired or aborted"))?;
    let answered = fields.list("answered")?.map(|items| {
        let ids = items.into_iter().map(|item| match item {
            Json::Text(id) => Ok(id),
            _ => Err(fields.fault("answered", "must hold ids of questions")),
        });
        ids.collect::<Result<Vec<_>, _>>()
    });
    Ok(Resolution { request_id, outcome, decision: fields.id("decision")?, answered: answered.transpose()? })
}

fn seen(fields: &mut Fields) -> Result<Seen, InputFault> {
    let kind = fields.need_text("kind")?;
    Ok(match kind.as_str() {
        "turn_started" => Seen::TurnStarted,
        "assistant" | "reasoning" => Seen::Text {
            is_reasoning: kind == "reasoning",
            text: text(fields)?,
            done: fields.flag("done")?.unwrap_or(false),
        },
        "tool_call" => {
            let complete = fields.flag("argsComplete")?.unwrap_or(true);
            tool(fields, |fields| Ok(Phase::Call { args: fields.take("args"), complete }))?
        }
        "tool_started" => tool(fields, |_| Ok(Phase::Started))?,
        "tool_updated" => tool(fields, |fields| {
            Ok(Phase::Updated { text: text(fields)?, partial: fields.take("partialResult") })
        })?,
        "tool_finished" => tool(fields, |fields| {
            let is_error = fields.flag("isError")?.unwrap_or(false);
            Ok(Phase::Finished { result: fields.take("result"), is_error })
        })?,
        "usage" => Seen::Usage(usage(fields.take("usage").unwrap_or(Json::Null))?),
        "plan" => Seen::Plan(need(fields, "plan")?),
        "diff" => Seen::Diff(need(fields, "diff")?),
        "compaction_started" => Seen::Compaction { ended: false },
        "compaction_finished" => Seen::Compaction { ended: true },
        "warning" => Seen::Note(Note::Warning(fields.text("code")?, fields.need_text("message")?)),
        "error" => {
            let (code, message) = (fields.text("code")?, fields.need_text("message")?);
            Seen::Note(Note::Error(code, message, fields.take("details")))
        }
        "native" => Seen::Note(Note::Native(fields.need_text("name")?, fields.take("payload"))),
        "adapter" => {
            let state = match fields.need_text("state")?.as_str() {
                "starting" => AdapterState::Starting,
                "ready" => AdapterState::Ready,
                "restarting" => AdapterState::Restarting,
                _ => return Err(fields.fault("state", "must be starting, ready or restarting")),
            };
            Seen::Adapter(state, fields.text("message")?)
        }
        _ => return Err(fields.fault("kind", "must be a kind of observation, as docs/turns.md lists them")),
    })
}

fn tool(
    fields: &mut Fields,
    phase: impl FnOnce(&mut Fields) -> Result<Phase, InputFault>,
) -> Result<Seen, InputFault> {
    Ok(Seen::Tool { name: fields.text("toolName")?, phase: phase(fields)? })
}

fn need(fields: &mut Fields, name: &str) -> Result<Json, InputFault> {
    fields.take(name).ok_or_else(|| fields.fault(name, "must be there"))
}

fn text(fields: &mut Fields) -> Result<Option<Text>, InputFault> {
    let Some(json) = fields.take("text") else { return Ok(None) };
    let path = fields.path("text");
    let mut text = Fields::of(json, &path)?;
    let units = text.list("units")?.map(|units| units.iter().map(code_unit).collect::<Option<Vec<_>>>());
    match (text.text("delta")?, units, text.text("cumulative")?) {
        (Some(delta), None, None) => Ok(Some(Text::Delta(delta))),
        (None, Some(Some(units)), None) => Ok(Some(Text::Units(units))),
        (None, None, Some(cumulative)) => Ok(Some(Text::Cumulative(cumulative))),
        _ => Err(InputFault::new(path, "must have either delta or cumulative")),
    }
}

/// A UTF-16 code unit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn code_unit(json: &Json) -> Option<u16> {
    match json {
        Json::Number(number) if number.fract() == 0.0 && (0.0..=65535.0).contains(number) => {
            Some(*number as u16)
        }
        _ => None,
    }
}

fn usage(json: Json) -> Result<Usage, InputFault> {
    let mut fields = Fields::of(json, "usage")?;
    Ok(Usage {
        input: fields.count("input")?,
        cached: fields.count("cached")?,
        output: fields.count("output")?,
        reasoning: fields.count("reasoning")?,
        context_used: fields.count("contextUsed")?,
        context_window: fields.count("contextWindow")?,
    })
}
