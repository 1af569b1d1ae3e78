//! The metrics with labels: their names, their help, and a meter for each source and destination.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hapax_core::store::Counts;
use hapax_core::{Clock, Timestamp, Verdict};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::bodies::Bodies;
use super::histogram::{AGES, Histogram, SECONDS};
use super::refusals::Refusals;
use super::source::SourceMeter;
use super::traffic::Tally;
use super::window::{Happened, Window};

/// What one destination's attempts came to.
#[derive(Debug)]
pub(super) struct DestinationMeter {
    completed: Counter,
    retried: Counter,
    dead: Counter,
    released: Counter,
    seconds: Histogram,
    pub(super) window: Window,
    traffic: Arc<Tally>,
}

/// Every family, registered once.
pub(super) struct Families {
    pub(super) received: Family<ReceivedLabels, Counter>,
    pub(super) rejected: Family<RejectedLabels, Counter>,
    ack_seconds: Family<SourceLabel, Histogram, Buckets>,
    duplicate_age_seconds: Family<SourceLabel, Histogram, Buckets>,
    pub(super) dedupe_ratio: Family<SourceLabel, Gauge<f64, AtomicU64>>,
    ledger_entries: Family<SourceLabel, Gauge>,
    attempts: Family<AttemptLabels, Counter>,
    attempt_seconds: Family<DestinationLabel, Histogram, Buckets>,
    backlog: Family<BacklogLabels, Gauge>,
    oldest_pending_seconds: Family<DestinationLabel, Gauge<f64, AtomicU64>>,
    pub(super) breaker_open: Family<DestinationLabel, Gauge>,
    pub(super) unavailable: Family<ReasonLabel, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct SourceLabel {
    pub(super) source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReceivedLabels {
    pub(super) source: String,
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RejectedLabels {
    pub(super) source: String,
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DestinationLabel {
    pub(super) destination: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    destination: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BacklogLabels {
    destination: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReasonLabel {
    pub(super) reason: &'static str,
}

/// Makes histograms with given bounds.
#[derive(Clone, Copy, Debug)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0)
    }
}

impl DestinationMeter {
    pub(super) fn attempted(&self, verdict: Verdict, took: Duration, now: Duration) {
        self.seconds.observe(took.as_secs_f64());
        let happened = match verdict {
            Verdict::Completed => Some(Happened::Completed),
            Verdict::Retry { .. } => Some(Happened::Failed),
            Verdict::Dead { .. } => Some(Happened::Died),
            Verdict::Release => None,
        };
        if let Some(happened) = happened {
            self.window.count(now, happened);
            self.window.took(now, took);
        }
        match verdict {
            Verdict::Completed => self.completed.inc(),
            Verdict::Retry { .. } => self.retried.inc(),
            Verdict::Dead { .. } => self.dead.inc(),
            Verdict::Release => self.released.inc(),
        };
        self.traffic.count(|traffic| {
            match verdict {
                Verdict::Completed => traffic.completed += 1,
                Verdict::Retry { .. } => traffic.failed += 1,
                Verdict::Dead { .. } => traffic.dead += 1,
                Verdict::Release => return,
            }
            traffic.took.count(took);
        });
    }
}

impl Families {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            received: Family::default(),
            rejected: Family::default(),
            ack_seconds: Family::new_with_constructor(Buckets(SECONDS)),
            duplicate_age_seconds: Family::new_with_constructor(Buckets(AGES)),
            dedupe_ratio: Family::default(),
            ledger_entries: Family::default(),
            attempts: Family::default(),
            attempt_seconds: Family::new_with_constructor(Buckets(SECONDS)),
            backlog: Family::default(),
            oldest_pending_seconds: Family::default(),
            breaker_open: Family::default(),
            unavailable: Family::default(),
        };
        registry.register(
            "received",
            "Events and refused requests, by what they were",
            families.received.clone(),
        );
        registry.register(
            "rejected",
            "Refused requests, by the code of the problem",
            families.rejected.clone(),
        );
        registry.register(
            "ack_seconds",
            "From the head of a request to its 2xx",
            families.ack_seconds.clone(),
        );
        registry.register(
            "duplicate_age_seconds",
            "How long after the first a copy came",
            families.duplicate_age_seconds.clone(),
        );
        registry.register(
            "dedupe_ratio",
            "Share of copies among the events of the last ten minutes",
            families.dedupe_ratio.clone(),
        );
        registry.register(
            "ledger_entries",
            "Ids that are remembered",
            families.ledger_entries.clone(),
        );
        registry.register(
            "attempts",
            "Attempts, by what followed",
            families.attempts.clone(),
        );
        registry.register(
            "attempt_seconds",
            "Time of one attempt",
            families.attempt_seconds.clone(),
        );
        registry.register(
            "backlog",
            "Deliveries that are not done, by state",
            families.backlog.clone(),
        );
        registry.register(
            "oldest_pending_seconds",
            "Age of the oldest unfinished delivery",
            families.oldest_pending_seconds.clone(),
        );
        registry.register(
            "breaker_open",
            "1 while a destination gets nothing because it keeps failing",
            families.breaker_open.clone(),
        );
        registry.register(
            "unavailable",
            "Requests answered 503, by the code of the problem",
            families.unavailable.clone(),
        );
        families
    }

    pub(super) fn source(&self, name: &str, traffic: Arc<Tally>, clock: Arc<dyn Clock>) -> SourceMeter {
        let source = name.to_owned();
        let received = |result| {
            let labels = ReceivedLabels {
                source: source.clone(),
                result,
            };
            self.received.get_or_create_owned(&labels)
        };
        let label = SourceLabel {
            source: source.clone(),
        };
        SourceMeter {
            accepted: received("accepted"),
            duplicate: received("duplicate"),
            quarantined: received("quarantined"),
            conflict: received("conflict"),
            rejected: received("rejected"),
            ack_seconds: self.ack_seconds.get_or_create_owned(&label),
            duplicate_age_seconds: self.duplicate_age_seconds.get_or_create_owned(&label),
            window: Window::default(),
            clock,
            traffic,
            refusals: Refusals::default(),
            bodies: Bodies::default(),
        }
    }

    pub(super) fn destination(&self, id: &str, traffic: Arc<Tally>) -> DestinationMeter {
        let destination = id.to_owned();
        let attempts = |outcome| {
            let labels = AttemptLabels {
                destination: destination.clone(),
                outcome,
            };
            self.attempts.get_or_create_owned(&labels)
        };
        let label = DestinationLabel {
            destination: destination.clone(),
        };
        self.breaker_open.get_or_create(&label).set(0);
        DestinationMeter {
            completed: attempts("completed"),
            retried: attempts("retry"),
            dead: attempts("dead"),
            released: attempts("released"),
            seconds: self.attempt_seconds.get_or_create_owned(&label),
            window: Window::default(),
            traffic,
        }
    }

    /// What is in the store now. Cleared first: a destination without a backlog has no row in the counts.
    pub(super) fn set_backlog(&self, counts: &Counts, now: Timestamp) {
        self.backlog.clear();
        self.oldest_pending_seconds.clear();
        self.ledger_entries.clear();
        for backlog in &counts.backlog {
            let destination = backlog.destination.as_str().to_owned();
            let labels = BacklogLabels {
                destination: destination.clone(),
                state: backlog.state.as_str(),
            };
            self.backlog
                .get_or_create(&labels)
                .set(i64::try_from(backlog.count).unwrap_or(i64::MAX));
            if let (true, Some(oldest)) = (backlog.state.is_unfinished(), backlog.oldest) {
                let age = now.since(oldest).as_secs_f64();
                let gauge = self
                    .oldest_pending_seconds
                    .get_or_create_owned(&DestinationLabel { destination });
                gauge.set(gauge.get().max(age));
            }
        }
        for ledger in &counts.ledger {
            let label = SourceLabel {
                source: ledger.scope.as_str().to_owned(),
            };
            self.ledger_entries
                .get_or_create(&label)
                .set(i64::try_from(ledger.entries).unwrap_or(i64::MAX));
        }
    }
}
