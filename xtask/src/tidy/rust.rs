//! The rules about Rust files. They read the code only: comments and the insides of strings are blanked first.

use super::{Fault, File, has_extension};

const IMPURE_MODULES: &[&str] = &["env", "fs", "net", "process", "thread"];
const IMPURE_NAMES: &[&str] =
    &["SystemTime::now", "Instant::now", "OffsetDateTime::now", "napi::", "napi_derive"];
const PROVIDERS_MAY_USE: &[&str] = &["agent", "contract", "json", "providers", "redact", "text"];

pub(super) fn core_is_pure(files: &[File]) -> Vec<Fault> {
    in_code(
        files,
        |path| path.starts_with("crates/core/src/"),
        |code| {
            let modules = first_segments(code, "std::")
                .into_iter()
                .filter(|(_, module)| IMPURE_MODULES.contains(&module.as_str()))
                .map(|(at, module)| (at, format!("std::{module}")));
            let names = IMPURE_NAMES
                .iter()
                .flat_map(|name| code.match_indices(name).map(|(at, name)| (at, name.to_owned())));
            modules.chain(names).map(|(at, name)| (at, format!("the core uses {name}"))).collect()
        },
    )
}

pub(super) fn provider_imports(files: &[File]) -> Vec<Fault> {
    in_code(
        files,
        |path| path.starts_with("crates/core/src/providers/"),
        |code| {
            first_segments(code, "crate::")
                .into_iter()
                .filter(|(_, module)| !PROVIDERS_MAY_USE.contains(&module.as_str()))
                .map(|(at, module)| (at, format!("a provider uses crate::{module}")))
                .collect()
        },
    )
}

pub(super) fn module_doc(files: &[File]) -> Vec<Fault> {
    let is_module = |path: &str| {
        has_extension(path, &["rs"])
            && (path.starts_with("src/")
                || path.starts_with("xtask/src/")
                || path.starts_with("crates/") && path.split('/').nth(2) == Some("src"))
    };
    files
        .iter()
        .filter(|file| is_module(&file.path) && !file.text.starts_with("//!"))
        .map(|file| Fault::new(file, 1, "does not open with `//!`"))
        .collect()
}

pub(super) fn skin_never_unwraps(files: &[File]) -> Vec<Fault> {
    in_code(
        files,
        |path| path.starts_with("src/"),
        |code| {
            [".unwrap()", ".expect("]
                .iter()
                .flat_map(|call| code.match_indices(call))
                .map(|(at, call)| (at, format!("calls `{call}`")))
                .collect()
        },
    )
}

/// Each `#[napi]` on a function that is not async must say `catch_unwind`.
pub(super) fn exports_catch_panics(files: &[File]) -> Vec<Fault> {
    in_code(
        files,
        |path| path.starts_with("src/"),
        |code| {
            code.match_indices("#[napi")
                .filter(|(at, _)| {
                    !matches!(code.as_bytes().get(at + "#[napi".len()), Some(b'a'..=b'z' | b'_'))
                })
                .filter_map(|(at, _)| {
                    let (attribute, mut rest) = split_attribute(&code[at..]);
                    while rest.trim_start().starts_with("#[") {
                        rest = split_attribute(rest.trim_start()).1;
                    }
                    let signature = rest.split(['(', '{', ';']).next().unwrap_or_default();
                    let words: Vec<&str> = signature.split_whitespace().collect();
                    let exported = words.contains(&"fn") && !words.contains(&"async");
                    let caught = attribute.contains("catch_unwind");
                    (exported && !caught).then(|| (at, "an export without `catch_unwind`".to_owned()))
                })
                .collect()
        },
    )
}

/// Splits after the bracket that closes the attribute at the start of `code`.
fn split_attribute(code: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, letter) in code.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' if depth == 1 => return code.split_at(at + 1),
            ']' => depth -= 1,
            _ => {}
        }
    }
    (code, "")
}

/// Runs a check over the code of the chosen files; it answers with byte offsets.
fn in_code(
    files: &[File],
    chosen: impl Fn(&str) -> bool,
    check: impl Fn(&str) -> Vec<(usize, String)>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| has_extension(&file.path, &["rs"]) && chosen(&file.path)) {
        let code = blank(&file.text);
        for (at, what) in check(&code) {
            let line = code[..at].matches('\n').count() + 1;
            faults.push(Fault::new(file, line, what));
        }
    }
    faults
}

/// The names that follow a prefix such as `std::`, in `std::fs::read` and in `use std::{fs, io::{self, Read}}` alike.
fn first_segments(code: &str, prefix: &str) -> Vec<(usize, String)> {
    let identifier = |text: &str| -> String {
        text.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        // `mystd::` is another path.
        if code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.trim_start().strip_prefix('{') else {
            found.push((at, identifier(rest)));
            continue;
        };
        let mut depth = 1_usize;
        let mut start = 0;
        for (end, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || depth == 1 && letter == ',' {
                found.push((at, identifier(&group[start..end])));
                start = end + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// The text with comments and the insides of strings and characters as blanks, of the same length in bytes.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = token_end(text, at);
        if end == at {
            at += 1;
            continue;
        }
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8(code).unwrap_or_default()
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts there.
fn token_end(text: &str, at: usize) -> usize {
    let bytes = &text.as_bytes()[at..];
    let find = |needle: &str, from: usize| {
        text.as_bytes()[at + from..]
            .windows(needle.len())
            .position(|window| window == needle.as_bytes())
            .map_or(text.len(), |found| at + from + found + needle.len())
    };
    match bytes {
        [b'/', b'/', ..] => find("\n", 2) - usize::from(text.as_bytes()[at..].contains(&b'\n')),
        [b'/', b'*', ..] => find("*/", 2),
        [b'"', ..] => at + quoted(bytes, b'"'),
        [b'r', b'"' | b'#', ..] => {
            let hashes = bytes[1..].iter().take_while(|byte| **byte == b'#').count();
            // `r#type` is an identifier.
            if bytes.get(1 + hashes) == Some(&b'"') {
                find(&format!("\"{}", "#".repeat(hashes)), hashes + 2)
            } else {
                at
            }
        }
        [b'\'', b'\\', ..] => at + quoted(bytes, b'\''),
        // A lifetime has no closing quote behind its first letter.
        [b'\'', ..] => {
            let letter = text[at + 1..].chars().next().map_or(1, char::len_utf8);
            if bytes.get(1 + letter) == Some(&b'\'') { at + letter + 2 } else { at }
        }
        _ => at,
    }
}

/// The length of a literal with escapes, its quotes included.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_kept() {
        let check = |text: &str, expected: &str| assert_eq!(blank(text), expected, "{text}");
        check("a // b\nc", "a     \nc");
        check("a /* b\nc */ d", "a     \n     d");
        check(r#"f("a\"b", c)"#, "f(      , c)");
        check(r##"f(r#"a"b"#, r#type)"##, "f(        , r#type)");
        check(r"f('\'', 'é', &'a str)", "f(    ,     , &'a str)");
        check("ends // here", "ends        ");
    }

    #[test]
    fn a_group_gives_each_of_its_first_names() {
        let names =
            |code| first_segments(code, "std::").into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names("use std::{fs, io::{self, Read}, env};"), ["fs", "io", "env"]);
        assert_eq!(names("std::mem::swap(a, mystd::fs)"), ["mem"]);
    }
}
