//! Lives of agents over time: a launch that is found late, further lives, what stands behind a state.

use agent_lifecycle_core::agent::{AgentEvent, WaitState};
use agent_lifecycle_core::bridge::{Content, PERMISSION};
use agent_lifecycle_core::contract::{Moment, State, WaitingReason};
use agent_lifecycle_core::pipeline::{JournalId, Pipeline, Telling};
use agent_lifecycle_core::project::rows::{Row, rows};
use agent_lifecycle_core::project::{Alive, Config, Process};
use agent_lifecycle_core::providers::claude_code::ClaudeCode;
use agent_lifecycle_core::providers::{Recognized, Role, Said, Told};
use serde_json::{Value, json};

struct Story {
    pipeline: Pipeline,
    journals: Vec<(JournalId, Vec<u8>)>,
}

impl Story {
    fn new() -> Self {
        let mut story =
            Self { pipeline: Pipeline::new(Config::default(), Content::Titles), journals: Vec::new() };
        story.add(Role::Root, None);
        story
    }

    fn add(&mut self, role: Role, launch: Option<&str>) -> usize {
        let recognized = Recognized { session_id: "s".to_owned(), role, parent: None };
        let told = Told { launch: launch.map(str::to_owned), title: None };
        let path = format!("{}.jsonl", self.journals.len());
        self.journals.push((self.pipeline.add_journal(path, &ClaudeCode, recognized, told), Vec::new()));
        self.journals.len() - 1
    }

    fn child(&mut self, agent_id: &str) -> usize {
        self.add(Role::Child { agent_id: agent_id.to_owned() }, None)
    }

    fn say(&mut self, journal: usize, second: u32, mut record: Value) {
        let members = record.as_object_mut().unwrap();
        members.insert("sessionId".into(), "s".into());
        members.insert("uuid".into(), format!("{journal}-{}", self.journals[journal].1.len()).into());
        members.insert("timestamp".into(), format!("2026-03-02T08:00:{second:02}Z").into());
        let line = record.to_string() + "\n";
        self.journals[journal].1.extend_from_slice(line.as_bytes());
        self.pipeline.push(self.journals[journal].0, line.as_bytes());
    }

    fn prompt(&mut self, journal: usize, second: u32, id: &str) {
        let message = json!({"role": "user", "content": "Look."});
        self.say(journal, second, json!({"type": "user", "promptId": id, "message": message}));
    }

    fn call(&mut self, journal: usize, second: u32, id: &str, name: &str) {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {"prompt": "Find it."}});
        let message = json!({"id": format!("m-{id}"), "content": [block]});
        self.say(journal, second, json!({"type": "assistant", "message": message}));
    }

    fn result(&mut self, journal: usize, second: u32, id: &str, details: Value) {
        let message = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id}]});
        self.say(journal, second, json!({"type": "user", "message": message, "toolUseResult": details}));
    }

    fn end_turn(&mut self, journal: usize, second: u32, id: &str) {
        let message = json!({"id": id, "stop_reason": "end_turn", "content": []});
        self.say(journal, second, json!({"type": "assistant", "message": message}));
    }

    /// The rows, once all is read that is to be read.
    fn rows(&mut self) -> Vec<Row> {
        let now = Moment::parse("2026-03-02T08:01:00Z").unwrap();
        loop {
            self.pipeline.settle(now, Some(now), &mut |_, outcome| {
                assert!(outcome.is_ok(), "{outcome:?}");
            });
            let again = self.pipeline.take_again();
            if again.is_empty() {
                return rows(self.pipeline.projector().records(), self.pipeline.beside());
            }
            for id in again {
                let (_, bytes) = self.journals.iter().find(|(journal, _)| *journal == id).unwrap();
                self.pipeline.push(id, bytes);
            }
        }
    }
}

fn told(rows: &[Row]) -> Vec<(&str, Option<&str>, State)> {
    rows.iter().map(|row| (row.child_id.as_str(), row.parent_key.as_deref(), row.state)).collect()
}

