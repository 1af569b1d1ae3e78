//! Signed times that are not plain Unix seconds, and their distance from the time of arrival.

use crate::limits::TOLERANCE_SECONDS_MAX;
use crate::{Options, Rejection, SetupError};

/// The option that overrides a tolerance.
const TOLERANCE_OPTION: &str = "tolerance_seconds";

/// The maximum length of a time, with nanoseconds and an offset.
const TEXT_BYTES_MAX: usize = 40;

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
            expected: "a whole number of seconds up to a day, or up to the preset's own where that is longer",
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

/// The Unix seconds of a time such as `2025-12-31T23:59:59.121Z` or `…+02:00`.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    if !text.is_ascii() || text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let (date_time, rest) = text.split_at_checked(19)?;
    let separators = |places: [usize; 5]| places.map(|place| date_time.as_bytes().get(place).copied());
    if separators([4, 7, 10, 13, 16]) != [b'-', b'-', b'T', b':', b':'].map(Some) {
        return None;
    }
    let part = |from: usize, to: usize| decimal(date_time.get(from..to)?);
    let seconds = unix_seconds([
        part(0, 4)?,
        part(5, 7)?,
        part(8, 10)?,
        part(11, 13)?,
        part(14, 16)?,
        part(17, 19)?,
    ])?;
    Some(seconds - offset(without_fraction(rest)?)?)
}

/// Formats Unix seconds in UTC.
pub(super) fn rfc3339_text(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days are counted from 1 March of year 0, so that a leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same with milliseconds, for providers whose own libraries require them.
pub(super) fn rfc3339_milliseconds_text(seconds: i64) -> String {
    rfc3339_text(seconds).replace('Z', ".000Z")
}

/// The Unix seconds of a year, month, day, hour, minute and second.
pub(super) fn unix_seconds([year, month, day, hour, minute, second]: [i64; 6]) -> Option<i64> {
    let plausible = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !plausible {
        return None;
    }
    // Here the year begins in March, so that a leap day is its last day.
    let from_march = (month + 9) % 12;
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let days =
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn without_fraction(rest: &str) -> Option<&str> {
    match rest.strip_prefix('.') {
        None => Some(rest),
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)
        }
    }
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let seconds = decimal(hours)? * 3_600 + decimal(minutes)? * 60;
    match zone.as_bytes().first() {
        Some(b'+') => Some(seconds),
        Some(b'-') => Some(-seconds),
        Some(_) | None => None,
    }
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
