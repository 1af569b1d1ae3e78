//! The meters of one source, resolved once, so that counting an event takes only a few additions.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::{BodyHash, Clock, EventId, IdOrigin, Timestamp};
use hapax_engine::Accepted;
use prometheus_client::metrics::counter::Counter;

use super::bodies::Bodies;
use super::gap::LargestGap;
use super::histogram::Histogram;
use super::refusals::{Refusal, Refusals};
use super::traffic::Tally;
use super::window::{Happened, Window};

/// Counts the requests of one source.
pub struct SourceMeter {
    pub(super) accepted: Counter,
    pub(super) duplicate: Counter,
    pub(super) quarantined: Counter,
    pub(super) conflict: Counter,
    pub(super) conflict_accepted: Counter,
    pub(super) rejected: Counter,
    pub(super) ack_seconds: Histogram,
    pub(super) duplicate_age_seconds: Histogram,
    pub(super) gaps: LargestGap,
    pub(super) window: Window,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) traffic: Arc<Tally>,
    pub(super) refusals: Refusals,
    pub(super) bodies: Bodies,
}

impl SourceMeter {
    /// A request was acknowledged this long after its head was read, at the monotonic time `now`. `event` is the first
    /// event in it, if any.
    pub fn acknowledged(&self, after: Duration, now: Duration, event: Option<EventId>) {
        let at = self.clock.now();
        match event {
            Some(event) => self.ack_seconds.observe_event(after.as_secs_f64(), event, at),
            None => self.ack_seconds.observe(after.as_secs_f64()),
        }
        self.window.took(now, after);
        self.traffic.count_at(at, |traffic| traffic.took.count(after));
    }

    pub fn refused(&self, refusal: Refusal) {
        self.traffic.count(|traffic| traffic.rejected += 1);
        if refusal.code.status() == http::StatusCode::UNAUTHORIZED.as_u16() {
            self.window.count(self.clock.elapsed(), Happened::Unproven);
        }
        self.refusals.push(refusal);
    }

    /// Adds the likely mistake to a request that is or will be refused, identified by its arrival time.
    pub fn explain(&self, received_at: Timestamp, likely: String) {
        self.refusals.explain(received_at, likely);
    }

    /// `body` is the hash of the raw bytes, which is known for every new event.
    pub(super) fn arrived(&self, accepted: &Accepted, age: Duration, body: Option<BodyHash>) {
        let (now, at) = (self.clock.elapsed(), self.clock.now());
        let happened = match accepted {
            Accepted::New { event_id, .. } => {
                self.accepted.inc();
                if IdOrigin::of(event_id) == IdOrigin::Conflict {
                    self.conflict_accepted.inc();
                }
                Happened::Accepted
            }
            Accepted::Duplicate { id, .. } => {
                self.duplicate.inc();
                self.gaps.observe(now, age);
                self.duplicate_age_seconds
                    .observe_event(age.as_secs_f64(), *id, at);
                Happened::Duplicate
            }
            Accepted::Quarantined { .. } => {
                self.quarantined.inc();
                Happened::Accepted
            }
            Accepted::Conflict { .. } => {
                self.conflict.inc();
                Happened::Conflicted
            }
        };
        self.window.count(now, happened);
        self.count_traffic(accepted, at, age, body);
    }

    fn count_traffic(&self, accepted: &Accepted, at: Timestamp, age: Duration, body: Option<BodyHash>) {
        let is_twin = match (accepted, body) {
            (Accepted::New { event_id, .. }, Some(body)) => self.bodies.is_twin(body, event_id),
            (Accepted::New { .. }, None)
            | (Accepted::Duplicate { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. }, _) => {
                false
            }
        };
        self.traffic.count_at(at, |traffic| match accepted {
            Accepted::New { .. } | Accepted::Quarantined { .. } => {
                traffic.accepted += 1;
                traffic.same_bodies += u64::from(is_twin);
            }
            Accepted::Duplicate { event_id, .. } => {
                traffic.duplicates += 1;
                traffic.gap_ms_max = traffic.gap_ms_max.max(age.as_millis() as u64);
                traffic.gaps.count(age);
                traffic.redelivered.count(event_id);
            }
            Accepted::Conflict { .. } => traffic.conflicts += 1,
        });
    }
}

impl std::fmt::Debug for SourceMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceMeter").finish_non_exhaustive()
    }
}
