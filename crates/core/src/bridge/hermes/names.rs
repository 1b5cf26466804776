//! The ids of Hermes' delegations in the projection.
//!
//! Input: a child's id and its session's. Output: `<childId>@<sessionId>`, with room for the number of a life.
//! Invariant: two children never share an id in any of their lives. Never: cuts an id.

use crate::contract::limits::ID_BYTES;
use crate::providers::hashed_id;

/// The id of a child, before the number of a life.
pub(super) fn base(child_id: &str, session_id: &str) -> String {
    bounded(format!("{}@{}", encoded(child_id), encoded(session_id)))
}

/// The id of one life: those after the first have a suffix.
pub(super) fn life(base: &str, attempt: u64) -> String {
    if attempt <= 1 {
        return base.to_owned();
    }
    let suffix = format!("#{attempt}");
    let fits = base.len() + suffix.len() <= ID_BYTES;
    if fits { format!("{base}{suffix}") } else { format!("{}{suffix}", hashed_id(base)) }
}

/// Whether an id may be a hash of a longer one. In the form itself a `:` stands too, so that this only rules out.
pub(super) fn is_hashed(id: &str) -> bool {
    id.starts_with("hashed:")
}

/// The marks of the form itself are written otherwise.
fn encoded(id: &str) -> String {
    id.replace('%', "%25").replace('@', "%40").replace('#', "%23")
}

fn bounded(name: String) -> String {
    if name.len() > ID_BYTES { hashed_id(&name) } else { name }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{base, life};
    use crate::contract::identity::identity;

    #[test]
    fn the_marks_of_the_form_are_encoded_in_both() {
        for (child, session, expected) in [
            ("c", "s", "c@s"),
            ("a@b", "c", "a%40b@c"),
            ("a", "b@c", "a@b%40c"),
            ("c#2", "s%", "c%232@s%25"),
            ("%40", "s", "%2540@s"),
            ("é", "字", "é@字"),
        ] {
            assert_eq!(base(child, session), expected);
        }
        let fits = "x".repeat(510);
        assert_eq!(base(&fits, "s"), format!("{fits}@s"));
        let hashed = base(&"x".repeat(511), "s");
        assert!(hashed.starts_with("hashed:") && hashed.len() == 39, "{hashed}");
    }

    #[test]
    fn no_two_lives_share_an_id() {
        let parts = ["a", "@", "#", "#2", "%", "%40", "%23", "2", "hashed:"];
        let mut ids: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        ids.extend(parts.iter().flat_map(|first| parts.iter().map(move |second| format!("{first}{second}"))));
        ids.extend([505, 508, 509, 510, 511, 512, 4096].map(|length| "x".repeat(length)));
        ids.push("あ".repeat(170));
        ids.sort();
        ids.dedup();
        let mut lives = HashMap::new();
        for child in &ids {
            for session in &ids {
                for attempt in [1, 2, 12, u64::MAX] {
                    let id = life(&base(child, session), attempt);
                    assert_eq!(identity(&id), Ok(id.as_str()));
                    let other = lives.insert(id, (child, session, attempt));
                    assert_eq!(other, None, "{child:?} {session:?} {attempt}");
                }
            }
        }
    }
}
