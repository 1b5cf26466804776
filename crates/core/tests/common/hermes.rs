//! A host of Hermes for tests: a lifecycle and a projector, with messages and what they make in short form.

use agent_lifecycle_core::bridge::Content;
use agent_lifecycle_core::bridge::hermes::{HermesLifecycle, Made, Options};
use agent_lifecycle_core::contract::{Capabilities, Event, Kind, Moment, State, Timestamp};
use agent_lifecycle_core::project::{Applied, Config, Note, Projector, Status};
use agent_lifecycle_core::providers::hermes::{Message, StatusSnapshot};
use agent_lifecycle_core::reconcile::Snapshot;
use serde_json::{Value, json};

pub(crate) fn at(second: i64) -> Timestamp<'static> {
    Moment::from_unix_millis(second * 1000).into()
}

/// A host with a lifecycle and a projector.
pub(crate) struct Host {
    pub(crate) hermes: HermesLifecycle,
    pub(crate) projector: Projector,
    /// Everything that was applied.
    pub(crate) told: Vec<Event<'static>>,
}

impl Host {
    pub(crate) fn new(root: Option<&str>, content: Content) -> Self {
        let hermes = HermesLifecycle::new(Options {
            source: "hermes/1".to_owned(),
            source_epoch: "1".to_owned(),
            root_child_id: root.map(str::to_owned),
            content,
            capabilities: Capabilities::default(),
        });
        Self { hermes, projector: Projector::new(Config::default()), told: Vec::new() }
    }

    /// What a message of one word makes: `<word>:<child>[@<session>][:<detail>]`, and the second when.
    pub(crate) fn say(&mut self, word: &str, second: i64) -> String {
        let parts: Vec<&str> = word.split(':').collect();
        let (child, session) = parts[1].split_once('@').unwrap_or((parts[1], "s"));
        let mut message =
            json!({"child_id": child, "session_id": session, "observed_at": at(second).as_str()});
        let detail = parts.get(2).copied();
        let types = json!({
            "spawn": "subagent.spawn_requested", "start": "subagent.start", "think": "subagent.thinking",
            "tool": "subagent.tool", "end": "subagent.complete",
        });
        match parts[0] {
            "input" => {
                message = json!({"kind": "snapshot_reconciled", "childId": child, "sessionId": session,
                    "state": detail, "observedAt": at(second).as_str()});
            }
            "correct" => {
                message = json!({"kind": "correct_projection", "childId": child, "sessionId": session,
                    "from": "created", "to": detail});
            }
            "missing" => {
                message = json!({"kind": "mark_stale_unknown", "childId": child, "sessionId": session,
                    "from": "running"});
            }
            name => {
                message["type"] = types[name].clone();
                let member = if name == "end" { "status" } else { "tool_name" };
                if let Some(detail) = detail {
                    message[member] = json!(detail);
                }
            }
        }
        self.push(&message, second)
    }

    pub(crate) fn push(&mut self, message: &Value, second: i64) -> String {
        let message = Message::from_json(message.to_string().as_bytes()).unwrap();
        let made = self.hermes.push(&message, at(second));
        self.apply(made)
    }

    /// What a snapshot makes: `<child>[@<session>]:<status>[:<tool>]` for each delegation.
    pub(crate) fn status(&mut self, kind: &str, delegations: &str, second: i64) -> String {
        let delegations: Vec<Value> = delegations
            .split_whitespace()
            .map(|word| {
                let parts: Vec<&str> = word.split(':').collect();
                let (child, session) = parts[0].split_once('@').unwrap_or((parts[0], "s"));
                json!({"child_id": child, "session_id": session, "status": parts[1], "current_tool": parts.get(2)})
            })
            .collect();
        let snapshot = json!({"observedAt": at(second).as_str(), "complete": kind == "complete",
            "delegations": delegations});
        let snapshot = StatusSnapshot::from_json(snapshot.to_string().as_bytes()).unwrap();
        let made = self.hermes.snapshot(&snapshot);
        self.apply(made)
    }

    /// Gives all of it to the projector, and says it: what the snapshot came to, `child.kind[.state][*]` for each event (`*` where it
    /// is inferred) with the projector's code where it has one, `?child` for each question, `!code` for each report.
    pub(crate) fn apply(&mut self, made: Made) -> String {
        let mut said = Vec::new();
        if let Some(snapshot) = &made.snapshot {
            let text = serde_json::to_string(snapshot).unwrap();
            let snapshot = Snapshot::from_json(text.as_bytes()).unwrap();
            let reconciled = self.projector.reconcile(&snapshot, None).unwrap();
            let results =
                reconciled.results.iter().map(|applied| self.corrected(applied)).collect::<Vec<_>>();
            said.extend(results);
            said.extend(reconciled.discovered.iter().map(|found| format!("{} discovered", found.child_id)));
            said.extend(reconciled.note.map(|note| note.as_str().to_owned()));
        }
        for event in made.events {
            // What is written is an event as it is, and is not redacted a second time.
            assert_eq!(Event::from_json(event.to_json().as_bytes()), Ok(event.clone()));
            let applied = self.projector.apply(&event, None);
            let inferred = event.details.as_ref().is_some_and(|details| details.get("inferred").is_some());
            let state = event.state.filter(|_| event.kind != Kind::Created);
            let mut text = format!("{}.{}", event.child_id, event.kind.as_str());
            text.extend(state.map(|state| format!(".{}", state.as_str())));
            text.push_str(if inferred { "*" } else { "" });
            match applied {
                Ok(Applied { status: Status::Applied, note: None, .. }) => {}
                Ok(applied) => {
                    text = format!("{text}({})", applied.note.map_or(applied.status.as_str(), Note::as_str));
                }
                Err(refusal) => text = format!("{text}({})", refusal.code.as_str()),
            }
            said.push(text);
            self.told.push(event);
        }
        for question in made.questions {
            said.push(format!("?{} {}", question.child_id, question.reason));
            let now = question.now.moment();
            self.projector.request_reconciliation(&question.source, &question.child_id, question.reason, now);
        }
        said.extend(made.reported.iter().map(|report| format!("!{}", report.code)));
        said.join(" ")
    }

    pub(crate) fn corrected(&mut self, applied: &Applied) -> String {
        let record = applied.record.and_then(|key| self.projector.get(key)).unwrap();
        let text = format!("{}={}", record.child_id, record.state.as_str());
        let note = applied.note.filter(|note| *note != Note::AuthoritativeSnapshot);
        let (source, child) = (record.source.to_string(), record.child_id.to_string());
        self.hermes.corrected(&source, &child, record.state, record.state_since);
        note.map_or_else(|| text.clone(), |note| format!("{text}({})", note.as_str()))
    }

    pub(crate) fn state(&self, child: &str) -> Option<State> {
        self.projector.record("hermes/1", child).map(|record| record.state)
    }
}

/// Messages, each a second after the one before, where it does not say `+<second>` itself; and what each makes.
pub(crate) fn check(story: &[(&str, &str)]) -> Host {
    let mut host = Host::new(None, Content::Titles);
    for (at, (words, expected)) in story.iter().enumerate() {
        let (words, second) =
            words.split_once(" +").map_or((*words, i64::try_from(at).unwrap() + 1), |(words, second)| {
                (words, second.parse().unwrap())
            });
        let said = match words.split_once(' ') {
            Some((kind, delegations)) => host.status(kind, delegations, second),
            None => host.say(words, second),
        };
        assert_eq!(said, *expected, "{words} at {second}");
    }
    host
}
