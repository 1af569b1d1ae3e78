//! Dispatch: leases due deliveries and starts them, round-robin over destinations, and reclaims expired leases.
//!
//! Deliveries whose lease was lost before run one at a time in this process, so if one of them kills it, no other is
//! blamed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hapax_core::store::{Candidates, LeaseBatch, LeaseOrder, Rescued};
use hapax_core::{Owner, Timestamp};

use crate::backlog::LeaseAnswer;
use crate::destination_runtime::{DestinationRuntime, Permit, SuspectPermit};
use crate::engine::Inner;
use crate::observe::Observation;

/// The shortest wait between two queries when the store fails.
const FAILURE_PAUSE: Duration = Duration::from_millis(200);
/// The wait before querying again for deliveries that are due by our clock but not yet by the store's.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Expired leases reclaimed in one write.
pub(crate) const RESCUE_MAX: u32 = 256;
/// Reclaimed deliveries whose event is looked up for the log.
const RESCUE_LOOKED_UP_MAX: usize = 64;

impl Inner {
    pub(crate) async fn dispatch_loop(self: Arc<Self>) {
        let mut turn = 0_usize;
        let mut polled = self.elapsed();
        loop {
            if self.shut_door.is_cancelled() {
                return;
            }
            let mut wait = self.limits.poll_every;
            let owner = self.owners.current(self.elapsed());
            if let Some(owner) = owner.filter(|_| !self.is_stopping()) {
                let poll = self.elapsed().saturating_sub(polled) >= self.limits.poll_every;
                if poll {
                    polled = self.elapsed();
                }
                let mut destinations: Vec<Arc<DestinationRuntime>> =
                    self.plan.load().destinations.values().cloned().collect();
                destinations.sort_by_key(|runtime| runtime.id());
                if !destinations.is_empty() {
                    turn = (turn + 1) % destinations.len();
                    destinations.rotate_left(turn);
                }
                for runtime in &destinations {
                    wait = wait.min(self.serve_destination(runtime, owner, poll).await);
                }
                self.serve_suspects(&destinations, owner, poll).await;
            }
            if wait.is_zero() {
                // More is due: continue immediately, but let other tasks run.
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                () = self.dispatch.notified() => {}
                () = self.parts.runtime.sleep(wait) => {}
                () = self.shut_door.cancelled() => return,
            }
        }
    }

    /// Leases and starts one batch for one destination. Returns how long until it needs to be served again.
    async fn serve_destination(
        self: &Arc<Self>,
        runtime: &Arc<DestinationRuntime>,
        owner: Owner,
        poll: bool,
    ) -> Duration {
        let now = self.elapsed();
        if poll {
            runtime.mark_unsure();
        }
        let wanted = match runtime.wanted(now) {
            Ok(wanted) => wanted.min(self.limits.lease_batch),
            Err(wait) => return wait,
        };
        let permits = match runtime.permits(wanted, now) {
            Ok(permits) => permits,
            // Without a time, a returned permit wakes us.
            Err(wait) => return wait.unwrap_or(Duration::MAX),
        };
        runtime.begin_request(permits.len() as u32);
        let answer = self.lease(runtime, owner, permits, Candidates::Fresh).await;
        runtime.end_request(answer.map(|(leased, next_due)| LeaseAnswer {
            leased: leased as u32,
            is_more_due: next_due == Some(Duration::ZERO),
            next_due: next_due.map(|due| self.elapsed() + due),
        }));
        if answer.is_none() {
            return FAILURE_PAUSE;
        }
        // If more may be due, a returned permit, or the next turn, asks for it.
        runtime.wanted(self.elapsed()).err().unwrap_or_default()
    }

