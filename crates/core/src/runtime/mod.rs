//! Sessions that a host runs itself, as pure state machines.
//!
//! Input: what is asked for and what was observed, with its time. Output: what may be written, and events in a legal order.
//! Never: starts, stores or sends anything; never takes a native id for an identity of the product.

pub mod approvals;
pub mod binding;
mod fields;
pub mod request;
mod secrets;
pub mod semantic;
pub mod sequencer;

pub use fields::{InputFault, NativeId};
pub use secrets::NotHidden;
