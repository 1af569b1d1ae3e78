//! `hapax_outbox` in an SQLite file: one connection, on a thread that may block. The file is the application's, which
//! writes it meanwhile: the write lock is taken only when there is something to write, and for a moment.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax::limits::BODY_BYTES_MAX;
use hapax_core::Timestamp;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::row::Row;
use super::table::{BATCH_BYTES_MAX, ClaimOrder, Counts, End, RefusedRow, SHOWN_MAX, Table, TableError};

/// How long to wait for the application's transactions.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The database's time, in milliseconds since 1970.
macro_rules! now {
    () => {
        "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)"
    };
}

// Of an order key, only the first that was not relayed: what is claimed by another is not relayed yet, so that nobody
// overtakes it.
macro_rules! due {
    () => {
        concat!(
            " FROM hapax_outbox AS o WHERE o.state IN ('pending', 'leased') AND o.due_at <= ",
            now!(),
            " AND (o.state = 'pending' OR o.lease_until < ",
            now!(),
            ") AND (o.order_key IS NULL
                    OR NOT EXISTS (SELECT 1 FROM hapax_outbox AS e
                                   WHERE e.order_key = o.order_key AND e.id < o.id AND e.state <> 'relayed'))
              ORDER BY o.due_at, o.id"
        )
    };
}

const HAS_DUE: &str = concat!("SELECT 1", due!(), " LIMIT 1");
const DUE: &str = concat!("SELECT o.id, length(CAST(o.body AS BLOB))", due!(), " LIMIT ?1");
const CLAIM: &str = concat!(
    "UPDATE hapax_outbox SET state = 'leased', token = ?2, lease_until = ",
    now!(),
    " + ?3, attempts = attempts + 1 WHERE id = ?1
     RETURNING id, kind, target, CAST(headers AS TEXT),
               CASE WHEN length(CAST(body AS BLOB)) <= ?4 THEN CAST(body AS BLOB) ELSE X'' END,
               length(CAST(body AS BLOB)), CAST(idempotency_key AS TEXT), CAST(order_key AS TEXT)"
);
const RELAYED: &str = concat!(
    "UPDATE hapax_outbox SET state = 'relayed', relayed_at = ",
    now!(),
    ", event = ?3, error = NULL, lease_until = NULL WHERE id = ?1 AND state = 'leased' AND token = ?2"
);
const REFUSED: &str = "UPDATE hapax_outbox SET state = 'refused', error = ?3, lease_until = NULL
     WHERE id = ?1 AND state = 'leased' AND token = ?2";
const AGAIN: &str = concat!(
    "UPDATE hapax_outbox SET state = 'pending', due_at = ",
    now!(),
    " + ?3, lease_until = NULL WHERE id = ?1 AND state = 'leased' AND token = ?2"
);
const IS_OLD: &str = concat!(" WHERE state = 'relayed' AND relayed_at < ", now!(), " - ?1");
const RETRY: &str = concat!(
    "UPDATE hapax_outbox SET state = 'pending', due_at = ",
    now!(),
    ", error = NULL WHERE id = ?1 AND state = 'refused'"
);

/// The table in a file. Looking has a connection of its own: counting many rows must not hold up the relay.
pub(super) struct SqliteTable {
    path: Arc<PathBuf>,
    relaying: Link,
    looking: Link,
}

/// A connection, while there is one.
type Link = Arc<Mutex<Option<Connection>>>;

impl SqliteTable {
    /// Opens the file at the first use.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path: Arc::new(path),
            relaying: Link::default(),
            looking: Link::default(),
        }
    }

    /// Runs a step on a thread that may block. The connection is thrown away where anything is odd.
    async fn run<T: Send + 'static>(
        &self,
        link: &Link,
        step: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, TableError> {
        let (path, place) = (Arc::clone(&self.path), Arc::clone(link));
        let task = tokio::task::spawn_blocking(move || {
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            let mut connection = match place.take() {
                Some(connection) => connection,
                None => open(&path)?,
            };
            let outcome = step(&mut connection).map_err(|error| trouble(&error))?;
            *place = Some(connection);
            Ok(outcome)
        });
        let stopped = || TableError("the thread of the outbox has ended".to_owned());
        task.await.unwrap_or_else(|_| Err(stopped()))
    }
}

#[async_trait]
impl Table for SqliteTable {
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError> {
        self.run(&self.relaying, move |connection| {
            if !connection.prepare_cached(HAS_DUE)?.exists([])? {
                return Ok(Vec::new());
            }
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let rows = claim(&transaction, order)?;
            transaction.commit()?;
            Ok(rows)
        })
        .await
    }

