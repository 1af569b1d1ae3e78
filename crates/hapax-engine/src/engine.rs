//! The engine: its parts, its limits, and the state that its loops share.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::Patience;
use hapax_core::{Backend, Clock, EventIds, Owner, Random, SourceName, Timestamp};
use tokio::sync::{Notify, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::finished::Finished;
use crate::gather::Gather;
use crate::held_leases::HeldLeases;
use crate::known_bodies::KnownBodies;
use crate::observe::{Notice, Observation, Observer};
use crate::owners::Owners;
use crate::pauses::Pauses;
use crate::plan::Plan;
use crate::requests::{Aliased, Waiting};
use crate::runtime::Runtime;
use crate::seen::Seen;
use crate::transport::Transport;
use crate::watchers::Watchers;

/// The engine's dependencies.
#[derive(Clone)]
pub struct Parts {
    pub store: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    /// Spawns tasks and sleeps.
    pub runtime: Arc<dyn Runtime>,
    /// Carries deliveries to their destinations.
    pub transport: Arc<dyn Transport>,
    /// Receives observations, for metrics and logs.
    pub observer: Arc<dyn Observer>,
}

/// The engine's limits and intervals.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests that may wait to be written; further ones are refused with `Overloaded`.
    pub accept_queue: usize,
    /// Requests per write.
    pub accept_batch: usize,
    /// Requests that make a batch full enough to be written beside another one.
    pub accept_full: usize,
    /// How long requests wait for others while a batch is written. It is longer than most writes: without it, a write
    /// that hangs would hold up everyone.
    pub accept_wait: Duration,
    /// Concurrent batches.
    pub accept_in_flight: usize,
    /// Requests with a conflict that may wait for its body to be stored; further ones are refused with `Overloaded`.
    pub conflict_queue: usize,
    /// Entries in the seen-cache, and bodies of duplicates that are recognised.
    pub seen_entries: usize,
    /// How long the seen-cache answers in place of the store. `forget` waits this long.
    pub seen_for: Duration,
    /// Deliveries leased at a time for one destination.
    pub lease_batch: u32,
    /// Outcomes that may wait to be written; attempts wait when the queue is full.
    pub finish_queue: usize,
    /// Outcomes per write.
    pub finish_batch: usize,
    /// How often to look for deliveries that other replicas made due.
    pub poll_every: Duration,
    /// How often to flush gathered counts.
    pub flush_every: Duration,
    /// How often to look for expired leases.
    pub rescue_every: Duration,
    /// How often to report to the store that this process is alive.
    pub report_every: Duration,
    /// After this long without a successful report, attempts are released. Shorter than the silence that other replicas
    /// allow.
    pub silent_max: Duration,
    /// How long other replicas may be silent before their leases are reclaimed.
    pub patience: Patience,
    /// How often to look for expired rows.
    pub retain_every: Duration,
    /// Rows deleted at a time, initially; more if the store is quick.
    pub purge_rows: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            accept_queue: 8_192,
            accept_batch: 512,
            accept_full: 32,
            accept_wait: Duration::from_millis(10),
            accept_in_flight: 1,
            conflict_queue: 2_048,
            seen_entries: 262_144,
            seen_for: Duration::from_secs(10),
            lease_batch: 128,
            finish_queue: 8_192,
            finish_batch: 512,
            poll_every: Duration::from_secs(1),
            flush_every: Duration::from_secs(1),
            rescue_every: Duration::from_secs(1),
            report_every: Duration::from_secs(1),
            silent_max: Duration::from_secs(10),
            patience: Patience::default(),
            retain_every: Duration::from_secs(10),
            purge_rows: 500,
        }
    }
}

/// The engine. Clones share state.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) parts: Parts,
    pub(crate) limits: Limits,
    pub(crate) owners: Owners,
    /// The owner name for driving replay jobs, constant for the life of the process.
    pub(crate) driver: Owner,
    pub(crate) ids: EventIds,
    pub(crate) plan: ArcSwap<Plan>,
    pub(crate) pauses: Pauses,
    /// Since when each field of each source is indexed.
    pub(crate) indexes: ArcSwap<HashMap<(SourceName, String), Timestamp>>,
    pub(crate) seen: Seen,
    pub(crate) bodies: KnownBodies,
    pub(crate) gather: Gather,
    pub(crate) held_leases: HeldLeases,
    pub(crate) watchers: Watchers,
    pub(crate) accept_queue: mpsc::Sender<Waiting>,
    pub(crate) alias_queue: mpsc::Sender<Aliased>,
    pub(crate) finish_queue: mpsc::Sender<Finished>,
    pub(crate) dispatch: Notify,
    pub(crate) replays: Notify,
    /// Signals that the indexed fields may have changed.
    pub(crate) declare: Notify,
    pub(crate) tail: broadcast::Sender<Notice>,
    /// Whether a delivery whose lease was lost before is in progress. Only one runs at a time.
    pub(crate) suspects: AtomicBool,
    /// Whether more of them may wait.
    pub(crate) suspects_wait: AtomicBool,
    pub(crate) stopping: AtomicBool,
    /// Ends the accept loop once queued requests are written, and the dispatch loop once its leased deliveries have
    /// started.
    pub(crate) shut_door: CancellationToken,
    pub(crate) door: TaskTracker,
    /// Ends the other loops.
    pub(crate) stop: CancellationToken,
    /// Attempts in progress.
    pub(crate) attempts: TaskTracker,
    /// Deliveries released instead of finished.
    pub(crate) released: AtomicUsize,
    pub(crate) loops: TaskTracker,
}

impl Engine {
    /// The clock that everything is written with.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.parts.clock
    }

    pub fn store(&self) -> &Arc<dyn Backend> {
        &self.0.parts.store
    }

    /// The live tail. Lossy: a reader that lags misses lines and is notified.
    pub fn tail(&self) -> broadcast::Receiver<Notice> {
        self.0.tail.subscribe()
    }
}

impl Inner {
    pub(crate) fn observe(&self, observation: &Observation<'_>) {
        self.parts.observer.observe(observation);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.parts.clock.elapsed()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Sleeps. Returns whether the engine was stopped during the sleep.
    pub(crate) async fn rest(&self, duration: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => true,
            () = self.parts.runtime.sleep(duration) => false,
        }
    }

    /// Spawns a loop that brings deliveries in.
    pub(crate) fn spawn_at_door(self: &Arc<Self>, body: impl Future<Output = ()> + Send + 'static) {
        self.parts.runtime.spawn(Box::pin(self.door.track_future(body)));
    }

    /// Spawns a task that ends when the engine does.
    pub(crate) fn spawn_loop(self: &Arc<Self>, body: impl Future<Output = ()> + Send + 'static) {
        self.parts.runtime.spawn(Box::pin(self.loops.track_future(body)));
    }
}
