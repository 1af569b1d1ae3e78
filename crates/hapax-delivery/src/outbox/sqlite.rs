//! `hapax_outbox` in an SQLite file: one connection, on a thread that may block. The application writes to the same
//! file, so the write lock is taken only when there is something to write, and only for a moment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax::limits::BODY_BYTES_MAX;
use hapax_core::Timestamp;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::row::Row;
use super::table::{
    BATCH_BYTES_MAX, COUNT_MAX, ClaimOrder, End, Examined, INDEXES, LOOK_MAX, SET_BACK_FOR, SHOWN_MAX, Table,
    TableError,
};
use hapax_telemetry::outbox_health::{Counts, RefusedRow};

/// How long to wait for the application's transactions.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The database's time, in milliseconds since 1970.
macro_rules! now {
    () => {
        "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)"
    };
}

/// Due rows from either end, as far as a claim scans. The newest are included for the case that all of the oldest wait:
/// other rows must not wait with them until they are set back.
macro_rules! due_rows {
    () => {
        concat!(
            "(SELECT * FROM (SELECT o.id, o.order_key FROM hapax_outbox AS o
                             WHERE o.state IN ('pending', 'leased') AND o.due_at <= ",
            now!(),
            " AND (o.state = 'pending' OR o.lease_until < ",
            now!(),
            ") ORDER BY o.due_at, o.id LIMIT ?1)
              UNION ALL
              SELECT * FROM (SELECT o.id, o.order_key FROM hapax_outbox AS o
                             WHERE o.state IN ('pending', 'leased') AND o.due_at <= ",
            now!(),
            " AND (o.state = 'pending' OR o.lease_until < ",
            now!(),
            ") ORDER BY o.due_at DESC, o.id DESC LIMIT ?1))"
        )
    };
}

/// The first row of an order key that is not relayed. A row that another relay has claimed is not relayed yet, so no
/// row overtakes it. It is the first at or after the key in the index of keys.
macro_rules! first_of {
    ($key:literal) => {
        concat!(
            "(SELECT e.id FROM hapax_outbox AS e
              WHERE e.order_key >= ",
            $key,
            " AND e.order_key IS NOT NULL AND e.state <> 'relayed' ORDER BY e.order_key, e.id LIMIT 1)"
        )
    };
}

const DUE: &str = concat!(
    "SELECT d.id FROM ",
    due_rows!(),
    " AS d WHERE d.order_key IS NULL OR ",
    first_of!("d.order_key"),
    " = d.id LIMIT ?2"
);
const IS_CROWDED: &str = concat!(
    "SELECT count(*) > ?1 FROM (SELECT 1 FROM hapax_outbox AS o
                                WHERE o.state IN ('pending', 'leased') AND o.due_at <= ",
    now!(),
    " LIMIT ?1 + 1)"
);
const SET_BACK: &str = concat!(
    "UPDATE hapax_outbox SET state = 'pending', token = 0, lease_until = NULL, due_at = ",
    now!(),
    " + ?2 WHERE id IN (SELECT d.id FROM ",
    due_rows!(),
    " AS d WHERE d.order_key IS NOT NULL AND ",
    first_of!("d.order_key"),
    " < d.id)"
);
// It returns to its position before it was set back: rows are written with 0.
const FORWARD: &str = concat!(
    "UPDATE hapax_outbox SET due_at = 0, token = NULL
     WHERE state = 'pending' AND token = 0 AND order_key = ?1 AND id = ",
    first_of!("?1")
);
const FIRSTS: &str = "
    WITH RECURSIVE first(id, order_key) AS (
        SELECT * FROM (SELECT e.id, e.order_key FROM hapax_outbox AS e
                       WHERE e.order_key >= ?1 AND e.order_key IS NOT NULL AND e.state <> 'relayed'
                       ORDER BY e.order_key, e.id LIMIT 1)
        UNION ALL
        SELECT n.id, n.order_key FROM first JOIN hapax_outbox AS n ON n.id = (
            SELECT e.id FROM hapax_outbox AS e
            WHERE e.order_key > first.order_key AND e.order_key IS NOT NULL AND e.state <> 'relayed'
            ORDER BY e.order_key, e.id LIMIT 1)
        LIMIT ?2)
    SELECT f.order_key, o.state = 'pending' AND o.token IS 0
    FROM first AS f JOIN hapax_outbox AS o ON o.id = f.id";
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
    ", event = ?3, error = NULL, lease_until = NULL WHERE id = ?1 AND state = 'leased' AND token = ?2
     RETURNING CAST(order_key AS TEXT)"
);
const REFUSED: &str = "UPDATE hapax_outbox SET state = 'refused', error = ?3, lease_until = NULL
     WHERE id = ?1 AND state = 'leased' AND token = ?2";
