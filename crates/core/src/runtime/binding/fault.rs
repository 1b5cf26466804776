//! What a store of bindings says no with.
//!
//! Input: a code and facts. Output: code, message and details, which are safe to show.
//! Never: holds a native id, a locator or a value of metadata.

use std::fmt;

use serde::Serialize;

use super::content::{BindingState, Mode};
use super::ids::ProductSessionId;
use super::rules::Rule;

/// The stable codes; `docs/bindings.md` has cause and remedy of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingCode {
    /// Other writers, or too much that waits.
    Busy,
    /// The store was closed.
    Closed,
    /// Another revision than the expected one.
    Conflict,
    /// A row, or the file, that cannot be what a store wrote.
    Corrupt,
    /// The binding is in `error`, and the claim is not for repair.
    Error,
    /// There is such a binding.
    Exists,
    /// Another generation than the current one.
    Fenced,
    /// A value that is none.
    Invalid,
    /// The file system or `SQLite` failed.
    Io,
    /// The binding is `missing`, and the claim is not for repair.
    Missing,
    /// Another session has this native session.
    NativeTaken,
    /// A newer version wrote the file.
    NewerFormat,
    /// The file is no store of bindings.
    NoStore,
    /// There is no such binding.
    NotFound,
    /// Somebody who is not provably dead claimed it.
    Owned,
    /// A change that a rule forbids.
    Transition,
}

impl BindingCode {
    /// Its text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "binding_busy",
            Self::Closed => "binding_closed",
            Self::Conflict => "binding_conflict",
            Self::Corrupt => "binding_corrupt",
            Self::Error => "binding_error",
            Self::Exists => "binding_exists",
            Self::Fenced => "binding_fenced",
            Self::Invalid => "binding_invalid",
            Self::Io => "binding_io",
            Self::Missing => "binding_missing",
            Self::NativeTaken => "binding_native_taken",
            Self::NewerFormat => "binding_newer_format",
            Self::NoStore => "binding_no_store",
            Self::NotFound => "binding_not_found",
            Self::Owned => "binding_owned",
            Self::Transition => "binding_transition",
        }
    }
}

/// The facts of a fault; each code has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Whose binding it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_session_id: Option<ProductSessionId>,
    /// The session that has the native session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_session_id: Option<ProductSessionId>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
    /// What is; 0 where the binding is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_revision: Option<u64>,
    /// The generation that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_generation: Option<u64>,
    /// The state that was to be left; absent at creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<BindingState>,
    /// The state that was to be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<BindingState>,
    /// In which mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The number of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<u8>,
    /// The member that is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<&'static str>,
    /// The version of the file, and the newest that is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<i64>,
    /// The newest version that is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_format: Option<i64>,
}

/// Why something was not done. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingFault {
    /// Which fault.
    pub code: BindingCode,
    /// One sentence for people.
    pub message: String,
    /// Its facts.
    pub details: Box<Details>,
}

impl BindingFault {
    /// A fault without facts.
    #[must_use]
    pub fn new(code: BindingCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Box::default() }
    }

    /// A fault of one binding.
    #[must_use]
    pub fn of(code: BindingCode, id: &ProductSessionId, message: impl Into<String>) -> Self {
        Self::with(code, message, Details { product_session_id: Some(id.clone()), ..Details::default() })
    }

    /// A fault with facts.
    #[must_use]
    pub fn with(code: BindingCode, message: impl Into<String>, details: Details) -> Self {
        Self { code, message: message.into(), details: Box::new(details) }
    }

    /// A value that is none.
    pub(super) fn invalid(member: &'static str, what: &str) -> Self {
        let details = Details { member: Some(member), ..Details::default() };
        Self::with(BindingCode::Invalid, format!("{member} {what}"), details)
    }

    /// There is no such binding.
    #[must_use]
    pub fn not_found(id: &ProductSessionId) -> Self {
        Self::of(BindingCode::NotFound, id, format!("there is no binding of {id}; create it first"))
    }

    /// The revision is not the expected one.
    #[must_use]
    pub fn conflict(id: &ProductSessionId, expected: u64, actual: u64) -> Self {
        let message = match actual {
            0 => format!("there is no binding of {id}; create it first"),
            _ => format!(
                "the binding of {id} has revision {actual}, not {expected}; read it and decide again from what it is now"
            ),
        };
        let details = Details {
            product_session_id: Some(id.clone()),
            expected_revision: Some(expected),
            actual_revision: Some(actual),
            ..Details::default()
        };
        Self::with(BindingCode::Conflict, message, details)
    }

    /// The generation is not the current one.
    #[must_use]
    pub fn fenced(id: &ProductSessionId, generation: u64, current: u64) -> Self {
        let message = format!(
            "generation {generation} of {id} is over, the current one is {current}; stop the session that was run under it"
        );
        let details = Details {
            product_session_id: Some(id.clone()),
            generation: Some(generation),
            current_generation: Some(current),
            ..Details::default()
        };
        Self::with(BindingCode::Fenced, message, details)
    }

    /// Somebody has claimed it.
    #[must_use]
    pub fn owned(id: &ProductSessionId, current: u64, what: &str) -> Self {
        let message =
            format!("{id} is claimed in generation {current} by an owner that is not provably dead; {what}");
        let details = Details {
            product_session_id: Some(id.clone()),
            current_generation: Some(current),
            ..Details::default()
        };
        Self::with(BindingCode::Owned, message, details)
    }

    /// A rule forbids it.
    #[must_use]
    pub fn transition(
        id: &ProductSessionId,
        from: Option<BindingState>,
        to: BindingState,
        mode: Mode,
        rule: Rule,
    ) -> Self {
        let start = from.map_or_else(|| "creation".to_owned(), |from| from.as_str().to_owned());
        let message = format!(
            "the binding of {id} cannot go from {start} to {} in mode {}: {} (rule {})",
            to.as_str(),
            mode.as_str(),
            rule.words(),
            rule.number()
        );
        let details = Details {
            product_session_id: Some(id.clone()),
            from,
            to: Some(to),
            mode: Some(mode),
            rule: Some(rule.number()),
            ..Details::default()
        };
        Self::with(BindingCode::Transition, message, details)
    }

    /// Another session has the native session.
    #[must_use]
    pub fn native_taken(id: &ProductSessionId, other: &ProductSessionId) -> Self {
        let message = format!("the native session that {id} would record belongs to {other} (rule 7)");
        let details = Details {
            product_session_id: Some(id.clone()),
            other_session_id: Some(other.clone()),
            rule: Some(7),
            ..Details::default()
        };
        Self::with(BindingCode::NativeTaken, message, details)
    }
}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BindingFault {}
