//! `JsonlLifecycleParser`: the schema-v1 JSONL parser for JavaScript.

use agent_lifecycle_core::contract::limits::LINE_BYTES;
use agent_lifecycle_core::decode::{DiagnosticLog, JsonlParser};
use napi::{Env, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, text};

/// What a stream's log holds.
#[derive(Serialize)]
pub(crate) struct LogView<'a> {
    diagnostics: &'a [agent_lifecycle_core::decode::Diagnostic],
    total: u64,
}

impl<'a> LogView<'a> {
    pub(crate) fn of(log: &'a DiagnosticLog) -> Self {
        Self { diagnostics: log.kept(), total: log.total() }
    }
}

/// The longest line that a caller may allow.
const MOST_LINE_BYTES: i64 = 64 * 1024 * 1024;

/// Parses a stream of schema-v1 events.
#[napi]
pub struct NativeParser {
    parser: JsonlParser,
}

#[napi]
impl NativeParser {
    /// Lines longer than `max_line_bytes` are dropped and reported; clamped to 1 byte..64 MiB.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, max_line_bytes: Option<f64>) -> Result<Self> {
        Ok(Self { parser: JsonlParser::new(line_limit(env, max_line_bytes)?) })
    }

    /// The events that `chunk` completes, as the JSON text of an array.
    #[napi(catch_unwind)]
    pub fn push(&mut self, chunk: &[u8]) -> String {
        let mut events = String::from("[");
        self.parser.push(chunk, &mut |event, _| {
            if events.len() > 1 {
                events.push(',');
            }
            events.push_str(&event.to_json());
        });
        events.push(']');
        events
    }

    /// Ends the stream: bytes that no line end closed are reported.
    #[napi(catch_unwind)]
    pub fn end(&mut self) {
        self.parser.end();
    }

    /// `{diagnostics, total}` as JSON text.
    #[napi(catch_unwind)]
    pub fn log(&self) -> String {
        text(&LogView::of(self.parser.diagnostics()))
    }
}

/// The line limit that a caller gave, else the contract's.
pub(crate) fn line_limit(env: Env, given: Option<f64>) -> Result<usize> {
    let default = i64::try_from(LINE_BYTES).unwrap_or(MOST_LINE_BYTES);
    let limit = integer(env, given, i64::MIN, default, "maxLineBytes")?.clamp(1, MOST_LINE_BYTES);
    Ok(usize::try_from(limit).unwrap_or(LINE_BYTES))
}
