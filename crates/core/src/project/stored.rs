//! Parts of a record as JSON values, and back.
//!
//! Input: a value. Output: JSON that [`Stored::load`] makes an equal value of. Invariant: numbers beyond a double are text.
//! Never: trusts what it loads; what does not fit is nothing.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::audit::Ring;
use super::content::Content;
use super::dedupe::{BLOCK, Block, Ids, Seen, Sequences};
use super::facts::{Exit, Facts, OpenTool, PastTurn, Place, Tools, Turn, Turns, Usage, Wait};
use super::marks::REASON_UNITS;
use super::record::{
    Asked, Authority, Corrections, Estimate, Freshness, LateEvidence, Missed, NoteEvent, Reconciliation,
    Stale,
};
use super::report::Note;
use super::snapshots::Accepted;
use crate::agent::{ContextUse, Outcome};
use crate::contract::limits::SAFE_INTEGER;
use crate::contract::{Capabilities, Capability, Kind, Moment, State, WaitingReason};
use crate::json::{Json, safe_integer};
use crate::text::fit;

/// A value that a checkpoint can hold.
pub(super) trait Stored: Sized {
    fn store(&self) -> Json;
    fn load(json: &Json) -> Option<Self>;
}

/// The member `key`, `null` where it is not there.
pub(super) fn member<'a>(json: &'a Json, key: &str) -> &'a Json {
    json.get(key).unwrap_or(&Json::Null)
}

/// An object of the members that are not `null`.
pub(super) fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let members = members.into_iter().filter(|(_, value)| *value != Json::Null);
    Json::Object(members.map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Structures as objects; a member that is nothing is left out.
macro_rules! stored {
    ($($type:ident { $($field:ident: $key:literal),* $(,)? });* $(;)?) => {
        $(impl Stored for $type {
            fn store(&self) -> Json {
                object([$(($key, self.$field.store())),*])
            }
            fn load(json: &Json) -> Option<Self> {
                matches!(json, Json::Object(_)).then_some(())?;
                Some(Self { $($field: Stored::load(member(json, $key))?,)* })
            }
        })*
    };
}

/// Words as text.
macro_rules! words {
    ($($type:ident),*) => {
        $(impl Stored for $type {
            fn store(&self) -> Json {
                Json::Text(self.as_str().to_owned())
            }
            fn load(json: &Json) -> Option<Self> {
                json.text().and_then(Self::parse)
            }
        })*
    };
}

words!(State, WaitingReason, Kind, Note, Outcome, Capability, Asked);

stored! {
    Seen { sequences: "sequences", ids: "ids" };
    Sequences { base: "base", ranges: "ranges", gave_up_below: "gaveUpBelow", hashes: "hashes" };
    Ids { blocks: "blocks", newest_evicted: "newestEvicted" };
    Estimate { at: "at", estimated: "estimated" };
    Freshness { newest: "newest", stale: "stale", reconciliation: "reconciliation" };
    Stale { reason: "reason", threshold: "threshold" };
    Reconciliation { reason: "reason", deadline: "deadlineAt", answered_after: "answeredAfter", asked: "asked" };
    Authority { entry_at: "entryAt", missed: "missed", corrections: "corrections" };
    Missed { count: "count", times: "times" };
    Corrections { count: "count", seen: "seen" };
    LateEvidence {
        event_id: "eventId", kind: "kind", state: "state", observed_at: "observedAt", code: "code", content: "content"
    };
    NoteEvent { event_id: "eventId", kind: "kind", observed_at: "observedAt", activity: "activity" };
    Capabilities {
        history: "history", heartbeat: "heartbeat", snapshot: "snapshot", cancel: "cancel",
        terminal_cause: "terminalCause"
    };
    Facts {
        provider: "provider", session_id: "sessionId", agent_version: "agentVersion", title: "title", model: "model",
        place: "place", turn: "turn", open_turns: "openTurns", turns: "turns", tools: "tools", waits: "waits", usage: "usage", context: "context",
        exit: "exit", placed_at: "placedAt", active_at: "activeAt"
    };
    Place { cwd: "cwd", branch: "branch" };
    Turn { turn_id: "turnId", open: "open", outcome: "outcome" };
    PastTurn { turn_id: "turnId", outcome: "outcome" };
    Turns { count: "count", recent: "recent" };
    Tools { count: "count", open: "open" };
    OpenTool { tool_id: "toolId", name: "name", since: "since", turn_id: "turnId" };
    Wait { wait_id: "waitId", reason: "reason", since: "since", text: "text", turn_id: "turnId" };
    Usage { input: "input", cached: "cached", output: "output", counted: "counted" };
    ContextUse { used: "used", window: "window" };
    Accepted { ids: "ids", newest: "newest" };
    Exit { at: "at", code: "code", signal: "signal" };
}

impl Stored for Block {
    fn store(&self) -> Json {
        let numbers = |list: &[u64]| Json::Text(hex(list.iter().copied()));
        let (ids, contents) = (numbers(&self.ids), numbers(&self.contents));
        object([("ids", ids), ("contents", contents), ("newest", self.newest.store())])
    }
    fn load(json: &Json) -> Option<Self> {
        let ids = unhex(json.text_at("ids")?)?;
        let contents = unhex(json.text_at("contents")?)?;
        let is_whole = ids.len() == contents.len() && ids.len() <= BLOCK;
        is_whole.then_some(Self { ids, contents, newest: Stored::load(member(json, "newest"))? })
    }
}

impl Stored for bool {
    fn store(&self) -> Json {
        if *self { Json::Bool(true) } else { Json::Null }
    }
    fn load(json: &Json) -> Option<Self> {
        Some(*json == Json::Bool(true))
    }
}

impl Stored for u64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and sequences are safe integers; hashes are stored as text"
    )]
    fn store(&self) -> Json {
        Json::Number((*self).min(SAFE_INTEGER) as f64)
    }
    fn load(json: &Json) -> Option<Self> {
        match json {
            Json::Number(number) => safe_integer(*number),
            _ => None,
        }
    }
}

