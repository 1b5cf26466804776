//! The identities of a binding, kept apart by type.
//!
//! Input: text. Output: the trimmed id, or nothing where it is none. Invariant: bounded, without U+0000, never blank.
//! Never: cuts an id, prints a native one.

use std::fmt;

use serde::Serialize;

use crate::contract::identity::{identity, trim};

/// A native id is opaque, and some are as long as a path.
const NATIVE_BYTES: usize = 4096;

/// The product's own session: what callers name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ProductSessionId(String);

impl ProductSessionId {
    /// The id in `text`: at most 512 bytes after trimming.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        identity(text).ok().map(|id| Self(id.to_owned()))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProductSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The harness' own session: opaque, unique within an adapter, for the adapter only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct NativeSessionId(String);

impl NativeSessionId {
    /// The id in `text`: at most 4,096 bytes after trimming.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let id = trim(text);
        let is_id = !id.is_empty() && id.len() <= NATIVE_BYTES && !id.contains('\0');
        is_id.then(|| Self(id.to_owned()))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// So that no log shows one by accident.
impl fmt::Debug for NativeSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeSessionId(..)")
    }
}

/// Whether `text` is the name of an adapter or an instance: `^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$`, at most 512 bytes.
#[must_use]
pub fn is_adapter_word(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    identity(text) == Ok(text)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.split(['.', '_', '-']).all(is_word)
}

#[cfg(test)]
mod tests {
    use super::{NativeSessionId, ProductSessionId, is_adapter_word};

    #[test]
    fn words_of_adapters() {
        for word in ["a", "codex", "codex-app.server_2", "a1", "a-1"] {
            assert!(is_adapter_word(word), "{word}");
        }
        for other in ["", "A", "1a", "-a", "a-", "a--b", "a b", " a", "é", "a.", "a\n", "aB", "a/b"] {
            assert!(!is_adapter_word(other), "{other}");
        }
        assert!(is_adapter_word(&"a".repeat(512)));
        assert!(!is_adapter_word(&"a".repeat(513)));
    }

    #[test]
    fn ids_are_trimmed_and_bounded() {
        assert_eq!(ProductSessionId::new("\u{feff} ps_1 ").expect("an id").as_str(), "ps_1");
        assert_eq!(NativeSessionId::new(" n\t").expect("an id").as_str(), "n");
        for none in ["", " \n", "a\0b"] {
            assert_eq!((ProductSessionId::new(none), NativeSessionId::new(none)), (None, None), "{none:?}");
        }
        assert!(ProductSessionId::new(&"x".repeat(512)).is_some());
        assert!(ProductSessionId::new(&"x".repeat(513)).is_none());
        assert!(NativeSessionId::new(&"x".repeat(4096)).is_some());
        assert!(NativeSessionId::new(&"x".repeat(4097)).is_none());
    }

    #[test]
    fn a_native_id_is_not_printed() {
        let id = NativeSessionId::new("thread-7").expect("an id");
        assert!(!format!("{id:?}").contains('7'));
    }
}
