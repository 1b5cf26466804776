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

/// Keys that are also nouns of prose: behind one and a colon, a sentence can begin (`token: refresh race`).
const NOUNS: &[&str] = &["token", "secret", "password", "passwords", "cookie", "credential", "credentials"];

/// What titles of changes, tickets and features say of such a noun.
const SUBJECTS: &[&str] = &[
    "expiry",
    "handling",
    "leak",
    "refresh",
    "renewal",
    "reset",
    "rotation",
    "scanning",
    "storage",
    "validation",
];

/// How `fetch` is to send credentials.
const FETCH_MODES: &[&str] = &["include", "omit", "same-origin"];

/// How much of a value without quotes is looked at.
const JUDGED: usize = 200;

/// How much of a sentence is looked at: two words. A stream waits for more than that behind a key.
const SENTENCE: usize = 40;

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

/// A type of Python or TypeScript behind a colon, without the brackets that close it.
static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    compile(concat!(
        r"^(?:(?:typing|t)\.)?(?:Annotated|Callable|ClassVar|Dict|Final|Iterable|List|Literal|Mapping|Optional|Sequence|Set|Tuple|Type|Union)",
        r"(?:\[[A-Za-z_][A-Za-z_.]*)+$",
        r"|^(?:any|bool|boolean|bytes|int|number|str|string|unknown)(?:\[|(?:\|(?:None|null|undefined|int|number|str|string|bytes))+)$",
    ))
});

/// A reference with its closing brace, and what closes something around it.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| compile(r"^\$\{[A-Za-z_][A-Za-z0-9_.]*\}[,;)}\]]*$"));

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
        || (prose && TYPE.is_match(value))
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

/// Whether a value without quotes, with all that closes something behind it, is a reference: `${TOKEN}`.
pub(super) fn is_reference(value: &str) -> bool {
    REFERENCE.is_match(value)
}

/// Whether it is what `credentials` is in the options of `fetch`.
pub(super) fn is_fetch_mode(value: &str, key: &str) -> bool {
    key.ends_with("credentials") && FETCH_MODES.contains(&value)
}

/// The length of the article that `before` ends with: with it a password, too, could be a word of a sentence.
pub(super) fn article_len(before: &str) -> usize {
    if before.ends_with("The ") || before.ends_with("the ") { 4 } else { 0 }
}

/// Whether `rest`, behind `key`, a colon and a blank, goes on as a sentence; `article` when one stands before the key.
///
/// Passwords are words, and pass phrases several: of them only a known subject with a word behind it tells. A token
/// and the pairs of a cookie are no words; a secret is none behind an article.
/// Only the first two words are looked at, for a stream has no more of them.
pub(super) fn is_sentence(rest: &str, key: &str, article: bool) -> bool {
    let is_noun = NOUNS.iter().any(|noun| noun.eq_ignore_ascii_case(key))
        && key.bytes().skip(1).all(|b| b.is_ascii_lowercase());
    if !is_noun {
        return false;
    }
    let rest = &rest[..rest.floor_char_boundary(SENTENCE)];
    let line = rest.split(['\n', '\r', '\t']).next().unwrap_or_default();
    let mut words = line.split(' ');
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default().trim_end_matches(['.', ',', ':', ';', '!', '?', ')']);
    let is_word = |word: &str| (2..=12).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase());
    let goes_on = is_word(second);
    if SUBJECTS.contains(&first) {
        return goes_on || !key[1..].starts_with("assword");
    }
    let tells = match key.to_ascii_lowercase().as_str() {
        "token" | "cookie" => true,
        "secret" => article,
        _ => false,
    };
    tells && goes_on && is_word(first) && is_spoken(first)
}

/// Whether the letters could be a word: a vowel, and no five consonants in a row.
fn is_spoken(word: &str) -> bool {
    let is_vowel = |c: char| "aeiouy".contains(c);
    word.contains(is_vowel) && word.split(is_vowel).all(|consonants| consonants.len() < 5)
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
    fn sentences() {
        for (rest, key, article) in [
            ("refresh race", "token", false),
            ("chocolate chip", "cookie", false),
            ("work hard.", "secret", true),
            ("scanning", "secret", false),
            ("reset page\nx", "Password", false),
        ] {
            assert!(is_sentence(rest, key, article), "{key}: {rest}");
        }
        for (rest, key, article) in [
            ("swordfish", "token", false),
            ("refresh race", "API_TOKEN", false),
            ("refresh race", "TOKEN", false),
            ("qwertyuiopasd expired", "token", false),
            ("xkcdqwrt expired", "token", false),
            ("swordfish\nnext", "token", false),
            ("swordfish 12", "token", false),
            ("swordfish, and", "token", false),
            ("sid abc=def", "cookie", false),
            ("open sesame", "secret", false),
            ("open sesame", "password", true),
            ("reset", "password", false),
            ("reset", "passwords", false),
            ("correct horse", "password", false),
        ] {
            assert!(!is_sentence(rest, key, article), "{key}: {rest}");
        }
    }

    #[test]
    fn types_modes_and_references() {
        for value in
            ["Optional[str", "typing.Union[str", "Dict[str", "List[Optional[str", "string[", "str|None"]
        {
            assert!(is_harmless_bare(value, "api_key", true), "{value}");
            assert!(!is_harmless_bare(value, "api_key", false), "{value}");
        }
        assert!(!is_harmless_bare("Optional[x1", "api_key", true));
        assert!(!is_harmless_bare("Hunter[two", "api_key", true));
        assert!(is_fetch_mode("include", "credentials") && !is_fetch_mode("include", "password"));
        assert!(is_reference("${TOKEN}") && is_reference("${token})}"));
        assert!(!is_reference("${TOKEN}x") && !is_reference("${TOKEN:-x}") && !is_reference("${TOKEN"));
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
