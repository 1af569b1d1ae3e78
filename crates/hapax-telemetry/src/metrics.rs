//! The metrics of INTERFACE.md, under the same names.
//!
//! Labels are bounded: sources and destinations come from the configuration, everything else from enums. Requests to a
//! name that no source has are counted under [`UNKNOWN_SOURCE`].

mod alerts;
mod encryption;
mod gauges;
mod outboxes;
mod secrets;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::problem::Code;
use hapax_core::store::{Counts, Subject, TimeRange, TrafficRow};
use hapax_core::{Clock, DestinationId, Owner, Random as _, SourceName, SystemRandom, Timestamp};
use hapax_engine::Observation;
use parking_lot::Mutex;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use hapax_api::views::RetentionView;

use super::catalogue::help;
use super::exposition;
use super::families::{Attempted, DestinationMeter, Families, ReasonLabel, ReceivedLabels, RejectedLabels};
use super::format::Format;
use super::histogram::{Histogram, SECONDS, SIZES};
use super::meter::{Meter, SourceCounts};
use super::refusals::{Refusal, Refusals};
use super::source::SourceMeter;
use super::ten_minutes::TenMinutes;
use super::tls::TlsMeters;
use super::traces::SpanCounts;
use super::traffic::{Tally, TrafficBook};
use super::window::{WINDOW, Window};
use alerts::AlertMeter;
use encryption::EncryptionMeter;
use gauges::Gauges;
use outboxes::OutboxMeter;
use secrets::SecretMeter;

/// The source under which requests to unknown names are counted.
pub const UNKNOWN_SOURCE: &str = "(unknown)";

/// All counters and gauges of the process.
pub struct Metrics {
    clock: Arc<dyn Clock>,
    registry: Mutex<Registry>,
    sources: ArcSwap<HashMap<SourceName, Arc<SourceMeter>>>,
    destinations: ArcSwap<HashMap<DestinationId, Arc<DestinationMeter>>>,
    configured: ArcSwap<Configured>,
    families: Families,
    gauges: Gauges,
    traffic: TrafficBook,
    spans: SpanCounts,
    tls: TlsMeters,
    strangers: Refusals,
    store_batch_size: Histogram,
    store_write_seconds: Histogram,
    store_writes: Window,
    alerts: AlertMeter,
    outboxes: OutboxMeter,
    secrets: SecretMeter,
    encryption: EncryptionMeter,
    purged_events: AtomicU64,
    purged_ledger: AtomicU64,
}

/// The current configuration. Gauges are shown only for its sources and destinations.
#[derive(Clone, Debug, Default)]
struct Configured {
    /// How long each source remembers an id.
    sources: BTreeMap<SourceName, Duration>,
    destinations: BTreeSet<DestinationId>,
}

impl Metrics {
    /// Metrics at zero.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let mut registry = Registry::with_prefix("hapax");
        let families = Families::register(&mut registry);
        let alerts = AlertMeter::register(&mut registry);
        let outboxes = OutboxMeter::register(&mut registry);
        let secrets = SecretMeter::register(&mut registry);
        let encryption = EncryptionMeter::register(&mut registry);
        let gauges = Gauges::register(&mut registry);
        registry.register(
            "build",
            help("hapax_build_info"),
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        let spans = SpanCounts::register(&mut registry);
        let tls = TlsMeters::register(&mut registry);
        let owner = Owner(SystemRandom::new().next_u64());
        Self {
            traffic: TrafficBook::new(Arc::clone(&clock), owner),
            clock,
            registry: Mutex::new(registry),
            sources: ArcSwap::default(),
            destinations: ArcSwap::default(),
            configured: ArcSwap::default(),
            families,
            gauges,
            spans,
            tls,
            strangers: Refusals::default(),
            store_batch_size: Histogram::new(SIZES),
            store_write_seconds: Histogram::new(SECONDS),
            store_writes: Window::default(),
            alerts,
            outboxes,
            secrets,
            encryption,
            purged_events: AtomicU64::new(0),
            purged_ledger: AtomicU64::new(0),
        }
    }

    /// Sets the configured sources, each with how long it remembers an id, and destinations. Counters of earlier ones
    /// are kept, because a counter must not disappear; their gauges are removed.
    pub fn know<'a>(
        &self,
        sources: impl IntoIterator<Item = (&'a SourceName, Duration)>,
        destinations: impl IntoIterator<Item = &'a DestinationId>,
    ) {
        let configured = Configured {
            sources: sources
                .into_iter()
                .map(|(name, window)| (name.clone(), window))
                .collect(),
            destinations: destinations.into_iter().cloned().collect(),
        };
        self.meet(configured.sources.keys());
        let mut known = HashMap::clone(&self.destinations.load());
        for id in &configured.destinations {
            known.entry(id.clone()).or_insert_with(|| {
                let tally = self.tally(Subject::Destination(id.clone()));
                Arc::new(self.families.destination(id.as_str(), tally))
            });
        }
        self.destinations.store(Arc::new(known));
        self.alerts
            .keep_breakers(|id| configured.destinations.contains(id));
        self.configured.store(Arc::new(configured));
    }

