//! Store migration: an unfinished one is not served.

use hapax_core::StoreMigration;
use hapax_core::store::{Census, ImportBegun, ImportMark, MigrationCursor, Origin, Purpose};
use hapax_store_postgres::{OpenError, Options, PostgresStore};
use hapax_test_postgres::{Database, Server};

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_copy_is_not_served_until_it_is_finished() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mark = ImportMark {
        origin: Origin(7),
        census: Census::default(),
        reached: MigrationCursor::START,
    };
    let store = open_for_import(&database).await;
    assert_eq!(store.begin_import(&mark).await.unwrap(), ImportBegun::Started);

    let refused = PostgresStore::open(Options::new(database.url()))
        .await
        .unwrap_err();
    assert!(matches!(refused, OpenError::UnfinishedMigration), "{refused:?}");
    assert!(refused.to_string().contains("hapax store migrate"), "{refused}");

    let store = open_for_import(&database).await;
    let begun = store.begin_import(&mark).await.unwrap();
    assert_eq!(begun, ImportBegun::Unfinished(mark));
    store.finish_import().await.unwrap();
    open(&database).await;
}

async fn open_for_import(database: &Database) -> PostgresStore {
    let options = Options {
        purpose: Purpose::Import,
        ..Options::new(database.url())
    };
    PostgresStore::open(options).await.unwrap()
}
