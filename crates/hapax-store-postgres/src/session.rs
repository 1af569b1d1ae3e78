//! A step's connection: statements, the transaction, and numbers and time from the server.

use std::fmt::Display;
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

/// The time, and the requested number of new numbers. Read in a separate statement and bound to the others: a
/// distributed database refuses to compute them inside a statement.
const TAKE: &str = "
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
           ARRAY(SELECT nextval('hapax.tokens') FROM generate_series(1, $1::int8))";

const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";

/// Ways to plan that read or sort whole tables. The server plans by its estimate of a table's size, and keeps the plan. A
/// queue is nearly empty now and holds a million rows a minute later; such a plan then takes a thousand times as long.
/// Everything that a writing step looks up has an index in the order it needs, so indexes are always used.
const NOT_BY_INDEX: [&str; 6] = [
    "enable_seqscan",
    "enable_bitmapscan",
    "enable_sort",
    "enable_material",
    "enable_hashjoin",
    "enable_mergejoin",
];

/// Begins a transaction that writes. Nothing else begins a deferrable one, which for such a transaction has no other
/// meaning: a statement that is sent together with this one can tell whether it has succeeded (`is_begun!`).
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED, DEFERRABLE";

/// Whether the transaction was begun by [`BEGIN`].
macro_rules! is_begun {
    () => {
        "current_setting('transaction_deferrable')::bool"
    };
}
pub(crate) use is_begun;

/// Begins a transaction that only reads.
const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// How a step talks to the server.
pub(crate) struct Session {
    lent: Lent,
    in_transaction: AtomicBool,
    terms: Terms,
    /// Whether the server's session has the settings of [`Terms::of_session`].
    is_set: bool,
    prepares: bool,
}

/// The beginning of every transaction.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    begin: String,
    begin_reading: String,
    /// The same in a session with the settings of [`Terms::of_session`].
    begin_reading_set: String,
    spread: Spread,
}

impl Terms {
    /// Settings are made for one transaction: behind a pooler, sessions are shared.
    pub(crate) fn new(options: &Options, spread: Spread) -> Self {
        let [statement, lock, idle] = limits(options).map(|(name, limit)| local(name, limit));
        let may_pause = local(IDLE, millis(options.step_timeout));
        let plans = |switch: &str| NOT_BY_INDEX.map(|name| local(name, switch)).concat();
        let jit = local("jit", "off");
        Self {
            begin: format!("{BEGIN}{statement}{lock}{idle}{}{jit}", plans("off")),
            begin_reading: format!("{BEGIN_READING}{statement}{lock}{may_pause}"),
            begin_reading_set: format!("{BEGIN_READING}{may_pause}{}", plans("on")),
            spread,
        }
    }

    /// The settings of a session in which most transactions write: [`BEGIN`] is then all that they begin with, and a
    /// statement that is a whole transaction needs none.
    pub(crate) fn of_session(options: &Options) -> String {
        let limits = limits(options).map(|(name, limit)| format!("-c {name}={limit} "));
        let plans = NOT_BY_INDEX.map(|name| format!("-c {name}=off "));
        let (limits, plans) = (limits.concat(), plans.concat());
        format!(
            "{limits}{plans}-c jit=off -c default_transaction_deferrable=off \
             -c default_transaction_isolation=read\\ committed"
        )
    }

    pub(crate) const fn spread(&self) -> Spread {
        self.spread
    }
}

/// How long the server waits for the next statement of a transaction.
const IDLE: &str = "idle_in_transaction_session_timeout";

