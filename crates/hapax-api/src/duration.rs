//! Durations as people write them: `250ms`, `1.5s`, `5m`, `1h`, `30d`.

use std::time::Duration;

use super::number::scaled;

/// The units in nanoseconds, largest first.
const UNITS: [(&str, u128); 6] = [
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

/// A string that is not a duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a duration: write a number and ms, s, m, h, d or w, such as \"250ms\", \"1.5s\" or \"30d\""
)]
pub struct NotADuration(String);

pub fn parse_duration(text: &str) -> Result<Duration, NotADuration> {
    let unit = |suffix: &str| {
        UNITS
            .iter()
            .find(|(name, _)| *name == suffix)
            .map(|(_, nanos)| *nanos)
    };
    scaled(text, unit)
        .and_then(|nanos| u64::try_from(nanos).ok())
        .map(Duration::from_nanos)
        .ok_or_else(|| NotADuration(text.to_owned()))
}

/// Formats a duration in the largest unit that divides it evenly, so that [`parse_duration`] reads it back. Weeks are
/// written in days, as in the defaults.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let fitting = UNITS.iter().skip(1).find(|(_, unit)| nanos.is_multiple_of(*unit));
    match fitting {
        Some(_) if nanos == 0 => "0s".to_owned(),
        Some((name, unit)) => format!("{}{name}", nanos / unit),
        None => format!("{}s", duration.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_every_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("1.5s", 1_500),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("30d", 2_592_000_000),
            ("2w", 1_209_600_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_what_to_write() {
        for text in ["", "5", "m", "5 minutes", "-5m", "1h30m", "99999999999d", "∞s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_duration("5").unwrap_err().to_string().contains("\"1.5s\""));
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["250ms", "1500ms", "10s", "5m", "90m", "1h", "30d", "0s"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
        assert_eq!(format_duration(parse_duration("2w").unwrap()), "14d");
    }
}
