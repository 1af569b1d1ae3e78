//! The store's limits, named, with their defaults.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Clock;
use hapax_core::store::Purpose;

/// How a store is opened. [`Options::new`] has the defaults.
#[derive(Clone)]
pub struct Options {
    /// The store's own time.
    pub clock: Arc<dyn Clock>,
    /// The purpose it is opened for: an unfinished migration is not served.
    pub purpose: Purpose,
    /// Calls that may wait for the writer; further calls are refused as overloaded.
    pub queue_calls_max: usize,
    /// Payload bytes that may wait for the writer; further calls are refused as overloaded.
    pub queue_bytes_max: usize,
    /// Calls that may wait for a reader.
    pub read_queue_calls_max: usize,
    /// Threads that read, each with its own connection.
    pub readers: usize,
    /// Items written in one transaction, which bounds the duration of a commit.
    pub batch_items_max: usize,
    /// The writer's page cache once the file is large; a small file gets a small one.
    pub cache_bytes: usize,
    /// Keys of new ledger entries that are kept in memory before they are merged into the index.
    pub recent_keys_max: usize,
    /// Length of the write-ahead log at which the writer helps with checkpoints.
    pub wal_bytes_max: u64,
    /// Files up to this size are checked completely when they are opened.
    pub quick_check_bytes_max: u64,
    /// The maximum size of the file in pages of 4,096 bytes; `None` leaves the disk as the only limit.
    pub pages_max: Option<u32>,
    /// Events read for one page of a list, however few match.
    pub list_scan_max: usize,
    /// Events examined in one call of `purge`, however few are deleted.
    pub purge_scan_max: usize,
    /// How long a finished replay job is kept.
    pub replay_keep: Duration,
}

impl Options {
    /// The defaults, on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            purpose: Purpose::Serve,
            queue_calls_max: 8_192,
            queue_bytes_max: 64 << 20,
            read_queue_calls_max: 256,
            readers: 2,
            batch_items_max: 512,
            cache_bytes: 96 << 20,
            recent_keys_max: 131_072,
            wal_bytes_max: 256 << 20,
            quick_check_bytes_max: 4 << 20,
            pages_max: None,
            list_scan_max: 5_000,
            purge_scan_max: 5_000,
            replay_keep: days(60),
        }
    }
}

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}
