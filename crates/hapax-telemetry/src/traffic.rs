//! Traffic of this process over time, for the charts: counted by the minute, kept in slots until the store has them.
//!
//! Counting locks one small mutex of one source or destination and allocates nothing but, now and then, a class of
//! durations. Every few seconds the minutes are added to the slots of each span; a slot is forgotten here once it is
//! over and written.

mod tally;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hapax_core::store::{Subject, TimeRange, Traffic, TrafficRow};
use hapax_core::{Clock, Owner, Timestamp};
use parking_lot::{Mutex, MutexGuard};

pub use tally::Tally;

/// Everything that this process counted and the store may not have yet.
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
    /// Until when everything was gathered. Slots that ended before and are not here any more are written and closed:
    /// a row that began again would take the place of the whole one.
    until: Timestamp,
}

/// One slot, whole: all that this process counted in it since it began or the process did.
#[derive(Debug, Default)]
struct Slot {
    traffic: Traffic,
    is_changed: bool,
}

impl TrafficBook {
    /// An empty book of a process that no one else is.
    pub fn new(clock: Arc<dyn Clock>, owner: Owner) -> Self {
        Self {
            clock,
            owner,
            tallies: Mutex::default(),
            slots: Mutex::default(),
        }
    }

    /// Where a source or destination is counted, to be kept by whoever counts often.
    pub fn tally(&self, subject: Subject) -> Arc<Tally> {
        let mut tallies = self.tallies.lock();
        let tally = tallies
            .entry(subject)
            .or_insert_with(|| Arc::new(Tally::new(Arc::clone(&self.clock))));
        Arc::clone(tally)
    }

    /// The rows that the store does not have as they are now. They count as written; if they could not be, tell
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

    /// These rows have to be written again.
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

    /// Rows of a span with what this process has on top of them: its own rows in the store may be a little old.
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

    /// The slots with everything that was counted until now, without those that no one needs any more.
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
