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

use super::prepare::{Bodies, ID_BYTES, IdBytes, event_id};
use hapax_terminal::progress::Progress;

/// The most entries to preload.
pub const ENTRIES_MAX: u64 = 100_000_000;

const BATCH: u64 = 4096;
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);

/// The events to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents<'a> {
    /// Where the ledger knows them: the name of the source that they are sent to.
    pub(crate) scope: &'a str,
    /// Whose retention applies to their payloads.
    pub(crate) source: &'a str,
    /// Each event has a queued delivery to this destination.
    pub(crate) destination: Option<&'a str>,
    pub(crate) body: Body,
    /// How long the ledger knows each event.
    pub(crate) kept_for: Duration,
}

/// What is stored as the body of an event. Its hash is always that of the body that the load client sends under the
/// same id, so a delivery of the event is a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// As it is sent, 1 KiB.
    Whole,
    /// Two bytes, where only the ledger matters.
    Short,
}

impl<'a> Contents<'a> {
    /// Entries of the ledger, with as little else as possible.
    pub(crate) const fn entries(source: &'a str) -> Self {
        Self {
            scope: source,
            source,
            destination: None,
            body: Body::Short,
            kept_for: KEPT_FOR,
        }
    }
}

/// A random sample of the ids of stored events. Each id that is offered is equally likely to be in it.
#[derive(Debug)]
pub(crate) struct Sample {
    ids: Vec<IdBytes>,
    ids_max: usize,
    offered: u64,
}

impl Sample {
    pub(crate) const fn new(ids_max: usize) -> Self {
        Self {
            ids: Vec::new(),
            ids_max,
            offered: 0,
        }
    }

    /// The ids one after the other, in random order.
    pub(crate) fn shuffled(&self) -> Vec<u8> {
        let mut ids = self.ids.clone();
        fastrand::shuffle(&mut ids);
        ids.into_flattened()
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    fn offer(&mut self, id: IdBytes) {
        self.offered += 1;
        if self.ids.len() < self.ids_max {
            self.ids.push(id);
            return;
        }
        let place = usize::try_from(fastrand::u64(..self.offered)).unwrap_or(usize::MAX);
        if let Some(replaced) = self.ids.get_mut(place) {
            *replaced = id;
        }
    }
}

/// Adds `count` events to an open store, each with a queued delivery to `destination`.
pub(crate) async fn enqueue(store: &dyn Store, destination: &str, count: u64) -> anyhow::Result<()> {
    let progress = Progress::new(count);
    progress.say(format!("writing {count} pending deliveries"));
    let contents = Contents {
        destination: Some(destination),
        ..Contents::entries("bench")
    };
    write(store, &contents, count, None, |written| progress.set(written)).await
}

/// Adds `count` events of `source` without deliveries to an open store.
pub(crate) async fn remember(store: &dyn Store, source: &str, count: u64) -> anyhow::Result<()> {
    let progress = Progress::new(count);
    progress.say(format!("writing {count} ledger entries"));
    let contents = Contents::entries(source);
    write(store, &contents, count, None, |written| progress.set(written)).await
}

/// Adds `count` events of `source` to a new SQLite file, with random ids like real ones.
pub(crate) async fn fill(path: &Path, source: &str, count: u64) -> anyhow::Result<()> {
    let mut options = Options::new(Arc::new(SystemClock::default()));
    options.batch_items_max = BATCH as usize;
    let store = SqliteStore::open(path, options)
        .with_context(|| format!("the store {} could not be created", path.display()))?;
    remember(&store, source, count).await?;
    store.close().await;
    Ok(())
}

/// Adds `count` events to an open store, offers their ids to `sample`, and shows how many are written.
pub(crate) async fn write(
    store: &dyn Store,
    contents: &Contents<'_>,
    count: u64,
    mut sample: Option<&mut Sample>,
    show: impl Fn(u64),
) -> anyhow::Result<()> {
    let maker = Maker {
        scope: contents.scope.to_owned(),
        source: SourceName::from(contents.source),
        destination: contents.destination.map(DestinationId::from),
        body: contents.body,
        kept_for: contents.kept_for,
        bodies: Bodies::new()?,
        ids: EventIds::default(),
        clock: SystemClock::default(),
        random: SystemRandom::new(),
    };
    let mut written = 0;
    let mut batch = maker.batch(count.min(BATCH), sample.as_deref_mut());
    while !batch.is_empty() {
        let size = batch.len() as u64;
        let remaining = count - written - size;
        // Make the next batch while the store writes this one.
        let next = async { maker.batch(remaining.min(BATCH), sample.as_deref_mut()) };
        let (answers, next) = tokio::join!(store.accept(batch), next);
        for answer in answers {
            answer.context("the store refused a row")?;
        }
        written += size;
        show(written);
        batch = next;
    }
    Ok(())
}

struct Maker {
    scope: String,
    source: SourceName,
    destination: Option<DestinationId>,
    body: Body,
    kept_for: Duration,
    bodies: Bodies,
    ids: EventIds,
    clock: SystemClock,
    random: SystemRandom,
}

impl Maker {
    fn batch(&self, size: u64, mut sample: Option<&mut Sample>) -> Vec<AcceptRequest> {
        let request = |_| {
            let id = random_id();
            if let Some(sample) = &mut sample {
                sample.offer(id);
            }
            AcceptRequest {
                events: vec![self.event(&id)],
            }
        };
        (0..size).map(request).collect()
    }

