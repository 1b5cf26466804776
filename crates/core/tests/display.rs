//! The tree as text.

mod common;

use agent_lifecycle_core::display::{Look, tree};
use agent_lifecycle_core::project::rows::{BesideAll, rows};
use agent_lifecycle_core::project::{Alive, Note, Process};
use common::projection::{Story, at, event};
use unicode_width::UnicodeWidthStr;

/// The tree after these events.
fn drawn(events: &[String]) -> String {
    let mut story = Story::new();
    for words in events {
        story.projector.apply(&event(words), None).unwrap();
    }
    let rows = rows(story.projector.records(), &BesideAll::new());
    tree(&rows, Look { now: at(0), color: false, width: None })
}

/// A chain of `levels` children, `c0` the first, each with a child `d…` that ended before it.
fn chain(levels: usize) -> Vec<String> {
    let mut events = vec!["c=c0 created".to_owned()];
    for level in 1..levels {
        events.push(format!("c=d{level} root=c0 parent=c{} created t=-1", level - 1));
        events.push(format!("c=c{level} root=c0 parent=c{} created", level - 1));
    }
    events
}

#[test]
fn branches() {
    let events = [
        "c=a created",
        "c=b root=a created t=1",
        "c=c root=a parent=b created t=2",
        "c=d root=a parent=b created t=3",
        "c=e root=a created t=4",
        "c=f root=a parent=e created t=5",
    ];
    let text = drawn(&events.map(str::to_owned));
    let lines: Vec<&str> = text.lines().map(|line| line.split("  0 s").next().unwrap().trim_end()).collect();
    let states: Vec<&str> = lines.iter().map(|line| &line[..line.find("created").unwrap()]).collect();
    assert_eq!(states, ["", "├─ ", "│  ├─ ", "│  └─ ", "└─ ", "   └─ "], "{text}");
}

#[test]
fn a_deep_tree_is_drawn_to_a_depth() {
    let text = drawn(&chain(13));
    let before = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().any(|word| word == name)).unwrap();
        line[..line.find("created").unwrap()].to_owned()
    };
    assert_eq!(before("c0"), "");
    assert_eq!(before("d9"), format!("{}├─ ", "   ".repeat(8)), "{text}");
    assert_eq!(before("c9"), format!("{}└─ ", "   ".repeat(8)), "{text}");
    for deeper in ["d10", "c10", "d12", "c12"] {
        assert_eq!(before(deeper), format!("{}⋯ ", "   ".repeat(9)), "{text}");
    }
    assert_eq!(text.lines().count(), 25);
}

#[test]
fn depth_costs_no_width() {
    let text = drawn(&chain(5000));
    assert_eq!(text.lines().count(), 9999);
    // The state with its branches, the title, what it does, how fresh it is, and the source.
    let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
    assert!(widest < 100, "{widest} columns");
    // The longest words below the deepest branch.
    let mut events = chain(20);
    events.extend(["starting", "waiting why=permission"].map(|state| format!("c=c19 root=c0 {state}")));
    let text = drawn(&events);
    let line = text.lines().find(|line| line.contains("permission")).unwrap();
    assert!(line[..line.find(" c19").unwrap()].trim_end().width() <= 48, "{line}");
}

#[test]
fn a_dead_process_is_said_of_what_has_not_ended() {
    let mut story = Story::new();
    for words in ["c=a created", "c=b created", "c=b cancelled t=1"] {
        story.projector.apply(&event(words), None).unwrap();
    }
    for child in ["a", "b"] {
        let dead = Process { pid: 7, alive: Alive::No };
        assert!(story.projector.set_process("s", child, Some(dead)));
    }
    let exit = r#"{"kind":"agent.exited"}"#;
    let mut exited = event("c=a reconciliation t=2");
    exited.details =
        Some(agent_lifecycle_core::json::parse(format!(r#"{{"agent":{exit}}}"#).as_bytes()).unwrap());
    let asked = story.projector.apply(&exited, None).unwrap();
    assert_eq!(asked.note, Some(Note::ExitWithOpenTurn));
    let rows = rows(story.projector.records(), &BesideAll::new());
    let draw = |width| {
        let text = tree(&rows, Look { now: at(8), color: false, width });
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(draw(None), ["created a process dead, 8 s ago, no way to ask s", "cancelled b 1 s s"]);
    // Where there is little room, the remedy goes first.
    assert_eq!(draw(Some(60)), ["created a process dead, 8 s ago s", "cancelled b 1 s s"]);
}
