//! How the engine starts with all its loops, takes another routing, and stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::Error;
use hapax_core::{EventIds, Owner};
use tokio::sync::{Notify, broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::{Engine, Inner, Limits, Parts};
use crate::gather::Gather;
use crate::held_leases::HeldLeases;
use crate::known_bodies::KnownBodies;
use crate::owners::Owners;
use crate::pauses::Pauses;
use crate::plan::Plan;
use crate::routing::Routing;
use crate::seen::Seen;
use crate::watchers::Watchers;

/// Lines the live tail buffers for a slow reader: two seconds at 2,000 events per second.
const TAIL_LINES: usize = 4_096;

/// The result of a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Attempts that ended on their own.
    pub finished: usize,
    /// Attempts that were aborted and released, to be made again.
    pub released: usize,
}

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
            bodies: KnownBodies::new(limits.seen_entries),
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
