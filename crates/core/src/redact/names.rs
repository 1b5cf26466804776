//! Identities that stand in details, where free text is redacted.
//!
//! Input: an identity, or the details of a note. Output: the same, or another name where it looks like a secret.
//! Invariant: the same identity has the same name, other ones have others, and a name is its own name. Never: shows a secret.

use std::borrow::Cow;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::{redact_json, redact_text};
use crate::json::Json;

/// What an identity is called in details and in what is kept of it: itself, unless the rules find a secret in it. Then its hash, so
/// that it is still told from others.
#[must_use]
pub fn safe_name(identity: &str) -> Cow<'_, str> {
    if let Cow::Borrowed(_) = redact_text(identity) {
        return Cow::Borrowed(identity);
    }
    let mut hasher = SipHasher13::new();
    hasher.write(identity.as_bytes());
    Cow::Owned(format!("[REDACTED:{:032x}]", hasher.finish128().as_u128()))
}

/// Whether two identities, or names of identities, mean the same.
#[must_use]
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || safe_name(one) == safe_name(other)
}

/// As [`redact_json`], for the details of a `reconciliation` event: the epochs and the snapshot that it is about get their names.
pub fn redact_note(details: &mut Json) -> bool {
    let mut found = false;
    for (part, members) in [("epochAdvance", &["from"][..]), ("lifecycle", &["from", "to", "snapshotId"])] {
        for member in members {
            let Some(Json::Text(text)) = member_mut(details, part).and_then(|part| member_mut(part, member))
            else {
                continue;
            };
            if let Cow::Owned(name) = safe_name(text) {
                *text = name;
                found = true;
            }
        }
    }
    redact_json(details) || found
}

fn member_mut<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    let Json::Object(members) = json else { return None };
    members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
}
