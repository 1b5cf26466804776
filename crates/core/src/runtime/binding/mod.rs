//! The binding of a product session to a native session: what one is, and which changes of it are legal.
//!
//! Input: a binding as it is stored, and what is to be written or claimed. Output: what to write, or a [`BindingFault`].
//! Invariant: the first rule of `docs/bindings.md` that fails decides. Never: stores, reads a clock, shows a native id in a fault.

mod content;
mod fault;
mod ids;
mod native;
mod read;
mod rules;
mod update;
mod view;

pub use content::{Binding, BindingState, Content, Diagnostic, Locator, LocatorKind, Mode};
pub use fault::{BindingCode, BindingFault, Details};
pub use ids::{NativeSessionId, ProductSessionId, is_adapter_word};
pub use native::{Holder, NativeStep, take_native};
pub use read::{
    Filter, NativeSession, binding_update, expected, filter, native_session, new_binding, product_session,
};
pub use rules::{Rule, may_become, may_begin};
pub use update::{Expected, Step, claim, update};
pub use view::{Inspection, OwnerStatus, OwnerView};