#[test]
fn a_launch_that_is_found_late_takes_its_journal_over() {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    let child = story.child("a1");
    story.prompt(child, 2, "other");
    story.call(child, 3, "t1", "Bash");
    let grandchild = story.child("a2");
    story.call(child, 4, "launch-2", "Agent");
    story.prompt(grandchild, 5, "elsewhere");
    let key = "claude-code/s";
    let lone = |id: &str| format!("{key}#{id}");
    let rows = story.rows();
    assert_eq!(
        told(&rows),
        [
            ("s", None, State::Running),
            ("a1", Some(key), State::Running),
            ("launch-2", Some(lone("a1").as_str()), State::Created),
            ("a2", Some(key), State::Running),
        ]
    );

    // Now the results name the agents: the rows of their own go, and nothing is counted twice.
    story.call(0, 2, "launch-1", "Agent");
    let confirmed = |agent: &str| json!({"isAsync": true, "status": "async_launched", "agentId": agent});
    let result = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id}]});
    story.say(
        child,
        6,
        json!({"type": "user", "message": result("launch-2"), "toolUseResult": confirmed("a2")}),
    );
    story.say(0, 7, json!({"type": "user", "message": result("launch-1"), "toolUseResult": confirmed("a1")}));
    let rows = story.rows();
    assert_eq!(
        told(&rows),
        [
            ("s", None, State::Running),
            ("launch-1", Some(key), State::Running),
            ("launch-2", Some(lone("launch-1").as_str()), State::Running),
        ]
    );
    assert_eq!((rows[1].tools.count, rows[1].turns.count, rows[1].live_children), (Some(1), 1, 1));
    assert_eq!((rows[2].turns.count, rows[0].live_children), (1, 1));
    assert!(rows.iter().all(|row| row.late_evidence == 0));
}

#[test]
fn s12_a_session_that_was_lost_and_goes_on_is_a_second_life() {
    let mut story = Story::new();
    story.say(0, 1, json!({"type": "ai-title", "aiTitle": "Tidy up", "version": "2.1.200"}));
    story.prompt(0, 2, "p1");
    story.rows();
    let at = |second: u32| Moment::parse(&format!("2026-03-02T08:00:{second:02}Z")).unwrap();
    let source = "claude-code/s";
    let projector = story.pipeline.projector_mut();
    projector.request_reconciliation(source, "s", "process_dead", at(10));
    projector.reconciliation_failed(source, "s", at(50));
    assert_eq!(story.rows()[0].state, State::Lost);

    // Progress alone is no new life, a prompt is one.
    story.call(0, 55, "t1", "Bash");
    let rows = story.rows();
    assert_eq!((rows[0].state, rows[0].attempt, rows[0].late_evidence), (State::Lost, 1, 1));
    story.prompt(0, 56, "p2");
    let rows = story.rows();
    assert_eq!(told(&rows), [("s#2", None, State::Running)]);
    let row = &rows[0];
    assert_eq!((row.attempt, row.turns.count), (2, 1));
    assert_eq!((row.title.as_deref(), row.agent_version.as_deref()), (Some("Tidy up"), Some("2.1.200")));
    assert_eq!(story.pipeline.projector().record(source, "s").unwrap().state, State::Lost);
    story.end_turn(0, 57, "m2");
    assert_eq!(story.rows()[0].waiting_reason, Some(WaitingReason::Prompt));
}

#[test]
fn a_sub_agent_that_is_asked_again_after_its_end_is_a_second_life() {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    story.call(0, 2, "launch", "Agent");
    let child = story.add(Role::Child { agent_id: "a1".to_owned() }, Some("launch"));
    story.prompt(child, 3, "p");
    story.end_turn(child, 4, "m1");
    let done = json!({"status": "completed", "agentId": "a1"});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "launch"}]});
    story.say(0, 5, json!({"type": "user", "message": result, "toolUseResult": done}));
    assert_eq!(told(&story.rows())[1], ("launch", Some("claude-code/s"), State::Completed));
    story.prompt(child, 6, "p");
    let rows = story.rows();
    assert_eq!(told(&rows)[1], ("launch#2", Some("claude-code/s"), State::Running));
    assert_eq!((rows[1].attempt, rows[0].live_children), (2, 1));
}

