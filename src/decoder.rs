//! `createJsonlRecordDecoder`: the record decoder for JavaScript, which parses the texts that come from here.

use agent_lifecycle_core::contract::limits::LINE_BYTES;
use agent_lifecycle_core::decode::records::{Counts, RecordDecoder};
use agent_lifecycle_core::decode::{Diagnostic, DiagnosticCode, Select};
use napi::bindgen_prelude::{BufferSlice, Utf16String};
use napi::{Env, Error, JsString, Result};
use napi_derive::napi;
use serde::Serialize;

use crate::convert::{integer, text};
use crate::error::Refusal;

/// The longest record that a caller may allow.
const MOST_RECORD_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// The strings that a member of a wanted record may be.
#[napi(object)]
pub struct NativeSelected {
    /// The member.
    pub name: Utf16String,
    /// Its strings.
    pub strings: Vec<Utf16String>,
}

/// What became of a stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsView<'a> {
    records: u64,
    bytes: u64,
    skipped: u64,
    nul_padded: u64,
    dropped: DroppedView,
    last_diagnostics: &'a [Diagnostic],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DroppedView {
    malformed: u64,
    oversize: u64,
    invalid_utf8: u64,
    too_deep: u64,
}

/// Cuts a stream into the texts of its records.
#[napi]
pub struct NativeRecordDecoder {
    decoder: RecordDecoder,
}

#[napi]
impl NativeRecordDecoder {
    /// Longer records than `max_record_bytes` are dropped; clamped to 1 byte..64 MiB.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, max_record_bytes: Option<f64>, select: Option<Vec<NativeSelected>>) -> Result<Self> {
        let limit = record_limit(env, max_record_bytes)?;
        let select = select.map(|members| {
            let units = |text: &Utf16String| text.to_vec();
            let members = members
                .iter()
                .map(|NativeSelected { name, strings }| (units(name), strings.iter().map(units).collect()));
            Select::new(members).ok_or_else(|| {
                let message = "select must name 1 to 64 members";
                Refusal { code: "invalid_option", path: Some("select"), message }.into_error(env)
            })
        });
        Ok(Self { decoder: RecordDecoder::new(limit, select.transpose()?) })
    }

    /// Takes a chunk and returns the text of the records that are ASCII, one behind the other. `table` is the bytes of an
    /// `Int32Array` and gets how many records there are, how many of them are in the text of `wide`, whether the stream is now inside a line that is
    /// dropped, and for each record where it ends in its text: below 0 for `wide`. An entry for every two bytes of the chunk and four
    /// more are room enough.
    #[napi(catch_unwind)]
    pub fn push<'env>(
        &mut self,
        env: &'env Env,
        chunk: &[u8],
        mut table: BufferSlice<'_>,
    ) -> Result<JsString<'env>> {
        self.decoder.push(chunk);
        let is_dropping = self.decoder.is_dropping();
        let batch = self.decoder.batch();
        let (table, _) = table.as_chunks_mut();
        let [count, wide_count, dropping, entries @ ..] = table else { return Err(no_room()) };
        let mut wide = 0;
        let ends = batch.ends();
        *count = entry(ends.len())?;
        let entries = entries.get_mut(..ends.len()).ok_or_else(no_room)?;
        for ((is_wide, end), slot) in ends.zip(entries) {
            let end = i32::try_from(end).map_err(|_| no_room())?;
            wide += usize::from(is_wide);
            *slot = if is_wide { -end } else { end }.to_ne_bytes();
        }
        *wide_count = entry(wide)?;
        *dropping = entry(usize::from(is_dropping))?;
        env.create_string_latin1(batch.narrow())
    }

    /// The text of the other records of the last push.
    #[napi(catch_unwind)]
    pub fn wide<'env>(&self, env: &'env Env) -> Result<JsString<'env>> {
        env.create_string_utf16(self.decoder.batch().wide())
    }

    /// Fills `table`, 24 bytes for each record of the last push: where its line begins in the stream and the line's length, as
    /// doubles, and the hash of its bytes.
    #[napi(catch_unwind)]
    pub fn marks(&self, mut table: BufferSlice<'_>) -> Result<()> {
        let batch = self.decoder.batch();
        let (slots, _) = table.as_chunks_mut();
        if slots.len() < batch.ends().len() {
            return Err(no_room());
        }
        for (((offset, length), hash), slot) in batch.marks().zip(slots) {
            let slot: &mut [u8; 24] = slot;
            slot[..8].copy_from_slice(&number(offset).to_ne_bytes());
            slot[8..16].copy_from_slice(&number(length).to_ne_bytes());
            slot[16..].copy_from_slice(&hash.to_ne_bytes());
        }
        Ok(())
    }

    /// Takes `length` bytes without a line end of a line that is dropped.
    #[napi(catch_unwind)]
    pub fn skip(&mut self, env: Env, length: f64) -> Result<()> {
        let length = integer(env, Some(length), 0, 0, "length")?;
        self.decoder.skip(length.unsigned_abs());
        Ok(())
    }

    /// `JSON.parse` refused a record of the last push.
    #[napi(catch_unwind)]
    pub fn refuse(&mut self, index: u32) {
        self.decoder.refuse(index as usize);
    }

    /// Begins a new stream.
    #[napi(catch_unwind)]
    pub fn reset(&mut self) {
        self.decoder.reset();
    }

    /// Ends the stream: bytes that no line end closed are reported.
    #[napi(catch_unwind)]
    pub fn end(&mut self) {
        self.decoder.end();
    }

    /// What became of the stream, as JSON text.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> String {
        let Counts { records, bytes, skipped } = self.decoder.counts();
        let faults = |code| self.decoder.faults(code);
        text(&StatsView {
            records,
            bytes,
            skipped,
            nul_padded: faults(DiagnosticCode::NulPadding),
            dropped: DroppedView {
                malformed: faults(DiagnosticCode::Malformed),
                oversize: faults(DiagnosticCode::Oversize),
                invalid_utf8: faults(DiagnosticCode::InvalidUtf8),
                too_deep: faults(DiagnosticCode::TooDeep),
            },
            last_diagnostics: self.decoder.diagnostics().kept(),
        })
    }
}

fn entry(number: usize) -> Result<[u8; 4]> {
    i32::try_from(number).map(i32::to_ne_bytes).map_err(|_| no_room())
}

#[expect(clippy::cast_precision_loss, reason = "a stream of 2^53 bytes is not met")]
fn number(offset: u64) -> f64 {
    offset as f64
}

fn no_room() -> Error {
    Error::from_reason("the table of a record decoder is too small")
}

/// The limit that a caller gave, else the contract's.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
fn record_limit(env: Env, given: Option<f64>) -> Result<usize> {
    match given {
        None => Ok(LINE_BYTES),
        Some(limit) if limit.is_nan() => {
            let message = "maxRecordBytes must be a number, and it is NaN";
            Err(Refusal { code: "invalid_option", path: Some("maxRecordBytes"), message }.into_error(env))
        }
        Some(limit) => Ok(limit.clamp(1.0, MOST_RECORD_BYTES) as usize),
    }
}
