//! The metrics of INTERFACE.md, under those very names.
//!
//! Labels are bounded: sources and destinations come from the configuration, everything else from enums. What a
//! stranger sends to a name that no source has is counted under [`UNKNOWN_SOURCE`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use hapax_core::store::{Counts, Span, Subject, TrafficRow};
use hapax_core::{Clock, DestinationId, Owner, Random as _, SourceName, SystemRandom, Timestamp};
use hapax_engine::Observation;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::http::admin::views::RetentionView;
use crate::http::admin::{Arrivals, Meter};

use super::alerts::AlertMeter;
use super::families::{
    DestinationLabel, DestinationMeter, Families, ReasonLabel, ReceivedLabels, RejectedLabels, SourceLabel,
};
use super::histogram::{Histogram, SECONDS, SIZES};
use super::refusals::{Refusal, Refusals};
use super::source::SourceMeter;
use super::traffic::{Tally, TrafficBook};
use super::window::Window;

/// The media type of [`Metrics::render`].
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Requests to names that no source has are counted under this one.
pub const UNKNOWN_SOURCE: &str = "(unknown)";

/// All counters and gauges of the process.
pub struct Metrics {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) registry: Mutex<Registry>,
    pub(super) sources: ArcSwap<HashMap<SourceName, Arc<SourceMeter>>>,
    pub(super) destinations: ArcSwap<HashMap<DestinationId, Arc<DestinationMeter>>>,
    families: Families,
    traffic: TrafficBook,
    strangers: Refusals,
    store_batch_size: Histogram,
    store_write_seconds: Histogram,
    pub(super) store_writes: Window,
    pub(super) alerts: AlertMeter,
    purged_events: AtomicU64,
    purged_ledger: AtomicU64,
}

