//! Converts records to spans, in the exporter's task: names, kinds, attributes and status.
//!
//! Attributes are OpenTelemetry's stable ones for HTTP, and `hapax.…`. They never contain a body, a header, a query or
//! a token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hapax_core::problem::Code;
use hapax_core::{AttemptOutcome, ErrorClass, EventId, SourceName, Timestamp};
use hapax_engine::Accepted;
use http::{Method, StatusCode};
use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, TraceFlags};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::SpanTargets;
use super::record::{Address, Record, SpanTarget, What};

/// The instrumentation scope of the spans.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("hapax")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build()
}

pub(super) fn of(record: Record, places: &SpanTargets, scope: &InstrumentationScope) -> SpanData {
    let start = moment(record.start);
    let described = describe(record.what, places);
    let mut links = SpanLinks::default();
    links.links.extend(record.link.map(|(trace, span)| {
        let linked = SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default());
        Link::with_context(linked)
    }));
    SpanData {
        span_context: SpanContext::new(
            record.trace,
            record.span,
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: record.parent.unwrap_or(SpanId::INVALID),
        parent_span_is_remote: record.is_parent_remote && record.parent.is_some(),
        span_kind: described.kind,
        name: described.name.into(),
        start_time: start,
        end_time: start + record.took,
        attributes: described.attributes,
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: described.status,
        instrumentation_scope: scope.clone(),
    }
}

struct Described {
    name: &'static str,
    kind: SpanKind,
    attributes: Vec<KeyValue>,
    status: Status,
}

fn moment(timestamp: Timestamp) -> SystemTime {
    let micros = u64::try_from(timestamp.as_micros()).unwrap_or_default();
    UNIX_EPOCH + Duration::from_micros(micros)
}

fn describe(what: What, places: &SpanTargets) -> Described {
    match what {
        What::Request {
            source,
            method,
            status,
            code,
        } => request(&source, &method, status, code),
        What::Outbox { source, result } => Described {
            name: "outbox",
            kind: SpanKind::Consumer,
            attributes: vec![
                KeyValue::new("messaging.system", "hapax_outbox"),
                KeyValue::new("messaging.operation.type", "receive"),
                KeyValue::new("messaging.destination.name", source.to_string()),
                KeyValue::new("hapax.source", source.to_string()),
                KeyValue::new("hapax.result", result),
            ],
            status: Status::Unset,
        },
        What::Accept { source, accepted } => accept(&source, accepted),
        What::Attempt {
            source,
            event,
            sender_id,
            destination,
            number,
            address,
            status,
            error,
            outcome,
        } => {
            let mut attributes = named(&source, event, sender_id);
            attributes.push(KeyValue::new("hapax.destination", destination.to_string()));
            attributes.push(KeyValue::new("hapax.attempt", i64::from(number)));
            attributes.push(KeyValue::new("hapax.result", result_of(outcome)));
            let known = places.load();
            let place = known.get(&destination).cloned().unwrap_or(SpanTarget::Http(None));
            attributes.extend(reached(place, address, status));
            attributes.extend(error.map(|class| KeyValue::new("error.type", class.as_str())));
            Described {
                name: "attempt",
                kind: SpanKind::Client,
                attributes,
                status: error.map_or(Status::Unset, failed),
            }
        }
    }
}

fn request(source: &SourceName, method: &Method, status: StatusCode, code: Option<Code>) -> Described {
    let mut attributes = vec![
        KeyValue::new("http.request.method", method.to_string()),
        KeyValue::new("http.route", "/in/{source}"),
        KeyValue::new("url.path", format!("/in/{source}")),
        KeyValue::new("url.scheme", "http"),
        KeyValue::new("http.response.status_code", i64::from(status.as_u16())),
        KeyValue::new("hapax.source", source.to_string()),
        KeyValue::new("hapax.result", code.map_or("answered", Code::as_str)),
    ];
    // By the semantic conventions, a client's mistake is not an error of this service.
    let span_status = match code {
        Some(code) if status.is_server_error() => {
            attributes.push(KeyValue::new("error.type", code.as_str()));
            Status::error(code.as_str())
        }
        Some(_) | None => Status::Unset,
    };
    Described {
        name: "request",
        kind: SpanKind::Server,
        attributes,
        status: span_status,
    }
}

fn accept(source: &SourceName, accepted: Accepted) -> Described {
    let result = accepted.status();
    let (event, sender_id, is_duplicate) = match accepted {
        Accepted::New { id, event_id } | Accepted::Quarantined { id, event_id } => (id, event_id, false),
        Accepted::Duplicate { id, event_id, .. } | Accepted::Conflict { id, event_id } => {
            (id, event_id, true)
        }
    };
    let mut attributes = named(source, event, sender_id);
    attributes.push(KeyValue::new("hapax.result", result));
    if is_duplicate {
        attributes.push(KeyValue::new("hapax.event.duplicate_of", event.to_string()));
    }
    Described {
        name: "accept",
        kind: SpanKind::Internal,
        attributes,
        status: Status::Unset,
    }
}

fn named(source: &SourceName, event: EventId, sender_id: String) -> Vec<KeyValue> {
    vec![
        KeyValue::new("hapax.event.id", event.to_string()),
        KeyValue::new("hapax.event.sender_id", sender_id),
        KeyValue::new("hapax.source", source.to_string()),
    ]
}

/// The attributes of the call to a destination: the same facts, under the names for what is called.
fn reached(place: SpanTarget, own: Option<Address>, status: Option<i32>) -> Vec<KeyValue> {
    let status = status.map(i64::from);
    match place {
        SpanTarget::Http(configured) => {
            let mut attributes = vec![KeyValue::new("http.request.method", "POST")];
            if let Some(Address { host, port }) = own.or(configured) {
                attributes.push(KeyValue::new("server.address", host));
                attributes.push(KeyValue::new("server.port", i64::from(port)));
            }
            attributes.extend(status.map(|status| KeyValue::new("http.response.status_code", status)));
            attributes
        }
        SpanTarget::Process => status
            .map(|status| KeyValue::new("process.exit.code", status))
            .into_iter()
            .collect(),
        SpanTarget::Plain => Vec::new(),
    }
}

const fn result_of(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Completed => "completed",
        AttemptOutcome::Retry { .. } => "retry",
        AttemptOutcome::Dead { .. } => "dead",
        AttemptOutcome::Release => "released",
    }
}

fn failed(class: ErrorClass) -> Status {
    Status::error(class.as_str())
}
