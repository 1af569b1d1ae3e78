//! What the log says about what the engine does: one line for each thing an operator may look for, with the event's id.
//!
//! Never a body, a header or a secret. What goes well is `debug`: at thousands of events a second the log would
//! cost more than the work.

use hapax_core::Verdict;
use hapax_engine::Observation;
use tracing::{debug, error, info, warn};

/// Writes at most one line.
pub(super) fn write(observation: &Observation<'_>) {
    match observation {
        Observation::Arrived { source, accepted, .. } => debug!(
            %source,
            id = %accepted.id(),
            event_id = accepted.event_id(),
            status = accepted.status(),
            "event answered"
        ),
        Observation::StoreWrite { events, took } => {
            debug!(events, took_us = took.as_micros() as u64, "batch written");
        }
        Observation::Attempted {
            delivery,
            attempt,
            verdict,
            ..
        } => {
            let event = &delivery.event;
            let (id, event_id, destination, number) = (
                event.id,
                &event.identity.event_id,
                &delivery.destination,
                delivery.attempt,
            );
            let class = attempt.error.map_or("", hapax_core::ErrorClass::as_str);
            let (status, ms) = (attempt.status, attempt.duration_ms);
            let message = attempt.message.as_deref().unwrap_or_default();
            match verdict {
                Verdict::Completed => {
                    debug!(%id, event_id, %destination, attempt = number, status, ms, "delivered");
                }
                Verdict::Retry { after } => warn!(
                    %id, event_id, %destination, attempt = number, status, ms, class, message,
                    retry_in_ms = after.as_millis() as u64, "attempt failed, will try again"
                ),
                Verdict::Dead { reason } => error!(
                    %id, event_id, %destination, attempt = number, status, ms, %reason, message,
                    "delivery is dead; see `hapax dead list` and `hapax replay`"
                ),
                Verdict::Release => info!(
                    %id, event_id, %destination, attempt = number, "attempt given back untried"
                ),
            }
        }
        Observation::LeaseLost { event, destination } => {
            warn!(id = %event, %destination, "lease lost while the attempt ran; it was aborted");
        }
        Observation::Rescued {
            event,
            destination,
            lost,
        } => {
            warn!(id = %event, %destination, lost, "delivery taken back: its worker was gone");
        }
        Observation::Breaker {
            destination,
            open_for: Some(wait),
        } => warn!(
            %destination, open_for_ms = wait.as_millis() as u64,
            "destination keeps failing; deliveries to it wait"
        ),
        Observation::Breaker {
            destination,
            open_for: None,
        } => info!(%destination, "destination works again"),
        Observation::StoreFailed { during, error } => {
            error!(
                during,
                error = &**error as &dyn std::error::Error,
                "the store failed; it will be tried again"
            );
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
        Observation::DuplicatesUncounted { copies } => {
            warn!(
                copies,
                "copies were answered but not counted: too many ids repeat at once"
            );
        }
    }
}
