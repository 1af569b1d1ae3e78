//! The run-time state of one destination: its permits, slots, rate, breaker and pause, and whether older deliveries
//! wait. It survives a reload; only its settings are swapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::Pause;
use hapax_core::{DestinationId, Leased};
use parking_lot::Mutex;

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
    /// Incremented whenever a delivery may have become due; `clean_epoch` is its value when the store last had none.
    work_epoch: AtomicU64,
    clean_epoch: AtomicU64,
    /// When the next waiting delivery is due (monotonic, in microseconds); `u64::MAX` if unknown.
    next_due_us: AtomicU64,
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

impl DestinationRuntime {
    pub(crate) fn new(destination: Destination, pause: Option<Pause>) -> Self {
        Self {
            settings: ArcSwap::from_pointee(Settings::new(destination)),
            leases: AtomicU32::new(0),
            slots: Slots::new(),
            breaker: Mutex::default(),
            pause: Mutex::new(pause),
            // Not clean: deliveries that an earlier run left in the store come first.
            work_epoch: AtomicU64::new(1),
            clean_epoch: AtomicU64::new(0),
            next_due_us: AtomicU64::new(u64::MAX),
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
        // While others wait, a batch is worth more than haste, because each lease is a separate write.
        if wanted > 1 && limit.saturating_sub(self.leases.load(Ordering::Acquire)) < ahead / 2 {
            return Err(None);
        }
        let mut permits = self.take_leases(wanted, limit);
        if permits.is_empty() {
            return Err(None);
        }
        if let Some(bucket) = &settings.bucket {
            match bucket.take(permits.len() as u32, now) {
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

    /// One permit for a delivery whose event is being accepted, if nothing older waits and the destination is open.
    pub(crate) fn first_lease(self: &Arc<Self>, now: Duration) -> Option<Reserved> {
        if self.has_backlog() || self.gate(now) != Gate::Closed {
            return None;
        }
        let permit = self.permits(1, now).ok()?.pop()?;
        Some(Reserved(Some(permit)))
    }

    /// A delivery may have become due.
    pub(crate) fn mark_dirty(&self) {
        self.work_epoch.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn work_epoch(&self) -> u64 {
        self.work_epoch.load(Ordering::Acquire)
    }

    /// The store had nothing due when `work_epoch` was read. Later changes are not covered.
    pub(crate) fn mark_clean(&self, work_epoch: u64, next_due: Option<Duration>) {
        self.clean_epoch.store(work_epoch, Ordering::Release);
        let micros = next_due.map_or(u64::MAX, |due| u64::try_from(due.as_micros()).unwrap_or(u64::MAX));
        self.next_due_us.store(micros, Ordering::Release);
    }

    /// Whether due deliveries may wait in the store.
    pub(crate) fn has_backlog(&self) -> bool {
        self.work_epoch.load(Ordering::Acquire) != self.clean_epoch.load(Ordering::Acquire)
    }

    /// A delivery becomes due at this time.
    pub(crate) fn due_at(&self, moment: Duration) {
        let micros = u64::try_from(moment.as_micros()).unwrap_or(u64::MAX);
        self.next_due_us.fetch_min(micros, Ordering::AcqRel);
    }

    pub(crate) fn next_due(&self) -> Option<Duration> {
        match self.next_due_us.load(Ordering::Acquire) {
            u64::MAX => None,
            micros => Some(Duration::from_micros(micros)),
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
