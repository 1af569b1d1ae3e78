//! Pauses: stored, so that they survive restarts and apply on every replica; cached here, so that no event has to query
//! them.

use std::collections::HashMap;

use hapax_core::DestinationId;
use hapax_core::store::Pause;
use parking_lot::Mutex;

/// Every pause, including those of destinations that are not currently configured.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_destination: HashMap<DestinationId, Pause>,
    /// Incremented by every pause and resume here; anything read from the store before then is stale.
    changes: u64,
}

impl Pauses {
    pub(crate) fn new(pauses: Vec<Pause>) -> Self {
        Self(Mutex::new(Known {
            by_destination: by_destination(pauses),
            changes: 0,
        }))
    }

    pub(crate) fn of(&self, destination: &DestinationId) -> Option<Pause> {
        self.0.lock().by_destination.get(destination).cloned()
    }

    pub(crate) fn changes(&self) -> u64 {
        self.0.lock().changes
    }

    pub(crate) fn set(&self, destination: &DestinationId, pause: Option<Pause>) {
        let mut known = self.0.lock();
        known.changes += 1;
        match pause {
            Some(pause) => known.by_destination.insert(destination.clone(), pause),
            None => known.by_destination.remove(destination),
        };
    }

    /// Takes the store's pauses, unless something changed here since `changes`.
    pub(crate) fn replace(&self, pauses: Vec<Pause>, changes: u64) {
        let mut known = self.0.lock();
        if known.changes == changes {
            known.by_destination = by_destination(pauses);
        }
    }
}

fn by_destination(pauses: Vec<Pause>) -> HashMap<DestinationId, Pause> {
    pauses
        .into_iter()
        .map(|pause| (pause.destination.clone(), pause))
        .collect()
}
