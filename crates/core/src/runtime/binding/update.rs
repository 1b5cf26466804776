//! Rules 1 to 6 together: what an update or a claim of one binding comes to.
//!
//! Input: the binding as it is stored, whether an owner may live, what is to be. Output: what to write, or the fault.
//! Invariant: revision and generation only grow. Never: writes anything where the content is equal.

use super::content::{Binding, BindingState, Content, Mode};
use super::fault::{BindingCode, BindingFault};
use super::rules::may_become;

/// What an update names beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The revision that it was made from.
    pub revision: u64,
    /// In which mode.
    pub mode: Mode,
    /// The generation under which it is made, where it is made under a claim.
    pub generation: Option<u64>,
}

/// What an update comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The content is equal: there is nothing to write.
    Same,
    /// The content is to be written with this revision.
    Write {
        /// The new revision.
        revision: u64,
    },
}

/// What writing `next` over `current` comes to. `is_owned`: somebody claimed it who is not provably dead.
pub fn update(
    current: &Binding,
    is_owned: bool,
    next: &Content,
    expected: Expected,
) -> Result<Step, BindingFault> {
    let id = &current.content.product_session_id;
    let Expected { revision, mode, generation } = expected;
    if revision != current.revision {
        return Err(BindingFault::conflict(id, revision, current.revision));
    }
    match generation {
        Some(generation) if generation != current.generation => {
            return Err(BindingFault::fenced(id, generation, current.generation));
        }
        None if is_owned && mode != Mode::Normal => {
            let what = format!("mode {} needs its generation while it has one", mode.as_str());
            return Err(BindingFault::owned(id, current.generation, &what));
        }
        _ => {}
    }
    may_become(&current.content, next, mode)
        .map_err(|rule| BindingFault::transition(id, Some(current.content.state), next.state, mode, rule))?;
    if current.content == *next {
        return Ok(Step::Same);
    }
    Ok(Step::Write { revision: current.revision + 1 })
}

/// Whether `current` may be claimed. `is_owned` as in [`update`]; `repairs`: the claim is for bringing back what is lost.
pub fn claim(current: &Binding, is_owned: bool, repairs: bool) -> Result<(), BindingFault> {
    let id = &current.content.product_session_id;
    if is_owned {
        let what = "release it there, or end that process";
        return Err(BindingFault::owned(id, current.generation, what));
    }
    let code = match current.content.state {
        BindingState::Missing => BindingCode::Missing,
        BindingState::Error => BindingCode::Error,
        BindingState::Unbound | BindingState::Bound => return Ok(()),
    };
    if repairs {
        return Ok(());
    }
    let mut fault = BindingFault::of(
        code,
        id,
        format!(
            "the binding of {id} is in state {}; repair it with the recorded native session, or rebind it",
            current.content.state.as_str()
        ),
    );
    fault.details.from = Some(current.content.state);
    Err(fault)
}
