//! Native ids as events carry them, and their fingerprints.
//!
//! Input: an id as the journal has it. Output: the same id where a contract identity can hold it, else a marked hash.
//! Invariant: the same native id always gives the same id, on every machine. Never: cuts an id.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};

use crate::agent::event::limits;
use crate::contract::identity::identity;
use crate::text::units;

/// UTF-8 bytes of a native id that is kept: identities that are made of it have parts of their own.
const BYTES: usize = crate::contract::limits::ID_BYTES - 64;

/// The id that stands for `native`; `None` for a blank one.
#[must_use]
pub fn id(native: &str) -> Option<String> {
    if native.trim().is_empty() {
        return None;
    }
    let fits = units(native) <= limits::ID && native.len() <= BYTES && identity(native) == Ok(native);
    Some(if fits { native.to_owned() } else { hashed(native) })
}

/// The marked hash of an id that cannot be used as it is.
#[must_use]
pub fn hashed(native: &str) -> String {
    let mut hasher = SipHasher128::new();
    hasher.write(native.as_bytes());
    let hash = hasher.finish128();
    format!("hashed:{:016x}{:016x}", hash.h1, hash.h2)
}

/// 64 bits for `text`, for maps that must not hold it.
pub(super) fn fingerprint(text: &str) -> u64 {
    fingerprint_all([text])
}

/// 64 bits for the concatenation of `parts`.
pub(super) fn fingerprint_all<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hasher = SipHasher24::new();
    parts.into_iter().for_each(|part| hasher.write(part.as_bytes()));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::id;

    #[test]
    fn long_or_odd_ids_are_hashed_and_stable() {
        let longest = "x".repeat(256);
        assert_eq!(id(&longest).as_deref(), Some(longest.as_str()));
        assert_eq!(id(&"é".repeat(224)).as_deref(), Some("é".repeat(224).as_str()));
        assert_eq!(id(" \n"), None);
        for odd in ["x".repeat(257), "a\0b".into(), " a".into(), "字".repeat(200), "é".repeat(225)] {
            let hashed = id(&odd).unwrap();
            assert!(hashed.starts_with("hashed:") && hashed.len() == 39, "{hashed}");
            assert_eq!(id(&odd), Some(hashed));
        }
        assert_eq!(id(&"x".repeat(257)).unwrap(), "hashed:6bed435c4241bcb46296b8cffb636ad5");
    }
}
