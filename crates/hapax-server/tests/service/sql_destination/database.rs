//! The target databases.

use std::path::Path;
use std::sync::Arc;

use hapax_config::{self as config, Environment};
use hapax_core::{Clock, Leased, SystemClock};
use hapax_delivery::destination::{Destinations, targets};
use hapax_engine::{AttemptResult, Transport as _};
use hapax_outbound::client::Client;
use hapax_outbound::lookup::Lookup;
use hapax_telemetry::traces::context::Propagation;
use hapax_test_postgres::{Database, Pooler, Server};

/// A database for one test.
pub(super) enum Target {
    Postgres { database: Database, server: Server },
    Sqlite(tempfile::TempDir),
}

/// A destination named `app`, as the configuration sets it up.
pub(super) struct Sql(Destinations);

impl Sql {
    pub(super) async fn deliver(&self, delivery: &Leased) -> AttemptResult {
        self.0.deliver(delivery).await
    }
}

pub(super) fn destination(url: &str, settings: &str) -> Sql {
    let text = format!("[destinations.app]\nkind = \"sql\"\nurl = \"{url}\"\n{settings}\n");
    let config = config::parse(&text, Path::new("hapax.toml"), &Environment::default(), &[]).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let client = Client::new(Lookup::system()).unwrap();
    Sql(Destinations::new(
        targets(&config, &client, &clock, Propagation::PassOn).unwrap(),
    ))
}

impl Target {
    /// One of each kind, with these tables.
    pub(super) async fn both(tables: &str) -> [Self; 2] {
        [Self::postgres(tables).await, Self::sqlite(tables)]
    }

    pub(super) async fn postgres(tables: &str) -> Self {
        let server = Server::shared().unwrap();
        let database = server.database().await.unwrap();
        database
            .client()
            .await
            .unwrap()
            .batch_execute(tables)
            .await
            .unwrap();
        Self::Postgres { database, server }
    }

    pub(super) fn sqlite(tables: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = rusqlite::Connection::open(folder.path().join("app.db")).unwrap();
        file.execute_batch(tables).unwrap();
        Self::Sqlite(folder)
    }

    fn url(&self) -> String {
        match self {
            Self::Postgres { database, .. } => database.url(),
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("app.db").display()),
        }
    }

    pub(super) fn destination(&self, settings: &str) -> Sql {
        destination(&self.url(), settings)
    }

    /// The result of a query for one number.
    pub(super) async fn number(&self, query: &str) -> i64 {
        match self {
            Self::Postgres { database, .. } => {
                let client = database.client().await.unwrap();
                client.query_one(query, &[]).await.unwrap().get(0)
            }
            Self::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("app.db")).unwrap();
                file.query_row(query, [], |row| row.get(0)).unwrap()
            }
        }
    }

    /// Runs statements that return nothing.
    pub(super) async fn run(&self, statements: &str) {
        match self {
            Self::Postgres { .. } => self.client().await.batch_execute(statements).await.unwrap(),
            Self::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("app.db")).unwrap();
                file.execute_batch(statements).unwrap();
            }
        }
    }

    /// Fills the inbox with this many expired rows.
    pub(super) async fn expired(&self, rows: u32) {
        let (table, past) = match self {
            Self::Postgres { .. } => (hapax::tables::POSTGRES_INBOX, "now() - interval '1 day'"),
            Self::Sqlite(_) => (hapax::tables::SQLITE_INBOX, "0"),
        };
        self.run(table).await;
        self.run(&format!(
            "insert into hapax_inbox (scope, event_id, consumer, expires_at)
             with recursive n (i) as (select 1 union all select i + 1 from n where i < {rows} + 1)
             select 'shop', cast(i as text), 'app', {past} from n where i <= {rows}"
        ))
        .await;
    }

    pub(super) async fn client(&self) -> tokio_postgres::Client {
        match self {
            Self::Postgres { database, .. } => database.client().await.unwrap(),
            Self::Sqlite(_) => panic!("SQLite has no sessions"),
        }
    }

    /// The database's message for a violated CHECK.
    pub(super) const fn check_violation(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "SQLSTATE 23514",
            Self::Sqlite(_) => "SQLite error 275",
        }
    }

    /// The database's message for a violated foreign key.
    pub(super) const fn foreign_key_violation(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "SQLSTATE 23503",
            Self::Sqlite(_) => "SQLite error 787",
        }
    }

    /// A statement that never ends if the condition holds.
    pub(super) fn endless_where(&self, condition: &str) -> String {
        match self {
            Self::Postgres { .. } => format!("select pg_sleep(60) where {condition}"),
            Self::Sqlite(_) => format!(
                "with recursive n (i) as (select 1 union all select i + 1 from n where {condition}) select max(i) from n"
            ),
        }
    }

    /// A statement that never ends.
    pub(super) const fn endless(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "select pg_sleep(60)",
            Self::Sqlite(_) => {
                "with recursive n (i) as (select 1 union all select i + 1 from n) select max(i) from n"
            }
        }
    }

    /// A pgbouncer in transaction mode in front of it, and its URL.
    pub(super) fn behind_pgbouncer(&self) -> (Pooler, String) {
        match self {
            Self::Postgres { database, server } => {
                let pooler = server.pooler().unwrap();
                let url = pooler.url(database);
                (pooler, url)
            }
            Self::Sqlite(_) => panic!("SQLite has no pooler"),
        }
    }

    /// Ends every session of the destination.
    pub(super) async fn cut_connections(&self) {
        let client = self.client().await;
        // This waits until each session is gone: one that ended later would cut into another attempt.
        let cut = "select pg_terminate_backend(pid, 10000) from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid()";
        client.query(cut, &[]).await.unwrap();
    }
}
