//! The queue of requests to be written, and the loop that writes them in batches.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::NewEvent;
use hapax_core::store::{AcceptRequest, Claim, Error};
use tokio::sync::mpsc;

use super::batches::{Batches, InProgress};
use super::conflicts::Undecided;
use super::next_batch::NextBatch;
use super::refuse::{no_room, refusal};
use crate::engine::Inner;
use crate::incoming::Refusal;
use crate::observe::Observation;
use crate::requests::Waiting;
use crate::runtime::BoxFuture;

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

    /// Writes queued requests in batches, until the engine stops accepting and the queue is empty.
    ///
    /// A batch costs the store about the same whether it holds one request or thirty. So while one is being written,
    /// the next one gathers: it starts when one was written, when it is full, or when its requests have waited long
    /// enough. If none is being written, a request goes at once.
    pub(crate) async fn accept_loop(
        self: Arc<Self>,
        mut queue: mpsc::Receiver<Waiting>,
        conflicts: mpsc::Sender<Undecided>,
    ) {
        let batches = Arc::new(Batches::default());
        let mut next = NextBatch::new(&self.limits);
        let mut patience: Option<BoxFuture> = None;
        loop {
            next.gather(&mut queue);
            let progress = batches.progress();
            if next.starts(progress) {
                self.start_batch(next.take(), &batches, conflicts.clone());
                patience = None;
                continue;
            }
            if next.is_last() && progress.open == 0 {
                return;
            }
            if next.waits_for_others(progress) {
                patience.get_or_insert_with(|| self.parts.runtime.sleep(self.limits.accept_wait));
            }
            tokio::select! {
                biased;
                () = batches.changed() => {}
                received = queue.recv(), if next.has_room() => next.receive(received),
                () = end_of(&mut patience), if patience.is_some() => {
                    patience = None;
                    next.make_due();
                }
                () = self.shut_door.cancelled(), if !queue.is_closed() => queue.close(),
            }
        }
    }

    fn start_batch(
        self: &Arc<Self>,
        batch: Vec<Waiting>,
        batches: &Arc<Batches>,
        conflicts: mpsc::Sender<Undecided>,
    ) {
        let inner = Arc::clone(self);
        let progress = batches.begin();
        self.parts.runtime.spawn(Box::pin(async move {
            inner.accept_batch(batch, progress, &conflicts).await;
        }));
    }

    async fn accept_batch(
        self: &Arc<Self>,
        batch: Vec<Waiting>,
        mut progress: InProgress,
        conflicts: &mpsc::Sender<Undecided>,
    ) {
        let of_request = |waiting: &Waiting| {
            waiting
                .events
                .iter()
                .map(|prepared| prepared.event.clone())
                .collect()
        };
        let claimed = self.claim(batch.iter().map(of_request).collect()).await;
        // The store need not wait for the answers.
        progress.written();
        for (waiting, result) in batch.into_iter().zip(claimed.results) {
            match result {
                Ok(claims) => {
                    let settled = self.settle(waiting.events, claims, claimed.asked, claimed.epoch);
                    fail::fail_point!("accept.before_answer");
                    Undecided::new(settled, waiting.answer).answer_or_queue(conflicts);
                }
                Err(refusal) => {
                    for prepared in waiting.events {
                        self.return_permits(prepared.permits);
                    }
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

async fn end_of(timer: &mut Option<BoxFuture>) {
    match timer {
        Some(timer) => timer.await,
        None => pending().await,
    }
}