const AGAIN: &str = concat!(
    "UPDATE hapax_outbox SET state = 'pending', due_at = ",
    now!(),
    " + ?3, lease_until = NULL WHERE id = ?1 AND state = 'leased' AND token = ?2"
);
const IS_OLD: &str = concat!(" WHERE state = 'relayed' AND relayed_at < ", now!(), " - ?1");
const COUNTS: &str = "
    SELECT waiting.*, relayed.*, refused.*
    FROM (SELECT coalesce(sum(state = 'pending'), 0), coalesce(sum(state = 'leased'), 0), min(created_at)
          FROM (SELECT state, created_at FROM hapax_outbox WHERE state IN ('pending', 'leased') LIMIT ?1)) AS waiting,
         (SELECT count(*) FROM (SELECT 1 FROM hapax_outbox WHERE state = 'relayed' LIMIT ?1)) AS relayed,
         (SELECT count(*) FROM (SELECT 1 FROM hapax_outbox WHERE state = 'refused' LIMIT ?1)) AS refused";
const RETRY: &str = concat!(
    "UPDATE hapax_outbox SET state = 'pending', due_at = ",
    now!(),
    ", error = NULL WHERE id = ?1 AND state = 'refused'"
);

/// The table in a file. Status queries and purges have their own connections: neither may hold up the relay.
pub(super) struct SqliteTable {
    path: Arc<PathBuf>,
    relaying: Link,
    purging: Link,
    looking: Link,
}

type Link = Arc<Mutex<Option<Connection>>>;

impl SqliteTable {
    /// Opens the file on first use.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path: Arc::new(path),
            relaying: Link::default(),
            purging: Link::default(),
            looking: Link::default(),
        }
    }

    /// Runs a step on a thread that may block. The connection is discarded after any irregularity.
    async fn run<T: Send + 'static>(
        &self,
        link: &Link,
        step: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, TableError> {
        let (path, place) = (Arc::clone(&self.path), Arc::clone(link));
        let task = tokio::task::spawn_blocking(move || {
            let mut place = place.lock();
            let mut connection = match place.take() {
                Some(connection) => connection,
                None => open(&path)?,
            };
            let outcome = step(&mut connection).map_err(|error| trouble(&error))?;
            *place = Some(connection);
            Ok(outcome)
        });
        task.await.unwrap_or_else(|_| Err(stopped()))
    }
}

