//! Is this a Codex rollout, and whose?
//!
//! Input: the first bytes of a file. Output: [`Recognized`], or nothing. Invariant: the first record names the thread, in every
//! format; a later `session_meta` may be a copy of another thread's. Never: looks at a name.

use super::record::{Record, filled, read};
use super::shapes::Payload;
use crate::json::Scalar;
use crate::providers::ids::id;
use crate::providers::shape::Shape;
use crate::providers::{Recognized, Role};

/// Recognises a rollout by its first record, which may be the last line without its end.
#[must_use]
pub fn recognize(head: &[u8]) -> Option<Recognized> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find_map(|line| {
        let padding = line.iter().rev().take_while(|byte| matches!(byte, 0 | b'\r' | b' ' | b'\t')).count();
        let line = &line[..line.len() - padding];
        (!line.is_empty()).then_some(line)
    })?;
    read(first, of).ok().flatten()
}

fn of(record: &Record<'_>) -> Option<Recognized> {
    let meta = &record.payload;
    if record.known_type() != Some("session_meta") {
        return None;
    }
    // Without an envelope only the members tell it from other JSON.
    let is_old_meta =
        filled(&meta.timestamp).is_some() && (meta.git.0.is_some() || is_there(&meta.instructions));
    if record.is_bare && !is_old_meta {
        return None;
    }
    let own = id(filled(&meta.id)?)?;
    let root = filled(&meta.session_id).and_then(id);
    let parent = parent(meta).filter(|parent| *parent != own);
    Some(match parent {
        Some(parent) => Recognized {
            session_id: root.unwrap_or_else(|| parent.clone()),
            role: Role::Child { agent_id: own },
            parent: Some(parent),
        },
        None => Recognized { session_id: own, role: Role::Root, parent: None },
    })
}

/// The thread that started this one as its sub-agent.
fn parent(meta: &Payload<'_>) -> Option<String> {
    let spawn = spawn_parent(meta);
    let is_subagent = spawn.is_some() || meta.thread_source.text() == Some("subagent");
    if !is_subagent {
        return None;
    }
    let told = spawn.or_else(|| filled(&meta.parent_thread_id));
    told.or_else(|| filled(&meta.session_id)).and_then(id)
}

fn spawn_parent<'a>(meta: &'a Payload<'_>) -> Option<&'a str> {
    let Shape(Some(origin)) = &meta.source else { return None };
    let Shape(Some(subagent)) = &origin.subagent else { return None };
    let Shape(Some(spawn)) = &subagent.thread_spawn else { return None };
    filled(&spawn.parent_thread_id)
}

fn is_there(member: &Scalar<'_>) -> bool {
    !matches!(member, Scalar::Absent)
}
