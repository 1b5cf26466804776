//! Requests of a harness that somebody has to answer, as they are shown.
//!
//! Input: a registry's request, as JSON. Output: the same, typed and redacted. Invariant: its id is this package's own.
//! Never: an answer, or a native id.

use serde::{Serialize, Serializer};

use super::fields::{Fields, InputFault};
use crate::json::Json;
use crate::redact::Redactor;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered, and the answer was written.
    Responded,
    /// It was withdrawn, or nobody waits for the answer any more.
    Cleared,
    /// It took too long.
    Expired,
    /// Its turn was aborted.
    Aborted,
}

impl Outcome {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Responded => "responded",
            Self::Cleared => "cleared",
            Self::Expired => "expired",
            Self::Aborted => "aborted",
        }
    }

    /// The outcome with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Responded, Self::Cleared, Self::Expired, Self::Aborted]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Leave to do something.
    Approval,
    /// Answers to questions.
    UserInput,
}

impl Ask {
    /// The word used everywhere.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::UserInput => "userInput",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Approval, Self::UserInput].into_iter().find(|ask| ask.as_str() == word)
    }
}

impl Serialize for Ask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A request as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// This package's id of it.
    pub id: String,
    /// The turn that it belongs to.
    pub turn_id: Option<String>,
    /// What is asked for.
    pub ask: Ask,
    /// Its other members, redacted.
    pub content: Vec<(String, Json)>,
}

impl Request {
    /// The request in `json`, which stands at `path`.
    pub(super) fn read(json: Json, path: &str, ask: Ask) -> Result<Self, InputFault> {
        let mut fields = Fields::of(json, path)?;
        let (id, turn_id) = (fields.need_id("requestId")?, fields.id("turnId")?);
        let known: &[&str] = match ask {
            Ask::Approval => &["kind", "title", "detail", "arguments", "decisions"],
            Ask::UserInput => &["questions"],
        };
        let content = known.iter().filter_map(|name| Some(((*name).to_owned(), fields.take(name)?)));
        Ok(Self { id, turn_id, ask, content: content.collect() })
    }

    /// Redacts everything that is shown of it.
    pub(super) fn redact(&mut self, redactor: &Redactor) {
        let mut content = Json::Object(std::mem::take(&mut self.content));
        redactor.json(&mut content);
        if let Json::Object(members) = content {
            self.content = members;
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let id = [("requestId", Some(&self.id)), ("turnId", self.turn_id.as_ref())];
        let named = id.into_iter().filter_map(|(name, id)| Some((name.to_owned(), Json::Text(id?.clone()))));
        Json::Object(named.chain(self.content.iter().cloned()).collect()).serialize(serializer)
    }
}

/// How a request ended, as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// Which.
    pub request_id: String,
    /// How.
    pub outcome: Outcome,
    /// The decision of an approval that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The questions that were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Vec<String>>,
}

impl Resolution {
    /// An end without an answer.
    #[must_use]
    pub fn bare(request_id: &str, outcome: Outcome) -> Self {
        Self { request_id: request_id.to_owned(), outcome, decision: None, answered: None }
    }
}
