//! The driver: the store under test and the model side by side, and the comparison of everything they show.

use std::sync::Arc;

use hapax_core::store::{Cursor, DeadQuery, EventQuery, LedgerEntry};
use hapax_core::{Clock, DeliveryState, EventId, Hold, Identity, Store};

use super::picture::{self, Lives};
use super::step::IDENTITIES;
use crate::bench::{ALL, Must};
use crate::{Bench, ManualClock, MemoryStore, Subject};

/// Everything is compared after this many steps, and at the end.
const COMPARE_EVERY: usize = 6;

pub(super) struct Driver {
    pub(super) bench: Bench,
    pub(super) model: MemoryStore,
    clock: Arc<ManualClock>,
    /// Every event that was ever new, with the number of its identity.
    pub(super) events: Vec<(EventId, usize)>,
    /// Every hold there ever was: the store's and the model's. Most are stale: that is the point.
    pub(super) holds: Vec<(Hold, Hold)>,
    taken: usize,
}

impl Driver {
    pub(super) async fn open(subject: Arc<dyn Subject>) -> Self {
        let clock = Arc::new(ManualClock::new());
        Self {
            bench: Bench::open(subject).await,
            model: MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>),
            clock,
            events: Vec::new(),
            holds: Vec::new(),
            taken: 0,
        }
    }

    /// Lets a moment pass on both clocks, so that no two steps happen at the same time.
    pub(super) async fn next_turn(&mut self) {
        self.taken += 1;
        self.bench.tick().await;
        self.agree_on_time().await;
    }

    pub(super) async fn agree_on_time(&self) {
        self.clock.set(self.bench.now().await);
    }

    pub(super) async fn compare_now_and_then(&self) {
        if self.taken.is_multiple_of(COMPARE_EVERY) {
            self.compare().await;
        }
    }

    /// Compares everything that can be read from both.
    pub(super) async fn compare(&self) {
        for (id, number) in &self.events {
            let found = self.bench.store.get(*id).await.must();
            let expected = self.model.get(*id).await.must();
            let lives = self.lives(*number);
            assert_eq!(
                picture::of_record(found.as_ref(), lives),
                picture::of_record(expected.as_ref(), lives)
            );
        }
        for number in 0..IDENTITIES {
            let found = self.bench.store.look_up(&identity(number)).await.must();
            let expected = self.entry(number).await;
            assert_eq!(
                picture::of_entry(found.as_ref()),
                picture::of_entry(expected.as_ref())
            );
        }
        let found = self.bench.store.counts().await.must();
        let expected = self.model.counts().await.must();
        assert_eq!(picture::of_counts(&found), picture::of_counts(&expected));
        let everything = EventQuery::default();
        let expected = self.model.list(&everything, None, ALL).await.must().events;
        assert_eq!(self.bench.list(&everything, 3).await, expected);
        for state in [DeliveryState::Dead, DeliveryState::Discarded] {
            let found = finished(&*self.bench.store, state).await;
            assert_eq!(found, finished(&self.model, state).await);
        }
        self.compare_searches().await;
    }

    /// The entry in the model's ledger.
    pub(super) async fn entry(&self, number: usize) -> Option<LedgerEntry> {
        self.model.look_up(&identity(number)).await.must()
    }

    pub(super) fn lives(&self, number: usize) -> Lives {
        match self.events.iter().filter(|(_, of)| *of == number).count() {
            0 | 1 => Lives::One,
            _ => Lives::Several,
        }
    }
}

/// The identities, in two scopes.
pub(super) fn identity(number: usize) -> Identity {
    let scope = if number.is_multiple_of(3) { "bank" } else { "shop" };
    Identity::new(scope, format!("evt_{number}"))
}

async fn finished(store: &dyn hapax_core::Operations, state: DeliveryState) -> Vec<String> {
    let query = DeadQuery {
        state,
        destination: None,
    };
    let mut found = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let (views, next) = store.deliveries(&query, after, 2).await.must();
        found.extend(views.iter().map(picture::of_delivery));
        after = next;
        if after.is_none() {
            found.sort_unstable();
            return found;
        }
    }
}
