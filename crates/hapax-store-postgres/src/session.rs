//! A step's hold on a connection: statements, the transaction, and numbers and time from the server.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryFutureExt as _;
use futures_util::future::{join, join_all};
use hapax_core::Timestamp;
use tokio_postgres::{Client, Row, Statement};

use crate::batch::{Batch, Run};
use crate::bind::{Param, bind};
use crate::failure::{self, Failure};
use crate::pool::{Lent, Pool};
use crate::template::{self, Form};
use crate::{Options, Spread};

/// The time, and as many new numbers as asked for. Read in a statement of its own and bound to the
/// others: a distributed database refuses to compute them inside.
const TAKE: &str = "
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
           ARRAY(SELECT nextval('hapax.tokens') FROM generate_series(1, $1::int8))";

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";

/// The server plans by how large it believes a table to be, and keeps the plan. A queue is nearly empty now and holds
/// a million rows a minute later, and then a plan that reads or sorts the whole of it takes a thousand times as long.
/// Whatever a step that writes looks for has an index, in the order it is wanted in, so it is always found by that.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; \
                        SET LOCAL enable_sort = off; SET LOCAL enable_material = off; \
                        SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off";

/// How a step talks to the server.
pub(crate) struct Session {
    lent: Lent,
    in_transaction: AtomicBool,
    terms: Terms,
    prepares: bool,
}

/// What every transaction begins with.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    begin: String,
    begin_reading: String,
    spread: Spread,
}

impl Terms {
    pub(crate) fn new(options: &Options, spread: Spread) -> Self {
        // Limits go into the transaction and not into the session: behind a pooler, sessions are shared.
        let limits = format!(
            "SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}",
            millis(options.statement_timeout),
            millis(options.lock_timeout),
            millis(options.step_timeout),
        );
        Self {
            begin: format!("BEGIN ISOLATION LEVEL READ COMMITTED; {limits}; {BY_INDEX}"),
            begin_reading: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {limits}"),
            spread,
        }
    }

    pub(crate) const fn spread(&self) -> Spread {
        self.spread
    }
}

/// Numbers from the server's sequence, handed out in order.
#[derive(Debug, Default)]
pub(crate) struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    /// The next one.
    pub(crate) fn next(&mut self) -> Result<i64, Failure> {
        self.0
            .next()
            .ok_or_else(|| Failure::Unreadable("the database gave too few numbers".to_owned()))
    }

    /// The next ones.
    pub(crate) fn several(&mut self, count: usize) -> Result<Vec<i64>, Failure> {
        (0..count).map(|_| self.next()).collect()
    }
}

impl Session {
    pub(crate) fn new(lent: Lent, pool: &Pool, terms: Terms) -> Self {
        Self {
            lent,
            in_transaction: AtomicBool::new(false),
            terms,
            prepares: pool.prepares(),
        }
    }

    /// The connection, and whether a transaction is open on it.
    pub(crate) fn into_parts(self) -> (Lent, bool) {
        (self.lent, self.in_transaction.load(Ordering::Acquire))
    }

    /// The bucket of this connection's sums.
    pub(crate) const fn slot(&self) -> i16 {
        self.lent.connection.slot
    }

    /// How the tables are spread.
    pub(crate) const fn spread(&self) -> Spread {
        self.terms.spread
    }

