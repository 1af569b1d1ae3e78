//! A ledger with millions of events, made without sending them: rows are written through the store's own `accept`, by
//! this process, while no service has the store open.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use hapax_core::store::AcceptRequest;
use hapax_core::{
    BodyHash, Clock as _, DestinationId, EventIds, Headers, Identity, NewDelivery, NewEvent, SourceName,
    Store, SystemClock, SystemRandom,
};
use hapax_store_sqlite::{Options, SqliteStore};

use hapax_terminal::progress::Progress;

/// The most entries to preload.
pub const ENTRIES_MAX: u64 = 100_000_000;

const BATCH: u64 = 4096;
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);

/// Adds `count` events to an open store, each with a queued delivery to `destination`.
pub(crate) async fn enqueue(store: &dyn Store, destination: &str, count: u64) -> anyhow::Result<()> {
    let progress = Progress::new(count);
    progress.say(format!("writing {count} pending deliveries"));
    write(store, "bench", Some(destination), count, &progress).await
}

/// Adds `count` events of `source` without deliveries to an open store.
pub(crate) async fn remember(store: &dyn Store, source: &str, count: u64) -> anyhow::Result<()> {
    let progress = Progress::new(count);
    progress.say(format!("writing {count} ledger entries"));
    write(store, source, None, count, &progress).await
}

/// Adds `count` events of `source` to a new SQLite file, with random ids like real ones.
pub(crate) async fn fill(path: &Path, source: &str, count: u64) -> anyhow::Result<()> {
    let mut options = Options::new(Arc::new(SystemClock::default()));
    options.batch_items_max = BATCH as usize;
    let store = SqliteStore::open(path, options)
        .with_context(|| format!("the store {} could not be created", path.display()))?;
    let progress = Progress::new(count);
    progress.say(format!("writing {count} ledger entries"));
    write(&store, source, None, count, &progress).await?;
    store.close().await;
    Ok(())
}

async fn write(
    store: &dyn Store,
    source: &str,
    destination: Option<&str>,
    count: u64,
    progress: &Progress,
) -> anyhow::Result<()> {
    let maker = Maker {
        source: SourceName::from(source),
        destination: destination.map(DestinationId::from),
        ids: EventIds::default(),
        clock: SystemClock::default(),
        random: SystemRandom::new(),
    };
    let mut written = 0;
    let mut batch = maker.batch(count.min(BATCH));
    while !batch.is_empty() {
        let size = batch.len() as u64;
        let remaining = count - written - size;
        // Make the next batch while the store writes this one.
        let (answers, next) = tokio::join!(store.accept(batch), async { maker.batch(remaining.min(BATCH)) });
        for answer in answers {
            answer.context("the store refused a row")?;
        }
        written += size;
        progress.set(written);
        batch = next;
    }
    Ok(())
}

struct Maker {
    source: SourceName,
    destination: Option<DestinationId>,
    ids: EventIds,
    clock: SystemClock,
    random: SystemRandom,
}

impl Maker {
    fn batch(&self, size: u64) -> Vec<AcceptRequest> {
        (0..size)
            .map(|_| AcceptRequest {
                events: vec![self.event()],
            })
            .collect()
    }

    fn event(&self) -> NewEvent {
        let now = self.clock.now();
        let identity = Identity::new(
            self.source.as_str(),
            format!("evt_{:024x}", fastrand::u128(..) >> 32),
        );
        let key = identity.key();
        let body = Bytes::from_static(b"{}");
        NewEvent {
            id: self.ids.next(now, key, &self.random),
            key,
            source: self.source.clone(),
            event_type: Some("payment_intent.succeeded".to_owned()),
            received_at: now,
            signed_at: Some(now),
            secret_index: Some(0),
            raw_hash: BodyHash::of(identity.event_id.as_bytes()),
            content_hash: None,
            headers: Headers::default(),
            body,
            batch: None,
            ledger_until: now.plus(KEPT_FOR),
            indexed: Vec::new(),
            deliveries: self
                .destination
                .clone()
                .map(NewDelivery::to)
                .into_iter()
                .collect(),
            identity,
            claimed_body: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_ledger_has_as_many_entries_as_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.db");
        fill(&path, "bench", BATCH + 3).await.unwrap();
        let store = SqliteStore::open(&path, Options::new(Arc::new(SystemClock::default()))).unwrap();
        let counts = store.counts().await.unwrap();
        assert_eq!(
            counts.ledger.iter().map(|count| count.entries).sum::<u64>(),
            BATCH + 3
        );
        assert!(counts.backlog.is_empty());
        store.close().await;
    }
}
