//! Alerts: rules that are judged every few seconds, and messages when one becomes true and when it is over.
//!
//! ```text
//! facts ──► rules ──► swap in the store ──► what is owed is sent
//! ```
//!
//! What is known of an alert is in the store, and whoever swaps it does what follows: it fires once and resolves once,
//! across restarts and across replicas. All of it is beside the way of events, and every call in it has a limit in time.

mod evaluate;
mod facts;
mod kept;
mod message;
mod plan;
mod post;
mod receiver;
mod row;
mod rules;
mod test_message;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::{Backend, Clock};
use parking_lot::Mutex;

use hapax_api::alert::Rule;
pub use message::command;
pub use test_message::{Tested, UnknownReceiver};
pub use view::{Alert, Overdue};

use evaluate::Memory;
use facts::Gatherer;
use hapax_api::alert::State as RowState;
use hapax_config::Config;
use hapax_delivery::destination::SetupError;
use hapax_delivery::outbox::Outboxes;
use hapax_outbound::client::Client;
use hapax_telemetry::Metrics;
use kept::{Kept, Shelf};
use plan::Plan;
use post::Post;

/// What alerts stand on.
pub struct Parts {
    /// Where they are kept, and what the store knows.
    pub store: Arc<dyn Backend>,
    /// What this process saw.
    pub metrics: Arc<Metrics>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The connections of receivers.
    pub client: Client,
    /// The outboxes that this process relays.
    pub outboxes: Option<Arc<Outboxes>>,
}

/// The alerts of this process.
pub struct Alerts {
    gatherer: Gatherer,
    shelf: Shelf,
    post: Post,
    client: Client,
    plan: ArcSwap<Plan>,
    memory: Mutex<Memory>,
    /// What was known after the last step.
    known: ArcSwap<Vec<Alert>>,
    /// One step at a time.
    stepping: tokio::sync::Mutex<()>,
}

impl Alerts {
    /// Alerts by this configuration; nothing happens before the first [`Self::step`].
    pub fn new(parts: Parts, config: &Config) -> Result<Self, SetupError> {
        let Parts {
            store,
            metrics,
            clock,
            client,
            outboxes,
        } = parts;
        let plan = Plan::new(config, &client, &clock)?;
        let shelf = Shelf(Arc::clone(&store));
        Ok(Self {
            post: Post::new(shelf.clone(), Arc::clone(&clock), Arc::clone(&metrics)),
            gatherer: Gatherer::new(store, metrics, clock, outboxes),
            shelf,
            client,
            plan: ArcSwap::from_pointee(plan),
            memory: Mutex::default(),
            known: ArcSwap::default(),
            stepping: tokio::sync::Mutex::default(),
        })
    }

    /// Takes over another configuration from the next step on.
    pub fn reconfigure(&self, config: &Config) -> Result<(), SetupError> {
        let plan = Plan::new(config, &self.client, &self.gatherer.clock)?;
        self.plan.store(Arc::new(plan));
        Ok(())
    }

    /// How long to wait from one step to the next.
    pub fn every(&self) -> Duration {
        self.plan.load().evaluate_every()
    }

    /// Judges every rule once, and sends what is due. It ends within a bounded time, whatever store and receivers do.
    pub async fn step(&self) {
        let _one_at_a_time = self.stepping.lock().await;
        let plan = self.plan.load_full();
        let facts = self.gatherer.gather(&plan).await;
        // Without the store nothing is known, and no one could be told once.
        let Ok(kept) = self.shelf.all().await else {
            return;
        };
        let kept = self.evaluate(&plan, &facts, kept).await;
        self.show(&kept);
        self.post.send(&plan.receivers, &kept).await;
    }

    /// What was known after the last step, by rule and subject.
    pub fn known(&self) -> Arc<Vec<Alert>> {
        self.known.load_full()
    }

    /// What the store knows now, by rule and subject.
    pub async fn all(&self) -> Result<Vec<Alert>, hapax_core::store::Error> {
        let states = self.gatherer.store.alerts().await?;
        let rows = states
            .iter()
            .filter_map(|state| serde_json::from_slice(&state.value).ok());
        Ok(view::of(rows))
    }

    /// The rules that are switched on, with their limits.
    pub fn limits(&self) -> Vec<(Rule, f64)> {
        let plan = self.plan.load();
        plan.limits.iter().map(|(rule, limit)| (*rule, *limit)).collect()
    }

    /// The receivers by name, with their kinds.
    pub fn receivers(&self) -> Vec<(String, &'static str)> {
        let plan = self.plan.load();
        let receivers = plan.receivers.iter();
        receivers
            .map(|(name, receiver)| (name.clone(), receiver.kind()))
            .collect()
    }

    /// Waits a moment for what is being sent.
    pub async fn rest(&self) {
        self.post.rest().await;
    }

    fn show(&self, kept: &[Kept]) {
        let firing = kept.iter().filter(|kept| kept.row.state == RowState::Firing);
        let firing = firing.map(|kept| (kept.row.rule.as_str(), kept.row.subject.clone()));
        self.gatherer.metrics.alerts_firing(firing.collect());
        let rows = kept.iter().map(|kept| kept.row.clone());
        self.known.store(Arc::new(view::of(rows)));
    }
}

impl std::fmt::Debug for Alerts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alerts").finish_non_exhaustive()
    }
}