    /// Serves one suspect at a time, across all destinations.
    async fn serve_suspects(
        self: &Arc<Self>,
        destinations: &[Arc<DestinationRuntime>],
        owner: Owner,
        poll: bool,
    ) {
        if !(poll || self.suspects_wait.load(Ordering::SeqCst)) {
            return;
        }
        let mut wait = false;
        for runtime in destinations {
            if self.suspects.swap(true, Ordering::SeqCst) {
                return;
            }
            let started = match runtime.suspect_permit(self.elapsed()) {
                SuspectPermit::Granted(permit) => {
                    let permits = vec![permit];
                    let leased = self.lease(runtime, owner, permits, Candidates::Suspect).await;
                    leased.map_or(0, |(started, _)| started)
                }
                SuspectPermit::Waits => {
                    wait = true;
                    0
                }
                SuspectPermit::Closed => 0,
            };
            if started > 0 {
                // More may wait behind it: check again when it has ended.
                self.suspects_wait.store(true, Ordering::SeqCst);
                return;
            }
            self.suspects.store(false, Ordering::SeqCst);
        }
        self.suspects_wait.store(wait, Ordering::SeqCst);
    }

    /// Leases at most one delivery per permit and starts them. Returns how many were started and in how long the next
    /// is due, or nothing if the store failed.
    async fn lease(
        self: &Arc<Self>,
        runtime: &Arc<DestinationRuntime>,
        owner: Owner,
        mut permits: Vec<Permit>,
        candidates: Candidates,
    ) -> Option<(usize, Option<Duration>)> {
        let order = LeaseOrder {
            owner,
            destination: runtime.id(),
            limit: permits.len() as u32,
            lease_for: runtime.with_settings(|settings| settings.lease),
            candidates,
        };
        let LeaseBatch { leased, next_due } = match self.parts.store.lease(order).await {
            Ok(batch) => batch,
            Err(error) => {
                self.observe(&Observation::StoreFailed {
                    during: "leasing",
                    error: &error,
                });
                runtime.unused(permits.len());
                runtime.probe_released();
                return None;
            }
        };
        fail::fail_point!("dispatch.after_lease");
        let started = leased.len();
        for leased in leased {
            // The store never leases more than requested.
            let Some(permit) = permits.pop() else { break };
            self.start_attempt(owner, leased, permit);
        }
        runtime.unused(permits.len());
        if started == 0 {
            runtime.probe_released();
        }
        let now = self.parts.clock.now();
        // Nothing was due by the store's clock, but something is by ours, which is ahead: asking again immediately
        // would be a busy loop. If something was leased, more may really be due, because stores may lease fewer than
        // requested.
        let is_ahead = |due: Timestamp| started == 0 && due <= now;
        let wait = |due| if is_ahead(due) { LOOK_AGAIN } else { due.since(now) };
        Some((started, next_due.map(wait)))
    }

    /// Reclaims deliveries whose lease has expired. Those of a dead replica are found sooner, by `alive`.
    pub(crate) async fn rescue_loop(self: Arc<Self>) {
        while !self.rest(self.limits.rescue_every).await {
            match self.parts.store.rescue(RESCUE_MAX).await {
                Ok(rescued) => self.took_back(rescued),
                Err(error) => self.observe(&Observation::StoreFailed {
                    during: "rescuing",
                    error: &error,
                }),
            }
        }
    }

    /// Runs reclaimed deliveries, and reports them.
    pub(crate) fn took_back(self: &Arc<Self>, rescued: Vec<Rescued>) {
        if rescued.is_empty() {
            return;
        }
        self.suspects_wait.store(true, Ordering::SeqCst);
        self.plan
            .load()
            .destinations
            .values()
            .for_each(|runtime| runtime.mark_dirty());
        self.dispatch.notify_one();
        // In a separate task: neither the deliveries nor the next liveness report waits for the log.
        self.spawn_loop(Self::tell_rescued(Arc::clone(self), rescued));
    }

    /// Reports reclaimed deliveries with their event, which is looked up for the first few only: after a crash there
    /// are hundreds, and they are being delivered by then.
    async fn tell_rescued(self: Arc<Self>, rescued: Vec<Rescued>) {
        for (index, rescued) in rescued.iter().enumerate() {
            let record = if index < RESCUE_LOOKED_UP_MAX && !self.is_stopping() {
                self.parts.store.get(rescued.event).await.ok().flatten()
            } else {
                None
            };
            self.observe(&Observation::Rescued {
                rescued,
                record: record.as_ref(),
            });
        }
    }
}
