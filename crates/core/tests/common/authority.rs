//! What authorities and hosts do to a projection at random, and snapshots in short form.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::project::{Applied, Record};
use agent_lifecycle_core::reconcile::Snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::projection::{Story, at};

/// One thing that is not an event.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Seconds pass, and silence is marked.
    Wait(i64),
    Request(usize),
    Failed(usize),
    Unanswered(usize),
    /// It waits for its user and is silent, and then its process is found to live.
    Idle(usize),
    Snapshot(SnapshotAct),
    Advance,
    Forget,
    Remove(usize),
    /// The program ends, and another one reads its journal.
    Restart,
    /// The journal begins anew with a checkpoint.
    Rotate,
}

/// A snapshot: what it says of children, and how.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of a snapshot")]
pub(crate) struct SnapshotAct {
    pub(crate) entries: Vec<Entry>,
    pub(crate) all: bool,
    pub(crate) advances: bool,
    /// Whether it has the id of the one before.
    pub(crate) again: bool,
    /// Whether it is said when it was received.
    pub(crate) received: bool,
    /// How many seconds ago it was observed.
    pub(crate) age: i64,
}

/// What a snapshot says of one child.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) child: usize,
    pub(crate) state: &'static str,
    /// So far from the highest sequence of the child, if with a sequence.
    pub(crate) sequence: Option<i64>,
    pub(crate) lineage: bool,
}

impl SnapshotAct {
    /// Its JSON text.
    pub(crate) fn text(
        &self,
        epoch: &str,
        id: &str,
        at: Moment,
        highest: impl Fn(&str) -> Option<u64>,
    ) -> String {
        let mut children = Vec::new();
        let mut names = Vec::new();
        for Entry { child, state, sequence, lineage } in &self.entries {
            let name = child.to_string();
            if names.contains(&name) {
                continue;
            }
            let mut value = json!({"childId": name, "state": state});
            if *state == "waiting" && *lineage {
                value["waitingReason"] = "prompt".into();
            }
            if let Some(by) = sequence {
                let highest = i64::try_from(highest(&name).unwrap_or(0)).unwrap();
                value["sequence"] = (highest + by).max(0).into();
            }
            if *lineage {
                value["lineage"] = json!({"rootChildId": name, "attempt": 1, "external": false});
            }
            value["details"] = json!({"agent": {"kind": "agent.metadata", "title": id}});
            names.push(name);
            children.push(value);
        }
        let coverage = if self.all { json!("all") } else { json!(names) };
        json!({
            "complete": true, "source": "s", "sourceEpoch": epoch, "snapshotId": id, "observedAt": at.to_text(),
            "coverage": coverage, "children": children, "advancesEpoch": self.advances,
        })
        .to_string()
    }
}

/// The highest sequence of a record.
pub(crate) fn highest(record: &Record) -> Option<u64> {
    let json: serde_json::Value = serde_json::from_str(&agent_lifecycle_core::json::write(record)).unwrap();
    json["highestSequence"].as_u64()
}

/// Acts, each with the place in a stream after which it comes.
pub(crate) fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let child = 0..3_usize;
    let states = ["created", "starting", "running", "running", "waiting", "waiting", "completed", "failed"];
    let entry =
        (0..4_usize, prop::sample::select(Vec::from(states)), prop::option::of(-2..3_i64), any::<bool>())
            .prop_map(|(child, state, sequence, lineage)| Entry { child, state, sequence, lineage });
    let snapshot = (
        prop::collection::vec(entry, 0..4),
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop::sample::select(&[0_i64, 0, 0, 1, 40][..]),
    )
        .prop_map(|(entries, all, advances, again, received, age)| {
            Act::Snapshot(SnapshotAct { entries, all, advances, again, received, age })
        });
    let act = prop_oneof![
        4 => prop::sample::select(&[10, 31, 130][..]).prop_map(Act::Wait),
        2 => child.clone().prop_map(Act::Request),
        4 => child.clone().prop_map(Act::Failed),
        2 => child.clone().prop_map(Act::Unanswered),
        1 => child.clone().prop_map(Act::Idle),
        10 => snapshot,
        1 => Just(Act::Advance),
        1 => Just(Act::Forget),
        1 => child.prop_map(Act::Remove),
        2 => Just(Act::Restart),
        1 => Just(Act::Rotate),
    ];
    prop::collection::vec((0..200_usize, act), 0..24)
}

/// A snapshot of everything, from words: `t=` seconds, `id=`, `e=` epoch, `advances`, then for each child `child:state`, with
/// `:number` for a sequence and `:+` for a lineage. `named` makes it one of the children that it names.
pub(crate) fn snapshot(text: &str) -> Snapshot {
    let (mut seconds, mut id, mut epoch, mut advances, mut all) = (0, text, "p1", false, true);
    let (mut children, mut names) = (Vec::new(), Vec::new());
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("t", value)) => seconds = value.parse().unwrap(),
            Some(("id", value)) => id = value,
            Some(("e", value)) => epoch = value,
            _ if word == "advances" => advances = true,
            _ if word == "named" => all = false,
            _ => {
                let mut parts = word.split(':');
                let name = parts.next().unwrap();
                let mut child = json!({"childId": name, "state": parts.next().unwrap()});
                for part in parts {
                    match part {
                        "+" => {
                            child["lineage"] = json!({"rootChildId": name, "attempt": 1, "external": false});
                        }
                        "prompt" => child["waitingReason"] = part.into(),
                        number => child["sequence"] = number.parse::<u64>().unwrap().into(),
                    }
                }
                names.push(name);
                children.push(child);
            }
        }
    }
    let coverage = if all { json!("all") } else { json!(names) };
    let value = json!({
        "complete": true, "source": "s", "sourceEpoch": epoch, "snapshotId": id,
        "observedAt": at(seconds).to_text(), "coverage": coverage, "children": children, "advancesEpoch": advances,
    });
    Snapshot::from_json(value.to_string().as_bytes()).unwrap()
}

/// What becomes of a snapshot: results, then `audit` entries, then what was discovered, then why it had no effect.
pub(crate) fn reconcile(story: &mut Story, text: &str) -> String {
    let reconciled = match story.projector.reconcile(&snapshot(text), None) {
        Ok(reconciled) => reconciled,
        Err(refusal) => return format!("refused {} {}", refusal.code.as_str(), refusal.path),
    };
    let mut said: Vec<String> = reconciled.results.iter().map(words).collect();
    said.extend(reconciled.audit.iter().map(|entry| {
        let child = entry.child_id.as_deref().unwrap_or("@source");
        format!("{child}:{}>{}", entry.from.as_deref().unwrap_or("null"), entry.to)
    }));
    said.extend(reconciled.discovered.iter().map(|child| format!("discovered {}", child.child_id)));
    said.extend(reconciled.note.map(|note| note.as_str().to_owned()));
    said.join(", ")
}

pub(crate) fn words(applied: &Applied) -> String {
    let notes = [applied.note, applied.also].into_iter().flatten();
    let words = notes.map(agent_lifecycle_core::project::Note::as_str);
    std::iter::once(applied.status.as_str()).chain(words).collect::<Vec<_>>().join(" ")
}

pub(crate) fn running() -> Story {
    let mut story = Story::new();
    for words in ["created n=0", "starting n=1", "running n=2"] {
        story.step(words);
    }
    story
}
