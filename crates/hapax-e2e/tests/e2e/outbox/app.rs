//! An application with an outbox: it writes rows as any language would, in its own transactions.

use std::time::Duration;

use hapax_test_postgres::{Database, Server};
use parking_lot::Mutex;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::RwLock;

use hapax_testkit::eventually;

const COLUMNS: &str = "(kind, target, headers, body, idempotency_key, order_key)";

#[derive(Clone, Debug)]
pub(super) struct Row {
    kind: &'static str,
    target: String,
    key: String,
    order_key: Option<String>,
}

impl Row {
    pub(super) fn http(url: &str, key: &str) -> Self {
        Self::new("http", url, key)
    }

    pub(super) fn destination(name: &str, key: &str) -> Self {
        Self::new("destination", name, key)
    }

    fn new(kind: &'static str, target: &str, key: &str) -> Self {
        Self {
            kind,
            target: target.to_owned(),
            key: key.to_owned(),
            order_key: None,
        }
    }

    pub(super) fn in_order(mut self, order_key: &str) -> Self {
        self.order_key = Some(order_key.to_owned());
        self
    }

    pub(super) fn key(&self) -> String {
        self.key.clone()
    }

    /// SQL that both databases understand.
    fn insert(&self) -> String {
        let order_key = self
            .order_key
            .as_ref()
            .map_or("NULL".to_owned(), |key| format!("'{key}'"));
        format!(
            "INSERT INTO hapax_outbox {COLUMNS} VALUES ('{}', '{}', '{{\"x-from\": \"shop\"}}', 'body of {}', '{}', {order_key});",
            self.kind, self.target, self.key, self.key
        )
    }
}

pub(super) enum App {
    Postgres {
        client: Box<RwLock<Client>>,
        database: Database,
        _server: Option<Server>,
    },
    Sqlite {
        connection: Mutex<Connection>,
        folder: TempDir,
    },
}

type Client = tokio_postgres::Client;

impl App {
    pub(super) async fn postgres() -> Self {
        let server = Server::shared().unwrap();
        let mut app = Self::on(&server).await;
        if let Self::Postgres { _server, .. } = &mut app {
            *_server = Some(server);
        }
        app
    }

    /// In a database of this server, with the tables that the library creates.
    pub(super) async fn on(server: &Server) -> Self {
        let database = server.database().await.unwrap();
        let client = database.client().await.unwrap();
        client
            .batch_execute(hapax::tables::POSTGRES_OUTBOX)
            .await
            .unwrap();
        Self::Postgres {
            client: Box::new(RwLock::new(client)),
            database,
            _server: None,
        }
    }

    pub(super) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("app.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
        Self::Sqlite {
            connection: Mutex::new(connection),
            folder,
        }
    }

    pub(super) fn url(&self) -> String {
        match self {
            Self::Postgres { database, .. } => database.url(),
            Self::Sqlite { folder, .. } => format!("sqlite:{}", folder.path().join("app.db").display()),
        }
    }

    /// Commits a row, and then the same row again, as an application that was not sure would.
    pub(super) async fn write(&self, row: &Row) {
        let insert = row.insert();
        self.run(&format!("BEGIN; {insert} COMMIT; BEGIN; {insert} COMMIT;"))
            .await;
    }

    /// Commits many rows of one order key at once, with the keys `many 1` and so on.
    pub(super) async fn write_many(&self, count: usize, url: &str, order_key: &str) {
        self.run(&format!(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count})
             INSERT INTO hapax_outbox (target, idempotency_key, order_key)
             SELECT '{url}', 'many ' || n, '{order_key}' FROM number"
        ))
        .await;
    }

    /// Makes rows whose keys begin like this look as if they were relayed an hour ago.
    pub(super) async fn age(&self, key: &str) {
        let then = match self {
            Self::Postgres { .. } => "now() - interval '1 hour'",
            Self::Sqlite { .. } => "(CAST(strftime('%s', 'now') AS INTEGER) - 3600) * 1000",
        };
        self.run(&format!(
            "UPDATE hapax_outbox SET state = 'relayed', relayed_at = {then} WHERE idempotency_key LIKE '{key}%'"
        ))
        .await;
    }

    /// How many of the aged rows are left.
    pub(super) async fn old(&self) -> usize {
        let sql = "SELECT CAST(count(*) AS text) FROM hapax_outbox WHERE idempotency_key LIKE 'many%'";
        self.text(sql).await.unwrap().parse().unwrap()
    }

    /// Deletes the rows with a key.
    pub(super) async fn delete(&self, key: &str) {
        self.run(&format!(
            "DELETE FROM hapax_outbox WHERE idempotency_key = '{key}'"
        ))
        .await;
    }

    pub(super) async fn write_and_roll_back(&self, row: &Row) {
        self.run(&format!("BEGIN; {} ROLLBACK;", row.insert())).await;
    }

    /// Gives rows another target.
    pub(super) async fn redirect(&self, from: &str, to: &str) {
        self.run(&format!(
            "UPDATE hapax_outbox SET target = '{to}' WHERE target = '{from}'"
        ))
        .await;
    }

    /// The event that a row became.
    pub(super) async fn event_of(&self, key: &str) -> String {
        let sql = format!(
            "SELECT CAST(min(CAST(event AS text)) AS text) FROM hapax_outbox WHERE idempotency_key = '{key}'"
        );
        eventually("the row is relayed", Duration::from_secs(20), async || {
            self.text(&sql).await
        })
        .await
    }

    pub(super) async fn until_relayed(&self, count: usize, limit: Duration) {
        let sql = "SELECT CAST(count(*) AS text) FROM hapax_outbox WHERE state = 'relayed'";
        eventually("every row is relayed", limit, async || {
            (self.text(sql).await? == count.to_string()).then_some(())
        })
        .await;
    }

    /// Connects to the server after its restart.
    pub(super) async fn reconnect(&self) {
        if let Self::Postgres { client, database, .. } = self {
            *client.write().await = database.client().await.unwrap();
        }
    }

    async fn run(&self, sql: &str) {
        match self {
            Self::Postgres { client, .. } => client.read().await.batch_execute(sql).await.unwrap(),
            Self::Sqlite { connection, .. } => connection.lock().execute_batch(sql).unwrap(),
        }
    }

    async fn text(&self, sql: &str) -> Option<String> {
        match self {
            Self::Postgres { client, .. } => client.read().await.query_one(sql, &[]).await.unwrap().get(0),
            Self::Sqlite { connection, .. } => {
                connection.lock().query_row(sql, [], |row| row.get(0)).unwrap()
            }
        }
    }
}
