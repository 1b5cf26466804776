//! Who a process is, and whether the one that a record names still lives.
//!
//! Input: what a record says of its process, and what the system says of it now. Output: alive, provably dead, or unknown.
//! Invariant: dead is said on proof only. Never: probes a pid that is no positive integer, signals or ends anything.

mod identity;
mod judge;
mod probe;

pub use identity::{Identity, Owner};
pub use judge::{Alive, Death, Doubt, Seen, Verdict, judge};
pub use probe::{look, started_at};

/// Whether the process that the facts in `record`, a JSON text, name is provably gone.
#[must_use]
pub fn is_provably_dead(record: &str) -> bool {
    let record = serde_json::from_str(record).unwrap_or_default();
    matches!(judge(&Owner::read(&record), &Identity::own(), look), Verdict::Dead { .. })
}

#[cfg(test)]
mod tests {
    use super::{Identity, is_provably_dead};

    #[test]
    fn only_a_process_that_is_known_to_be_gone_is_dead() {
        let mut identity = Identity::own();
        let record = |identity: &Identity| serde_json::to_string(identity).expect("plain data");
        assert!(!is_provably_dead(&record(&identity)));
        for record in ["", "no json", "null", "{}", "{\"pid\":0}", "[1]"] {
            assert!(!is_provably_dead(record), "{record}");
        }
        // Where the system tells when a process started, another start is another process.
        if let Some(started) = identity.process_start_time {
            identity.process_start_time = started.checked_sub(1);
            assert!(is_provably_dead(&record(&identity)));
        }
    }
}
