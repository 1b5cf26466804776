//! Rules 2 to 6: which change of a binding is legal in which mode.
//!
//! Input: the content as it is and as it is to be. Output: the first [`Rule`] that forbids it.
//! Invariant: a recorded native id is claimed, whatever the state. Never: looks at revisions, owners or other sessions.

use super::content::{BindingState, Content, Mode};

/// A rule that forbids a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// 2: instance and adapter are frozen.
    Frozen,
    /// 3: what is missing or in error comes back by repair.
    Revive,
    /// 4: a native session is let go of by rebinding.
    LetGo,
    /// 5: the claimed id stays.
    Claimed,
    /// 6: which states have an id.
    Shape,
}

impl Rule {
    /// Its number in the docs.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Frozen => 2,
            Self::Revive => 3,
            Self::LetGo => 4,
            Self::Claimed => 5,
            Self::Shape => 6,
        }
    }

    /// What it says, with the way out.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Frozen => "runtime instance and adapter change only in mode rebind",
            Self::Revive => "what is missing or in error becomes bound only in mode repair or rebind",
            Self::LetGo => {
                "unbound is reached again only in mode rebind, and missing never from unbound, where nothing was to be found"
            }
            Self::Claimed => "the recorded native session changes or vanishes only in mode rebind",
            Self::Shape => "bound and missing need a native session, unbound has none",
        }
    }
}

/// Whether a binding may begin as `to`.
pub fn may_begin(to: &Content) -> Result<(), Rule> {
    shape(to)
}

/// Whether `from` may become `to` in `mode`.
pub fn may_become(from: &Content, to: &Content, mode: Mode) -> Result<(), Rule> {
    use BindingState::{Bound, Error, Missing, Unbound};
    let rebinds = mode == Mode::Rebind;
    let claimed = from.native_session_id.as_ref();
    let is_elsewhere =
        (&from.runtime_instance_id, &from.adapter_id) != (&to.runtime_instance_id, &to.adapter_id);
    if is_elsewhere && !rebinds {
        return Err(Rule::Frozen);
    }
    match (from.state, to.state) {
        (Missing | Error, Bound) if mode == Mode::Normal => return Err(Rule::Revive),
        (Bound | Missing, Unbound) if !rebinds => return Err(Rule::LetGo),
        (Error, Unbound) if claimed.is_some() && !rebinds => return Err(Rule::LetGo),
        (Unbound, Missing) => return Err(Rule::LetGo),
        _ => {}
    }
    if claimed.is_some() && claimed != to.native_session_id.as_ref() && !rebinds {
        return Err(Rule::Claimed);
    }
    shape(to)
}

fn shape(to: &Content) -> Result<(), Rule> {
    let has_id = to.native_session_id.is_some();
    let fits = match to.state {
        BindingState::Bound | BindingState::Missing => has_id,
        BindingState::Unbound => !has_id,
        BindingState::Error => true,
    };
    if fits { Ok(()) } else { Err(Rule::Shape) }
}
