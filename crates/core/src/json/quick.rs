//! A quick JSON reader.
//!
//! Input: UTF-8 text. Output: a value through serde, or nothing.
//! Invariant: what is read is what `serde_json` reads from the same text. Nothing says nothing: ask `serde_json` then.
//! Never: recurses deeper than [`LEVELS`].
//!
//! It serves types that take any value (`deserialize_any`). It reads structure, texts without escapes, short whole numbers
//! and words, and steps over what nobody wants; of any other token it finds the end and has `serde_json` read it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::late::AS_WRITTEN;
use super::string;

/// Objects and arrays within each other; deeper ones are not read.
const LEVELS: usize = 64;
/// Digits of the whole numbers that are read here: all of them are exact as doubles.
const DIGITS: usize = 15;

/// The value of `text`, through `seed`.
pub(crate) fn read<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Option<S::Value> {
    let mut reader = Reader { text, at: 0, levels: LEVELS };
    let value = seed.deserialize(&mut reader).ok()?;
    reader.next_byte().is_none().then_some(value)
}

struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How much deeper it may get.
    levels: usize,
}

/// Not read, for whatever reason.
#[derive(Debug)]
struct Unread;

type Result<T> = std::result::Result<T, Unread>;

impl<'de> Reader<'de> {
    /// The next byte that is not white space.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Steps over `byte`, where it is the next one.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.next_byte() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads the object or array that begins here.
    #[inline]
    fn container<T>(&mut self, close: u8, visit: impl FnOnce(&mut Items<'_, 'de>) -> Result<T>) -> Result<T> {
        self.at += 1;
        self.levels = self.levels.checked_sub(1).ok_or(Unread)?;
        let mut items = Items { reader: self, close, is_first: true, is_closed: false };
        let value = visit(&mut items)?;
        let is_closed = items.is_closed;
        self.levels += 1;
        is_closed.then_some(value).ok_or(Unread)
    }

    /// Reads the text that begins here.
    #[inline]
    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let stop = string::plain_end(bytes, start);
        match bytes.get(stop) {
            Some(b'"') => {
                self.at = stop + 1;
                visitor.visit_borrowed_str(&self.text[start..stop])
            }
            Some(b'\\') => self.token(string::close(bytes, stop).ok_or(Unread)? + 1, visitor),
            _ => Err(Unread),
        }
    }

    /// The string that begins here, as it is written. One with an escape of a surrogate is not read: it may be a lone one.
    #[inline]
    fn written(&mut self) -> Result<&'de str> {
        let end = string::close(self.text.as_bytes(), self.at + 1).ok_or(Unread)? + 1;
        let written = &self.text[self.at..end];
        let is_surrogate = |at: usize| matches!(written.as_bytes().get(at + 2), Some(b'd' | b'D'));
        if memchr::memmem::find_iter(written.as_bytes(), b"\\u").any(is_surrogate) {
            return Err(Unread);
        }
        self.at = end;
        Ok(written)
    }

    /// Steps over the value that begins here.
    fn skip(&mut self) -> Result<()> {
        match self.next_byte().ok_or(Unread)? {
            b'"' => self.skip_string(),
            b'{' => self.container(b'}', |items| {
                while items.has_next()? {
                    if items.reader.next_byte() != Some(b'"') {
                        return Err(Unread);
                    }
                    items.reader.skip_string()?;
                    if !items.reader.take(b':') {
                        return Err(Unread);
                    }
                    items.reader.skip()?;
                }
                Ok(())
            }),
            b'[' => self.container(b']', |items| {
                while items.has_next()? {
                    items.reader.skip()?;
                }
                Ok(())
            }),
            _ => self.deserialize_any(IgnoredAny).map(|_| ()),
        }
    }

    #[inline]
    fn skip_string(&mut self) -> Result<()> {
        self.at = string::close(self.text.as_bytes(), self.at + 1).ok_or(Unread)? + 1;
        Ok(())
    }

    /// Steps over `word`, where it is next.
    #[inline]
    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Reads the number, or whatever else begins here.
    #[inline]
    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let bytes = &self.text.as_bytes()[self.at..];
        let mut number = 0;
        let mut digits = 0;
        while let Some(digit @ b'0'..=b'9') = bytes.get(digits) {
            number = number * 10 + u64::from(digit - b'0');
            digits += 1;
            if digits > DIGITS {
                break;
            }
        }
        let is_short = digits == 1 || (2..=DIGITS).contains(&digits) && bytes[0] != b'0';
        if is_short && matches!(bytes.get(digits), Some(b',' | b'}' | b']')) {
            self.at += digits;
            return visitor.visit_u64(number);
        }
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = bytes.iter().take_while(|byte| is_part(byte)).count();
        self.token(self.at + length, visitor)
    }

    /// Has `serde_json` read the token that ends at `end`.
    #[inline(never)]
    fn token<V: Visitor<'de>>(&mut self, end: usize, visitor: V) -> Result<V::Value> {
        let mut reader = serde_json::Deserializer::from_str(self.text.get(self.at..end).ok_or(Unread)?);
        self.at = end;
        let value = reader.deserialize_any(visitor).map_err(|_| Unread)?;
        reader.end().map(|()| value).map_err(|_| Unread)
    }
}

