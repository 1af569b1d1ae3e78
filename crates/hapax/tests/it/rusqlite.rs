//! The subject for `rusqlite`: one connection per delivery, on a blocking thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hapax::outbox::{self, Call};
use hapax::{Event, Handling, Inbox, driver, inbox};
use rusqlite::{Connection, TransactionBehavior};
use tempfile::TempDir;

use crate::subject::{ACCOUNT, ADD, Failed, Gate, Run, Step, Subject, TARGET};

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
}

impl Subject for Rusqlite {
    async fn new() -> Self {
        let subject = Self {
            folder: Arc::new(TempDir::new().unwrap()),
        };
        subject
            .blocking(|connection| {
                hapax::create_tables(&connection).unwrap();
                hapax::create_tables(&connection).unwrap();
                connection.execute_batch(ACCOUNT).unwrap();
            })
            .await;
        subject
    }

    async fn run(&self, inbox: &Inbox, event: &Event, step: Step) -> Run {
        let (inbox, event) = (inbox.clone(), event.clone());
        self.blocking(move |mut connection| {
            if inbox.consumer() == "hasty" {
                connection.busy_timeout(Duration::from_millis(20)).unwrap();
            }
            inbox.run_blocking(&mut connection, &event, |mut tx| {
                tx.execute(ADD, ()).map_err(Failed::of)?;
                after(&mut tx, step)
            })
        })
        .await
    }

    async fn once(&self, source: &str, event_id: &str, consumer: &str) -> bool {
        let [source, event_id, consumer] = [source, event_id, consumer].map(str::to_owned);
        self.blocking(move |mut connection| {
            let mut tx = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .unwrap();
            let first = inbox::once(&mut tx, &source, &event_id, &consumer).unwrap();
            if first {
                tx.execute(ADD, ()).unwrap();
            }
            tx.commit().unwrap();
            first
        })
        .await
    }

    async fn number(&self, sql: &'static str) -> i64 {
        let sql = format!("select ({sql})");
        self.blocking(move |connection| connection.query_row(&sql, (), |row| row.get(0)).unwrap())
            .await
    }

    async fn keys(&self) -> Vec<String> {
        self.blocking(|connection| {
            let sql = "select idempotency_key from hapax_outbox order by id";
            let mut statement = connection.prepare(sql).unwrap();
            let keys = statement.query_map((), |row| row.get(0)).unwrap();
            keys.collect::<Result<_, _>>().unwrap()
        })
        .await
    }

    async fn purge(&self, rows_max: u32) -> u64 {
        self.blocking(move |connection| inbox::purge(&connection, rows_max).unwrap())
            .await
    }
}

fn after(tx: &mut Handling<'_, driver::Rusqlite>, step: Step) -> Result<(), Failed> {
    match step {
        Step::Add => Ok(()),
        Step::Fail => Err(Failed::told()),
        Step::Panic => panic!("told to panic"),
        Step::Hold(gate) => Gate::take(&gate).pass_blocking(),
        // End the transaction explicitly: in SQLite, a failed statement alone does not.
        Step::Swallow | Step::Commit => {
            drop(tx.execute_batch("rollback"));
            Ok(())
        }
        Step::Stage => stage(tx),
        Step::StageAndFail => stage(tx).and(Err(Failed::told())),
        Step::Disconnect | Step::DisconnectAtCommit | Step::Victim => {
            unreachable!("SQLite has no connection to lose and no victims")
        }
    }
}

fn stage(tx: &mut Handling<'_, driver::Rusqlite>) -> Result<(), Failed> {
    for body in ["one", "two"] {
        let call = Call::http(TARGET).header("Content-Type", "text/plain").body(body);
        outbox::stage(tx, call).map_err(Failed::of)?;
    }
    Ok(())
}
