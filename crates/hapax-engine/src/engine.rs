//! The assembled engine: its parts, limits and loops, and how it stops.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::{Error, Patience};
use hapax_core::{Backend, Clock, DestinationId, EventIds, Owner, Random, SourceName, Timestamp};
use tokio::sync::{Notify, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept::{Aliased, Waiting};
use crate::alive::Owners;
use crate::destination_runtime::DestinationRuntime;
use crate::finish::Finished;
use crate::gather::Gather;
use crate::heartbeat::HeldLeases;
use crate::observe::{Notice, Observation, Observer};
use crate::pauses::Pauses;
use crate::processed::Watchers;
use crate::rate::Bucket;
use crate::routing::{Route, Routing};
use crate::runtime::Runtime;
use crate::seen::Seen;
use crate::transport::Transport;

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
    /// Concurrent batches. One, if the store has a single writer.
    pub accept_in_flight: usize,
    /// Requests with a conflict that may wait for its body to be stored; further ones are refused with `Overloaded`.
    pub conflict_queue: usize,
    /// Entries in the seen-cache.
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
    door: TaskTracker,
    /// Ends the other loops.
    pub(crate) stop: CancellationToken,
    /// Attempts in progress.
    pub(crate) attempts: TaskTracker,
    /// Deliveries released instead of finished.
    pub(crate) released: AtomicUsize,
    loops: TaskTracker,
}

/// The compiled routing that accept and dispatch look up.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) sources: HashMap<SourceName, Arc<Source>>,
    pub(crate) destinations: HashMap<DestinationId, Arc<DestinationRuntime>>,
}

/// A source, with the run-time state of its destinations at hand.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) route: Route,
    pub(crate) destinations: Vec<Arc<DestinationRuntime>>,
    pub(crate) bucket: Option<Bucket>,
}

/// The result of a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Attempts that ended on their own.
    pub finished: usize,
    /// Attempts that were aborted and released, to be made again.
    pub released: usize,
}

/// Lines the live tail buffers for a slow reader: two seconds at 2,000 events per second.
const TAIL_LINES: usize = 4_096;

