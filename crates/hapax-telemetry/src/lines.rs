//! Log lines about the engine: one for each thing that an operator may look for, with the event's id.
//!
//! Every line about an event uses the same fields, as far as they exist: `event.id`, `event.sender_id`, `source`,
//! `delivery`, `attempt` and `trace_id`. It never contains a body, a header or a secret. Successes are logged at
//! `debug`: at thousands of events per second, the log would cost more than the work. docs/reference/logging.md lists
//! every line.

use hapax_core::store::{self, EventRecord, Rescued};
use hapax_core::{AttemptOutcome, ErrorClass, EventId, Headers, IdOrigin, Leased, SourceName, StoredEvent};
use hapax_engine::{Accepted, Observation};
use opentelemetry::trace::TraceId;
use tracing::{debug, error, info, warn};

use super::chain;
use super::traces::context::{self, Parent};

/// A line about a delivery. Its fields are evaluated only if the line is written.
macro_rules! about {
    ($level:ident, $delivery:expr, $($rest:tt)*) => {
        $level!(
            event.id = %$delivery.event.id,
            event.sender_id = $delivery.event.identity.event_id,
            source = %$delivery.event.source,
            delivery = %$delivery.destination,
            attempt = $delivery.attempt,
            trace_id = %trace_of(&$delivery.event.headers, $delivery.event.id),
            $($rest)*
        )
    };
}

/// A line about a stored event.
macro_rules! whole {
    ($level:ident, $event:expr, $($rest:tt)*) => {
        $level!(
            event.id = %$event.id,
            event.sender_id = $event.identity.event_id,
            source = %$event.source,
            trace_id = %trace_of(&$event.headers, $event.id),
            $($rest)*
        )
    };
}

/// Writes at most one line.
pub(super) fn write(observation: &Observation<'_>) {
    match observation {
        Observation::Arrived {
            source,
            accepted,
            headers,
            ..
        } => arrived(source, accepted, headers),
        Observation::StoreWrite { events, took } => {
            debug!(events, took_us = took.as_micros() as u64, "batch written");
        }
        Observation::Attempted {
            delivery,
            attempt,
            outcome,
            ..
        } => attempted(delivery, attempt, *outcome),
        Observation::LeaseLost { delivery } => {
            about!(warn, delivery, "lease lost while the attempt ran; it was aborted");
        }
        Observation::GivenBack { delivery } => {
            about!(info, delivery, "attempt released");
        }
        Observation::Unreported { attempts } => warn!(
            attempts,
            "this process could not report to the store for ten seconds that it is alive; in-flight attempts were released"
        ),
        Observation::Rescued { rescued, record } => taken_back(rescued, *record),
        Observation::Breaker {
            destination,
            open_for: Some(wait),
        } => warn!(
            delivery = %destination, open_for_ms = wait.as_millis() as u64,
            "destination keeps failing; deliveries to it wait"
        ),
        Observation::Breaker {
            destination,
            open_for: None,
        } => info!(delivery = %destination, "destination works again"),
        Observation::StoreFailed {
            during,
            error: store::Error::Unsupported { message },
        } => error!(
            during,
            error = message,
            "the store does not support an operation that Hapax needs; retrying will not help"
        ),
        Observation::StoreFailed { during, error } => {
            error!(during, error = chain(*error), "the store failed; retrying");
        }
        Observation::Purged(purged) => {
            debug!(
                events = purged.events,
                ledger = purged.ledger,
                "expired entries deleted"
            );
        }
        Observation::PurgeHeld { disagreement } => warn!(
            by_seconds = disagreement.as_secs(),
            "wall clock and monotonic clock disagree; nothing is deleted until they agree or the service restarts"
        ),
        Observation::AuditHead { head } => {
            info!(%head, "audit entry written");
        }
        Observation::DuplicatesUncounted { duplicates } => {
            warn!(
                duplicates,
                "duplicates were answered but not counted: too many ids repeat at once"
            );
        }
    }
}

