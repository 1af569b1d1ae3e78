//! Traffic over time: what each source received and each destination answered, in slots of three lengths.
//!
//! A process sums in memory and writes its own rows, each as a whole: writing a row again changes nothing, and no
//! replica waits for another. Readers add up the rows of all processes. A crash loses the sums that were not yet
//! written.

mod redelivered;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DestinationId, Owner, SourceName, Timestamp};

pub use redelivered::Redelivered;

/// The time range of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TimeRange {
    /// The last hour, by minute.
    #[serde(rename = "1h")]
    Hour,
    /// The last day, by quarter of an hour.
    #[serde(rename = "24h")]
    Day,
    /// The last week, by hour.
    #[serde(rename = "7d")]
    Week,
}

impl TimeRange {
    /// Every range.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The range's name, as used in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// The length of one slot.
    pub const fn step(self) -> Duration {
        Duration::from_secs(match self {
            Self::Hour => 60,
            Self::Day => 15 * 60,
            Self::Week => 60 * 60,
        })
    }

    /// The number of slots in the range.
    pub const fn slots(self) -> u64 {
        match self {
            Self::Hour => 60,
            Self::Day => 96,
            Self::Week => 168,
        }
    }

    /// The start of the slot that contains a moment.
    pub const fn slot_of(self, at: Timestamp) -> Timestamp {
        let step = self.step().as_micros() as i64;
        Timestamp::from_micros(at.as_micros().div_euclid(step) * step)
    }

    /// The start of the oldest slot that is still shown at a moment.
    pub fn oldest(self, now: Timestamp) -> Timestamp {
        self.slot_of(now).minus(self.step() * (self.slots() as u32 - 1))
    }
}

impl std::str::FromStr for TimeRange {
    type Err = NotATimeRange;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|span| span.as_str() == text)
            .ok_or_else(|| NotATimeRange(text.to_owned()))
    }
}

/// The string is not a time range.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a range; use one of 1h, 24h, 7d")]
pub struct NotATimeRange(String);

/// The traffic of one source or destination in one slot, as seen by one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficRow {
    /// The range, which determines the length of the slot.
    pub range: TimeRange,
    /// The start of the slot.
    pub slot: Timestamp,
    /// The source or destination.
    pub subject: Subject,
    /// The process that counted.
    pub owner: Owner,
    /// The sums for the slot.
    pub traffic: Traffic,
}

/// The subject of a traffic row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A source.
    Source(SourceName),
    /// A destination.
    Destination(DestinationId),
}

impl Subject {
    /// The stored form: `s:NAME` or `d:ID`.
    pub fn to_text(&self) -> String {
        match self {
            Self::Source(name) => format!("s:{name}"),
            Self::Destination(id) => format!("d:{id}"),
        }
    }

    /// Parses the output of [`Self::to_text`].
    pub fn from_text(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("s", name) => Some(Self::Source(name.into())),
            ("d", id) => Some(Self::Destination(id.into())),
            _ => None,
        }
    }
}

/// The sums for one slot. For a source: requests received, duplicates and response times. For a destination: results of
/// attempts and their durations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// New events.
    #[serde(skip_serializing_if = "is_zero")]
    pub accepted: u64,
    /// Duplicates.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Conflicting bodies.
    #[serde(skip_serializing_if = "is_zero")]
    pub conflicts: u64,
    /// Refused requests.
    #[serde(skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// The largest gap between a first event and its latest duplicate, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub gap_ms_max: u64,
    /// Attempts that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub completed: u64,
    /// Attempts that failed and will be retried.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Attempts after which the delivery was dead.
    #[serde(skip_serializing_if = "is_zero")]
    pub dead: u64,
    /// How long responses or attempts took.
    #[serde(skip_serializing_if = "Durations::is_empty")]
    pub took: Durations,
    /// How long after the first event each duplicate arrived.
    #[serde(skip_serializing_if = "Durations::is_empty")]
    pub gaps: Durations,
    /// The ids with the most duplicates.
    #[serde(skip_serializing_if = "Redelivered::is_empty")]
    pub redelivered: Redelivered,
    /// New events whose exact body arrived shortly before under another id.
    #[serde(rename = "twins", skip_serializing_if = "is_zero")]
    pub same_bodies: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Traffic {
    /// Adds the sums of `other`.
    pub fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.duplicates += other.duplicates;
        self.conflicts += other.conflicts;
        self.rejected += other.rejected;
        self.gap_ms_max = self.gap_ms_max.max(other.gap_ms_max);
        self.completed += other.completed;
        self.failed += other.failed;
        self.dead += other.dead;
        self.took.add(&other.took);
        self.gaps.add(&other.gaps);
        self.redelivered.add(&other.redelivered);
        self.same_bodies += other.same_bodies;
    }
}

