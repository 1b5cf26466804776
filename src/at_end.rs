//! What is ended with its environment, where nobody ends it before.
//!
//! Input: a thing, and how it is ended. Invariant: the environment's end waits for it, and what has ended is not kept until then. Node-API
//! keeps the memory of a hook, removed or not, as long as the environment lives: so a hook holds a slot, and the slot the thing.

use std::sync::{Arc, Mutex, PoisonError};

use napi::{Env, Result};

/// The slot of one thing.
pub(crate) struct AtEnd<T>(Arc<Mutex<Option<Arc<T>>>>);

impl<T: Send + Sync + 'static> AtEnd<T> {
    /// Has `end` called with the environment's end.
    pub(crate) fn new(env: Env, thing: &Arc<T>, end: fn(&T)) -> Result<Self> {
        let slot = Self(Arc::new(Mutex::new(Some(Arc::clone(thing)))));
        env.add_env_cleanup_hook(slot.clone(), move |slot| {
            if let Some(thing) = slot.take() {
                end(&thing);
            }
        })?;
        Ok(slot)
    }

    /// It has ended.
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Clone for AtEnd<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