/// An operator replayed an event.
pub fn replayed(event: &StoredEvent, deliveries: u32, who: &str) {
    whole!(info, event, deliveries, who, "event replayed");
}

/// An operator turned a conflicting body into a separate event.
pub fn released(event: &StoredEvent, first: EventId, who: &str) {
    whole!(
        info,
        event,
        %first,
        who,
        "conflicting body released as a separate event"
    );
}

fn arrived(source: &SourceName, accepted: &Accepted, headers: &Headers) {
    let id = accepted.id();
    match accepted {
        Accepted::New { event_id, .. } if IdOrigin::of(event_id) == IdOrigin::Conflict => info!(
            event.id = %id, event.sender_id = event_id, %source, trace_id = %trace_of(headers, id),
            "conflicting body accepted as a separate event"
        ),
        Accepted::New { event_id, .. } | Accepted::Duplicate { event_id, .. } => debug!(
            event.id = %id, event.sender_id = event_id, %source, trace_id = %trace_of(headers, id),
            status = accepted.status(), "event answered"
        ),
        Accepted::Quarantined { event_id, .. } => warn!(
            event.id = %id, event.sender_id = event_id, %source, trace_id = %trace_of(headers, id),
            "event has no id; it is quarantined until you replay it"
        ),
        Accepted::Conflict { event_id, .. } => warn!(
            event.id = %id, event.sender_id = event_id, %source, trace_id = %trace_of(headers, id),
            "conflicting body stored: its id is known with another body"
        ),
    }
}

fn attempted(delivery: &Leased, attempt: &hapax_core::Attempt, outcome: AttemptOutcome) {
    let class = attempt.error.map_or("", ErrorClass::as_str);
    let (status, ms) = (attempt.status, attempt.duration_ms);
    let error = said(attempt);
    match outcome {
        AttemptOutcome::Completed => about!(debug, delivery, status, ms, "delivered"),
        AttemptOutcome::Retry { after } => about!(
            warn,
            delivery,
            status,
            ms,
            class,
            error,
            retry_in_ms = after.as_millis() as u64,
            "attempt failed; it will be retried"
        ),
        AttemptOutcome::Dead { reason } => about!(
            error,
            delivery,
            status,
            ms,
            %reason,
            error,
            "delivery is dead; see `hapax dead list` and `hapax replay`"
        ),
        AttemptOutcome::Release => about!(info, delivery, "attempt released"),
    }
}

/// The error message. A database may quote the event in its message, so only the first part is written, such as
/// `SQLSTATE 22P02`.
fn said(attempt: &hapax_core::Attempt) -> &str {
    let message = attempt.message.as_deref().unwrap_or_default();
    match attempt.error {
        Some(ErrorClass::Sql) => message.split(':').next().unwrap_or_default(),
        Some(
            ErrorClass::Connect
            | ErrorClass::Timeout
            | ErrorClass::Status
            | ErrorClass::Refused
            | ErrorClass::Protocol
            | ErrorClass::Blocked
            | ErrorClass::Exit
            | ErrorClass::Lost
            | ErrorClass::Shutdown
            | ErrorClass::SameBody,
        )
        | None => message,
    }
}

fn taken_back(rescued: &Rescued, record: Option<&EventRecord>) {
    let Some(EventRecord { event, .. }) = record else {
        warn!(
            event.id = %rescued.event, delivery = %rescued.destination, attempt = rescued.attempt, lost = rescued.lost,
            "delivery reclaimed: its worker is gone"
        );
        return;
    };
    warn!(
        event.id = %rescued.event,
        event.sender_id = event.identity.event_id,
        source = %event.source,
        delivery = %rescued.destination,
        attempt = rescued.attempt,
        trace_id = %trace_of(&event.headers, event.id),
        lost = rescued.lost,
        "delivery reclaimed: its worker is gone"
    );
}

fn trace_of(headers: &Headers, event: EventId) -> TraceId {
    context::trace_of(Parent::of(headers), event)
}
