//! Every law of the store's contract, and the random walk beside the model, on a real server.
#![expect(
    clippy::unwrap_used,
    reason = "what the tests stand on must work, or they fail"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};
use hapax_store_laws::Subject;
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::{Database, Server};
use tokio::sync::OnceCell;

/// A store in a database of its own, on the server's clock.
struct PostgresSubject {
    server: Server,
    database: Mutex<Option<Arc<Database>>>,
    clock: OnceCell<(Database, tokio_postgres::Client)>,
}

impl PostgresSubject {
    fn new() -> Self {
        Self {
            server: Server::shared().unwrap(),
            database: Mutex::new(None),
            clock: OnceCell::new(),
        }
    }

    async fn open(&self) -> Arc<dyn Backend> {
        let database = self.database.lock().unwrap().clone().unwrap();
        Arc::new(PostgresStore::open(Options::new(database.url())).await.unwrap())
    }
}

#[async_trait]
impl Subject for PostgresSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        let database = Arc::new(self.server.database().await.unwrap());
        *self.database.lock().unwrap() = Some(database);
        self.open().await
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        self.open().await
    }

    async fn now(&self) -> Timestamp {
        let (_, client) = self
            .clock
            .get_or_init(|| async {
                let database = self.server.database().await.unwrap();
                let client = database.client().await.unwrap();
                (database, client)
            })
            .await;
        let row = client
            .query_one(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8",
                &[],
            )
            .await
            .unwrap();
        Timestamp::from_micros(row.get(0))
    }

    async fn pass(&self, duration: Duration) {
        let until = self.now().await.plus(duration);
        loop {
            let now = self.now().await;
            if now >= until {
                return;
            }
            tokio::time::sleep(until.since(now)).await;
        }
    }

    fn short_lease(&self) -> Duration {
        Duration::from_millis(200)
    }
}

hapax_store_laws::laws!(PostgresSubject::new());
