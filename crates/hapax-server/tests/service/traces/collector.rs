//! An OTLP receiver over HTTP: it decodes and keeps the exported spans, and answers as the protocol requires. Debian
//! has no package of a collector.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use bytes::Bytes;
use hapax_telemetry::traces::context::Parent;
use hapax_testkit::{Received, Sink, wire};
use http::Response;
use http_body_util::Full;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

const PROTOBUF: &str = "application/x-protobuf";

pub(super) struct Collector {
    sink: Sink,
    seen: Seen,
}

#[derive(Clone, Default)]
pub(super) struct Seen {
    groups: Vec<ResourceSpans>,
    raw: Vec<Bytes>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let sink = Sink::answering(|_| {
            let answer = ExportTraceServiceResponse::default().encode_to_vec();
            Response::builder()
                .header("content-type", PROTOBUF)
                .body(Full::from(answer))
                .unwrap()
        })
        .await;
        Self {
            sink,
            seen: Seen::default(),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    fn address(&self) -> SocketAddr {
        self.sink.address
    }

    /// Waits until enough was exported.
    pub(super) async fn until(&mut self, enough: impl Fn(&Seen) -> bool) -> Seen {
        while !enough(&self.seen) {
            let export = self.sink.next().await;
            self.take(&export);
        }
        self.seen.clone()
    }

    /// Everything exported so far, including requests that were not read yet.
    pub(super) fn rest(&mut self) -> Seen {
        for export in self.sink.rest() {
            self.take(&export);
        }
        self.seen.clone()
    }

    fn take(&mut self, export: &Received) {
        assert_eq!(export.path, "/v1/traces");
        assert_eq!(export.headers["content-type"], PROTOBUF);
        let request = ExportTraceServiceRequest::decode(export.body.clone()).unwrap();
        self.seen.groups.extend(request.resource_spans);
        self.seen.raw.push(export.body.clone());
    }

    /// Acts as the destination's own tracer: exports a span under the parent that it received.
    pub(super) async fn export_as_the_app(&self, name: &str, parent: Parent) {
        let span = Span {
            trace_id: parent.trace.to_bytes().to_vec(),
            span_id: 7_u64.to_be_bytes().to_vec(),
            parent_span_id: parent.span.to_bytes().to_vec(),
            name: name.to_owned(),
            start_time_unix_nano: 1,
            end_time_unix_nano: 2,
            ..Span::default()
        };
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                scope_spans: vec![ScopeSpans {
                    spans: vec![span],
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        let headers = [("content-type".to_owned(), PROTOBUF.to_owned())];
        let reply = wire::post(self.address(), "/v1/traces", &headers, &request.encode_to_vec()).await;
        assert_eq!(reply.status, 200);
    }
}

impl Seen {
    pub(super) fn spans(&self) -> impl Iterator<Item = &Span> {
        let scopes = self.groups.iter().flat_map(|group| &group.scope_spans);
        scopes.flat_map(|scope| &scope.spans)
    }

    pub(super) fn named(&self, name: &str) -> Vec<&Span> {
        let mut spans: Vec<&Span> = self.spans().filter(|span| span.name == name).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// Whether there is a span with each of these names.
    pub(super) fn has<const COUNT: usize>(&self, names: [&str; COUNT]) -> bool {
        let found: BTreeSet<&str> = self.spans().map(|span| span.name.as_str()).collect();
        names.iter().all(|name| found.contains(name))
    }

    #[track_caller]
    pub(super) fn one(&self, name: &str) -> &Span {
        let [span] = self.named(name)[..] else {
            panic!("not one span `{name}`: {:?}", self.named(name));
        };
        span
    }

    #[track_caller]
    pub(super) fn parent_of(&self, span: &Span) -> &Span {
        let is_parent =
            |other: &&Span| other.span_id == span.parent_span_id && other.trace_id == span.trace_id;
        let found: Vec<&Span> = self.spans().filter(is_parent).collect();
        assert_eq!(found.len(), 1, "the parent of {span:?} in {:?}", self.groups);
        found[0]
    }

    pub(super) fn service(&self) -> String {
        let resources = self.groups.iter().filter_map(|group| group.resource.as_ref());
        let mut attributes = resources.flat_map(|resource| &resource.attributes);
        let found = attributes.find(|attribute| attribute.key == "service.name");
        found.map(shown).unwrap_or_default()
    }

    /// Whether these bytes occur anywhere in the export.
    pub(super) fn raw_contains(&self, wanted: &[u8]) -> bool {
        let holds = |raw: &Bytes| raw.windows(wanted.len()).any(|window| window == wanted);
        self.raw.iter().any(holds)
    }
}

/// An attribute of a span as text; empty if the span does not have it.
pub(super) fn text(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == name);
    found.map(shown).unwrap_or_default()
}

fn shown(attribute: &KeyValue) -> String {
    match &attribute.value {
        Some(AnyValue {
            value: Some(Value::StringValue(text)),
        }) => text.clone(),
        Some(AnyValue {
            value: Some(Value::IntValue(number)),
        }) => number.to_string(),
        other => panic!("{}: {other:?}", attribute.key),
    }
}
