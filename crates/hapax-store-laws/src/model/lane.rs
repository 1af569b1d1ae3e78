//! Lanes: their members, their order, and that only the head is due.

use hapax_core::{DeliveryState, DestinationId, EventId, Lane, Timestamp};

use super::state::{Delivery, InLane, State};

impl State {
    /// Makes a waiting delivery due: at once, or when its turn in its lane comes.
    pub(super) fn join(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: &DestinationId,
        lane: Option<Lane>,
        place: u64,
    ) {
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

    /// Removes a delivery from its lane, whose next one is then due.
    pub(super) fn leave(&mut self, now: Timestamp, event: EventId, destination: &DestinationId) {
        let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) else {
            return;
        };
        delivery.in_lane = InLane::No;
        if let Some(lane) = delivery.lane.clone() {
            self.promote(now, destination, &lane.key);
        }
    }

    /// Makes the head of a lane due, unless it is dead or another keeps its turn. A delivery that is due and pending
    /// gives way.
    pub(super) fn promote(&mut self, now: Timestamp, destination: &DestinationId, key: &str) {
        let members = self.deliveries.iter_mut().filter(|((_, to), delivery)| {
            to == destination
                && delivery.in_lane == InLane::Yes
                && delivery.lane.as_ref().is_some_and(|lane| lane.key == key)
        });
        let mut members: Vec<&mut Delivery> = members.map(|(_, delivery)| delivery).collect();
        members.sort_unstable_by_key(|delivery| delivery.place);
        let Some((head, others)) = members.split_first_mut() else {
            return;
        };
        let keeps_turn = |state| matches!(state, DeliveryState::Running | DeliveryState::Retrying);
        if others.iter().any(|other| keeps_turn(other.state)) {
            return;
        }
        for other in others {
            other.due_at = None;
        }
        if head.state == DeliveryState::Pending && head.due_at.is_none() {
            head.due_at = Some(now);
        }
    }
}
