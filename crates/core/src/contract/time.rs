//! Times: RFC 3339 UTC text, and the moment it names.
//!
//! Input: text. Output: [`Timestamp`] (kept as written, `+00:00` as `Z`) or nothing. A [`Moment`] orders and subtracts.
//! Invariant: equal text gives an equal moment. Never: reads a clock.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use time::{Date, Month};

/// Time since 1970-01-01T00:00:00Z. The years 0000 to 9999 fit with room to spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Rounded down. In two parts, because one of nanoseconds would take 16 bytes and align everything that holds it to that.
    seconds: i64,
    nanos: u32,
}

const NANOS_PER_SECOND: u32 = 1_000_000_000;
const NANOS_PER_MILLI: u32 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const UNIX_EPOCH_JULIAN_DAY: i32 = 2_440_588;

impl Moment {
    /// The moment that `text` names: `YYYY-MM-DDTHH:MM:SS[.1-9 digits](Z|+00:00)`, a real calendar date, no leap second.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let rest = bytes.get(19..)?;
        let number = |range: std::ops::Range<usize>| {
            bytes[range]
                .iter()
                .try_fold(0_u16, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u16::from(byte - b'0')))
        };
        let punctuation = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if punctuation.iter().any(|&(at, byte)| bytes[at] != byte) {
            return None;
        }
        let month = Month::try_from(u8::try_from(number(5..7)?).ok()?).ok()?;
        let day = u8::try_from(number(8..10)?).ok()?;
        let date = Date::from_calendar_date(i32::from(number(0..4)?), month, day).ok()?;
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let nanos = fraction(rest.strip_suffix(b"Z").or_else(|| rest.strip_suffix(b"+00:00"))?)?;
        let days = i64::from(date.to_julian_day() - UNIX_EPOCH_JULIAN_DAY);
        let of_day = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Some(Self { seconds: days * SECONDS_PER_DAY + of_day, nanos })
    }

    /// The moment `millis` milliseconds later (earlier when negative).
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        let part = u32::try_from(millis.rem_euclid(1000)).unwrap_or(0) * NANOS_PER_MILLI;
        let nanos = self.nanos + part;
        let seconds = millis.div_euclid(1000) + i64::from(nanos / NANOS_PER_SECOND);
        Self { seconds: self.seconds.saturating_add(seconds), nanos: nanos % NANOS_PER_SECOND }
    }

    /// Whole milliseconds from `earlier` to here; negative when `earlier` is later.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> i64 {
        let nanos = |moment: Self| {
            i128::from(moment.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(moment.nanos)
        };
        let millis = (nanos(self) - nanos(earlier)) / i128::from(NANOS_PER_MILLI);
        i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX })
    }

    /// The moment `millis` milliseconds after 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn from_unix_millis(millis: i64) -> Self {
        Self { seconds: 0, nanos: 0 }.plus_millis(millis)
    }

    /// RFC 3339 with as many fraction digits (0, 3, 6 or 9) as the moment needs. A moment outside the years 0000 to 9999 is held
    /// at the nearest end.
    #[must_use]
    pub fn to_text(self) -> String {
        const FIRST: Moment = Moment { seconds: -62_167_219_200, nanos: 0 };
        const LAST: Moment = Moment { seconds: 253_402_300_799, nanos: NANOS_PER_SECOND - 1 };
        let Self { seconds, nanos } = self.clamp(FIRST, LAST);
        let (days, of_day) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
        let julian = i32::try_from(days).unwrap_or(0) + UNIX_EPOCH_JULIAN_DAY;
        let (year, month, day) = Date::from_julian_day(julian).unwrap_or(Date::MIN).to_calendar_date();
        let (hour, minute, second, month) = (of_day / 3600, of_day / 60 % 60, of_day % 60, u8::from(month));
        let fraction = match nanos {
            0 => String::new(),
            _ if nanos % NANOS_PER_MILLI == 0 => format!(".{:03}", nanos / NANOS_PER_MILLI),
            _ if nanos % 1000 == 0 => format!(".{:06}", nanos / 1000),
            _ => format!(".{nanos:09}"),
        };
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

fn fraction(bytes: &[u8]) -> Option<u32> {
    let Some((point, digits)) = bytes.split_first() else { return Some(0) };
    if *point != b'.' || digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let mut nanos = 0;
    for place in 0..9 {
        let digit = digits.get(place).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        nanos = nanos * 10 + u32::from(digit - b'0');
    }
    Some(nanos)
}

/// A time as it was written, ending in `Z`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp<'a> {
    text: Cow<'a, str>,
    moment: Moment,
}

impl<'a> Timestamp<'a> {
    /// The timestamp in `text`, see [`Moment::parse`].
    #[must_use]
    pub fn parse(text: Cow<'a, str>) -> Option<Self> {
        let moment = Moment::parse(&text)?;
        let text = match text.strip_suffix("+00:00") {
            Some(local) => Cow::Owned(format!("{local}Z")),
            None => text,
        };
        Some(Self { text, moment })
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The moment it names.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_static(&self) -> Timestamp<'static> {
        Timestamp { text: Cow::Owned(self.text.to_string()), moment: self.moment }
    }
}

impl From<Moment> for Timestamp<'static> {
    fn from(moment: Moment) -> Self {
        Self { text: Cow::Owned(moment.to_text()), moment }
    }
}

impl Serialize for Timestamp<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Moment, Timestamp};

    #[test]
    fn accepted_as_written_with_z() {
        for (text, expected) in [
            ("2026-05-17T22:29:21Z", "2026-05-17T22:29:21Z"),
            ("2026-05-17T22:29:21+00:00", "2026-05-17T22:29:21Z"),
            ("2026-05-17T22:29:21.1Z", "2026-05-17T22:29:21.1Z"),
            ("2026-05-17T22:29:21.123456789+00:00", "2026-05-17T22:29:21.123456789Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ] {
            assert_eq!(Timestamp::parse(Cow::Borrowed(text)).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-05-17T24:00:00Z",
            "2026-05-17T22:60:21Z",
            "2026-06-30T23:59:60Z",
            "2026-05-17T22:29Z",
            "2026-05-17T22:29:21",
            "2026-05-17T22:29:21.Z",
            "2026-05-17T22:29:21.1234567890Z",
            "2026-05-17T22:29:21+01:00",
            "2026-05-17T22:29:21-00:00",
            "2026-05-17t22:29:21z",
            "2026-05-17 22:29:21Z",
            " 2026-05-17T22:29:21Z",
            "2026-05-17T22:29:21Z ",
            "+026-05-17T22:29:21Z",
            "2026-05-17T22:29:2éZ",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn moments_order_subtract_and_print() {
        let at = |text: &str| Moment::parse(text).unwrap();
        assert!(at("2026-05-17T22:29:21.000000001Z") > at("2026-05-17T22:29:21Z"));
        assert_eq!(at("2026-05-17T22:29:21Z"), at("2026-05-17T22:29:21.000Z"));
        assert_eq!(at("2026-03-01T00:00:00Z").millis_since(at("2026-02-28T23:59:59.5Z")), 500);
        assert_eq!(at("1970-01-01T00:00:01Z"), Moment::from_unix_millis(1000));
        for text in [
            "1970-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999Z",
            "2026-05-17T22:29:21.500Z",
            "2026-05-17T22:29:21.000001Z",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(at(text).to_text(), text);
        }
        assert_eq!(
            at("9999-12-31T23:59:59Z").plus_millis(i64::MAX).to_text(),
            "9999-12-31T23:59:59.999999999Z"
        );
    }
}
