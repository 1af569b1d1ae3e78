//! The run-time state of one destination: its permits, slots, rate, breaker, pause and backlog. It survives a reload;
//! only its settings are swapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::Pause;
use hapax_core::{DestinationId, Leased};
use parking_lot::Mutex;

use crate::backlog::{Backlog, LeaseAnswer};
use crate::breaker::{Breaker, Change, Gate};
use crate::held_leases::Signals;
use crate::rate::Bucket;
use crate::routing::Destination;
use crate::slots::Slots;

/// The run-time state of one destination.
#[derive(Debug)]
pub(crate) struct DestinationRuntime {
    settings: ArcSwap<Settings>,
    /// Leases held here, whether running or waiting for a slot.
    leases: AtomicU32,
    slots: Slots<QueuedAttempt>,
    breaker: Mutex<Breaker>,
    pause: Mutex<Option<Pause>>,
    backlog: Mutex<Backlog>,
}

#[derive(Debug)]
struct Settings {
    destination: Destination,
    bucket: Option<Bucket>,
}

/// The right to hold one lease. Dropping it returns it.
#[derive(Debug)]
pub(crate) struct Permit(Arc<DestinationRuntime>);

impl Permit {
    pub(crate) fn runtime(&self) -> &Arc<DestinationRuntime> {
        &self.0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.leases.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A leased delivery held by this process.
#[derive(Debug)]
pub(crate) struct QueuedAttempt {
    pub(crate) leased: Leased,
    pub(crate) permit: Permit,
    pub(crate) signals: Signals,
}

/// A permit for a delivery whose event is still being accepted, with its share of the rate. Both are returned unless it
/// is used.
#[derive(Debug)]
pub(crate) struct Reserved(Option<Permit>);

impl Reserved {
    /// Returns the permit. Returns whether a delivery that waits in the store needs it.
    pub(crate) fn return_unused(self) -> bool {
        let runtime = self.0.as_ref().map(|permit| Arc::clone(permit.runtime()));
        drop(self);
        runtime.is_some_and(|runtime| runtime.has_backlog())
    }

    /// The attempt starts.
    pub(crate) fn used(mut self) -> Option<Permit> {
        self.0.take()
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(permit) = &self.0 {
            permit.runtime().unused(1);
        }
    }
}

/// The permit for a delivery that was lost before.
#[derive(Debug)]
pub(crate) enum SuspectPermit {
    Granted(Permit),
    /// A returned permit is for it.
    Waits,
    /// The destination is paused, or its breaker is open.
    Closed,
}

impl DestinationRuntime {
    pub(crate) fn new(destination: Destination, pause: Option<Pause>) -> Self {
        Self {
            settings: ArcSwap::from_pointee(Settings::new(destination)),
            leases: AtomicU32::new(0),
            slots: Slots::new(),
            breaker: Mutex::default(),
            pause: Mutex::new(pause),
            backlog: Mutex::default(),
        }
    }

    pub(crate) fn reconfigure(&self, destination: Destination) {
        self.settings.store(Arc::new(Settings::new(destination)));
        self.mark_dirty();
    }

    pub(crate) fn id(&self) -> DestinationId {
        self.settings.load().destination.id.clone()
    }

    /// Calls `read` with the current settings.
    pub(crate) fn with_settings<T>(&self, read: impl FnOnce(&Destination) -> T) -> T {
        read(&self.settings.load().destination)
    }

    pub(crate) fn running(&self) -> u32 {
        self.slots.running()
    }

    /// Queues a leased delivery. Returns the one that starts now, if a slot is free.
    pub(crate) fn enqueue(&self, queued: QueuedAttempt) -> Option<QueuedAttempt> {
        // If this process dies while it waits, it is blamed again without having run.
        if queued.leased.lost > 0 {
            return self.slots.enter_first(queued, self.slots_now());
        }
        self.slots.enter(queued, self.slots_now())
    }

    /// An attempt has ended. Returns the delivery that takes its slot.
    pub(crate) fn next_queued(&self) -> Option<QueuedAttempt> {
        self.slots.next(self.slots_now())
    }

    /// Records how long an attempt took.
    pub(crate) fn took(&self, duration: Duration) {
        self.slots.took(duration);
    }

    fn slots_now(&self) -> u32 {
        self.with_settings(|destination| destination.concurrency)
    }

    /// Whether attempts may start: not paused, and the breaker closed.
    pub(crate) fn is_open(&self, now: Duration) -> bool {
        !self.is_paused() && self.gate(now) == Gate::Closed
    }

    fn gate(&self, now: Duration) -> Gate {
        self.breaker.lock().gate(now)
    }

    pub(crate) fn paused(&self) -> Option<Pause> {
        self.pause.lock().clone()
    }

    pub(crate) fn set_pause(&self, pause: Option<Pause>) {
        *self.pause.lock() = pause;
        self.mark_dirty();
    }

    fn is_paused(&self) -> bool {
        self.pause.lock().is_some()
    }

    /// Up to `wanted` permits, as far as concurrency, pause, breaker and rate allow. If there are none, how long to
    /// wait (none: until a permit is returned or the pause ends).
    pub(crate) fn permits(
        self: &Arc<Self>,
        wanted: u32,
        now: Duration,
    ) -> Result<Vec<Permit>, Option<Duration>> {
        self.permits_beyond(0, wanted, now)
    }

    /// As [`Self::permits`], but leaves `kept` of them.
    fn permits_beyond(
        self: &Arc<Self>,
        kept: u32,
        wanted: u32,
        now: Duration,
    ) -> Result<Vec<Permit>, Option<Duration>> {
        if self.is_paused() {
            return Err(None);
        }
        let mut wanted = wanted;
        let gate = self.gate(now);
        match gate {
            Gate::Closed => {}
            Gate::Probe => wanted = 1,
            Gate::Open(wait) => return Err(Some(wait)),
        }
        let settings = self.settings.load();
        // A rate counts attempts when they are leased, so nothing may wait between the two.
        let ahead = if settings.bucket.is_some() || gate == Gate::Probe {
            0
        } else {
            self.slots.ahead(settings.destination.concurrency)
        };
        let limit = settings.destination.concurrency.saturating_add(ahead);
        let limit = limit.saturating_sub(kept);
        // While deliveries that are leased ahead wait, a batch is worth more than haste, because each lease is a
        // separate write. But if there is a permit for each, they go: new events may take those that are left.
        let free = limit.saturating_sub(self.leases.load(Ordering::Acquire));
        if free < wanted.min(ahead / 2) {
            return Err(None);
        }
        let mut permits = self.take_leases(wanted, limit);
        if permits.is_empty() {
            return Err(None);
        }
        if let Some(bucket) = &settings.bucket {
            match bucket.take_beyond(kept, permits.len() as u32, now) {
                Ok(granted) => permits.truncate(granted as usize),
                Err(wait) => return Err(Some(wait)),
            }
        }
        if gate == Gate::Probe {
            self.breaker.lock().probe();
        }
        Ok(permits)
    }

    /// Returns tokens to the rate for attempts that are not made.
    pub(crate) fn unused(&self, count: usize) {
        if let Some(bucket) = &self.settings.load().bucket {
            bucket.give_back(count as u32);
        }
    }

    fn take_leases(self: &Arc<Self>, wanted: u32, limit: u32) -> Vec<Permit> {
        let taken = self
            .leases
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                let granted = limit.saturating_sub(held).min(wanted);
                (granted > 0).then_some(held + granted)
            });
        let granted = taken.map_or(0, |before| limit.saturating_sub(before).min(wanted));
        (0..granted).map(|_| Permit(Arc::clone(self))).collect()
    }

