//! The ids of a session's agents in the projection.
//!
//! Input: native ids. Output: child ids with room for the number of a life. Invariant: two agents of a session never share an id in
//! any of their lives, and the same native id always gives the same one. Never: cuts an id.

use crate::contract::identity::{SOURCE_NOTE, identity};
use crate::contract::limits::ID_BYTES;
use crate::providers::hashed_id;

/// What the marked id of a sub-agent begins with.
const CHILD: &str = "sub-agent:";
/// What the marked id of a session begins with.
const SESSION: &str = "session:";
/// `#` and the largest number of a life.
const ATTEMPT_BYTES: usize = 21;

/// The id of the session's own agent: its native id, marked where that reads like a life of another, or like a note.
pub(super) fn root(session_id: &str) -> String {
    let is_taken = session_id == SOURCE_NOTE || session_id.starts_with(CHILD) || is_numbered(session_id);
    bounded(if is_taken { marked(SESSION, session_id) } else { session_id.to_owned() })
}

/// The id of a sub-agent in the session with this native id, whose own agent is `root`.
pub(super) fn child(id: &str, session_id: &str, root: &str) -> String {
    let is_taken = [session_id, root, SOURCE_NOTE].contains(&id) || id.starts_with(CHILD) || is_numbered(id);
    bounded(if is_taken { marked(CHILD, id) } else { id.to_owned() })
}

/// A child's life: attempts after the first have a suffix.
pub(super) fn life(name: &str, attempt: u64) -> String {
    if attempt > 1 { format!("{name}#{attempt}") } else { name.to_owned() }
}

/// Whether it ends like the id of a further life.
fn is_numbered(id: &str) -> bool {
    let before = id.trim_end_matches(|digit: char| digit.is_ascii_digit());
    before.len() < id.len() && before.ends_with('#')
}

/// `id` behind `mark`. A `#` at the end keeps it from ending like a further life, so one that ends with `#` gets another.
fn marked(mark: &str, id: &str) -> String {
    let end = if is_numbered(id) || id.ends_with('#') { "#" } else { "" };
    format!("{mark}{id}{end}")
}

fn bounded(name: String) -> String {
    let fits = name.len() <= ID_BYTES - ATTEMPT_BYTES && identity(&name) == Ok(name.as_str());
    if fits { name } else { hashed_id(&name) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{child, life, root};
    use crate::contract::identity::identity;

    #[test]
    fn no_two_lives_of_a_session_share_an_id() {
        let parts = ["s", "k", "#", "#2", "2", "sub-agent:", "session:", "@source", " ", "\0"];
        let mut ids: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        ids.extend(parts.iter().flat_map(|first| parts.iter().map(move |second| format!("{first}{second}"))));
        ids.extend(["s#2#2", "s#2#", "sub-agent:k#2#", "sub-agent:s#2", "session:s#2#"].map(str::to_owned));
        ids.extend(["é".repeat(256), "あ".repeat(256), "x".repeat(490), "x".repeat(491), "x".repeat(492)]);
        ids.sort();
        ids.dedup();
        for session in &ids {
            let own = root(session);
            let mut lives = HashMap::new();
            for attempt in [1, 2, 12, u64::MAX] {
                assert!(lives.insert(life(&own, attempt), None).is_none());
                for id in &ids {
                    let life = life(&child(id, session, &own), attempt);
                    assert_eq!(identity(&life), Ok(life.as_str()));
                    let other = lives.insert(life.clone(), Some(id));
                    assert!(other.is_none(), "{life:?} of {id:?} and {other:?} in {session:?}");
                }
            }
        }
    }

    #[test]
    fn a_plain_id_stays_and_a_marked_one_is_stable() {
        assert_eq!(root("s"), "s");
        assert_eq!(child("toolu_1", "s", "s"), "toolu_1");
        assert_eq!(child("k#", "s", "s"), "k#");
        assert_eq!(child("s", "s", "s"), "sub-agent:s");
        assert_eq!(child("k#2", "s", "s"), "sub-agent:k#2#");
        assert_eq!(child("@source", "s", "s"), "sub-agent:@source");
        assert_eq!(root("@source"), "session:@source");
        assert_eq!(root("s#2"), "session:s#2#");
    }
}
