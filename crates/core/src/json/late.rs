//! A text that is unescaped when somebody asks for it: most of what agents write is never read.
//!
//! Input: any JSON value. Output: the text in its place. Invariant: what is read late is what would have been read at once.
//! Never: keeps a text that JSON does not allow.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::Scalar;

/// The name by which a reader knows that it may hand over a string as it is written, with its quotes.
pub(super) const AS_WRITTEN: &str = "$agent_lifecycle::as_written";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Late<'a> {
    written: &'a str,
    text: OnceCell<Option<Cow<'a, str>>>,
}

impl Late<'_> {
    /// The text; `None` where the value is none.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.get_or_init(|| serde_json::from_str(self.written).ok().map(Cow::Owned)).as_deref()
    }
}

struct LateVisitor;

impl<'de> Visitor<'de> for LateVisitor {
    type Value = Late<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    /// As it is written.
    fn visit_borrowed_str<E>(self, written: &'de str) -> Result<Self::Value, E> {
        Ok(Late { written, text: OnceCell::new() })
    }

    /// From a reader that reads it at once.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let text = Scalar::deserialize(deserializer)?.into_text();
        Ok(Late { written: "", text: OnceCell::from(text) })
    }
}

impl<'de> Deserialize<'de> for Late<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(AS_WRITTEN, LateVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::Late;
    use crate::json::quick;

    #[test]
    fn a_text_read_late_is_the_text_read_at_once() {
        for text in [
            r#""""#,
            r#""plain é 😀""#,
            r#""\"\\\/\b\f\n\r\t\u00e9\u0000""#,
            r#""\ud83d\ude00""#,
            "null",
            "true",
            "-1.5e3",
            r#"{"a":["b"]}"#,
            "[]",
        ] {
            let at_once = serde_json::from_str::<serde_json::Value>(text).unwrap();
            let known: Late<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(known.text(), at_once.as_str(), "{text}");
            if let Some(late) = quick::read(text, PhantomData::<Late<'_>>) {
                assert_eq!(late.text(), at_once.as_str(), "{text}");
            } else {
                // A pair of surrogates is left to the other reader, which tells lone ones.
                assert!(text.contains("ud83d"), "{text}");
            }
        }
        for text in [r#""\x""#, r#""a"#, "\"\u{1}\"", r#""\ud800""#, ""] {
            assert!(quick::read(text, PhantomData::<Late<'_>>).is_none(), "{text}");
            assert!(serde_json::from_str::<Late<'_>>(text).is_err(), "{text}");
        }
    }
}
