//! A link: the store as one process reaches it. Every call is an independent message: its step happens even if the
//! caller dies, or happens without the caller ever hearing of it.

mod operations;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::{
    AcceptRequest, AliveReport, Claim, ConflictRecorded, ConflictingBody, Counts, Cursor, Error, EventPage,
    EventQuery, EventRecord, Forgotten, LeaseBatch, LeaseOrder, LedgerEntry, PurgeOrder, Purged, ReplayOrder,
    Replayed, Report, Rescued, Written,
};
use hapax_core::{EventId, Generation, Hold, Identity, Store};
use tokio::sync::oneshot;

use super::network::Fate;
use super::{Network, Vault};
use crate::executor::{Executor, Process};
use crate::mutation::Mutation;

/// One process's connection to the store.
#[derive(Clone)]
pub struct Link {
    pub process: Process,
    pub executor: Executor,
    pub network: Network,
    pub vault: Arc<Vault>,
}

impl Link {
    /// Sends one step to the store and waits for the result.
    async fn call<T: Send + 'static>(
        &self,
        step: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let (network, process) = (self.network.clone(), self.process);
        let fate = match network.fate() {
            // Steps are never sent twice: connections ensure that. The exception is `accept`.
            Fate::Arrives | Fate::Twice => Fate::Arrives,
            lossy @ (Fate::Lost | Fate::Unanswered) => lossy,
        };
        self.executor.spawn(Process::WORLD, async move {
            network.travel().await;
            if fate == Fate::Lost || network.is_store_down_for(process) {
                network.note_loss(process);
                return network.silence().await;
            }
            let result = step.await;
            if fate == Fate::Unanswered || network.is_store_down_for(process) {
                network.note_loss(process);
                return network.silence().await;
            }
            network.travel().await;
            // The caller may have died in the meantime.
            let _ = answer.send(result);
        });
        answered.await.unwrap_or_else(|_| Err(no_answer()))
    }

    /// The write of an accept. If its answer is lost, a store may write it again, with the same ids.
    async fn write(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let (count, vault, process) = (requests.len(), Arc::clone(&self.vault), self.process);
        let network = self.network.clone();
        let step = async move {
            if network.fate() == Fate::Twice {
                network.note_loss(process);
                vault.accept(process, requests.clone()).await;
                network.silence().await;
            }
            Ok(vault.accept(process, requests).await)
        };
        match self.call(step).await {
            Ok(answers) => answers,
            Err(_) => (0..count).map(|_| Err(no_answer())).collect(),
        }
    }

    /// Answers that everything unknown is new, and only then has it written.
    async fn answer_early(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        let mut answers = Vec::new();
        for request in &requests {
            answers.push(self.claim_early(request).await);
        }
        let link = self.clone();
        self.executor.spawn(self.process, async move {
            link.write(requests).await;
        });
        answers
    }

    async fn claim_early(&self, request: &AcceptRequest) -> Result<Vec<Claim>, Error> {
        let mut claims = Vec::new();
        for event in &request.events {
            let known = self.look_up(&event.identity).await?;
            claims.push(known.map_or_else(|| all_new(event.deliveries.len()), Claim::Seen));
        }
        Ok(claims)
    }
}

/// A claim whose deliveries are not leased.
fn all_new(deliveries: usize) -> Claim {
    Claim::New {
        generation: Generation(0),
        tokens: vec![None; deliveries],
    }
}

fn guess(request: &AcceptRequest) -> Vec<Claim> {
    let new = request.events.iter().map(|event| all_new(event.deliveries.len()));
    new.collect()
}

fn no_answer() -> Error {
    Error::Unavailable {
        message: "no answer from the store".to_owned(),
        source: None,
    }
}

#[async_trait]
impl Store for Link {
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
        match self.vault.mutation() {
            Some(Mutation::AckBeforeCommit) => self.answer_early(requests).await,
            Some(Mutation::GuessAfterError) => {
                let answers = self.write(requests.clone()).await;
                let guessed = answers.into_iter().zip(&requests);
                guessed
                    .map(|(answer, request)| Ok(answer.unwrap_or_else(|_| guess(request))))
                    .collect()
            }
            Some(_) | None => self.write(requests).await,
        }
    }

    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error> {
        let (vault, process) = (Arc::clone(&self.vault), self.process);
        self.call(async move { vault.lease(process, order).await }).await
    }

    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error> {
        let vault = Arc::clone(&self.vault);
        self.call(async move { vault.extend(holds, lease_for).await })
            .await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error> {
        let (vault, process) = (Arc::clone(&self.vault), self.process);
        self.call(async move { vault.finish(process, reports).await })
            .await
    }

    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error> {
        let vault = Arc::clone(&self.vault);
        self.call(async move { vault.rescue(limit).await }).await
    }

    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error> {
        let vault = Arc::clone(&self.vault);
        self.call(async move { vault.report_alive(report).await }).await
    }

    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>> {
        let (count, model) = (other_bodies.len(), self.vault.model.clone());
        match self
            .call(async move { Ok(model.record_conflicts(other_bodies).await) })
            .await
        {
            Ok(answers) => answers,
            Err(_) => (0..count).map(|_| Err(no_answer())).collect(),
        }
    }

    async fn hasten(&self, event: EventId) -> Result<u32, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.hasten(event).await }).await
    }

    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error> {
        let vault = Arc::clone(&self.vault);
        self.call(async move { vault.replay(orders).await }).await
    }

    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error> {
        let (model, identity) = (self.vault.model.clone(), identity.clone());
        self.call(async move { model.forget(&identity).await }).await
    }

    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error> {
        let (model, identity) = (self.vault.model.clone(), identity.clone());
        self.call(async move { model.look_up(&identity).await }).await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.get(id).await }).await
    }

    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error> {
        let (vault, query) = (Arc::clone(&self.vault), query.clone());
        self.call(async move { vault.list(query, after, limit).await })
            .await
    }

    async fn counts(&self) -> Result<Counts, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.counts().await }).await
    }

    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error> {
        let model = self.vault.model.clone();
        self.call(async move { model.purge(order).await }).await
    }

    fn connection_epoch(&self) -> u64 {
        self.network.epoch()
    }
}
