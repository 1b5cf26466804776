//! What `sessions/<pid>.json` says: which process works on which session.
//!
//! Input: the text of the file. Output: a claim, where it names a pid and a session. Never: believes a pid that is no positive integer.

use crate::contract::Moment;
use crate::json::{self, Json};
use crate::providers::ProcessClaim;
use crate::providers::ids::id;

/// See the module.
pub(super) fn claim(text: &[u8]) -> Option<ProcessClaim> {
    let file = json::parse(text).ok()?;
    let Json::Number(pid) = file.get("pid")? else { return None };
    let pid = i32::try_from(json::safe_integer(*pid)?).ok().filter(|pid| *pid > 0)?;
    let started_at = match file.get("startedAt") {
        Some(Json::Number(millis)) => json::safe_integer(*millis)
            .and_then(|millis| i64::try_from(millis).ok())
            .map(Moment::from_unix_millis),
        Some(Json::Text(text)) => Moment::parse(text),
        _ => None,
    };
    Some(ProcessClaim { session_id: id(file.text_at("sessionId")?)?, pid, started_at })
}

#[cfg(test)]
mod tests {
    use super::claim;

    #[test]
    fn a_claim_needs_a_session_and_a_pid() {
        let full =
            claim(br#"{"pid":41,"sessionId":"s","cwd":"/w","startedAt":1772438400000,"status":"busy"}"#);
        let full = full.unwrap();
        assert_eq!((full.pid, full.session_id.as_str()), (41, "s"));
        assert_eq!(full.started_at.unwrap().to_text(), "2026-03-02T08:00:00Z");
        assert!(claim(br#"{"pid":41.0,"sessionId":"s"}"#).unwrap().started_at.is_none());
        for text in [
            r#"{"pid":0,"sessionId":"s"}"#,
            r#"{"pid":-1,"sessionId":"s"}"#,
            r#"{"pid":1.5,"sessionId":"s"}"#,
            r#"{"pid":"41","sessionId":"s"}"#,
            r#"{"pid":41}"#,
            r#"{"pid":41,"sessionId":" "}"#,
            r#"{"pid":4294967337,"sessionId":"s"}"#,
            "[]",
            "",
        ] {
            assert_eq!(claim(text.as_bytes()), None, "{text}");
        }
    }
}
