//! Hermes: what its delegations say of themselves, without claiming more than that.
//!
//! Input: delegation events, and status snapshots that a host fetched. Output: normalised events, and what a snapshot asks for.
//! Invariant: a child is its id and its session together. Never: guesses a status, ends a child that is left out.

mod member;
pub mod message;
pub mod normalize;
pub mod reconcile;
pub mod routing;
pub mod snapshot;
pub mod status;

pub use message::Message;
pub use normalize::{Delegation, DelegationKind};
pub use reconcile::{Input, Intent, Known, Misses, Reconciled, key, reconcile};
pub use routing::Routing;
pub use snapshot::{Entry, RefusedEntry, StatusSnapshot};
