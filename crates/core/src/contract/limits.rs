//! Every bound of the contract in one place, with its unit.

/// Identities (`eventId`, `source`, `sourceEpoch`, `childId`, lineage ids): UTF-8 bytes after trimming.
pub const ID_BYTES: usize = 512;
/// `activity`: UTF-16 code units; longer text is cut on a character boundary.
pub const ACTIVITY_UNITS: usize = 512;
/// `details`: UTF-8 bytes of its compact JSON text, before and after redaction.
pub const DETAILS_BYTES: usize = 64 * 1024;
/// `details` of a snapshot's child: UTF-8 bytes of its compact JSON text. Less than an event's, so that they can be written with the
/// correction that they belong to.
pub const SNAPSHOT_DETAILS_BYTES: usize = 56 * 1024;
/// `details`: levels of objects and arrays, the object itself being the first.
pub const DETAILS_DEPTH: usize = 32;
/// A JSON Lines record: bytes without its line end.
pub const LINE_BYTES: usize = 262_144;
/// Any JSON text: levels of objects and arrays.
pub const JSON_DEPTH: usize = 512;
/// The largest integer that a double represents without a neighbour: 2^53 - 1.
pub const SAFE_INTEGER: u64 = 9_007_199_254_740_991;
/// A diagnostic's excerpt: UTF-16 code units.
pub const RAW_UNITS: usize = 512;
/// Diagnostics kept by one parser; the rest are counted.
pub const DIAGNOSTICS: usize = 32;
