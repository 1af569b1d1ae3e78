//! PostgreSQL through `sqlx`.

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row as _};

use super::Driver;
use super::postgres::{self, Begin, Open, Pending, Session};
use crate::claim::{Claim, Mark};
use crate::database::{Database, Transaction, sealed};
use crate::error::{DatabaseError, Invalid, Trouble};
use crate::staged::Staged;
use crate::statements::postgres as statements;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(super) fn trouble(error: &sqlx::Error) -> Trouble {
    match error.as_database_error() {
        Some(error) => Trouble::of_postgres(error.code().as_deref()),
        None => Trouble::of_postgres(None),
    }
}

fn error(error: sqlx::Error) -> DatabaseError {
    DatabaseError {
        trouble: trouble(&error),
        source: error.into(),
    }
}

impl sealed::Sealed for PgPool {}
impl sealed::Sealed for &PgPool {}

/// Implements the traits for a transaction, and for its connection, which a handler receives.
macro_rules! transaction {
    ($of:ty) => {
        impl sealed::Sealed for $of {}

        impl Transaction for $of {
            type Answer<'t, T: Send + 't>
                = Pending<'t, T>
            where
                Self: 't;

            fn claim(&mut self, mark: Mark) -> Pending<'_, Claim> {
                postgres::claiming(&mut **self, mark)
            }

            fn once(&mut self, mark: Result<Mark, Invalid>) -> Pending<'_, bool> {
                postgres::opening(&mut **self, mark)
            }

            fn stage(&mut self, row: Staged) -> Pending<'_, ()> {
                postgres::staging(&mut **self, row)
            }
        }
    };
}
transaction!(sqlx::Transaction<'_, Postgres>);
transaction!(&mut PgConnection);

impl Database for PgPool {
    type Answer<'d, T: Send + 'd>
        = Pending<'d, T>
    where
        Self: 'd;

    fn create_tables(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            for sql in [statements::CREATE_INBOX, statements::CREATE_OUTBOX] {
                sqlx::raw_sql(sql).execute(self).await.map_err(error)?;
            }
            Ok(())
        })
    }

    fn purge(&self, rows_max: u32) -> Pending<'_, u64> {
        Box::pin(async move {
            let purge = sqlx::query(statements::PURGE).bind(i64::from(rows_max));
            Ok(purge.execute(self).await.map_err(error)?.rows_affected())
        })
    }
}

/// The `sqlx` driver.
#[derive(Clone, Copy, Debug)]
pub struct Sqlx;

impl sealed::Sealed for Sqlx {}

impl Driver for Sqlx {
    type Handle<'t> = &'t mut PgConnection;
}

impl Begin for &PgPool {
    type Transaction = sqlx::Transaction<'static, Postgres>;

    /// Runs in a separate task: if the future is dropped during BEGIN, sqlx 0.9.0 returns the connection to its pool
    /// with the transaction still open, and a client that hangs up drops futures. The task always completes BEGIN, and
    /// a transaction that nobody takes is rolled back.
    async fn begin(self) -> Result<Self::Transaction, DatabaseError> {
        let pool = self.clone();
        match tokio::spawn(async move { pool.begin_with(BEGIN).await }).await {
            Ok(begun) => begun.map_err(error),
            Err(stopped) => Err(DatabaseError {
                trouble: Trouble::Unavailable,
                source: stopped.into(),
            }),
        }
    }
}

impl Open for sqlx::Transaction<'_, Postgres> {
    type Driver = Sqlx;

    fn handle(&mut self) -> &mut PgConnection {
        self
    }

    fn session(&mut self) -> impl Session {
        &mut **self
    }

    async fn commit(self) -> Result<(), DatabaseError> {
        self.commit().await.map_err(error)
    }

    async fn roll_back(self) -> Result<(), DatabaseError> {
        self.rollback().await.map_err(error)
    }
}

impl Session for &mut PgConnection {
    async fn insert(&mut self, mark: &Mark) -> Result<u64, DatabaseError> {
        let insert = sqlx::query(statements::CLAIM)
            .bind(&mark.source)
            .bind(&mark.event_id)
            .bind(&mark.consumer)
            .bind(mark.generation as i32)
            .bind(mark.body_hash.map(|hash| hash.as_bytes().to_vec()))
            .bind(f64::from(mark.retention_seconds));
        Ok(insert.execute(&mut **self).await.map_err(error)?.rows_affected())
    }

    async fn look_up(&mut self, mark: &Mark) -> Result<Option<Option<Vec<u8>>>, DatabaseError> {
        let look_up = sqlx::query(statements::LOOK_UP)
            .bind(&mark.source)
            .bind(&mark.event_id)
            .bind(&mark.consumer)
            .bind(mark.generation as i32);
        let row = look_up.fetch_optional(&mut **self).await.map_err(error)?;
        row.map(|row| row.try_get(0)).transpose().map_err(error)
    }

    async fn extend(&mut self, mark: &Mark) -> Result<(), DatabaseError> {
        let extend = sqlx::query(statements::EXTEND)
            .bind(&mark.source)
            .bind(&mark.event_id)
            .bind(&mark.consumer)
            .bind(mark.generation as i32)
            .bind(f64::from(mark.retention_seconds));
        extend.execute(&mut **self).await.map(drop).map_err(error)
    }

    async fn insert_call(&mut self, row: &Staged) -> Result<(), DatabaseError> {
        let insert = sqlx::query(statements::STAGE)
            .bind(row.consumer())
            .bind(row.source())
            .bind(row.event_id())
            .bind(row.kind())
            .bind(row.target())
            .bind(row.headers())
            .bind(row.body())
            .bind(row.key())
            .bind(row.order_key());
        insert.execute(&mut **self).await.map(drop).map_err(error)
    }

    async fn swap_lock_timeout(&mut self, to: String) -> Result<String, DatabaseError> {
        let swap = sqlx::query(statements::SWAP_LOCK_TIMEOUT).bind(to);
        let row = swap.fetch_one(&mut **self).await.map_err(error)?;
        row.try_get(0).map_err(error)
    }

    async fn batch(&mut self, sql: String) -> Result<(), DatabaseError> {
        // The SQL is built here from constants and values that the server returned.
        let batch = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **self);
        batch.await.map(drop).map_err(error)
    }
}
