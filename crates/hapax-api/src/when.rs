//! A time on the command line: absolute, or relative to now.

use std::str::FromStr;
use std::time::Duration;

use hapax_core::Timestamp;

use crate::duration::parse_duration;

/// An absolute time, or a duration before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    At(Timestamp),
    /// This long before now.
    Ago(Duration),
}

impl When {
    /// The absolute time, given the current time.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(timestamp) => timestamp,
            Self::Ago(distance) => now.minus(distance),
        }
    }
}

impl FromStr for When {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(distance) = parse_duration(text) {
            return Ok(Self::Ago(distance));
        }
        text.parse().map(Self::At).map_err(|_| NotATime(text.to_owned()))
    }
}

/// A string that is neither.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a time: write RFC 3339, such as 2026-01-31T12:00:00Z, or an age, such as 2h or 7d")]
pub struct NotATime(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_a_distance() {
        let now = Timestamp::from_seconds(1_767_225_600);
        let resolve = |text: &str| text.parse::<When>().map(|when| when.resolve(now).to_string());
        assert_eq!(resolve("2h").unwrap(), "2025-12-31T22:00:00.000000Z");
        assert_eq!(
            resolve("2026-01-31T12:00:00Z").unwrap(),
            "2026-01-31T12:00:00.000000Z"
        );
        assert!(resolve("yesterday").unwrap_err().to_string().contains("2h"));
    }
}
