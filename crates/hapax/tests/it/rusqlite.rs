//! The subject for `rusqlite`: one connection per delivery, on a blocking thread.

use std::path::Path;
use std::sync::Arc;

use hapax::outbox::{self, Call};
use hapax::{Claim, Event, Handling, Inbox, driver, inbox};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tempfile::TempDir;

use crate::subject::{ACCOUNT, ADD, Action, Delivery, Dialect, End, Failed, Run, Subject};

#[derive(Clone)]
pub(crate) struct Rusqlite {
    folder: Arc<TempDir>,
}

impl Rusqlite {
    fn connect(folder: &Path) -> Connection {
        let connection = Connection::open(folder.join("app.db")).unwrap();
        connection.execute_batch("pragma journal_mode = wal").unwrap();
        connection
    }

    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(Connection) -> T + Send + 'static) -> T {
        let folder = Arc::clone(&self.folder);
        let done = tokio::task::spawn_blocking(move || work(Self::connect(folder.path()))).await;
        done.unwrap_or_else(|failure| std::panic::resume_unwind(failure.into_panic()))
    }

    async fn transaction<T: Send + 'static>(
        &self,
        end: End,
        work: impl FnOnce(&mut Transaction<'_>) -> T + Send + 'static,
    ) -> T {
        self.blocking(move |mut connection| {
            let mut tx = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .unwrap();
            let value = work(&mut tx);
            match end {
                End::Commit => tx.commit().unwrap(),
                End::RollBack => tx.rollback().unwrap(),
            }
            value
        })
        .await
    }
}

impl Subject for Rusqlite {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn new() -> Self {
        let folder = Arc::new(TempDir::new().unwrap());
        let subject = Self { folder };
        subject.create_tables().await;
        subject.execute(ACCOUNT).await;
        subject
    }

    async fn run(&self, delivery: Delivery) -> Run {
        self.blocking(move |mut connection| {
            connection.busy_timeout(delivery.wait).unwrap();
            delivery
                .inbox
                .run_blocking(&mut connection, &delivery.event, |mut tx| {
                    tx.execute(ADD, ()).map_err(Failed::of)?;
                    delivery
                        .actions
                        .into_iter()
                        .try_for_each(|action| act(&mut tx, action))
                })
        })
        .await
    }

    async fn claim(&self, inbox: &Inbox, event: &Event, end: End) -> Claim {
        let (inbox, event) = (inbox.clone(), event.clone());
        self.transaction(end, move |tx| inbox.claim(tx, &event).unwrap())
            .await
    }

    async fn once(&self, source: &str, event_id: &str, consumer: &str) -> bool {
        let [source, event_id, consumer] = [source, event_id, consumer].map(str::to_owned);
        self.transaction(End::Commit, move |tx| {
            let first = inbox::once(tx, &source, &event_id, &consumer).unwrap();
            if first {
                tx.execute(ADD, ()).unwrap();
            }
            first
        })
        .await
    }

    async fn stage(&self, call: Call, end: End) {
        self.transaction(end, move |tx| outbox::stage(tx, call).unwrap())
            .await;
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        self.blocking(move |connection| inbox::purge(&connection, rows_max).unwrap())
            .await
    }

    async fn create_tables(&self) {
        self.blocking(|connection| hapax::create_tables(&connection).unwrap())
            .await;
    }

    async fn execute(&self, sql: &str) {
        let sql = sql.to_owned();
        self.blocking(move |connection| connection.execute_batch(&sql).unwrap())
            .await;
    }

    async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = sql.to_owned();
        self.blocking(move |connection| {
            let mut statement = connection.prepare(&sql).unwrap();
            let texts = statement.query_map((), |row| row.get(0)).unwrap();
            texts.collect::<Result<_, _>>().unwrap()
        })
        .await
    }
}

fn act(tx: &mut Handling<'_, driver::Rusqlite>, action: Action) -> Result<(), Failed> {
    match action {
        Action::Execute(sql) => tx.execute_batch(&sql).map_err(Failed::of),
        Action::Ignore(sql) => {
            drop(tx.execute_batch(&sql));
            Ok(())
        }
        Action::Stage(call) => outbox::stage(tx, call).map_err(Failed::of),
        Action::Hold(gate) => gate.pass_blocking(),
        Action::Fail(words) => Err(Failed::of(words)),
        Action::Panic => panic!("told to panic"),
    }
}
