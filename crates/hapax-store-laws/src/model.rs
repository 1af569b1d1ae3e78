//! The model: a store in memory behind one lock, simple enough to be obviously correct.
//!
//! It keeps the whole contract except durability beyond the process, so the engine's tests use it as a fast store, and
//! the property test compares every other store with it.

mod accept;
mod audit;
mod erase;
mod finish;
mod lane;
mod lease;
mod look;
mod operations;
mod purge;
mod replay;
mod reseal;
mod restart;
mod state;
mod store;
mod store_migration;
mod tally;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backend, Clock, Timestamp};
use parking_lot::{Mutex, MutexGuard};

use crate::ManualClock;
use state::State;

pub use restart::{MemorySubject, Restart};

/// A store in memory. Clones share its contents.
#[derive(Clone)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    accepts_take: Duration,
    conflicts_take: Duration,
    looks_take: Duration,
    leases_take: Duration,
    outcomes_take: Duration,
    accept_trouble: Arc<Mutex<Option<AcceptTrouble>>>,
}

/// A fault injected into one call of `accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptTrouble {
    /// It fails, and nothing is written.
    Fails,
    /// It takes this long.
    Hangs(Duration),
    /// It runs twice, as after a connection that broke before the answer: the second run finds the events of the first.
    IsRepeated,
}

impl MemoryStore {
    /// An empty store on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Arc::default(),
            accepts_take: Duration::ZERO,
            conflicts_take: Duration::ZERO,
            looks_take: Duration::ZERO,
            leases_take: Duration::ZERO,
            outcomes_take: Duration::ZERO,
            accept_trouble: Arc::default(),
        }
    }

    /// The same store with this fault in its next call of `accept`.
    #[must_use]
    pub fn with_trouble(mut self, trouble: AcceptTrouble) -> Self {
        self.accept_trouble = Arc::new(Mutex::new(Some(trouble)));
        self
    }

    /// The same store, with each call of `accept` taking this long: for tests of how requests become batches.
    #[must_use]
    pub fn with_slow_accepts(mut self, each_call: Duration) -> Self {
        self.accepts_take = each_call;
        self
    }

    /// The same store, with each call of `record_conflicts` taking this long: for tests of code that must not wait for
    /// it.
    #[must_use]
    pub fn with_slow_conflicts(mut self, each_call: Duration) -> Self {
        self.conflicts_take = each_call;
        self
    }

    /// The same store, with each call of `get` taking this long.
    #[must_use]
    pub fn with_slow_looks(mut self, each_call: Duration) -> Self {
        self.looks_take = each_call;
        self
    }

    /// The same store, in which each call of `lease` takes this long.
    #[must_use]
    pub fn with_slow_leases(mut self, each_call: Duration) -> Self {
        self.leases_take = each_call;
        self
    }

    /// The same store, in which each call of `finish` takes this long.
    #[must_use]
    pub fn with_slow_outcomes(mut self, each_call: Duration) -> Self {
        self.outcomes_take = each_call;
        self
    }

    /// Runs one step. The clock is read under the lock, so that times are in the order of steps.
    fn step<T>(&self, step: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut state = self.lock();
        let now = self.clock.now();
        step(&mut state, now)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A step that panicked is a bug that its own test reports; the next step need not fail for it.
        self.state.lock()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// An empty, unused store that takes the place of a crashed one.
pub(crate) fn placeholder() -> Arc<dyn Backend> {
    Arc::new(MemoryStore::new(Arc::new(ManualClock::new())))
}
