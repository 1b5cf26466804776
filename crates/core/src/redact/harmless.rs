//! What stands where a secret would stand and is none: a value in, whether it may be shown out.
//! Code, types, placeholders and words of prose follow the same names as secrets do.
//! It must never show a value because it is short, or made of small letters: passwords are.

use std::sync::LazyLock;

use regex::Regex;

use super::rules::compile;

/// Values that say that there is none, types, and what code begins an expression with.
const WORDS: &[&str] = &[
    "any",
    "async",
    "await",
    "bool",
    "boolean",
    "false",
    "function",
    "if",
    "match",
    "new",
    "nil",
    "none",
    "null",
    "number",
    "object",
    "redacted",
    "str",
    "string",
    "true",
    "typeof",
    "undefined",
    "unknown",
    "void",
];

/// Words of prose, help texts and settings behind a name and a colon or blank.
const PROSE: &[&str] = &[
    "a", "an", "and", "as", "can", "denied", "empty", "error", "expected", "expired", "failed", "flag",
    "for", "from", "hidden", "in", "inherit", "instead", "invalid", "is", "missing", "must", "not", "ok",
    "option", "optional", "or", "read", "required", "set", "the", "to", "unset", "was", "when", "with",
    "write",
];

/// How much of a value without quotes is looked at.
const JUDGED: usize = 200;

/// A reference instead of a value: `$NAME`, `${name}`, `$(command)`, `%NAME%`, `{{name}}`, `<name>`, `{name}`, `%s`.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^(?:\$[A-Z_][A-Z0-9_]*|\$?\{\{?[^{}\s]*\}?\}|\$\{\{|\{\{|\$\(.*|%[A-Z_]+%|</?[A-Za-z][A-Za-z _\-]*>?|%[sdvq])$",
    )
});

/// An expression: a call, a path of a type, a generic type, or a member of an object that programs keep values in.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"^[&*!]*(?:'[a-z]+)?",
        r"(?:[A-Za-z_][A-Za-z_.:0-9]+\((?:$|[A-Za-z_&)'\x22`\\])|[A-Za-z_]\w*(?:::\w+)+|[A-Z][A-Za-z]*<[A-Za-z&'\[(]",
        r"|(?:process\.env|import\.meta|os\.environ|self|this|config|cfg|settings|options|opts|ctx|context|req|request",
        r"|res|response|args|props|params|state|event|session|secrets|env)(?:[.\[?!]|$))",
    ))
});

/// Digits in groups: a count below 1000, or a place in a file.
static COUNT: LazyLock<Regex> = LazyLock::new(|| compile(r"^\d{1,3}$|^\d+(?::\d+)+:?$"));

/// Whether a value without quotes, named `key`, may be shown; `prose` when a colon or blank stands between.
///
/// What a long one begins with decides: in code without blanks a run has no bound, and each may hold many names.
pub(super) fn is_harmless_bare(value: &str, key: &str, prose: bool) -> bool {
    let value = &value[..value.floor_char_boundary(JUDGED)];
    let word = value.trim_end_matches(['.', ':', '!', '?', '|', ')', '>', '=']);
    has_nothing(value)
        || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
        || (prose && PROSE.iter().any(|known| known.eq_ignore_ascii_case(word)))
        || is_name_again(word.trim_start_matches(['&', '*']), key)
        || is_borrowed_type(value)
        || COUNT.is_match(value)
        || is_placeholder(value)
        || CODE.is_match(value)
}

/// Whether a value in quotes may be shown.
pub(super) fn is_harmless_quoted(value: &str) -> bool {
    has_nothing(value) && (value.len() <= 2 || is_mask(value)) || is_placeholder(value)
}

/// Whether only a reference stands there.
fn is_placeholder(value: &str) -> bool {
    PLACEHOLDER.is_match(value)
}

fn is_mask(value: &str) -> bool {
    value.chars().all(|c| matches!(c, '*' | '.' | '-' | '_' | '\u{2026}' | '\u{2022}'))
}

/// Punctuation of prose or code, or a mask somebody else put there.
fn has_nothing(value: &str) -> bool {
    is_mask(value) || (value.len() <= 3 && value.bytes().all(|b| b.is_ascii_punctuation()))
}

/// `token: token`, `{ apiKey: apiKey }`, `--token TOKEN`, `token: Token`: the name says nothing new.
fn is_name_again(word: &str, key: &str) -> bool {
    word.len() >= 5
        && key.len() >= word.len()
        && key.is_char_boundary(key.len() - word.len())
        && key[key.len() - word.len()..].eq_ignore_ascii_case(word)
}

fn is_borrowed_type(value: &str) -> bool {
    matches!(value, "&str" | "&mut" | "&self" | "&'static" | "&'a")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_values() {
        let shown = [
            "getToken()",
            "get_token(&self)",
            "os.getenv(\"X\")",
            "Option<String>",
            "token::Kind",
            "&str",
            "string",
            "null",
            "process.env.X",
            "this.token",
            "$TOKEN",
            "${token}",
            "$(pass",
            "<TOKEN>",
            "***",
            "5",
            "12:5:",
            "}",
            "Token",
            "req.headers.authorization",
        ];
        for value in shown {
            assert!(is_harmless_bare(value, "access_token", false), "{value}");
        }
        for value in ["hunter2", "swordfish", "12345", "$ecret", "a(b", "{x", "pa$$", "x", "mytoken", "<x1>"]
        {
            assert!(!is_harmless_bare(value, "access_token", false), "{value}");
        }
    }

    #[test]
    fn quoted_values() {
        for value in ["", "***", ",", "${token}", "<your token>", "{token}", "%s"] {
            assert!(is_harmless_quoted(value), "{value}");
        }
        for value in ["x", "null", "string", "!@#", "5", "$x y"] {
            assert!(!is_harmless_quoted(value), "{value}");
        }
    }
}
