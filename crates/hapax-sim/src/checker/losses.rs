//! Lost leases: each must have a reason. A holder that lives and reaches the store keeps what it has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Rule, Violation};
use crate::executor::Process;
use crate::history::{Delivery, Entry, Fact, Fault};
use crate::store::CALL_TIMEOUT;

/// What has gone wrong so far.
#[derive(Default)]
struct Trouble {
    dead: BTreeSet<Process>,
    paused: BTreeSet<Process>,
    /// Until when a process had trouble.
    of_process: BTreeMap<Process, Duration>,
    store_down: bool,
    /// Until when everybody had trouble.
    of_store: Option<Duration>,
}

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut trouble = Trouble::default();
    let mut leases: BTreeMap<&Delivery, (Process, Duration)> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Fault(fault) = &entry.fact {
            trouble.note(*fault, entry.at);
        } else if let Fact::Leased { by, delivery, .. } = &entry.fact {
            leases.insert(delivery, (*by, entry.at));
        } else if let Fact::Finished { delivery, .. } = &entry.fact {
            leases.remove(delivery);
        } else if let Fact::Rescued { delivery, .. } = &entry.fact
            && let Some((holder, since)) = leases.remove(delivery)
            && !trouble.explains(holder, since)
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
            Fault::Paused(process) => {
                self.paused.insert(process);
            }
            Fault::Resumed(process) => {
                self.paused.remove(&process);
                self.of_process.insert(process, at);
            }
            Fault::MessageLost(process) => {
                // The caller learns of it only when it gives up.
                self.of_process.insert(process, at + CALL_TIMEOUT);
            }
            Fault::StoreDown => self.store_down = true,
            Fault::StoreUp => {
                self.store_down = false;
                self.of_store = Some(at + CALL_TIMEOUT);
            }
            Fault::StoreClockStepped(_) => self.of_store = self.of_store.max(Some(at)),
            // A process that was told to stop gives back what it has; and no lease is measured by its wall clock.
            Fault::ShutDown(_) | Fault::ClockStepped(..) => {}
        }
    }

    /// Whether a lease that `holder` got at `since` may be lost by now.
    fn explains(&self, holder: Process, since: Duration) -> bool {
        let had_trouble = self.of_process.get(&holder).is_some_and(|until| *until >= since);
        let is_away = self.dead.contains(&holder) || self.paused.contains(&holder);
        is_away || had_trouble || self.store_down || self.of_store >= Some(since)
    }
}
