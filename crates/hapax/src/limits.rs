//! All limits of this crate.

use std::time::Duration;

/// The maximum length of a source, event id or consumer, in bytes. `hapax-verify` never returns longer ones.
pub const NAME_BYTES_MAX: usize = 255;

/// How long `run` waits by default for another transaction that holds the same claim.
pub const WAIT_DEFAULT: Duration = Duration::from_millis(1500);

/// How often a claim is retried when the row that won is purged at the same moment.
pub const CLAIM_ATTEMPTS_MAX: usize = 3;

/// The maximum number of rows that one call of `inbox::purge` deletes, which keeps the transaction short.
pub const PURGE_ROWS_MAX: u32 = 10_000;

/// The maximum length of a staged call's target, in bytes.
pub const TARGET_BYTES_MAX: usize = 2048;

/// The maximum number of headers of a staged call.
pub const HEADERS_MAX: usize = 64;

/// How long receiving a request's body may take.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of a staged call's body, and by default of a delivery's body.
pub const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The maximum number of events in one call of `Inbox::claim_many`.
pub const BATCH_EVENTS_MAX: usize = 1000;
