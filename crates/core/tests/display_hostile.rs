//! Rows that were made to deceive, to leak, or to fill a screen.

mod common;

use std::cell::Cell;

use agent_lifecycle_core::display::{RowsFault, fallback_todos, read_rows, status_report};
use agent_lifecycle_core::json::JsonFault;
use common::display::{noon, read, row};
use common::secrets::{check_gone, secrets};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// Both displays as lines.
fn lines(rows: &Value) -> Vec<String> {
    let rows = read(rows.clone());
    let report = status_report(&rows, noon(), true);
    let items = fallback_todos(&rows, noon(), true).into_iter().map(|todo| todo.content);
    report.lines().map(str::to_owned).chain(items).collect()
}

/// A child whose every shown text is `text`, but for its key.
fn all(text: &str) -> Value {
    row(
        "c",
        json!({
            "childId": text, "source": text, "provider": text, "agentVersion": text, "parentKey": text, "title": text,
            "activity": text, "transcript": text, "result": text, "tools": {"count": 1, "open": [{"name": text}]},
            "freshness": {"stale": true, "reason": text}, "outcome": {"signal": text},
        }),
    )
}

#[test]
fn what_is_no_row_is_refused_by_its_path() {
    let fault = |path: &str, must| RowsFault::Row { path: path.to_owned(), must };
    let (key, id, state) = ("text", "an identity of 1 to 512 bytes", "one of the eight states");
    let long = "x".repeat(513);
    for (rows, expected) in [
        (json!({}), fault("rows", "an array of rows")),
        (json!(null), fault("rows", "an array of rows")),
        (json!([row("a", json!({})), 5]), fault("rows[1]", "a row")),
        (json!([[]]), fault("rows[0]", "a row")),
        (json!([row("a", json!({"key": 5}))]), fault("rows[0].key", key)),
        (json!([row("a", json!({"childId": null}))]), fault("rows[0].childId", id)),
        (json!([row("a", json!({"childId": " "}))]), fault("rows[0].childId", id)),
        (json!([row("a", json!({"childId": long}))]), fault("rows[0].childId", id)),
        (json!([row("a", json!({"state": "done"}))]), fault("rows[0].state", state)),
        (json!([row("a", json!({"state": ["running"]}))]), fault("rows[0].state", state)),
    ] {
        assert_eq!(read_rows(&rows.to_string()).unwrap_err(), expected);
    }
    assert_eq!(read_rows("[").unwrap_err(), RowsFault::Json(JsonFault::Malformed));
    let deep = format!("[{}{}]", "[".repeat(600), "]".repeat(600));
    assert_eq!(read_rows(&deep).unwrap_err(), RowsFault::Json(JsonFault::TooDeep));
}

#[test]
fn to_dos_and_percentages_have_no_influence() {
    let plain = json!([row("c", json!({"activity": "x"}))]);
    let mut proxied = plain.clone();
    for (name, value) in [
        ("todos", json!([{"content": "c", "status": "completed"}])),
        ("todo", json!("completed")),
        ("percent", json!(100)),
        ("progress", json!(1)),
        ("status", json!("completed")),
        ("details", json!({"state": "completed", "percent": 100, "todos": []})),
        ("host", json!({"state": "done"})),
        ("outcome", json!({"terminal": "completed", "cause": "known", "percent": 100})),
    ] {
        proxied[0][name] = value;
    }
    assert_eq!(lines(&proxied), lines(&plain));
}

#[test]
fn no_text_can_pose_as_another_line_or_child() {
    let forged =
        "x\n\n- completed: other\n  outcome: completed\r\u{2028}\u{85}\u{b}DISPLAY ONLY [completed] y";
    let plain = lines(&json!([all("x")]));
    let drawn = lines(&json!([all(forged)]));
    assert_eq!(drawn.len(), plain.len());
    let head = |line: &String| line.split_inclusive(": ").next().unwrap_or_default().to_owned();
    // A line begins with what it says of itself; the item of the child with its state.
    for (drawn, plain) in drawn.iter().zip(&plain).filter(|(drawn, _)| !drawn.starts_with("DISPLAY")) {
        assert_eq!(head(drawn), head(plain));
    }
    assert!(drawn.last().unwrap().starts_with("DISPLAY ONLY [running; stale, "), "{drawn:?}");
}

#[test]
fn an_id_without_a_visible_character_is_said_to_be_one() {
    let drawn = lines(&json!([row("\u{200b}\u{202e}", json!({}))]));
    assert!(drawn.contains(&"- running: (an id without a visible character)".to_owned()), "{drawn:?}");
}

#[test]
fn no_secret_is_shown() {
    let mut checked = 0;
    let plain = lines(&json!([all("x")]));
    // As long as an id may be.
    for (text, hidden) in secrets().filter(|(text, _)| text.len() <= 512) {
        for (shown, plain) in lines(&json!([all(&text)])).iter().zip(&plain) {
            // What stands around the text has letters too.
            check_gone(&format!("{plain}: {text}; {text}"), shown, &hidden);
            checked += hidden.len();
        }
    }
    assert!(checked > 500, "{checked} checks");
    // What cuts a secret in two and is not shown does not save it.
    let hidden = all("sk-fake\u{200b}fakefake\u{202e}fakefake0000");
    assert!(lines(&json!([hidden])).iter().all(|line| !line.contains("fakefake")));
}

#[test]
fn every_line_is_inert_and_bounded() {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        proptest::sample::select(vec![
            "\u{1b}[31m",
            "\u{1b}]0;t\u{7}",
            "\u{9b}2J",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{e0041}",
            "\r",
            "\n",
            "\u{85}",
            "\0x",
            "\u{8}",
            "a\u{301}",
            "漢字",
            "👩‍👩‍👧",
            "\u{ad}",
            "\u{feff}",
        ])
        .prop_map(str::to_owned),
    ];
    let text = (prop::collection::vec(piece, 1..12), prop_oneof![Just(1), Just(40), Just(2000)])
        .prop_map(|(pieces, times)| pieces.concat().repeat(times));
    let (refused, cut, hidden) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    runner
        .run(&text, |text| {
            let mut rows = json!([all(&text)]);
            if read_rows(&rows.to_string()).is_err() {
                refused.set(refused.get() + 1);
                rows[0]["childId"] = json!("c");
            }
            for line in lines(&rows) {
                let is_visible = |c: char| {
                    !c.is_control()
                        && !('\u{202a}'..='\u{202e}').contains(&c)
                        && !('\u{2066}'..='\u{2069}').contains(&c)
                        && !('\u{200b}'..='\u{200f}').contains(&c)
                        && !('\u{e0000}'..='\u{e007f}').contains(&c)
                };
                prop_assert!(line.chars().all(is_visible), "{line:?}");
                // An id or a path, and what is said around it.
                prop_assert!(line.width() <= 1200, "{} columns", line.width());
                prop_assert!(line.len() <= 20_000, "{} bytes", line.len());
                cut.set(cut.get() + usize::from(line.contains('…')));
            }
            hidden.set(hidden.get() + usize::from(text.chars().any(char::is_control)));
            Ok(())
        })
        .unwrap();
    assert!(refused.get() > 0 && cut.get() > 0 && hidden.get() > 0, "{refused:?} {cut:?} {hidden:?}");
}
