//! The metrics of outboxes.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::catalogue::help;
use crate::outbox_health::Health;

/// The metric families of outboxes.
#[derive(Default)]
pub(super) struct OutboxMeter {
    up: Family<OutboxLabel, Gauge>,
    rows: Family<RowLabels, Gauge>,
    oldest_seconds: Family<OutboxLabel, Gauge<f64, AtomicU64>>,
    hand_overs: Family<ResultLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutboxLabel {
    outbox: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RowLabels {
    outbox: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    outbox: String,
    result: &'static str,
}

impl OutboxMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let meter = Self::default();
        registry.register("outbox_up", help("hapax_outbox_up"), meter.up.clone());
        registry.register("outbox_rows", help("hapax_outbox_rows"), meter.rows.clone());
        registry.register(
            "outbox_oldest_seconds",
            help("hapax_outbox_oldest_seconds"),
            meter.oldest_seconds.clone(),
        );
        registry.register(
            "outbox_relay_results",
            help("hapax_outbox_relay_results_total"),
            meter.hand_overs.clone(),
        );
        meter
    }

    fn set(&self, metrics: &Metrics, health: &Health) {
        let label = OutboxLabel {
            outbox: health.name.clone(),
        };
        self.up
            .get_or_create(&label)
            .set(i64::from(health.trouble.is_none()));
        let Some(counts) = &health.counts else { return };
        for (state, count) in [
            ("pending", counts.pending),
            ("leased", counts.leased),
            ("relayed", counts.relayed),
            ("refused", counts.refused),
        ] {
            let outbox = health.name.clone();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.rows.get_or_create(&RowLabels { outbox, state }).set(count);
        }
        if let Some(oldest) = counts.oldest_at {
            let age = metrics.clock.now().since(oldest).as_secs_f64();
            self.oldest_seconds.get_or_create(&label).set(age);
        }
    }
}

impl Metrics {
    /// Sets the health of all outboxes. Any others are removed.
    pub fn outboxes(&self, all: &[Health]) {
        // No scrape may see the families while they are being filled.
        let _no_scrape = self.registry.lock();
        let meter = &self.outboxes;
        meter.up.clear();
        meter.rows.clear();
        meter.oldest_seconds.clear();
        for health in all {
            meter.set(self, health);
        }
    }

    /// Counts a row of an outbox, with the result of relaying it.
    pub fn outbox_row(&self, outbox: &str, result: &'static str) {
        let outbox = outbox.to_owned();
        self.outboxes
            .hand_overs
            .get_or_create(&ResultLabels { outbox, result })
            .inc();
    }
}
