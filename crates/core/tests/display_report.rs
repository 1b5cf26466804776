//! The report for an end user.

mod common;

use agent_lifecycle_core::display::{NO_CHILD, NO_EVIDENCE, status_report};
use common::display::{noon, read, row};
use serde_json::{Value, json};

fn report(rows: Value) -> String {
    status_report(&read(rows), noon(), true)
}

/// What the line `name` of the only child says.
fn line(members: Value, name: &str) -> Option<String> {
    let text = report(json!([row("c", members)]));
    text.lines().find_map(|line| line.strip_prefix(&format!("  {name}: "))).map(str::to_owned)
}

#[test]
fn without_rows_it_is_one_sentence() {
    assert_eq!(status_report(&[], noon(), false), "Background work visibility unavailable; state unknown.");
    assert_eq!(status_report(&[], noon(), false), NO_EVIDENCE);
    assert_eq!(status_report(&[], noon(), true), NO_CHILD);
    // Rows are evidence, whatever else is said.
    let rows = read(json!([row("c", json!({}))]));
    assert!(status_report(&rows, noon(), false).contains("running: c"));
}

#[test]
fn a_child_with_everything_unknown() {
    let rows = json!([{"key": "k", "childId": "c", "state": "waiting"}]);
    let expected = "1 child: 1 not ended, at 2026-05-17T12:00:00Z

- waiting: c
  source: unknown
  waits for: something unknown, since when is unknown
  doing: unknown
  freshness: age of the last evidence unknown; whether that is too old is unknown
  outcome: none yet: it has not ended, as far as is known
  transcript: unknown
  result: unknown";
    assert_eq!(report(rows), expected);
}

#[test]
fn children_stand_below_their_parents() {
    let below = |parent: &str| json!({"parentKey": format!("ci#{parent}"), "title": "T"});
    let text = report(json!([
        row("b", below("a")),
        row("d", below("b")),
        row("a", json!({})),
        row("c", below("a")),
        row("e", json!({})),
    ]));
    let heads: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("- ")).collect();
    let expected =
        ["- running: a", "    - running: b", "        - running: d", "    - running: c", "- running: e"];
    assert_eq!(heads, expected);
    // The lines of a child stand below it, and a source is said once.
    assert!(text.contains("\n        - running: d\n          title: T\n"), "{text}");
    assert_eq!(text.matches("source: ci").count(), 2, "{text}");
}

#[test]
fn a_parent_that_is_not_here_is_said() {
    assert_eq!(line(json!({"parentKey": "ci#gone"}), "parent").unwrap(), "not among these rows: ci#gone");
    assert_eq!(line(json!({"parentKey": "ci#c"}), "parent").unwrap(), "in a circle: ci#c");
    let text =
        report(json!([row("a", json!({"parentKey": "ci#b"})), row("b", json!({"parentKey": "ci#a"}))]));
    assert!(text.contains("\n- running: a\n  parent: in a circle: ci#b\n"), "{text}");
    assert!(text.contains("\n    - running: b\n"), "{text}");
}

#[test]
fn depth_is_bounded_and_said() {
    let chain: Vec<Value> = (0..5000)
        .map(|level| row(&format!("c{level}"), json!({"parentKey": format!("ci#c{}", level - 1)})))
        .collect();
    let text = report(Value::Array(chain));
    assert!(text.contains(&format!("\n{}- running: c9\n", " ".repeat(36))), "the ninth level");
    assert!(text.contains(&format!("\n{}- (level 10) running: c10\n", " ".repeat(36))), "the tenth level");
    assert!(text.starts_with("5000 children: 5000 not ended, 904 not shown, at "), "{}", &text[..80]);
    assert_eq!(text.matches("running: c").count(), 4096);
}

