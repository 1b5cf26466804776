//! How a refusal of the core becomes a `LifecycleError` in JavaScript.
//!
//! A refusal is `{code, path?, message}`. The skin throws a `TypeError` that carries `code` and `path` as own
//! properties and the name `LifecycleError`; `ts/native.ts` runs every call into the addon and turns an error of that
//! name into an instance of the class. So no member is ever packed into the message, and no class is held here for
//! each environment. Any other error (a panic, a wrong argument type) goes through as napi made it.

use napi::bindgen_prelude::{JsObjectValue, Object};
use napi::{Env, Error, JsTypeError, JsValue, Result};

/// What the core said no to.
pub(crate) struct Refusal<'a> {
    /// Stable, listed in the docs.
    pub(crate) code: &'a str,
    /// The member that is at fault, where there is one.
    pub(crate) path: Option<&'a str>,
    /// Names the member too, for people.
    pub(crate) message: &'a str,
}

impl Refusal<'_> {
    /// The error to return from an export.
    pub(crate) fn into_error(self, env: Env) -> Error {
        self.build(env).unwrap_or_else(|error| error)
    }

    fn build(&self, env: Env) -> Result<Error> {
        let thrown = JsTypeError::from(Error::new(self.code, self.message)).into_unknown(env);
        // The names that are set here are constants, never data.
        let mut members: Object = thrown.coerce_to_object()?;
        members.set_named_property("name", "LifecycleError")?;
        if let Some(path) = self.path {
            members.set_named_property("path", path)?;
        }
        Ok(Error::from(members.to_unknown()))
    }
}

/// The error for a refusal of the core.
pub(crate) fn refuse(env: Env, refusal: &agent_lifecycle_core::contract::Refusal) -> Error {
    let path = Some(refusal.path.as_ref());
    Refusal { code: refusal.code.as_str(), path, message: &refusal.message }.into_error(env)
}
