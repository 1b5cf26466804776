//! For each rule, texts that must break it and texts that must not.

use std::collections::HashSet;

use super::{File, RULES};

/// The lines on which the rule is broken in a repository of these files.
fn check(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = files
        .iter()
        .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
        .collect();
    let rule = RULES.iter().find(|known| known.name == rule).expect("the rule exists");
    (rule.check)(&files).into_iter().map(|fault| format!("{}:{}", fault.path, fault.line)).collect()
}

type Sample = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const CORE: &str = "crates/core/src/a.rs";
const PROVIDER: &str = "crates/core/src/providers/codex.rs";

/// Rule, files, where it is broken.
const BROKEN: &[Sample] = &[
    ("core-is-pure", &[(CORE, "//! A.\nuse std::fs;")], &["crates/core/src/a.rs:2"]),
    ("core-is-pure", &[(CORE, "use std::{collections::HashMap, env};")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "let a = std::net::TcpStream::connect(b);")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "std::process::exit(1)")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "std::thread::spawn(f)")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "let now = SystemTime::now();")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "let now = Instant::now();")], &["crates/core/src/a.rs:1"]),
    ("core-is-pure", &[(CORE, "use napi::Env;")], &["crates/core/src/a.rs:1"]),
    ("provider-imports", &[(PROVIDER, "use crate::display;")], &["crates/core/src/providers/codex.rs:1"]),
    (
        "provider-imports",
        &[(PROVIDER, "use crate::{agent::Event, project};")],
        &["crates/core/src/providers/codex.rs:1"],
    ),
    ("module-doc", &[("src/a.rs", "use a;")], &["src/a.rs:1"]),
    ("module-doc", &[("crates/io/src/a/b.rs", "// A.\n//! B.")], &["crates/io/src/a/b.rs:1"]),
    ("skin-never-unwraps", &[("src/a.rs", "a\n    .unwrap();")], &["src/a.rs:2"]),
    ("skin-never-unwraps", &[("src/a.rs", "a.expect(\"b\");")], &["src/a.rs:1"]),
    ("exports-catch-panics", &[("src/a.rs", "#[napi]\npub fn a() {}")], &["src/a.rs:1"]),
    (
        "exports-catch-panics",
        &[(
            "src/a.rs",
            "#[napi(\n  getter,\n  js_name = \"catch_unwind\"\n)]\n#[must_use]\npub fn a(&self) {}",
        )],
        &["src/a.rs:1"],
    ),
    ("one-loads-the-addon", &[("ts/a.ts", "import { b } from \"../native.js\";")], &["ts/a.ts:1"]),
    ("one-loads-the-addon", &[("index.js", "\nmodule.exports = require('./native');")], &["index.js:2"]),
    ("one-loads-the-addon", &[("ts/cli/a.ts", "await import(\"../../native.js\")")], &["ts/cli/a.ts:1"]),
    ("client-and-view-without-addon", &[("ts/client.ts", "import \"./native.js\";")], &["ts/client.ts:0"]),
    (
        "client-and-view-without-addon",
        &[
            ("ts/view/row.ts", "export * from \"../rows.js\";"),
            ("ts/rows.ts", "import {\n  a,\n} from \"./native.js\";"),
        ],
        &["ts/view/row.ts:0"],
    ),
    ("shared-in-tests-only", &[("docs/a.md", concat!("see ../", "shared/spec"))], &["docs/a.md:1"]),
    (
        "shared-in-tests-only",
        &[("crates/core/src/a.rs", concat!("../", "shared"))],
        &["crates/core/src/a.rs:1"],
    ),
    ("no-postponed-work", &[("ts/a.ts", concat!("// TO", "DO: later"))], &["ts/a.ts:1"]),
    ("no-postponed-work", &[("a.toml", concat!("\n# FIX", "ME"))], &["a.toml:2"]),
    ("no-registry-host", &[("a.md", concat!("from registry.npm", "js.org"))], &["a.md:1"]),
    (
        "no-registry-host",
        &[("package-lock.json", concat!("\"resolved\": \"", "http://a/b.tgz\""))],
        &["package-lock.json:1"],
    ),
    ("links-resolve", &[("docs/a.md", "see [b](b.md)")], &["docs/a.md:1"]),
    ("links-resolve", &[("docs/a.md", "[b](../b.md#two)"), ("b.md", "# One")], &["docs/a.md:1"]),
    ("links-resolve", &[("docs/a.md", "[out](../../b.md)"), ("b.md", "")], &["docs/a.md:1"]),
];

