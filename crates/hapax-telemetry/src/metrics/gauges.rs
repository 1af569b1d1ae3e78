//! The gauges. They are set again for each scrape, so that items removed from the configuration or the store leave no
//! stale values.

use std::sync::atomic::{AtomicU64, Ordering};

use hapax_core::Timestamp;
use hapax_core::store::Counts;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::catalogue::help;
use crate::families::{DestinationLabel, SourceLabel};

type Fraction = Gauge<f64, AtomicU64>;

#[derive(Default)]
pub(super) struct Gauges {
    ledger_window_seconds: Family<SourceLabel, Fraction>,
    duplicate_gap_max_seconds: Family<SourceLabel, Fraction>,
    dedupe_ratio: Family<SourceLabel, Fraction>,
    dedupe_ratio_p95: Family<SourceLabel, Fraction>,
    ledger_entries: Family<SourceLabel, Gauge>,
    attempt_p95_seconds: Family<DestinationLabel, Fraction>,
    backlog: Family<BacklogLabels, Gauge>,
    oldest_pending_seconds: Family<DestinationLabel, Fraction>,
    breaker_open: Family<DestinationLabel, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BacklogLabels {
    destination: String,
    state: &'static str,
}

impl Gauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let gauges = Self::default();
        let sources = [
            ("ledger_window_seconds", &gauges.ledger_window_seconds),
            ("duplicate_gap_max_seconds", &gauges.duplicate_gap_max_seconds),
            ("dedupe_ratio", &gauges.dedupe_ratio),
            ("dedupe_ratio_p95", &gauges.dedupe_ratio_p95),
        ];
        for (name, family) in sources {
            registry.register(name, help(&format!("hapax_{name}")), family.clone());
        }
        let destinations = [
            ("attempt_p95_seconds", &gauges.attempt_p95_seconds),
            ("oldest_pending_seconds", &gauges.oldest_pending_seconds),
        ];
        for (name, family) in destinations {
            registry.register(name, help(&format!("hapax_{name}")), family.clone());
        }
        let (entries, backlog, open) = (&gauges.ledger_entries, &gauges.backlog, &gauges.breaker_open);
        registry.register("ledger_entries", help("hapax_ledger_entries"), entries.clone());
        registry.register("backlog", help("hapax_backlog"), backlog.clone());
        registry.register("breaker_open", help("hapax_breaker_open"), open.clone());
        gauges
    }

    /// Sets the current values of everything in the configuration and in the store.
    pub(super) fn set(&self, metrics: &Metrics, counts: &Counts, now: Timestamp) {
        self.set_sources(metrics);
        self.set_destinations(metrics);
        self.set_backlog(counts, now);
        self.set_ledger(counts);
    }

    fn set_sources(&self, metrics: &Metrics) {
        self.ledger_window_seconds.clear();
        self.duplicate_gap_max_seconds.clear();
        self.dedupe_ratio.clear();
        self.dedupe_ratio_p95.clear();
        let (now, known) = (metrics.clock.elapsed(), metrics.sources.load());
        for (name, window) in &metrics.configured.load().sources {
            let Some(meter) = known.get(name) else { continue };
            let label = SourceLabel {
                source: name.to_string(),
            };
            let figures = meter.window.figures(now);
            set(&self.ledger_window_seconds, &label, window.as_secs_f64());
            let gap = meter.gaps.of_a_day(now);
            set(&self.duplicate_gap_max_seconds, &label, gap.as_secs_f64());
            let ratio = figures.dedupe_ratio.unwrap_or_default();
            set(&self.dedupe_ratio, &label, ratio);
            set(&self.dedupe_ratio_p95, &label, figures.dedupe_ratio_p95);
        }
    }

    fn set_destinations(&self, metrics: &Metrics) {
        self.attempt_p95_seconds.clear();
        self.breaker_open.clear();
        let (now, known) = (metrics.clock.elapsed(), metrics.destinations.load());
        for id in &metrics.configured.load().destinations {
            let Some(meter) = known.get(id) else { continue };
            let label = DestinationLabel {
                destination: id.to_string(),
            };
            let is_open = meter.breaker_is_open.load(Ordering::Relaxed);
            self.breaker_open.get_or_create(&label).set(i64::from(is_open));
            if let Some(p95) = meter.window.figures(now).took.p95 {
                set(&self.attempt_p95_seconds, &label, p95.as_secs_f64());
            }
        }
    }

    fn set_backlog(&self, counts: &Counts, now: Timestamp) {
        self.backlog.clear();
        self.oldest_pending_seconds.clear();
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
    }

    fn set_ledger(&self, counts: &Counts) {
        self.ledger_entries.clear();
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

fn set<L: Clone + std::hash::Hash + Eq>(family: &Family<L, Fraction>, label: &L, value: f64) {
    family.get_or_create(label).set(value);
}
