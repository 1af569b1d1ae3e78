//! Lost leases: each must have a reason. A live holder that can reach the store keeps its leases. If leases are long,
//! it also has time to report again after an outage of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Violation;
use crate::executor::Process;
use crate::history::{Delivery, Entry, Fact, Fault};
use crate::rule::Rule;
use crate::store::CALL_TIMEOUT;

/// The trouble so far.
#[derive(Default)]
struct Trouble {
    dead: BTreeSet<Process>,
    /// Paused, or cut off from the store.
    away: BTreeSet<Process>,
    /// Until when each process had trouble.
    of_process: BTreeMap<Process, Duration>,
    store_down: bool,
    /// Until when every process had trouble.
    of_store: Option<Duration>,
    store_down_since: Duration,
    /// When the store came back after every process had fallen silent.
    store_up: Option<Duration>,
    leases_last: Duration,
}

/// After an outage this long, every process that reports again has a gap.
const OUTAGE: Duration = Duration::from_secs(8);

/// No process is declared dead for this long after an outage.
const REACHABLE_FOR: Duration = Duration::from_secs(15);
/// Longer leases do not end while the store is down.
const LONG_LEASE: Duration = Duration::from_secs(30);

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut trouble = Trouble::default();
    let mut leases: BTreeMap<&Delivery, (Process, Duration)> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::LeasesLast(lease) = entry.fact {
            trouble.leases_last = lease;
        } else if let Fact::Fault(fault) = &entry.fact {
            trouble.note(*fault, entry.at);
        } else if let Fact::Leased { by, delivery, .. } = &entry.fact {
            leases.insert(delivery, (*by, entry.at));
        } else if let Fact::Finished { delivery, .. } = &entry.fact {
            leases.remove(delivery);
        } else if let Fact::Rescued { delivery, .. } = &entry.fact
            && let Some((holder, since)) = leases.remove(delivery)
            && !trouble.explains(holder, since, entry.at)
        {
            let what = format!("{delivery} was taken from {holder}, which had no trouble");
            violations.push(Violation::new(Rule::LossUnexplained, entry, what));
        }
    }
    violations
}

impl Trouble {
    fn note(&mut self, fault: Fault, at: Duration) {
        match fault {
            Fault::Killed(process) => {
                self.dead.insert(process);
            }
            Fault::Paused(process) | Fault::CutOff(process) => {
                self.away.insert(process);
            }
            Fault::Resumed(process) => {
                self.away.remove(&process);
                self.of_process.insert(process, at);
            }
            Fault::Reconnected(process) => {
                self.away.remove(&process);
                self.of_process.insert(process, at + CALL_TIMEOUT);
            }
            Fault::MessageLost(process) => {
                // The caller learns of it only when its call times out.
                self.of_process.insert(process, at + CALL_TIMEOUT);
            }
            Fault::StoreDown => {
                if !self.store_down {
                    self.store_down_since = at;
                }
                self.store_down = true;
            }
            Fault::StoreUp => {
                // If outages overlap, the first to end ends both.
                if self.store_down && at.saturating_sub(self.store_down_since) >= OUTAGE {
                    self.store_up = Some(at);
                }
                self.store_down = false;
                self.of_store = Some(at + CALL_TIMEOUT);
            }
            Fault::StoreClockStepped(_) => self.of_store = self.of_store.max(Some(at)),
            // A process that was told to stop releases its leases, and no lease is measured by its wall clock.
            Fault::ShutDown(_) | Fault::ClockStepped(..) => {}
        }
    }

    /// Whether a lease that `holder` got at `since` may be lost by now.
    fn explains(&self, holder: Process, since: Duration, now: Duration) -> bool {
        let had_trouble = self.of_process.get(&holder).is_some_and(|until| *until >= since);
        let is_away = self.dead.contains(&holder) || self.away.contains(&holder);
        if !is_away && self.has_just_come_back(now) {
            return now.saturating_sub(since) >= self.leases_last;
        }
        is_away || had_trouble || self.store_down || self.of_store >= Some(since)
    }

    /// Whether leases are long, and the store was down and cannot have been reachable for 15 s since.
    fn has_just_come_back(&self, now: Duration) -> bool {
        let is_early = |up: Duration| now.saturating_sub(up) < REACHABLE_FOR;
        self.leases_last >= LONG_LEASE && self.store_up.is_some_and(is_early)
    }
}
