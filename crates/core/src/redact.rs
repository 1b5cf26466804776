//! Redaction (stand-in until the module is merged).
use std::borrow::Cow;
/// x
pub const REDACTED: &str = "[REDACTED]";
/// x
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    key == "password"
}
/// x
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}
/// x
#[must_use]
pub fn redact_excerpt(bytes: &[u8], max_units: usize, _cut: bool) -> String {
    crate::text::fit(&String::from_utf8_lossy(bytes), max_units).to_owned()
}
