//! The outbox relay: rows of `hapax_outbox`, written in somebody's business transaction, become events of the store.
//!
//! ```text
//! claim a batch (committed) ──► accept each as an event ──► mark it relayed, if the claim still holds
//! ```
//!
//! From then on a row is an event like any other: retried, dead-lettered, listed, replayed, paused. A crash in between
//! leaves a claim that ends; the row is claimed again, the ledger knows its key, and it is only marked.

mod postgres;
mod relay;
mod row;
mod sqlite;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::{Clock, DestinationId, Generation, Leased, SourceName, StoredEvent};
use hapax_engine::Engine;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Outbox, SqlUrl};
use crate::telemetry::Tracer;
use relay::Relay;
pub(crate) use table::{Counts, RefusedRow, Table, TableError};

/// What the names of outboxes begin with, as sources, scopes and destinations. No configured name has a dot.
const PREFIX: &str = "outbox.";
/// Where an event of an outbox keeps the URL it is meant for.
pub(crate) const TARGET_HEADER: &str = "hapax-outbox-target";

/// The name of an outbox as a source, a scope and a destination.
pub(crate) fn full_name(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Whether an event comes from an outbox.
pub(crate) fn is_outbox(source: &SourceName) -> bool {
    source.as_str().starts_with(PREFIX)
}

/// What the attempts of a delivery carry as `Idempotency-Key`: the row's own key, where it comes from an outbox. A
/// forced replay is meant to take effect again, and says so in the key.
pub(crate) fn key_of(delivery: &Leased) -> String {
    let own = own_key(&delivery.event, delivery.generation);
    own.unwrap_or_else(|| delivery.idempotency_key.to_string())
}

/// The key of the row that an event was; none where it was no row.
pub(crate) fn own_key(event: &StoredEvent, generation: Generation) -> Option<String> {
    let key = &event.identity.event_id;
    is_outbox(&event.source).then(|| match generation.0 {
        0 => key.clone(),
        again => format!("{key}:{again}"),
    })
}

/// A table and the task that relays it.
struct Running {
    outbox: Outbox,
    table: Arc<dyn Table>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// All outboxes of the configuration.
pub(crate) struct Outboxes {
    engine: Engine,
    clock: Arc<dyn Clock>,
    tracer: Tracer,
    running: Mutex<Vec<Running>>,
}

impl Outboxes {
    pub(crate) fn new(engine: Engine, clock: Arc<dyn Clock>, tracer: Tracer) -> Self {
        Self {
            engine,
            clock,
            tracer,
            running: Mutex::default(),
        }
    }

    /// Relays the outboxes of this configuration from now on. Those that ran before end their round; that two relays
    /// of one table overlap for a moment is nothing that two replicas do not do all the time.
    pub(crate) fn reconfigure(&self, config: &Config) {
        let names: HashMap<String, DestinationId> = config
            .destinations
            .values()
            .map(|destination| (destination.name.clone(), destination.id.clone()))
            .collect();
        let names = Arc::new(names);
        let started = config
            .outboxes
            .values()
            .filter_map(|outbox| self.start(outbox, &names));
        let started = started.collect();
        for old in std::mem::replace(&mut *self.lock(), started) {
            old.stop.cancel();
        }
    }

    fn start(&self, outbox: &Outbox, names: &Arc<HashMap<String, DestinationId>>) -> Option<Running> {
        let table: Arc<dyn Table> = match &outbox.url {
            SqlUrl::Postgres(url) => match postgres::PostgresTable::new(url) {
                Ok(table) => Arc::new(table),
                Err(why) => {
                    tracing::error!(
                        outbox = outbox.name,
                        why,
                        "the outbox is not relayed: its `url` cannot be used"
                    );
                    return None;
                }
            },
            SqlUrl::Sqlite(path) => Arc::new(sqlite::SqliteTable::new(path.clone())),
        };
        let stop = CancellationToken::new();
        let relay = Relay {
            outbox: outbox.clone(),
            table: Arc::clone(&table),
            engine: self.engine.clone(),
            clock: Arc::clone(&self.clock),
            tracer: self.tracer.clone(),
            destinations: Arc::clone(names),
        };
        let task = tokio::spawn(relay.run(stop.clone()));
        Some(Running {
            outbox: outbox.clone(),
            table,
            stop,
            task,
        })
    }

    /// Every outbox with its table, to look at.
    pub(crate) fn tables(&self) -> Vec<(Outbox, Arc<dyn Table>)> {
        let running = self.lock();
        running
            .iter()
            .map(|one| (one.outbox.clone(), Arc::clone(&one.table)))
            .collect()
    }

    /// Ends every round that runs.
    pub(crate) async fn stop(&self) {
        let running = std::mem::take(&mut *self.lock());
        for one in &running {
            one.stop.cancel();
        }
        for one in running {
            // It fails only if the relay panicked; then there is nothing left to wait for.
            let _ = one.task.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
