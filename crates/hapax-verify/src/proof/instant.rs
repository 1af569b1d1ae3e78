//! Signed times that are not plain Unix seconds, and their distance from the time of arrival.

use jiff::Timestamp;

use crate::limits::TOLERANCE_SECONDS_MAX;
use crate::options::Options;
use crate::rejection::Rejection;
use crate::setup::SetupError;

/// The option that overrides a tolerance.
const TOLERANCE_OPTION: &str = "tolerance_seconds";

/// The source's tolerance, or the provider's default, which may exceed the general maximum.
pub(super) fn tolerance(options: &Options, usual: u32) -> Result<u32, SetupError> {
    let Some(text) = options.text(TOLERANCE_OPTION) else {
        return Ok(usual);
    };
    let seconds = text.parse().ok();
    seconds
        .filter(|seconds| *seconds <= TOLERANCE_SECONDS_MAX.max(usual))
        .ok_or(SetupError::OptionInvalid {
            name: TOLERANCE_OPTION,
            expected: "a whole number of seconds up to a day, or up to the provider's own if that is longer",
        })
}

/// The signed time, if it is within the tolerance, limits included.
pub(super) fn near(signed_at: Option<i64>, received_at: i64, tolerance: u32) -> Result<i64, Rejection> {
    signed_at
        .filter(|at| received_at.abs_diff(*at) <= u64::from(tolerance))
        .ok_or(Rejection::TimestampOutOfRange {
            signed_at,
            received_at,
            tolerance_seconds: tolerance,
        })
}

/// A whole number of at most 15 digits.
pub(super) fn decimal(text: &str) -> Option<i64> {
    let plausible = !text.is_empty() && text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
    plausible.then(|| text.parse().ok()).flatten()
}

/// The Unix seconds of a time such as `2025-12-31T23:59:59.121Z` or `…+02:00`, rounded down. A leap second counts as the
/// second before it.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    if !is_rfc3339(text.as_bytes()) {
        return None;
    }
    let time: Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond().div_euclid(1_000_000_000)).ok()
}

/// `2026-01-01T00:00:00.123Z` and similar, with a fraction of up to nanoseconds and `Z` or an offset. Stricter than the
/// standard and than `jiff`: no lower case, no space and no `[zone]`, so that it can be split in only one way.
pub(super) fn is_rfc3339(text: &[u8]) -> bool {
    let Some((date_and_time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let offset = match rest.split_first() {
        Some((b'.', fraction)) => {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&length) {
                return false;
            }
            &fraction[length..]
        }
        Some(_) | None => rest,
    };
    let is_offset = offset == b"Z" || fits(offset, b"+00:00") || fits(offset, b"-00:00");
    is_offset && fits(date_and_time, b"0000-00-00T00:00:00")
}

/// Formats Unix seconds in UTC.
pub(super) fn rfc3339_text(seconds: i64) -> String {
    format!("{:.0}", timestamp(seconds))
}

/// The same with milliseconds, for providers whose own libraries require them.
pub(super) fn rfc3339_milliseconds_text(seconds: i64) -> String {
    format!("{:.3}", timestamp(seconds))
}

/// The latest time there is, if the seconds are beyond the year 9999.
fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// Whether a text has digits where the form has digits, and equal characters elsewhere.
fn fits(text: &[u8], form: &[u8]) -> bool {
    let same = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    text.len() == form.len() && text.iter().zip(form).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_fractions_and_offsets() {
        assert_eq!(rfc3339("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(rfc3339("2025-12-31T23:59:59.121Z"), Some(1_767_225_599));
        assert_eq!(rfc3339("2026-01-01T02:00:00+02:00"), Some(1_767_225_600));
        assert_eq!(rfc3339("2024-02-29T12:00:00-01:30"), Some(1_709_213_400));
        assert_eq!(rfc3339("1969-12-31T23:59:59.500Z"), Some(-1));
        assert_eq!(rfc3339("1969-12-31T23:59:59.999999999Z"), Some(-1));
        assert_eq!(rfc3339("2016-12-31T23:59:60Z"), Some(1_483_228_799));
        for wrong in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:00.Z",
        ] {
            assert_eq!(rfc3339(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_text_of_a_time_reads_back() {
        assert_eq!(rfc3339_text(1_767_225_599), "2025-12-31T23:59:59Z");
        assert_eq!(
            rfc3339_milliseconds_text(1_767_225_599),
            "2025-12-31T23:59:59.000Z"
        );
        for seconds in [0, 951_827_696, 1_709_213_400, 1_767_225_599, 4_107_542_400] {
            assert_eq!(rfc3339(&rfc3339_text(seconds)), Some(seconds));
            assert_eq!(rfc3339(&rfc3339_milliseconds_text(seconds)), Some(seconds));
        }
    }

    #[test]
    fn the_edge_is_near_and_one_second_more_is_not() {
        assert!(near(Some(1000), 1300, 300).is_ok());
        assert!(near(Some(1000), 700, 300).is_ok());
        assert!(near(Some(1000), 1301, 300).is_err());
        assert!(near(None, 1000, 300).is_err());
    }
}
