//! Finish: what happens to a delivery after an attempt, and to its lane.

use hapax_core::store::{AttemptView, Report, Written};
use hapax_core::{AttemptOutcome, DeliveryState, DestinationId, ErrorClass, EventId, OnDead, Timestamp};

use super::state::State;

impl State {
    pub(super) fn finish(&mut self, now: Timestamp, report: Report) -> Written {
        let event = self.events.get(&report.hold.event);
        let accepted_at = event.map_or(now, |event| event.accepted_at.min(now));
        let Some(delivery) = self.held(&report.hold) else {
            return Written::LeaseLost;
        };
        let generation = delivery.generation;
        let hold = report.hold;
        match report.outcome {
            AttemptOutcome::Completed => {
                self.end(now, hold.event, &hold.destination, DeliveryState::Completed);
                self.leave(now, hold.event, &hold.destination);
            }
            AttemptOutcome::Retry { after } => delivery.wait_until(now.plus(after)),
            AttemptOutcome::Dead { reason } => self.bury(now, hold.event, &hold.destination, reason),
            AttemptOutcome::Release => {
                delivery.attempts = delivery.attempts.saturating_sub(1);
                delivery.wait_until(accepted_at);
            }
        }
        if let Some(attempt) = report.attempt {
            self.attempts.entry(hold.event).or_default().push(AttemptView {
                destination: hold.destination,
                generation,
                token: hold.token,
                attempt,
            });
        }
        Written::Applied
    }

    /// Makes a delivery dead; its lane waits or continues.
    pub(super) fn bury(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: &DestinationId,
        reason: ErrorClass,
    ) {
        self.end(now, event, destination, DeliveryState::Dead);
        let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) else {
            return;
        };
        delivery.error = Some(reason);
        match delivery.lane.clone() {
            None => {}
            // It blocks those after it; one that was replayed in front of it may continue.
            Some(lane) if lane.on_dead == OnDead::Hold => self.promote(now, destination, &lane.key),
            Some(_) => self.leave(now, event, destination),
        }
    }

    /// Makes a delivery dead from the start, because of its event's body, and in no lane.
    pub(super) fn hold(&mut self, now: Timestamp, event: EventId, destination: &DestinationId) {
        self.end(now, event, destination, DeliveryState::Dead);
        if let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) {
            delivery.error = Some(ErrorClass::SameBody);
        }
    }

    pub(super) fn end(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: &DestinationId,
        state: DeliveryState,
    ) {
        let sequence = self.next_sequence();
        if let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) {
            delivery.state = state;
            delivery.due_at = None;
            delivery.finished_at = Some(now);
            delivery.finished_sequence = sequence;
            delivery.error = None;
        }
    }
}
