//! Values named by a secret key: `key = value`, `"key": "value"`, headers, `--key value`. A text in, spans out.
//! The text may be broken or cut: a value without its closing quote goes on to the end of the text.
//! Invariant: one pass; what was taken as a value is not read again for keys.
//! It must never judge a name otherwise than `is_secret_key` does.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::harmless::{
    article_len, is_fetch_mode, is_harmless_bare, is_harmless_quoted, is_reference, is_sentence,
};
use super::keys::{is_header_key, is_secret_key};
use super::rules::compile;
use super::{Span, value};

/// The stems of all secret keys.
pub(super) const TRIGGERS: &[&str] = &[
    "secret",
    "token",
    "passw",
    "authorization",
    "cookie",
    "credential",
    "bearer",
    "apikey",
    "api_key",
    "api-key",
    "api key",
    "api.key",
    "private",
];

/// A name, what closes its quotes, and a separator. Between a name without quotes and its value no line ends.
static PAIR: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"((?i:api |private )?[A-Za-z0-9_.\-]+)(\\*["'`]\]?\s*|[ \t]*)(:=|=>|[:=])"#));

/// A long option before its value: as the next word, or as the next string of a list.
static FLAG: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"(--[A-Za-z][A-Za-z0-9_\-]*)(?:(\\*["'`])\s*,\s*|[ \t])"#));

/// What stands before the credentials in an `Authorization` value.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^(?i:bearer|basic|digest|token|negotiate|ntlm|api-?key|hawk|oauth|dpop|ssws|geniekey|aws4-hmac-sha256)[ \t]+",
    )
});

/// A declared type between a name and its value: `token: &str = "..."`.
static TYPED: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"^[&'A-Za-z0-9_<>\[\]|?.,: ]{1,64}=[ \t]*[brfu]?\\*["'`]"#));

/// What a name ends with when it is that of a file of code.
const EXTENSIONS: &[&str] = &[
    ".c", ".cjs", ".css", ".go", ".h", ".html", ".java", ".js", ".json", ".jsx", ".lock", ".md", ".mjs",
    ".py", ".rb", ".rs", ".sh", ".sql", ".toml", ".ts", ".tsx", ".txt", ".yaml", ".yml",
];

/// What stands before a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Nothing,
    Article,
    /// A declaration or a member of `this`: only a value in quotes is one.
    Declaration,
}

/// A key with what its surroundings say about the value.
struct Key<'t> {
    name: &'t str,
    /// Where the name begins, with an escape, an article or the word of a declaration before it.
    context: usize,
    lead: Lead,
    in_quotes: bool,
    /// In the query of an URL.
    query: bool,
    separator: &'t str,
}

/// The last run that was measured. A harmless value is searched for further keys; they lie in the same run, which
/// is not measured again for each.
#[derive(Default)]
struct Run {
    end: usize,
    query: bool,
}

impl Run {
    fn end_from(&mut self, text: &str, start: usize, query: bool) -> usize {
        if start >= self.end || query != self.query {
            *self = Run { end: value::bare_end(text, start, query), query };
        }
        self.end
    }
}

/// Names the values of secret keys.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let mut at = 0;
    let mut run = Run::default();
    while let Some(found) = PAIR.captures_at(text, at) {
        at = found.get_match().end();
        if let Some(key) = secret_pair(text, &found) {
            at = pair_value(text, &key, at, &mut run, spans);
        }
    }
    let mut at = 0;
    while let Some(found) = FLAG.captures_at(text, at) {
        let whole = found.get_match();
        at = whole.end();
        if let Some(name) = secret_flag(&found) {
            at = flag_value(text, name, whole.start(), at, found.get(2).is_some(), spans);
        }
    }
}

