//! The house rules: which module may use what, and what each file must have.
//!
//! Input: every file that git tracks or would track. Output: the faults, each with its rule and the rule's reason.
//! A rule is a pure function over the files; `samples.rs` holds a text for each that must fail it.

mod javascript;
mod rust;
#[cfg(test)]
mod samples;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the repository; the path has forward slashes and starts at the root.
struct File {
    path: String,
    text: String,
}

/// Where a rule is broken. Line 0 is the file as a whole.
#[derive(Debug, PartialEq)]
struct Fault {
    path: String,
    line: usize,
    what: String,
}

impl Fault {
    fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }
}

struct Rule {
    name: &'static str,
    reason: &'static str,
    check: fn(&[File]) -> Vec<Fault>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "core-is-pure",
        reason: "the core decides from its arguments alone, so that every decision can be replayed and tested",
        check: rust::core_is_pure,
    },
    Rule {
        name: "provider-imports",
        reason: "a provider turns records into agent events and knows nothing of what is made of them",
        check: rust::provider_imports,
    },
    Rule {
        name: "module-doc",
        reason: "each module opens with what goes in, what comes out and what it must never do",
        check: rust::module_doc,
    },
    Rule {
        name: "skin-never-unwraps",
        reason: "what the skin cannot do is an error in JavaScript, not a panic",
        check: rust::skin_never_unwraps,
    },
    Rule {
        name: "exports-catch-panics",
        reason: "a panic that unwinds into Node aborts the host",
        check: rust::exports_catch_panics,
    },
    Rule {
        name: "one-loads-the-addon",
        reason: "ts/native.ts is where refusals become errors and a missing addon is explained",
        check: javascript::one_loads_the_addon,
    },
    Rule {
        name: "client-and-view-without-addon",
        reason: "they run where there is no Node",
        check: javascript::client_and_view_without_addon,
    },
    Rule {
        name: "shared-in-tests-only",
        reason: "the folder is beside the repository on some machines only; tests skip where it is absent",
        check: text::shared_in_tests_only,
    },
    Rule {
        name: "no-postponed-work",
        reason: "an issue is read, a note in the code is not",
        check: text::no_postponed_work,
    },
    Rule {
        name: "no-registry-host",
        reason: "which mirror a machine uses is its own affair",
        check: text::no_registry_host,
    },
    Rule { name: "links-resolve", reason: "a dead link misleads", check: text::links_resolve },
    Rule {
        name: "file-size",
        reason: "one idea in each file, of a size that is read in one go",
        check: text::file_size,
    },
];

/// Checks the work tree; the error lists every fault.
pub(crate) fn run() -> Result<(), String> {
    let files = files(&root())?;
    let mut report: Vec<String> = Vec::new();
    for rule in RULES {
        for fault in (rule.check)(&files) {
            let place = if fault.line == 0 { fault.path } else { format!("{}:{}", fault.path, fault.line) };
            report.push(format!("{place}: {} [{}: {}]", fault.what, rule.name, rule.reason));
        }
    }
    if report.is_empty() {
        println!("tidy: {} files keep {} rules", files.len(), RULES.len());
        return Ok(());
    }
    Err(report.join("\n"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every text file that is tracked, or would be if it were added.
fn files(root: &Path) -> Result<Vec<File>, String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git does not run: {error}"))?;
    if !listed.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr)));
    }
    let paths = String::from_utf8(listed.stdout).map_err(|error| format!("a path is not UTF-8: {error}"))?;
    // What is not there was removed, and what is not UTF-8 is no text.
    Ok(paths
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            Some(File { path: path.to_owned(), text: fs::read_to_string(root.join(path)).ok()? })
        })
        .collect())
}

/// Written by a tool, or data: not held to the rules for what people write.
fn is_generated(path: &str) -> bool {
    matches!(path, "native.js" | "native.d.ts" | "Cargo.lock" | "package-lock.json")
        || path.starts_with("fixtures/")
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
}

/// The path that a relative one means in the file `from`; none where it leaves the repository.
fn join(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
