//! Events in short form, and what a projection makes of them.

use agent_lifecycle_core::contract::{Event, Moment};
use agent_lifecycle_core::project::{Config, Projector, Record};

use super::event_text;

/// A moment `seconds` after noon of the day that all tests live in.
pub(crate) fn at(seconds: i64) -> Moment {
    Moment::parse("2026-05-17T12:00:00Z").unwrap().plus_millis(seconds * 1000)
}

/// The event in short form: words of `name=value`, or a kind, or a state (which makes it a `state_changed` or `terminal`, and
/// `created` a `created`).
///
/// `n` sequence, `t` seconds of observedAt (0), `id` eventId (made from the other words), `s` source (`s`), `e` epoch (`p1`),
/// `c` child (`c`), `from` the epoch left, `text` activity, `root` rootChildId, `parent` parentChildId, `attempt` (1), `why`
/// waitingReason, `known` a capability, `tool`, `turn`, `done` what an agent event starts or ends, `in` the turn it is in, `extra`
/// a detail; `external` and `estimated` are flags.
pub(crate) fn event(words: &str) -> Event<'static> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let (mut child, mut root, mut external, mut details) = ("c", None, false, Vec::new());
    let (mut parent, mut attempt) = (String::new(), "1");
    let mut members =
        vec![("eventId", quoted(words)), ("observedAt", quoted(&at(0).to_text())), ("kind", String::new())];
    for word in words.split(' ') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let member = match name {
            "n" => ("sequence", value.to_owned()),
            "t" => ("observedAt", quoted(&at(value.parse().unwrap()).to_text())),
            "id" => ("eventId", quoted(value)),
            "s" => ("source", quoted(value)),
            "e" => ("sourceEpoch", quoted(value)),
            "text" => ("activity", quoted(value)),
            "why" => ("waitingReason", quoted(value)),
            "known" => ("capabilities", format!("{{{}:\"known\"}}", quoted(value))),
            "activity" | "heartbeat" | "reconciliation" | "diagnostic" => ("kind", quoted(name)),
            "created" | "starting" | "running" | "waiting" | "completed" | "failed" | "cancelled"
            | "lost" => {
                let kind = match name {
                    "created" => "created",
                    "starting" | "running" | "waiting" => "state_changed",
                    _ => "terminal",
                };
                members.push(("kind", quoted(kind)));
                ("state", quoted(name))
            }
            other => {
                match other {
                    "c" => child = value,
                    "root" => root = Some(value),
                    "parent" => parent = format!(r#","parentChildId":{}"#, quoted(value)),
                    "attempt" => attempt = value,
                    "external" => external = true,
                    "estimated" => details.push(r#""timeEstimated":true"#.to_owned()),
                    "from" => details.push(format!(r#""epochAdvance":{{"from":{}}}"#, quoted(value))),
                    "tool" => details.push(format!(
                        r#""agent":{{"kind":"tool.started","toolId":{0},"name":{0}}}"#,
                        quoted(value)
                    )),
                    "turn" => details
                        .push(format!(r#""agent":{{"kind":"turn.started","turnId":{}}}"#, quoted(value))),
                    "done" => details
                        .push(format!(r#""agent":{{"kind":"agent.done","outcome":{}}}"#, quoted(value))),
                    "instead" => {
                        details.push(format!(r#""facts":{{"superseded":[{}]}}"#, quoted(value)));
                    }
                    "in" => details.push(format!(r#""turnId":{}"#, quoted(value))),
                    "extra" => details.push(format!(r#""extra":{value}"#)),
                    _ => panic!("no such word: {word}"),
                }
                continue;
            }
        };
        members.push(member);
    }
    let adopted = if external { r#","adoptedAt":"2026-05-17T12:00:00Z""# } else { "" };
    let root = quoted(root.unwrap_or(child));
    members.push(("childId", quoted(child)));
    members.push((
        "lineage",
        format!(r#"{{"rootChildId":{root},"attempt":{attempt},"external":{external}{adopted}{parent}}}"#),
    ));
    members.push((
        "details",
        if details.is_empty() { String::new() } else { format!("{{{}}}", details.join(",")) },
    ));
    let changes: Vec<(&str, &str)> = members.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let text = event_text(&changes);
    Event::from_json(text.as_bytes()).unwrap_or_else(|fault| panic!("{words}: {fault:?}")).to_static()
}

/// What a record says, in short form: the state, `why=` its waiting reason, `n=` the highest sequence, then what is out of the
/// ordinary: `gap`, `stale`, `conflict=` the epoch, `open=` the reason of an open reconciliation, `late=`, `notes=` counts.
pub(crate) fn summary(record: &Record) -> String {
    let json: serde_json::Value = serde_json::from_str(&agent_lifecycle_core::json::write(record)).unwrap();
    let mut words = vec![json["state"].as_str().unwrap().to_owned()];
    let mut word = |name: &str, value: &serde_json::Value| {
        if let Some(text) = value.as_str() {
            words.push(format!("{name}={text}"));
        } else if value.as_u64().is_some_and(|count| count > 0 || name == "n") {
            words.push(format!("{name}={value}"));
        } else if value.as_bool() == Some(true) {
            words.push(name.to_owned());
        }
    };
    word("why", &json["waitingReason"]);
    word("n", &json["highestSequence"]);
    word("gap", &json["gapDetected"]);
    word("stale", &json["stale"]);
    word("conflict", &json["epochConflict"]);
    word("open", &json["reconciliation"]["reason"]);
    word("late", &json["lateEvidence"]["count"]);
    word("notes", &json["notes"]["count"]);
    words.join(" ")
}

/// A projection and steps to take with it.
pub(crate) struct Story {
    pub(crate) projector: Projector,
}

impl Story {
    pub(crate) fn new() -> Self {
        Self { projector: Projector::new(Config::default()) }
    }

    /// What becomes of an event: its status, then its note, or the code of its refusal; then the record of its child, if any.
    pub(crate) fn step(&mut self, words: &str) -> (String, String) {
        let event = event(words);
        let result = match self.projector.apply(&event, None) {
            Ok(applied) => {
                let notes = [applied.note, applied.also];
                let words: Vec<&str> = std::iter::once(applied.status.as_str())
                    .chain(notes.into_iter().flatten().map(agent_lifecycle_core::project::Note::as_str))
                    .collect();
                words.join(" ")
            }
            Err(refusal) => format!("refused {}", refusal.code.as_str()),
        };
        (result, self.record(&event.source, &event.child_id))
    }

    pub(crate) fn record(&self, source: &str, child: &str) -> String {
        self.projector.record(source, child).map(summary).unwrap_or_default()
    }

    /// Takes `steps` (event, result, record) in turn and compares.
    #[track_caller]
    pub(crate) fn tell(&mut self, steps: &[(&str, &str, &str)]) {
        for (number, &(words, result, record)) in steps.iter().enumerate() {
            let got = self.step(words);
            assert_eq!((got.0.as_str(), got.1.as_str()), (result, record), "step {number}: {words}");
        }
    }
}

/// Tells a story to a new projection.
#[track_caller]
pub(crate) fn tell(steps: &[(&str, &str, &str)]) -> Story {
    let mut story = Story::new();
    story.tell(steps);
    story
}