impl Stored for i32 {
    fn store(&self) -> Json {
        Json::Number(f64::from(*self))
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn load(json: &Json) -> Option<Self> {
        match json {
            Json::Number(number) if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(number) => {
                Some(*number as Self)
            }
            _ => None,
        }
    }
}

impl Stored for String {
    fn store(&self) -> Json {
        Json::Text(self.clone())
    }
    fn load(json: &Json) -> Option<Self> {
        json.text().map(str::to_owned)
    }
}

impl Stored for Box<str> {
    fn store(&self) -> Json {
        Json::Text(self.to_string())
    }
    fn load(json: &Json) -> Option<Self> {
        json.text().map(Into::into)
    }
}

impl Stored for Cow<'static, str> {
    fn store(&self) -> Json {
        Json::Text(self.to_string())
    }
    fn load(json: &Json) -> Option<Self> {
        json.text().map(reason)
    }
}

/// A reason as it is kept: a note's word costs nothing, and no other is long.
pub(super) fn reason(text: &str) -> Cow<'static, str> {
    match Note::parse(text) {
        Some(note) => Cow::Borrowed(note.as_str()),
        None => Cow::Owned(fit(text, REASON_UNITS).to_owned()),
    }
}

impl Stored for Moment {
    fn store(&self) -> Json {
        Json::Text(self.to_text())
    }
    fn load(json: &Json) -> Option<Self> {
        json.text().and_then(Self::parse)
    }
}

impl Stored for Content {
    fn store(&self) -> Json {
        Json::Text(hex([self.said, self.times]))
    }
    fn load(json: &Json) -> Option<Self> {
        let [said, times] = unhex(json.text()?)?[..] else { return None };
        Some(Self { said, times })
    }
}

/// 16 digits for each number.
fn hex(numbers: impl IntoIterator<Item = u64>) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for number in numbers {
        // Writing to memory does not fail.
        let _ = write!(text, "{number:016x}");
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u64>> {
    let digits = text.as_bytes().chunks(16).map(|digits| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok()
    });
    digits.collect()
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::store)
    }
    fn load(json: &Json) -> Option<Self> {
        if *json == Json::Null { Some(None) } else { T::load(json).map(Some) }
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store(&self) -> Json {
        self.as_ref().store()
    }
    fn load(json: &Json) -> Option<Self> {
        T::load(json).map(Box::new)
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self) -> Json {
        Json::Array(self.iter().map(T::store).collect())
    }
    fn load(json: &Json) -> Option<Self> {
        match json {
            Json::Array(items) => items.iter().map(T::load).collect(),
            Json::Null => Some(Self::new()),
            _ => None,
        }
    }
}

impl<T: Stored> Stored for VecDeque<T> {
    fn store(&self) -> Json {
        Json::Array(self.iter().map(T::store).collect())
    }
    fn load(json: &Json) -> Option<Self> {
        Vec::load(json).map(Into::into)
    }
}

impl<T: Stored> Stored for [T; 3] {
    fn store(&self) -> Json {
        Json::Array(self.iter().map(T::store).collect())
    }
    fn load(json: &Json) -> Option<Self> {
        Vec::load(json)?.try_into().ok()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self) -> Json {
        object([("first", self.0.store()), ("second", self.1.store())])
    }
    fn load(json: &Json) -> Option<Self> {
        Some((A::load(member(json, "first"))?, B::load(member(json, "second"))?))
    }
}

impl<T: Stored, const N: usize> Stored for Ring<T, N> {
    fn store(&self) -> Json {
        object([("count", self.count.store()), ("recent", self.recent.store())])
    }
    fn load(json: &Json) -> Option<Self> {
        let mut recent: VecDeque<T> = Stored::load(member(json, "recent"))?;
        recent.drain(..recent.len().saturating_sub(N));
        Some(Self { count: Stored::load(member(json, "count"))?, recent })
    }
}