#[test]
fn a_dead_process_is_an_exit_without_a_code() {
    let dead = |pid| Process { pid, alive: Alive::No };
    let now = Moment::parse("2026-03-02T08:00:30Z").unwrap();
    let tell = |story: &mut Story, process| {
        let process = Some((process, None));
        story.pipeline.tell_process(("claude-code", "s"), process, now, &mut |_, outcome| {
            assert!(outcome.is_ok(), "{outcome:?}");
        });
        story.rows()
    };
    // After a turn, its outcome is the session's.
    let mut over = Story::new();
    over.prompt(0, 1, "p");
    over.end_turn(0, 2, "m");
    over.rows();
    let alive = tell(&mut over, Process { pid: 7, alive: Alive::Yes });
    assert_eq!((alive[0].state, alive[0].evidence.pid), (State::Waiting, Some(7)));
    assert_eq!(tell(&mut over, dead(7))[0].state, State::Completed);
    // In an open turn nobody knows: an authority is asked, and silence ends nothing.
    let mut open = Story::new();
    open.prompt(0, 1, "p");
    open.rows();
    for _ in 0..2 {
        let row = &tell(&mut open, dead(7))[0];
        assert_eq!((row.state, row.late_evidence), (State::Running, 0));
        // A question is open, and nobody is asked.
        assert_eq!((row.freshness.stale, row.freshness.reconcile), (false, Some("unavailable")));
        assert_eq!(row.evidence.process_alive, Alive::No);
        let record = open.pipeline.projector().record("claude-code/s", "s").unwrap();
        let question = record.freshness.reconciliation.as_ref().unwrap();
        assert_eq!(question.reason, "exit_with_open_turn");
        assert_eq!(question.deadline, now.plus_millis(30_000));
    }
}

#[test]
fn what_stands_behind_a_state_is_named_by_its_place() {
    let mut story = Story::new();
    story.prompt(0, 1, "p1");
    let second_line = story.journals[0].1.len();
    story.end_turn(0, 2, "m1");
    story.rows();
    let explanation = story.pipeline.explain("claude-code/s", "s").unwrap();
    let told = serde_json::to_value(&explanation).unwrap();
    let entry = |offset: usize, record: &str, second: u32, effect: &str| {
        json!({"journal": "0.jsonl", "offset": offset, "recordType": record,
            "at": format!("2026-03-02T08:00:{second:02}Z"), "effect": effect})
    };
    assert_eq!(
        told["evidence"],
        json!([
            entry(0, "user", 1, "created"),
            entry(0, "user", 1, "starting"),
            entry(0, "user", 1, "running"),
            entry(second_line, "assistant", 2, "waiting prompt"),
        ])
    );
    assert_eq!((told["state"].clone(), told["waitingReason"].clone()), (json!("waiting"), json!("prompt")));
    assert!(story.pipeline.explain("claude-code/s", "x").is_none());
}

#[test]
fn facts_of_a_line_without_an_event_reach_the_row() {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    story.end_turn(0, 2, "m");
    story.say(0, 3, json!({"type": "system", "subtype": "away_summary", "version": "2.1.300", "cwd": "/w"}));
    let row = &story.rows()[0];
    assert_eq!((row.agent_version.as_deref(), row.place.cwd.as_deref()), (Some("2.1.300"), Some("/w")));
    assert_eq!(row.state, State::Waiting);
}

#[test]
fn a_permission_wait_that_a_hook_tells_ends_with_the_result_or_the_turn() {
    let wait = |story: &mut Story, of: &str| {
        let said = Said::Event(AgentEvent::WaitStarted {
            wait_id: format!("{PERMISSION}{of}"),
            state: WaitState::Waiting,
            agent_id: None,
            reason: Some("permission".to_owned()),
        });
        let at = Moment::parse("2026-03-02T08:00:03Z").unwrap();
        let telling = Telling { agent: None, said, name: &[of.as_bytes()], record: "hook", at };
        assert!(story.pipeline.tell(("claude-code", "s"), &telling, &mut |_, _| {}));
        story.rows()
    };
    let result = |id: &str| {
        let message = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id}]});
        json!({"type": "user", "message": message})
    };
    // By the id of the call, and by the name of its tool.
    for of in ["t1", "Bash"] {
        let mut story = Story::new();
        story.prompt(0, 1, "p");
        story.call(0, 2, "t1", "Bash");
        story.call(0, 2, "t2", "Read");
        story.rows();
        for _ in 0..2 {
            let row = &wait(&mut story, of)[0];
            assert_eq!((row.state, row.waiting_reason), (State::Waiting, Some(WaitingReason::Permission)));
            assert_eq!(row.waits.len(), 1);
        }
        // Another call's result says nothing about it.
        story.say(0, 4, result("t2"));
        assert_eq!(story.rows()[0].state, State::Waiting);
        story.say(0, 5, result("t1"));
        let row = &story.rows()[0];
        assert_eq!((row.state, row.waits.len(), row.tools.open.len()), (State::Running, 0, 0));
    }
    // No hook and no result follows a denial that ends the turn.
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    story.call(0, 2, "t1", "Bash");
    story.rows();
    wait(&mut story, "t1");
    story.end_turn(0, 6, "m");
    let row = &story.rows()[0];
    assert_eq!((row.waiting_reason, row.waits.len()), (Some(WaitingReason::Prompt), 0));
}

