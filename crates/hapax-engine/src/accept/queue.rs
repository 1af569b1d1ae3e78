//! The queue of requests to be written, and the loop that writes them in batches.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::NewEvent;
use hapax_core::store::{AcceptRequest, Claim, Error};
use tokio::sync::{Semaphore, mpsc};

use super::conflicts::Undecided;
use super::refuse::{no_room, refusal};
use crate::engine::Inner;
use crate::incoming::Refusal;
use crate::observe::Observation;
use crate::requests::Waiting;

/// The store's results for several requests.
pub(super) struct Claimed {
    /// One per request, in order.
    pub(super) results: Vec<Result<Vec<Claim>, Refusal>>,
    /// The time just before the store was asked.
    pub(super) asked: Duration,
    /// The store connection that was used.
    pub(super) epoch: u64,
}

impl Inner {
    /// Queues a request to be written, or refuses it if the queue is full.
    pub(super) fn queue(&self, request: Waiting) {
        if let Err(error) = self.accept_queue.try_send(request) {
            let refusal = no_room(&error);
            let _ = error.into_inner().answer.send(Err(refusal.into()));
        }
    }

    /// Writes all queued requests together, until the engine stops accepting and the queue is empty.
    pub(crate) async fn accept_loop(
        self: Arc<Self>,
        mut queue: mpsc::Receiver<Waiting>,
        conflicts: mpsc::Sender<Undecided>,
    ) {
        let in_flight = self.limits.accept_in_flight.max(1);
        let slots = Arc::new(Semaphore::new(in_flight));
        loop {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                return;
            };
            let mut batch = Vec::with_capacity(64);
            let count = tokio::select! {
                biased;
                count = queue.recv_many(&mut batch, self.limits.accept_batch) => count,
                () = self.shut_door.cancelled() => {
                    queue.close();
                    queue.recv_many(&mut batch, self.limits.accept_batch).await
                }
            };
            if count == 0 {
                // Every batch in progress holds a slot: wait for all of them.
                drop(slot);
                let _ = slots.acquire_many(in_flight as u32).await;
                return;
            }
            if in_flight == 1 {
                self.accept_batch(batch, &conflicts).await;
            } else {
                let (inner, conflicts) = (Arc::clone(&self), conflicts.clone());
                self.parts.runtime.spawn(Box::pin(async move {
                    inner.accept_batch(batch, &conflicts).await;
                    drop(slot);
                }));
            }
        }
    }

    async fn accept_batch(self: &Arc<Self>, batch: Vec<Waiting>, conflicts: &mpsc::Sender<Undecided>) {
        let of_request = |waiting: &Waiting| {
            waiting
                .events
                .iter()
                .map(|prepared| prepared.event.clone())
                .collect()
        };
        let claimed = self.claim(batch.iter().map(of_request).collect()).await;
        for (waiting, result) in batch.into_iter().zip(claimed.results) {
            match result {
                Ok(claims) => {
                    let settled = self.settle(waiting.events, claims, claimed.asked, claimed.epoch);
                    fail::fail_point!("accept.before_answer");
                    Undecided::new(settled, waiting.answer).answer_or_queue(conflicts);
                }
                Err(refusal) => {
                    // The provider may have hung up.
                    let _ = waiting.answer.send(Err(refusal.into()));
                }
            }
        }
    }

    /// Claims the events of several requests in the store.
    pub(super) async fn claim(&self, requests: Vec<Vec<NewEvent>>) -> Claimed {
        let asked = self.elapsed();
        let epoch = self.parts.store.connection_epoch();
        let events = requests.iter().map(Vec::len).sum();
        let requests = requests.into_iter().map(|events| AcceptRequest { events });
        fail::fail_point!("accept.before_store");
        let results = self.parts.store.accept(requests.collect()).await;
        fail::fail_point!("accept.after_store");
        let took = self.elapsed().saturating_sub(asked);
        self.observe(&Observation::StoreWrite { events, took });
        let mut told = String::new();
        let mut refused = |error: Error| {
            // Report a failure of the whole batch once.
            let said = error.to_string();
            if said != told {
                self.observe(&Observation::StoreFailed {
                    during: "accepting",
                    error: &error,
                });
                told = said;
            }
            refusal(&error)
        };
        let results = results.into_iter();
        Claimed {
            results: results.map(|result| result.map_err(&mut refused)).collect(),
            asked,
            epoch,
        }
    }
}
