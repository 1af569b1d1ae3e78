//! Replay and forget: taking effect again, deliberately.

use hapax_core::store::{Forgotten as Answer, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DestinationId, EventId, Generation, Identity, Lane, Timestamp};

use super::state::{Delivery, Forgotten, InLane, State};

impl State {
    pub(super) fn replay(&mut self, now: Timestamp, order: &ReplayOrder) -> Replayed {
        let row = self.events.get(&order.event);
        let Some(row) = row.filter(|row| !row.event.headers.is_erased()) else {
            return Replayed::NotFound;
        };
        let key = row.key;
        let current = row.generation;
        let covered: Vec<_> = self
            .deliveries_of(order.event)
            .filter(|(destination, _)| order.to.as_ref().is_none_or(|to| to.destination == **destination))
            .map(|(destination, delivery)| (destination.clone(), delivery.clone()))
            .collect();
        if covered.iter().any(|(_, delivery)| delivery.state.is_unfinished()) {
            return Replayed::Unfinished;
        }
        let mut chosen: Vec<(DestinationId, Option<Delivery>)> = covered
            .iter()
            .filter(|(_, delivery)| order.chooses(delivery.state, delivery.error, delivery.replays()))
            .map(|(destination, delivery)| (destination.clone(), Some(delivery.clone())))
            .collect();
        if covered.is_empty() {
            chosen.extend(order.to.iter().map(|to| (to.destination.clone(), None)));
        }
        if chosen.is_empty() {
            return Replayed::Nothing;
        }
        let forced = match order.mode {
            ReplayMode::Failed | ReplayMode::All | ReplayMode::Held => None,
            ReplayMode::Force => Some(self.take_generation(key, current)),
        };
        let deliveries = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
        let mut generation = current;
        for (destination, earlier) in chosen {
            generation = forced.unwrap_or(earlier.as_ref().map_or(current, |earlier| earlier.generation));
            self.work_again(now, order, &destination, earlier, generation);
        }
        if let (Some(forced), Some(row)) = (forced, self.events.get_mut(&order.event)) {
            row.generation = forced;
        }
        Replayed::Again {
            deliveries,
            generation,
        }
    }

    fn work_again(
        &mut self,
        now: Timestamp,
        order: &ReplayOrder,
        destination: &DestinationId,
        earlier: Option<Delivery>,
        generation: Generation,
    ) {
        let token = self.next_token();
        let Some(row) = self.events.get(&order.event) else {
            return;
        };
        let mut delivery = Delivery::waiting(&row.event.identity, destination, generation, token);
        delivery.replay = order.job;
        delivery.earlier = earlier.as_ref().map(into_history).unwrap_or_default();
        let was_in_lane = earlier.as_ref().filter(|earlier| earlier.lane.is_some());
        let place = was_in_lane.map_or(row.sequence, |earlier| earlier.place);
        self.deliveries
            .insert((order.event, destination.clone()), delivery);
        let lane: Option<Lane> = match (&order.to, earlier) {
            // A dead delivery that holds its lane is still in it.
            (_, Some(earlier)) if earlier.in_lane == InLane::Yes => earlier.lane,
            (Some(to), _) => to.lane.clone(),
            (None, earlier) => earlier.and_then(|earlier| earlier.lane),
        };
        self.join(now, order.event, destination, lane, place);
    }

    /// A generation that no event of this identity was ever given.
    fn take_generation(&mut self, key: hapax_core::Key, current: Generation) -> Generation {
        let Some(row) = self.ledger.get_mut(&key) else {
            return current.next();
        };
        match row.forgotten {
            Forgotten::No => {
                row.entry.generation = row.entry.generation.next();
                row.entry.generation
            }
            Forgotten::Yes => {
                // The tombstone holds the generation meant for the next event: the replay takes it, and the tombstone
                // moves on.
                let taken = row.entry.generation;
                row.entry.generation = taken.next();
                taken
            }
        }
    }

    pub(super) fn forget(&mut self, identity: &Identity) -> Answer {
        let key = identity.key();
        let known = self
            .ledger
            .get(&key)
            .is_some_and(|row| row.forgotten == Forgotten::No);
        if !known {
            return Answer::NotFound;
        }
        let events: Vec<EventId> = self
            .events
            .iter()
            .filter(|(_, row)| row.key == key)
            .map(|(id, _)| *id)
            .collect();
        if events.into_iter().any(|event| self.is_unfinished(event)) {
            return Answer::Unfinished;
        }
        let Some(row) = self.ledger.get_mut(&key) else {
            return Answer::NotFound;
        };
        row.forgotten = Forgotten::Yes;
        row.entry.generation = row.entry.generation.next();
        Answer::Done {
            next: row.entry.generation,
        }
    }
}

/// A delivery with all its earlier outcomes.
fn into_history(delivery: &Delivery) -> Vec<Delivery> {
    let mut last = delivery.clone();
    let mut earlier = std::mem::take(&mut last.earlier);
    last.in_lane = InLane::No;
    earlier.push(last);
    earlier
}
