//! A connection pool. Ours, and small, because it must do what other pools do not: bound the number of waiting calls,
//! discard a connection after certain errors, and report when one had to be replaced.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hapax_core::store::Error;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::{Client, Statement};

use crate::Options;
use crate::connect::Connector;
use crate::failure::Failure;

/// The number of buckets.
pub(crate) const BUCKETS: i16 = 64;

/// A pool: a store's connections for one purpose.
pub(crate) struct Pool {
    maker: Arc<Maker>,
    purpose: &'static str,
    /// The settings of its sessions, where they are its own.
    settings: String,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    calls: AtomicUsize,
    calls_max: usize,
    acquire_timeout: Duration,
    /// Incremented whenever a connection replaces one that was lost.
    epoch: AtomicU64,
    lost: AtomicBool,
}

/// Opens connections for all pools of a store.
pub(crate) struct Maker {
    connector: Connector,
    /// Whether statements are prepared; once false, it stays false.
    prepares: AtomicBool,
    next_slot: AtomicI16,
}

/// A connection with its state.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) statements: Mutex<HashMap<String, Statement>>,
    /// Whether its session has the pool's settings.
    pub(crate) is_set: bool,
    /// The bucket of its sums.
    pub(crate) slot: i16,
}

/// A slot for a call that runs or waits for a connection.
pub(crate) struct PoolSlot(Arc<Pool>);

impl Drop for PoolSlot {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection in use, with its permit.
pub(crate) struct Lent {
    pub(crate) connection: Connection,
    _permit: OwnedSemaphorePermit,
}

impl Maker {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            prepares: AtomicBool::new(connector.may_prepare()),
            connector,
            next_slot: AtomicI16::new(fastrand::i16(0..BUCKETS)),
        }
    }

    async fn connect(&self, settings: &str) -> Result<Connection, Failure> {
        let connected = self.connector.connect_with(settings).await.map_err(|error| {
            Failure::Unavailable(format!("the database cannot be reached: {}", error.reason()))
        })?;
        if !connected.prepares {
            self.stop_preparing();
        }
        Ok(Connection {
            client: connected.client,
            statements: Mutex::new(HashMap::new()),
            is_set: !settings.is_empty() && connected.prepares && self.connector.tells_poolers(),
            slot: self.next_slot.fetch_add(1, Ordering::Relaxed).rem_euclid(BUCKETS),
        })
    }

    fn stop_preparing(&self) {
        if self.prepares.swap(false, Ordering::AcqRel) {
            tracing::info!(
                "a pooler such as pgbouncer is between this process and the database, so statements are not \
                 prepared; where it keeps them apart, add prepared_statements=true to the store's URL"
            );
        }
    }
}

impl Pool {
    /// A pool of at most this many connections. `purpose` names its use in messages; `settings` are those of its
    /// sessions, each as `-c name=value`.
    pub(crate) fn new(
        maker: &Arc<Maker>,
        purpose: &'static str,
        settings: String,
        connections_max: usize,
        options: &Options,
    ) -> Self {
        Self {
            maker: Arc::clone(maker),
            purpose,
            settings,
            idle: Mutex::new(Vec::new()),
            permits: Arc::new(Semaphore::new(connections_max.max(1))),
            calls: AtomicUsize::new(0),
            calls_max: options.calls_max,
            acquire_timeout: options.acquire_timeout,
            epoch: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn prepares(&self) -> bool {
        self.maker.prepares.load(Ordering::Acquire)
    }

    /// Stops preparing statements.
    pub(crate) fn stop_preparing(&self) {
        self.maker.stop_preparing();
    }

    /// A slot for one call, unless there are too many.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<PoolSlot, Error> {
        if self.calls.fetch_add(1, Ordering::AcqRel) >= self.calls_max {
            self.calls.fetch_sub(1, Ordering::AcqRel);
            return Err(Error::Overloaded);
        }
        Ok(PoolSlot(Arc::clone(self)))
    }

    /// Waits for a free connection.
    pub(crate) async fn acquire(&self) -> Result<Lent, Failure> {
        let permit = tokio::time::timeout(self.acquire_timeout, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| {
                Failure::Unavailable(format!("all database connections for {} are busy", self.purpose))
            })?
            .map_err(|_| Failure::Unavailable("the store is closed".to_owned()))?;
        while let Some(connection) = self.idle().pop() {
            if connection.client.is_closed() {
                self.lost.store(true, Ordering::Release);
                continue;
            }
            return Ok(Lent {
                connection,
                _permit: permit,
            });
        }
        let connection = self.maker.connect(&self.settings).await?;
        if self.lost.swap(false, Ordering::AcqRel) {
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
        Ok(Lent {
            connection,
            _permit: permit,
        })
    }

    /// Returns a good connection to the pool.
    pub(crate) fn give_back(&self, lent: Lent) {
        self.idle().push(lent.connection);
    }

    /// Discards a connection; the server rolls back its transaction, if any. Idle connections are discarded too: they
    /// are probably broken for the same reason, and each would fail one call.
    pub(crate) fn discard(&self, lent: Lent) {
        self.lost.store(true, Ordering::Release);
        self.idle().clear();
        drop(lent);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock()
    }
}
