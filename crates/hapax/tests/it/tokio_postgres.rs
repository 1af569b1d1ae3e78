//! The subject for `tokio-postgres`: one connection per delivery.

use std::sync::Arc;

use hapax::outbox::{self, Call};
use hapax::{Event, Handling, Inbox, driver, inbox};
use hapax_test_postgres::{Database, Server};

use crate::subject::{ACCOUNT, ADD, DISCONNECT_AT_COMMIT, Failed, Gate, Run, Step, Subject, TARGET};

#[derive(Clone)]
pub(crate) struct TokioPostgres {
    pub(crate) database: Arc<Database>,
}

impl Subject for TokioPostgres {
    async fn new() -> Self {
        let database = Server::shared().unwrap().database().await.unwrap();
        let client = database.client().await.unwrap();
        hapax::create_tables(&client).await.unwrap();
        hapax::create_tables(&client).await.unwrap();
        client.batch_execute(ACCOUNT).await.unwrap();
        Self {
            database: Arc::new(database),
        }
    }

    async fn run(&self, inbox: &Inbox, event: &Event, step: Step) -> Run {
        let mut client = self.database.client().await.unwrap();
        let settings = "set lock_timeout = '7s'; set default_transaction_isolation = 'serializable'";
        client.batch_execute(settings).await.unwrap();
        inbox
            .run(&mut client, event, async |mut tx| {
                tx.execute(ADD, &[]).await.map_err(Failed::of)?;
                after(&mut tx, step).await
            })
            .await
    }

    async fn once(&self, source: &str, event_id: &str, consumer: &str) -> bool {
        let mut client = self.database.client().await.unwrap();
        let mut tx = client.transaction().await.unwrap();
        let first = inbox::once(&mut tx, source, event_id, consumer).await.unwrap();
        if first {
            tx.execute(ADD, &[]).await.unwrap();
        }
        tx.commit().await.unwrap();
        first
    }

    async fn number(&self, sql: &'static str) -> i64 {
        let client = self.database.client().await.unwrap();
        let sql = format!("select ({sql})::bigint");
        client.query_one(&sql, &[]).await.unwrap().get(0)
    }

    async fn keys(&self) -> Vec<String> {
        let client = self.database.client().await.unwrap();
        let rows = client
            .query("select idempotency_key from hapax_outbox order by id", &[])
            .await
            .unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        let client = self.database.client().await.unwrap();
        inbox::purge(&client, rows_max).await.unwrap()
    }
}

async fn after(tx: &mut Handling<'_, driver::TokioPostgres>, step: Step) -> Result<(), Failed> {
    match step {
        Step::Add => {
            let row = tx.query_one("show lock_timeout", &[]).await.map_err(Failed::of)?;
            assert_eq!(row.get::<_, String>(0), "7s");
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
            tx.batch_execute(raise).await.map_err(Failed::of)
        }
    }
}

async fn ignore(tx: &mut Handling<'_, driver::TokioPostgres>, sql: &str) -> Result<(), Failed> {
    drop(tx.batch_execute(sql).await);
    Ok(())
}

async fn stage(tx: &mut Handling<'_, driver::TokioPostgres>) -> Result<(), Failed> {
    for body in ["one", "two"] {
        let call = Call::http(TARGET).header("Content-Type", "text/plain").body(body);
        outbox::stage(tx, call).await.map_err(Failed::of)?;
    }
    Ok(())
}
