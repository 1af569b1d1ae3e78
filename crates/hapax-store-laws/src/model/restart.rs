//! The model under its own laws: how it crashes and restarts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::store::Rescued;
use hapax_core::{Backend, Clock, Timestamp};
use parking_lot::Mutex;

use super::MemoryStore;
use crate::{ManualClock, Subject};

/// The effect of a restart on leases. Stores differ, and every law holds for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Only one process at a time has the store open: when it starts, every lease is void.
    VoidsLeases,
    /// Other processes may hold leases: they last until they expire.
    KeepsLeases,
}

/// [`MemoryStore`] as a [`Subject`], on its own clock.
#[derive(Debug)]
pub struct MemorySubject {
    clock: Arc<ManualClock>,
    restart: Restart,
    current: Mutex<Option<MemoryStore>>,
}

impl MemorySubject {
    /// A subject that restarts this way.
    pub fn new(restart: Restart) -> Self {
        Self {
            clock: Arc::new(ManualClock::new()),
            restart,
            current: Mutex::new(None),
        }
    }

    /// An empty store, of which a clone stands in for the disk.
    pub fn store(&self) -> MemoryStore {
        let store = MemoryStore::new(Arc::clone(&self.clock) as Arc<dyn Clock>);
        *self.current.lock() = Some(store.clone());
        store
    }

    /// The last store's contents, after a crash.
    pub fn restarted(&self) -> MemoryStore {
        let current = self.current.lock();
        let Some(store) = current.clone() else {
            panic!("nothing was opened, so nothing can be reopened");
        };
        match self.restart {
            Restart::VoidsLeases => {
                store.void_leases();
            }
            Restart::KeepsLeases => {}
        }
        store
    }
}

impl MemoryStore {
    /// Counts every lease as lost, like a store that knows its only process has died. Returns them.
    pub fn void_leases(&self) -> Vec<Rescued> {
        self.step(|state, now| {
            let running = state.running().into_iter();
            running
                .map(|(_, event, destination)| state.take_back(now, event, destination))
                .collect()
        })
    }
}

#[async_trait]
impl Subject for MemorySubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        Arc::new(self.store())
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        Arc::new(self.restarted())
    }

    async fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
    }
}
