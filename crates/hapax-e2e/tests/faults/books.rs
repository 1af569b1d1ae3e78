//! The application's database: a row for each effect, which nothing there prevents from being written twice, and an
//! outbox.

use std::path::PathBuf;
use std::time::Duration;

use hapax_test_postgres::Database;
use rusqlite::Connection;
use tempfile::TempDir;

const SQLITE_EFFECTS: &str = "CREATE TABLE effects (no integer PRIMARY KEY, event text NOT NULL);";
const POSTGRES_EFFECTS: &str = "CREATE TABLE effects (no bigserial PRIMARY KEY, event text NOT NULL);";

pub(super) enum Books {
    Sqlite(TempDir),
    Postgres(Database),
}

impl Books {
    pub(super) fn sqlite() -> Self {
        let books = Self::Sqlite(tempfile::tempdir().unwrap());
        let connection = books.open();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(hapax::tables::SQLITE_OUTBOX).unwrap();
        connection.execute_batch(SQLITE_EFFECTS).unwrap();
        books
    }

    pub(super) async fn postgres(database: Database) -> Self {
        let client = database.client().await.unwrap();
        client
            .batch_execute(hapax::tables::POSTGRES_OUTBOX)
            .await
            .unwrap();
        client.batch_execute(POSTGRES_EFFECTS).await.unwrap();
        Self::Postgres(database)
    }

    /// Every effect, as often as it was applied, in order.
    pub(super) async fn effects(&self) -> Vec<String> {
        self.column("SELECT event FROM effects ORDER BY no").await
    }

    /// Whether every row of the outbox has become an event.
    pub(super) async fn is_relayed(&self) -> bool {
        self.column("SELECT idempotency_key FROM hapax_outbox WHERE state <> 'relayed'")
            .await
            .is_empty()
    }

    async fn column(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(_) => {
                let connection = self.open();
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| row.get(0)).unwrap();
                rows.map(Result::unwrap).collect()
            }
            Self::Postgres(database) => {
                let client = database.client().await.unwrap();
                let rows = client.query(sql, &[]).await.unwrap();
                rows.into_iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// A connection that writes rows; each writing task has its own.
    pub(super) fn writer(&self) -> Writer {
        match self {
            Self::Sqlite(folder) => Writer::Sqlite(path(folder)),
            Self::Postgres(database) => Writer::Postgres(database.url()),
        }
    }

    fn open(&self) -> Connection {
        match self {
            Self::Sqlite(folder) => open(&path(folder)),
            Self::Postgres(_) => unreachable!("only files are opened"),
        }
    }

    pub(super) fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}", path(folder).display()),
            Self::Postgres(database) => database.url(),
        }
    }
}

/// Writes outbox rows.
pub(super) enum Writer {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Writer {
    /// Whether the row was committed, as far as can be known.
    pub(super) async fn write(&self, key: &str) -> bool {
        let insert = format!(
            "INSERT INTO hapax_outbox (kind, target, headers, body, idempotency_key, order_key)
             VALUES ('destination', 'app', '{{}}', '{{\"id\":\"{key}\"}}', '{key}', NULL)"
        );
        match self {
            Self::Sqlite(path) => open(path).execute_batch(&insert).is_ok(),
            Self::Postgres(url) => {
                let Ok((client, connection)) = tokio_postgres::connect(url, tokio_postgres::NoTls).await
                else {
                    return false;
                };
                let connection = tokio::spawn(connection);
                let written = client.batch_execute(&insert).await.is_ok();
                connection.abort();
                written
            }
        }
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("books.db")
}

fn open(path: &std::path::Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection
}