impl Metrics {
    /// Metrics at zero.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let mut registry = Registry::with_prefix("hapax");
        let families = Families::register(&mut registry);
        let alerts = AlertMeter::register(&mut registry);
        let store_batch_size = Histogram::new(SIZES);
        let store_write_seconds = Histogram::new(SECONDS);
        registry.register(
            "store_batch_size",
            "Events in one durable write",
            store_batch_size.clone(),
        );
        registry.register(
            "store_write_seconds",
            "Time of one durable write",
            store_write_seconds.clone(),
        );
        let owner = Owner(SystemRandom::new().next_u64());
        Self {
            traffic: TrafficBook::new(Arc::clone(&clock), owner),
            clock,
            registry: Mutex::new(registry),
            sources: ArcSwap::default(),
            destinations: ArcSwap::default(),
            families,
            strangers: Refusals::default(),
            store_batch_size,
            store_write_seconds,
            store_writes: Window::default(),
            alerts,
            purged_events: AtomicU64::new(0),
            purged_ledger: AtomicU64::new(0),
        }
    }

    /// Knows these sources and destinations from now on. Those of before are kept: a counter never goes away.
    pub fn know<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a SourceName>,
        destinations: impl IntoIterator<Item = &'a DestinationId>,
    ) {
        let mut known = HashMap::clone(&self.sources.load());
        for name in sources {
            known
                .entry(name.clone())
                .or_insert_with(|| Arc::new(self.new_source(name)));
        }
        self.sources.store(Arc::new(known));
        let mut known = HashMap::clone(&self.destinations.load());
        for id in destinations {
            known.entry(id.clone()).or_insert_with(|| {
                let tally = self.tally(Subject::Destination(id.clone()));
                Arc::new(self.families.destination(id.as_str(), tally))
            });
        }
        self.destinations.store(Arc::new(known));
    }

    /// The meter of a source, to be kept by whoever counts often.
    pub fn source(&self, name: &SourceName) -> Arc<SourceMeter> {
        if let Some(meter) = self.sources.load().get(name) {
            return Arc::clone(meter);
        }
        self.know([name], []);
        self.sources
            .load()
            .get(name)
            .map_or_else(|| Arc::new(self.new_source(name)), Arc::clone)
    }

    /// A request went to a name that no source has.
    pub fn strange(&self, refusal: Refusal) {
        self.strangers.push(refusal);
    }

    /// What the charts are drawn from.
    pub const fn traffic(&self) -> &TrafficBook {
        &self.traffic
    }

    fn new_source(&self, name: &SourceName) -> SourceMeter {
        let tally = self.tally(Subject::Source(name.clone()));
        self.families
            .source(name.as_str(), tally, Arc::clone(&self.clock))
    }

    fn tally(&self, subject: Subject) -> Arc<Tally> {
        self.traffic.tally(subject)
    }

    /// A request was refused; `source` is a configured name or [`UNKNOWN_SOURCE`], `reason` the problem's code.
    pub fn rejected(&self, source: &str, reason: &'static str) {
        let source = source.to_owned();
        let received = ReceivedLabels {
            source: source.clone(),
            result: "rejected",
        };
        self.families.received.get_or_create(&received).inc();
        self.families
            .rejected
            .get_or_create(&RejectedLabels { source, reason })
            .inc();
    }

    /// A request was answered 503; `reason` is the problem's code.
    pub fn unavailable(&self, reason: &'static str) {
        self.families
            .unavailable
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    pub(super) fn count(&self, observation: &Observation<'_>) {
        match observation {
            Observation::Arrived {
                source,
                accepted,
                age,
                ..
            } => {
                if let Some(meter) = self.sources.load().get(*source) {
                    meter.arrived(accepted, *age);
                }
            }
            Observation::StoreWrite { events, took } => {
                self.store_batch_size.observe(*events as f64);
                self.store_write_seconds.observe(took.as_secs_f64());
                self.store_writes.took(self.clock.elapsed(), *took);
            }
            Observation::Attempted {
                delivery,
                took,
                verdict,
                ..
            } => {
                if let Some(meter) = self.destinations.load().get(&delivery.destination) {
                    meter.attempted(*verdict, *took, self.clock.elapsed());
                }
            }
            Observation::Breaker {
                destination,
                open_for,
            } => {
                let now = self.clock.elapsed();
                self.alerts.breaker(destination, *open_for, now);
                let label = DestinationLabel {
                    destination: destination.as_str().to_owned(),
                };
                self.families
                    .breaker_open
                    .get_or_create(&label)
                    .set(i64::from(open_for.is_some()));
            }
            Observation::Purged(purged) => {
                self.purged_events.fetch_add(purged.events, Ordering::Relaxed);
                self.purged_ledger.fetch_add(purged.ledger, Ordering::Relaxed);
            }
            Observation::LeaseLost { .. }
            | Observation::Rescued { .. }
            | Observation::StoreFailed { .. }
            | Observation::PurgeHeld { .. }
            | Observation::DuplicatesUncounted { .. } => {}
        }
    }
}

