//! What is written down of a span while the work goes on: no text is put together here, only kept.

use std::time::Duration;

use hapax_core::{AttemptOutcome, DestinationId, ErrorClass, EventId, SourceName, Timestamp};
use hapax_engine::Accepted;
use http::{Method, StatusCode, Uri};
use opentelemetry::trace::{SpanId, TraceId};

use hapax_config::{Destination, Kind};

/// One span, before it is made.
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

/// What a span is of.
#[derive(Debug)]
pub(super) enum What {
    /// A request to a source.
    Request {
        source: SourceName,
        method: Method,
        status: StatusCode,
        /// The problem's, if it was refused.
        code: Option<&'static str>,
    },
    /// A row of an outbox.
    Outbox {
        source: SourceName,
        result: &'static str,
    },
    /// An event that was answered for.
    Accept { source: SourceName, accepted: Accepted },
    /// A try.
    Attempt {
        source: SourceName,
        event: EventId,
        sender_id: String,
        destination: DestinationId,
        number: u32,
        /// Where the event itself says it goes.
        address: Option<Address>,
        status: Option<i32>,
        error: Option<ErrorClass>,
        outcome: AttemptOutcome,
    },
}

/// Host and port of a URL, without anything that may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

/// What a destination is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanTarget {
    /// An endpoint; its address, unless each event says its own.
    Http(Option<Address>),
    /// A program.
    Command,
    /// A database.
    Sql,
}

impl SpanTarget {
    /// What a destination of the configuration is.
    pub fn of(destination: &Destination) -> Self {
        match &destination.kind {
            Kind::Http { url, .. } => Self::Http(Address::of(url)),
            Kind::Command { .. } => Self::Command,
            Kind::Sql(_) => Self::Sql,
        }
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

/// The address in a URL that an event brings along.
pub(super) fn address_of(url: &[u8]) -> Option<Address> {
    Address::of(&Uri::try_from(url).ok()?)
}