#[async_trait]
impl Table for SqliteTable {
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError> {
        self.run(&self.relaying, move |connection| {
            if !connection.prepare_cached(DUE)?.exists([LOOK_MAX, 1])? {
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
                        let mut relay = transaction.prepare_cached(RELAYED)?;
                        let key: rusqlite::Result<Option<String>> =
                            relay.query_row((id, token, event.to_string()), |row| row.get(0));
                        if let Some(key) = key.optional()?.flatten() {
                            forward(&transaction, &key)?;
                        }
                    }
                    End::Refused(why) => {
                        transaction.prepare_cached(REFUSED)?.execute((id, token, why))?;
                    }
                    End::Again(wait) => {
                        transaction
                            .prepare_cached(AGAIN)?
                            .execute((id, token, millis(*wait)))?;
                    }
                }
            }
            transaction.commit()
        })
        .await
    }

    async fn make_way(&self) -> Result<u64, TableError> {
        self.run(&self.relaying, |connection| {
            let mut crowded = connection.prepare_cached(IS_CROWDED)?;
            if !crowded.query_row([LOOK_MAX], |row| row.get::<_, bool>(0))? {
                return Ok(0);
            }
            // One statement is one transaction, so no other relay can relay the first of a key in between.
            let mut set_back = connection.prepare_cached(SET_BACK)?;
            Ok(set_back.execute([LOOK_MAX, millis(SET_BACK_FOR)])? as u64)
        })
        .await
    }

    async fn tend(&self, key: Option<String>) -> Result<Option<String>, TableError> {
        self.run(&self.relaying, move |connection| {
            let mut select = connection.prepare_cached(FIRSTS)?;
            let from = key.unwrap_or_default();
            let firsts = select.query_map(params![from, LOOK_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let mut firsts: Vec<(String, bool)> = firsts.collect::<Result<_, _>>()?;
            for (key, _) in firsts.iter().filter(|(_, is_set_back)| *is_set_back) {
                forward(connection, key)?;
            }
            let is_full = firsts.len() as i64 == LOOK_MAX;
            Ok(firsts.pop().filter(|_| is_full).map(|(key, _)| key))
        })
        .await
    }

    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError> {
        let keep_ms = millis(keep);
        self.run(&self.purging, move |connection| {
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
            connection.prepare_cached(COUNTS)?.query_row([COUNT_MAX], |row| {
                let count = |column| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
                counts.pending = count(0)?;
                counts.leased = count(1)?;
                let oldest: Option<i64> = row.get(2)?;
                counts.oldest_at = oldest.map(|ms| Timestamp::from_micros(ms.saturating_mul(1_000)));
                counts.relayed = count(3)?;
                counts.refused = count(4)?;
                Ok(())
            })?;
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

    async fn examine(&self) -> Result<Examined, TableError> {
        let path = Arc::clone(&self.path);
        let task = tokio::task::spawn_blocking(move || {
            let connection = reach(&path)?;
            examine(&connection).map_err(|error| trouble(&error))
        });
        task.await.unwrap_or_else(|_| Err(stopped()))
    }
}

fn examine(connection: &Connection) -> rusqlite::Result<Examined> {
    let mut select = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?;
    if !select.exists(["hapax_outbox"])? {
        return Ok(Examined::Missing);
    }
    for index in INDEXES {
        if !select.exists([index])? {
            return Ok(Examined::WithoutIndex(index));
        }
    }
    Ok(Examined::Whole)
}

/// Brings the first row of a key forward if it was set back.
fn forward(connection: &Connection, key: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(FORWARD)?.execute([key])?;
    Ok(())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Opens the application's file: it is not ours to create.
fn reach(path: &Path) -> Result<Connection, TableError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
        .map_err(|error| TableError(format!("{} cannot be opened: {error}", path.display())))
}

fn stopped() -> TableError {
    TableError("the outbox thread has stopped".to_owned())
}

fn open(path: &Path) -> Result<Connection, TableError> {
    let connection = reach(path)?;
    let prepare = || -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Regardless of the build's default: a mark lost in a power cut only costs a second relay, but a half-written
        // file costs everything.
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
    let mut due: Vec<i64> = select
        .query_map([LOOK_MAX, order.limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    // If few rows are due, the oldest are among the newest, too.
    due.sort_unstable();
    due.dedup();
    let lease_ms = millis(order.lease_for);
    let mut update = transaction.prepare_cached(CLAIM)?;
    let mut rows = Vec::with_capacity(due.len());
    let mut bytes = 0;
    for id in due {
        if bytes >= BATCH_BYTES_MAX {
            break;
        }
        let params = params![id, order.token, lease_ms, BODY_BYTES_MAX as i64];
        let row = update.query_row(params, row)?;
        bytes += row.body_bytes;
        rows.push(row);
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