    fn meet<'a>(&self, sources: impl IntoIterator<Item = &'a SourceName>) {
        let mut known = HashMap::clone(&self.sources.load());
        for name in sources {
            known
                .entry(name.clone())
                .or_insert_with(|| Arc::new(self.new_source(name)));
        }
        self.sources.store(Arc::new(known));
    }

    /// The meter of a source. Callers that count often should keep it.
    pub fn source(&self, name: &SourceName) -> Arc<SourceMeter> {
        if let Some(meter) = self.sources.load().get(name) {
            return Arc::clone(meter);
        }
        self.meet([name]);
        self.sources
            .load()
            .get(name)
            .map_or_else(|| Arc::new(self.new_source(name)), Arc::clone)
    }

    /// Records a refused request to a name that no source has.
    pub fn strange(&self, refusal: Refusal) {
        self.strangers.push(refusal);
    }

    /// Counts exported and lost spans.
    pub const fn spans(&self) -> &SpanCounts {
        &self.spans
    }

    /// Counts TLS handshakes and certificate reloads.
    pub const fn tls(&self) -> &TlsMeters {
        &self.tls
    }

    /// The data behind the charts.
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

    /// Counts a refused request; `source` is a configured name or [`UNKNOWN_SOURCE`].
    pub fn rejected(&self, source: &str, code: Code) {
        let (source, reason) = (source.to_owned(), code.as_str());
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

    /// Counts a request that was answered with a 5xx status.
    pub fn unavailable(&self, code: Code) {
        let reason = code.as_str();
        self.families
            .unavailable
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    /// The last ten minutes of every configured source and destination.
    pub fn last_ten_minutes(&self) -> TenMinutes {
        let now = self.clock.elapsed();
        let (sources, destinations) = (self.sources.load(), self.destinations.load());
        let configured = self.configured.load();
        let of_source = |name: &SourceName| Some((name.clone(), sources.get(name)?.window.figures(now)));
        let of_destination =
            |id: &DestinationId| Some((id.clone(), destinations.get(id)?.window.figures(now)));
        TenMinutes {
            watched_for: now.min(WINDOW),
            sources: configured.sources.keys().filter_map(of_source).collect(),
            destinations: configured
                .destinations
                .iter()
                .filter_map(of_destination)
                .collect(),
            store_write: self.store_writes.figures(now).took,
        }
    }

    pub(super) fn count(&self, observation: &Observation<'_>) {
        match observation {
            Observation::Arrived {
                source,
                accepted,
                age,
                raw_hash,
                ..
            } => {
                if let Some(meter) = self.sources.load().get(*source) {
                    meter.arrived(accepted, *age, *raw_hash);
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
                outcome,
                ..
            } => {
                if let Some(meter) = self.destinations.load().get(&delivery.destination) {
                    let attempted = Attempted {
                        event: delivery.event.id,
                        outcome: *outcome,
                        took: *took,
                    };
                    meter.attempted(attempted, &*self.clock);
                }
            }
            Observation::Breaker {
                destination,
                open_for,
            } => {
                self.alerts.breaker(destination, *open_for, self.clock.elapsed());
                if let Some(meter) = self.destinations.load().get(*destination) {
                    meter.breaker_is_open.store(open_for.is_some(), Ordering::Relaxed);
                }
            }
            Observation::Purged(purged) => {
                self.purged_events.fetch_add(purged.events, Ordering::Relaxed);
                self.purged_ledger.fetch_add(purged.ledger, Ordering::Relaxed);
            }
            Observation::GivenBack { delivery } => {
                if let Some(meter) = self.destinations.load().get(&delivery.destination) {
                    meter.given_back();
                }
            }
            Observation::LeaseLost { .. }
            | Observation::Unreported { .. }
            | Observation::Rescued { .. }
            | Observation::StoreFailed { .. }
            | Observation::PurgeHeld { .. }
            | Observation::AuditHead { .. }
            | Observation::DuplicatesUncounted { .. } => {}
        }
    }
}

impl Meter for Metrics {
    fn render(&self, counts: &Counts, now: Timestamp, format: Format) -> String {
        let mut text = String::with_capacity(16 * 1024);
        {
            let registry = self.registry.lock();
            self.gauges.set(self, counts, now);
            self.secrets.set();
            // Writing to a String cannot fail.
            let _ = encode_registry(&mut text, &registry);
        }
        if format == Format::Plain {
            text = exposition::plain(&text);
        }
        self.families.write(&mut text, format);
        for (name, histogram) in [
            ("hapax_store_batch_size", &self.store_batch_size),
            ("hapax_store_write_seconds", &self.store_write_seconds),
        ] {
            exposition::single(&mut text, name, help(name), histogram, format);
        }
        if format == Format::OpenMetrics {
            let _ = encode_eof(&mut text);
        }
        text
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn arrivals(&self) -> Vec<SourceCounts> {
        let sources = self.sources.load();
        let arrivals = sources.iter().map(|(name, meter)| SourceCounts {
            source: name.to_string(),
            accepted: meter.accepted.get(),
            duplicates: meter.duplicate.get(),
            conflicts: meter.conflict.get(),
            rejected: meter.rejected.get(),
        });
        arrivals.collect()
    }

    fn traffic_on_top_of(&self, stored: Vec<TrafficRow>, span: TimeRange) -> Vec<TrafficRow> {
        self.traffic.on_top_of(stored, span)
    }

    fn last_ten_minutes(&self) -> TenMinutes {
        // The inherent method of the same name.
        Self::last_ten_minutes(self)
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
mod tests;
