//! A book: the table that a `sql` destination writes to. It has one line for each effect and no unique constraint, so
//! an effect that was applied twice is there twice.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use hapax_core::Secret;
use hapax_store_postgres::Connector;
use rusqlite::Connection;

use super::service::quoted;

const FILE: &str = "book.db";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A separate table, in the store's database or in its own file.
pub(crate) struct Book {
    table: String,
    place: BookDatabase,
}

enum BookDatabase {
    Sqlite(PathBuf),
    Postgres { url: Secret, connector: Box<Connector> },
}

impl Book {
    /// Opens a new book: in the store's database if that is PostgreSQL, otherwise in `folder`.
    pub(crate) async fn open(store: Option<&str>, folder: &Path) -> anyhow::Result<Self> {
        let place = match store {
            Some(url) if url.starts_with("postgres") => {
                let url = Secret::new(url);
                let connector = Connector::new(&url, CONNECT_TIMEOUT, CONNECT_TIMEOUT);
                let connector =
                    connector.map_err(|why| anyhow::anyhow!("the store's URL cannot be used: {why}"))?;
                BookDatabase::Postgres {
                    url,
                    connector: Box::new(connector),
                }
            }
            Some(_) | None => BookDatabase::Sqlite(folder.join(FILE)),
        };
        let book = Self {
            table: format!("hapax_book_{:08x}", fastrand::u32(..)),
            place,
        };
        book.run(&format!("create table {} (event text not null)", book.table))
            .await
            .context("the table of effects could not be created")?;
        Ok(book)
    }

    /// A destination with this name that writes to the book.
    pub(crate) fn destination(&self, name: &str) -> String {
        let url = match &self.place {
            BookDatabase::Sqlite(path) => format!("sqlite:{}", path.display()),
            BookDatabase::Postgres { url, .. } => url.expose().to_owned(),
        };
        // The lease is short, so that deliveries of a killed service are taken over soon. The consumer is named after
        // the table, because books in one database share one inbox.
        format!(
            "\n[destinations.{name}]\nkind = \"sql\"\nid = {}\nurl = {}\ntimeout = \"5s\"\nlease = \"6s\"\nmax_attempts = 100\n\
             backoff = {{ first = \"50ms\", cap = \"1s\" }}\nparams = {{ event = \"event_id\" }}\nstatements = [{}]\n",
            quoted(&self.table.replace('_', "-")),
            quoted(&url),
            quoted(&format!("insert into {} (event) values (:event)", self.table)),
        )
    }

    /// The number of lines.
    pub(crate) async fn lines(&self) -> anyhow::Result<u64> {
        let query = format!("select count(*) from {}", self.table);
        let count: i64 = match &self.place {
            BookDatabase::Sqlite(path) => Connection::open(path)?.query_row(&query, [], |row| row.get(0))?,
            BookDatabase::Postgres { connector, .. } => connector
                .connect()
                .await?
                .client
                .query_one(&query, &[])
                .await?
                .try_get(0)?,
        };
        Ok(u64::try_from(count)?)
    }

    /// How often each event is in the book.
    pub(crate) async fn effects(&self) -> anyhow::Result<HashMap<String, u64>> {
        let query = format!("select event from {}", self.table);
        let mut effects = HashMap::new();
        let events: Vec<String> = match &self.place {
            BookDatabase::Sqlite(path) => {
                let connection = Connection::open(path)?;
                let mut statement = connection.prepare(&query)?;
                let events = statement.query_map([], |row| row.get(0))?;
                events.collect::<Result<_, _>>()?
            }
            BookDatabase::Postgres { connector, .. } => {
                let rows = connector.connect().await?.client.query(&query, &[]).await?;
                rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?
            }
        };
        for event in events {
            *effects.entry(event).or_default() += 1;
        }
        Ok(effects)
    }

    /// Removes the book from a database that is not ours; a file goes with its folder.
    pub(crate) async fn burn(&self) -> anyhow::Result<()> {
        match &self.place {
            BookDatabase::Sqlite(_) => Ok(()),
            BookDatabase::Postgres { .. } => {
                let consumer = self.table.replace('_', "-");
                self.run(&format!(
                    "drop table {}; delete from hapax_inbox where consumer = '{consumer}'",
                    self.table
                ))
                .await
            }
        }
    }

    /// A command that counts the lines, and one that prints events that are there twice.
    pub(crate) fn checks(&self) -> [String; 2] {
        let client = match &self.place {
            BookDatabase::Sqlite(path) => format!("sqlite3 {}", path.display()),
            BookDatabase::Postgres { .. } => "psql \"$STORE_URL\" -Atc".to_owned(),
        };
        let table = &self.table;
        [
            format!("{client} 'select count(*) from {table}'"),
            format!("{client} 'select event from {table} group by event having count(*) > 1'"),
        ]
    }

    async fn run(&self, sql: &str) -> anyhow::Result<()> {
        match &self.place {
            BookDatabase::Sqlite(path) => Connection::open(path)?.execute_batch(sql)?,
            BookDatabase::Postgres { connector, .. } => {
                connector.connect().await?.client.batch_execute(sql).await?;
            }
        }
        Ok(())
    }
}
