//! Provider-neutral agent events: what a provider says about an agent before it becomes a schema-v1 event.

pub mod event;
pub mod time;
pub mod validate;

pub use event::{AgentEvent, ContextUse, Model, Outcome, WaitState};
pub use time::occurred_at;
pub use validate::{Form, Issue, validate};
