//! A store that grows in steps. Half of its events are like those of the dashboard's measurement, most of them
//! delivered; the other half have no destination and are as the load client would send them, so that it can send them
//! again.

use std::time::Duration;

use hapax_core::store::Purged;
use hapax_core::{Backend, Clock as _, SystemClock};

use crate::bench::dashboard::{Filling, Landmarks};
use crate::bench::purge;
use crate::bench::site::STORED;
use crate::preload::{self, Body, Contents, Sample};
use hapax_terminal::progress::Progress;

/// Events with a payload; beyond these, the store grows by ledger entries alone.
pub(super) const PAYLOADS_MAX: u64 = 10_000_000;
/// The source of the events that are purged at the end of a step.
pub(super) const EXPIRING: &str = "expiring";
/// How long the ledger knows those: less than any other event, and more than a run takes.
pub(super) const EXPIRING_FOR: Duration = Duration::from_secs(2 * 86_400);

/// The source of ledger entries whose payloads are purged at once. They are entries of the source that the load client
/// sends to, so they are duplicates there.
const REMEMBERED: &str = "remembered";
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);
/// Events in one turn of a kind.
const PART: u64 = 4_096;
const REMEMBERED_PART: u64 = 100_000;
/// Ids that the load client can send again.
const SAMPLE_MAX: usize = 400_000;

/// What a store contains, as far as this process knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Entries of the ledger.
    pub(super) entries: u64,
    /// Events with a payload.
    pub(super) events: u64,
    /// Those of them that the next purge deletes.
    pub(super) expiring: u64,
}

/// The parts that a store grows by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missing {
    expiring: u64,
    whole: u64,
    remembered: u64,
}

impl Size {
    /// What a store of this size needs in order to have so many entries, of which some are to be purged.
    fn missing(self, entries: u64, expiring: u64) -> Missing {
        let missing = entries.saturating_sub(self.entries);
        let expiring = expiring.min(missing);
        let room = PAYLOADS_MAX.saturating_sub(self.events + expiring);
        let whole = (missing - expiring).min(room);
        Missing {
            expiring,
            whole,
            remembered: missing - expiring - whole,
        }
    }

    /// Counts events that were accepted by a service.
    pub(super) fn add(&mut self, accepted: u64) {
        self.entries += accepted;
        self.events += accepted;
    }

    /// Counts what was purged.
    pub(super) fn subtract(&mut self, purged: &Purged) {
        self.events = self.events.saturating_sub(purged.events);
        self.entries = self.entries.saturating_sub(purged.ledger);
        self.expiring = self.expiring.saturating_sub(purged.events);
    }
}

pub(super) struct Filler {
    dashboard: Filling,
    sample: Sample,
    pub(super) size: Size,
}

impl Filler {
    pub(super) async fn begin(store: &dyn Backend) -> anyhow::Result<Self> {
        Ok(Self {
            dashboard: Filling::begin(store).await?,
            sample: Sample::new(SAMPLE_MAX),
            size: Size::default(),
        })
    }

    /// Grows the store to so many ledger entries; the first that are added will be purged.
    pub(super) async fn grow(
        &mut self,
        store: &dyn Backend,
        entries: u64,
        expiring: u64,
    ) -> anyhow::Result<Landmarks> {
        let progress = Progress::new(entries);
        progress.say(format!("growing the store to {entries} events"));
        let missing = self.size.missing(entries, expiring);
        // The first, so that they lie together and are old when they are purged, as in reality.
        self.expire(store, missing.expiring, &progress).await?;
        self.store(store, missing.whole, &progress).await?;
        self.remember(store, missing.remembered, &progress).await?;
        self.dashboard.landmarks(store).await
    }

    /// Ids of stored events one after the other, and their number.
    pub(super) fn cold_ids(&self) -> (Vec<u8>, usize) {
        (self.sample.shuffled(), self.sample.len())
    }

    async fn expire(&mut self, store: &dyn Backend, count: u64, progress: &Progress) -> anyhow::Result<()> {
        let contents = Contents {
            scope: EXPIRING,
            source: EXPIRING,
            destination: None,
            body: Body::Whole,
            kept_for: EXPIRING_FOR,
        };
        let before = self.size.entries;
        preload::write(store, &contents, count, None, |written| {
            progress.set(before + written);
        })
        .await?;
        self.size.add(count);
        self.size.expiring += count;
        Ok(())
    }

