//! A store in a database of its own, on the server's clock, for the laws.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};
use hapax_store_laws::Subject;
use hapax_store_postgres::{Options, PostgresStore, Spread};
use hapax_test_postgres::{Database, Server};
use tokio::sync::OnceCell;

/// How the tables are laid out.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each file of tests has the layout that it is about")]
pub(crate) enum Layout {
    /// As the migrations make them.
    Plain,
    /// Those with a bucket are partitioned by it, as they are spread over the shards of a distributed
    /// database; statements run bucket by bucket.
    Partitioned,
}

pub(crate) struct PostgresSubject {
    server: Arc<Server>,
    layout: Layout,
    database: Mutex<Option<Arc<Database>>>,
    clock: OnceCell<(Database, tokio_postgres::Client)>,
}

impl PostgresSubject {
    pub(crate) fn new(server: Arc<Server>, layout: Layout) -> Self {
        Self {
            server,
            layout,
            database: Mutex::new(None),
            clock: OnceCell::new(),
        }
    }

    async fn open(&self) -> Arc<dyn Backend> {
        let database = self.database.lock().unwrap().clone().unwrap();
        let mut options = Options::new(database.url());
        options.spread = match self.layout {
            Layout::Plain => None,
            Layout::Partitioned => Some(Spread::ByBucket),
        };
        Arc::new(PostgresStore::open(options).await.unwrap())
    }
}

#[async_trait]
impl Subject for PostgresSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        let used = self.database.lock().unwrap().clone();
        if let Some(database) = used {
            // Quicker than another database, for those that want many.
            let admin = database.client().await.unwrap();
            admin.batch_execute(include_str!("empty.sql")).await.unwrap();
            return self.open().await;
        }
        let database = Arc::new(self.server.database().await.unwrap());
        *self.database.lock().unwrap() = Some(Arc::clone(&database));
        let store = self.open().await;
        match self.layout {
            Layout::Plain => {}
            Layout::Partitioned => {
                let admin = database.client().await.unwrap();
                admin.batch_execute(include_str!("partition.sql")).await.unwrap();
            }
        }
        store
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
