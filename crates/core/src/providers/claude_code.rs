//! Claude Code journals.
