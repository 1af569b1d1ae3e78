//! Store migration: an unfinished one is not served.

use hapax_core::StoreMigration;
use hapax_core::store::{Census, ImportBegun, ImportMark, MigrationCursor, Origin, Purpose};
use hapax_store_sqlite::{OpenError, Options, SqliteStore};

use crate::bench::Bench;

#[tokio::test]
async fn an_unfinished_copy_is_not_served_until_it_is_finished() {
    let bench = Bench::new();
    let mark = ImportMark {
        origin: Origin(7),
        census: Census::default(),
        reached: MigrationCursor::START,
    };
    let store = open_for_import(&bench);
    assert_eq!(store.begin_import(&mark).await.unwrap(), ImportBegun::Started);
    store.close().await;

    let refused = bench.try_open().unwrap_err();
    assert!(matches!(refused, OpenError::UnfinishedMigration), "{refused:?}");
    assert!(refused.to_string().contains("hapax store migrate"), "{refused}");

    let store = open_for_import(&bench);
    let begun = store.begin_import(&mark).await.unwrap();
    assert_eq!(begun, ImportBegun::Unfinished(mark));
    store.finish_import().await.unwrap();
    store.close().await;
    bench.open();
}

fn open_for_import(bench: &Bench) -> SqliteStore {
    let options = Options {
        purpose: Purpose::Import,
        ..bench.options()
    };
    SqliteStore::open(&bench.path(), options).unwrap()
}
