//! The subject for `sqlx`.

use std::sync::Arc;

use hapax::outbox::{self, Call};
use hapax::{Claim, Event, Handling, Inbox, driver, inbox};
use hapax_test_postgres::{Database, Server};
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

use crate::subject::{ACCOUNT, ADD, Action, Delivery, Dialect, End, Failed, Run, Subject};

#[derive(Clone)]
pub(crate) struct Sqlx {
    pub(crate) pool: PgPool,
    _database: Arc<Database>,
}

impl Subject for Sqlx {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn new() -> Self {
        let database = Server::shared().unwrap().database().await.unwrap();
        // Session settings: the first must be in force again for the handler, the second must not apply to the claim.
        let settings = "-c%20lock_timeout%3D7s%20-c%20default_transaction_isolation%3Dserializable";
        let url = database.url_at("127.0.0.1", &format!("sslmode=disable&options={settings}"));
        let pool = PgPool::connect(&url).await.unwrap();
        hapax::create_tables(&pool).await.unwrap();
        sqlx::raw_sql(ACCOUNT).execute(&pool).await.unwrap();
        Self {
            pool,
            _database: Arc::new(database),
        }
    }

    async fn run(&self, delivery: Delivery) -> Run {
        delivery
            .inbox
            .run(&self.pool, &delivery.event, async |mut tx| {
                execute(&mut tx, ADD).await?;
                for action in delivery.actions {
                    act(&mut tx, action).await?;
                }
                Ok(())
            })
            .await
    }

    async fn claim(&self, inbox: &Inbox, event: &Event, end: End) -> Claim {
        let mut tx = self.pool.begin().await.unwrap();
        let claim = inbox.claim(&mut tx, event).await.unwrap();
        finish(tx, end).await;
        claim
    }

    async fn once(&self, source: &str, event_id: &str, consumer: &str) -> bool {
        let mut tx = self.pool.begin().await.unwrap();
        let first = inbox::once(&mut tx, source, event_id, consumer).await.unwrap();
        if first {
            sqlx::query(ADD).execute(&mut *tx).await.unwrap();
        }
        tx.commit().await.unwrap();
        first
    }

    async fn stage(&self, call: Call, end: End) {
        let mut tx = self.pool.begin().await.unwrap();
        outbox::stage(&mut tx, call).await.unwrap();
        finish(tx, end).await;
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        inbox::purge(&self.pool, rows_max).await.unwrap()
    }

    async fn create_tables(&self) {
        hapax::create_tables(&self.pool).await.unwrap();
    }

    async fn execute(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&self.pool).await.unwrap();
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::query_scalar(sql).fetch_all(&self.pool).await.unwrap()
    }
}

async fn finish(tx: Transaction<'_, Postgres>, end: End) {
    match end {
        End::Commit => tx.commit().await.unwrap(),
        End::RollBack => tx.rollback().await.unwrap(),
    }
}

async fn act(tx: &mut Handling<'_, driver::Sqlx>, action: Action) -> Result<(), Failed> {
    match action {
        Action::Execute(sql) => execute(tx, &sql).await,
        Action::Ignore(sql) => {
            drop(execute(tx, &sql).await);
            Ok(())
        }
        Action::Stage(call) => outbox::stage(tx, call).await.map_err(Failed::of),
        Action::Hold(gate) => gate.pass().await,
        Action::Fail(words) => Err(Failed::of(words)),
        Action::Panic => panic!("told to panic"),
    }
}

async fn execute(tx: &mut Handling<'_, driver::Sqlx>, sql: &str) -> Result<(), Failed> {
    let sql = AssertSqlSafe(sql.to_owned());
    let done = sqlx::raw_sql(sql).execute(&mut **tx).await;
    done.map(drop).map_err(Failed::of)
}