impl Meter for Metrics {
    fn render(&self, counts: &Counts, now: Timestamp) -> String {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        self.families.set_backlog(counts, now);
        for (name, meter) in self.sources.load().iter() {
            let figures = meter.window.figures(self.clock.elapsed());
            let ratio = figures.dedupe_ratio.unwrap_or_default();
            let label = SourceLabel {
                source: name.as_str().to_owned(),
            };
            self.families.dedupe_ratio.get_or_create(&label).set(ratio);
        }
        let mut text = String::with_capacity(16 * 1024);
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    fn arrivals(&self) -> Vec<Arrivals> {
        let sources = self.sources.load();
        let arrivals = sources.iter().map(|(name, meter)| Arrivals {
            source: name.to_string(),
            accepted: meter.accepted.get(),
            duplicates: meter.duplicate.get(),
            conflicts: meter.conflict.get(),
            rejected: meter.rejected.get(),
        });
        arrivals.collect()
    }

    fn traffic_on_top_of(&self, stored: Vec<TrafficRow>, span: Span) -> Vec<TrafficRow> {
        self.traffic.on_top_of(stored, span)
    }

    fn refusals(&self, source: &str) -> Vec<Refusal> {
        if source == UNKNOWN_SOURCE {
            return self.strangers.newest_first();
        }
        let sources = self.sources.load();
        let meter = sources.get(&SourceName::from(source));
        meter
            .map(|meter| meter.refusals.newest_first())
            .unwrap_or_default()
    }

    fn purged(&self) -> RetentionView {
        RetentionView {
            events_deleted: self.purged_events.load(Ordering::Relaxed),
            ledger_deleted: self.purged_ledger.load(Ordering::Relaxed),
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hapax_core::store::{Backlog, LedgerCount};
    use hapax_core::{BodyHash, DeliveryState, EventIds, Headers, Identity, SystemClock, SystemRandom};
    use hapax_engine::Accepted;

    use super::*;

    fn metrics() -> Metrics {
        let metrics = Metrics::new(Arc::new(SystemClock::default()));
        metrics.know([&"stripe".into()], [&"billing".into()]);
        metrics
    }

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }

    #[test]
    fn every_documented_name_is_there() {
        let metrics = metrics();
        let now = Timestamp::from_seconds(1_000);
        let counts = Counts {
            backlog: vec![Backlog {
                destination: "billing".into(),
                state: DeliveryState::Retrying,
                count: 3,
                oldest: Some(Timestamp::from_seconds(940)),
            }],
            ledger: vec![LedgerCount {
                scope: "stripe".into(),
                entries: 7,
            }],
            ..Counts::default()
        };
        let id = EventIds::default().next(now, Identity::new("stripe", "e").key(), &SystemRandom::new());
        let duplicate = Accepted::Duplicate {
            id,
            event_id: "e".to_owned(),
            first_seen: now,
        };
        let (source, age) = (SourceName::from("stripe"), Duration::from_secs(5));
        metrics.count(&Observation::Arrived {
            source: &source,
            accepted: &duplicate,
            age,
            raw_hash: BodyHash::of(b"{}"),
            headers: &Headers::default(),
        });
        metrics.rejected("stripe", "signature_invalid");
        metrics.rejected(UNKNOWN_SOURCE, "unknown_source");
        metrics.unavailable("overloaded");
        let text = metrics.render(&counts, now);
        for line in [
            "hapax_received_total{source=\"stripe\",result=\"duplicate\"} 1",
            "hapax_received_total{source=\"stripe\",result=\"rejected\"} 1",
            "hapax_rejected_total{source=\"stripe\",reason=\"signature_invalid\"} 1",
            "hapax_rejected_total{source=\"(unknown)\",reason=\"unknown_source\"} 1",
            "hapax_ack_seconds_count{source=\"stripe\"} 0",
            "hapax_attempts_total{destination=\"billing\",outcome=\"completed\"} 0",
            "hapax_attempt_seconds_count{destination=\"billing\"} 0",
            "hapax_backlog{destination=\"billing\",state=\"retrying\"} 3",
            "hapax_oldest_pending_seconds{destination=\"billing\"} 60.0",
            "hapax_duplicate_age_seconds_sum{source=\"stripe\"} 5.0",
            "hapax_dedupe_ratio{source=\"stripe\"} 1.0",
            "hapax_ledger_entries{source=\"stripe\"} 7",
            "hapax_breaker_open{destination=\"billing\"} 0",
            "hapax_unavailable_total{reason=\"overloaded\"} 1",
            "hapax_store_batch_size_count 0",
            "hapax_store_write_seconds_count 0",
        ] {
            has(&text, line);
        }
    }

    #[test]
    fn a_backlog_that_is_gone_is_gone_from_the_gauges() {
        let metrics = metrics();
        let backlog = Backlog {
            destination: "billing".into(),
            state: DeliveryState::Pending,
            count: 1,
            oldest: None,
        };
        let counts = Counts {
            backlog: vec![backlog],
            ..Counts::default()
        };
        has(
            &metrics.render(&counts, Timestamp::default()),
            "hapax_backlog{destination=\"billing\",state=\"pending\"} 1",
        );
        assert!(
            !metrics
                .render(&Counts::default(), Timestamp::default())
                .contains("hapax_backlog{")
        );
    }
}
