//! The inbox: which events a consumer has applied, recorded in the transaction that applies them.
//!
//! [`once`] is the low-level function, for a transaction that you manage yourself. `Inbox::run` does everything.

#[cfg(feature = "tokio-postgres")]
mod claim_many;
mod handling;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod run;
#[cfg(feature = "rusqlite")]
mod run_blocking;
mod run_error;

use std::time::Duration;

#[cfg(feature = "tokio-postgres")]
pub use claim_many::PreparedClaims;
pub use handling::Handling;
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
pub(crate) use run::{Opened, complete};
pub use run_error::RunError;

pub use crate::claim::Claim;
use crate::claim::Mark;
#[cfg(feature = "tokio-postgres")]
use crate::claim::retention_seconds;
use crate::database::{Database, Transaction};
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
pub use crate::driver::postgres::{Begin, Open};
use crate::error::Invalid;
use crate::event::Event;
use crate::limits::{PURGE_ROWS_MAX, WAIT_DEFAULT};
use crate::tables::INBOX_RETENTION;

/// Returns whether this is the first time that `consumer` sees the event `event_id` of `source`, and if so, records it
/// in the open transaction. If it is, apply the event, then commit; the record commits with your changes.
///
/// If another open transaction has claimed the same event, this call waits for it: the result is `false` if that
/// transaction commits, and `true` if it rolls back. The wait is limited by the connection's `lock_timeout`
/// (PostgreSQL) or busy timeout (SQLite). The transaction must be `READ COMMITTED`, PostgreSQL's default; on SQLite it
/// must have begun `IMMEDIATE`.
///
/// Never commit after one of your statements has failed: PostgreSQL would answer the COMMIT with a silent rollback, and
/// the event would be lost. `Inbox::run` takes care of that.
///
/// ```no_run
/// # #[cfg(feature = "sqlx-postgres")]
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let mut tx = pool.begin().await?;
/// if hapax::inbox::once(&mut tx, "stripe", "evt_1", "billing").await? {
///     sqlx::query("update accounts set balance = balance + 1").execute(&mut *tx).await?;
/// }
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
pub fn once<'t, T: Transaction>(
    transaction: &'t mut T,
    source: &str,
    event_id: &str,
    consumer: &str,
) -> T::Answer<'t, bool> {
    let mark =
        Inbox::new(consumer).and_then(|inbox| Event::new(source, event_id).map(|event| inbox.mark(&event)));
    transaction.once(mark)
}

/// Deletes up to `rows_max` expired rows, and returns how many were deleted. Call it periodically, each time until it
/// returns fewer than `rows_max`; one call is one short transaction of at most [`crate::limits::PURGE_ROWS_MAX`] rows.
///
/// ```no_run
/// # #[cfg(feature = "sqlx-postgres")]
/// # async fn example(pool: sqlx::PgPool) -> Result<(), hapax::Error> {
/// while hapax::inbox::purge(&pool, 1000).await? == 1000 {}
/// # Ok(())
/// # }
/// ```
pub fn purge<D: Database>(database: &D, rows_max: u32) -> D::Answer<'_, u64> {
    database.purge(rows_max.min(PURGE_ROWS_MAX))
}

/// A consumer of events: its name, how long it remembers applied events, and how long a duplicate waits.
///
/// ```
/// use std::time::Duration;
///
/// let inbox = hapax::Inbox::new("billing")?.retention(Duration::from_secs(90 * 86_400));
/// # Ok::<(), hapax::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    consumer: String,
    retention: Duration,
    wait: Duration,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a duplicate of an event in flight must not be answered with success"]
pub enum Outcome<T> {
    /// The handler ran and its changes are committed. Contains the handler's return value.
    Processed(T),
    /// The event was applied before; the handler did not run.
    Duplicate,
    /// Another transaction is applying the event right now; the handler did not run. Whether that transaction commits
    /// is not known yet: answer 503 so that the provider retries.
    InFlight,
    /// A different body was applied under this id before; the handler did not run. Compare both bodies before you act.
    Conflict,
}

impl Inbox {
    /// The inbox of `consumer`: two consumers of the same event each apply it once. The name is part of every row, so
    /// it must not change with a release or a host.
    pub fn new(consumer: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self {
            consumer: Invalid::check("consumer", consumer.into())?,
            retention: INBOX_RETENTION,
            wait: WAIT_DEFAULT,
        })
    }

    /// How long rows are kept. Choose longer than any provider, replay or restored backup may deliver the event again.
    #[must_use]
    pub const fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// How long `Inbox::run` waits for another transaction with the same claim before it returns [`Outcome::InFlight`].
    /// Keep it well below the provider's timeout. On SQLite the connection's busy timeout applies instead.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The name of the consumer.
    pub fn consumer(&self) -> &str {
        &self.consumer
    }

    /// Claims `event` in a transaction that you manage: like [`once`], but also compares the body.
    pub fn claim<'t, T: Transaction>(&self, transaction: &'t mut T, event: &Event) -> T::Answer<'t, Claim> {
        transaction.claim(self.mark(event))
    }

    #[cfg(feature = "tokio-postgres")]
    fn retention_seconds(&self) -> u32 {
        retention_seconds(self.retention)
    }

    /// The row that claims `event`.
    fn mark(&self, event: &Event) -> Mark {
        Mark::new(&self.consumer, self.retention, event)
    }
}
