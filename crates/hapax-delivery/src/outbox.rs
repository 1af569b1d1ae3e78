//! The outbox relay: rows of `hapax_outbox`, written in an application's own transaction, become events of the store.
//!
//! ```text
//! claim a batch (committed) ──► accept each as an event ──► mark it relayed, if the claim still holds
//! ```
//!
//! From then on a row is an event like any other: retried, dead-lettered, listed, replayed, paused. A crash in between
//! leaves a claim that expires. The row is then claimed again; the ledger knows its key, so it is only marked.

mod postgres;
mod relay;
mod row;
mod shown;
mod sqlite;
mod status;
mod table;

use std::collections::HashMap;
use std::sync::Arc;

use hapax_core::{CONFLICT_MARK, Clock, DestinationId, Generation, Leased, SourceName, StoredEvent};
use hapax_engine::Engine;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::percent::signed_id;
use hapax_config::{Config, Outbox, SqlUrl};
pub use hapax_telemetry::outbox_health::{Counts, Health, RefusedRow};
use hapax_telemetry::{Metrics, Tracer};
use relay::Relay;
pub use shown::instead_of;
use status::Status;
pub use table::{COUNT_MAX, Examined, Table, TableError};

/// The prefix of outbox names, as sources, scopes and destinations. No configured name contains a dot.
const PREFIX: &str = "outbox.";
/// The header in which an outbox event keeps its target URL.
pub(crate) const TARGET_HEADER: &str = hapax_engine::ADDRESS_HEADER;
/// The header in which an outbox event keeps its row's key: its own id differs where the key goes to several targets.
pub(crate) const KEY_HEADER: &str = "hapax-outbox-key";

/// The name of an outbox as a source, a scope and a destination.
pub fn full_name(name: &str) -> String {
    format!("{PREFIX}{name}")
}

pub fn is_outbox(source: &SourceName) -> bool {
    source.as_str().starts_with(PREFIX)
}

/// The `Idempotency-Key` of a delivery's attempts: the row's own key if it comes from an outbox. A forced replay is
/// meant to take effect again, so it has another key.
pub(crate) fn key_of(delivery: &Leased) -> String {
    let own = own_key(&delivery.event, delivery.generation);
    own.unwrap_or_else(|| delivery.idempotency_key.to_string())
}

/// The key of the outbox row that became this event; `None` if it was not a row.
pub fn own_key(event: &StoredEvent, generation: Generation) -> Option<String> {
    if !is_outbox(&event.source) {
        return None;
    }
    let event_id = &event.identity.event_id;
    let key = match chosen_key(event) {
        Some(key) if key == *event_id => key,
        // A released conflict has the key of the first event and must not be confused with it.
        Some(key) => match event_id.rsplit_once(CONFLICT_MARK) {
            Some((_, hash)) => format!("{key}{CONFLICT_MARK}{hash}"),
            None => key,
        },
        None => event_id.clone(),
    };
    Some(match generation.0 {
        0 => key,
        again => format!("{key}:{again}"),
    })
}

/// The signed `webhook-id` of a delivery's attempts: the row's own key if it comes from an outbox. A dot would let one
/// signature fit two requests, so it is escaped, as are characters that a header cannot hold. An event that an earlier
/// version accepted keeps its id: it may already have been sent with it.
pub(crate) fn webhook_id(delivery: &Leased) -> String {
    let chosen = is_outbox(&delivery.event.source) && chosen_key(&delivery.event).is_some();
    if !chosen {
        return delivery.idempotency_key.to_string();
    }
    signed_id(&key_of(delivery))
}

/// The key that the writer of a row chose. Versions before the key had its own header used it as the event's id.
fn chosen_key(event: &StoredEvent) -> Option<String> {
    let key = event.headers.get(KEY_HEADER)?;
    String::from_utf8(key.to_vec()).ok()
}

/// A table and the task that relays it.
struct Running {
    outbox: Outbox,
    table: Arc<dyn Table>,
    status: Arc<Status>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

pub struct Outboxes {
    engine: Engine,
    clock: Arc<dyn Clock>,
    tracer: Tracer,
    metrics: Arc<Metrics>,
    running: Mutex<Vec<Running>>,
}

pub fn table(outbox: &Outbox) -> Arc<dyn Table> {
    match &outbox.url {
        SqlUrl::Postgres(url) => Arc::new(postgres::PostgresTable::new(url.clone())),
        SqlUrl::Sqlite(path) => Arc::new(sqlite::SqliteTable::new(path.clone())),
    }
}

impl Outboxes {
    pub fn new(engine: Engine, clock: Arc<dyn Clock>, tracer: Tracer, metrics: Arc<Metrics>) -> Self {
        Self {
            engine,
            clock,
            tracer,
            metrics,
            running: Mutex::default(),
        }
    }

    /// Relays the outboxes of this configuration from now on. Those that ran before finish their round. Two relays of
    /// one table may overlap for a moment, just as two replicas always do.
    pub fn reconfigure(&self, config: &Config) {
        let names: HashMap<String, DestinationId> = config
            .destinations
            .values()
            .map(|destination| (destination.name.clone(), destination.id.clone()))
            .collect();
        let names = Arc::new(names);
        let started = config.outboxes.values().map(|outbox| self.start(outbox, &names));
        let started = started.collect();
        for old in std::mem::replace(&mut *self.lock(), started) {
            old.stop.cancel();
        }
    }

    fn start(&self, outbox: &Outbox, names: &Arc<HashMap<String, DestinationId>>) -> Running {
        let table = table(outbox);
        let status = Arc::new(Status::default());
        let stop = CancellationToken::new();
        let relay = Relay {
            outbox: outbox.clone(),
            table: Arc::clone(&table),
            engine: self.engine.clone(),
            clock: Arc::clone(&self.clock),
            tracer: self.tracer.clone(),
            metrics: Arc::clone(&self.metrics),
            status: Arc::clone(&status),
            destinations: Arc::clone(names),
        };
        let task = tokio::spawn(relay.run(stop.clone()));
        Running {
            outbox: outbox.clone(),
            table,
            status,
            stop,
            task,
        }
    }

    /// The health of each outbox, by name.
    pub fn health(&self) -> Vec<Health> {
        let now = self.clock.elapsed();
        let running = self.lock();
        running
            .iter()
            .map(|one| one.status.health(&one.outbox.name, now))
            .collect()
    }

    /// Updates the metrics with the current health of each outbox.
    pub fn show(&self) {
        self.metrics.outboxes(&self.health());
    }

    /// Every outbox with its table.
    pub fn tables(&self) -> Vec<(Outbox, Arc<dyn Table>)> {
        let running = self.lock();
        running
            .iter()
            .map(|one| (one.outbox.clone(), Arc::clone(&one.table)))
            .collect()
    }

    /// Stops all relays after their current round.
    pub async fn stop(&self) {
        let running = std::mem::take(&mut *self.lock());
        for one in &running {
            one.stop.cancel();
        }
        for one in running {
            // It fails only if the relay panicked; then there is nothing left to wait for.
            let _ = one.task.await;
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<Running>> {
        self.running.lock()
    }
}

#[cfg(test)]
mod tests;
