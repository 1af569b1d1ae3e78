//! Lanes: who is in one, in which order, and that only the head is due.

use hapax_core::{DestinationId, EventId, Lane, Timestamp};

use super::state::{InLane, State};

impl State {
    /// Makes a waiting delivery due: at once, or behind the others of its lane.
    pub(super) fn join(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: &DestinationId,
        lane: Option<Lane>,
    ) {
        let place = self.next_sequence();
        let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) else {
            return;
        };
        delivery.lane.clone_from(&lane);
        match lane {
            None => delivery.due_at = Some(now),
            Some(lane) => {
                delivery.place = place;
                delivery.in_lane = InLane::Yes;
                delivery.due_at = None;
                self.promote(now, destination, &lane.key);
            }
        }
    }

    /// Takes a delivery out of its lane, whose next one is then due.
    pub(super) fn leave(&mut self, now: Timestamp, event: EventId, destination: &DestinationId) {
        let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) else {
            return;
        };
        delivery.in_lane = InLane::No;
        if let Some(lane) = delivery.lane.clone() {
            self.promote(now, destination, &lane.key);
        }
    }

    /// Makes the head of a lane due, unless it runs, waits for its retry, or is dead.
    pub(super) fn promote(&mut self, now: Timestamp, destination: &DestinationId, key: &str) {
        let head = self
            .deliveries
            .iter_mut()
            .filter(|((_, to), delivery)| {
                to == destination
                    && delivery.in_lane == InLane::Yes
                    && delivery.lane.as_ref().is_some_and(|lane| lane.key == key)
            })
            .min_by_key(|(_, delivery)| delivery.place);
        if let Some((_, delivery)) = head
            && delivery.state == hapax_core::DeliveryState::Pending
            && delivery.due_at.is_none()
        {
            delivery.due_at = Some(now);
        }
    }
}
