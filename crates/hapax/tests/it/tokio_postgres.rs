//! The subject for `tokio-postgres`: one connection per delivery.

use std::sync::Arc;

use hapax::outbox::{self, Call};
use hapax::{Claim, Event, Handling, Inbox, driver, inbox};
use hapax_test_postgres::{Database, Server};
use tokio_postgres::{Client, Transaction};

use crate::subject::{ACCOUNT, ADD, Action, Delivery, Dialect, End, Failed, Run, Subject};

#[derive(Clone)]
pub(crate) struct TokioPostgres {
    pub(crate) database: Arc<Database>,
}

impl TokioPostgres {
    /// A connection with session settings: the first must be in force again for the handler, the second must not apply
    /// to the claim.
    async fn connect(&self) -> Client {
        let client = self.database.client().await.unwrap();
        let settings = "set lock_timeout = '7s'; set default_transaction_isolation = 'serializable'";
        client.batch_execute(settings).await.unwrap();
        client
    }
}

impl Subject for TokioPostgres {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn new() -> Self {
        let database = Arc::new(Server::shared().unwrap().database().await.unwrap());
        let subject = Self { database };
        subject.create_tables().await;
        subject.execute(ACCOUNT).await;
        subject
    }

    async fn run(&self, delivery: Delivery) -> Run {
        let mut client = self.connect().await;
        delivery
            .inbox
            .run(&mut client, &delivery.event, async |mut tx| {
                tx.execute(ADD, &[]).await.map_err(Failed::of)?;
                for action in delivery.actions {
                    act(&mut tx, action).await?;
                }
                Ok(())
            })
            .await
    }

    async fn claim(&self, inbox: &Inbox, event: &Event, end: End) -> Claim {
        let mut client = self.connect().await;
        let mut tx = client.transaction().await.unwrap();
        let claim = inbox.claim(&mut tx, event).await.unwrap();
        finish(tx, end).await;
        claim
    }

    async fn once(&self, source: &str, event_id: &str, consumer: &str) -> bool {
        let mut client = self.connect().await;
        let mut tx = client.transaction().await.unwrap();
        let first = inbox::once(&mut tx, source, event_id, consumer).await.unwrap();
        if first {
            tx.execute(ADD, &[]).await.unwrap();
        }
        tx.commit().await.unwrap();
        first
    }

    async fn stage(&self, call: Call, end: End) {
        let mut client = self.connect().await;
        let mut tx = client.transaction().await.unwrap();
        outbox::stage(&mut tx, call).await.unwrap();
        finish(tx, end).await;
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        inbox::purge(&self.connect().await, rows_max).await.unwrap()
    }

    async fn create_tables(&self) {
        hapax::create_tables(&self.connect().await).await.unwrap();
    }

    async fn execute(&self, sql: &str) {
        self.connect().await.batch_execute(sql).await.unwrap();
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let rows = self.connect().await.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

async fn finish(tx: Transaction<'_>, end: End) {
    match end {
        End::Commit => tx.commit().await.unwrap(),
        End::RollBack => tx.rollback().await.unwrap(),
    }
}

async fn act(tx: &mut Handling<'_, driver::TokioPostgres>, action: Action) -> Result<(), Failed> {
    match action {
        Action::Execute(sql) => tx.batch_execute(&sql).await.map_err(Failed::of),
        Action::Ignore(sql) => {
            drop(tx.batch_execute(&sql).await);
            Ok(())
        }
        Action::Stage(call) => outbox::stage(tx, call).await.map_err(Failed::of),
        Action::Hold(gate) => gate.pass().await,
        Action::Fail(words) => Err(Failed::of(words)),
        Action::Panic => panic!("told to panic"),
    }
}
