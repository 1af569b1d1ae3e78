//! The leases that this process holds, and the signals that stop their attempts.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hapax_core::{DestinationId, EventId, Hold, Owner, Token};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// How long a lease is renewed for an outcome that cannot be written; after that another process may try.
const UNWRITTEN_MAX: Duration = Duration::from_secs(120);

/// Attempts in progress, and those whose outcome is not written yet.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases(Mutex<HashMap<(EventId, DestinationId), HeldLease>>);

#[derive(Debug)]
struct HeldLease {
    token: Token,
    owner: Owner,
    lease_for: Duration,
    /// When the lease was last known to be renewed, on the monotonic clock.
    renewed: Duration,
    /// When the attempt ended and only its outcome was left to write.
    ended: Option<Duration>,
    signals: Signals,
}

/// How an attempt is stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// The lease is lost: abort, write nothing.
    pub(crate) lost: CancellationToken,
    /// The process is stopping: abort, release the delivery.
    pub(crate) release: CancellationToken,
}

impl HeldLeases {
    pub(crate) fn begin(&self, hold: &Hold, owner: Owner, lease_for: Duration, now: Duration) -> Signals {
        let signals = Signals::default();
        let lease = HeldLease {
            token: hold.token,
            owner,
            lease_for,
            renewed: now,
            ended: None,
            signals: signals.clone(),
        };
        self.0
            .lock()
            .insert((hold.event, hold.destination.clone()), lease);
        signals
    }

    /// The attempt has ended. Its lease is still renewed.
    pub(crate) fn attempt_ended(&self, hold: &Hold, now: Duration) {
        self.change(hold, |lease| lease.ended = Some(now));
    }

    /// Nothing is left to write.
    pub(crate) fn end(&self, hold: &Hold) {
        let mut leases = self.0.lock();
        let key = (hold.event, hold.destination.clone());
        // A rescued delivery may start again, under another token, before the first attempt has ended.
        if leases.get(&key).is_some_and(|lease| lease.token == hold.token) {
            leases.remove(&key);
        }
    }

    /// The number of attempts in progress.
    pub(crate) fn len(&self) -> usize {
        self.0
            .lock()
            .values()
            .filter(|lease| lease.ended.is_none())
            .count()
    }

    /// Tells attempts, chosen by event and owner, to release their delivery. Returns how many there are.
    pub(crate) fn release(&self, which: impl Fn(EventId, Owner) -> bool) -> usize {
        let held = self.0.lock();
        let chosen = held
            .iter()
            .filter(|((event, _), lease)| lease.ended.is_none() && which(*event, lease.owner));
        chosen.map(|(_, lease)| lease.signals.release.cancel()).count()
    }

    /// Whether an owner holds any lease.
    pub(crate) fn any_of(&self, owner: Owner) -> bool {
        self.0.lock().values().any(|lease| lease.owner == owner)
    }

    /// Leases due for renewal, by length of the lease. Ordered, so that a repeated run makes the same requests.
    pub(crate) fn due(&self, now: Duration) -> BTreeMap<Duration, Vec<Hold>> {
        let mut due: BTreeMap<Duration, Vec<Hold>> = BTreeMap::new();
        for ((event, destination), lease) in self.0.lock().iter() {
            let is_dropped = lease
                .ended
                .is_some_and(|ended| now.saturating_sub(ended) >= UNWRITTEN_MAX);
            if !is_dropped && now.saturating_sub(lease.renewed) >= lease.lease_for / 3 {
                let hold = Hold {
                    event: *event,
                    destination: destination.clone(),
                    token: lease.token,
                };
                due.entry(lease.lease_for).or_default().push(hold);
            }
        }
        for holds in due.values_mut() {
            holds.sort_by_key(|hold| hold.token);
        }
        due
    }

    pub(crate) fn renewed(&self, hold: &Hold, asked: Duration) {
        self.change(hold, |lease| lease.renewed = asked);
    }

    /// Tells an attempt that its lease is lost; the attempt reports it when it ends.
    pub(crate) fn lost(&self, hold: &Hold) {
        self.change(hold, |lease| lease.signals.lost.cancel());
    }

    fn change(&self, hold: &Hold, change: impl FnOnce(&mut HeldLease)) {
        let mut leases = self.0.lock();
        let lease = leases.get_mut(&(hold.event, hold.destination.clone()));
        if let Some(lease) = lease.filter(|lease| lease.token == hold.token) {
            change(lease);
        }
    }

    /// Leases that must have ended, as far as this process can tell.
    pub(crate) fn overdue(&self, now: Duration) -> Vec<Hold> {
        let held = self.0.lock();
        let overdue = held
            .iter()
            .filter(|(_, lease)| now.saturating_sub(lease.renewed) >= lease.lease_for);
        overdue
            .map(|((event, destination), lease)| Hold {
                event: *event,
                destination: destination.clone(),
                token: lease.token,
            })
            .collect()
    }
}
