//! The rules about JavaScript and TypeScript files: who may load the addon.

use std::collections::{HashMap, HashSet};

use super::{Fault, File, has_extension, is_generated, join};

const ADDON: &str = "native";
const WRAPPER: &str = "ts/native";

pub(super) fn one_loads_the_addon(files: &[File]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| is_script(&file.path) && !is_generated(&file.path)) {
        if module(&file.path) == WRAPPER {
            continue;
        }
        for import in imports(&file.text) {
            if resolve(&file.path, import.from).is_some_and(|target| target == ADDON) {
                faults.push(Fault::new(file, import.line, "loads native.js"));
            }
        }
    }
    faults
}

/// Follows the imports that remain when types are gone.
pub(super) fn client_and_view_without_addon(files: &[File]) -> Vec<Fault> {
    let modules: HashMap<String, &File> =
        files.iter().filter(|file| is_script(&file.path)).map(|file| (module(&file.path), file)).collect();
    let is_entry = |path: &str| {
        ["ts/client.", "ts/client/", "ts/view.", "ts/view/"].iter().any(|start| path.starts_with(start))
    };
    let mut faults = Vec::new();
    for entry in files.iter().filter(|file| is_script(&file.path) && is_entry(&file.path)) {
        let mut seen = HashSet::new();
        let mut open = vec![module(&entry.path)];
        while let Some(name) = open.pop() {
            if name == WRAPPER || name == ADDON {
                faults.push(Fault::new(entry, 0, format!("reaches {name}")));
                continue;
            }
            let Some(file) = modules.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
            let loaded = imports(&file.text).into_iter().filter(|import| !import.type_only);
            open.extend(loaded.filter_map(|import| resolve(&file.path, import.from)));
        }
    }
    faults
}

fn is_script(path: &str) -> bool {
    has_extension(path, &["js", "cjs", "mjs", "ts", "cts", "mts"])
}

struct Import<'a> {
    line: usize,
    from: &'a str,
    type_only: bool,
}

/// The specifiers behind `from`, `import` and `require`.
fn imports(text: &str) -> Vec<Import<'_>> {
    let mut found = Vec::new();
    for keyword in ["from ", "import ", "import(", "require("] {
        for (at, _) in text.match_indices(keyword) {
            let rest = &text[at + keyword.len()..];
            let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`')) else {
                continue;
            };
            let Some(from) = rest[1..].split(quote).next() else { continue };
            let type_only = keyword == "from " && {
                let starts = ["import ", "export "].iter().filter_map(|start| text[..at].rfind(start));
                starts.max().is_some_and(|start| text[start + "import ".len()..].starts_with("type "))
            };
            found.push(Import { line: text[..at].matches('\n').count() + 1, from, type_only });
        }
    }
    found
}

/// The path of a module without its extension: `ts/a.ts`, `ts/a.js` and `ts/a` are one.
fn module(path: &str) -> String {
    let extensions = [".d.ts", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"];
    let bare = extensions.iter().find_map(|extension| path.strip_suffix(extension));
    bare.unwrap_or(path).to_owned()
}

/// The module that a relative specifier names, from the root of the repository.
fn resolve(importer: &str, specifier: &str) -> Option<String> {
    if !specifier.starts_with('.') {
        return None;
    }
    join(importer, specifier).map(|path| module(&path))
}
