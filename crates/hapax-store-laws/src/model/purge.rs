//! Purge: deletes events and ledger entries past their window, payload before ledger, and never unfinished deliveries.

use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use hapax_core::{DeliveryState, DestinationId, EventId, Key, Timestamp};

use super::state::{EventRow, State};

impl State {
    pub(super) fn purge(&mut self, now: Timestamp, order: &PurgeOrder) -> Purged {
        let limit = order.limit as usize;
        let mut purged = Purged::default();
        let expired: Vec<EventId> = self
            .events
            .values()
            .filter(|row| self.may_go(row, order))
            .map(|row| row.event.id)
            .take(limit + 1)
            .collect();
        purged.more = expired.len() > limit;
        for id in expired.into_iter().take(limit) {
            self.remove_event(now, id);
            purged.events += 1;
        }
        let forgettable: Vec<Key> = self
            .ledger
            .iter()
            .filter(|(key, row)| row.entry.expires_at < order.ledger_before && !self.has_event(**key))
            .map(|(key, _)| *key)
            .take(limit + 1)
            .collect();
        purged.more |= forgettable.len() > limit;
        for key in forgettable.into_iter().take(limit) {
            self.ledger.remove(&key);
            self.duplicates.remove(&key);
            self.conflicts.remove(&key);
            purged.ledger += 1;
        }
        self.bodies.retain(|_, rows| {
            rows.retain(|row| row.until >= now);
            !rows.is_empty()
        });
        self.purge_audit(now);
        purged
    }

    fn may_go(&self, row: &EventRow, order: &PurgeOrder) -> bool {
        let id = row.event.id;
        let window = order
            .windows
            .iter()
            .find(|window| window.source == row.event.source);
        window.is_some_and(|window| {
            !self.is_unfinished(id)
                && row.event.received_at < window.payload_before
                && self.dead_may_go(id, window)
        })
    }

    /// Each dead letter keeps its event for the dead-letter window; so does a discarded one, which can be restored.
    fn dead_may_go(&self, id: EventId, window: &PurgeWindow) -> bool {
        self.deliveries_of(id)
            .filter(|(_, delivery)| matches!(delivery.state, DeliveryState::Dead | DeliveryState::Discarded))
            .all(|(_, delivery)| delivery.finished_at.is_some_and(|died| died < window.dead_before))
    }

    fn has_event(&self, key: Key) -> bool {
        self.events.values().any(|row| row.key == key)
    }

    fn remove_event(&mut self, now: Timestamp, id: EventId) {
        let destinations: Vec<DestinationId> = self
            .deliveries_of(id)
            .map(|(destination, _)| destination.clone())
            .collect();
        for destination in destinations {
            // Deleting a dead head must not leave its lane blocked forever.
            self.leave(now, id, &destination);
            self.deliveries.remove(&(id, destination));
        }
        self.attempts.remove(&id);
        if let Some(row) = self.events.remove(&id)
            && let Some(conflicts) = self.conflicts.get_mut(&row.key)
        {
            conflicts.retain(|conflict| conflict.other_body.first != id);
        }
    }
}
