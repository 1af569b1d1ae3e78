//! The signed timestamp against the time of arrival.
//!
//! Both directions are refused. Several senders' own libraries refuse only old timestamps; a signature made for next
//! year would then be a licence to replay until next year.

use crate::Rejection;
use crate::scheme::{TimestampRule, TimestampUnit};

/// More digits than any time in milliseconds has before the year 33658.
const DIGITS_MAX: usize = 15;

/// The signed time in unix seconds, if it is within the tolerance; the edge is still within.
pub(super) fn check(rule: &TimestampRule, text: &[u8], received_at: i64) -> Result<i64, Rejection> {
    let signed_at = parse(rule.unit, text);
    let near = |at: &i64| received_at.abs_diff(*at) <= u64::from(rule.tolerance_seconds);
    signed_at.filter(near).ok_or(Rejection::TimestampOutOfRange {
        signed_at,
        received_at,
        tolerance_seconds: rule.tolerance_seconds,
    })
}

fn parse(unit: TimestampUnit, text: &[u8]) -> Option<i64> {
    let plausible = !text.is_empty() && text.len() <= DIGITS_MAX && text.iter().all(u8::is_ascii_digit);
    if !plausible {
        return None;
    }
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(match unit {
        TimestampUnit::Seconds => number,
        TimestampUnit::Milliseconds => number / 1000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::TimestampPlace;

    fn rule(unit: TimestampUnit) -> TimestampRule {
        TimestampRule {
            place: TimestampPlace::Headers(vec!["x-timestamp".to_owned()]),
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
}
