//! Member names: a name in, whether it names a secret out.
//! A name is read as words (`camelCase`, `snake_case`, `kebab-case`); a secret word counts anywhere in it, unless the
//! last word says that the value only describes the secret (`token_count`, `cookieConsentVersion`).
//! It must never look at the value.

/// Words that name a secret. `tokens` is absent: in this field it is a count.
const WORDS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "password",
    "passwords",
    "passwd",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "bearer",
];

/// Words that name a secret when "key" follows.
const KEY_OWNERS: &[&str] = &["api", "private"];

/// Spellings without a border between the words.
const FUSED: &[&str] = &[
    "apikey",
    "apikeys",
    "privatekey",
    "privatekeys",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "refreshtoken",
    "sessiontoken",
    "clientsecret",
    "setcookie",
    "pgpassword",
];

/// Last words that turn the name into a measure or a description of the secret.
const DESCRIBING: &[&str] = &[
    "at",
    "budget",
    "cost",
    "count",
    "counts",
    "counter",
    "dir",
    "endpoint",
    "expiration",
    "expires",
    "expiry",
    "file",
    "format",
    "in",
    "index",
    "kind",
    "len",
    "length",
    "limit",
    "limits",
    "name",
    "path",
    "policy",
    "rate",
    "required",
    "size",
    "stdin",
    "total",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "version",
];

/// Whether a member name names a secret.
///
/// The name alone is judged. A caller applies it to values that are strings: the value is hidden, numbers and
/// structures are not.
///
/// ```
/// use agent_lifecycle_core::redact::is_secret_key;
/// assert!(is_secret_key("OPENAI_API_KEY") && is_secret_key("accessToken") && is_secret_key("Set-Cookie"));
/// assert!(!is_secret_key("inputTokens") && !is_secret_key("token_count") && !is_secret_key("secretary"));
/// ```
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    // The shortest names in the lists have five letters.
    if key.len() < 5 {
        return false;
    }
    let mut named = false;
    let mut owner = false;
    let mut last = "";
    for (word, segment) in words(key) {
        named = named
            || is_one_of(word, WORDS)
            || (owner && is_one_of(word, &["key", "keys"]))
            || segment.is_some_and(|segment| is_one_of(segment, WORDS) || is_one_of(segment, FUSED));
        owner = is_one_of(word, KEY_OWNERS);
        last = word;
    }
    named && !is_one_of(last, DESCRIBING)
}

/// Whether the name is that of a header whose value goes on to the end of the line.
pub(super) fn is_header_key(key: &str) -> bool {
    words(key).any(|(word, segment)| {
        is_one_of(word, &["cookie", "cookies", "authorization"])
            || segment.is_some_and(|s| is_one_of(s, &["setcookie"]))
    })
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.len() == word.len() && known.eq_ignore_ascii_case(word))
}

/// The words of a name without digits and separators. With the last word of each segment (the part between
/// separators) comes the whole segment, in which odd capitals as in `APIkey` do not matter.
fn words(key: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    key.split(|c: char| !c.is_alphabetic()).filter(|segment| !segment.is_empty()).flat_map(|segment| {
        let mut from = 0;
        std::iter::from_fn(move || {
            if from == segment.len() {
                return None;
            }
            let end = from + word_len(&segment.as_bytes()[from..]);
            let word = &segment[from..end];
            from = end;
            Some((word, (end == segment.len()).then_some(segment)))
        })
    })
}

/// The length of the first word of `bytes`: capitals, then anything else. Of several capitals before a small
/// letter, the last begins the next word (`APIKey`).
fn word_len(bytes: &[u8]) -> usize {
    let capitals = bytes.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = bytes[capitals..].iter().take_while(|b| !b.is_ascii_uppercase()).count();
    match (capitals, rest) {
        (0 | 1, _) | (_, 0) => capitals + rest,
        _ => capitals - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        let check = |key: &str, expected: &[&str]| {
            assert_eq!(words(key).map(|(word, _)| word).collect::<Vec<_>>(), expected, "{key}");
        };
        check("OPENAI_API_KEY", &["OPENAI", "API", "KEY"]);
        check("APIKeyOld", &["API", "Key", "Old"]);
        check("x-api-key2", &["x", "api", "key"]);
        check("caf\u{e9}Token", &["caf\u{e9}", "Token"]);
        check("__", &[]);
    }
}
