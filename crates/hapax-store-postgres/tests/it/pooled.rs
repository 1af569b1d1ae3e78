//! Without prepared statements, as behind an old pgbouncer, and with the work spread by bucket.

use hapax_core::Store;
use hapax_core::store::{Claim, EventQuery, Written};
use hapax_store_postgres::{Options, PostgresStore, Spread};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease};

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_without_prepared_statements() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.prepared = false;
    goes_through(PostgresStore::open(options).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_spread_by_bucket() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.spread = Some(Spread::ByBucket);
    goes_through(PostgresStore::open(options).await.unwrap()).await;
}

async fn goes_through(store: PostgresStore) {
    let maker = Maker::default();
    for n in 0..20 {
        let event = maker.event(&format!("evt_{n}"));
        assert!(matches!(
            accept(&store, event.clone()).await.unwrap(),
            Claim::New { .. }
        ));
        assert!(matches!(accept(&store, event).await.unwrap(), Claim::Seen(_)));
    }
    assert_eq!(lease(&store, 7, LONG).await.leased.len(), 7);
    let rest = lease(&store, 100, LONG).await;
    assert_eq!((rest.leased.len(), rest.next_due), (13, None));
    let reports = rest.leased.iter().map(|leased| done(leased.hold())).collect();
    let written = store.finish(reports).await.unwrap();
    assert!(written.iter().all(|written| *written == Written::Applied));
    let listed = store.list(&EventQuery::default(), None, 100).await.unwrap();
    assert_eq!(listed.events.len(), 20);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.backlog[0].count), (20, 7));
}
