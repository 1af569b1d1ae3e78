//! The results of a load client run: counts and latencies, as one JSON object.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::answer::Outcome;

const LATENCY_US_MAX: u64 = 120_000_000;
/// More precise than the service's own histograms: results are compared with each other.
const LATENCY_DIGITS: u8 = 3;

/// Counts during a run.
pub(crate) struct Tally {
    counts: Counts,
    statuses: BTreeMap<u16, u64>,
    latencies: Histogram<u64>,
}

/// The number of answers of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// New events.
    pub accepted: u64,
    /// Events that were seen before.
    pub duplicate: u64,
    /// Known ids with a different body.
    pub conflict: u64,
    /// 2xx with an unknown body.
    pub other_success: u64,
    /// Refused permanently.
    pub refused: u64,
    /// 429 and 503.
    pub unavailable: u64,
    /// Other failures.
    pub failed: u64,
    /// Exchanges that broke before an answer.
    pub broken: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Connections that were open.
    pub connections: usize,
    /// From the first request to the last answer.
    pub seconds: f64,
    /// When the first request was sent, in microseconds since the Unix epoch.
    pub started_at_us: u64,
    /// 2xx answers per second.
    pub per_second: f64,
    /// Answers by meaning.
    pub counts: Counts,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Latencies of all answers.
    pub latency: Latency,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    pub p50_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    pub max_us: u64,
}

impl Counts {
    /// All 2xx answers.
    pub fn successes(&self) -> u64 {
        self.accepted + self.duplicate + self.conflict + self.other_success
    }

    /// Everything that was not a 2xx answer.
    pub fn failures(&self) -> u64 {
        self.refused + self.unavailable + self.failed + self.broken
    }

    /// Counts one answer.
    pub fn add(&mut self, outcome: Outcome) {
        let place = match outcome {
            Outcome::Accepted => &mut self.accepted,
            Outcome::Duplicate => &mut self.duplicate,
            Outcome::Conflict => &mut self.conflict,
            Outcome::OtherSuccess => &mut self.other_success,
            Outcome::Refused => &mut self.refused,
            Outcome::Unavailable => &mut self.unavailable,
            Outcome::Failed => &mut self.failed,
        };
        *place += 1;
    }
}

impl Tally {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            counts: Counts::default(),
            statuses: BTreeMap::new(),
            latencies: Histogram::new_with_bounds(1, LATENCY_US_MAX, LATENCY_DIGITS)?,
        })
    }

    /// Counts an answer.
    pub(crate) fn answer(&mut self, status: u16, outcome: Outcome, latency: Duration) {
        self.counts.add(outcome);
        *self.statuses.entry(status).or_default() += 1;
        self.latencies.saturating_record(latency.as_micros() as u64);
    }

    /// Counts an exchange without an answer.
    pub(crate) fn broken(&mut self) {
        self.counts.broken += 1;
    }

    /// The report at the end of a run.
    pub(crate) fn report(&self, connections: usize, took: Duration, started_at_us: u64) -> Report {
        let seconds = took.as_secs_f64();
        let at = |quantile| self.latencies.value_at_quantile(quantile);
        Report {
            connections,
            seconds,
            started_at_us,
            per_second: if seconds > 0.0 {
                self.counts.successes() as f64 / seconds
            } else {
                0.0
            },
            counts: self.counts.clone(),
            statuses: self.statuses.clone(),
            latency: Latency {
                p50_us: at(0.5),
                p90_us: at(0.9),
                p99_us: at(0.99),
                p999_us: at(0.999),
                max_us: self.latencies.max(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_successes_only_and_latencies_count_everything() {
        let mut tally = Tally::new().unwrap();
        for latency_ms in 1..=99 {
            tally.answer(200, Outcome::Accepted, Duration::from_millis(latency_ms));
        }
        tally.answer(503, Outcome::Unavailable, Duration::from_millis(500));
        tally.broken();
        let report = tally.report(1, Duration::from_secs(1), 0);
        assert!((report.per_second - 99.0).abs() < 1e-9);
        assert_eq!(report.counts.failures(), 2);
        assert_eq!(report.statuses, BTreeMap::from([(200, 99), (503, 1)]));
        assert!(
            (49_000..=51_000).contains(&report.latency.p50_us),
            "{:?}",
            report.latency
        );
        assert!(
            (499_000..=501_000).contains(&report.latency.max_us),
            "{:?}",
            report.latency
        );
    }
}
