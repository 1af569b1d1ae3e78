//! The subject for `sqlx`.

use std::sync::Arc;

use hapax::outbox::{self, Call};
use hapax::{Event, Handling, Inbox, driver, inbox};
use hapax_test_postgres::{Database, Server};
use sqlx::{AssertSqlSafe, PgPool, Row as _};

use crate::subject::{ACCOUNT, ADD, DISCONNECT_AT_COMMIT, Failed, Gate, Run, Step, Subject, TARGET};

#[derive(Clone)]
pub(crate) struct Sqlx {
    pub(crate) pool: PgPool,
    _database: Arc<Database>,
}

impl Subject for Sqlx {
    async fn new() -> Self {
        let database = Server::shared().unwrap().database().await.unwrap();
        // Session settings: the first must be in force again for the handler, the second must not apply to the claim.
        let settings = "-c%20lock_timeout%3D7s%20-c%20default_transaction_isolation%3Dserializable";
        let url = database.url_at("127.0.0.1", &format!("sslmode=disable&options={settings}"));
        let pool = PgPool::connect(&url).await.unwrap();
        hapax::create_tables(&pool).await.unwrap();
        hapax::create_tables(&pool).await.unwrap();
        sqlx::raw_sql(ACCOUNT).execute(&pool).await.unwrap();
        Self {
            pool,
            _database: Arc::new(database),
        }
    }

    async fn run(&self, inbox: &Inbox, event: &Event, step: Step) -> Run {
        inbox
            .run(&self.pool, event, async |mut tx| {
                sqlx::query(ADD).execute(&mut *tx).await.map_err(Failed::of)?;
                after(&mut tx, step).await
            })
            .await
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

    async fn number(&self, sql: &'static str) -> i64 {
        let sql = AssertSqlSafe(format!("select ({sql})::bigint"));
        sqlx::query(sql).fetch_one(&self.pool).await.unwrap().get(0)
    }

    async fn keys(&self) -> Vec<String> {
        let rows = sqlx::query("select idempotency_key from hapax_outbox order by id");
        let rows = rows.fetch_all(&self.pool).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        inbox::purge(&self.pool, rows_max).await.unwrap()
    }
}

async fn after(tx: &mut Handling<'_, driver::Sqlx>, step: Step) -> Result<(), Failed> {
    match step {
        Step::Add => {
            let setting = sqlx::query("show lock_timeout")
                .fetch_one(&mut **tx)
                .await
                .map_err(Failed::of)?;
            assert_eq!(setting.get::<String, _>(0), "7s");
            Ok(())
        }
        Step::Fail => Err(Failed::told()),
        Step::Panic => panic!("told to panic"),
        Step::Hold(gate) => Gate::take(&gate).pass().await,
        Step::Swallow => ignore(tx, "select 1 / 0").await,
        Step::Commit => ignore(tx, "commit").await,
        Step::Disconnect => ignore(tx, "select pg_terminate_backend(pg_backend_pid())").await,
        Step::DisconnectAtCommit => ignore(tx, DISCONNECT_AT_COMMIT).await,
        Step::Stage => stage(tx).await,
        Step::StageAndFail => stage(tx).await.and(Err(Failed::told())),
        Step::Victim => {
            let raise = "do $$ begin raise exception 'victim' using errcode = '40001'; end $$";
            sqlx::raw_sql(raise)
                .execute(&mut **tx)
                .await
                .map(drop)
                .map_err(Failed::of)
        }
    }
}

async fn ignore(tx: &mut Handling<'_, driver::Sqlx>, sql: &'static str) -> Result<(), Failed> {
    drop(sqlx::raw_sql(sql).execute(&mut **tx).await);
    Ok(())
}

async fn stage(tx: &mut Handling<'_, driver::Sqlx>) -> Result<(), Failed> {
    for body in ["one", "two"] {
        let call = Call::http(TARGET).header("Content-Type", "text/plain").body(body);
        outbox::stage(tx, call).await.map_err(Failed::of)?;
    }
    Ok(())
}
