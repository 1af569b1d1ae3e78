//! PostgreSQL through `tokio-postgres`. Statements declare their parameter types, which saves the round trip to prepare
//! them and leaves no prepared statement for a connection pooler to lose.

use ::tokio_postgres::types::{ToSql, Type};
use ::tokio_postgres::{Client, IsolationLevel, Transaction as PostgresTransaction};

use super::Driver;
use super::postgres::{self, Begin, Open, Pending, Session};
use crate::claim::{Claim, Mark};
use crate::database::{Database, Transaction, sealed};
use crate::error::{DatabaseError, Invalid, Trouble};
use crate::staged::Staged;
use crate::statements::postgres as statements;

pub(super) fn trouble(error: &::tokio_postgres::Error) -> Trouble {
    Trouble::of_postgres(error.code().map(::tokio_postgres::error::SqlState::code))
}

pub(crate) fn error(error: ::tokio_postgres::Error) -> DatabaseError {
    DatabaseError {
        trouble: trouble(&error),
        source: error.into(),
    }
}

impl sealed::Sealed for Client {}
impl sealed::Sealed for &mut Client {}

/// Implements the traits for a transaction, and for the reference to it that a handler receives.
macro_rules! transaction {
    ($of:ty) => {
        impl sealed::Sealed for $of {}

        impl Transaction for $of {
            type Answer<'t, T: Send + 't>
                = Pending<'t, T>
            where
                Self: 't;

            fn claim(&mut self, mark: Mark) -> Pending<'_, Claim> {
                postgres::claiming(session(self), mark)
            }

            fn once(&mut self, mark: Result<Mark, Invalid>) -> Pending<'_, bool> {
                postgres::opening(session(self), mark)
            }

            fn stage(&mut self, row: Staged) -> Pending<'_, ()> {
                postgres::staging(session(self), row)
            }
        }
    };
}

/// Either of the two, through auto-dereferencing.
const fn session<'t, 'c>(transaction: &'t PostgresTransaction<'c>) -> &'t PostgresTransaction<'c> {
    transaction
}

transaction!(PostgresTransaction<'_>);
transaction!(&PostgresTransaction<'_>);

impl Database for Client {
    type Answer<'d, T: Send + 'd>
        = Pending<'d, T>
    where
        Self: 'd;

    fn create_tables(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            let sql = [statements::CREATE_INBOX, statements::CREATE_OUTBOX].join("\n");
            Ok(self.batch_execute(&sql).await.map_err(error)?)
        })
    }

    fn purge(&self, rows_max: u32) -> Pending<'_, u64> {
        Box::pin(async move {
            let rows_max = i64::from(rows_max);
            let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&rows_max, Type::INT8)];
            Ok(self
                .execute_typed(statements::PURGE, &parameters)
                .await
                .map_err(error)?)
        })
    }
}

/// The `tokio-postgres` driver.
#[derive(Clone, Copy, Debug)]
pub struct TokioPostgres;

impl sealed::Sealed for TokioPostgres {}

impl Driver for TokioPostgres {
    type Handle<'t> = &'t PostgresTransaction<'t>;
}

impl<'c> Begin for &'c mut Client {
    type Transaction = PostgresTransaction<'c>;

    async fn begin(self) -> Result<Self::Transaction, DatabaseError> {
        let builder = self
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted);
        builder.start().await.map_err(error)
    }
}

impl Open for PostgresTransaction<'_> {
    type Driver = TokioPostgres;

    fn handle(&mut self) -> &PostgresTransaction<'_> {
        self
    }

    fn session(&mut self) -> impl Session {
        &*self
    }

    async fn commit(self) -> Result<(), DatabaseError> {
        self.commit().await.map_err(error)
    }

    async fn roll_back(self) -> Result<(), DatabaseError> {
        self.rollback().await.map_err(error)
    }
}

impl Session for &PostgresTransaction<'_> {
    async fn insert(&mut self, mark: &Mark) -> Result<u64, DatabaseError> {
        let (generation, hash) = (mark.generation as i32, mark.body_hash);
        let hash = hash.as_ref().map(|hash| hash.as_bytes().as_slice());
        let seconds = f64::from(mark.retention_seconds);
        let parameters: [(&(dyn ToSql + Sync), Type); 6] = [
            (&mark.source, Type::TEXT),
            (&mark.event_id, Type::TEXT),
            (&mark.consumer, Type::TEXT),
            (&generation, Type::INT4),
            (&hash, Type::BYTEA),
            (&seconds, Type::FLOAT8),
        ];
        self.execute_typed(statements::CLAIM, &parameters)
            .await
            .map_err(error)
    }

    async fn look_up(&mut self, mark: &Mark) -> Result<Option<Option<Vec<u8>>>, DatabaseError> {
        let generation = mark.generation as i32;
        let row = self
            .query_typed_opt(statements::LOOK_UP, &key(mark, &generation))
            .await;
        row.map_err(error)?
            .map(|row| row.try_get(0))
            .transpose()
            .map_err(error)
    }

    async fn extend(&mut self, mark: &Mark) -> Result<(), DatabaseError> {
        let (generation, seconds) = (mark.generation as i32, f64::from(mark.retention_seconds));
        let [source, event_id, consumer, generation] = key(mark, &generation);
        let parameters = [
            source,
            event_id,
            consumer,
            generation,
            (&seconds as _, Type::FLOAT8),
        ];
        self.execute_typed(statements::EXTEND, &parameters)
            .await
            .map(drop)
            .map_err(error)
    }

    async fn insert_call(&mut self, row: &Staged) -> Result<(), DatabaseError> {
        let headers = row.headers();
        let parameters: [(&(dyn ToSql + Sync), Type); 9] = [
            (&row.consumer(), Type::TEXT),
            (&row.source(), Type::TEXT),
            (&row.event_id(), Type::TEXT),
            (&row.kind(), Type::TEXT),
            (&row.target(), Type::TEXT),
            (&headers, Type::TEXT),
            (&row.body(), Type::BYTEA),
            (&row.key(), Type::TEXT),
            (&row.order_key(), Type::TEXT),
        ];
        self.execute_typed(statements::STAGE, &parameters)
            .await
            .map(drop)
            .map_err(error)
    }

    async fn swap_lock_timeout(&mut self, to: String) -> Result<String, DatabaseError> {
        let swap = self
            .query_typed_one(statements::SWAP_LOCK_TIMEOUT, &[(&to, Type::TEXT)])
            .await;
        swap.map_err(error)?.try_get(0).map_err(error)
    }

    async fn batch(&mut self, sql: String) -> Result<(), DatabaseError> {
        self.batch_execute(&sql).await.map_err(error)
    }
}

fn key<'m>(mark: &'m Mark, generation: &'m i32) -> [(&'m (dyn ToSql + Sync), Type); 4] {
    [
        (&mark.source, Type::TEXT),
        (&mark.event_id, Type::TEXT),
        (&mark.consumer, Type::TEXT),
        (generation, Type::INT4),
    ]
}
