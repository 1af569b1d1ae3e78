//! The data recorded for a span on the hot path. No strings are built here.

use std::time::Duration;

use hapax_core::problem::Code;
use hapax_core::{AttemptOutcome, DestinationId, ErrorClass, EventId, SourceName, Timestamp};
use hapax_engine::Accepted;
use http::{Method, StatusCode, Uri};
use opentelemetry::trace::{SpanId, TraceId};

/// A span that is not built yet.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) is_parent_remote: bool,
    pub(super) link: Option<(TraceId, SpanId)>,
    pub(super) start: Timestamp,
    pub(super) took: Duration,
    pub(super) what: What,
}

/// The operation that a span represents.
#[derive(Debug)]
pub(super) enum What {
    Request {
        source: SourceName,
        method: Method,
        status: StatusCode,
        /// The problem's code, if the request was refused.
        code: Option<Code>,
    },
    Outbox {
        source: SourceName,
        result: &'static str,
    },
    /// An accepted event.
    Accept { source: SourceName, accepted: Accepted },
    Attempt {
        source: SourceName,
        event: EventId,
        sender_id: String,
        destination: DestinationId,
        number: u32,
        /// The address in the event itself, if it has one.
        address: Option<Address>,
        status: Option<i32>,
        error: Option<ErrorClass>,
        outcome: AttemptOutcome,
    },
}

/// The host and port of a URL, without any part that may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

/// What the spans of a destination's attempts call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanTarget {
    /// An endpoint with its address; `None` if each event has its own.
    Http(Option<Address>),
    /// A program, whose status is an exit code.
    Process,
    /// Anything for which OpenTelemetry's attributes say nothing more.
    Plain,
}

impl SpanTarget {
    /// The endpoint at a URL.
    pub fn http(url: &Uri) -> Self {
        Self::Http(Address::of(url))
    }
}

impl Address {
    fn of(url: &Uri) -> Option<Self> {
        let default = if url.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        Some(Self {
            host: url.host()?.to_owned(),
            port: url.port_u16().unwrap_or(default),
        })
    }
}

/// The address in a URL that an event contains.
pub(super) fn address_of(url: &[u8]) -> Option<Address> {
    Address::of(&Uri::try_from(url).ok()?)
}