/// What is left of an object or array.
struct Items<'r, 'de> {
    reader: &'r mut Reader<'de>,
    close: u8,
    is_first: bool,
    is_closed: bool,
}

impl Items<'_, '_> {
    /// Whether another item begins here.
    #[inline]
    fn has_next(&mut self) -> Result<bool> {
        if self.reader.take(self.close) {
            self.is_closed = true;
            return Ok(false);
        }
        let is_separated = self.is_first || self.reader.take(b',');
        self.is_first = false;
        is_separated.then_some(true).ok_or(Unread)
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Unread;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if !self.has_next()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Unread;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if !self.has_next()? {
            return Ok(None);
        }
        match self.reader.next_byte() {
            Some(b'"') => seed.deserialize(&mut *self.reader).map(Some),
            _ => Err(Unread),
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        if !self.reader.take(b':') {
            return Err(Unread);
        }
        seed.deserialize(&mut *self.reader)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Unread;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.next_byte().ok_or(Unread)? {
            b'"' => self.string(visitor),
            b'{' => self.container(b'}', |items| visitor.visit_map(items)),
            b'[' => self.container(b']', |items| visitor.visit_seq(items)),
            b't' if self.take_word("true") => visitor.visit_bool(true),
            b'f' if self.take_word("false") => visitor.visit_bool(false),
            b'n' if self.take_word("null") => visitor.visit_unit(),
            _ => self.number(visitor),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == AS_WRITTEN && self.next_byte() == Some(b'"') {
            visitor.visit_borrowed_str(self.written()?)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not read by the quick reader")
    }
}

impl std::error::Error for Unread {}

impl Error for Unread {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use proptest::prelude::*;
    use serde::de::{DeserializeSeed, IgnoredAny};

    use super::read;
    use crate::json::Json;

    /// What a reader makes of a text; `Some(None)` where it is too deep.
    type Read = Option<Option<Json>>;

    fn both(text: &str) -> (Read, Read) {
        let mut reader = serde_json::Deserializer::from_str(text);
        let known = Json::seed(32).deserialize(&mut reader).ok().filter(|_| reader.end().is_ok());
        (read(text, Json::seed(32)), known)
    }

    fn steps_over(text: &str) -> bool {
        read(text, PhantomData::<IgnoredAny>).is_some()
    }

    #[test]
    fn reads_what_serde_json_reads() {
        for text in [
            r#"{"a":1,"b":"x","c":[true,false,null,{}],"d":{"e":[]}}"#,
            " { \"a\" : [ 1 , 2 ] ,\n\t\"b\" : \"x y\" }\r\n",
            r#"{"a":0,"b":-1,"c":1.5,"d":1e3,"e":123456789012345678,"f":-0,"g":900719925474099}"#,
            r#"{"a\n":"\u00e9\"\\","b":"é😀","":""}"#,
            r#"{"a":1,"a":2}"#,
            r#""a text""#,
            "true",
            "17",
        ] {
            let (quick, known) = both(text);
            assert!(known.is_some() && quick == known, "{text}");
            assert!(steps_over(text), "{text}");
        }
    }

    #[test]
    fn reads_nothing_that_is_no_json() {
        for text in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{1:1}",
            "[01]",
            "[1.]",
            "[.5]",
            "[+1]",
            "[truex]",
            "[tru]",
            "[nul]",
            "[NaN]",
            "[1e999]",
            "\"a",
            "\"a\\\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\u{1}\"",
            "\"a\nb\"",
            "1 2",
            "[1]]",
            "{\"a\":1}}",
            "[\"a\"\"b\"]",
        ] {
            let (quick, known) = both(text);
            assert_eq!((quick, known), (None, None), "{text}");
            // What is stepped over may be a lone surrogate or beyond the doubles, as for `serde_json`.
            let is_legal = text.contains("ud800") || text.contains("e999");
            assert!(is_legal || !steps_over(text), "{text}");
        }
    }

    #[test]
    fn gives_up_where_it_gets_deep() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(read(&nested(64), Json::seed(32)), Some(None));
        assert_eq!(read(&nested(65), Json::seed(32)), None);
        assert_eq!(read(&nested(100_000), Json::seed(32)), None);
    }

    fn fragment() -> impl Strategy<Value = String> {
        let fixed = proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\"",
            "\"a\":",
            "\"key\" : ",
            "\"eight888\"",
            "\"\\n\"",
            "\\",
            "0",
            "12",
            "-3.5",
            "1e400",
            "true",
            "false",
            "null",
            "é",
        ]);
        prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_anything(parts in proptest::collection::vec(fragment(), 0..24)) {
            let text = parts.concat();
            let (quick, known) = both(&text);
            prop_assert!(quick.is_none() || quick == known, "{}", text);
            let is_json = serde_json::from_str::<IgnoredAny>(&text).is_ok();
            prop_assert!(is_json || !steps_over(&text), "{}", text);
        }

        #[test]
        fn reads_all_that_is_written(items in proptest::collection::vec(("\\PC{0,20}", any::<f64>(), any::<u64>()), 0..8)) {
            let value = serde_json::json!({ "items": items });
            let (quick, known) = both(&value.to_string());
            prop_assert!(quick.is_some() && quick == known);
            prop_assert!(steps_over(&value.to_string()));
        }
    }
}
