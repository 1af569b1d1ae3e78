//! The write-ahead log starts again under continuous writes instead of growing forever.

use std::fs;
use std::sync::Arc;

use hapax_core::Store;
use hapax_core::store::AcceptRequest;
use hapax_store_sqlite::{Options, SqliteStore};

use crate::bench::Bench;

const LOG_BYTES_MAX: u64 = 1 << 20;
const WRITTEN_BYTES: u64 = 96 << 20;
const BODY_BYTES: usize = 16 << 10;
const BATCH: u64 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn the_log_stays_bounded_under_continuous_writes_and_reads() {
    let bench = Bench::new();
    let options = Options {
        wal_bytes_max: LOG_BYTES_MAX,
        ..bench.options()
    };
    let store = Arc::new(SqliteStore::open(&bench.path(), options).unwrap());
    let body = vec![b'x'; BODY_BYTES];
    let mut longest = 0;
    for round in 0..WRITTEN_BYTES / (BODY_BYTES as u64 * BATCH) {
        let events = (0..BATCH)
            .map(|number| {
                bench
                    .event(&format!("{round}_{number}"))
                    .body(body.clone())
                    .build()
            })
            .collect();
        store
            .accept(vec![AcceptRequest { events }])
            .await
            .remove(0)
            .unwrap();
        store.counts().await.unwrap();
        longest = longest.max(fs::metadata(bench.log_path()).unwrap().len());
    }
    assert!(
        longest < WRITTEN_BYTES / 3,
        "the log grew to {longest} bytes of {WRITTEN_BYTES} written"
    );
}