/// Counts of durations in buckets an eighth of an octave wide: a percentile is accurate to within 10%. A map instead
/// of an HDR histogram, because every minute of every source is stored, as JSON, and most buckets are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Durations(BTreeMap<u16, u64>);

impl Durations {
    /// Buckets per doubling.
    const PER_OCTAVE: u32 = 8;
    /// The last bucket, at 35 years: longer than any ledger remembers.
    const CLASS_MAX: f64 = 400.0;

    /// Counts one duration.
    pub fn count(&mut self, took: Duration) {
        *self.0.entry(Self::class(took)).or_default() += 1;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (class, count) in &other.0 {
            *self.0.entry(*class).or_default() += count;
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of durations counted.
    pub fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// The duration that this share of all durations (0 to 1) did not exceed; `None` if nothing was counted.
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.len() as f64 * share).ceil() as u64).max(1);
        let mut passed = 0;
        self.0.iter().find_map(|(class, count)| {
            passed += count;
            (passed >= rank).then(|| Self::upper(*class))
        })
    }

    /// Every non-empty bucket: a duration in its middle, and its count.
    pub fn classes(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.0
            .iter()
            .map(|(class, count)| (Self::boundary(f64::from(*class) - 0.5), *count))
    }

    fn class(took: Duration) -> u16 {
        let micros = (took.as_micros() as f64).max(1.0);
        (micros.log2() * f64::from(Self::PER_OCTAVE))
            .ceil()
            .clamp(0.0, Self::CLASS_MAX) as u16
    }

    fn upper(class: u16) -> Duration {
        Self::boundary(f64::from(class))
    }

    fn boundary(class: f64) -> Duration {
        let micros = (class / f64::from(Self::PER_OCTAVE)).exp2();
        Duration::from_micros(micros.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_within_a_tenth() {
        let mut durations = Durations::default();
        assert_eq!(durations.percentile(0.5), None);
        for millis in 1..=1_000 {
            durations.count(Duration::from_millis(millis));
        }
        for (share, millis) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = durations.percentile(share).unwrap().as_secs_f64() * 1_000.0;
            assert!(
                (found / millis - 1.0).abs() < 0.1,
                "{share}: {found} for {millis}"
            );
        }
        assert_eq!(durations.len(), 1_000);
    }

    #[test]
    fn gaps_of_two_months_are_told_apart() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let mut durations = Durations::default();
        for gap in [days(14), days(30), days(60)] {
            durations.count(gap);
        }
        let found: Vec<u64> = durations
            .classes()
            .map(|(middle, _)| middle.as_secs() / 86_400)
            .collect();
        assert_eq!(found.len(), 3, "{found:?}");
        for (found, real) in found.iter().zip([14.0_f64, 30.0, 60.0]) {
            assert!((*found as f64 / real - 1.0).abs() < 0.12, "{found} for {real}");
        }
    }

    #[test]
    fn a_row_of_an_older_version_reads() {
        let old: Traffic = serde_json::from_str(r#"{"accepted":2,"duplicates":1,"gap_ms_max":7}"#).unwrap();
        assert_eq!((old.accepted, old.same_bodies, old.gaps.is_empty()), (2, 0, true));
        assert!(old.redelivered.is_empty());
    }

    #[test]
    fn sums_of_two_processes_add_up_and_read_back() {
        let mut one = Traffic {
            accepted: 2,
            gap_ms_max: 7,
            ..Traffic::default()
        };
        one.took.count(Duration::from_millis(3));
        let mut sum = one.clone();
        sum.add(&one);
        assert_eq!((sum.accepted, sum.gap_ms_max, sum.took.len()), (4, 7, 2));
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Traffic>(&text).unwrap(), one);
        assert!(!text.contains("dead"), "zero values are not serialised: {text}");
    }

    #[test]
    fn slots_begin_on_the_step_and_a_span_ends_with_the_one_that_is_now() {
        let now = Timestamp::from_seconds(1_767_225_600 + 3_661);
        assert_eq!(
            TimeRange::Hour.slot_of(now),
            Timestamp::from_seconds(1_767_225_600 + 3_660)
        );
        assert_eq!(
            TimeRange::Week.slot_of(now),
            Timestamp::from_seconds(1_767_225_600 + 3_600)
        );
        assert_eq!(
            TimeRange::Hour.oldest(now),
            Timestamp::from_seconds(1_767_225_600 + 3_660 - 59 * 60)
        );
        for span in TimeRange::ALL {
            assert_eq!(span.as_str().parse::<TimeRange>().unwrap(), span);
        }
    }

    #[test]
    fn a_subject_reads_back_whatever_its_name() {
        for subject in [
            Subject::Source("a:b".into()),
            Subject::Destination("outbox:app".into()),
        ] {
            assert_eq!(Subject::from_text(&subject.to_text()), Some(subject));
        }
        assert_eq!(Subject::from_text("x:y"), None);
    }
}
