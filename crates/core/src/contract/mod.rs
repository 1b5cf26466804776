//! The child lifecycle contract, schema version 1: what an event is, which states exist, who is who.
//!
//! Input: the text of one JSON value. Output: a normalised [`Event`] or a [`Refusal`] that names the member.
//! Invariant: a value and its bytes get the same verdict. Never: reads a clock, guesses, cuts an identity.

pub mod capabilities;
pub mod error;
pub mod event;
pub mod identity;
pub mod limits;
pub(crate) mod raw;
pub mod state;
pub mod time;

pub use capabilities::{Capabilities, Capability};
pub use error::{Code, Refusal};
pub use event::{Event, Kind, Lineage};
pub use state::{State, WaitingReason};
pub use time::{Moment, Timestamp};
