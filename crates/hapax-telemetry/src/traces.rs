//! Traces: one per event, from the provider's request through accept and every attempt, across processes and hours.
//!
//! ```text
//! request (SERVER) ─► accept (INTERNAL) ─► attempt (CLIENT), one for each ─► the destination's own span
//! outbox (CONSUMER) ─┘
//! ```
//!
//! Nothing is stored for tracing: ids are derived from the event, see [`context`]. Each operation puts a small record
//! into a bounded queue; a separate task converts the records to spans and exports them. If the queue is full, the
//! record is dropped and counted, so that no receiver can slow the service down.

pub mod context;
mod counts;
mod export;
mod journey;
mod post;
mod record;
mod span;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::{Attempt, AttemptOutcome, DestinationId, Leased};
use opentelemetry::trace::{SpanId, TraceId};
use tokio::sync::mpsc;

use context::{Parent, Propagation, Sampler};
pub use counts::SpanCounts;
pub use export::{Exporting, SetupError};
use hapax_config as config;
use hapax_outbound::client::Client;
pub use journey::{Ended, Journey};
pub use record::SpanTarget;
use record::{Record, What};

/// The most spans waiting to be exported: enough for 80,000 per second, more than any store here accepts.
const QUEUE_SPANS_MAX: usize = 16_384;

/// The most spans in progress at once: in the queue, and in one export.
pub const WAITING_SPANS_MAX: u64 = (QUEUE_SPANS_MAX + export::BATCH_SPANS_MAX) as u64;

/// Records spans, if an endpoint is configured. Clones share the same queue.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    sampler: Sampler,
    queue: mpsc::Sender<Record>,
    counts: SpanCounts,
    places: Arc<SpanTargets>,
}

/// What the attempts of each destination call; replaced as a whole on a reload.
type SpanTargets = ArcSwap<HashMap<DestinationId, SpanTarget>>;

impl Tracer {
    /// A tracer and the task that exports its spans.
    pub fn start(
        config: &config::Traces,
        client: Client,
        counts: SpanCounts,
    ) -> Result<(Self, Exporting), SetupError> {
        let (queue, waiting) = mpsc::channel(QUEUE_SPANS_MAX);
        let places = Arc::new(SpanTargets::default());
        let exporting = Exporting::start(config, client, waiting, counts.clone(), Arc::clone(&places))?;
        let inner = Inner {
            sampler: Sampler::keeping(config.sample),
            queue,
            counts,
            places,
        };
        Ok((Self(Some(Arc::new(inner))), exporting))
    }

    /// Whether spans are recorded.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Sets the known destinations.
    pub fn know(&self, places: HashMap<DestinationId, SpanTarget>) {
        if let Some(inner) = &self.0 {
            inner.places.store(Arc::new(places));
        }
    }

    /// How the trace is propagated to destinations.
    pub fn propagation(&self) -> Propagation {
        match &self.0 {
            Some(inner) => Propagation::FromAttempts(inner.sampler),
            None => Propagation::PassOn,
        }
    }

    pub(super) fn attempted(
        &self,
        delivery: &Leased,
        attempt: &Attempt,
        took: Duration,
        outcome: AttemptOutcome,
    ) {
        let Some(inner) = &self.0 else { return };
        let event = &delivery.event;
        let parent = Parent::of(&event.headers);
        let trace = context::trace_of(parent, event.id);
        if !inner.records(parent, trace) {
            return;
        }
        inner.put(Record {
            trace,
            span: context::attempt_span(delivery),
            parent: Some(context::accept_span(event.id)),
            is_parent_remote: false,
            link: None,
            start: attempt.started_at,
            took,
            what: What::Attempt {
                source: event.source.clone(),
                event: event.id,
                sender_id: event.identity.event_id.clone(),
                destination: delivery.destination.clone(),
                number: delivery.attempt,
                address: event
                    .headers
                    .get(hapax_engine::ADDRESS_HEADER)
                    .and_then(record::address_of),
                status: attempt.status,
                error: attempt.error,
                outcome,
            },
        });
    }
}

impl Inner {
    /// Whether to make a record of this trace: it is sampled, and the queue has room.
    fn records(&self, parent: Option<Parent>, trace: TraceId) -> bool {
        if !self.sampler.flags(parent, trace).is_sampled() {
            return false;
        }
        if self.queue.capacity() == 0 {
            self.counts.dropped.inc();
            return false;
        }
        true
    }

    fn put(&self, record: Record) {
        if self.queue.try_send(record).is_err() {
            self.counts.dropped.inc();
        }
    }
}

/// A random span id, for spans whose id nobody derives.
fn fresh_span() -> SpanId {
    SpanId::from_bytes(fastrand::u64(1..).to_be_bytes())
}

/// The id of a trace in which no event was accepted.
fn fresh_trace() -> TraceId {
    TraceId::from_bytes(fastrand::u128(1..).to_be_bytes())
}
