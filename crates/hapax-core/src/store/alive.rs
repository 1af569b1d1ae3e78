//! Liveness of owners. Owners report that they are alive, in the store's time; the deliveries of an owner that has
//! fallen silent are reclaimed before its leases expire. Fencing keeps this safe: a silent owner that wakes up finds
//! its tokens void.

use std::time::Duration;

use crate::{Owner, Timestamp};

/// How long an owner may be silent before it counts as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// If two reports of one owner are further apart than this, the owner or the store was stalled.
    pub gap: Duration,
    /// An owner that was silent for longer is dead.
    pub silence: Duration,
    /// Only an owner that has reported for this long without a gap may declare others dead: for this long the store was
    /// reachable, and the others could have reported.
    pub reachable: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            gap: Duration::from_secs(5),
            silence: Duration::from_secs(13),
            reachable: Duration::from_secs(15),
        }
    }
}

/// A report by an owner that it is alive.
#[derive(Clone, Copy, Debug)]
pub struct AliveReport {
    /// The owner that reports.
    pub owner: Owner,
    /// The shard that it reports to.
    pub shard: usize,
    /// The thresholds applied to other owners.
    pub patience: Patience,
    /// The maximum number of deliveries to reclaim from dead owners.
    pub limit: u32,
}

/// What a shard knows about an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive {
    /// Since when the owner has reported without a gap.
    pub since: Timestamp,
    /// The time of its last report.
    pub reported_at: Timestamp,
}

impl Alive {
    /// The state after a report at `now`.
    pub fn reported(before: Option<Self>, now: Timestamp, patience: Patience) -> Self {
        let since = match before {
            Some(before) if apart(before.reported_at, now) <= patience.gap => before.since,
            Some(_) | None => now,
        };
        Self {
            since,
            reported_at: now,
        }
    }

    /// Whether an owner that has just reported may declare others dead.
    pub fn may_declare_dead(self, patience: Patience) -> bool {
        self.reported_at.since(self.since) >= patience.reachable
    }

    /// Whether the owner is dead. A report from the future does not count: the store's clock has been set back since.
    pub fn is_dead(self, now: Timestamp, patience: Patience) -> bool {
        apart(self.reported_at, now) > patience.silence
    }
}

fn apart(one: Timestamp, other: Timestamp) -> Duration {
    one.since(other).max(other.since(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        gap: Duration::from_secs(5),
        silence: Duration::from_secs(13),
        reachable: Duration::from_secs(15),
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_767_225_600 + seconds)
    }

    /// An owner that reported at each of these seconds.
    fn reports(seconds: &[i64]) -> Alive {
        let report = |before, second: &i64| Some(Alive::reported(before, at(*second), PATIENCE));
        seconds.iter().fold(None, report).unwrap()
    }

    #[test]
    fn who_has_reported_for_fifteen_seconds_may_declare_dead() {
        assert!(!reports(&[0, 4, 8, 12]).may_declare_dead(PATIENCE));
        assert!(reports(&[0, 4, 8, 12, 15]).may_declare_dead(PATIENCE));
    }

    #[test]
    fn after_a_gap_the_time_counts_from_its_end() {
        assert!(!reports(&[0, 5, 10, 15, 21, 25, 30, 35]).may_declare_dead(PATIENCE));
        assert!(reports(&[0, 5, 10, 15, 21, 25, 30, 35, 36]).may_declare_dead(PATIENCE));
    }

    #[test]
    fn a_clock_that_was_set_back_is_a_gap() {
        assert!(!reports(&[0, 5, 10, 15, -3_600]).may_declare_dead(PATIENCE));
    }

    #[test]
    fn an_owner_is_dead_after_thirteen_seconds_of_silence() {
        assert!(!reports(&[0]).is_dead(at(13), PATIENCE));
        assert!(reports(&[0]).is_dead(at(14), PATIENCE));
    }

    #[test]
    fn a_report_from_the_future_is_silence() {
        assert!(reports(&[3_600]).is_dead(at(0), PATIENCE));
    }
}