    /// Begins a transaction that writes.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        self.in_transaction.store(true, Ordering::Release);
        self.control(&self.terms.begin).await
    }

    /// Begins a transaction that writes and asks for the server's time, in one go.
    pub(crate) async fn begin_at(&self) -> Result<Timestamp, Failure> {
        // The first is polled, and so sent, first.
        let (begun, now) = join(self.begin(), self.now()).await;
        begun?;
        now
    }

    /// Begins a transaction that sees one state of the database, however many statements it takes.
    pub(crate) async fn begin_reading(&self) -> Result<(), Failure> {
        self.in_transaction.store(true, Ordering::Release);
        self.control(&self.terms.begin_reading).await
    }

    /// Commits.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        fail::fail_point!("postgres.before_commit");
        let outcome = self.control("COMMIT").await;
        fail::fail_point!("postgres.after_commit");
        outcome.map_err(Failure::at_commit)?;
        self.in_transaction.store(false, Ordering::Release);
        Ok(())
    }

    /// Rolls back what is open.
    pub(crate) async fn rollback(&self) -> Result<(), Failure> {
        self.control("ROLLBACK").await?;
        self.in_transaction.store(false, Ordering::Release);
        Ok(())
    }

    /// The server's time.
    pub(crate) async fn now(&self) -> Result<Timestamp, Failure> {
        let row = self.one(NOW, &[]).await?;
        Ok(Timestamp::from_micros(row.try_get(0)?))
    }

    /// The server's time, and numbers that were never given out before.
    pub(crate) async fn take(&self, count: usize) -> Result<(Timestamp, Numbers), Failure> {
        let row = self.one(TAKE, bind![count as i64]).await?;
        let numbers: Vec<i64> = row.try_get(1)?;
        Ok((
            Timestamp::from_micros(row.try_get(0)?),
            Numbers(numbers.into_iter()),
        ))
    }

    /// Begins or ends a transaction.
    async fn control(&self, sql: &str) -> Result<(), Failure> {
        let done = self.client().batch_execute(sql).await;
        done.map_err(|error| Failure::of(sql, Location::caller(), error))
    }

    const fn client(&self) -> &Client {
        &self.lent.connection.client
    }

    /// Runs a statement; its rows.
    #[track_caller]
    pub(crate) fn rows(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, Failure>> {
        let caller = Location::caller();
        let rows = async move {
            if self.prepares {
                let statement = self.statement(sql, params).await?;
                let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
                self.client().query(&statement, &values).await
            } else {
                self.client().query_typed(sql, params).await
            }
        };
        rows.map_err(move |error| Failure::of(sql, caller, error))
    }

    /// Runs a statement that is put together, and so not prepared; its rows.
    #[track_caller]
    pub(crate) fn rows_of(
        &self,
        sql: &str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, Failure>> {
        let caller = Location::caller();
        let rows = async move { self.client().query_typed(sql, params).await };
        rows.map_err(move |error| Failure::of(sql, caller, error))
    }

    /// Runs a statement over rows: once, or once for each bucket, sent in one go; all its rows. Nothing
    /// is asked where there are no rows.
    #[track_caller]
    pub(crate) fn over(
        &self,
        text: &'static str,
        batch: &Batch<'_>,
    ) -> impl Future<Output = Result<Vec<Row>, Failure>> {
        let caller = Location::caller();
        async move {
            if batch.is_empty() {
                return Ok(Vec::new());
            }
            let form = Form::of(text, self.terms.spread);
            let sql = template::fill(text, form, &batch.columns());
            let runs = batch.runs(form);
            let failed = |error| Failure::of(text, caller, error);
            // Before the runs, so that it is prepared once.
            let statement = match runs.first() {
                Some(run) if self.prepares => {
                    Some(self.statement(&sql, &run.params()).await.map_err(failed)?)
                }
                Some(_) | None => None,
            };
            // Each is sent when it is first asked, and they are asked in order.
            let runs = runs
                .iter()
                .map(|run| self.run(statement.as_ref(), &sql, run).map_err(failed));
            let outcomes = join_all(runs).await;
            Ok(failure::all(outcomes)?.into_iter().flatten().collect())
        }
    }

    async fn run(
        &self,
        statement: Option<&Statement>,
        sql: &str,
        run: &Run<'_, '_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let params = run.params();
        match statement {
            Some(statement) => {
                let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
                self.client().query(statement, &values).await
            }
            None => self.client().query_typed(sql, &params).await,
        }
    }

    /// Runs a statement over rows for its effect.
    #[track_caller]
    pub(crate) fn write(
        &self,
        text: &'static str,
        batch: &Batch<'_>,
    ) -> impl Future<Output = Result<(), Failure>> {
        self.over(text, batch).map_ok(drop)
    }

    /// Runs a statement for its effect.
    #[track_caller]
    pub(crate) fn execute(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<(), Failure>> {
        self.rows(sql, params).map_ok(drop)
    }

    /// A statement with exactly one row.
    #[track_caller]
    pub(crate) fn one(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Row, Failure>> {
        let missing = || Failure::Unreadable("the database gave no row where there is always one".to_owned());
        let row = self.optional(sql, params);
        async move { row.await?.ok_or_else(missing) }
    }

    /// A statement with one row or none.
    #[track_caller]
    pub(crate) fn optional(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Option<Row>, Failure>> {
        self.rows(sql, params).map_ok(|rows| rows.into_iter().next())
    }

    async fn statement(&self, sql: &str, params: &[Param<'_>]) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.lent.connection.statements.lock().get(sql) {
            return Ok(statement.clone());
        }
        let types: Vec<_> = params.iter().map(|(_, sql_type)| sql_type.clone()).collect();
        let statement = self.client().prepare_typed(sql, &types).await?;
        self.lent
            .connection
            .statements
            .lock()
            .insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX).max(1)
}