    async fn settle(&self, token: i64, ends: Vec<(i64, End)>) -> Result<(), TableError> {
        self.run(&self.relaying, move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (id, end) in &ends {
                match end {
                    End::Relayed(event) => {
                        transaction
                            .prepare_cached(RELAYED)?
                            .execute((id, token, event.to_string()))?
                    }
                    End::Refused(why) => transaction.prepare_cached(REFUSED)?.execute((id, token, why))?,
                    End::Again(wait) => {
                        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                        transaction.prepare_cached(AGAIN)?.execute((id, token, wait_ms))?
                    }
                };
            }
            transaction.commit()
        })
        .await
    }

    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError> {
        let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        self.run(&self.relaying, move |connection| {
            let has_old = format!("SELECT 1 FROM hapax_outbox{IS_OLD} LIMIT 1");
            if !connection.prepare_cached(&has_old)?.exists([keep_ms])? {
                return Ok(0);
            }
            let delete = format!(
                "DELETE FROM hapax_outbox WHERE id IN (SELECT id FROM hapax_outbox{IS_OLD} ORDER BY relayed_at LIMIT ?2)"
            );
            let deleted = connection.prepare_cached(&delete)?.execute([keep_ms, limit])?;
            Ok(deleted as u64)
        })
        .await
    }

    async fn counts(&self) -> Result<Counts, TableError> {
        self.run(&self.looking, |connection| {
            let mut counts = Counts::default();
            let mut select = connection
                .prepare_cached("SELECT state, count(*), min(created_at) FROM hapax_outbox GROUP BY state")?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let state: String = row.get(0)?;
                counts.add(&state, row.get(1)?);
                let oldest: Option<i64> = row.get(2)?;
                if state != "relayed" {
                    let oldest = oldest.map(|ms| Timestamp::from_micros(ms.saturating_mul(1_000)));
                    counts.oldest_at = [counts.oldest_at, oldest].into_iter().flatten().min();
                }
            }
            let mut select = connection.prepare_cached(
                "SELECT id, CAST(idempotency_key AS TEXT), CAST(order_key AS TEXT), coalesce(error, '')
                 FROM hapax_outbox WHERE state = 'refused' ORDER BY id LIMIT ?1",
            )?;
            let shown = select.query_map([SHOWN_MAX], |row| {
                Ok(RefusedRow {
                    id: row.get(0)?,
                    idempotency_key: row.get(1)?,
                    order_key: row.get(2)?,
                    error: row.get(3)?,
                })
            })?;
            counts.refused_rows = shown.collect::<Result<_, _>>()?;
            Ok(counts)
        })
        .await
    }

    async fn retry(&self, id: i64) -> Result<bool, TableError> {
        self.run(&self.looking, move |connection| {
            Ok(connection.prepare_cached(RETRY)?.execute([id])? == 1)
        })
        .await
    }
}

fn open(path: &Path) -> Result<Connection, TableError> {
    // The application's file: it is not ours to create.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| TableError(format!("{} cannot be opened: {error}", path.display())))?;
    let prepare = || -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Whatever the build's default is: a mark that a power cut takes back costs a second hand-over only, but a
        // half-written file costs everything.
        connection.pragma_update(None, "synchronous", "FULL")?;
        let exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'hapax_outbox'";
        if !connection.prepare(exists)?.exists([])? {
            connection.execute_batch(hapax::tables::SQLITE_OUTBOX)?;
        }
        Ok(())
    };
    prepare().map_err(|error| trouble(&error))?;
    Ok(connection)
}

fn claim(transaction: &Transaction<'_>, order: ClaimOrder) -> rusqlite::Result<Vec<Row>> {
    let mut select = transaction.prepare_cached(DUE)?;
    let due: Vec<(i64, i64)> = select
        .query_map([order.limit], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let lease_ms = i64::try_from(order.lease_for.as_millis()).unwrap_or(i64::MAX);
    let mut update = transaction.prepare_cached(CLAIM)?;
    let mut rows = Vec::with_capacity(due.len());
    let mut bytes = 0;
    for (id, size) in due {
        if bytes >= BATCH_BYTES_MAX {
            break;
        }
        bytes += size;
        let params = params![id, order.token, lease_ms, BODY_BYTES_MAX as i64];
        rows.push(update.query_row(params, row)?);
    }
    Ok(rows)
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        id: row.get(0)?,
        kind: row.get(1)?,
        target: row.get(2)?,
        headers: row.get(3)?,
        body: Bytes::from(row.get::<_, Vec<u8>>(4)?),
        body_bytes: row.get(5)?,
        idempotency_key: row.get(6)?,
        order_key: row.get(7)?,
    })
}

fn trouble(error: &rusqlite::Error) -> TableError {
    TableError(format!("the database file cannot be used: {error}"))
}