/// Where the context of the last key or option begins whose value may still have to come at the end of `text`.
pub(super) fn open_context(text: &str) -> Option<usize> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        compile(
            r#"(?i:api|private) [A-Za-z0-9_.\-]*\z|((?i:api |private )?[A-Za-z0-9_.\-]+)\\*["'`]?\]?\s*\z"#,
        )
    });
    let waits = |from: usize| {
        // A quote at the end closes something unless a letter follows.
        let rest = text[from..].trim_end_matches('"');
        rest.trim().is_empty() || (rest.len() <= 80 && !rest.contains(['\n', '"']))
    };
    let pair = PAIR
        .captures_iter(text)
        .filter(|found| waits(found.get_match().end()))
        .find_map(|found| secret_pair(text, &found).map(|key| key.context));
    let flag = FLAG
        .captures_iter(text)
        .filter(|found| waits(found.get_match().end()))
        .find_map(|found| secret_flag(&found).map(|_| found.get_match().start()));
    let name = NAME.captures(text).and_then(|found| {
        let open = found.get(1).is_none_or(|name| secret_name(text, name.start(), name.as_str()).is_some());
        open.then(|| found.get_match().start())
    });
    [pair, flag, name].into_iter().flatten().min()
}

/// The length of the word before a name that tells how its value is to be read.
pub(super) fn lead_len(before: &str) -> usize {
    declaration_len(before).max(article_len(before))
}

/// The length of the word of a declaration that `before` ends with.
fn declaration_len(before: &str) -> usize {
    ["const ", "let ", "mut ", "var ", "val "]
        .iter()
        .find(|word| before.ends_with(**word))
        .map_or(0, |word| word.len())
}

fn secret_flag<'t>(found: &Captures<'t>) -> Option<&'t str> {
    let name = found.get(1)?.as_str();
    (is_secret_key(name) && !name.starts_with("--no-")).then_some(name)
}

/// The name at `start` if it is a secret key, without what an escape before it left on it (`\ntoken`, `[1mtoken`).
fn secret_name<'t>(text: &str, start: usize, name: &'t str) -> Option<&'t str> {
    static LEFTOVER: LazyLock<Regex> =
        LazyLock::new(|| compile(r"^(?:[nrtbf]|u[0-9A-Fa-f]{4}|[0-9]*m)([A-Za-z0-9_.\-]*)$"));
    if is_secret_key(name) {
        return Some(name);
    }
    if !text[..start].ends_with(['\\', '[', ';']) {
        return None;
    }
    LEFTOVER
        .captures(name)
        .and_then(|rest| rest.get(1))
        .map(|rest| rest.as_str())
        .filter(|rest| is_secret_key(rest))
}

fn secret_pair<'t>(text: &'t str, found: &Captures<'t>) -> Option<Key<'t>> {
    let (name, close, separator) = (found.get(1)?, found.get(2)?, found.get(3)?);
    let in_quotes = close.as_str().contains(['"', '\'', '`']);
    let next = text.as_bytes().get(separator.end());
    let is_operator = match separator.as_str() {
        // Of an arrow only one that leads to a string; at the end of a text it still can.
        "=>" => {
            let value = skip_blanks(text, separator.end(), true);
            value < text.len() && value::quote_at(text.as_bytes(), value).is_none()
        }
        ":=" => false,
        // `=` and `:` of `==`, `=~`, `::`; `:==` and the like are nothing known.
        _ => matches!(next, Some(b'=' | b'~' | b':')),
    };
    if is_operator {
        return None;
    }
    let before = &text[..name.start()];
    let secret = secret_name(text, name.start(), name.as_str())?;
    let is_place = !in_quotes
        && separator.as_str() == ":"
        && (before.ends_with('/') || EXTENSIONS.iter().any(|extension| secret.ends_with(extension)));
    if is_place {
        return None;
    }
    let declared = separator.as_str() == ":="
        || declaration_len(before) > 0
        || ["this.", "self."].iter().any(|owner| secret.starts_with(owner));
    let lead = match declared {
        true => Lead::Declaration,
        false if article_len(before) > 0 => Lead::Article,
        false => Lead::Nothing,
    };
    Some(Key {
        name: secret,
        context: before.trim_end_matches('\\').len() - lead_len(before),
        lead,
        in_quotes,
        query: before.ends_with(['?', '&']),
        separator: separator.as_str(),
    })
}

/// Skips blanks; behind a key in quotes also line breaks, written or escaped.
fn skip_blanks(text: &str, from: usize, lines: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t') => at += 1,
            Some(b'\n' | b'\r') if lines => at += 1,
            Some(b'\\') if lines && value::is_break_at(bytes, at) => {
                at += bytes[at..].iter().take_while(|&&b| b == b'\\').count() + 1;
            }
            _ => return at,
        }
    }
}