/// The limits of a transaction that writes, in milliseconds.
fn limits(options: &Options) -> [(&'static str, i32); 3] {
    [
        ("statement_timeout", millis(options.statement_timeout)),
        ("lock_timeout", millis(options.lock_timeout)),
        (IDLE, millis(options.idle_timeout)),
    ]
}

/// Sets something for the transaction that was just begun.
fn local(name: &str, value: impl Display) -> String {
    format!("; SET LOCAL {name} = {value}")
}

/// Numbers from the server's sequence, issued in order.
#[derive(Debug, Default)]
pub(crate) struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    pub(crate) fn next(&mut self) -> Result<i64, Failure> {
        self.0
            .next()
            .ok_or_else(|| Failure::Unreadable("the database returned too few numbers".to_owned()))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn several(&mut self, count: usize) -> Result<Vec<i64>, Failure> {
        (0..count).map(|_| self.next()).collect()
    }
}

impl Session {
    pub(crate) fn new(lent: Lent, pool: &Pool, terms: Terms) -> Self {
        let prepares = pool.prepares();
        Self {
            // A pooler that was noticed only later shares its sessions.
            is_set: lent.connection.is_set && prepares,
            lent,
            in_transaction: AtomicBool::new(false),
            terms,
            prepares,
        }
    }

    /// The connection, and whether it has an open transaction.
    pub(crate) fn into_parts(self) -> (Lent, bool) {
        (self.lent, self.in_transaction.load(Ordering::Acquire))
    }

    /// The bucket of this connection's sums.
    pub(crate) const fn slot(&self) -> i16 {
        self.lent.connection.slot
    }

    /// Whether the server's session has its pool's settings, and so belongs to nobody else.
    pub(crate) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// How the tables are distributed.
    pub(crate) const fn spread(&self) -> Spread {
        self.terms.spread
    }

    /// Begins a transaction that writes.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        self.in_transaction.store(true, Ordering::Release);
        let begin = if self.is_set {
            BEGIN
        } else {
            self.terms.begin.as_str()
        };
        self.control(begin).await
    }

    /// Begins a transaction that writes and runs its first statements, in one round trip. If they write, they do so only
    /// if `is_begun!`.
    pub(crate) async fn begin_with<T>(
        &self,
        first: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        // The first future is polled first, and so sent first.
        let (begun, first) = join(self.begin(), first).await;
        begun?;
        first
    }

    /// Begins a transaction that writes and reads the server's time, in one round trip.
    pub(crate) async fn begin_at(&self) -> Result<Timestamp, Failure> {
        self.begin_with(self.now()).await
    }

    /// Runs the only statement of a step that writes, and commits. In a session with settings of its own, that is all that
    /// is sent: `alone` commits by itself. Elsewhere `begun`, which is the same but writes only if `is_begun!`.
    #[track_caller]
    pub(crate) fn only(
        &self,
        alone: &'static str,
        begun: &'static str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, Failure>> {
        let rows = self.rows(if self.is_set { alone } else { begun }, params);
        async move {
            if self.is_set {
                fail::fail_point!("postgres.before_commit");
                let rows = rows.await;
                fail::fail_point!("postgres.after_commit");
                return rows.map_err(Failure::at_commit);
            }
            let rows = self.begin_with(rows).await?;
            self.commit().await?;
            Ok(rows)
        }
    }

    /// Begins a transaction that sees a single snapshot of the database across all its statements.
    pub(crate) async fn begin_reading(&self) -> Result<(), Failure> {
        self.in_transaction.store(true, Ordering::Release);
        self.control(if self.is_set {
            &self.terms.begin_reading_set
        } else {
            &self.terms.begin_reading
        })
        .await
    }

    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        fail::fail_point!("postgres.before_commit");
        let outcome = self.control("COMMIT").await;
        fail::fail_point!("postgres.after_commit");
        outcome.map_err(Failure::at_commit)?;
        self.in_transaction.store(false, Ordering::Release);
        Ok(())
    }

    /// Rolls back the open transaction.
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

    /// The server's time, and numbers that were never issued before.
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

    /// Runs a statement and returns its rows.
    #[track_caller]
    pub(crate) fn rows(
        &self,
        sql: &str,
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

    /// Runs a dynamically built statement, which is not prepared, and returns its rows.
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

    /// Runs a statement over rows, once or once per bucket, pipelined, and returns all its rows. Without input rows,
    /// nothing is sent.
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
            // Before the runs, so that the statement is prepared once.
            let statement = match runs.first() {
                Some(run) if self.prepares => {
                    Some(self.statement(&sql, &run.params()).await.map_err(failed)?)
                }
                Some(_) | None => None,
            };
            // Each run is sent when it is first polled, and runs are polled in order.
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
        sql: &str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<(), Failure>> {
        self.rows(sql, params).map_ok(drop)
    }

    /// Runs a statement that returns exactly one row.
    #[track_caller]
    pub(crate) fn one(&self, sql: &str, params: &[Param<'_>]) -> impl Future<Output = Result<Row, Failure>> {
        let missing =
            || Failure::Unreadable("the database returned no row where there is always one".to_owned());
        let row = self.optional(sql, params);
        async move { row.await?.ok_or_else(missing) }
    }

    /// Runs a statement that returns at most one row.
    #[track_caller]
    pub(crate) fn optional(
        &self,
        sql: &str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<Option<Row>, Failure>> {
        self.rows(sql, params).map_ok(|rows| rows.into_iter().next())
    }

    /// Prepares a statement ahead of its first run: where it is sent together with others, it then keeps its place.
    #[track_caller]
    pub(crate) fn prepare(
        &self,
        sql: &str,
        params: &[Param<'_>],
    ) -> impl Future<Output = Result<(), Failure>> {
        let caller = Location::caller();
        let prepared = self.statement(sql, params).map_ok(drop);
        prepared.map_err(move |error| Failure::of(sql, caller, error))
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
