//! `occurredAt`: when the agent says that something happened.
//!
//! Input: text. Output: the moment it names, or nothing. Invariant: every text that is accepted names one moment, whatever the
//! time zone of the machine. Never: reads a clock.

use super::event::limits;
use crate::contract::Moment;

/// Bytes of `YYYY-MM-DDTHH:MM:SS`.
const SECONDS: usize = 19;
/// Bytes of `+HH:MM`.
const OFFSET: usize = 6;
/// Bytes of `.123456789`; what a fraction has beyond it is dropped.
const FRACTION: usize = 10;

/// The moment that `text` names: `YYYY-MM-DDTHH:MM:SS[.digits](Z|+HH:MM|-HH:MM)` of at most 64 characters, a real calendar date, no leap
/// second, no offset `-00:00`.
#[must_use]
pub fn occurred_at(text: &str) -> Option<Moment> {
    if text.len() > limits::TIME {
        return None;
    }
    let (local, minutes) = if let Some(local) = text.strip_suffix('Z') {
        (local, 0)
    } else {
        let (local, offset) = text.split_at_checked(text.len().checked_sub(OFFSET)?)?;
        (local, offset_minutes(offset.as_bytes())?)
    };
    let (seconds, fraction) = local.split_at_checked(SECONDS)?;
    if !fraction.bytes().skip(1).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.get(..FRACTION).unwrap_or(fraction);
    let moment = Moment::parse(&format!("{seconds}{fraction}Z"))?;
    Some(moment.plus_millis(-60_000 * minutes))
}

/// Minutes of `+HH:MM` or `-HH:MM`, to the east.
fn offset_minutes(offset: &[u8]) -> Option<i64> {
    let &[sign, h1, h2, b':', m1, m2] = offset else { return None };
    let number = |tens: u8, ones: u8| {
        let digits = [tens, ones].map(|byte| byte.wrapping_sub(b'0'));
        digits.iter().all(|digit| *digit < 10).then(|| i64::from(digits[0]) * 10 + i64::from(digits[1]))
    };
    let (hours, minutes) = (number(h1, h2)?, number(m1, m2)?);
    let sum = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
    match sign {
        b'+' => Some(sum),
        // RFC 3339 gives -00:00 the meaning "offset unknown".
        b'-' if sum > 0 => Some(-sum),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, occurred_at};

    #[test]
    fn accepted_and_what_they_name() {
        let longest = format!("2026-05-17T22:29:21.{}Z", "123456789".repeat(5).get(..43).unwrap());
        for (text, expected) in [
            ("2026-05-17T22:29:21Z", "2026-05-17T22:29:21Z"),
            ("2026-05-17T22:29:21.5Z", "2026-05-17T22:29:21.500Z"),
            ("2026-05-17T22:29:21+00:00", "2026-05-17T22:29:21Z"),
            ("2026-05-17T22:29:21.25+02:00", "2026-05-17T20:29:21.250Z"),
            ("2026-05-17T22:29:21-23:59", "2026-05-18T22:28:21Z"),
            ("2026-01-01T00:00:00+05:30", "2025-12-31T18:30:00Z"),
            (longest.as_str(), "2026-05-17T22:29:21.123456789Z"),
        ] {
            assert_eq!(occurred_at(text).map(Moment::to_text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn refused() {
        let too_long = format!("2026-05-17T22:29:21.{}Z", "1".repeat(44));
        for text in [
            "",
            "Z",
            "2026-01-01",
            "2026-05-17T22:29Z",
            "2026-05-17T22:29:21",
            "2026-05-17T22:29:21.5",
            "2026-05-17T22:29:21.Z",
            "2026-05-17T22:29:21.1x3Z",
            "2026-05-17T22:29:21,5Z",
            "2026-05-17T22:29:21.123456789xZ",
            "2026-05-17T22:29:21-00:00",
            "2026-05-17T22:29:21+24:00",
            "2026-05-17T22:29:21+01:60",
            "2026-05-17T22:29:21+0100",
            "2026-05-17T22:29:21+1:00",
            "2026-05-17T22:29:21 01:00",
            "2026-05-17T22:29:21+é1:0",
            "2026-02-30T00:00:00+01:00",
            "2026-06-30T23:59:60Z",
            "2026-05-17t22:29:21z",
            "+002026-05-17T22:29:21Z",
            &too_long,
        ] {
            assert_eq!(occurred_at(text), None, "{text}");
        }
    }
}
