//! Every fixture through all its stages. `fixtures/README.md` says what each stage is and who writes it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::display::{Look, tree};
use agent_lifecycle_fixtures::{DISPLAY, EVENTS, Fixture, PROJECTION, RECORDS};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The file, or why the stage is missing.
fn stage(fixture: &Fixture, name: &str) -> Result<String, String> {
    fs::read_to_string(fixture.folder.join(name))
        .map_err(|error| format!("{}/{name}: {error}\n", fixture.name))
}

/// Each line that differs, with its number, or nothing.
fn difference(what: &str, expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let mut report = format!("{what} differs:\n");
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let mut told = 0;
    for at in 0..expected.len().max(found.len()) {
        let (left, right) = (expected.get(at), found.get(at));
        if left != right {
            told += 1;
            if told > 8 {
                report.push_str("  ...\n");
                break;
            }
            let shown = |line: Option<&&str>| line.map_or("(nothing)".to_owned(), |line| (*line).to_owned());
            let _ = writeln!(
                report,
                "  line {}\n    expected {}\n    found    {}",
                at + 1,
                shown(left),
                shown(right)
            );
        }
    }
    if told == 0 {
        report.push_str("  in line ends only\n");
    }
    Some(report)
}

/// Each expected member that a row does not have as expected, and rows too many or too few.
fn row_differences(name: &str, expected: &[Value], found: &[Value]) -> String {
    let mut report = String::new();
    let key = |row: Option<&Value>| row.map_or("(no row)".to_owned(), |row| row["key"].to_string());
    for at in 0..expected.len().max(found.len()) {
        let (Some(Value::Object(expected)), Some(found)) = (expected.get(at), found.get(at)) else {
            let _ = writeln!(
                report,
                "{name}/{PROJECTION} row {at}: expected {}, found {}",
                key(expected.get(at)),
                key(found.get(at))
            );
            continue;
        };
        for (member, value) in expected {
            let present = found.get(member).cloned().unwrap_or_else(|| "(no such member)".into());
            if present != *value {
                let _ = writeln!(
                    report,
                    "{name}/{PROJECTION} row {at} {}: {member}\n    expected {value}\n    found    {present}",
                    key(Some(found))
                );
            }
        }
    }
    report
}

fn check(fixture: &Fixture) -> Result<String, String> {
    let mut report = String::new();
    for (name, made) in fixture.stages() {
        let blessed = stage(fixture, name)?;
        report.extend(difference(&format!("{}/{name}", fixture.name), &blessed, &made));
    }
    if !report.is_empty() {
        report.push_str("  If that is right: cargo xtask bless, and read its diff.\n");
    }
    let by_hand = stage(fixture, PROJECTION)?;
    let expected: Value = serde_json::from_str(&by_hand)
        .map_err(|error| format!("{}/{PROJECTION}: {error}\n", fixture.name))?;
    let (Some(now), Some(why), Some(rows)) = (
        expected["now"].as_str().and_then(Moment::parse),
        expected["why"].as_str().filter(|why| !why.is_empty()),
        expected["rows"].as_array(),
    ) else {
        return Err(format!("{}/{PROJECTION}: now, why and rows are needed\n", fixture.name));
    };
    let found = fixture.run(&mut |_, _| {}).rows(now);
    let as_values: Vec<Value> = found.iter().map(|row| serde_json::to_value(row).unwrap()).collect();
    let rows = row_differences(&fixture.name, rows, &as_values);
    if !rows.is_empty() {
        let _ = writeln!(report, "{rows}  Written by hand, because: {why}");
    }
    let drawn = tree(&found, Look { now, color: false, width: None });
    report.extend(difference(&format!("{}/{DISPLAY}", fixture.name), &stage(fixture, DISPLAY)?, &drawn));
    Ok(report)
}

#[test]
fn every_fixture_gives_each_of_its_stages() {
    let fixtures = Fixture::all(&root()).unwrap();
    assert!(fixtures.len() >= 22, "found {} fixtures", fixtures.len());
    let report: String =
        fixtures.iter().map(|fixture| check(fixture).unwrap_or_else(|missing| missing)).collect();
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn every_file_of_a_fixture_is_a_stage() {
    let stages = ["0-bytes", "0-bytes.jsonl", RECORDS, EVENTS, PROJECTION, DISPLAY];
    for fixture in Fixture::all(&root()).unwrap() {
        for entry in fs::read_dir(&fixture.folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(stages.contains(&name.as_str()), "{}/{name}", fixture.name);
        }
    }
}

#[test]
fn a_difference_says_where() {
    let text = difference("x", "a\nb\n", "a\nc\nd\n").unwrap();
    assert_eq!(
        text,
        "x differs:\n  line 2\n    expected b\n    found    c\n  line 3\n    expected (nothing)\n    found    d\n"
    );
    let rows = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap();
    let (one, other) = (rows(r#"[{"key":"k","turn":null}]"#), rows(r#"[{"key":"k"},{"key":"l"}]"#));
    assert_eq!(row_differences("x", &one, &one), "");
    let text = row_differences("x", &one, &other);
    assert!(text.contains("turn\n    expected null\n    found    \"(no such member)\""), "{text}");
    assert!(text.contains("row 1: expected (no row), found \"l\""), "{text}");
}
