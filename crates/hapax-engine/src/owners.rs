//! The owner names under which this process has leased, and when each last reported to each shard of the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::{Owner, Random};
use parking_lot::Mutex;

/// A replaced owner keeps reporting for this long, so that outcomes still in flight can be written.
const REPLACED_KEEP: Duration = Duration::from_secs(60);

/// The owner names under which this process has leased.
#[derive(Debug)]
pub(crate) struct Owners {
    current: AtomicU64,
    /// When the current name last reported to any shard, in microseconds; 0 if it has not yet.
    reported: AtomicU64,
    silent_max: Duration,
    /// All names that still hold leases, the current one last.
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    owner: Owner,
    /// When a new name replaced it.
    replaced: Option<Duration>,
    /// For each shard, when the last successful report began; none once the shard was abandoned.
    reported: Vec<Option<Duration>>,
}

impl Owners {
    pub(crate) fn new(shards: usize, silent_max: Duration, random: &dyn Random, now: Duration) -> Self {
        let first = Known::new(shards, random, now);
        Self {
            current: AtomicU64::new(first.owner.0),
            reported: AtomicU64::new(0),
            silent_max,
            known: Mutex::new(vec![first]),
        }
    }

    /// The name to lease under now. None if the store has not heard from it lately: the death of such an owner would go
    /// unnoticed until its leases end.
    pub(crate) fn current(&self, now: Duration) -> Option<Owner> {
        let owner = Owner(self.current.load(Ordering::Acquire));
        let reported = Duration::from_micros(self.reported.load(Ordering::Acquire));
        let is_known = !reported.is_zero() && now.saturating_sub(reported) < self.silent_max;
        is_known.then_some(owner)
    }

    /// Which names report to which shards.
    pub(crate) fn reports(&self) -> Vec<(Owner, usize)> {
        let known = self.known.lock();
        let reports = known.iter().flat_map(|known| {
            let shards = known.reported.iter().enumerate();
            let open = shards.filter(|(_, reported)| reported.is_some());
            open.map(|(shard, _)| (known.owner, shard))
        });
        reports.collect()
    }

    pub(crate) fn reported(&self, owner: Owner, shard: usize, asked: Duration) {
        let mut known = self.known.lock();
        if known.last().is_some_and(|last| last.owner == owner) {
            self.reported
                .fetch_max(asked.as_micros().max(1) as u64, Ordering::AcqRel);
        }
        let reported = known
            .iter_mut()
            .find(|known| known.owner == owner)
            .and_then(|known| known.reported.get_mut(shard));
        // An abandoned one stays abandoned.
        if let Some(reported) = reported.and_then(Option::as_mut) {
            *reported = asked;
        }
    }

    /// Abandons names that could not report for too long, and picks a new name if the current one is among them.
    pub(crate) fn give_up(&self, random: &dyn Random, now: Duration) -> Vec<(Owner, usize)> {
        let mut known = self.known.lock();
        let mut given_up = Vec::new();
        for known in known.iter_mut() {
            for (shard, reported) in known.reported.iter_mut().enumerate() {
                if reported.is_some_and(|last| now.saturating_sub(last) >= self.silent_max) {
                    *reported = None;
                    given_up.push((known.owner, shard));
                }
            }
        }
        let current = self.current.load(Ordering::Acquire);
        if given_up.iter().any(|(owner, _)| owner.0 == current) {
            let shards = known.last().map_or(0, |last| last.reported.len());
            if let Some(last) = known.last_mut() {
                last.replaced = Some(now);
            }
            let next = Known::new(shards, random, now);
            // The order matters: the new name must not look like one that the store has heard from.
            self.reported.store(0, Ordering::Release);
            self.current.store(next.owner.0, Ordering::Release);
            known.push(next);
        }
        given_up
    }

    /// Forgets names that were replaced long ago and no longer hold leases.
    pub(crate) fn forget(&self, now: Duration, holds: impl Fn(Owner) -> bool) {
        let is_old = |replaced: Duration| now.saturating_sub(replaced) >= REPLACED_KEEP;
        self.known
            .lock()
            .retain(|known| !known.replaced.is_some_and(is_old) || holds(known.owner));
    }
}