/// Names the value behind a separator that ends at `from`; the result is where to look for the next key.
fn pair_value(text: &str, key: &Key<'_>, from: usize, last: &mut Run, spans: &mut Vec<Span>) -> usize {
    let start = skip_blanks(text, from, key.in_quotes);
    if text[start..].starts_with('[')
        && let Some(end) = list_values(text, key, start + 1, spans)
    {
        return end;
    }
    if let Some(found) = value::quoted(text, start) {
        if found.closed && is_fetch_mode(&text[found.start..found.end], key.name) {
            return found.after;
        }
        return quoted_value(text, key.context, found, spans);
    }
    let rest = &text[start..];
    if let Some(typed) = TYPED.find(rest) {
        let open =
            rest[..typed.end()].rfind('=').map_or(start, |sign| skip_blanks(text, start + sign + 1, false));
        if let Some(found) = value::quoted(text, open).filter(|_| key.separator == ":") {
            return quoted_value(text, key.context, found, spans);
        }
    }
    let end = last.end_from(text, start, key.query);
    let run = text[start..end].trim_end_matches([',', ';', ')', '}', ']']);
    let scheme = SCHEME.find(rest).map_or(0, |scheme| scheme.end());
    let is_structure = rest.starts_with(['{', '[', '('])
        && (key.separator == ":" || run.bytes().all(|b| b.is_ascii_punctuation()));
    let is_harmless = || {
        let colon = key.separator == ":";
        is_harmless_bare(run, key.name, colon)
            || is_reference(&text[start..end])
            || (colon && is_fetch_mode(run, key.name))
            || (colon
                && !key.in_quotes
                && start > from
                && is_sentence(rest, key.name, key.lead == Lead::Article))
    };
    if key.lead == Lead::Declaration || is_structure || (scheme == 0 && is_harmless()) {
        return start;
    }
    let is_header = is_header_key(key.name) && (key.separator == ":" || run.contains('='));
    if scheme > 0 || (is_header && !key.query) {
        let end = value::header_end(text, start);
        let start = (start + scheme).min(end);
        if !is_harmless_quoted(&text[start..end]) {
            spans.push(Span::new(key.context, start, end));
        }
        return end.max(from);
    }
    spans.push(Span::new(key.context, start, start + run.len()));
    start + run.len()
}

/// The strings of a list. One that is still open at the end of the text leaves an empty span there.
fn list_values(text: &str, key: &Key<'_>, from: usize, spans: &mut Vec<Span>) -> Option<usize> {
    let mut at = skip_blanks(text, from, true);
    let mut any = false;
    while let Some(found) = value::quoted(text, at) {
        any = true;
        quoted_value(text, key.context, found, spans);
        at = skip_blanks(text, found.after, true);
        if text[at..].starts_with(',') {
            at = skip_blanks(text, at + 1, true);
        }
    }
    if at == text.len() {
        spans.push(Span::new(key.context, at, at));
    }
    any.then_some(at)
}

fn quoted_value(text: &str, context: usize, found: value::Quoted, spans: &mut Vec<Span>) -> usize {
    let inner = &text[found.start..found.end];
    let scheme = SCHEME.find(inner).map_or(0, |scheme| scheme.end());
    if !(found.closed && is_harmless_quoted(&inner[scheme..])) {
        spans.push(Span::new(context, found.start + scheme, found.end));
    }
    found.after
}

/// Names the value behind an option; in a list (`listed`) only a string is one.
fn flag_value(
    text: &str,
    name: &str,
    context: usize,
    from: usize,
    listed: bool,
    spans: &mut Vec<Span>,
) -> usize {
    if let Some(found) = value::quoted(text, from) {
        return quoted_value(text, context, found, spans);
    }
    let end = value::bare_end(text, from, false);
    let run = text[from..end].trim_end_matches([',', ';', ')', '}', ']']);
    let is_harmless = is_harmless_bare(run, name, true) || is_reference(&text[from..end]);
    if listed || run.starts_with(['-', '|', '>', '&', '=', ':', '[']) || is_harmless {
        return from;
    }
    spans.push(Span::new(context, from, from + run.len()));
    from + run.len()
}
