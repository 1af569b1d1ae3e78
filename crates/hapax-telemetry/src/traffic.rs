//! This process's traffic over time, for the charts: counted by the minute, and kept in slots until the store has them.
//!
//! Counting locks one small mutex of one source or destination and allocates nothing except, occasionally, a new
//! duration class. Every few seconds, the minutes are added to the slots of each range. A slot is dropped from memory
//! once it has ended and is written.

mod tally;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{Clock, Owner, Timestamp};
use parking_lot::{Mutex, MutexGuard};

pub use tally::Tally;

/// All counts of this process that the store may not have yet.
pub struct TrafficBook {
    clock: Arc<dyn Clock>,
    owner: Owner,
    tallies: Mutex<HashMap<Subject, Arc<Tally>>>,
    slots: Mutex<Slots>,
}

type Key = (Subject, TimeRange, Timestamp);

#[derive(Debug, Default)]
struct Slots {
    by_key: BTreeMap<Key, Slot>,
    /// The time up to which everything was gathered. A slot that ended before it and is no longer here was written and
    /// closed: a row that started again from zero would replace the complete one.
    until: Timestamp,
}

/// A complete slot: everything that this process counted in it since the slot or the process began.
#[derive(Debug, Default)]
struct Slot {
    traffic: Traffic,
    is_changed: bool,
}

impl TrafficBook {
    /// An empty book; `owner` must be unique to this process.
    pub fn new(clock: Arc<dyn Clock>, owner: Owner) -> Self {
        Self {
            clock,
            owner,
            tallies: Mutex::default(),
            slots: Mutex::default(),
        }
    }

    /// The tally of a source or destination. Callers that count often should keep it.
    pub fn tally(&self, subject: Subject) -> Arc<Tally> {
        let mut tallies = self.tallies.lock();
        let tally = tallies
            .entry(subject)
            .or_insert_with(|| Arc::new(Tally::new(Arc::clone(&self.clock))));
        Arc::clone(tally)
    }

    /// The rows that differ from those in the store. They are considered written; if writing fails, call
    /// [`Self::was_not_written`].
    pub fn take_changed(&self) -> Vec<TrafficRow> {
        let mut slots = self.gathered();
        let changed = slots.by_key.iter_mut().filter(|(_, slot)| slot.is_changed);
        let rows = changed.map(|(key, slot)| {
            slot.is_changed = false;
            self.row(key, slot)
        });
        rows.collect()
    }

    /// Marks these rows to be written again.
    pub fn was_not_written(&self, rows: &[TrafficRow]) {
        let mut slots = self.slots.lock();
        for row in rows {
            let key = (row.subject.clone(), row.range, row.slot);
            let slot = slots.by_key.entry(key).or_insert_with(|| Slot {
                traffic: row.traffic.clone(),
                is_changed: true,
            });
            slot.is_changed = true;
        }
    }

    /// The rows of a range, with this process's own rows replaced by its current counts: those in the store may be
    /// slightly outdated.
    pub fn on_top_of(&self, stored: Vec<TrafficRow>, span: TimeRange) -> Vec<TrafficRow> {
        let mine: Vec<TrafficRow> = self
            .gathered()
            .by_key
            .iter()
            .filter(|((_, of, _), _)| *of == span)
            .map(|(key, slot)| self.row(key, slot))
            .collect();
        let is_newer_here = |row: &TrafficRow| {
            row.owner == self.owner
                && mine
                    .iter()
                    .any(|own| own.slot == row.slot && own.subject == row.subject)
        };
        let mut rows: Vec<TrafficRow> = stored.into_iter().filter(|row| !is_newer_here(row)).collect();
        rows.extend(mine);
        rows
    }

    fn row(&self, (subject, span, slot): &Key, kept: &Slot) -> TrafficRow {
        TrafficRow {
            range: *span,
            slot: *slot,
            subject: subject.clone(),
            owner: self.owner,
            traffic: kept.traffic.clone(),
        }
    }

    /// The slots with everything counted so far, without those that are no longer needed.
    fn gathered(&self) -> MutexGuard<'_, Slots> {
        let now = self.clock.now();
        let mut slots = self.slots.lock();
        for (subject, tally) in self.tallies.lock().iter() {
            for (minute, counted) in tally.take() {
                slots.add(subject, minute, &counted);
            }
        }
        slots.until = slots.until.max(now);
        slots.by_key.retain(|(_, span, at), slot| {
            let is_over = *at < span.slot_of(now);
            *at >= span.oldest(now) && (slot.is_changed || !is_over)
        });
        slots
    }
}

impl Slots {
    fn add(&mut self, subject: &Subject, minute: Timestamp, counted: &Traffic) {
        for span in TimeRange::ALL {
            let open = (subject.clone(), span, span.slot_of(self.until));
            let own = (subject.clone(), span, span.slot_of(minute));
            let is_closed = own.2 < open.2 && !self.by_key.contains_key(&own);
            let slot = self.by_key.entry(if is_closed { open } else { own }).or_default();
            slot.traffic.add(counted);
            slot.is_changed = true;
        }
    }
}

impl std::fmt::Debug for TrafficBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrafficBook")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
