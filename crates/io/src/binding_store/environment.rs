//! The environments of this process: the main thread's, those of worker threads, each with its stores.
//!
//! Input: stores that open and end. Output: a name for each, and whether one of ours is over.
//! Invariant: a name is never used again. Never: says anything of names that another copy of this library gave.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::storage::System;

/// An open store of this process; dropped, it is over.
pub(super) struct Environment {
    number: u64,
    name: String,
}

/// What tells this loaded library from every other, also from a second copy in this process.
static LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let machine = crate::storage::Machine;
    format!("{:016x}{:016x}", machine.random(), machine.random())
});

fn live() -> MutexGuard<'static, HashSet<u64>> {
    static LIVE: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Environment {
    pub(super) fn enter() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        live().insert(number);
        Self { number, name: format!("{}-{number}", *LIBRARY) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        live().remove(&self.number);
    }
}

/// Whether `name` was given by this library, and its store has ended.
pub(super) fn is_over(name: &str) -> bool {
    let number = name.split_once('-').filter(|(library, _)| *library == LIBRARY.as_str());
    number.and_then(|(_, number)| number.parse().ok()).is_some_and(|number: u64| !live().contains(&number))
}

#[cfg(test)]
mod tests {
    use super::{Environment, is_over};

    #[test]
    fn only_ours_are_ever_over() {
        let (one, other) = (Environment::enter(), Environment::enter());
        let name = one.name().to_owned();
        assert_ne!(name, other.name());
        assert!(!is_over(&name));
        drop(one);
        assert!(is_over(&name) && !is_over(other.name()));
        for foreign in ["", "1", "0-1", "0123456789abcdef0123456789abcdef-1", &format!("{name}x"), "a-b-c"] {
            assert!(!is_over(foreign), "{foreign}");
        }
    }
}
