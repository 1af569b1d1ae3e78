//! The labelled counters and histograms, and a meter for each source and destination.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hapax_core::problem::{Code, Port};
use hapax_core::{AttemptOutcome, Clock, EventId};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::bodies::Bodies;
use super::catalogue::help;
use super::exposition::Histograms;
use super::format::Format;
use super::gap::LargestGap;
use super::histogram::{AGES, ATTEMPT_SECONDS, Histogram, SECONDS};
use super::refusals::Refusals;
use super::source::SourceMeter;
use super::traffic::Tally;
use super::window::{Happened, Window};

/// The codes of the ingest port with one of these statuses. Their counters start at zero, because a rate over a counter
/// that appears with its first count misses that count.
fn ingest_codes(statuses: RangeInclusive<u16>) -> impl Iterator<Item = &'static str> {
    let codes = Code::ALL.iter().filter(|code| code.port() == Port::Ingest);
    let codes = codes.filter(move |code| statuses.contains(&code.status()));
    codes.map(|code| code.as_str())
}

/// The results of one destination's attempts.
#[derive(Debug)]
pub(super) struct DestinationMeter {
    completed: Counter,
    retried: Counter,
    dead: Counter,
    released: Counter,
    seconds: Histogram,
    pub(super) breaker_is_open: AtomicBool,
    pub(super) window: Window,
    traffic: Arc<Tally>,
}

/// An attempt to be counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempted {
    pub(super) event: EventId,
    pub(super) outcome: AttemptOutcome,
    pub(super) took: Duration,
}

/// Every metric family, registered once.
pub(super) struct Families {
    pub(super) received: Family<ReceivedLabels, Counter>,
    pub(super) rejected: Family<RejectedLabels, Counter>,
    conflicts_accepted: Family<SourceLabel, Counter>,
    attempts: Family<AttemptLabels, Counter>,
    pub(super) unavailable: Family<ReasonLabel, Counter>,
    ack_seconds: Histograms,
    duplicate_age_seconds: Histograms,
    attempt_seconds: Histograms,
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
pub(super) struct ReasonLabel {
    pub(super) reason: &'static str,
}

impl DestinationMeter {
    /// An attempt was released without having been made.
    pub(super) fn given_back(&self) {
        self.released.inc();
    }

    pub(super) fn attempted(&self, attempted: Attempted, clock: &dyn Clock) {
        let Attempted { event, outcome, took } = attempted;
        self.seconds.observe_event(took.as_secs_f64(), event, clock.now());
        let happened = match outcome {
            AttemptOutcome::Completed => Some(Happened::Completed),
            AttemptOutcome::Retry { .. } => Some(Happened::Failed),
            AttemptOutcome::Dead { .. } => Some(Happened::Died),
            AttemptOutcome::Release => None,
        };
        if let Some(happened) = happened {
            let now = clock.elapsed();
            self.window.count(now, happened);
            self.window.took(now, took);
        }
        match outcome {
            AttemptOutcome::Completed => self.completed.inc(),
            AttemptOutcome::Retry { .. } => self.retried.inc(),
            AttemptOutcome::Dead { .. } => self.dead.inc(),
            AttemptOutcome::Release => self.released.inc(),
        };
        self.traffic.count(|traffic| {
            match outcome {
                AttemptOutcome::Completed => traffic.completed += 1,
                AttemptOutcome::Retry { .. } => traffic.failed += 1,
                AttemptOutcome::Dead { .. } => traffic.dead += 1,
                AttemptOutcome::Release => return,
            }
            traffic.took.count(took);
        });
    }
}

impl Families {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let histograms = |name, label, bounds| Histograms::new(name, help(name), label, bounds);
        let families = Self {
            received: Family::default(),
            rejected: Family::default(),
            conflicts_accepted: Family::default(),
            attempts: Family::default(),
            unavailable: Family::default(),
            ack_seconds: histograms("hapax_ack_seconds", "source", SECONDS),
            duplicate_age_seconds: histograms("hapax_duplicate_age_seconds", "source", AGES),
            attempt_seconds: histograms("hapax_attempt_seconds", "destination", ATTEMPT_SECONDS),
        };
        registry.register(
            "received",
            help("hapax_received_total"),
            families.received.clone(),
        );
        registry.register(
            "rejected",
            help("hapax_rejected_total"),
            families.rejected.clone(),
        );
        registry.register(
            "conflicts_accepted",
            help("hapax_conflicts_accepted_total"),
            families.conflicts_accepted.clone(),
        );
        registry.register(
            "attempts",
            help("hapax_attempts_total"),
            families.attempts.clone(),
        );
        registry.register(
            "unavailable",
            help("hapax_unavailable_total"),
            families.unavailable.clone(),
        );
        for reason in ingest_codes(500..=599) {
            drop(families.unavailable.get_or_create(&ReasonLabel { reason }));
        }
        families
    }

    /// Writes the histograms, which are not in the registry.
    pub(super) fn write(&self, text: &mut String, format: Format) {
        for histograms in [
            &self.ack_seconds,
            &self.duplicate_age_seconds,
            &self.attempt_seconds,
        ] {
            histograms.write(text, format);
        }
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
        for reason in ingest_codes(401..=401) {
            let source = source.clone();
            drop(self.rejected.get_or_create(&RejectedLabels { source, reason }));
        }
        SourceMeter {
            accepted: received("accepted"),
            duplicate: received("duplicate"),
            quarantined: received("quarantined"),
            conflict: received("conflict"),
            conflict_accepted: self.conflicts_accepted.get_or_create_owned(&SourceLabel {
                source: source.clone(),
            }),
            rejected: received("rejected"),
            ack_seconds: self.ack_seconds.of(name),
            duplicate_age_seconds: self.duplicate_age_seconds.of(name),
            gaps: LargestGap::default(),
            window: Window::default(),
            clock,
            traffic,
            refusals: Refusals::default(),
            bodies: Bodies::default(),
        }
    }

    pub(super) fn destination(&self, id: &str, traffic: Arc<Tally>) -> DestinationMeter {
        let attempts = |outcome| {
            let labels = AttemptLabels {
                destination: id.to_owned(),
                outcome,
            };
            self.attempts.get_or_create_owned(&labels)
        };
        DestinationMeter {
            completed: attempts("completed"),
            retried: attempts("retry"),
            dead: attempts("dead"),
            released: attempts("released"),
            seconds: self.attempt_seconds.of(id),
            breaker_is_open: AtomicBool::new(false),
            window: Window::default(),
            traffic,
        }
    }
}
