//! Every limit of this crate, by name.

use std::time::Duration;

/// The longest source, event id or consumer, in bytes. What `hapax-verify` reads is never longer.
pub const NAME_BYTES_MAX: usize = 255;

/// How long `run` waits for another transaction that holds the same claim, unless told otherwise.
pub const WAIT_DEFAULT: Duration = Duration::from_millis(1500);

/// The most rows that one call of `inbox::purge` removes: a short transaction, few locks.
pub const PURGE_ROWS_MAX: u32 = 10_000;

/// The longest target of a staged call, in bytes.
pub const TARGET_BYTES_MAX: usize = 2048;

/// The most headers of a staged call.
pub const HEADERS_MAX: usize = 64;

/// How long a request's body may take.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest body of a staged call, and of a delivery unless its source says otherwise.
pub const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The most events that one call of `Inbox::claim_many` takes.
pub const BATCH_EVENTS_MAX: usize = 1000;
