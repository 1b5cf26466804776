//! Whether an answer is one.
//!
//! Input: an answer as JSON, and what is wanted. Output: what is written to the harness, or what is wrong.
//! Invariant: each question has its answer. Never: repeats an answer in a message.

use serde::Serialize;

use super::ask::{Question, Wanted};
use crate::json::Json;
use crate::runtime::fields::{Fields, InputFault};
use crate::text::units;

/// UTF-16 code units of all answers to one request.
pub const ANSWER_UNITS: usize = 16_000;

/// A good answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<Json>,
    /// The questions that it answers.
    #[serde(skip)]
    pub(super) answered: Option<Vec<String>>,
    /// Texts that are secrets.
    #[serde(skip)]
    pub(super) secrets: Vec<String>,
}

/// Judges the answer in `text`.
pub(super) fn judge(text: &str, wanted: &Wanted) -> Result<Answer, InputFault> {
    let mut fields = Fields::parse(text, "answer")?;
    let questions = match wanted {
        Wanted::Decision(ids) => {
            let decision = fields.need_text("decision")?;
            if !ids.contains(&decision) {
                let message = if ids.is_empty() {
                    "has no value that the harness is known to take; clear the request".to_owned()
                } else {
                    format!("must be one of {}", ids.join(", "))
                };
                return Err(fields.fault("decision", message));
            }
            let decision = Some(decision);
            return Ok(Answer { decision, answers: None, answered: None, secrets: Vec::new() });
        }
        Wanted::Answers(questions) => questions,
    };
    let answers = fields.take("answers").unwrap_or(Json::Null);
    let mut answers = Fields::of(answers, "answers")?;
    let mut secrets = Vec::new();
    let mut written = Vec::new();
    let mut total = 0;
    for question in questions {
        let path = answers.path(&question.id);
        let Some(given) = answers.take(&question.id) else {
            return Err(InputFault::new(path, "must be answered"));
        };
        let mut given = Fields::of(given, &path)?;
        let (options, text) = (options(&mut given, question)?, given.text("text")?);
        if text.as_ref().is_some_and(|text| text.is_empty() || !question.is_free) {
            let message =
                if question.is_free { "must not be empty" } else { "must not be given: choose an option" };
            return Err(given.fault("text", message));
        }
        if options.is_empty() && text.is_none() {
            return Err(InputFault::new(path, "must have an option or text"));
        }
        total += text.iter().chain(&options).map(|text| units(text)).sum::<usize>();
        if total > ANSWER_UNITS {
            return Err(InputFault::new(
                "answers",
                format!("must have at most {ANSWER_UNITS} UTF-16 code units"),
            ));
        }
        if question.is_secret {
            secrets.extend(text.clone());
        }
        let mut answer = Vec::new();
        if !options.is_empty() {
            let options = options.into_iter().map(Json::Text).collect();
            answer.push(("options".to_owned(), Json::Array(options)));
        }
        answer.extend(text.map(|text| ("text".to_owned(), Json::Text(text))));
        written.push((question.id.clone(), Json::Object(answer)));
    }
    if !answers.is_empty() {
        return Err(InputFault::new(
            "answers",
            "must not have an answer to what is no question of the request",
        ));
    }
    let answered = Some(written.iter().map(|(id, _)| id.clone()).collect());
    Ok(Answer { decision: None, answers: Some(Json::Object(written)), answered, secrets })
}

fn options(given: &mut Fields, question: &Question) -> Result<Vec<String>, InputFault> {
    let mut chosen: Vec<String> = Vec::new();
    for option in given.list("options")?.unwrap_or_default() {
        match option {
            Json::Text(id) if question.options.contains(&id) && !chosen.contains(&id) => chosen.push(id),
            _ => return Err(given.fault("options", "must hold ids of options, each once")),
        }
    }
    if chosen.len() > 1 && !question.is_multi {
        return Err(given.fault("options", "must hold one id"));
    }
    Ok(chosen)
}