    /// One permit for a delivery whose event is being accepted, if no older delivery needs it and the destination is
    /// open.
    pub(crate) fn first_lease(self: &Arc<Self>, now: Duration) -> Option<Reserved> {
        let needed = self.backlog.lock().needed();
        if needed == u32::MAX || self.gate(now) != Gate::Closed {
            return None;
        }
        let permit = self.permits_beyond(needed, 1, now).ok()?.pop()?;
        Some(Reserved(Some(permit)))
    }

    /// One more delivery is due in the store.
    pub(crate) fn add_due(&self) {
        self.backlog.lock().add();
    }

    /// A delivery becomes due at this time.
    pub(crate) fn due_at(&self, moment: Duration) {
        self.backlog.lock().due_at(moment);
    }

    /// Any number of deliveries may have become due.
    pub(crate) fn mark_dirty(&self) {
        self.backlog.lock().mark_dirty();
    }

    /// Other replicas may have left deliveries.
    pub(crate) fn mark_unsure(&self) {
        self.backlog.lock().mark_unsure();
    }

    /// Whether a returned permit is needed by a delivery that waits in the store.
    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.lock().needed() > 0
    }

    /// The number of deliveries to ask the store for. If none are due, how long until one is.
    pub(crate) fn wanted(&self, now: Duration) -> Result<u32, Duration> {
        let mut backlog = self.backlog.lock();
        backlog.count_due(now);
        let next_due = backlog.next_due();
        match backlog.wanted() {
            0 => Err(next_due.map_or(Duration::MAX, |due| due.saturating_sub(now))),
            wanted => Ok(wanted),
        }
    }

    /// The store is being asked for up to `limit` deliveries.
    pub(crate) fn begin_request(&self, limit: u32) {
        self.backlog.lock().begin_request(limit);
    }

    /// The store has answered, or failed.
    pub(crate) fn end_request(&self, answer: Option<LeaseAnswer>) {
        self.backlog.lock().end_request(answer);
    }

    /// A permit for a delivery that was lost before. If there is none although the destination is open, new events leave
    /// it one.
    pub(crate) fn suspect_permit(self: &Arc<Self>, now: Duration) -> SuspectPermit {
        let permit = self.permits(1, now).ok().and_then(|mut permits| permits.pop());
        let waits = permit.is_none() && self.is_open(now);
        self.backlog.lock().set_suspect_waits(waits);
        match permit {
            Some(permit) => SuspectPermit::Granted(permit),
            None if waits => SuspectPermit::Waits,
            None => SuspectPermit::Closed,
        }
    }

    pub(crate) fn succeeded(&self) -> Change {
        self.breaker.lock().succeeded()
    }

    pub(crate) fn failed(&self, now: Duration) -> Change {
        self.breaker.lock().failed(now)
    }

    pub(crate) fn probe_released(&self) {
        self.breaker.lock().probe_released();
    }

    pub(crate) fn breaker_open_for(&self, now: Duration) -> Option<Duration> {
        self.breaker.lock().open_for(now)
    }
}

impl Settings {
    fn new(destination: Destination) -> Self {
        let bucket = destination.rate.map(Bucket::new);
        Self { destination, bucket }
    }
}
