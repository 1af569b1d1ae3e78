//! What the tests share: events, requests, and deliveries.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{AcceptRequest, Candidates, Claim, LeaseBatch, LeaseOrder, Report};
use hapax_core::{AttemptOutcome, EventIds, Hold, Identity, NewEvent, Owner, Store, SystemRandom};
use hapax_store_laws::bench::Draft;
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Database;

pub(crate) const LONG: Duration = Duration::from_secs(3600);

pub(crate) async fn open(database: &Database) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(Options::new(database.url())).await.unwrap())
}

/// Creates events with ids as one process does.
#[derive(Default)]
pub(crate) struct Maker {
    ids: EventIds,
    random: SystemRandom,
}

impl Maker {
    pub(crate) fn event(&self, event_id: &str) -> NewEvent {
        let identity = Identity::new("shop", event_id);
        Draft::new(&self.ids, &self.random, identity)
            .to("billing")
            .build()
    }
}

pub(crate) fn request(event: NewEvent) -> AcceptRequest {
    AcceptRequest { events: vec![event] }
}

/// Accepts one event.
pub(crate) async fn accept(
    store: &PostgresStore,
    event: NewEvent,
) -> Result<Claim, hapax_core::store::Error> {
    let mut answers = store.accept(vec![request(event)]).await;
    answers.remove(0).map(|mut claims| claims.remove(0))
}

pub(crate) async fn lease(store: &PostgresStore, limit: u32, lease_for: Duration) -> LeaseBatch {
    store
        .lease(LeaseOrder {
            owner: Owner(1),
            destination: "billing".into(),
            limit,
            lease_for,
            candidates: Candidates::Fresh,
        })
        .await
        .unwrap()
}

pub(crate) fn done(hold: Hold) -> Report {
    Report {
        hold,
        attempt: None,
        outcome: AttemptOutcome::Completed,
    }
}
