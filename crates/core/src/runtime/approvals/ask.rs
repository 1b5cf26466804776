//! A request as the harness asks it, and whether it can be shown.
//!
//! Input: JSON of an adapter. Output: what names it, what is shown of it, and what an answer must be; or why it is refused.
//! Invariant: what is shown is whole, for nobody approves what they cannot see. Never: an id that redaction would change.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::json::{Json, length_exceeds, write};
use crate::redact::Redactor;
use crate::runtime::fields::{Fields, ID_UNITS, InputFault, NativeId};
use crate::runtime::request::Ask;
use crate::text::units;

/// UTF-16 code units of a title, a header, a label or a description.
pub const LABEL_UNITS: usize = 512;
/// UTF-16 code units of a detail or a question.
pub const DETAIL_UNITS: usize = 4_000;
/// Bytes of arguments as JSON.
pub const ARGUMENT_BYTES: usize = 65_536;
/// Questions of one request.
pub const QUESTIONS: usize = 10;
/// Options of one question, and decisions of one approval.
pub const OPTIONS: usize = 20;

/// What names a request in its harness; with the generation of the registry it is the whole key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The connection.
    pub connection: Option<String>,
    /// The sub-agent.
    pub scope: Option<String>,
    /// The host's turn.
    pub turn_id: Option<String>,
    /// The id in the protocol.
    pub native_id: NativeId,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 64 are open.
    TooMany,
    /// It is beyond a limit.
    TooLarge(InputFault),
    /// It is no request that could be answered.
    Invalid(InputFault),
}

impl Refusal {
    /// The word used everywhere.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooMany => "too_many_requests",
            Self::TooLarge(_) => "request_too_large",
            Self::Invalid(_) => "invalid_request",
        }
    }

    /// For people.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::TooMany => "64 requests are open already; answer or clear some".to_owned(),
            Self::TooLarge(fault) | Self::Invalid(fault) => format!("{} {}", fault.path, fault.message),
        }
    }
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One of these decisions.
    Decision(Vec<String>),
    /// An answer to each of these.
    Answers(Vec<Question>),
}

/// A question, as far as an answer is judged by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) options: Vec<String>,
    pub(super) is_multi: bool,
    pub(super) is_free: bool,
    pub(super) is_secret: bool,
}

/// A request that can be opened.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) ask: Ask,
    /// What is shown, before it is redacted.
    pub(super) content: Vec<(String, Json)>,
    pub(super) wanted: Wanted,
}

/// What is asked, with its key: the rest can still be refused.
pub(super) struct Named {
    pub(super) key: Key,
    /// Tells other content under the same key.
    pub(super) print: u128,
    pub(super) ask: Ask,
    fields: Fields,
}

impl Named {
    /// The request in `text`.
    pub(super) fn parse(text: &str) -> Result<Self, InputFault> {
        let mut fields = Fields::parse(text, "asked")?;
        let key = Key {
            connection: fields.whole_name("connection")?,
            scope: fields.whole_name("scope")?,
            turn_id: fields.id("turnId")?,
            native_id: fields
                .whole_id("nativeId")?
                .ok_or_else(|| fields.fault("nativeId", "must be text or a number"))?,
        };
        let ask = fields.need_text("ask")?;
        let ask = Ask::parse(&ask).ok_or_else(|| fields.fault("ask", "must be approval or userInput"))?;
        let mut hasher = SipHasher13::new();
        hasher.write(ask.as_str().as_bytes());
        hasher.write(write(&fields.rest()).as_bytes());
        Ok(Self { key, print: hasher.finish128().as_u128(), ask, fields })
    }

    /// Judges the rest of it.
    pub(super) fn judge(mut self, redactor: &Redactor) -> Result<Asked, Refusal> {
        let (content, wanted) = match self.ask {
            Ask::Approval => approval(&mut self.fields, redactor)?,
            Ask::UserInput => user_input(&mut self.fields, redactor)?,
        };
        Ok(Asked { ask: self.ask, content, wanted })
    }
}

type Content = Vec<(String, Json)>;

fn approval(fields: &mut Fields, redactor: &Redactor) -> Result<(Content, Wanted), Refusal> {
    let kind = id(fields, "kind", redactor)?;
    let mut content = vec![("kind".to_owned(), Json::Text(kind))];
    for (name, most) in [("title", LABEL_UNITS), ("detail", DETAIL_UNITS)] {
        keep(&mut content, name, shown(fields, name, most)?);
    }
    if let Some(arguments) = fields.take("arguments") {
        if length_exceeds(&arguments, ARGUMENT_BYTES) {
            let message = format!("must have at most {ARGUMENT_BYTES} bytes as JSON");
            return Err(Refusal::TooLarge(fields.fault("arguments", message)));
        }
        content.push(("arguments".to_owned(), arguments));
    }
    let (decisions, ids) = choices(fields, "decisions", &["label"], redactor)?;
    content.push(("decisions".to_owned(), Json::Array(decisions)));
    Ok((content, Wanted::Decision(ids)))
}

