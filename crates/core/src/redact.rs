//! Redaction.
