//! Erase: an event's contents are deleted, but the event stays known.

use hapax_core::store::{Erased, Unfinished};
use hapax_core::{DeliveryState, DestinationId, EventId, Headers, Timestamp};

use super::state::State;

impl State {
    pub(super) fn erase(&mut self, now: Timestamp, event: EventId, unfinished: Unfinished) -> Erased {
        let is_unfinished = self.is_unfinished(event);
        let Some(row) = self.events.get_mut(&event) else {
            return Erased::NotFound;
        };
        if is_unfinished && unfinished == Unfinished::Keep {
            return Erased::Unfinished;
        }
        let is_erased = row.event.headers.is_erased();
        row.event.headers = Headers::erased();
        row.event.body = bytes::Bytes::new();
        row.indexed.clear();
        let key = row.key;
        if let Some(conflicts) = self.conflicts.get_mut(&key) {
            conflicts.retain(|conflict| conflict.other_body.first != event);
        }
        for view in self.attempts.entry(event).or_default() {
            view.attempt.excerpt.clear();
            view.attempt.message = None;
        }
        let ending: Vec<DestinationId> = self
            .deliveries_of(event)
            .filter(|(_, delivery)| delivery.state.is_unfinished() || delivery.state == DeliveryState::Dead)
            .map(|(destination, _)| destination.clone())
            .collect();
        for destination in &ending {
            self.discard(now, event, destination);
        }
        if is_erased {
            return Erased::Before;
        }
        Erased::Now {
            discarded: u32::try_from(ending.len()).unwrap_or(u32::MAX),
        }
    }

    fn discard(&mut self, now: Timestamp, event: EventId, destination: &DestinationId) {
        let delivery = self.deliveries.get_mut(&(event, destination.clone()));
        match delivery {
            Some(delivery) if delivery.state == DeliveryState::Dead => {
                delivery.state = DeliveryState::Discarded;
            }
            Some(_) | None => self.end(now, event, destination, DeliveryState::Discarded),
        }
        self.leave(now, event, destination);
    }
}
