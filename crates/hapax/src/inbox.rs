//! The inbox: what a consumer has applied, noted in the transaction that applies it.
//!
//! [`once`] is the low door, for a transaction that is yours. `Inbox::run` does all of it.

mod claim;
mod handling;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod run;
#[cfg(feature = "rusqlite")]
mod run_blocking;

use std::time::Duration;

pub use claim::Claim;
#[doc(hidden)]
pub use claim::Mark;
pub use handling::Handling;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
pub use run::{Begin, Open};
#[cfg(all(feature = "axum", feature = "sqlx-postgres"))]
pub(crate) use run::{Opened, complete};

use crate::database::{Database, Transaction};
use crate::error::Invalid;
use crate::event::Event;
use crate::limits::{PURGE_ROWS_MAX, WAIT_DEFAULT};
use crate::tables::INBOX_RETENTION;

/// Whether this is the first time that `consumer` sees the event `event_id` of `source`, and if so, notes it
/// in the open transaction. Do the work if it is, then commit; the note commits with the work.
///
/// A copy in another transaction that is still open is waited for: if that one commits, the answer is
/// `false`; if it rolls back, `true`. How long is up to the connection's `lock_timeout` (PostgreSQL) or busy
/// timeout (SQLite). The transaction must be `READ COMMITTED`, PostgreSQL's default; on SQLite it must have
/// begun `IMMEDIATE`.
///
/// Never commit after a statement of yours has failed: PostgreSQL would answer such a COMMIT with a silent
/// rollback, and the event would be lost. `Inbox::run` takes care of that.
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
    let mark = Inbox::new(consumer)
        .and_then(|inbox| Event::new(source, event_id).map(|event| Mark::new(&inbox, &event)));
    transaction.once(mark)
}

/// Removes up to `rows_max` notes that have expired, and says how many went. Call it now and then, until it
/// says fewer than you allowed; one call is one short transaction, of at most
/// [`crate::limits::PURGE_ROWS_MAX`] rows.
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

/// A consumer of events: who applies them, how long that is remembered, how long a copy waits.
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

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a copy that is in flight must not be answered with success"]
pub enum Outcome<T> {
    /// The handler ran, and its work is committed. This is what it returned.
    Processed(T),
    /// The event was applied before; nothing ran.
    Duplicate,
    /// Another transaction is applying it right now; nothing ran. Whether that one commits is not known
    /// yet: answer 503 and let the sender come again.
    InFlight,
    /// Another body was applied under this id before; nothing ran. Look at both before you do anything.
    Conflict,
}

impl Inbox {
    /// The inbox of `consumer`: two consumers of the same event each apply it once. The name is part of every
    /// note, so it must not change with a release or a host.
    pub fn new(consumer: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self {
            consumer: Invalid::check("consumer", consumer.into())?,
            retention: INBOX_RETENTION,
            wait: WAIT_DEFAULT,
        })
    }

    /// How long a note is kept: longer than any sender, replay or restored backup brings the event again.
    #[must_use]
    pub const fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// How long `Inbox::run` waits for another transaction with the same claim before it says
    /// [`Outcome::InFlight`]. Keep it well below the sender's timeout. On SQLite it is the connection's own
    /// busy timeout that counts.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Who consumes.
    pub fn consumer(&self) -> &str {
        &self.consumer
    }

    /// Claims `event` in a transaction that is yours: like [`once`], with the body compared.
    pub fn claim<'t, T: Transaction>(&self, transaction: &'t mut T, event: &Event) -> T::Answer<'t, Claim> {
        transaction.claim(Mark::new(self, event))
    }
}
