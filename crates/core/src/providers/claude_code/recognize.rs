//! Is this a Claude Code transcript, and whose?
//!
//! Input: the first bytes of a file. Output: [`Recognized`], or nothing. Invariant: the content decides.
//! Never: looks at a name; takes a workflow's `journal.jsonl`, a `.meta.json` or foreign JSON Lines for a transcript.

use super::record::{Record, filled, read};
use crate::providers::ids::id;
use crate::providers::{Recognized, Role};

/// Recognises a transcript by its first lines. A last line without its end counts if it is complete.
#[must_use]
pub fn recognize(head: &[u8]) -> Option<Recognized> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let (mut untold, mut below): (Option<Recognized>, Option<Recognized>) = (None, None);
    for line in head.split(|byte| *byte == b'\n') {
        let padding = line.iter().rev().take_while(|byte| matches!(byte, 0 | b'\r')).count();
        let Some(Evidence { recognized, certainty }) =
            read(&line[..line.len() - padding], Evidence::of).ok().flatten()
        else {
            continue;
        };
        match (certainty, &below) {
            (Certainty::Untold, _) => untold = untold.or(Some(recognized)),
            (_, None) if recognized.role == Role::Root => return Some(recognized),
            (_, None) => below = Some(recognized),
            // Older versions keep the lines of sub-agents among the session's own, maybe before them.
            (Certainty::Main, Some(first)) => {
                return Some(Recognized { role: Role::Root, ..first.clone() });
            }
            (Certainty::Told, Some(_)) => {}
        }
    }
    // Records without an envelope name a session, and only a session's own journal holds them.
    below.or(untold)
}

struct Evidence {
    recognized: Recognized,
    certainty: Certainty,
}

/// What a record tells of who wrote it.
enum Certainty {
    /// Nothing: it has no envelope.
    Untold,
    /// Something.
    Told,
    /// That it was no sub-agent.
    Main,
}

impl Evidence {
    fn of(record: &Record<'_>) -> Option<Self> {
        let session_id = id(record.session_id()?)?;
        let is_told = match record.record_type()? {
            "user" | "assistant" => record.message.0.is_some() && filled(&record.uuid).is_some(),
            "system" | "attachment" | "progress" => filled(&record.uuid).is_some(),
            _ => false,
        };
        let has_envelope_type =
            matches!(record.record_type()?, "user" | "assistant" | "system" | "attachment" | "progress");
        if !record.is_known() || (has_envelope_type && !is_told) {
            return None;
        }
        let role = match record.agent_id().and_then(id) {
            Some(agent_id) if record.is_sidechain() => Role::Child { agent_id },
            _ => Role::Root,
        };
        let certainty = match (is_told, record.is_main() && record.agent_id().is_none()) {
            (false, _) => Certainty::Untold,
            (true, false) => Certainty::Told,
            (true, true) => Certainty::Main,
        };
        Some(Self { recognized: Recognized { session_id, role, parent: None }, certainty })
    }
}
