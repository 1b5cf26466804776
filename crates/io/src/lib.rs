//! The effects of agent-lifecycle: what touches files and clocks.
//!
//! Input: places on this machine. Output: what the core makes of the bytes there. Never: writes to an agent's own folders.

pub mod adapter;
pub mod binding_store;
pub mod discover;
pub mod evidence;
pub mod follow;
pub mod journal;
pub mod lock;
pub mod monitor;
pub mod process;
pub mod report;
pub mod status;
pub mod storage;
pub mod unsupported;
pub mod validate;

mod merging;
mod titles;
mod zst;
