//! SQLite through `rusqlite`.

use ::rusqlite::{Connection, OptionalExtension as _, Savepoint, Transaction as SqliteTransaction, params};

use super::Driver;
use crate::claim::{Claim, Mark};
use crate::database::{Database, Transaction, sealed};
use crate::error::{DatabaseError, Error, Invalid, Trouble};
use crate::staged::Staged;
use crate::statements::sqlite::{CLAIM, CREATE_INBOX, CREATE_OUTBOX, EXTEND, LOOK_UP, PURGE, STAGE};

pub(crate) fn trouble(error: &::rusqlite::Error) -> Trouble {
    Trouble::of_sqlite(error.sqlite_error().map(|error| error.extended_code))
}

pub(crate) fn error(error: ::rusqlite::Error) -> DatabaseError {
    DatabaseError {
        trouble: trouble(&error),
        source: error.into(),
    }
}

/// Claims the event, or reports the row that was there.
pub(crate) fn claim(transaction: &Connection, mark: &Mark) -> Result<Claim, DatabaseError> {
    if let Some(bound) = &mark.bound
        && claim_row(transaction, bound)? == Claim::OtherBody
    {
        return Ok(Claim::OtherBody);
    }
    claim_row(transaction, mark)
}

fn claim_row(transaction: &Connection, mark: &Mark) -> Result<Claim, DatabaseError> {
    let hash = mark.body_hash.as_ref().map(|hash| hash.as_bytes().as_slice());
    let key = (&mark.source, &mark.event_id, &mark.consumer, mark.generation);
    let values = params![key.0, key.1, key.2, key.3, hash, mark.retention_seconds];
    let mut statement = transaction.prepare_cached(CLAIM).map_err(error)?;
    if statement.execute(values).map_err(error)? == 1 {
        return Ok(Claim::First);
    }
    // There is only one writer: the row that prevented the insert is still there.
    let stored: Option<Option<Vec<u8>>> = transaction
        .query_row(LOOK_UP, key, |row| row.get(0))
        .optional()
        .map_err(error)?;
    if mark.extends() {
        let values = params![key.0, key.1, key.2, key.3, mark.retention_seconds];
        transaction.execute(EXTEND, values).map_err(error)?;
    }
    Ok(mark.against(stored.flatten().as_deref()))
}

/// The `rusqlite` driver.
#[derive(Clone, Copy, Debug)]
pub struct Rusqlite;

impl sealed::Sealed for Rusqlite {}
impl sealed::Sealed for Connection {}

impl Driver for Rusqlite {
    type Handle<'t> = &'t SqliteTransaction<'t>;
}

/// Implements the traits for a transaction, and for the reference to it that a handler receives.
macro_rules! transaction {
    ($of:ty) => {
        impl sealed::Sealed for $of {}

        impl Transaction for $of {
            type Answer<'t, T: Send + 't>
                = Result<T, Error>
            where
                Self: 't;

            fn claim(&mut self, mark: Mark) -> Result<Claim, Error> {
                Ok(claim(self, &mark)?)
            }

            fn once(&mut self, mark: Result<Mark, Invalid>) -> Result<bool, Error> {
                Ok(claim(self, &mark?)? == Claim::First)
            }

            fn stage(&mut self, row: Staged) -> Result<(), Error> {
                row.check()?;
                Ok(insert_call(self, &row)?)
            }
        }
    };
}
transaction!(SqliteTransaction<'_>);
transaction!(&SqliteTransaction<'_>);
transaction!(Savepoint<'_>);

fn insert_call(transaction: &Connection, row: &Staged) -> Result<(), DatabaseError> {
    let values = params![
        row.consumer(),
        row.source(),
        row.event_id(),
        row.kind(),
        row.target(),
        row.headers(),
        row.body(),
        row.key(),
        row.order_key(),
    ];
    transaction.execute(STAGE, values).map(drop).map_err(error)
}

impl Database for Connection {
    type Answer<'d, T: Send + 'd>
        = Result<T, Error>
    where
        Self: 'd;

    fn create_tables(&self) -> Result<(), Error> {
        let sql = [CREATE_INBOX, CREATE_OUTBOX].join("\n");
        self.execute_batch(&sql).map_err(|failure| error(failure).into())
    }

    fn purge(&self, rows_max: u32) -> Result<u64, Error> {
        let rows = self.execute(PURGE, [rows_max]).map_err(error)?;
        Ok(rows as u64)
    }
}
