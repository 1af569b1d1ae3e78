//! Dead owners: deliveries leased by a killed process are reclaimed within 15 s, whenever its leases end, provided that
//! another process could reach the store throughout and for long enough before.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::store::Patience;

use super::Violation;
use crate::executor::Process;
use crate::history::{Delivery, Entry, Fact, Fault};
use crate::rule::Rule;
use crate::store::CALL_TIMEOUT;

/// After this long without trouble, a process has reported for 15 s without a gap, and once more.
const JUDGES_AFTER: Duration = Duration::from_secs(19);
/// A dead process is noticed after this long.
const NOTICED_AFTER: Duration = Duration::from_secs(15);

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut state = State::default();
    let mut violations = Vec::new();
    for entry in history {
        for what in state.overdue(entry.at) {
            violations.push(Violation::new(Rule::HeldByTheDead, entry, what));
        }
        state.note(entry.at, &entry.fact);
    }
    violations
}

#[derive(Default)]
struct State<'a> {
    living: BTreeMap<Process, Health>,
    store_is_down: bool,
    dead: BTreeMap<Process, Duration>,
    leases: BTreeMap<&'a Delivery, (Process, Duration)>,
}

#[derive(Default)]
struct Health {
    is_paused: bool,
    is_cut_off: bool,
    /// Until when it or the store had trouble.
    troubled: Duration,
}

impl<'a> State<'a> {
    /// Deliveries that dead processes have held for too long by now, each reported once.
    fn overdue(&mut self, now: Duration) -> Vec<String> {
        let judges = |health: &Health| {
            let is_away = health.is_paused || health.is_cut_off;
            !is_away && now.saturating_sub(health.troubled) >= JUDGES_AFTER
        };
        if self.store_is_down || !self.living.values().any(judges) {
            return Vec::new();
        }
        let is_overdue = |holder: &Process, leased: Duration| {
            let died = self.dead.get(holder);
            died.is_some_and(|died| now.saturating_sub(leased.max(*died)) >= NOTICED_AFTER)
        };
        let held = self.leases.iter();
        let overdue: Vec<(&'a Delivery, Process)> = held
            .filter(|(_, (holder, leased))| is_overdue(holder, *leased))
            .map(|(delivery, (holder, _))| (*delivery, *holder))
            .collect();
        let tell = overdue.into_iter().map(|(delivery, holder)| {
            self.leases.remove(delivery);
            format!("{delivery} is still held by {holder}, which is dead")
        });
        tell.collect()
    }

    fn note(&mut self, at: Duration, fact: &'a Fact) {
        match fact {
            Fact::Started(process) => {
                let health = Health {
                    troubled: at,
                    ..Health::default()
                };
                self.living.insert(*process, health);
            }
            Fact::Leased { by, delivery, .. } => {
                self.leases.insert(delivery, (*by, at));
            }
            Fact::Finished { delivery, .. } | Fact::Rescued { delivery, .. } => {
                self.leases.remove(delivery);
            }
            Fact::Fault(fault) => self.trouble(*fault, at),
            _ => {}
        }
    }

    fn trouble(&mut self, fault: Fault, at: Duration) {
        match fault {
            Fault::Killed(process) => {
                self.dead.insert(process, at);
                self.living.remove(&process);
            }
            Fault::ShutDown(process) => {
                self.living.remove(&process);
            }
            Fault::Paused(process) => self.of(process, at, |health| health.is_paused = true),
            Fault::Resumed(process) => self.of(process, at, |health| health.is_paused = false),
            Fault::CutOff(process) => self.of(process, at, |health| health.is_cut_off = true),
            Fault::Reconnected(process) => {
                self.of(process, at + CALL_TIMEOUT, |health| health.is_cut_off = false);
            }
            Fault::MessageLost(process) => self.of(process, at + CALL_TIMEOUT, |_| {}),
            Fault::StoreDown | Fault::StoreUp | Fault::StoreClockStepped(_) => {
                let until = match fault {
                    // A short step back is not a gap, but delays the decision by as much.
                    Fault::StoreClockStepped(_) => at + Patience::default().gap,
                    _ => at + CALL_TIMEOUT,
                };
                self.store_is_down =
                    fault == Fault::StoreDown || self.store_is_down && fault != Fault::StoreUp;
                let living = self.living.values_mut();
                living.for_each(|health| health.troubled = until);
            }
            Fault::ClockStepped(..) => {}
        }
    }

    /// Records trouble of a live process. A stopped one reclaims nothing, whatever happens to its connection.
    fn of(&mut self, process: Process, troubled: Duration, change: impl FnOnce(&mut Health)) {
        if let Some(health) = self.living.get_mut(&process) {
            health.troubled = troubled;
            change(health);
        }
    }
}
