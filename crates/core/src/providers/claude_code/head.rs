//! What is certain of a record whose line is too long to be held.
//!
//! Input: the first bytes of the line. Output: JSON of the members that are whole in it, and what they say.
//! Invariant: only a call that is open is ended, and never with an outcome. Never: takes a part of a value for the value.

use super::calls::{Call, CallKind};
use super::mapper::Mapper;
use super::record::{Record, filled};
use crate::agent::AgentEvent;
use crate::providers::ids::{fingerprint, id};
use crate::providers::say::{Say, Source};
use crate::providers::{Mapped, Said};

/// The whole members at the start of a JSON text, closed; `None` where there is none.
pub(super) fn whole_members(head: &[u8]) -> Option<Vec<u8>> {
    let (mut open, mut last): (Vec<u8>, Option<(usize, Vec<u8>)>) = (Vec::new(), None);
    let (mut in_string, mut is_escaped) = (false, false);
    for (at, &byte) in head.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
            }
            b',' => last = Some((at, open.clone())),
            _ => {}
        }
    }
    let (end, open) = last?;
    Some(head[..end].iter().copied().chain(open.into_iter().rev()).collect())
}

impl Mapper {
    /// Says what the whole members at the start of a record say; `false` where that is nothing.
    pub(super) fn head(&mut self, record: &Record<'_>, offset: u64, out: &mut Vec<Mapped>) -> bool {
        let before = out.len();
        let source = Source { offset, uuid: filled(&record.uuid), time: record.timestamp() };
        let mut say = Say::new(source, out);
        say.turn = self.turns.open_id().map(str::to_owned);
        let Some(message) = &record.message.0 else { return false };
        if record.record_type() == Some("assistant") && say.turn.is_some() {
            say.said(Said::Activity);
        }
        for block in message.content.blocks() {
            let is_result = record.record_type() == Some("user") && block.kind.text() == Some("tool_result");
            if is_result
                && let Some(call_id) = filled(&block.tool_use_id).and_then(id)
                && let Some(call) = self.calls.take(fingerprint(&call_id))
            {
                self.has_result(call, &mut say);
            }
        }
        out.len() > before
    }

    /// A call has a result, and nothing of it is known.
    fn has_result(&mut self, call: Call, say: &mut Say<'_>) {
        let Call { id, kind, .. } = call;
        match kind {
            CallKind::Question => say.event(AgentEvent::WaitFinished { wait_id: id, agent_id: None }),
            CallKind::Tool | CallKind::Message | CallKind::Workflow => {
                say.event(AgentEvent::ToolFinished { tool_id: id, agent_id: None, outcome: None });
            }
            CallKind::Launch { in_background: true } => say.said(Said::Confirmed { launch: id }),
            CallKind::Launch { in_background: false } => {
                self.launches.returned(&id, say.moment());
                say.said(Said::Returned { launch: id });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::whole_members;

    #[test]
    fn what_is_cut_is_left_out() {
        for (head, whole) in [
            (r#"{"a":1,"b":"x"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1,"b":{"c":[{"d":"e","f":"x,y\",z"#, Some(r#"{"a":1,"b":{"c":[{"d":"e"}]}}"#)),
            (r#"{"a":[1,2],"b":3"#, Some(r#"{"a":[1,2]}"#)),
            (r#"{"a":"x"#, None),
            ("", None),
        ] {
            let told = whole_members(head.as_bytes()).map(|whole| String::from_utf8(whole).unwrap());
            assert_eq!(told.as_deref(), whole, "{head}");
        }
    }
}