    async fn store(&mut self, store: &dyn Backend, count: u64, progress: &Progress) -> anyhow::Result<()> {
        let contents = Contents {
            scope: STORED,
            source: STORED,
            destination: None,
            body: Body::Whole,
            kept_for: KEPT_FOR,
        };
        let mut left = count;
        while left > 0 {
            let part = left.min(PART * 2);
            let plain = part / 2;
            self.dashboard.add(store, part - plain).await?;
            preload::write(store, &contents, plain, Some(&mut self.sample), |_| ()).await?;
            self.size.add(part);
            progress.set(self.size.entries);
            left -= part;
        }
        Ok(())
    }

    async fn remember(&mut self, store: &dyn Backend, count: u64, progress: &Progress) -> anyhow::Result<()> {
        let contents = Contents {
            scope: STORED,
            source: REMEMBERED,
            destination: None,
            body: Body::Short,
            kept_for: KEPT_FOR,
        };
        let mut left = count;
        while left > 0 {
            let part = left.min(REMEMBERED_PART);
            preload::write(store, &contents, part, Some(&mut self.sample), |_| ()).await?;
            self.size.add(part);
            let now = SystemClock::default().now();
            let purged = purge::run(store, &purge::order(REMEMBERED, now, now), |_| ()).await?;
            anyhow::ensure!(
                purged.events == part && purged.ledger == 0,
                "{part} payloads were written, but {} were purged, and {} ledger entries",
                purged.events,
                purged.ledger
            );
            self.size.events -= purged.events;
            progress.set(self.size.entries);
            left -= part;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hapax_core::Store as _;
    use hapax_store_sqlite::{Options, SqliteStore};

    use super::*;

    #[test]
    fn a_store_grows_by_payloads_up_to_a_limit_and_then_by_ledger_entries() {
        let empty = Size::default();
        let missing = |size: Size, entries| size.missing(entries, 2_000);
        let parts = |expiring, whole, remembered| Missing {
            expiring,
            whole,
            remembered,
        };
        assert_eq!(missing(empty, 10_000), parts(2_000, 8_000, 0));
        assert_eq!(missing(empty, 1_000), parts(1_000, 0, 0));
        let grown = Size {
            entries: 12_000,
            events: 12_000,
            expiring: 0,
        };
        assert_eq!(missing(grown, 10_000), parts(0, 0, 0));
        let large = Size {
            entries: PAYLOADS_MAX,
            events: PAYLOADS_MAX - 5_000,
            expiring: 0,
        };
        assert_eq!(missing(large, PAYLOADS_MAX + 10_000), parts(2_000, 3_000, 5_000));
    }

    #[tokio::test]
    async fn a_step_adds_what_is_missing_and_purging_takes_only_what_is_meant_to_expire() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(Arc::new(SystemClock::default()));
        let store = SqliteStore::open(folder.path().join("hapax.db").as_path(), options).unwrap();
        let mut filler = Filler::begin(&store).await.unwrap();
        filler.grow(&store, 5_000, 500).await.unwrap();
        assert_eq!(filler.cold_ids().1, 2_250);
        filler.grow(&store, 6_000, 100).await.unwrap();
        let size = Size {
            entries: 6_000,
            events: 6_000,
            expiring: 600,
        };
        assert_eq!(filler.size, size);
        let before = store.counts().await.unwrap().events;
        let now = SystemClock::default().now();
        let order = purge::order(EXPIRING, now, now.plus(EXPIRING_FOR * 2));
        let purged = purge::run(&store, &order, |_| ()).await.unwrap();
        assert_eq!((purged.events, purged.ledger), (600, 600));
        assert_eq!(store.counts().await.unwrap().events, before - 600);
        filler.size.subtract(&purged);
        let size = Size {
            entries: 5_400,
            events: 5_400,
            expiring: 0,
        };
        assert_eq!(filler.size, size);
        store.close().await;
    }
}
