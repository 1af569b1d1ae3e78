//! The metrics of alerts, and measurements that only alerts need.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hapax_core::DestinationId;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::catalogue::help;

/// The alert metrics, and since when each open breaker has been open.
#[derive(Debug, Default)]
pub(super) struct AlertMeter {
    firing: Family<AlertLabels, Gauge>,
    messages: Family<MessageLabels, Counter>,
    breakers: Mutex<HashMap<DestinationId, Duration>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AlertLabels {
    alert: &'static str,
    subject: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    receiver: String,
    result: &'static str,
}

impl AlertMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let meter = Self::default();
        registry.register("alert_firing", help("hapax_alert_firing"), meter.firing.clone());
        registry.register(
            "alert_messages",
            help("hapax_alert_messages_total"),
            meter.messages.clone(),
        );
        meter
    }

    /// A breaker opened, stays open after a probe, or closed (`None`).
    pub(super) fn breaker(&self, destination: &DestinationId, open_for: Option<Duration>, now: Duration) {
        let mut breakers = self.breakers.lock();
        match open_for {
            Some(_) => drop(breakers.entry(destination.clone()).or_insert(now)),
            None => drop(breakers.remove(destination)),
        }
    }

    /// Forgets the breakers of destinations that are no longer configured.
    pub(super) fn keep_breakers(&self, is_configured: impl Fn(&DestinationId) -> bool) {
        let mut breakers = self.breakers.lock();
        breakers.retain(|id, _| is_configured(id));
    }
}

impl Metrics {
    /// Sets the firing alerts, by rule and subject. All others are cleared.
    pub fn alerts_firing(&self, firing: Vec<(&'static str, String)>) {
        // No scrape may see the family while it is being filled.
        let _no_scrape = self.registry.lock();
        self.alerts.firing.clear();
        for (alert, subject) in firing {
            self.alerts
                .firing
                .get_or_create(&AlertLabels { alert, subject })
                .set(1);
        }
    }

    /// Counts a message to a receiver, with its result.
    pub fn alert_message(&self, receiver: &str, result: &'static str) {
        let receiver = receiver.to_owned();
        self.alerts
            .messages
            .get_or_create(&MessageLabels { receiver, result })
            .inc();
    }

    /// How long each open breaker has been open, including time spent on probes.
    pub fn open_breakers(&self) -> BTreeMap<DestinationId, Duration> {
        let now = self.clock.elapsed();
        let breakers = self.alerts.breakers.lock();
        breakers
            .iter()
            .map(|(id, since)| (id.clone(), now.saturating_sub(*since)))
            .collect()
    }
}
