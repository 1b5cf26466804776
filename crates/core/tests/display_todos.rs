//! The list of to-dos for a host without a display, and the five words.

mod common;

use std::collections::HashSet;

use agent_lifecycle_core::contract::{State, WaitingReason};
use agent_lifecycle_core::display::TodoStatus::{Completed, InProgress, Pending};
use agent_lifecycle_core::display::{Todo, fallback_todos};
use agent_lifecycle_core::project::rows::{BesideAll, host_status, rows};
use common::display::{noon, read, row};
use common::projection::{Story, event};
use serde_json::{Value, json};

fn todos(rows: Value) -> Vec<Todo> {
    fallback_todos(&read(rows), noon(), true)
}

/// The item of the only child.
fn only(members: Value) -> Todo {
    let [_, item] = <[Todo; 2]>::try_from(todos(json!([row("c", members)]))).unwrap();
    item
}

#[test]
fn without_rows() {
    let said = "Background work visibility unavailable; state unknown.".to_owned();
    let expected = Todo { content: said, status: Pending, active_form: None };
    assert_eq!(fallback_todos(&[], noon(), false), [expected]);
    assert_eq!(fallback_todos(&[], noon(), true), []);
}

#[test]
fn one_aggregate_and_one_item_for_each_child() {
    let list = todos(json!([
        row("a", json!({"activity": "eslint src"})),
        row("b", json!({"state": "waiting", "waitingReason": "permission"})),
        row("c", json!({"state": "completed"})),
    ]));
    let item = |content: &str, status| Todo { content: content.to_owned(), status, active_form: None };
    let sum = "DISPLAY ONLY [background work] 3 children: 2 not ended, 1 completed";
    let expected = [
        Todo { active_form: Some(sum.to_owned()), ..item(sum, InProgress) },
        item("DISPLAY ONLY [running; last evidence 8 s ago] a: eslint src", Pending),
        item("DISPLAY ONLY [waiting permission; last evidence 8 s ago] b: activity unknown", Pending),
        item("DISPLAY ONLY [completed; last evidence 8 s ago] c: ended", Completed),
    ];
    assert_eq!(list, expected);
}

#[test]
fn only_what_completed_is_called_completed() {
    for state in State::ALL {
        let [sum, item] =
            <[Todo; 2]>::try_from(todos(json!([row("c", json!({"state": state.as_str()}))]))).unwrap();
        let expected = match state {
            State::Completed => (Completed, Completed),
            State::Failed | State::Cancelled | State::Lost => (Pending, Pending),
            _ => (InProgress, Pending),
        };
        assert_eq!((sum.status, item.status), expected, "{state:?}");
        assert_eq!(sum.active_form.is_some(), expected.0 == InProgress);
        assert!(item.content.starts_with(&format!("DISPLAY ONLY [{};", state.as_str())), "{}", item.content);
    }
    let mixed = json!([row("a", json!({"state": "completed"})), row("b", json!({"state": "lost"}))]);
    assert_eq!(todos(mixed)[0].status, Pending);
}

#[test]
fn a_stale_child_is_to_be_asked_for_first() {
    let freshness = json!({"at": "2026-05-17T11:50:00Z", "stale": true, "reason": "silence"});
    assert_eq!(
        only(json!({"freshness": freshness, "activity": "x"})).content,
        "DISPLAY ONLY [running; stale, last evidence 10 min ago; reconcile before any conclusion] c: x"
    );
}

#[test]
fn what_a_child_does() {
    let open =
        json!({"count": 2, "open": [{"name": "Bash", "since": "2026-05-17T11:59:48Z"}, {"name": "Read"}]});
    let idle = json!({"count": 2, "open": []});
    for (members, expected) in [
        (json!({"tools": open, "activity": "x"}), "tool Bash, 12 s and 1 more"),
        (json!({"provider": "claude-code", "tools": idle, "activity": "of the past"}), "no open tool"),
        (json!({"provider": "claude-code", "activity": "of the past"}), "activity unknown"),
    ] {
        let content = only(members).content;
        assert_eq!(content.split_once("] c: ").unwrap().1, expected);
    }
}

#[test]
fn equal_ids_are_told_apart_by_their_source() {
    let list = todos(json!([
        row("main", json!({"key": "a", "source": "ci/7"})),
        row("main", json!({"source": "ci/8"}))
    ]));
    assert!(list[1].content.contains("] main (ci/7): "), "{}", list[1].content);
    assert!(list[2].content.contains("] main (ci/8): "), "{}", list[2].content);
}

#[test]
fn the_number_of_items_is_bounded_and_what_is_left_out_is_counted() {
    let many: Vec<Value> = (0..4100).map(|at| row(&at.to_string(), json!({"state": "completed"}))).collect();
    let list = todos(Value::Array(many));
    assert_eq!(list.len(), 4097);
    assert!(list[0].content.ends_with("4100 children: 0 not ended, 4100 completed, 4 not shown"));
}

#[test]
fn the_five_words_are_those_of_the_table() {
    let mut story = Story::new();
    story.projector.apply(&event("c=a created"), None).unwrap();
    let mut row = rows(story.projector.records(), &BesideAll::new()).remove(0);
    let mut seen = HashSet::new();
    for line in include_str!("corpus/host-status.txt").lines() {
        let [state, reason, expected] = <[&str; 3]>::try_from(line.split(' ').collect::<Vec<_>>()).unwrap();
        row.state = State::parse(state).unwrap();
        row.waiting_reason = WaitingReason::parse(reason);
        assert_eq!(host_status(&row), expected, "{line}");
        seen.insert((state, reason));
    }
    assert_eq!(
        seen.len(),
        State::ALL.len() - 1 + WaitingReason::ALL.len(),
        "each state, each reason of waiting"
    );
}
