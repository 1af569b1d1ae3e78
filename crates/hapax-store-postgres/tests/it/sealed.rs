//! An encrypted store: no row of any table reveals any content.

use std::sync::Arc;

use hapax_core::{Backend, Secret};
use hapax_seal::{Keys, Sealed, Writes};
use hapax_store_laws::marks::{is_shown, leave_marks};
use hapax_store_laws::turn_on_and_rotate;
use hapax_test_postgres::{Database, Server};

use crate::bench::open;

#[tokio::test(flavor = "multi_thread")]
async fn no_table_shows_what_was_encrypted() {
    let server = Server::shared().unwrap();
    for is_encrypted in [false, true] {
        let database = server.database().await.unwrap();
        let plain: Arc<dyn Backend> = open(&database).await;
        let store = if is_encrypted {
            let keys = Keys::new(Writes::Sealed, &[Secret::new("k".repeat(32))]).unwrap();
            Arc::new(Sealed::open(plain, keys).await.unwrap())
        } else {
            plain
        };
        leave_marks(&*store).await;
        assert_eq!(is_shown(&dump(&database)), !is_encrypted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_table_shows_what_was_in_plain_once_it_is_encrypted() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let plain: Arc<dyn Backend> = open(&database).await;
    turn_on_and_rotate(&plain).await;
    assert!(!is_shown(&dump(&database)));
}

/// The output of `pg_dump`: every row of every table.
fn dump(database: &Database) -> Vec<u8> {
    let dump = database.dump().unwrap();
    let has_rows = dump.windows(5).any(|window| window == b"evt_1");
    assert!(has_rows, "rows were read");
    dump
}
