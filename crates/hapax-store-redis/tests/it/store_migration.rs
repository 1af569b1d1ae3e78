//! Migrations between stores with different numbers of shards, and what is refused.

use std::sync::Arc;

use hapax_core::store::{
    Candidates, Error, ImportBegun, LeaseOrder, MigrationCursor, Purpose, Record, Written,
};
use hapax_core::{NewEvent, Owner, Store, StoreMigration, Timestamp, Token};
use hapax_store_laws::bench::store_migration::{exported, import};
use hapax_store_laws::{ManualClock, MemoryStore};
use hapax_store_redis::{OpenError, Options, RedisStore};
use hapax_test_redis::{Cluster, Server, fresh_prefix};

use crate::bench::{LONG, Maker, accept_again, accept_new, done, finish, lease, open};

/// Records per page.
const PAGE: u32 = 7;

#[tokio::test]
async fn a_store_is_the_same_after_it_moved_to_more_shards_to_a_cluster_and_back() {
    let server = Server::shared().unwrap();
    let cluster = Cluster::shared().unwrap();
    let first = open(&server.url_with_prefix(&fresh_prefix())).await;
    let lane = fill(&first).await;
    let (mut mark, mut pages) = exported(&first, PAGE).await;
    let expected = digests(&pages);
    let stores = [
        format!("{}&shards=8", server.url_with_prefix(&fresh_prefix())),
        cluster.url_with(&fresh_prefix(), 16),
        server.url_with_prefix(&fresh_prefix()),
    ];
    let mut last = first;
    for url in stores {
        last = open(&url).await;
        import(&last, &mark, pages).await;
        (mark, pages) = exported(&last, PAGE).await;
        assert_eq!(digests(&pages), expected, "{url}");
    }
    for event in &lane {
        let leased = lease(&last, "orders", 10).await;
        let ids: Vec<_> = leased.iter().map(|leased| leased.event.id).collect();
        assert_eq!(ids, [event.id], "the lane continues in order");
        finish(&last, &leased[0]).await;
        accept_again(&last, event).await;
    }
}

#[tokio::test]
async fn a_store_comes_back_from_another_kind_that_counted_on_from_its_numbers() {
    let server = Server::shared().unwrap();
    let first = open(&server.url_with_prefix(&fresh_prefix())).await;
    fill(&first).await;
    let (mark, pages) = exported(&first, PAGE).await;
    // Deliveries accepted by the server's clock are due by the other store's clock.
    let clock = ManualClock::new();
    clock.set(Timestamp::from_seconds(4_000_000_000));
    let other = MemoryStore::new(Arc::new(clock));
    import(&other, &mark, pages).await;
    let order = LeaseOrder {
        owner: Owner(1),
        destination: "billing".into(),
        limit: 3,
        lease_for: LONG,
        candidates: Candidates::Fresh,
    };
    let leased = other.lease(order).await.unwrap().leased;
    let reports = leased.iter().map(|leased| done(leased.hold())).collect();
    let written = other.finish(reports).await.unwrap();
    assert_eq!(written, [Written::Applied; 3]);
    let (mark, pages) = exported(&other, PAGE).await;
    let expected = digests(&pages);
    let second = open(&server.url_with_prefix(&fresh_prefix())).await;
    import(&second, &mark, pages).await;
    assert_eq!(digests(&exported(&second, PAGE).await.1), expected);
    let next = lease(&second, "billing", 1).await.remove(0);
    assert!(leased.iter().all(|earlier| earlier.token < next.token));
}

#[tokio::test]
async fn an_unfinished_copy_is_not_served_and_may_be_gone_on_with() {
    let server = Server::shared().unwrap();
    let first = open(&server.url_with_prefix(&fresh_prefix())).await;
    fill(&first).await;
    let (mark, pages) = exported(&first, PAGE).await;
    let url = server.url_with_prefix(&fresh_prefix());
    let second = open(&url).await;
    assert_eq!(second.begin_import(&mark).await.unwrap(), ImportBegun::Started);
    let refused = RedisStore::open(Options::new(url.as_str())).await;
    assert!(matches!(refused, Err(OpenError::UnfinishedMigration)));
    let purpose = Purpose::Import;
    let options = Options {
        purpose,
        ..Options::new(url.as_str())
    };
    let second = RedisStore::open(options).await.unwrap();
    for (records, reached) in pages {
        second.import(records, &reached).await.unwrap();
    }
    second.finish_import().await.unwrap();
    open(&url).await;
}

#[tokio::test]
async fn numbers_that_scripts_cannot_count_with_are_refused_with_the_reason() {
    let server = Server::shared().unwrap();
    let first = open(&server.url_with_prefix(&fresh_prefix())).await;
    fill(&first).await;
    let (mark, mut pages) = exported(&first, PAGE).await;
    for record in pages.iter_mut().flat_map(|(records, _)| records) {
        if let Record::Identity(identity) = record {
            let work = identity.events.iter_mut().flat_map(|event| &mut event.work);
            work.for_each(|work| work.token = Token(1 << 60));
        }
    }
    let second = open(&server.url_with_prefix(&fresh_prefix())).await;
    assert_eq!(second.begin_import(&mark).await.unwrap(), ImportBegun::Started);
    let records = pages.into_iter().flat_map(|(records, _)| records).collect();
    let refused = second.import(records, &MigrationCursor::Pauses).await;
    let Err(Error::Rejected { message }) = refused else {
        panic!("{refused:?}");
    };
    assert!(message.contains("greater than 2^52"), "{message}");
    assert!(second.census().await.unwrap().is_empty(), "nothing was imported");
}

/// Adds something to every shard. Returns the lane's events in their order.
async fn fill(store: &RedisStore) -> Vec<NewEvent> {
    let maker = Maker::default();
    for number in 0..20 {
        let event = maker.event(&format!("evt_{number}"));
        accept_new(store, &event).await;
        accept_again(store, &event).await;
    }
    for leased in lease(store, "billing", 5).await {
        finish(store, &leased).await;
    }
    for leased in lease(store, "orders", 20).await {
        finish(store, &leased).await;
    }
    let lane: Vec<NewEvent> = (0..3)
        .map(|number| maker.in_lane(&format!("lane_{number}")))
        .collect();
    for event in &lane {
        accept_new(store, event).await;
        accept_again(store, event).await;
    }
    lane
}

fn digests(pages: &[(Vec<Record>, MigrationCursor)]) -> Vec<[u8; 32]> {
    let records = pages.iter().flat_map(|(records, _)| records);
    records.map(Record::digest).collect()
}