impl Engine {
    /// Starts the engine and its loops.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(parts: Parts, routing: Routing, limits: Limits) -> Result<Self, Error> {
        let pauses = Pauses::new(parts.store.pauses().await?);
        let (accept_queue, waiting) = mpsc::channel(limits.accept_queue);
        let (alias_queue, aliased) = mpsc::channel(limits.accept_queue);
        let (conflict_queue, undecided) = mpsc::channel(limits.conflict_queue);
        let (finish_queue, finished) = mpsc::channel(limits.finish_queue);
        let inner = Arc::new(Inner {
            driver: Owner(parts.random.next_u64()),
            owners: Owners::new(
                parts.store.shards(),
                limits.silent_max,
                &*parts.random,
                parts.clock.elapsed(),
            ),
            ids: EventIds::default(),
            plan: ArcSwap::from_pointee(Plan::new(routing, &Plan::default(), &pauses)),
            pauses,
            indexes: ArcSwap::default(),
            seen: Seen::new(limits.seen_entries, limits.seen_for),
            gather: Gather::default(),
            held_leases: HeldLeases::default(),
            watchers: Watchers::default(),
            accept_queue,
            alias_queue,
            finish_queue,
            dispatch: Notify::new(),
            replays: Notify::new(),
            declare: Notify::new(),
            tail: broadcast::channel(TAIL_LINES).0,
            suspects: AtomicBool::new(false),
            suspects_wait: AtomicBool::new(true),
            stopping: AtomicBool::new(false),
            shut_door: CancellationToken::new(),
            door: TaskTracker::new(),
            stop: CancellationToken::new(),
            attempts: TaskTracker::new(),
            released: AtomicUsize::new(0),
            loops: TaskTracker::new(),
            parts,
            limits,
        });
        // Before anything is leased: other replicas can only take over from owners they have heard of.
        inner.report_alive().await;
        inner.spawn_at_door(Inner::accept_loop(Arc::clone(&inner), waiting, conflict_queue));
        inner.spawn_at_door(Inner::conflict_loop(Arc::clone(&inner), undecided));
        inner.spawn_at_door(Inner::alias_loop(Arc::clone(&inner), aliased));
        inner.spawn_at_door(Inner::dispatch_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::finish_loop(Arc::clone(&inner), finished));
        inner.spawn_loop(Inner::heartbeat_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::alive_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::silence_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::rescue_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::pauses_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::flush_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::retain_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::replay_loop(Arc::clone(&inner)));
        inner.spawn_loop(Inner::indexes_loop(Arc::clone(&inner)));
        Ok(Self(inner))
    }

    /// Replaces the routing. Deliveries in progress end under the old one; deliveries for a removed destination stay in
    /// the store until it returns.
    pub fn reconfigure(&self, routing: Routing) {
        let old = self.0.plan.load();
        let plan = Plan::new(routing, &old, &self.0.pauses);
        self.0.drop_indexes(&plan);
        self.0.plan.store(Arc::new(plan));
        self.0.dispatch.notify_one();
        self.0.declare.notify_one();
    }

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

    /// Stops the engine: refuses new events, leases nothing more, lets running attempts end within `limit`, releases
    /// the rest, and writes every outcome.
    pub async fn shutdown(&self, limit: Duration) -> ShutdownReport {
        let inner = &self.0;
        inner.stopping.store(true, Ordering::SeqCst);
        // Stop accepting first: deliveries that start with their accept, and those being leased, must be among the
        // attempts waited for.
        inner.shut_door.cancel();
        inner.door.close();
        inner.door.wait().await;
        inner.attempts.close();
        let (held, released_before) = (inner.held_leases.len(), inner.released.load(Ordering::Relaxed));
        tokio::select! {
            biased;
            () = inner.attempts.wait() => {}
            () = inner.parts.runtime.sleep(limit) => {
                inner.held_leases.release(|_, _| true);
                inner.attempts.wait().await;
            }
        }
        let released = inner.released.load(Ordering::Relaxed) - released_before;
        inner.stop.cancel();
        inner.loops.close();
        inner.loops.wait().await;
        while inner.flush_gathered().await {}
        ShutdownReport {
            finished: held.saturating_sub(released),
            released,
        }
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
    fn spawn_at_door(self: &Arc<Self>, body: impl Future<Output = ()> + Send + 'static) {
        self.parts.runtime.spawn(Box::pin(self.door.track_future(body)));
    }

    /// Spawns a task that ends when the engine does.
    pub(crate) fn spawn_loop(self: &Arc<Self>, body: impl Future<Output = ()> + Send + 'static) {
        self.parts.runtime.spawn(Box::pin(self.loops.track_future(body)));
    }

    async fn flush_loop(self: Arc<Self>) {
        while !self.rest(self.limits.flush_every).await {
            self.flush_gathered().await;
        }
    }
}

impl Plan {
    /// Compiles a routing. Destinations that existed before keep their permits, breaker and pause.
    fn new(routing: Routing, old: &Self, pauses: &Pauses) -> Self {
        let destinations: HashMap<_, _> = routing
            .destinations
            .into_iter()
            .map(|(id, destination)| {
                let runtime = if let Some(runtime) = old.destinations.get(&id) {
                    runtime.reconfigure(destination);
                    Arc::clone(runtime)
                } else {
                    Arc::new(DestinationRuntime::new(destination, pauses.of(&id)))
                };
                (id, runtime)
            })
            .collect();
        let sources = routing
            .sources
            .into_iter()
            .map(|(name, route)| {
                let source = Source {
                    destinations: route
                        .deliver_to
                        .iter()
                        .filter_map(|id| destinations.get(id).cloned())
                        .collect(),
                    bucket: route.rate.map(Bucket::new),
                    route,
                };
                (name, Arc::new(source))
            })
            .collect();
        Self {
            sources,
            destinations,
        }
    }
}
