//! The facts that tell one process from every other, as a process writes them down and as another reads them.
//!
//! Input: the system, or a JSON object that somebody wrote. Output: [`Identity`], or [`Owner`] with what could be read.
//! Invariant: what a process writes of itself, it reads back as the same facts. Never: trusts a type.

use serde::Serialize;
use serde_json::Value;

use super::probe;

/// The largest pid that any supported system gives.
const LARGEST_PID: i64 = i32::MAX as i64;

/// What this process is. A fact that the system does not tell is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its process id.
    pub pid: i32,
    /// The host's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// An id that is new at every boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The pid namespace in which `pid` means this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
    /// The time namespace that `process_start_time` is counted in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_namespace: Option<String>,
    /// When it started; on Linux in clock ticks after boot. Comparable on one boot only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_start_time: Option<u64>,
}

impl Identity {
    /// This process.
    #[must_use]
    pub fn own() -> Self {
        probe::own()
    }
}

/// What a record says of the process that wrote it. Everything may be absent: other programs write less, and files are damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its process id, where the record has a positive integer that can be one.
    pub pid: Option<i32>,
    /// The host's name.
    pub host_name: Option<String>,
    /// The boot it ran in.
    pub boot_id: Option<String>,
    /// The pid namespace in which `pid` means it.
    pub pid_namespace: Option<String>,
    /// The time namespace that `process_start_time` is counted in.
    pub time_namespace: Option<String>,
    /// When it started.
    pub process_start_time: Option<u64>,
}

impl Owner {
    /// The facts in a JSON object with the members of [`Identity`]. A member of another type is as good as absent.
    #[must_use]
    pub fn read(record: &Value) -> Self {
        let text = |name: &str| {
            let text = record.get(name)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        Self {
            pid: record.get("pid").and_then(pid),
            host_name: text("hostName"),
            boot_id: text("bootId"),
            pid_namespace: text("pidNamespace"),
            time_namespace: text("timeNamespace"),
            process_start_time: record.get("processStartTime").and_then(Value::as_u64),
        }
    }
}

impl From<Identity> for Owner {
    fn from(identity: Identity) -> Self {
        let Identity { pid, host_name, boot_id, pid_namespace, time_namespace, process_start_time } =
            identity;
        Self { pid: Some(pid), host_name, boot_id, pid_namespace, time_namespace, process_start_time }
    }
}

/// JavaScript has one type of number: `7.0` is the pid 7, `1.5` is none.
fn pid(value: &Value) -> Option<i32> {
    let whole = value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
        // Beyond this nothing is a pid, so that the conversion below is exact.
        #[expect(clippy::cast_possible_truncation)]
        (number.abs() <= f64::from(i32::MAX)).then_some(number as i64)
    })?;
    (1..=LARGEST_PID).contains(&whole).then(|| i32::try_from(whole).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Identity, Owner};

    #[test]
    fn what_is_written_is_read_back() {
        let own = Identity::own();
        let record = serde_json::to_value(&own).expect("plain data");
        assert_eq!(Owner::read(&record), Owner::from(own));
    }

    #[test]
    fn pids_are_positive_integers() {
        for (given, pid) in [
            (json!(1), Some(1)),
            (json!(7.0), Some(7)),
            (json!(2_147_483_647), Some(i32::MAX)),
            (json!(2_147_483_648_u64), None),
            (json!(0), None),
            (json!(-1), None),
            (json!(-0.0), None),
            (json!(1.5), None),
            (json!(1e300), None),
            (json!("1"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(Owner::read(&json!({ "pid": given })).pid, pid, "{given}");
        }
    }

    #[test]
    fn other_types_are_absent() {
        let record =
            json!({ "pid": 4, "hostName": 1, "bootId": " ", "pidNamespace": null, "processStartTime": -3 });
        assert_eq!(Owner::read(&record), Owner { pid: Some(4), ..Owner::default() });
        assert_eq!(Owner::read(&json!("text")), Owner::default());
    }
}
