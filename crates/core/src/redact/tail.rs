//! The end of a text that goes on: where the part begins whose redaction the rest can still change.
//! Reads a bounded window at the end of the text.
//! It must never look into what comes before the window.

use std::sync::LazyLock;

use regex::Regex;

use super::assign;
use super::rules::compile;

/// How far back the context of an unfinished secret is looked for.
const WINDOW: usize = 600;

/// An authorization scheme before its token, a login before its `@`, a declaration or an article, and the first line of a PEM block.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i:bearer|basic|digest)(?:\s|%20)*[^\s"]*\z|(?i:digest)\s+[A-Za-z]+ ?=? ?\z|(?:const|let|mut|var|val|[Tt]he) [A-Za-z0-9_.\-]*\s*\z|://[^\s/"\\<>`]*\z|[A-Za-z_][0-9A-Za-z_.\-]*:[^\s"'`/\\<>,;(){}\[\]]+\z|-----BEGIN [A-Z0-9 ]{0,64}-{0,5}(?:["'`][ \t\r\n+,.]{0,24}(?:["'`][A-Za-z0-9+/=]{0,8})?)?\z"#,
    )
});

/// Where the run without white space or a double quote begins that holds the character before `at`.
///
/// Scripts written without spaces end a run as well, or their text would never be shown while it streams.
pub(super) fn run_start(text: &str, at: usize) -> usize {
    let ends_run = |c: char| c.is_whitespace() || c == '"' || ('\u{2E80}'..'\u{FB00}').contains(&c);
    text[..at].char_indices().rev().find(|&(_, c)| ends_run(c)).map_or(0, |(place, c)| place + c.len_utf8())
}

/// Where the part begins that a continuation can still make a secret, as far as the built-in rules go.
pub(super) fn open_from(text: &str) -> usize {
    let from = text.floor_char_boundary(text.len().saturating_sub(WINDOW));
    let window = &text[from..];
    let run = run_start(text, text.len());
    let open = OPEN.find(window).map(|found| from + found.start());
    let key = assign::open_context(window).map(|at| from + at);
    [open, key].into_iter().flatten().fold(run, usize::min)
}