impl Known {
    fn new(shards: usize, random: &dyn Random, now: Duration) -> Self {
        Self {
            owner: Owner(random.next_u64()),
            replaced: None,
            reported: vec![Some(now); shards],
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax_core::SystemRandom;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const SILENT_MAX: Duration = Duration::from_secs(10);

    fn owners(shards: usize) -> (Owners, SystemRandom) {
        let random = SystemRandom::new();
        (Owners::new(shards, SILENT_MAX, &random, Duration::ZERO), random)
    }

    fn name_of(owners: &Owners) -> Owner {
        Owner(owners.current.load(Ordering::Acquire))
    }

    #[test]
    fn nothing_is_leased_under_a_name_that_the_store_has_not_heard_of_lately() {
        let (owners, random) = owners(2);
        let name = name_of(&owners);
        assert_eq!(owners.current(SECOND), None, "not yet");
        owners.reported(name, 1, SECOND);
        assert_eq!(owners.current(10 * SECOND), Some(name));
        assert_eq!(
            owners.current(11 * SECOND),
            None,
            "a process that was suspended must not lease before it notices"
        );
        owners.give_up(&random, 11 * SECOND);
        owners.reported(name, 1, 10 * SECOND);
        assert_eq!(owners.current(11 * SECOND), None, "that was another name");
        owners.reported(name_of(&owners), 0, 11 * SECOND);
        assert_eq!(owners.current(12 * SECOND), Some(name_of(&owners)));
    }

    #[test]
    fn an_owner_that_reports_keeps_its_name() {
        let (owners, random) = owners(1);
        let name = name_of(&owners);
        for second in 1..60 {
            owners.reported(name, 0, second * SECOND);
            assert_eq!(owners.give_up(&random, (second + 9) * SECOND), []);
        }
        assert_eq!(name_of(&owners), name);
    }

    #[test]
    fn after_ten_seconds_without_a_report_it_goes_on_under_another() {
        let (owners, random) = owners(1);
        let name = name_of(&owners);
        assert_eq!(owners.give_up(&random, 9 * SECOND), []);
        assert_eq!(owners.give_up(&random, 10 * SECOND), [(name, 0)]);
        assert_ne!(name_of(&owners), name);
        assert_eq!(
            owners.reports(),
            [(name_of(&owners), 0)],
            "the first stays silent"
        );
    }

    #[test]
    fn a_report_that_comes_through_after_all_revives_nobody() {
        let (owners, random) = owners(1);
        let name = name_of(&owners);
        owners.give_up(&random, 10 * SECOND);
        owners.reported(name, 0, 9 * SECOND);
        assert_eq!(owners.reports(), [(name_of(&owners), 0)]);
    }

    #[test]
    fn a_shard_that_is_silent_costs_nothing_that_was_leased_from_the_others() {
        let (owners, random) = owners(3);
        let name = name_of(&owners);
        owners.reported(name, 0, 9 * SECOND);
        owners.reported(name, 2, 9 * SECOND);
        assert_eq!(owners.give_up(&random, 10 * SECOND), [(name, 1)]);
        let next = name_of(&owners);
        let expected = [(name, 0), (name, 2), (next, 0), (next, 1), (next, 2)];
        assert_eq!(owners.reports(), expected);
    }

    #[test]
    fn a_name_is_forgotten_a_minute_after_it_was_replaced_when_it_holds_nothing() {
        let (owners, random) = owners(2);
        let name = name_of(&owners);
        owners.reported(name, 0, 9 * SECOND);
        owners.give_up(&random, 10 * SECOND);
        let reports = |owner| owners.reports().iter().any(|(known, _)| *known == owner);
        owners.forget(69 * SECOND, |_| false);
        assert!(reports(name), "outcomes may still be in flight");
        owners.forget(70 * SECOND, |_| true);
        assert!(reports(name), "it still holds a lease");
        owners.forget(70 * SECOND, |_| false);
        assert!(!reports(name) && reports(name_of(&owners)));
    }
}
