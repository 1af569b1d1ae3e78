//! Ingestion: a request or an outbox row, and the accepts of its events.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::problem::Code;
use hapax_core::{SourceName, Timestamp};
use hapax_engine::Accepted;
use http::{Method, StatusCode};
use opentelemetry::trace::{SpanId, TraceId};

use super::context::{self, Parent};
use super::record::{Record, What};
use super::{Inner, Tracer, fresh_span, fresh_trace};

/// A request or a row that is being ingested. Does nothing if traces are off.
#[derive(Debug)]
pub struct Journey(Option<Begun>);

#[derive(Debug)]
struct Begun {
    inner: Arc<Inner>,
    parent: Option<Parent>,
    span: SpanId,
    start: Timestamp,
    /// Known once an event is accepted, or from the parent.
    trace: Option<TraceId>,
}

/// How a journey ended.
#[derive(Debug)]
pub enum Ended {
    Request {
        method: Method,
        status: StatusCode,
        /// The problem's code, if the request was refused.
        code: Option<Code>,
    },
    /// A row was relayed, refused or left for later.
    Row { result: &'static str },
}

impl Tracer {
    /// Begins a journey with the parent in `traceparent`.
    pub fn journey(&self, traceparent: Option<&[u8]>, start: Timestamp) -> Journey {
        let Some(inner) = &self.0 else {
            return Journey(None);
        };
        let parent = traceparent.and_then(Parent::parse);
        if parent.is_some_and(|parent| !parent.flags.is_sampled()) {
            return Journey(None);
        }
        Journey(Some(Begun {
            inner: Arc::clone(inner),
            parent,
            span: fresh_span(),
            start,
            trace: parent.map(|parent| parent.trace),
        }))
    }
}

impl Journey {
    /// Whether anything of it is recorded.
    pub const fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Its events are durable. The journey joins the first event's trace. Further events without a parent have separate
    /// traces, with a link to the journey.
    pub fn accepted(&mut self, source: &SourceName, accepted: &[Accepted], start: Timestamp, took: Duration) {
        let Some(begun) = &mut self.0 else { return };
        for answer in accepted {
            let trace = context::trace_of(begun.parent, answer.id());
            let journey = *begun.trace.get_or_insert(trace);
            if !begun.inner.records(begun.parent, trace) {
                continue;
            }
            let is_inside = journey == trace;
            begun.inner.put(Record {
                trace,
                span: span_of(answer),
                parent: is_inside.then_some(begun.span),
                is_parent_remote: false,
                link: (!is_inside).then_some((journey, begun.span)),
                start,
                took,
                what: What::Accept {
                    source: source.clone(),
                    accepted: answer.clone(),
                },
            });
        }
    }

    /// Ends the journey and records its span.
    pub fn ended(self, source: &SourceName, took: Duration, how: Ended) {
        let Some(begun) = self.0 else { return };
        let trace = begun.trace.unwrap_or_else(fresh_trace);
        if !begun.inner.records(begun.parent, trace) {
            return;
        }
        let source = source.clone();
        begun.inner.put(Record {
            trace,
            span: begun.span,
            parent: begun.parent.map(|parent| parent.span),
            is_parent_remote: true,
            link: None,
            start: begun.start,
            took,
            what: match how {
                Ended::Request { method, status, code } => What::Request {
                    source,
                    method,
                    status,
                    code,
                },
                Ended::Row { result } => What::Outbox { source, result },
            },
        });
    }
}

/// Attempts use the accept of the first arrival as their parent. A duplicate causes no attempts, so its accept can have
/// any id.
fn span_of(accepted: &Accepted) -> SpanId {
    match accepted {
        Accepted::New { id, .. } | Accepted::Quarantined { id, .. } => context::accept_span(*id),
        Accepted::Duplicate { .. } | Accepted::Conflict { .. } => fresh_span(),
    }
}