/// Rule and files that keep it.
const KEPT: &[(&str, &[(&str, &str)])] = &[
    (
        "core-is-pure",
        &[(CORE, "//! No std::fs, no napi::Env.\nuse std::{fmt, time::Instant};\nlet a = \"std::fs\";")],
    ),
    ("core-is-pure", &[("crates/io/src/a.rs", "use std::fs;"), ("crates/core/tests/a.rs", "use std::fs;")]),
    ("provider-imports", &[(PROVIDER, "use crate::{agent::Event, contract};\nuse super::shared;")]),
    ("module-doc", &[("src/a.rs", "//! A."), ("crates/core/tests/a.rs", ""), ("build.rs", "")]),
    ("skin-never-unwraps", &[("src/a.rs", "// .unwrap()\na.unwrap_or(b)"), (CORE, "a.unwrap()")]),
    (
        "exports-catch-panics",
        &[(
            "src/a.rs",
            "#[napi]\npub struct A {}\n#[napi]\nimpl A {\n#[napi(catch_unwind)]\npub fn a() {}\n#[napi]\npub async fn b() {}\n}",
        )],
    ),
    (
        "one-loads-the-addon",
        &[("ts/native.ts", "require(\"../native.js\")"), ("ts/a.ts", "import \"./native.js\"")],
    ),
    (
        "client-and-view-without-addon",
        &[
            ("ts/client.ts", "import { a } from \"./a.js\";\nimport type { N } from \"./native.js\";"),
            ("ts/a.ts", "import \"./client.js\""),
            ("ts/index.ts", "import \"./native.js\""),
        ],
    ),
    (
        "shared-in-tests-only",
        &[("__test__/a.mjs", concat!("../", "shared")), ("crates/core/tests/a.rs", concat!("../", "shared"))],
    ),
    ("no-postponed-work", &[("ts/a.ts", concat!("fallbackTO", "DOs")), ("fixtures/a", concat!("TO", "DO"))]),
    ("no-registry-host", &[("Cargo.lock", concat!("crates", ".io"))]),
    (
        "links-resolve",
        &[
            ("docs/a.md", "[b](../src), [c](https://a/b), [d](#the-title)\n# The `title`\n```\n[e](f)\n```"),
            ("src/b.rs", ""),
        ],
    ),
];

#[test]
fn each_broken_sample_is_found_where_it_is_broken() {
    for (rule, files, expected) in BROKEN {
        assert_eq!(check(rule, files), *expected, "{rule}: {files:?}");
    }
}

#[test]
fn each_kept_sample_passes() {
    for (rule, files) in KEPT {
        assert!(check(rule, files).is_empty(), "{rule}: {files:?}");
    }
}

#[test]
fn a_file_over_the_limit_is_found_and_one_at_the_limit_is_not() {
    let (most, over) = ("a\n".repeat(500), "a\n".repeat(501));
    let files = [("ts/most.ts", most.as_str()), ("ts/over.ts", &over), ("native.js", &over), ("a.md", &over)];
    assert_eq!(check("file-size", &files), ["ts/over.ts:0"]);
}

#[test]
fn each_rule_has_a_sample_that_breaks_it() {
    let mut sampled: HashSet<&str> = BROKEN.iter().map(|(rule, ..)| *rule).collect();
    sampled.insert("file-size");
    assert_eq!(sampled, RULES.iter().map(|rule| rule.name).collect());
}
