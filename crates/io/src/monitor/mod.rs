//! Agents that work now.
//!
//! Input: files that grow, processes, hooks, answers of the host. Output: rows, and what changed of them.
//! Invariant: one thread makes all decisions, in the order in which things came. Never: writes to an agent's own folders.

mod families;
pub mod live;
pub mod questions;
