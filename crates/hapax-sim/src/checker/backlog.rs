//! Backlogs: due deliveries do not wait while a healthy process is idle.
//!
//! Checked only without ordering, and only after the last fault. A process is *in stride* at a destination once it has
//! completed a delivery there and nothing has gone wrong since: its breaker is closed, and nothing is paused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hapax_core::DestinationId;

use super::Violation;
use crate::executor::Process;
use crate::history::{AttemptEnd, Delivery, Entry, Fact};
use crate::rule::Rule;
use crate::world::IN_ORDER;

/// How long a delivery may wait that no process was notified of: processes poll for such deliveries every second.
const WAIT_MAX: Duration = Duration::from_secs(3);

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut state = State::default();
    let mut violations = Vec::new();
    for entry in history {
        if let Some(what) = state.note(entry.at, &entry.fact) {
            violations.push(Violation::new(Rule::BacklogStands, entry, what));
        }
    }
    violations
}

/// A process at a destination.
#[derive(Default)]
struct Worker {
    running: usize,
    /// Since when it has been in stride, and its idle times since then.
    stride: Option<Duration>,
    idle: Vec<(Duration, Duration)>,
    idle_since: Option<Duration>,
}

impl Worker {
    fn stumble(&mut self) {
        self.stride = None;
        self.idle.clear();
        self.idle_since = None;
    }

    /// How long it was idle since `from`, if it was in stride throughout.
    fn idle_time(&self, from: Duration, now: Duration) -> Option<Duration> {
        self.stride.filter(|stride| *stride <= from)?;
        let current = self.idle_since.map(|since| (since, now));
        let times = self.idle.iter().copied().chain(current);
        Some(
            times
                .map(|(begin, end)| end.saturating_sub(begin.max(from)))
                .sum(),
        )
    }
}

#[derive(Default)]
struct State<'a> {
    is_calm: bool,
    workers: BTreeMap<(Process, &'a DestinationId), Worker>,
    /// Due, and not leased since.
    due: BTreeMap<(&'a str, &'a DestinationId), Duration>,
    /// Lost before; these run one at a time.
    suspects: BTreeSet<&'a Delivery>,
    holders: BTreeMap<&'a Delivery, Process>,
}

impl<'a> State<'a> {
    fn note(&mut self, at: Duration, fact: &'a Fact) -> Option<String> {
        match fact {
            Fact::Calm => self.is_calm = true,
            Fact::Fault(_) | Fact::Started(_) | Fact::Asked(_) => {
                self.workers.values_mut().for_each(Worker::stumble);
            }
            Fact::Stored { event, to, .. } => to.iter().for_each(|to| self.wait(event, to, at)),
            Fact::PutBack { delivery, .. } => {
                self.suspects.remove(delivery);
                self.wait(&delivery.event, &delivery.destination, at);
            }
            Fact::Rescued { delivery, .. } => {
                self.suspects.insert(delivery);
                self.release(delivery, at);
            }
            Fact::Leased { by, delivery, .. } => return self.lease(*by, delivery, at),
            Fact::Finished {
                by,
                delivery,
                verdict,
                ..
            } => self.finish(*by, delivery, *verdict, at),
            _ => {}
        }
        None
    }

    fn wait(&mut self, event: &'a str, to: &'a DestinationId, at: Duration) {
        if to.as_str() != IN_ORDER {
            self.due.insert((event, to), at);
        }
    }

    fn lease(&mut self, by: Process, delivery: &'a Delivery, at: Duration) -> Option<String> {
        self.release(delivery, at);
        self.holders.insert(delivery, by);
        let due = self.due.remove(&(delivery.event.as_str(), &delivery.destination));
        let stood = due.and_then(|due| self.who_stood_idle(&delivery.destination, due, at));
        let worker = self.workers.entry((by, &delivery.destination)).or_default();
        worker.running += 1;
        if let Some(since) = worker.idle_since.take() {
            worker.idle.push((since, at));
        }
        stood.map(|(process, waited)| {
            format!("{delivery} was due for {waited:?}, while {process} was idle most of that time")
        })
    }

    /// A process in stride that was idle most of the time a delivery was due.
    fn who_stood_idle(
        &self,
        to: &DestinationId,
        due: Duration,
        now: Duration,
    ) -> Option<(Process, Duration)> {
        let mut workers = self.workers.iter();
        workers.find_map(|((process, destination), worker)| {
            let from = worker.stride.filter(|_| *destination == to)?.max(due);
            let (waited, idle) = (now.saturating_sub(from), worker.idle_time(from, now)?);
            (waited > WAIT_MAX && idle > waited * 2 / 3).then_some((*process, waited))
        })
    }

    fn finish(&mut self, by: Process, delivery: &'a Delivery, verdict: AttemptEnd, at: Duration) {
        self.release(delivery, at);
        let is_calm = self.is_calm;
        let worker = self.workers.entry((by, &delivery.destination)).or_default();
        match verdict {
            AttemptEnd::Completed if is_calm => {
                if worker.stride.is_none() {
                    worker.stride = Some(at);
                    worker.idle_since = (worker.running == 0).then_some(at);
                }
            }
            AttemptEnd::Completed => {}
            AttemptEnd::Retry | AttemptEnd::Dead | AttemptEnd::Released => worker.stumble(),
        }
        if verdict == AttemptEnd::Released && !self.suspects.contains(delivery) {
            self.wait(&delivery.event, &delivery.destination, at);
        }
    }

    /// Its holder no longer holds it.
    fn release(&mut self, delivery: &'a Delivery, at: Duration) {
        let Some(holder) = self.holders.remove(delivery) else {
            return;
        };
        let worker = self.workers.entry((holder, &delivery.destination)).or_default();
        worker.running = worker.running.saturating_sub(1);
        if worker.running == 0 && worker.stride.is_some() {
            worker.idle_since = Some(at);
        }
    }
}
