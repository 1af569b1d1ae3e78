//! Applies one event on SQLite, on the caller's thread.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{Handling, Inbox, Outcome, RunError};
use crate::claim::Claim;
use crate::driver::{Rusqlite, rusqlite as driver};
use crate::error::{DatabaseError, Trouble};
use crate::event::Event;
use crate::staged::Origin;

impl Inbox {
    /// [`Inbox::run`] for SQLite, whose driver blocks: in an asynchronous service, call it inside
    /// `tokio::task::spawn_blocking`.
    ///
    /// The transaction begins `IMMEDIATE`, so there is one writer at a time. A duplicate waits until the first delivery
    /// is done, for as long as the connection's busy timeout allows (5 s by default), and then returns
    /// [`Outcome::InFlight`].
    ///
    /// ```
    /// use hapax::{Event, Inbox, Outcome};
    ///
    /// let mut connection = rusqlite::Connection::open_in_memory()?;
    /// hapax::create_tables(&connection)?;
    /// connection.execute_batch("create table account (balance integer); insert into account values (0)")?;
    /// let inbox = Inbox::new("bank")?;
    /// let event = Event::new("stripe", "evt_1")?;
    /// for expected in [Outcome::Processed(()), Outcome::Duplicate] {
    ///     let outcome = inbox.run_blocking(&mut connection, &event, |tx| {
    ///         tx.execute("update account set balance = balance + 1", ()).map(drop)
    ///     })?;
    ///     assert_eq!(outcome, expected);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_blocking<T, E>(
        &self,
        connection: &mut Connection,
        event: &Event,
        handler: impl FnOnce(Handling<'_, Rusqlite>) -> Result<T, E>,
    ) -> Result<Outcome<T>, RunError<E>> {
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = match begun.map_err(driver::error) {
            Ok(transaction) => transaction,
            Err(error) if error.trouble == Trouble::Busy => return Ok(Outcome::InFlight),
            Err(error) => return Err(RunError::Database(error)),
        };
        match driver::claim(&transaction, &self.mark(event)).map_err(RunError::Database)? {
            Claim::First => {}
            // Commit, because a replay may have extended the row.
            Claim::Again => {
                transaction
                    .commit()
                    .map_err(|error| RunError::Database(driver::error(error)))?;
                return Ok(Outcome::Duplicate);
            }
            Claim::OtherBody => return Ok(Outcome::Conflict),
        }
        // From here on, every early return drops the transaction, which rolls it back.
        batch(&transaction, "SAVEPOINT hapax_handler").map_err(RunError::Database)?;
        let origin = Origin::new(&self.consumer, event);
        let value = handler(Handling::new(&transaction, &origin)).map_err(RunError::Handler)?;
        complete(transaction)?;
        Ok(Outcome::Processed(value))
    }
}

/// Commits the handler's changes. The savepoint no longer exists if SQLite or the handler ended the transaction.
fn complete<E>(transaction: Transaction<'_>) -> Result<(), RunError<E>> {
    batch(&transaction, "RELEASE SAVEPOINT hapax_handler").map_err(RunError::Broken)?;
    transaction.commit().map_err(|error| match driver::error(error) {
        // If the disk fails in the middle of a commit, it is unknown whether the commit took effect.
        error if error.trouble == Trouble::Unavailable => RunError::Unknown(error),
        error => RunError::Database(error),
    })
}

fn batch(transaction: &Transaction<'_>, sql: &str) -> Result<(), DatabaseError> {
    transaction.execute_batch(sql).map_err(driver::error)
}
