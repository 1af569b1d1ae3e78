//! Lease, extend and rescue: who may run a delivery, and for how long.

use std::time::Duration;

use hapax_core::store::{Alive, AliveReport, Candidates, LOST_MAX, LeaseBatch, LeaseOrder, Rescued, Written};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, EventId, Hold, Leased, Timestamp};

use super::state::{Delivery, State};

impl State {
    pub(super) fn lease(&mut self, now: Timestamp, order: &LeaseOrder) -> LeaseBatch {
        if self.pauses.contains_key(&order.destination) {
            return LeaseBatch::default();
        }
        let mut waiting: Vec<_> = self
            .deliveries
            .iter()
            .filter(|((_, to), delivery)| {
                *to == order.destination && is_candidate(delivery, order.candidates)
            })
            .filter_map(|((event, _), delivery)| Some((delivery.due_at?, self.accepted(*event), *event)))
            .collect();
        waiting.sort_unstable();
        let due = waiting.iter().take_while(|(due_at, ..)| *due_at <= now).count();
        let taken = due.min(order.limit as usize);
        let next_due = waiting.get(taken).map(|(due_at, ..)| *due_at);
        let leased = waiting
            .into_iter()
            .take(taken)
            .filter_map(|(_, _, event)| self.run(now, event, order))
            .collect();
        LeaseBatch { leased, next_due }
    }

    fn accepted(&self, event: EventId) -> u64 {
        self.events.get(&event).map_or(0, |row| row.sequence)
    }

    fn run(&mut self, now: Timestamp, event: EventId, order: &LeaseOrder) -> Option<Leased> {
        let token = self.next_token();
        let stored = self.events.get(&event)?.event.clone();
        let delivery = self.deliveries.get_mut(&(event, order.destination.clone()))?;
        delivery.state = DeliveryState::Running;
        delivery.attempts += 1;
        delivery.token = token;
        delivery.due_at = None;
        delivery.lease_until = now.plus(order.lease_for);
        delivery.owner = Some(order.owner);
        Some(Leased {
            event: stored,
            destination: order.destination.clone(),
            token,
            lease_until: delivery.lease_until,
            generation: delivery.generation,
            idempotency_key: delivery.idempotency_key,
            attempt: delivery.attempts,
            lost: delivery.lost,
            lane: delivery.lane.clone(),
        })
    }

    pub(super) fn extend(&mut self, now: Timestamp, hold: &Hold, lease_for: Duration) -> Written {
        match self.held(hold) {
            Some(delivery) => {
                delivery.lease_until = now.plus(lease_for);
                Written::Applied
            }
            None => Written::LeaseLost,
        }
    }

    pub(super) fn hasten(&mut self, now: Timestamp, event: EventId) -> u32 {
        let mut hastened = 0;
        for ((of, _), delivery) in &mut self.deliveries {
            let retries = *of == event && delivery.state == DeliveryState::Retrying;
            if let Some(due_at) = delivery.due_at.filter(|_| retries) {
                delivery.due_at = Some(due_at.min(now));
                hastened += 1;
            }
        }
        hastened
    }

    pub(super) fn rescue(&mut self, now: Timestamp, limit: u32) -> Vec<Rescued> {
        self.running()
            .into_iter()
            .filter(|(lease_until, ..)| *lease_until < now)
            .take(limit as usize)
            .map(|(_, event, destination)| self.take_back(now, event, destination))
            .collect()
    }

    pub(super) fn report_alive(&mut self, now: Timestamp, report: AliveReport) -> Vec<Rescued> {
        let patience = report.patience;
        let own = Alive::reported(self.owners.get(&report.owner).copied(), now, patience);
        self.owners.insert(report.owner, own);
        if !own.may_declare_dead(patience) {
            return Vec::new();
        }
        let mut dead = self.owners.clone();
        dead.retain(|_, alive| alive.is_dead(now, patience));
        let held: Vec<_> = self
            .running()
            .into_iter()
            .filter(|(_, event, destination)| {
                let delivery = self.deliveries.get(&(*event, destination.clone()));
                let owner = delivery.and_then(|delivery| delivery.owner);
                owner.is_some_and(|owner| dead.contains_key(&owner))
            })
            .take(report.limit as usize)
            .collect();
        if held.is_empty() {
            self.owners.retain(|owner, _| !dead.contains_key(owner));
        }
        held.into_iter()
            .map(|(_, event, destination)| self.take_back(now, event, destination))
            .collect()
    }

    /// Every running delivery, the lease that ends first, first.
    pub(super) fn running(&self) -> Vec<(Timestamp, EventId, DestinationId)> {
        let mut running: Vec<_> = self
            .deliveries
            .iter()
            .filter(|(_, delivery)| delivery.state == DeliveryState::Running)
            .map(|((event, destination), delivery)| (delivery.lease_until, *event, destination.clone()))
            .collect();
        running.sort_unstable();
        running
    }

    /// Counts a lease as lost.
    pub(super) fn take_back(
        &mut self,
        now: Timestamp,
        event: EventId,
        destination: DestinationId,
    ) -> Rescued {
        let token = self.next_token();
        let (mut attempt, mut lost) = (0, 0);
        if let Some(delivery) = self.deliveries.get_mut(&(event, destination.clone())) {
            delivery.token = token;
            delivery.attempts = delivery.attempts.saturating_sub(1);
            delivery.lost += 1;
            (attempt, lost) = (delivery.attempts + 1, delivery.lost);
            delivery.wait_until(now);
            if lost >= LOST_MAX {
                self.bury(now, event, &destination, ErrorClass::Lost);
            }
        }
        Rescued {
            event,
            destination,
            attempt,
            lost,
        }
    }
}

fn is_candidate(delivery: &Delivery, candidates: Candidates) -> bool {
    let waits = matches!(delivery.state, DeliveryState::Pending | DeliveryState::Retrying);
    waits
        && match candidates {
            Candidates::Fresh => delivery.lost == 0,
            Candidates::Suspect => delivery.lost > 0,
        }
}
