//! Time: the wall clock that stamps events and the monotonic clock that measures durations.
//!
//! Only the binary creates a [`SystemClock`]; everything else receives a `dyn Clock`.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment on the wall clock: microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Creates a timestamp from whole seconds since the Unix epoch.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the Unix epoch, never negative.
    pub const fn as_millis(self) -> u64 {
        if self.0 < 0 { 0 } else { (self.0 / 1_000) as u64 }
    }

    /// Whole seconds since the Unix epoch.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// This moment plus `duration`; saturates instead of overflowing.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// This moment minus `duration`; saturates instead of overflowing.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }

    /// The time elapsed since `earlier`; zero if this moment is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Formats the moment as RFC 3339 in UTC, to the microsecond.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(|timestamp| Self(timestamp.as_microsecond()))
            .map_err(|_| NotATimestamp(text.to_owned()))
    }
}

/// The string is not an RFC 3339 time.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a time: write RFC 3339, such as 2026-01-31T12:00:00Z")]
pub struct NotATimestamp(String);

/// A source of wall-clock and monotonic time.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock. It may step in either direction: never measure durations with it.
    fn now(&self) -> Timestamp;

    /// Monotonic time since an arbitrary fixed start.
    fn elapsed(&self) -> Duration;
}

/// The host's wall clock and monotonic clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A host clock set before 1970 reads as the epoch: wrong, but still ordered.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(micros(since_epoch))
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_and_parse_as_rfc_3339() {
        let timestamp = Timestamp::from_micros(1_767_225_600_000_042);
        assert_eq!(timestamp.to_string(), "2026-01-01T00:00:00.000042Z");
        assert_eq!(timestamp.to_string().parse::<Timestamp>().unwrap(), timestamp);
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let end = Timestamp::from_micros(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert_eq!(Timestamp::from_micros(5).since(end), Duration::ZERO);
    }
}