#[test]
fn a_file_that_is_replaced_says_nothing_twice() {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    for n in 0..700 {
        story.call(0, 2, &format!("t{n}"), "Bash");
    }
    story.end_turn(0, 3, "m");
    let before = story.rows();
    let (id, bytes) = story.journals[0].clone();
    story.pipeline.retire(id);
    let recognized = Recognized { session_id: "s".to_owned(), role: Role::Root, parent: None };
    let again = story.pipeline.add_journal("0.jsonl", &ClaudeCode, recognized, Told::default());
    story.pipeline.push(again, &bytes);
    story.journals[0].0 = again;
    let after = story.rows();
    assert_eq!(json!(after), json!(before));
    assert_eq!(after[0].tools.count, Some(700));
}

/// A sub-agent `a` of the session and one that it launched, `b`, in the background; their journals are those at 1 and 2.
fn nested() -> Story {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    story.call(0, 2, "t1", "Agent");
    let a = story.add(Role::Child { agent_id: "a".to_owned() }, Some("t1"));
    story.prompt(a, 3, "p");
    story.call(a, 4, "t2", "Agent");
    let launched = json!({"status": "async_launched", "agentId": "b"});
    story.result(a, 5, "t2", launched);
    let b = story.add(Role::Child { agent_id: "b".to_owned() }, Some("t2"));
    story.prompt(b, 6, "p");
    story
}

#[test]
fn a_report_counts_in_whatever_journal_of_the_session_it_stands() {
    for (journal, names) in [(0, "t2"), (1, "t2"), (2, "t2"), (0, ""), (2, "")] {
        for each in [false, true] {
            let mut story = nested();
            let call =
                if names.is_empty() { String::new() } else { format!("<tool-use-id>{names}</tool-use-id>") };
            let text = format!(
                "<task-notification><task-id>b</task-id>{call}<status>completed</status></task-notification>"
            );
            if each {
                story.rows();
            }
            let report = json!({"type": "queue-operation", "operation": "enqueue", "content": text});
            story.say(journal, 9, report);
            let rows = story.rows();
            let nested = rows.iter().find(|row| row.child_id == "t2").unwrap();
            assert_eq!((nested.state, nested.late_evidence), (State::Completed, 0), "{journal} {names:?}");
            assert_eq!(nested.parent_key.as_deref(), Some("claude-code/s#t1"), "{journal}");
            assert_eq!(rows.len(), 3);
        }
    }
}

#[test]
fn a_report_that_is_read_before_the_launch_waits_for_it() {
    let mut story = Story::new();
    story.prompt(0, 1, "p");
    story.call(0, 2, "t1", "Agent");
    let text = "<task-notification><task-id>b</task-id><status>killed</status></task-notification>";
    story.say(0, 9, json!({"type": "queue-operation", "operation": "enqueue", "content": text}));
    assert_eq!(story.rows().len(), 2);
    let a = story.add(Role::Child { agent_id: "a".to_owned() }, Some("t1"));
    story.prompt(a, 3, "p");
    story.call(a, 4, "t2", "Agent");
    story.result(a, 5, "t2", json!({"status": "async_launched", "agentId": "b"}));
    let rows = story.rows();
    assert_eq!(told(&rows)[2], ("t2", Some("claude-code/s#t1"), State::Cancelled));
}

