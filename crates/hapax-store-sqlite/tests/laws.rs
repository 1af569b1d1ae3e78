//! Every law of the store's contract, and the random walk against the model, on a real file.
#![expect(clippy::unwrap_used, reason = "a setup step that fails should fail the test")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Clock, Timestamp};
use hapax_store_laws::{ManualClock, SealedSubject, Subject};
use hapax_store_sqlite::{Options, SqliteStore};
use parking_lot::Mutex;
use tempfile::TempDir;

/// A store in its own folder, on a clock that the laws move.
struct SqliteSubject {
    clock: Arc<ManualClock>,
    recent_keys_max: Option<usize>,
    folder: Mutex<TempDir>,
}

impl SqliteSubject {
    fn new() -> Self {
        Self {
            clock: Arc::new(ManualClock::new()),
            recent_keys_max: None,
            folder: Mutex::new(TempDir::new().unwrap()),
        }
    }

    /// Merges ledger entries into the index as soon as there are more than two.
    fn merging() -> Self {
        Self {
            recent_keys_max: Some(2),
            ..Self::new()
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.lock().path().join("hapax.db")
    }

    fn open(&self) -> Arc<dyn Backend> {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let mut options = Options::new(clock);
        if let Some(keys_max) = self.recent_keys_max {
            options.recent_keys_max = keys_max;
        }
        Arc::new(SqliteStore::open(&self.path(), options).unwrap())
    }
}

#[async_trait]
impl Subject for SqliteSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        *self.folder.lock() = TempDir::new().unwrap();
        self.open()
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        self.open()
    }

    async fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
    }
}

hapax_store_laws::laws!(SqliteSubject::new());

/// The same laws on an encrypted store.
mod sealed {
    use super::{SealedSubject, SqliteSubject};

    hapax_store_laws::laws!(SealedSubject::new(SqliteSubject::new()));
}

/// The same laws while ledger entries move from memory to the index all the time.
mod merging {
    use super::SqliteSubject;

    hapax_store_laws::laws!(SqliteSubject::merging());
}