    fn event(&self, id: &IdBytes) -> NewEvent {
        let now = self.clock.now();
        let identity = Identity::new(self.scope.as_str(), event_id(id));
        let key = identity.key();
        let whole = self.bodies.of(id);
        NewEvent {
            id: self.ids.next(now, key, &self.random),
            key,
            source: self.source.clone(),
            event_type: Some("payment_intent.succeeded".to_owned()),
            received_at: now,
            signed_at: Some(now),
            secret_index: Some(0),
            raw_hash: BodyHash::of(&whole),
            content_hash: None,
            headers: Headers::default(),
            body: match self.body {
                Body::Whole => Bytes::from(whole),
                Body::Short => Bytes::from_static(b"{}"),
            },
            batch: None,
            ledger_until: now.plus(self.kept_for),
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

fn random_id() -> IdBytes {
    let mut id = [0; ID_BYTES];
    id.copy_from_slice(&fastrand::u128(..).to_be_bytes()[..ID_BYTES]);
    id
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

    #[tokio::test]
    async fn stored_events_have_the_hash_of_what_the_client_would_send() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.db");
        let store = SqliteStore::open(&path, Options::new(Arc::new(SystemClock::default()))).unwrap();
        let mut sample = Sample::new(8);
        for body in [Body::Whole, Body::Short] {
            let contents = Contents {
                body,
                ..Contents::entries("bench")
            };
            write(&store, &contents, 4, Some(&mut sample), |_| ())
                .await
                .unwrap();
        }
        assert_eq!(sample.len(), 8);
        let ids = sample.shuffled();
        for id in ids.as_chunks::<ID_BYTES>().0 {
            let identity = Identity::new("bench", event_id(id));
            let entry = store.look_up(&identity).await.unwrap().unwrap();
            assert_eq!(entry.raw_hash, BodyHash::of(&Bodies::new().unwrap().of(id)));
        }
        store.close().await;
    }

    #[test]
    fn a_sample_is_bounded_and_prefers_neither_old_nor_new() {
        let mut sample = Sample::new(1_000);
        for number in 0..10_000_u32 {
            let mut id = [0; ID_BYTES];
            id[..4].copy_from_slice(&number.to_be_bytes());
            sample.offer(id);
        }
        assert_eq!(sample.len(), 1_000);
        let numbers = sample.ids.iter().filter_map(|id| id.first_chunk::<4>());
        let old = numbers
            .filter(|number| u32::from_be_bytes(**number) < 5_000)
            .count();
        // Half of them, within eight standard deviations.
        assert!((375..=625).contains(&old), "{old}");
    }
}
