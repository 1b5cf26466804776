//! Text as JavaScript measures it: UTF-16 code units.
//!
//! Input: text and a bound. Output: the longest beginning within it. Invariant: never cuts inside a character.

/// The length of `text` in UTF-16 code units.
#[must_use]
pub fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// The longest beginning of `text` with at most `max_units` UTF-16 code units.
#[must_use]
pub fn fit(text: &str, max_units: usize) -> &str {
    // A text never has more code units than bytes.
    if text.len() <= max_units {
        return text;
    }
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > max_units {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{fit, units};

    #[test]
    fn cuts_on_character_boundaries() {
        for (text, max, expected) in [
            ("abc", 2, "ab"),
            ("abc", 3, "abc"),
            ("a😀b", 2, "a"),
            ("a😀b", 3, "a😀"),
            ("éé", 1, "é"),
            ("", 0, ""),
        ] {
            assert_eq!(fit(text, max), expected);
            assert!(units(fit(text, max)) <= max);
        }
    }
}
