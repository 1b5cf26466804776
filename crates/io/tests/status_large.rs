//! `status` on a session that has more than is held at once.

use std::fs;

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::contract::{Moment, State};
use agent_lifecycle_core::project::Config;
use agent_lifecycle_io::status::{Options, Scan};
use tempfile::TempDir;

fn at(second: u64) -> Moment {
    // 2026-03-02T08:00:00Z and some seconds.
    Moment::from_unix_millis(i64::try_from(1000 * (1_772_438_400 + second)).unwrap())
}

fn line(agent: &str, second: u64, kind: &str, rest: &str) -> String {
    let side =
        if agent.is_empty() { String::new() } else { format!(r#""isSidechain":true,"agentId":"{agent}","#) };
    let time = at(second).to_text();
    // Enough of a line tells it from the others.
    let uuid: String = rest.chars().filter(char::is_ascii_alphanumeric).take(90).collect();
    let side = format!(r#"{side}"uuid":"{agent}-{second}-{uuid}","#);
    format!("{{\"type\":\"{kind}\",{side}\"sessionId\":\"s\",\"timestamp\":\"{time}\",{rest}}}\n")
}

fn prompt(agent: &str, second: u64, id: &str) -> String {
    let rest = format!(r#""promptId":"{id}","message":{{"role":"user","content":"Go {agent}"}}"#);
    line(agent, second, "user", &rest)
}

fn launch(agent: &str, second: u64, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Agent","input":{{"prompt":"x"}}}}"#);
    line(agent, second, "assistant", &format!(r#""message":{{"id":"m{call}","content":[{block}]}}"#))
}

/// A session whose own journal has more than can wait, and two sub-agents of which the inner one's file comes first.
#[test]
fn a_session_that_is_too_large_to_be_held_gives_the_same_rows() {
    let rows = |tools: u32| {
        let folder = TempDir::new().unwrap();
        let launched = |agent: &str, second: u64, call: &str, id: &str| {
            let rest = format!(
                r#""message":{{"content":[{{"type":"tool_result","tool_use_id":"{call}"}}]}},"toolUseResult":{{"status":"async_launched","agentId":"{id}"}}"#
            );
            line(agent, second, "user", &rest)
        };
        let ends = |agent: &str, second: u64| {
            let rest = format!(r#""message":{{"id":"e{second}","stop_reason":"end_turn","content":[]}}"#);
            line(agent, second, "assistant", &rest)
        };
        let report = |second: u64, call: &str| {
            let text = format!(
                "<task-notification><tool-use-id>{call}</tool-use-id><status>completed</status></task-notification>"
            );
            let rest = format!(r#""operation":"enqueue","content":"{text}""#);
            line("", second, "queue-operation", &rest)
        };
        let busy = |second: u64| -> String {
            let blocks = |number: u32| -> String {
                let block = |at: u32| {
                    format!(r#"{{"type":"tool_use","id":"{second}-{number}-{at}","name":"B","input":{{}}}}"#)
                };
                (0..1000).map(block).collect::<Vec<_>>().join(",")
            };
            let lines = (0..tools).map(|number| {
                let rest =
                    format!(r#""message":{{"id":"b{second}-{number}","content":[{}]}}"#, blocks(number));
                line("", second, "assistant", &rest)
            });
            lines.collect()
        };
        let root = [
            prompt("", 1, "p"),
            launch("", 2, "t1"),
            launched("", 3, "t1", "z"),
            busy(20),
            report(30, "t2"),
            report(31, "t1"),
            report(50, "t1"),
            busy(60),
            ends("", 70),
        ];
        let outer = [
            prompt("z", 4, "p"),
            launch("z", 5, "t2"),
            launched("z", 6, "t2", "a"),
            ends("z", 29),
            prompt("z", 40, "q"),
            ends("z", 49),
        ];
        let inner = [prompt("a", 7, "p"), ends("a", 28)];
        fs::create_dir_all(folder.path().join("s/subagents")).unwrap();
        fs::write(folder.path().join("s.jsonl"), root.concat()).unwrap();
        for (agent, call, lines) in [("z", "t1", &outer[..]), ("a", "t2", &inner[..])] {
            let path = folder.path().join(format!("s/subagents/agent-{agent}.jsonl"));
            fs::write(&path, lines.concat()).unwrap();
            let meta = format!(r#"{{"toolUseId":"{call}"}}"#);
            fs::write(path.with_extension("meta.json"), meta).unwrap();
        }
        let mut scan = Scan::new(Options {
            paths: vec![folder.path().to_owned()],
            home: None,
            state: None,
            since_ms: None,
            active: false,
            now: Some(at(100)),
            content: Content::Titles,
            config: Config::default(),
        });
        while scan.step() {}
        let rows = scan.report().rows.clone();
        let told = rows.iter().map(|row| {
            (row.child_id.clone(), row.parent_key.clone(), row.state, row.attempt, row.late_evidence)
        });
        told.collect::<Vec<_>>()
    };
    let few = rows(1);
    let row = |id: &str, parent: &str, attempt| {
        (id.to_owned(), Some(parent.to_owned()), State::Completed, attempt, 0)
    };
    assert!(few.contains(&row("t1#2", "claude-code/s", 2)), "{few:?}");
    assert!(few.iter().any(|told| told.0 == "t2" && told.2 == State::Completed), "{few:?}");
    assert_eq!(rows(70), few);
}
