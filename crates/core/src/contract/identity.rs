//! Identities: trimmed as ECMAScript trims, bounded in bytes, never cut.
//!
//! Input: text. Output: the trimmed identity, or which rule it breaks.

use super::limits::ID_BYTES;

/// The child id that stands for a source or a journal itself: notes under it make no record.
pub const SOURCE_NOTE: &str = "@source";

/// Trims ECMAScript white space and line ends (ECMA-262, `String.prototype.trim`).
#[must_use]
pub fn trim(text: &str) -> &str {
    // Nearly every text begins and ends with a visible ASCII character.
    if let [first, .., last] = text.as_bytes()
        && first.is_ascii_graphic()
        && last.is_ascii_graphic()
    {
        return text;
    }
    text.trim_matches(|c: char| {
        matches!(c, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
            | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
    })
}

/// Why a text is no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdFault {
    /// Nothing is left after trimming.
    Blank,
    /// Longer than [`ID_BYTES`].
    TooLong,
    /// Contains U+0000.
    Nul,
}

/// The identity in `text`.
pub fn identity(text: &str) -> Result<&str, IdFault> {
    let id = trim(text);
    if id.is_empty() {
        Err(IdFault::Blank)
    } else if id.len() > ID_BYTES {
        Err(IdFault::TooLong)
    } else if has_nul(id) {
        Err(IdFault::Nul)
    } else {
        Ok(id)
    }
}

/// Counts instead of looking for the first, so that many bytes are compared at once.
fn has_nul(text: &str) -> bool {
    text.bytes().map(|byte| u32::from(byte == 0)).sum::<u32>() > 0
}

#[cfg(test)]
mod tests {
    use super::{IdFault, identity};

    #[test]
    fn identities() {
        let longest = "x".repeat(512);
        let too_long = "x".repeat(513);
        let padded = format!("  {longest}\n");
        let accents = "é".repeat(257);
        for (text, expected) in [
            ("a", Ok("a")),
            ("\u{feff} a b \u{2029}", Ok("a b")),
            // NEL is white space for Unicode, not for ECMAScript.
            ("\u{85}a", Ok("\u{85}a")),
            ("", Err(IdFault::Blank)),
            ("\u{3000}\t", Err(IdFault::Blank)),
            (&longest, Ok(longest.as_str())),
            (&padded, Ok(longest.as_str())),
            (&too_long, Err(IdFault::TooLong)),
            // 257 characters, 514 bytes.
            (&accents, Err(IdFault::TooLong)),
            ("a\0b", Err(IdFault::Nul)),
        ] {
            assert_eq!(identity(text), expected, "{text:?}");
        }
    }
}
