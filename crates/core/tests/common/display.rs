//! Rows in JSON as a host gives them.

use agent_lifecycle_core::contract::Moment;
use agent_lifecycle_core::display::{Shown, read_rows};
use serde_json::{Value, json};

/// The time that reports are made at: noon of the day that all tests live in.
pub(crate) fn noon() -> Moment {
    super::projection::at(0)
}

/// A running row of a source that is no agent's journal, last heard of 8 s before noon, with these members instead.
pub(crate) fn row(id: &str, members: Value) -> Value {
    let mut row = json!({
        "key": format!("ci#{id}"), "childId": id, "source": "ci", "provider": null, "agentVersion": null, "sessionId": null,
        "parentKey": null, "rootKey": format!("ci#{id}"), "attempt": 1, "state": "running",
        "stateSince": "2026-05-17T11:58:30Z", "waitingReason": null, "waits": [], "turn": null,
        "turns": {"count": 0, "recent": []}, "activity": null, "tools": {"count": null, "open": []}, "liveChildren": 0,
        "title": null, "model": null, "place": {"cwd": null, "branch": null}, "startedAt": "2026-05-17T11:00:00Z",
        "freshness": {"at": "2026-05-17T11:59:52Z", "stale": false, "reason": null, "reconcile": null},
        "evidence": {"pid": null, "processAlive": "unknown"}, "outcome": {"terminal": null, "cause": "unknown"},
        "usage": null, "context": null, "transcript": null, "result": null,
        "capabilities": {"permissionWaits": "unknown"}, "gapDetected": false, "epochConflict": null, "lateEvidence": 0,
        "diagnostics": {}, "degraded": false, "attention": null, "host": null,
    });
    let Value::Object(members) = members else { panic!("members are an object") };
    for (name, value) in members {
        row[name] = value;
    }
    row
}

/// The rows as the core reads them.
#[expect(clippy::needless_pass_by_value, reason = "`json!` makes a value")]
pub(crate) fn read(rows: Value) -> Vec<Shown> {
    read_rows(&rows.to_string()).unwrap()
}
