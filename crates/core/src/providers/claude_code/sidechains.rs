//! Which sub-agent wrote a line that stands among its session's own and names none: those of older versions.
//!
//! Input: records with `isSidechain` and without `agentId`. Output: an id for their sub-agent. Invariant: a chain begins with a
//! prompt that follows no sidechain record, and a record belongs to the chain of its parent. Never: guesses for a lost parent.

use super::record::{Record, filled};
use super::user_text::UserText;
use crate::providers::bounded::Bounded;
use crate::providers::ids::{fingerprint_all, id};

/// Records whose chain is remembered; chains go on from their latest records.
const RECORDS: usize = 16_384;

/// See the module. Each record's chain is known by the uuid of the prompt that began it.
#[derive(Debug)]
pub(super) struct Sidechains(Bounded<String>);

impl Sidechains {
    pub(super) fn new() -> Self {
        Self(Bounded::new(RECORDS))
    }

    /// The id of the sub-agent of `session_id` that wrote `record`.
    pub(super) fn of(&mut self, session_id: &str, record: &Record<'_>) -> Option<String> {
        let key = |uuid: &str| fingerprint_all([session_id, "\0", uuid]);
        let uuid = filled(&record.uuid)?;
        let parent = filled(&record.parent_uuid);
        let known =
            [Some(uuid), parent].into_iter().flatten().find_map(|uuid| self.0.get_mut(key(uuid)).cloned());
        let agent_id = match known {
            Some(agent_id) => agent_id,
            None if is_prompt(record) => id(&format!("sidechain:{uuid}"))?,
            None => return None,
        };
        self.0.insert(key(uuid), agent_id.clone());
        Some(agent_id)
    }
}

fn is_prompt(record: &Record<'_>) -> bool {
    let message = record.message.0.as_ref().filter(|_| record.record_type() == Some("user"));
    message.is_some_and(|message| {
        let sender = super::record::Sender::of(&record.origin);
        let has_result =
            message.content.blocks().iter().any(|block| block.kind.text() == Some("tool_result"));
        !has_result && matches!(UserText::of(&message.content, sender), UserText::Plain(_))
    })
}