fn user_input(fields: &mut Fields, redactor: &Redactor) -> Result<(Content, Wanted), Refusal> {
    let list = fields.list("questions").map_err(Refusal::Invalid)?.unwrap_or_default();
    if list.is_empty() {
        return Err(Refusal::Invalid(fields.fault("questions", "must hold a question")));
    }
    if list.len() > QUESTIONS {
        let message = format!("must hold at most {QUESTIONS} questions");
        return Err(Refusal::TooLarge(fields.fault("questions", message)));
    }
    let mut content = Vec::new();
    let mut questions: Vec<Question> = Vec::new();
    for (at, json) in list.into_iter().enumerate() {
        let mut fields = Fields::of(json, &format!("questions[{at}]")).map_err(Refusal::Invalid)?;
        let (shown, question) = question(&mut fields, redactor)?;
        if questions.iter().any(|known| known.id == question.id) {
            return Err(Refusal::Invalid(fields.fault("id", "must not be that of another question")));
        }
        content.push(Json::Object(shown));
        questions.push(question);
    }
    Ok((vec![("questions".to_owned(), Json::Array(content))], Wanted::Answers(questions)))
}

fn question(fields: &mut Fields, redactor: &Redactor) -> Result<(Content, Question), Refusal> {
    let id = id(fields, "id", redactor)?;
    let mut content = vec![("id".to_owned(), Json::Text(id.clone()))];
    keep(&mut content, "header", shown(fields, "header", LABEL_UNITS)?);
    let Some(text) = shown(fields, "question", DETAIL_UNITS)? else {
        return Err(Refusal::Invalid(fields.fault("question", "must be text")));
    };
    keep(&mut content, "question", Some(text));
    let (options, ids) = choices(fields, "options", &["label", "description"], redactor)?;
    if !options.is_empty() {
        content.push(("options".to_owned(), Json::Array(options)));
    }
    let mut flag = |name: &str, default| {
        let flag = fields.flag(name).map_err(Refusal::Invalid)?.unwrap_or(default);
        content.push((name.to_owned(), Json::Bool(flag)));
        Ok::<_, Refusal>(flag)
    };
    let is_multi = flag("multiSelect", false)?;
    let is_free = flag("allowFreeform", ids.is_empty())?;
    let is_secret = flag("secret", false)?;
    if ids.is_empty() && !is_free {
        return Err(Refusal::Invalid(
            fields.fault("allowFreeform", "must be true where there are no options"),
        ));
    }
    Ok((content, Question { id, options: ids, is_multi, is_free, is_secret }))
}

/// A list of things to choose from: as they are shown, and their ids.
fn choices(
    fields: &mut Fields,
    name: &str,
    texts: &[&str],
    redactor: &Redactor,
) -> Result<(Vec<Json>, Vec<String>), Refusal> {
    let list = fields.list(name).map_err(Refusal::Invalid)?.unwrap_or_default();
    if list.len() > OPTIONS {
        return Err(Refusal::TooLarge(fields.fault(name, format!("must hold at most {OPTIONS}"))));
    }
    let (mut content, mut ids) = (Vec::new(), Vec::new());
    for (at, json) in list.into_iter().enumerate() {
        let mut choice =
            Fields::of(json, &fields.path(&format!("{name}[{at}]"))).map_err(Refusal::Invalid)?;
        let id = id(&mut choice, "id", redactor)?;
        if ids.contains(&id) {
            return Err(Refusal::Invalid(choice.fault("id", "must not be that of another one")));
        }
        let mut shown_choice = vec![("id".to_owned(), Json::Text(id.clone()))];
        for text in texts {
            let found = shown(&mut choice, text, LABEL_UNITS)?;
            if found.is_none() && *text == "label" {
                return Err(Refusal::Invalid(choice.fault("label", "must be text")));
            }
            keep(&mut shown_choice, text, found);
        }
        content.push(Json::Object(shown_choice));
        ids.push(id);
    }
    Ok((content, ids))
}

fn keep(content: &mut Content, name: &str, text: Option<String>) {
    content.extend(text.map(|text| (name.to_owned(), Json::Text(text))));
}

/// An id that is shown and comes back: one that redaction would change could not.
fn id(fields: &mut Fields, name: &str, redactor: &Redactor) -> Result<String, Refusal> {
    let id = fields.need_text(name).map_err(Refusal::Invalid)?;
    if !(1..=ID_UNITS).contains(&units(&id)) {
        let message = format!("must be text of 1 to {ID_UNITS} UTF-16 code units");
        return Err(Refusal::TooLarge(fields.fault(name, message)));
    }
    if *redactor.text(&id) != *id {
        return Err(Refusal::Invalid(fields.fault(name, "must not look like a secret")));
    }
    Ok(id)
}

/// A text that is shown whole or not at all.
fn shown(fields: &mut Fields, name: &str, most: usize) -> Result<Option<String>, Refusal> {
    let text = fields.text(name).map_err(Refusal::Invalid)?;
    match text {
        Some(text) if units(&text) > most => {
            let message = format!("must have at most {most} UTF-16 code units");
            Err(Refusal::TooLarge(fields.fault(name, message)))
        }
        text => Ok(text),
    }
}
