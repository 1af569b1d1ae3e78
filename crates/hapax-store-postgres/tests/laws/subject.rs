//! A store in its own database, on the server's clock, for the laws.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};
use hapax_store_laws::Subject;
use hapax_store_postgres::{Options, PostgresStore, Spread};
use hapax_test_postgres::{Cluster, Database, Server};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_postgres::Client;

/// How the tables are laid out.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "each test file uses one layout")]
pub(crate) enum Layout {
    /// As the migrations create them, on this server.
    Plain(Arc<Server>),
    /// Bucketed tables are partitioned by bucket, as they would be distributed over the shards of a distributed
    /// database; statements run bucket by bucket.
    Partitioned(Arc<Server>),
    /// As the guide distributes them, on the configured cluster.
    Distributed,
}

/// Where the tables are.
enum TestDatabase {
    Own(Database),
    Cluster(Cluster),
}

impl TestDatabase {
    fn url(&self) -> String {
        match self {
            Self::Own(database) => database.url(),
            Self::Cluster(cluster) => cluster.url().to_owned(),
        }
    }

    async fn client(&self) -> Client {
        match self {
            Self::Own(database) => database.client().await.unwrap(),
            Self::Cluster(cluster) => cluster.client().await.unwrap(),
        }
    }

    async fn run(&self, sql: &str) {
        self.client().await.batch_execute(sql).await.unwrap();
    }
}

pub(crate) struct PostgresSubject {
    layout: Layout,
    place: Mutex<Option<Arc<TestDatabase>>>,
    clock: OnceCell<Client>,
}

impl PostgresSubject {
    pub(crate) fn new(layout: Layout) -> Self {
        Self {
            layout,
            place: Mutex::new(None),
            clock: OnceCell::new(),
        }
    }

    fn place(&self) -> Option<Arc<TestDatabase>> {
        self.place.lock().clone()
    }

    async fn open(&self) -> Arc<dyn Backend> {
        let mut options = Options::new(self.place().unwrap().url());
        options.spread = match self.layout {
            Layout::Plain(_) | Layout::Distributed => None,
            Layout::Partitioned(_) => Some(Spread::ByBucket),
        };
        Arc::new(PostgresStore::open(options).await.unwrap())
    }
}

#[async_trait]
impl Subject for PostgresSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        if let Some(used) = self.place() {
            // Faster than another database, for tests that need many stores.
            used.run(include_str!("empty.sql")).await;
            return self.open().await;
        }
        let place = Arc::new(match &self.layout {
            Layout::Plain(server) | Layout::Partitioned(server) => {
                TestDatabase::Own(server.database().await.unwrap())
            }
            Layout::Distributed => TestDatabase::Cluster(Cluster::join().await.unwrap()),
        });
        *self.place.lock() = Some(Arc::clone(&place));
        if let TestDatabase::Cluster(_) = *place {
            // An unfinished migration, which an earlier law may have left behind, would not be opened.
            place.run("DROP TABLE IF EXISTS hapax.import").await;
        }
        let store = self.open().await;
        match self.layout {
            Layout::Plain(_) => store,
            Layout::Partitioned(_) => {
                place.run(include_str!("partition.sql")).await;
                store
            }
            Layout::Distributed => {
                distribute(&place.client().await).await;
                place.run(include_str!("empty.sql")).await;
                self.reopen(store).await
            }
        }
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        self.open().await
    }

    async fn now(&self) -> Timestamp {
        let client = self
            .clock
            .get_or_init(|| async { self.place().unwrap().client().await })
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

    fn short_lease(&self) -> Duration {
        match self.layout {
            Layout::Plain(_) | Layout::Partitioned(_) => Duration::from_millis(200),
            // Statements take longer if they involve several servers.
            Layout::Distributed => Duration::from_secs(1),
        }
    }
}

/// Runs the guide's statements for the tables that exist and are not distributed yet.
pub(crate) async fn distribute(client: &Client) {
    let is_plain = "SELECT to_regclass($1) IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass($1))";
    for line in include_str!("../../src/citus.sql").lines() {
        let Some(table) = line.split('\'').nth(1) else {
            continue;
        };
        let is_plain: bool = client.query_one(is_plain, &[&table]).await.unwrap().get(0);
        if is_plain {
            client.batch_execute(line).await.unwrap();
        }
    }
}
