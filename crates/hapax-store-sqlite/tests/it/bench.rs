//! A folder, a store in it, and events to put there.

use std::path::PathBuf;
use std::sync::Arc;

use hapax_core::store::{AcceptRequest, Candidates, Claim, Error, LeaseOrder};
use hapax_core::{EventIds, Identity, Leased, NewEvent, Owner, Store, SystemRandom};
use hapax_store_laws::ManualClock;
use hapax_store_laws::bench::Draft;
use hapax_store_sqlite::{OpenError, Options, SqliteStore};
use tempfile::TempDir;

pub(crate) struct Bench {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) folder: TempDir,
    ids: EventIds,
    random: SystemRandom,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::new(ManualClock::new()),
            folder: TempDir::new().unwrap(),
            ids: EventIds::default(),
            random: SystemRandom::new(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("hapax.db")
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.path().join("hapax.db-wal")
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(Arc::clone(&self.clock) as Arc<dyn hapax_core::Clock>)
    }

    pub(crate) fn try_open(&self) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(&self.path(), self.options())
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open().unwrap()
    }

    pub(crate) fn event(&self, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new("shop", event_id))
    }
}

/// Accepts one event in its own request.
pub(crate) async fn accept(store: &SqliteStore, event: NewEvent) -> Result<Claim, Error> {
    let mut answers = store.accept(vec![AcceptRequest { events: vec![event] }]).await;
    answers.remove(0).map(|mut claims| claims.remove(0))
}

/// Leases one delivery at `destination`.
pub(crate) async fn lease(store: &SqliteStore, destination: &str, candidates: Candidates) -> Option<Leased> {
    let order = LeaseOrder {
        owner: Owner(1),
        destination: destination.into(),
        limit: 1,
        lease_for: std::time::Duration::from_secs(60),
        candidates,
    };
    store.lease(order).await.unwrap().leased.pop()
}
