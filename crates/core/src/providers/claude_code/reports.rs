//! Which reports of background tasks were told before.
//!
//! Input: a report, the way it came and when. Output: whether it is news. Invariant: one report comes once by each way (queued,
//! then delivered), so the same words by the same way at another time are another report. Never: holds more than [`REPORTS`].

use super::notification::TaskReport;
use crate::contract::Moment;
use crate::providers::bounded::Bounded;
use crate::providers::ids::fingerprint_all;

/// Reports that are remembered; a further one takes the place of the oldest.
const REPORTS: usize = 4096;
const WAYS: usize = 3;

/// How a report came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// A `queue-operation` record.
    Queue,
    /// A user line.
    Line,
    /// A `queued_command` attachment.
    Attachment,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Reports(Bounded<[Option<Told>; WAYS]>);

/// When it came by one way, where that was said.
type Told = Option<Moment>;

impl Reports {
    pub(super) fn new() -> Self {
        Self(Bounded::new(REPORTS))
    }

    /// Whether `report`, about `launch`, was not told before.
    pub(super) fn is_new(&mut self, launch: &str, report: &TaskReport<'_>, way: Way, time: Told) -> bool {
        let parts = [Some(launch), report.status, report.summary];
        let key = fingerprint_all(parts.into_iter().flat_map(|part| [part.unwrap_or_default(), "\0"]));
        let way = way as usize;
        if let Some(told) = self.0.get_mut(key)
            && told[way].is_none_or(|told| told == time)
        {
            told[way] = Some(time);
            return false;
        }
        let mut told = [None; WAYS];
        told[way] = Some(time);
        self.0.insert(key, told);
        true
    }
}