#[test]
fn another_agent_resumes_a_sub_agent_that_it_did_not_launch() {
    let mut story = nested();
    let text = "<task-notification><task-id>b</task-id><status>completed</status></task-notification>";
    story.say(0, 9, json!({"type": "queue-operation", "operation": "enqueue", "content": text}));
    story.call(0, 10, "m", "SendMessage");
    story.result(0, 11, "m", json!({"resumedAgentId": "b"}));
    let rows = story.rows();
    let nested = rows.iter().find(|row| row.child_id == "t2#2").unwrap();
    assert_eq!((nested.state, nested.attempt), (State::Running, 2));
    assert_eq!(nested.parent_key.as_deref(), Some("claude-code/s#t1"));
}

#[test]
fn a_call_that_returned_without_a_status_ends_its_agent_as_its_last_turn() {
    let returned = |end: Option<u32>, asked_again: bool| {
        let mut story = Story::new();
        story.prompt(0, 1, "p");
        story.call(0, 2, "t", "Agent");
        let a = story.add(Role::Child { agent_id: "a".to_owned() }, Some("t"));
        story.prompt(a, 3, "p");
        if let Some(second) = end {
            story.end_turn(a, second, "m");
        }
        if asked_again {
            story.prompt(a, 9, "q");
        }
        story.result(0, 6, "t", json!("The text of the result."));
        let rows = story.rows();
        (rows[1].state, rows[1].attempt, rows[1].late_evidence)
    };
    // Before the call returned, and after it, as where the two clocks or files differ.
    assert_eq!(returned(Some(5), false), (State::Completed, 1, 0));
    assert_eq!(returned(Some(7), false), (State::Completed, 1, 0));
    assert_eq!(returned(Some(5), true), (State::Running, 2, 0));
    // Without an end of its own nobody knows how it fared.
    assert_eq!(returned(None, false), (State::Running, 1, 0));
}

#[test]
fn a_result_that_names_another_agent_outranks_an_equal_prompt() {
    for each in [false, true] {
        let mut story = Story::new();
        story.prompt(0, 1, "p");
        story.call(0, 2, "t1", "Agent");
        story.call(0, 3, "t2", "Agent");
        let (first, second) = (story.child("a1"), story.child("a2"));
        for (journal, second, tool) in [(first, 4, "of-a1"), (second, 5, "of-a2")] {
            let content = "Find it.";
            let message = json!({"role": "user", "content": content});
            story.say(journal, second, json!({"type": "user", "promptId": "p", "message": message}));
            story.call(journal, second + 2, tool, "Bash");
        }
        if each {
            // As far as anything tells by now, the first is the first's.
            assert_eq!(tools(&story.rows(), "t1"), ["of-a1"]);
        }
        story.result(0, 10, "t1", json!({"status": "async_launched", "agentId": "a2"}));
        let rows = story.rows();
        assert_eq!((tools(&rows, "t1"), tools(&rows, "t2")), (vec!["of-a2"], vec!["of-a1"]), "{each}");
        assert_eq!(rows.len(), 3);
        // What is read afterwards goes on from there.
        story.call(first, 12, "more-of-a1", "Bash");
        assert_eq!(tools(&story.rows(), "t2"), ["of-a1", "more-of-a1"]);
    }
}

fn tools<'a>(rows: &'a [Row], child_id: &str) -> Vec<&'a str> {
    let row = rows.iter().find(|row| row.child_id == child_id).unwrap();
    row.tools.open.iter().map(|tool| tool.tool_id.as_str()).collect()
}

#[test]
fn thousands_of_equal_prompts_are_bound_in_the_order_of_their_calls() {
    let journal = |count: usize| {
        let mut story = Story::new();
        story.prompt(0, 1, "p");
        for at in 0..count {
            story.call(0, 2, &format!("t{at}"), "Agent");
        }
        for at in 0..count {
            let child = story.child(&format!("a{at:05}"));
            let message = json!({"role": "user", "content": "Find it."});
            story.say(child, 3, json!({"type": "user", "promptId": "p", "message": message}));
        }
        story
    };
    let rows = journal(2000).rows();
    assert_eq!(rows.len(), 2001);
    assert!(rows[1..].iter().all(|row| row.child_id.starts_with('t') && row.state == State::Running));
    // Beyond the bound no journal gets a second child.
    let mut story = journal(4100);
    let rows = story.rows();
    assert_eq!(rows.len(), 4101);
    assert!(rows[1..].iter().all(|row| row.child_id.starts_with('t')));
    let reports = story.pipeline.reports();
    assert!(reports[0].diagnostics.get("too_many_children").is_some_and(|count| *count >= 4));
}
