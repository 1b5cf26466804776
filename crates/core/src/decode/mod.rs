//! From bytes to lines to events: framing, diagnostics, and the schema-v1 JSONL parser.

pub mod diagnostics;
pub mod frame;
pub mod parser;
pub mod records;
pub mod select;
pub mod validate;

pub use diagnostics::{Diagnostic, DiagnosticCode, DiagnosticLog};
pub use frame::{Frame, Framer};
pub use parser::JsonlParser;
pub use records::RecordDecoder;
pub use select::Select;
