//! Dates and times inside a line.
//!
//! A time close to now is the time at which something happened, which differs in every run: it is masked. Any other
//! date is data, such as the day on which a subscription ends, and counts as a number: a month that is added twice is
//! detected.
//!
//! Read by hand: `jiff` reads a text that is nothing but a time, and here one of several forms begins in the middle of a
//! line.

use std::time::SystemTime;

const DAY_SECONDS: i64 = 86_400;
/// Times closer to now than this belong to the current run.
const NEAR_SECONDS: i64 = DAY_SECONDS;
/// Replaces such a time.
const BLOT: &str = "<now>";

/// The line with times close to now masked.
pub(super) fn blot(line: &str, now: SystemTime) -> String {
    let now = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64);
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let near = if before.is_alphanumeric() {
            None
        } else {
            near(rest, now)
        };
        let length = near.unwrap_or(first.len_utf8());
        clean.push_str(if near.is_some() { BLOT } else { &rest[..length] });
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    clean
}

/// The date that begins here, in Unix seconds, and its length: `2026-01-31`, with or without a time of day and a zone.
pub(super) fn read(text: &str) -> Option<(i64, usize)> {
    let bytes = text.as_bytes();
    let (year, month, day) = (digits(bytes, 0, 4)?, digits(bytes, 5, 2)?, digits(bytes, 8, 2)?);
    let dashes = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    if !dashes || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (seconds, length) = time_of_day(bytes, 10);
    Some((days(year, month, day) * DAY_SECONDS + seconds, length))
}

/// The length of the time close to now that begins here: a date, or Unix seconds, milli-, micro- or nanoseconds.
fn near(rest: &str, now: i64) -> Option<usize> {
    if let Some((seconds, length)) = read(rest) {
        return is_near(seconds, now).then_some(length);
    }
    let length = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    let unit = match length {
        10 => 1,
        13 => 1_000,
        16 => 1_000_000,
        19 => 1_000_000_000,
        _ => return None,
    };
    let ends = !rest[length..].starts_with(char::is_alphanumeric);
    let seconds = rest[..length].parse::<i64>().ok()? / unit;
    (ends && is_near(seconds, now)).then_some(length)
}

/// Zones are ignored, so a day in either direction counts as near.
fn is_near(seconds: i64, now: i64) -> bool {
    (seconds - now).abs() <= 2 * NEAR_SECONDS
}

/// `T12:34:56.789+01:00` and shorter forms: the seconds of the day, and the end of the text.
fn time_of_day(bytes: &[u8], start: usize) -> (i64, usize) {
    let (Some(b'T' | b' '), Some(hour), Some(b':'), Some(minute)) = (
        bytes.get(start),
        digits(bytes, start + 1, 2),
        bytes.get(start + 3),
        digits(bytes, start + 4, 2),
    ) else {
        return (0, start);
    };
    let mut end = start + 6;
    let mut second = 0;
    if let (Some(b':'), Some(value)) = (bytes.get(end), digits(bytes, end + 1, 2)) {
        (second, end) = (value, end + 3);
        if bytes.get(end) == Some(&b'.') {
            end += 1 + bytes[end + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
        }
    }
    (hour * 3_600 + minute * 60 + second, zone(bytes, end))
}

/// The end of a zone that begins here.
fn zone(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start) {
        Some(b'Z') => start + 1,
        Some(b'+' | b'-') if digits(bytes, start + 1, 2).is_some() => {
            let colon = usize::from(bytes.get(start + 3) == Some(&b':'));
            let minutes = digits(bytes, start + 3 + colon, 2).map_or(0, |_| colon + 2);
            start + 3 + minutes
        }
        Some(_) | None => start,
    }
}

fn digits(bytes: &[u8], start: usize, count: usize) -> Option<i64> {
    let digits = bytes.get(start..start + count)?;
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Days since 1970-01-01 in the Gregorian calendar: years are counted from March, so that a leap day is the last day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn dates_are_read_with_and_without_time_and_zone() {
        for (text, seconds, length) in [
            ("1970-01-01", 0, 10),
            ("2000-03-01|x", 951_868_800, 10),
            ("2024-02-29T12:00:01Z", 1_709_208_001, 20),
            ("2026-11-15 16:35:47.123456+00", 1_794_760_547, 29),
            ("2026-11-15 16:35:47+01:00,", 1_794_760_547, 25),
        ] {
            assert_eq!(read(text), Some((seconds, length)), "{text}");
        }
        assert_eq!(read("2026-13-01"), None);
        assert_eq!(read("12-34"), None);
    }

    #[test]
    fn times_of_this_run_are_blotted_out_and_other_dates_stay() {
        let now = at(1_794_760_547);
        let line = "paid|2026-11-15 16:35:47|1794760540|1794760540123|until 2026-12-15|20";
        assert_eq!(blot(line, now), "paid|<now>|<now>|<now>|until 2026-12-15|20");
    }
}
