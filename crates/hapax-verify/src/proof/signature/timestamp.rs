//! Compares the signed timestamp with the time of arrival.
//!
//! Deviations in both directions are refused. Several providers' own libraries refuse only old timestamps; a signature
//! dated next year could then be replayed until next year.

use crate::proof::instant;
use crate::rejection::Rejection;
use crate::scheme::{TimestampRule, TimestampUnit};

/// More digits than any time in milliseconds has before the year 33658.
const DIGITS_MAX: usize = 15;

/// The number of digits of Unix seconds from 2001 to 2286.
const SECONDS_DIGITS: usize = 10;

/// The signed time in Unix seconds, if it is within the tolerance, limits included.
pub(super) fn check(rule: &TimestampRule, text: &[u8], received_at: i64) -> Result<i64, Rejection> {
    let signed_at = parse(rule.unit, text);
    let near = |at: &i64| received_at.abs_diff(*at) <= u64::from(rule.tolerance_seconds);
    signed_at.filter(near).ok_or(Rejection::TimestampOutOfRange {
        signed_at,
        received_at,
        tolerance_seconds: rule.tolerance_seconds,
    })
}

/// Whether the boundaries of the text are unambiguous next to adjacent text.
pub(super) fn has_clear_border(unit: TimestampUnit, text: &[u8]) -> bool {
    let digits = |count: usize| text.len() == count && text.iter().all(u8::is_ascii_digit);
    match unit {
        TimestampUnit::Seconds => digits(SECONDS_DIGITS),
        TimestampUnit::Milliseconds => digits(SECONDS_DIGITS + 3),
        TimestampUnit::Rfc3339 => instant::is_rfc3339(text),
    }
}

fn parse(unit: TimestampUnit, text: &[u8]) -> Option<i64> {
    match unit {
        TimestampUnit::Seconds => number(text),
        TimestampUnit::Milliseconds => number(text).map(|number| number / 1000),
        TimestampUnit::Rfc3339 => std::str::from_utf8(text).ok().and_then(instant::rfc3339),
    }
}

fn number(text: &[u8]) -> Option<i64> {
    let plausible = !text.is_empty() && text.len() <= DIGITS_MAX && text.iter().all(u8::is_ascii_digit);
    if !plausible {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::TimestampPath;

    fn rule(unit: TimestampUnit) -> TimestampRule {
        TimestampRule {
            path: TimestampPath::Headers(vec!["x-timestamp".to_owned()]),
            unit,
            tolerance_seconds: 300,
        }
    }

    #[test]
    fn the_edge_is_accepted_and_one_second_more_is_not_in_both_directions() {
        let rule = rule(TimestampUnit::Seconds);
        for (received_at, accepted) in [(1300, true), (1301, false), (700, true), (699, false)] {
            assert_eq!(
                check(&rule, b"1000", received_at).is_ok(),
                accepted,
                "{received_at}"
            );
        }
        assert_eq!(
            check(&rule, b"1000", i64::MIN).unwrap_err().code(),
            "timestamp_out_of_range"
        );
    }

    #[test]
    fn only_plain_digits_are_a_time() {
        for text in ["", "-5", "+5", " 5", "5.0", "0x5", "hello", "9999999999999999"] {
            assert_eq!(parse(TimestampUnit::Seconds, text.as_bytes()), None, "{text}");
        }
        assert_eq!(
            parse(TimestampUnit::Milliseconds, b"1767225600999"),
            Some(1_767_225_600)
        );
    }

    #[test]
    fn a_date_and_time_is_read_with_its_offset_and_fraction() {
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.634234626Z",
            "2025-12-31T17:00:00-07:00",
            "2026-01-01T05:30:00.1+05:30",
        ] {
            let seconds = parse(TimestampUnit::Rfc3339, text.as_bytes());
            assert_eq!(seconds, Some(1_767_225_600), "{text}");
        }
    }

    #[test]
    fn a_date_and_time_in_any_other_form_is_none() {
        for text in [
            "",
            "1767225600",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01t00:00:00z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00+0000",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-01T25:00:00Z",
            "2026-01-01T00:00:00Z ",
            "+2026-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(TimestampUnit::Rfc3339, text.as_bytes()), None, "{text}");
        }
    }
}
