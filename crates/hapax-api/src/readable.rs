//! Durations, sizes, counts and times for people to read, on the terminal, on pages and in messages.
//!
//! `duration` and `size` in this crate are the exact notation of the configuration, which is read back. No crate serves:
//! `jiff` prints several units of a duration, and crates for sizes would be another dependency for ten lines.

use std::time::Duration;

use hapax_core::Timestamp;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A duration in one unit, rounded down: `250 ms`, `12 s`, `3 min`, `71 h`, `30 d`.
pub fn duration(length: Duration) -> String {
    // Many providers stop redelivering after three days, so the difference between 71 hours and two days matters.
    const DAYS: u64 = 4 * DAY;
    match length.as_secs() {
        0 => format!("{} ms", length.as_millis()),
        seconds @ 1..MINUTE => format!("{seconds} s"),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAYS => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

/// A duration for a sentence, rounded down: `1 second`, `119 seconds`, `2 minutes`, `29 days`.
pub fn duration_in_words(length: Duration) -> String {
    let seconds = length.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / MINUTE, "minute"),
        7_200..172_800 => (seconds / HOUR, "hour"),
        172_800.. => (seconds / DAY, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// A time relative to another: `12 s ago`, `in 5 min`, `just now`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        return format!("in {}", duration(at.since(now)));
    }
    match now.since(at) {
        distance if distance < Duration::from_secs(1) => "just now".to_owned(),
        distance => format!("{} ago", duration(distance)),
    }
}

/// A size in binary units: `512 B`, `1.5 KiB`, `12 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 10.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A number with thousands separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_unit_in_which_it_matters() {
        let shown = [0, 1, 59, 60, 3_599, 3_600, 71 * HOUR, 4 * DAY, 30 * DAY]
            .map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(
            shown,
            [
                "0 ms", "1 s", "59 s", "1 min", "59 min", "1 h", "71 h", "4 d", "30 d"
            ]
        );
        assert_eq!(duration(Duration::from_millis(250)), "250 ms");
    }

    #[test]
    fn durations_are_said_in_one_fitting_unit() {
        let said = |seconds| duration_in_words(Duration::from_secs(seconds));
        assert_eq!(said(1), "1 second");
        assert_eq!(said(119), "119 seconds");
        assert_eq!(said(121), "2 minutes");
        assert_eq!(said(7_300), "2 hours");
        assert_eq!(said(30 * DAY - 1), "29 days");
    }

    #[test]
    fn a_time_is_ahead_behind_or_now() {
        let now = Timestamp::from_seconds(1_000_000);
        let ago = |seconds: i64| ago(Timestamp::from_seconds(1_000_000 - seconds), now);
        assert_eq!(
            [0, 1, 60, 90_000, -300].map(ago),
            ["just now", "1 s ago", "1 min ago", "25 h ago", "in 5 min"]
        );
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(
            [0, 1023, 1024, 1_536, 12 << 20, 5 << 40].map(size),
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "12 MiB", "5.0 TiB"]
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
