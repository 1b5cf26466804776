//! Sessions that a host runs itself, as pure state machines.
//!
//! Input: what is asked for and what was observed, with its time. Output: what may be written, and events in a legal order.
//! Never: starts, stores or sends anything; never takes a native id for an identity of the product.

pub mod binding;
