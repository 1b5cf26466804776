//! The rules about any text: words, links and sizes.

use std::collections::HashSet;

use super::{Fault, File, has_extension, is_generated, join};

const MOST_LINES: usize = 500;
// Cut in two, so that this file keeps its own rules.
const POSTPONED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];
const SHARED: &str = concat!("../", "shared");
const HOSTS: &[&str] = &[
    concat!("npm", "js."),
    concat!("npm", "mirror."),
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("deb.", "debian.org"),
];
// A lock file with addresses names the mirror of whoever wrote it.
const LOCKED_ADDRESS: &str = concat!("\"resolved\": \"", "http");

pub(super) fn shared_in_tests_only(files: &[File]) -> Vec<Fault> {
    let is_test = |path: &str| {
        path.starts_with("__test__/")
            || path.starts_with("crates/") && path.split('/').nth(2) == Some("tests")
    };
    lines(files, |path| !is_test(path), |line| line.contains(SHARED).then(|| format!("names {SHARED}")))
}

pub(super) fn no_postponed_work(files: &[File]) -> Vec<Fault> {
    lines(
        files,
        |path| !is_generated(path),
        |line| {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.find(|word| POSTPONED.contains(word)).map(|word| format!("says {word}"))
        },
    )
}

pub(super) fn no_registry_host(files: &[File]) -> Vec<Fault> {
    // Cargo.lock names the index by the name that every such file has.
    lines(
        files,
        |path| !path.ends_with("Cargo.lock") && !path.starts_with("fixtures/"),
        |line| {
            let named = HOSTS.iter().chain([&LOCKED_ADDRESS]).find(|host| line.contains(**host));
            named.map(|host| format!("names {host}"))
        },
    )
}

pub(super) fn file_size(files: &[File]) -> Vec<Fault> {
    let extensions = ["rs", "js", "cjs", "mjs", "ts", "cts", "mts", "py", "sh"];
    files
        .iter()
        .filter(|file| has_extension(&file.path, &extensions) && !is_generated(&file.path))
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, count)| *count > MOST_LINES)
        .map(|(file, count)| Fault::new(file, 0, format!("has {count} lines, over {MOST_LINES}")))
        .collect()
}

/// Each relative link in Markdown must lead to a file or folder of the repository, and to a heading where it names one.
pub(super) fn links_resolve(files: &[File]) -> Vec<Fault> {
    let mut places: HashSet<String> = HashSet::from([String::new()]);
    for file in files {
        let mut place = file.path.as_str();
        places.insert(place.to_owned());
        while let Some((folder, _)) = place.rsplit_once('/') {
            places.insert(folder.to_owned());
            place = folder;
        }
    }
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| has_extension(&file.path, &["md"]) && !is_generated(&file.path)) {
        for (line, text) in prose(&file.text) {
            for target in link_targets(text) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (path, anchor) =
                    target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
                let full = if path.is_empty() { Some(file.path.clone()) } else { join(&file.path, path) };
                let Some(full) = full.filter(|full| places.contains(full)) else {
                    faults.push(Fault::new(file, line, format!("links to {target}, which is not there")));
                    continue;
                };
                let headings =
                    files.iter().find(|other| other.path == full).map(|other| headings(&other.text));
                if let (Some(anchor), Some(headings)) = (anchor, headings)
                    && !headings.contains(anchor)
                {
                    faults.push(Fault::new(
                        file,
                        line,
                        format!("links to {target}, a heading that is not there"),
                    ));
                }
            }
        }
    }
    faults
}

/// The lines outside fenced blocks, numbered from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut kept = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            kept.push((at + 1, line));
        }
    }
    kept
}

fn link_targets(line: &str) -> Vec<&str> {
    line.match_indices("](")
        .filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next())
        .filter(|target| !target.is_empty())
        .collect()
}

fn headings(text: &str) -> HashSet<String> {
    prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
        })
        .collect()
}

fn lines(
    files: &[File],
    chosen: impl Fn(&str) -> bool,
    check: impl Fn(&str) -> Option<String>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| chosen(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            faults.extend(check(line).map(|what| Fault::new(file, at + 1, what)));
        }
    }
    faults
}
