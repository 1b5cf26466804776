//! The texts that a session hides, of which more become known while it runs.
//!
//! Input: secrets. Output: a redactor for all of them. Invariant: bounded. Never: shows one in an error or in debug output.

use std::fmt;

use crate::redact::{Redactor, SecretTooShort};

/// Secrets that can be added to those of the beginning.
const ADDED: usize = 256;

/// See the module.
pub(super) struct Secrets {
    texts: Vec<String>,
    free: usize,
}

/// Why a secret was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHidden {
    /// It is too short.
    TooShort(SecretTooShort),
    /// So many were added already.
    TooMany,
}

impl fmt::Display for NotHidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(short) => {
                write!(
                    f,
                    "the secret has {} UTF-16 units, fewer than 8: harmless text would be hidden",
                    short.units
                )
            }
            Self::TooMany => write!(f, "{ADDED} secrets were added already"),
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("texts", &self.texts.len()).finish_non_exhaustive()
    }
}

impl Secrets {
    pub(super) fn new(texts: Vec<String>) -> Result<(Self, Redactor), SecretTooShort> {
        let redactor = Redactor::new(texts.iter().map(String::as_str))?;
        Ok((Self { texts, free: ADDED }, redactor))
    }

    /// Adds one; the redactor for all of them, unless it is known already.
    pub(super) fn add(&mut self, secret: String) -> Result<Option<Redactor>, NotHidden> {
        if self.texts.contains(&secret) {
            return Ok(None);
        }
        if self.free == 0 {
            return Err(NotHidden::TooMany);
        }
        self.texts.push(secret);
        match Redactor::new(self.texts.iter().map(String::as_str)) {
            Ok(redactor) => {
                self.free -= 1;
                Ok(Some(redactor))
            }
            Err(short) => {
                self.texts.pop();
                Err(NotHidden::TooShort(short))
            }
        }
    }
}