#[test]
fn why_it_waits() {
    for (reason, expected) in [
        ("prompt", "the user's next prompt, for 90 s"),
        ("permission", "a permission, for 90 s"),
        ("question", "an answer to a question, for 90 s"),
        ("blocked", "an error or a limit to pass, for 90 s"),
        ("child", "its children, for 90 s"),
        ("other", "something else, or something not said, for 90 s"),
        ("tea", "something unknown, for 90 s"),
    ] {
        assert_eq!(
            line(json!({"state": "waiting", "waitingReason": reason}), "waits for").unwrap(),
            expected
        );
    }
    let waits = json!({"state": "waiting", "waitingReason": "permission", "waits": [{}, {}]});
    assert_eq!(line(waits, "waits for").unwrap(), "a permission, for 90 s; 2 waits are open");
    let text = json!({"state": "waiting", "waitingReason": "other", "waits": [{"text": "push?\n- completed: c"}, {}]});
    let expected = "something else, or something not said, for 90 s; 2 waits are open; in its own words: push? - completed: c";
    assert_eq!(line(text, "waits for").unwrap(), expected);
    assert_eq!(line(json!({"waitingReason": "permission"}), "waits for"), None);
}

#[test]
fn what_it_does() {
    let bash =
        json!({"count": 3, "open": [{"toolId": "t", "name": "Bash", "since": "2026-05-17T11:59:48Z"}]});
    let agent = |members: &[(&str, Value)]| {
        let mut row = json!({"provider": "claude-code", "tools": {"count": 0, "open": []}});
        for (name, value) in members {
            row[*name] = value.clone();
        }
        row
    };
    let many = json!({"count": 3, "open": [{"name": "Bash"}, {"name": "Read"}, {"name": "Read"}]});
    for (members, expected) in [
        (json!({}), "unknown"),
        (json!({"activity": "eslint src"}), "eslint src"),
        (json!({"activity": "x", "liveChildren": 2}), "2 children not ended; x"),
        (json!({"tools": bash.clone()}), "tool Bash, 12 s"),
        (json!({"tools": many}), "tool Bash, since when is unknown and 2 more"),
        (agent(&[]), "no open tool"),
        (agent(&[("activity", json!("Read: a"))]), "no open tool; newest activity, of the past: Read: a"),
        // Of a sub-agent without records of its own nobody knows that.
        (agent(&[("tools", json!({"count": null, "open": []}))]), "unknown"),
        (
            agent(&[("tools", bash.clone())]),
            "a wait for a permission would look like a slow tool; tool Bash, 12 s",
        ),
        (
            agent(&[("tools", bash.clone()), ("capabilities", json!({"permissionWaits": "known"}))]),
            "tool Bash, 12 s",
        ),
        (agent(&[("turn", json!({"open": false, "outcome": "error"}))]), "last turn error; no open tool"),
        (json!({"state": "failed", "activity": "x", "tools": bash}), "nothing: it has ended"),
    ] {
        assert_eq!(line(members.clone(), "doing").unwrap(), expected, "{members}");
    }
}

