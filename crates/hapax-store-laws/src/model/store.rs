//! The model as a [`Store`]: each method runs its steps under the one lock.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, Error, EventPage,
    EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder, Purged, ReplayOrder,
    Replayed, Report, Rescued, Written,
};
use hapax_core::{EventId, Hold, Identity, Store};

use super::{AcceptTrouble, MemoryStore};

#[async_trait]
impl Store for MemoryStore {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let trouble = self.accept_trouble.lock().take();
        take(self.accepts_take).await;
        let accept = |requests: Vec<AcceptRequest>| -> Vec<Result<Vec<Claim>, Error>> {
            self.step(|state, now| {
                let requests = requests.into_iter();
                requests.map(|request| state.accept(now, request)).collect()
            })
        };
        match trouble {
            None => accept(requests),
            Some(AcceptTrouble::Hangs(time)) => {
                take(time).await;
                accept(requests)
            }
            Some(AcceptTrouble::IsRepeated) => {
                drop(accept(requests.clone()));
                accept(requests)
            }
            Some(AcceptTrouble::Fails) => {
                let failed = |_| {
                    Err(Error::Unavailable {
                        message: "the store is unavailable".to_owned(),
                        source: None,
                    })
                };
                requests.into_iter().map(failed).collect()
            }
        }
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        take(self.conflicts_take).await;
        self.step(|state, _| {
            other_bodies
                .into_iter()
                .map(|other_body| state.record_conflicts(other_body))
                .collect()
        })
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        take(self.leases_take).await;
        Ok(self.step(|state, now| state.lease(now, &order)))
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        Ok(self.step(|state, now| {
            holds
                .iter()
                .map(|hold| state.extend(now, hold, lease_for))
                .collect()
        }))
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        take(self.outcomes_take).await;
        Ok(self.step(|state, now| {
            reports
                .into_iter()
                .map(|report| state.finish(now, report))
                .collect()
        }))
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        Ok(self.step(|state, now| state.hasten(now, event)))
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        Ok(self.step(|state, now| state.rescue(now, limit)))
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        Ok(self.step(|state, now| state.report_alive(now, report)))
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        Ok(self.step(|state, now| orders.iter().map(|order| state.replay(now, order)).collect()))
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        Ok(self.step(|state, _| state.forget(identity)))
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        Ok(self.step(|state, _| state.entry(identity).cloned()))
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        take(self.looks_take).await;
        Ok(self.step(|state, _| state.record(id)))
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        Ok(self.step(|state, _| state.list(query, after, limit)))
    }

    async fn counts(&self) -> Result<Counts, Error> {
        Ok(self.step(|state, _| state.counts()))
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        Ok(self.step(|state, now| state.purge(now, &order)))
    }

    fn connection_epoch(&self) -> u64 {
        0
    }
}

async fn take(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
