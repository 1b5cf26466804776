//! Provider-neutral agent events: what a provider says about an agent before it becomes a schema-v1 event.

pub mod event;

pub use event::{AgentEvent, Model, Outcome, WaitState};
