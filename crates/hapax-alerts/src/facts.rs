//! The input of the rules: the figures of this process and of the store. Every query to the store has a time limit; if
//! one is not answered, the facts that depend on it stay unknown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{Counts, Subject, TimeRange, TrafficRow};
use hapax_core::{Backend, Clock, DestinationId, SourceName, Timestamp};
use parking_lot::Mutex;

use super::plan::Plan;
use hapax_delivery::outbox::{Health, Outboxes};
use hapax_telemetry::Meter as _;
use hapax_telemetry::{Metrics, TenMinutes};

/// How long the store may take to answer.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How many times as long as counting took the counts are reused, so that little of the store's time goes into
/// counting.
const COUNTS_STAND: u32 = 20;
/// The longest that counts are reused.
const COUNTS_STAND_MAX: Duration = Duration::from_secs(60);
/// A day of traffic may be many rows, and its longest gap rarely changes.
const GAPS_STAND: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) now: Timestamp,
    /// The figures of this process.
    pub(super) ten_minutes: TenMinutes,
    /// How long each breaker of this process has been open.
    pub(super) breakers: BTreeMap<DestinationId, Duration>,
    /// `None`: the store did not answer.
    pub(super) counts: Option<Counts>,
    /// The longest gap between an event and a duplicate of it within a day, seen by any replica. `None`: the store did
    /// not answer.
    pub(super) gaps: Option<BTreeMap<SourceName, Duration>>,
    /// How long each source's ids are remembered.
    pub(super) windows: BTreeMap<SourceName, Duration>,
    /// The display name of each destination.
    pub(super) names: BTreeMap<DestinationId, String>,
    /// The health of the outboxes.
    pub(super) outboxes: Vec<Health>,
}

impl Facts {
    /// The display name of a destination; its id if it is no longer configured.
    pub(super) fn name_of(&self, id: &DestinationId) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// Gathers facts, and caches those that are expensive.
pub(super) struct Gatherer {
    pub(super) store: Arc<dyn Backend>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: Arc<dyn Clock>,
    outboxes: Option<Arc<Outboxes>>,
    counts: Mutex<Option<Standing<Counts>>>,
    gaps: Mutex<Option<Standing<BTreeMap<SourceName, Duration>>>>,
}

/// A cached answer and its expiry.
#[derive(Clone, Debug)]
struct Standing<T> {
    answer: T,
    until: Duration,
}

impl Gatherer {
    pub(super) fn new(
        store: Arc<dyn Backend>,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        outboxes: Option<Arc<Outboxes>>,
    ) -> Self {
        Self {
            store,
            metrics,
            clock,
            outboxes,
            counts: Mutex::default(),
            gaps: Mutex::default(),
        }
    }

    pub(super) async fn gather(&self, plan: &Plan) -> Facts {
        let (counts, gaps) = tokio::join!(self.counts(), self.gaps());
        Facts {
            now: self.clock.now(),
            ten_minutes: self.metrics.last_ten_minutes(),
            breakers: self.metrics.open_breakers(),
            counts,
            gaps,
            windows: plan.windows.clone(),
            names: plan.names.clone(),
            outboxes: self.outboxes.iter().flat_map(|all| all.health()).collect(),
        }
    }

    async fn counts(&self) -> Option<Counts> {
        if let Some(counts) = standing(&self.counts, self.clock.elapsed()) {
            return Some(counts);
        }
        let asked = self.clock.elapsed();
        let counts = tokio::time::timeout(ANSWER_TIMEOUT, self.store.counts()).await;
        let counts = counts.ok()?.ok()?;
        let now = self.clock.elapsed();
        let stands = (now.saturating_sub(asked) * COUNTS_STAND).min(COUNTS_STAND_MAX);
        keep(&self.counts, counts.clone(), now + stands);
        Some(counts)
    }

    async fn gaps(&self) -> Option<BTreeMap<SourceName, Duration>> {
        if let Some(gaps) = standing(&self.gaps, self.clock.elapsed()) {
            return Some(gaps);
        }
        let rows = tokio::time::timeout(ANSWER_TIMEOUT, self.store.traffic(TimeRange::Day)).await;
        let rows = self.metrics.traffic_on_top_of(rows.ok()?.ok()?, TimeRange::Day);
        let oldest = TimeRange::Day.oldest(self.clock.now());
        let gaps = longest_gaps(rows.iter().filter(|row| row.slot >= oldest));
        keep(&self.gaps, gaps.clone(), self.clock.elapsed() + GAPS_STAND);
        Some(gaps)
    }
}

fn longest_gaps<'a>(rows: impl Iterator<Item = &'a TrafficRow>) -> BTreeMap<SourceName, Duration> {
    let mut gaps: BTreeMap<SourceName, Duration> = BTreeMap::new();
    for row in rows {
        if let Subject::Source(source) = &row.subject {
            let gap = Duration::from_millis(row.traffic.gap_ms_max);
            let longest = gaps.entry(source.clone()).or_default();
            *longest = gap.max(*longest);
        }
    }
    gaps
}

fn standing<T: Clone>(place: &Mutex<Option<Standing<T>>>, now: Duration) -> Option<T> {
    let kept = place.lock();
    let standing = kept.as_ref().filter(|kept| now < kept.until);
    standing.map(|kept| kept.answer.clone())
}

fn keep<T>(place: &Mutex<Option<Standing<T>>>, answer: T, until: Duration) {
    *place.lock() = Some(Standing { answer, until });
}
