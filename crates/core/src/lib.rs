//! The pure core of agent-lifecycle.
//!
//! ```text
//! bytes -> records -> events -> projection -> display
//! ```
//!
//! Nothing here reads a file, a clock, the environment or a random source, and nothing knows Node.

pub mod agent;
pub mod bridge;
pub mod contract;
pub mod decode;
pub mod display;
pub mod json;
pub mod pipeline;
pub mod project;
pub mod providers;
pub mod reconcile;
pub mod redact;
pub mod runtime;
pub mod text;
