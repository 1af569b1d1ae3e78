//! The bench a law works on: one store, its clock, and helpers for common steps.

mod draft;
mod look;
mod must;
mod steps;
pub mod store_migration;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use hapax_core::store::{Candidates, LeaseOrder};
use hapax_core::{
    AttemptOutcome, Backend, ErrorClass, EventId, EventIds, Identity, Owner, SystemRandom, Timestamp,
};

use crate::Subject;

pub use draft::Draft;
pub use must::Must;

/// A lease that does not end while a law runs.
pub const LONG: Duration = Duration::from_secs(3600);
/// More than any law stores.
pub const ALL: u32 = 1000;

/// One store under test. Every step panics if the store returns an error.
pub struct Bench {
    pub store: Arc<dyn Backend>,
    subject: Arc<dyn Subject>,
    ids: EventIds,
    random: SystemRandom,
    attempts: AtomicI64,
}

impl Bench {
    /// A bench with a fresh store.
    pub async fn open(subject: Arc<dyn Subject>) -> Self {
        Self {
            store: subject.fresh().await,
            subject,
            ids: EventIds::default(),
            random: SystemRandom::new(),
            attempts: AtomicI64::new(0),
        }
    }

    /// Crashes the store and starts it again. The law must not hold a reference to the old one.
    pub async fn reopen(&mut self) {
        // The placeholder releases the bench's own reference before the store restarts.
        let crashed = std::mem::replace(&mut self.store, crate::model::placeholder());
        self.store = self.subject.reopen(crashed).await;
    }

    /// The time on the store's clock.
    pub async fn now(&self) -> Timestamp {
        self.subject.now().await
    }

    /// Lets time pass on the store's clock.
    pub async fn pass(&self, duration: Duration) {
        self.subject.pass(duration).await;
    }

    /// Enough time for two steps to have different times.
    pub async fn tick(&self) {
        self.pass(Duration::from_millis(2)).await;
    }

    /// A lease that [`Bench::expire`] waits out.
    pub fn short(&self) -> Duration {
        self.subject.short_lease()
    }

    /// Lets every short lease expire.
    pub async fn expire(&self) {
        self.pass(self.short() + Duration::from_millis(50)).await;
    }

    /// An event of the source and scope `shop`, without deliveries.
    pub fn event(&self, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new("shop", event_id))
    }

    /// An event of another scope.
    pub fn event_in(&self, scope: &str, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new(scope, event_id))
    }

    /// A fresh Hapax id, for jobs and requests.
    pub fn id(&self) -> EventId {
        self.event("an id and nothing else").build().id
    }
}

/// A request for a lease.
pub fn order(destination: &str, limit: u32, lease_for: Duration, candidates: Candidates) -> LeaseOrder {
    LeaseOrder {
        owner: Owner(7),
        destination: destination.into(),
        limit,
        lease_for,
        candidates,
    }
}

/// Ends an attempt as dead.
pub fn dead() -> AttemptOutcome {
    AttemptOutcome::Dead {
        reason: ErrorClass::Refused,
    }
}

/// Ends an attempt with an immediate retry.
pub fn again() -> AttemptOutcome {
    AttemptOutcome::Retry {
        after: Duration::ZERO,
    }
}
