//! Rule 7: a native session belongs to one product session, by a binding or by a reservation.
//!
//! Input: who has the native id now. Output: what to do with its row, or the fault. Invariant: one row for each adapter and id.
//! Never: takes an id from a binding, or from a reservation whose owner may live.

use super::fault::BindingFault;
use super::ids::ProductSessionId;

/// Who has a native id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The binding of this session records it.
    Binding(ProductSessionId),
    /// It is kept for this session, and whoever keeps it may live.
    Reservation(ProductSessionId),
    /// It was kept by somebody who is provably dead.
    Lapsed,
}

/// What becomes of the row of a native id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeStep {
    /// The session has it already.
    Keep,
    /// Nobody has it.
    Insert,
    /// A reservation is consumed or has lapsed.
    Replace,
}

/// What it comes to when the binding of `id` records the native id that `holder` has.
pub fn take_native(holder: Option<&Holder>, id: &ProductSessionId) -> Result<NativeStep, BindingFault> {
    match holder {
        None => Ok(NativeStep::Insert),
        Some(Holder::Lapsed) => Ok(NativeStep::Replace),
        Some(Holder::Binding(other)) if other == id => Ok(NativeStep::Keep),
        Some(Holder::Reservation(other)) if other == id => Ok(NativeStep::Replace),
        Some(Holder::Binding(other) | Holder::Reservation(other)) => {
            Err(BindingFault::native_taken(id, other))
        }
    }
}
