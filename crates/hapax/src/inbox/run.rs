//! Applies one event: begin, claim, handle, commit.

use std::time::Duration;

use super::{Handling, Inbox, Outcome, RunError};
use crate::claim::{Claim, Mark};
use crate::driver::postgres::{self, Begin, Open, Session};
use crate::error::{DatabaseError, Trouble};
use crate::event::Event;
use crate::staged::Origin;

impl Inbox {
    /// Applies `event` once: opens a transaction, claims the event, runs the handler, and commits.
    ///
    /// The claim comes first, so of two simultaneous deliveries one waits for the other before its handler runs. The
    /// handler runs under a savepoint; its return value becomes [`Outcome::Processed`] once it is committed. If it
    /// fails, panics, or its future is dropped, everything is rolled back, including the claim, and the event can be
    /// delivered again.
    ///
    /// `database` is a `&sqlx::PgPool`, or a `&mut tokio_postgres::Client` as connection pools provide it. A tokio
    /// runtime is required.
    ///
    /// ```no_run
    /// # #[cfg(feature = "sqlx-postgres")]
    /// # async fn example(pool: sqlx::PgPool, raw: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// use hapax::{Event, Inbox, Outcome};
    /// use hapax::outbox::{self, Call};
    ///
    /// let inbox = Inbox::new("billing")?;
    /// let event = Event::new("stripe", "evt_1")?.with_body(raw);
    /// let outcome = inbox
    ///     .run(&pool, &event, async |mut tx| {
    ///         sqlx::query("update orders set status = 'paid' where id = $1")
    ///             .bind(42_i64)
    ///             .execute(&mut *tx)
    ///             .await?;
    ///         outbox::stage(&mut tx, Call::http("https://mail.example.com/send").body("paid")).await?;
    ///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    ///     })
    ///     .await?;
    /// match outcome {
    ///     Outcome::Processed(()) | Outcome::Duplicate => {} // 200
    ///     Outcome::InFlight => {}                           // 503: the provider retries
    ///     Outcome::Conflict => {}                           // 200, and alert an operator
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<D, T, E, F>(
        &self,
        database: D,
        event: &Event,
        handler: F,
    ) -> Result<Outcome<T>, RunError<E>>
    where
        D: Begin,
        F: for<'t> AsyncFnOnce(Handling<'t, <D::Transaction as Open>::Driver>) -> Result<T, E>,
    {
        let origin = Origin::new(&self.consumer, event);
        match self.open(database, event).await.map_err(RunError::Database)? {
            Opened::Ended(outcome) => Ok(outcome),
            Opened::First(mut transaction) => {
                match handler(Handling::new(transaction.handle(), &origin)).await {
                    Ok(value) => complete(transaction).await.map(|()| Outcome::Processed(value)),
                    Err(error) => {
                        // The handler's own error is what matters; a lost connection has rolled back anyway.
                        drop(transaction.roll_back().await);
                        Err(RunError::Handler(error))
                    }
                }
            }
        }
    }

    /// Begins the transaction and claims the event; anything but a first claim is already an outcome.
    pub(crate) async fn open<D: Begin, T>(
        &self,
        database: D,
        event: &Event,
    ) -> Result<Opened<D::Transaction, T>, DatabaseError> {
        let mut transaction = database.begin().await?;
        let outcome = match claim(transaction.session(), self.mark(event), self.wait).await {
            Ok(Claim::First) => return Ok(Opened::First(transaction)),
            // Commit, because a replay may have extended the row.
            Ok(Claim::Again) => {
                transaction.commit().await?;
                return Ok(Opened::Ended(Outcome::Duplicate));
            }
            Ok(Claim::OtherBody) => Ok(Outcome::Conflict),
            Err(error) if error.trouble == Trouble::Busy => Ok(Outcome::InFlight),
            Err(error) => Err(error),
        };
        // Reached only after a failure; a lost connection has rolled back anyway.
        drop(transaction.roll_back().await);
        outcome.map(Opened::Ended)
    }
}

/// A transaction that holds the claim, or the outcome if there is nothing to apply.
pub(crate) enum Opened<X, T> {
    First(X),
    Ended(Outcome<T>),
}

/// Claims with a limited wait; the limit is lifted before any other statement runs.
async fn claim(mut session: impl Session, mark: Mark, wait: Duration) -> Result<Claim, DatabaseError> {
    // Zero would mean no limit.
    let wait_ms = wait.as_millis().clamp(1, 3_600_000);
    let before = session.swap_lock_timeout(format!("{wait_ms}ms")).await?;
    let claim = postgres::claim(&mut session, &mark).await?;
    if claim == Claim::First {
        let sql = format!("SET LOCAL lock_timeout = '{before}'; SAVEPOINT hapax_handler");
        session.batch(sql).await?;
    }
    Ok(claim)
}

/// Commits the handler's changes. Releasing the savepoint proves that the transaction can still commit: PostgreSQL
/// answers the COMMIT of a failed transaction with a rollback, and reports success.
pub(crate) async fn complete<X: Open, E>(mut transaction: X) -> Result<(), RunError<E>> {
    let released = transaction
        .session()
        .batch("RELEASE SAVEPOINT hapax_handler".to_owned())
        .await;
    if let Err(error) = released {
        return Err(match error.trouble {
            Trouble::Unavailable => RunError::Database(error),
            Trouble::Busy | Trouble::Victim | Trouble::Refused => RunError::Broken(error),
        });
    }
    transaction.commit().await.map_err(|error| match error.trouble {
        Trouble::Unavailable => RunError::Unknown(error),
        Trouble::Busy | Trouble::Victim | Trouble::Refused => RunError::Database(error),
    })
}