#[test]
fn how_fresh_it_is() {
    let at = "2026-05-17T11:50:00Z";
    let stale = |reconcile: Value| json!({"freshness": {"at": at, "stale": true, "reason": "silence", "reconcile": reconcile}});
    let due = "a reconciliation is due before any conclusion about it";
    for (members, expected) in [
        (json!({}), "last evidence 8 s ago".to_owned()),
        (
            json!({"freshness": {"at": at, "estimated": true, "stale": false}}),
            "last evidence about 10 min ago".to_owned(),
        ),
        (
            json!({"freshness": {"at": "2026-05-17T12:00:05Z", "stale": false}}),
            "last evidence 5 s after the present time".to_owned(),
        ),
        (
            stale(json!("unavailable")),
            "stale (silence), last evidence 10 min ago; there is nobody to ask, so nothing is concluded about it".to_owned(),
        ),
        (
            stale(json!("pending")),
            format!(
                "stale (silence), last evidence 10 min ago; it was asked for, and no answer has come yet; {due}"
            ),
        ),
        (
            stale(json!("unanswered")),
            format!("stale (silence), last evidence 10 min ago; it was asked for, and no answer came; {due}"),
        ),
        (
            json!({"evidence": {"processAlive": "no"}}),
            "process dead, last evidence 8 s ago".to_owned(),
        ),
        (
            json!({"evidence": {"processAlive": "no"}, "freshness": {"at": at, "stale": false, "reconcile": "unavailable"}}),
            "process dead, last evidence 10 min ago; there is nobody to ask, so nothing is concluded about it".to_owned(),
        ),
        (
            json!({"evidence": {"processAlive": "no"}, "freshness": {"at": at, "stale": false, "reconcile": "pending"}}),
            format!("process dead, last evidence 10 min ago; it was asked for, and no answer has come yet; {due}"),
        ),
        (
            json!({"freshness": {"stale": true}}),
            format!(
                "stale (reason unknown), age of the last evidence unknown; whether anybody was asked is unknown; {due}"
            ),
        ),
    ] {
        assert_eq!(line(members.clone(), "freshness").unwrap(), expected, "{members}");
    }
    // Of a child that ended, silence says nothing.
    let ended = json!({"state": "completed", "freshness": {"at": at, "stale": true}});
    assert_eq!(line(ended.clone(), "freshness").unwrap(), "last evidence 10 min ago");
    assert!(report(json!([row("c", ended)])).starts_with("1 child: 0 not ended, 1 completed, at "));
    assert!(report(json!([row("c", stale(json!(null)))])).starts_with("1 child: 1 not ended, 1 stale, at "));
}

#[test]
fn how_it_ended() {
    let not_ended = "none yet: it has not ended, as far as is known";
    for (state, outcome, expected) in [
        ("completed", json!({"cause": "unknown"}), "completed, cause unknown"),
        (
            "failed",
            json!({"exitCode": 2, "signal": "SIGKILL", "cause": "known"}),
            "failed, cause known, exit code 2, signal SIGKILL",
        ),
        ("cancelled", json!(null), "cancelled, cause unknown"),
        ("lost", json!({"exitCode": 1e300}), "lost, cause unknown"),
        // The state decides, not what stands beside it.
        ("running", json!({"terminal": "completed", "cause": "known"}), not_ended),
    ] {
        assert_eq!(line(json!({"state": state, "outcome": outcome}), "outcome").unwrap(), expected);
    }
}

#[test]
fn references_and_doubts() {
    let paths = json!({"transcript": "/home/ada/a b.jsonl", "result": "C:\\r\\out.json"});
    assert_eq!(line(paths.clone(), "transcript").unwrap(), "/home/ada/a b.jsonl");
    assert_eq!(line(paths, "result").unwrap(), "C:\\r\\out.json");
    let unsafe_path = json!({"transcript": "/tmp/\u{202e}a\nb"});
    assert_eq!(line(unsafe_path, "transcript").unwrap(), "not shown as it is, for safety: /tmp/a b");
    assert_eq!(line(json!({}), "doubts"), None);
    let doubts = json!({
        "gapDetected": true, "epochConflict": "e", "lateEvidence": 1, "degraded": true,
        "diagnostics": {"malformed": 1, "oversize": 2, "nul_padding": 9},
    });
    let expected = "3 bad lines, events missing, epoch conflict, 1 late event, degraded: unknown records";
    assert_eq!(line(doubts, "doubts").unwrap(), expected);
}

#[test]
fn the_head_counts_every_end() {
    let rows: Vec<Value> = ["created", "completed", "failed", "failed", "cancelled", "lost"]
        .iter()
        .enumerate()
        .map(|(at, state)| row(&at.to_string(), json!({"state": state})))
        .collect();
    let text = report(Value::Array(rows));
    assert!(
        text.starts_with("6 children: 1 not ended, 1 completed, 2 failed, 1 cancelled, 1 lost, at "),
        "{text}"
    );
}
