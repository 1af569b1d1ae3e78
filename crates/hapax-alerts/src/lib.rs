//! Alerts: rules that are evaluated every few seconds, and messages when one fires and when it resolves.
//!
//! ```text
//! facts ──► rules ──► swap in the store ──► send the messages that are owed
//! ```
//!
//! The state of an alert is in the store, and the process that swaps it acts on the change: an alert fires once and
//! resolves once, across restarts and replicas. None of this is on the path of events, and every call has a time limit.

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
use hapax_core::store::ValueSpace;
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

pub struct Parts {
    pub store: Arc<dyn Backend>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// The connection pool for receivers.
    pub client: Client,
    /// The outboxes that this process relays.
    pub outboxes: Option<Arc<Outboxes>>,
}

pub struct Alerts {
    gatherer: Gatherer,
    shelf: Shelf,
    post: Post,
    client: Client,
    plan: ArcSwap<Plan>,
    memory: Mutex<Memory>,
    /// The alerts after the last step.
    known: ArcSwap<Vec<Alert>>,
    /// Allows one step at a time.
    stepping: tokio::sync::Mutex<()>,
}

impl Alerts {
    /// Alerts for this configuration; nothing happens before the first [`Self::step`].
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

    /// Applies another configuration from the next step on.
    pub fn reconfigure(&self, config: &Config) -> Result<(), SetupError> {
        let plan = Plan::new(config, &self.client, &self.gatherer.clock)?;
        self.plan.store(Arc::new(plan));
        Ok(())
    }

    pub fn every(&self) -> Duration {
        self.plan.load().evaluate_every()
    }

    /// Evaluates every rule once and sends the messages that are due. It ends within a bounded time, even if the store
    /// or a receiver hangs.
    pub async fn step(&self) {
        let _one_at_a_time = self.stepping.lock().await;
        let plan = self.plan.load_full();
        let facts = self.gatherer.gather(&plan).await;
        // Without the store nothing is known, and no message could be sent exactly once.
        let Ok(kept) = self.shelf.all().await else {
            return;
        };
        let kept = self.evaluate(&plan, &facts, kept).await;
        self.show(&kept);
        self.post.send(&plan.receivers, &kept).await;
    }

    /// The alerts after the last step, by rule and subject.
    pub fn known(&self) -> Arc<Vec<Alert>> {
        self.known.load_full()
    }

    /// The alerts in the store now, by rule and subject.
    pub async fn all(&self) -> Result<Vec<Alert>, hapax_core::store::Error> {
        let values = self.gatherer.store.values(&ValueSpace::Alerts).await?;
        let rows = values
            .iter()
            .filter_map(|value| serde_json::from_slice(&value.value).ok());
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

    /// Waits briefly for messages in flight.
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
