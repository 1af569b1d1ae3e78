//! Turns of operators: replay, discard, purge, pause, and records gathered off the hot path.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::{
    ConflictingBody, Disposal, DuplicateNote, Pause, PurgeOrder, PurgeWindow, Purged, ReplayMode,
    ReplayOrder, ReplayTarget, Unfinished,
};
use hapax_core::{BodyHash, EventId, Headers, Operations, Store, Timestamp};
use proptest::sample::Index;

use super::driver::Driver;
use super::picture::Lives;
use super::step::{IDENTITIES, Reach, Sweep};
use super::turn::pick;
use crate::bench::Must;
use crate::clock::START;

const FAR: Duration = Duration::from_secs(1000 * 86_400);

impl Driver {
    pub(super) async fn replay(&mut self, event: Index, mode: ReplayMode, reach: Reach) {
        let Some((id, number)) = pick(&self.events, event).copied() else {
            return;
        };
        // Events that were replaced by a later one have their own laws; here they would make it unclear whose
        // generation is compared.
        let stored = self.model.get(id).await.must();
        let holder = self.entry(number).await.map(|entry| entry.id);
        if stored.is_some() && holder != Some(id) {
            return;
        }
        let (mode, to) = match reach {
            Reach::All => (mode, None),
            Reach::Extra => {
                let elsewhere = stored.iter().flat_map(|record| &record.deliveries);
                if elsewhere.clone().any(|view| view.state.is_unfinished()) {
                    return;
                }
                let extra = ReplayTarget {
                    destination: "extra".into(),
                    lane: None,
                };
                (ReplayMode::All, Some(extra))
            }
        };
        let order = ReplayOrder {
            event: id,
            mode,
            to,
            job: None,
        };
        let found = self.bench.store.replay(vec![order.clone()]).await.must();
        assert_eq!(found, self.model.replay(vec![order]).await.must());
    }

    pub(super) async fn dispose(&mut self, event: Index, destination: &str, disposal: Disposal) {
        let Some((id, _)) = pick(&self.events, event).copied() else {
            return;
        };
        let which = vec![(id, destination.into())];
        let found = self.bench.store.dispose(which.clone(), disposal).await.must();
        assert_eq!(found, self.model.dispose(which, disposal).await.must());
    }

    pub(super) async fn erase(&mut self, event: Index, unfinished: Unfinished) {
        let Some((id, _)) = pick(&self.events, event).copied() else {
            return;
        };
        let found = self.bench.store.erase(vec![id], unfinished).await.must();
        assert_eq!(found, self.model.erase(vec![id], unfinished).await.must());
    }

    pub(super) async fn purge(&mut self, payload: Sweep, dead: Sweep, ledger: Sweep, limit: u32) {
        let goes = |sweep| match sweep {
            Sweep::Goes => START.plus(FAR),
            Sweep::Stays => Timestamp::default(),
        };
        let _ = payload;
        let payload_before = goes(Sweep::Goes);
        let ledger = if self.has_outlived_successors().await {
            Sweep::Stays
        } else {
            ledger
        };
        let order = PurgeOrder {
            windows: vec![PurgeWindow {
                source: "shop".into(),
                payload_before,
                dead_before: goes(dead).min(payload_before),
            }],
            ledger_before: goes(ledger),
            limit,
        };
        let found = self.bench.purge(&order).await;
        let mut expected = Purged::default();
        loop {
            let bite = self.model.purge(order.clone()).await.must();
            expected.events += bite.events;
            expected.ledger += bite.ledger;
            if !bite.more {
                break;
            }
        }
        assert_eq!(found, expected);
    }

    /// Whether an identity had several events and some are left: a store may delete its ledger entry before the older
    /// events or after.
    async fn has_outlived_successors(&self) -> bool {
        for number in (0..IDENTITIES).filter(|number| self.lives(*number) == Lives::Several) {
            for (id, _) in self.events.iter().filter(|(_, of)| *of == number) {
                if self.model.get(*id).await.must().is_some() {
                    return true;
                }
            }
        }
        false
    }

    pub(super) async fn pause(&mut self, destination: &str) {
        let pause = Pause {
            destination: destination.into(),
            at: START,
            by: "ops".to_owned(),
            why: "a test".to_owned(),
        };
        self.bench.store.pause(pause.clone()).await.must();
        self.model.pause(pause).await.must();
        let mut found = self.bench.store.pauses().await.must();
        found.sort_by(|one, other| one.destination.cmp(&other.destination));
        assert_eq!(found, self.model.pauses().await.must());
    }

    pub(super) async fn record_conflicts(&mut self, event: Index, body: u8) {
        let Some(id) = self.only_life(event).await else {
            return;
        };
        let first = self.model.get(id).await.must().must().event;
        let body = Bytes::from(vec![b'v', body]);
        let other_body = ConflictingBody {
            key: first.identity.key(),
            first: id,
            source: first.source,
            raw_hash: BodyHash::of(&body),
            received_at: START,
            headers: Headers::default(),
            body,
        };
        let found = self.bench.record_conflicts(vec![other_body.clone()]).await;
        let expected = self.model.record_conflicts(vec![other_body]).await;
        assert_eq!(found, expected.into_iter().map(Must::must).collect::<Vec<_>>());
    }

    pub(super) async fn note_duplicates(&mut self, event: Index) {
        let Some(id) = self.only_life(event).await else {
            return;
        };
        let first = self.model.get(id).await.must().must().event;
        let note = DuplicateNote {
            key: first.identity.key(),
            count: 2,
            last_at: START,
            gaps_ms: vec![3, 5],
        };
        self.bench.store.note_duplicates(vec![note.clone()]).await.must();
        self.model.note_duplicates(vec![note]).await.must();
    }

    /// A stored event whose identity never had another.
    async fn only_life(&self, event: Index) -> Option<EventId> {
        let (id, number) = *pick(&self.events, event)?;
        if self.lives(number) == Lives::Several || self.model.get(id).await.must().is_none() {
            return None;
        }
        Some(id)
    }
}
