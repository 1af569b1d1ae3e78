//! `hapax_outbox` on PostgreSQL: one connection, reopened when it breaks. Nothing is kept in the session, so a pooler
//! may stand in between.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hapax::limits::BODY_BYTES_MAX;
use hapax_core::{Secret, Timestamp};
use hapax_store_postgres::{Connected, Connector, Preparing};
use tokio::sync::Mutex;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as SqlRow};

use super::row::Row;
use super::table::{
    BATCH_BYTES_MAX, COUNT_MAX, ClaimOrder, End, Examined, INDEXES, LOOK_MAX, SET_BACK_FOR, SHOWN_MAX, Table,
    TableError,
};
use hapax_telemetry::outbox_health::{Counts, RefusedRow};

/// The longest that connecting, and each statement after it, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Each statement is a transaction that finds rows by their index alone, whatever the planner assumes about a table
/// that is nearly empty now and holds a million rows a minute later (docs/adr/0010). A bound on a time is
/// `statement_timestamp()`: the index is of no use to `clock_timestamp()`, which may change while it is read.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off; \
                     SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_material = off; \
                     SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off";

/// Due rows from either end, as far as a claim scans. The newest are included for the case that all of the oldest wait:
/// other rows must not wait with them until they are set back.
macro_rules! due_rows {
    () => {
        "(SELECT * FROM (
              SELECT o.id, o.order_key, octet_length(o.body)::int8 AS bytes FROM hapax_outbox o
              WHERE o.state IN ('pending', 'leased') AND o.due_at <= statement_timestamp()
                AND (o.state = 'pending' OR o.lease_until < statement_timestamp())
              ORDER BY o.due_at, o.id LIMIT $1 FOR UPDATE OF o SKIP LOCKED) AS oldest
          UNION ALL
          SELECT * FROM (
              SELECT o.id, o.order_key, octet_length(o.body)::int8 AS bytes FROM hapax_outbox o
              WHERE o.state IN ('pending', 'leased') AND o.due_at <= statement_timestamp()
                AND (o.state = 'pending' OR o.lease_until < statement_timestamp())
              ORDER BY o.due_at DESC, o.id DESC LIMIT $1 FOR UPDATE OF o SKIP LOCKED) AS newest)"
    };
}

/// The first row of an order key that is not relayed. A row that another relay has claimed is not relayed yet, so no
/// row overtakes it. It is the first at or after the key in the index of keys, so no other index will do.
macro_rules! first_of {
    ($key:literal) => {
        concat!(
            "(SELECT e.id FROM hapax_outbox e
              WHERE e.order_key >= ",
            $key,
            " AND e.order_key IS NOT NULL AND e.state <> 'relayed' ORDER BY e.order_key, e.id LIMIT 1)"
        )
    };
}

// Rows are read until there are enough; those beyond the byte limit are locked for a moment and left unchanged.
const CLAIM: &str = concat!(
    "WITH due AS MATERIALIZED (
        SELECT d.id, d.bytes FROM ",
    due_rows!(),
    " AS d WHERE d.order_key IS NULL OR ",
    first_of!("d.order_key"),
    " = d.id LIMIT $2),
    chosen AS (
        SELECT id FROM (
            SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before
            FROM (SELECT DISTINCT id, bytes FROM due) AS each) AS sized
        WHERE bytes_before < $3)
    UPDATE hapax_outbox o
    SET state = 'leased', token = $4, lease_until = clock_timestamp() + $5 * interval '1 millisecond',
        attempts = o.attempts + 1
    FROM chosen c WHERE o.id = c.id
    RETURNING o.id, o.kind, o.target, o.headers::text,
              CASE WHEN octet_length(o.body) <= $6 THEN o.body ELSE '' END, octet_length(o.body)::int8,
              o.idempotency_key, o.order_key"
);

const IS_CROWDED: &str = "
    SELECT count(*) > $1 FROM (
        SELECT 1 FROM hapax_outbox o
        WHERE o.state IN ('pending', 'leased') AND o.due_at <= statement_timestamp() LIMIT $1 + 1) AS due";

const SET_BACK: &str = concat!(
    "WITH due AS MATERIALIZED (SELECT * FROM ",
    due_rows!(),
    " AS d)
    UPDATE hapax_outbox o
    SET state = 'pending', token = 0, lease_until = NULL, due_at = clock_timestamp() + $2 * interval '1 millisecond'
    FROM (SELECT DISTINCT id FROM due WHERE order_key IS NOT NULL AND ",
    first_of!("due.order_key"),
    " < due.id) AS b WHERE o.id = b.id RETURNING o.order_key"
);

// It returns to its position before it was set back. Found by id alone: thousands of rows may have its key.
const FORWARD: &str = "
    WITH first AS MATERIALIZED (
        SELECT f.id FROM unnest($1) AS k (name) CROSS JOIN LATERAL (
            SELECT e.id, e.order_key FROM hapax_outbox e
            WHERE e.order_key >= k.name AND e.order_key IS NOT NULL AND e.state <> 'relayed'
            ORDER BY e.order_key, e.id LIMIT 1) AS f
        WHERE f.order_key = k.name)
    UPDATE hapax_outbox o SET due_at = o.created_at, token = NULL
    FROM first WHERE o.id = first.id AND o.state = 'pending' AND o.token = 0";

const FIRSTS: &str = "
    WITH RECURSIVE first AS (
        (SELECT e.order_key, e.state, e.token FROM hapax_outbox e
         WHERE e.order_key >= $1 AND e.order_key IS NOT NULL AND e.state <> 'relayed'
         ORDER BY e.order_key, e.id LIMIT 1)
        UNION ALL
        SELECT n.* FROM first CROSS JOIN LATERAL (
            SELECT e.order_key, e.state, e.token FROM hapax_outbox e
            WHERE e.order_key > first.order_key AND e.order_key IS NOT NULL AND e.state <> 'relayed'
            ORDER BY e.order_key, e.id LIMIT 1) AS n)
    SELECT order_key, state = 'pending' AND token IS NOT DISTINCT FROM 0 FROM first LIMIT $2";

const RELAYED: &str = "
    UPDATE hapax_outbox o
    SET state = 'relayed', relayed_at = clock_timestamp(), event = n.event::uuid, error = NULL, lease_until = NULL
    FROM unnest($1, $2) AS n (id, event) WHERE o.id = n.id AND o.state = 'leased' AND o.token = $3
    RETURNING o.order_key";

const REFUSED: &str = "
    UPDATE hapax_outbox o SET state = 'refused', error = n.error, lease_until = NULL
    FROM unnest($1, $2) AS n (id, error) WHERE o.id = n.id AND o.state = 'leased' AND o.token = $3";

const AGAIN: &str = "
    UPDATE hapax_outbox o
    SET state = 'pending', due_at = clock_timestamp() + n.wait * interval '1 millisecond', lease_until = NULL
    FROM unnest($1, $2) AS n (id, wait) WHERE o.id = n.id AND o.state = 'leased' AND o.token = $3";

const PURGE: &str = "
    DELETE FROM hapax_outbox WHERE id IN (
        SELECT id FROM hapax_outbox
        WHERE state = 'relayed' AND relayed_at < statement_timestamp() - $1 * interval '1 millisecond'
        ORDER BY relayed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING id";

const COUNTS: &str = "
    SELECT waiting.*, relayed.count, refused.count
    FROM (SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'leased'),
                 (extract(epoch FROM min(created_at)) * 1000000)::int8
          FROM (SELECT state, created_at FROM hapax_outbox
                WHERE state IN ('pending', 'leased') LIMIT $1) AS w) AS waiting,
         (SELECT count(*) FROM (SELECT 1 FROM hapax_outbox WHERE state = 'relayed' LIMIT $1) AS r) AS relayed,
         (SELECT count(*) FROM (SELECT 1 FROM hapax_outbox WHERE state = 'refused' LIMIT $1) AS r) AS refused";

const SHOWN: &str = "
    SELECT id, idempotency_key, order_key, coalesce(error, '') FROM hapax_outbox
    WHERE state = 'refused' ORDER BY id LIMIT $1";

const RETRY: &str = "
    UPDATE hapax_outbox SET state = 'pending', due_at = clock_timestamp(), error = NULL
    WHERE id = $1 AND state = 'refused' RETURNING id";

const EXISTS: &str = "SELECT to_regclass('hapax_outbox') IS NOT NULL";

const EXAMINE: &str = "
    SELECT has_table_privilege('hapax_outbox', 'SELECT') AND has_table_privilege('hapax_outbox', 'UPDATE')
           AND has_table_privilege('hapax_outbox', 'DELETE'),
           (SELECT n.name FROM unnest($1) WITH ORDINALITY AS n (name, nth)
            WHERE to_regclass(n.name) IS NULL ORDER BY n.nth LIMIT 1)";

/// The table behind a URL. Status queries and purges have their own connections: neither may hold up the relay.
pub(super) struct PostgresTable {
    url: Secret,
    relaying: Link,
    purging: Link,
    looking: Link,
}

type Link = Mutex<Option<Client>>;

type Params<'p> = &'p [(&'p (dyn ToSql + Sync), Type)];

impl PostgresTable {
    /// Connects on first use.
    pub(super) fn new(url: Secret) -> Self {
        Self {
            url,
            relaying: Link::default(),
            purging: Link::default(),
            looking: Link::default(),
        }
    }

    /// Runs one statement in its own transaction. The connection is discarded after any irregularity.
    async fn rows(&self, link: &Link, sql: &str, params: Params<'_>) -> Result<Vec<SqlRow>, TableError> {
        let mut place = link.lock().await;
        let client = match place.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().await?,
        };
        // All three are sent at once. The statement's result counts; after an error nothing is left to commit.
        let all = async {
            let (begun, rows, ended) = tokio::join!(
                client.batch_execute(BEGIN),
                client.query_typed(sql, params),
                client.batch_execute("COMMIT"),
            );
            let rows = begun.and(rows)?;
            ended.map(|()| rows)
        };
        let rows = tokio::time::timeout(STATEMENT_TIMEOUT, all)
            .await
            .map_err(|_| TableError("the database does not respond".to_owned()))?
            .map_err(|error| trouble(&error))?;
        *place = Some(client);
        Ok(rows)
    }

    /// Connects, and creates the table if it is missing.
    async fn connect(&self) -> Result<Client, TableError> {
        let (client, exists) = self.reach().await?;
        if !exists {
            let made = client.batch_execute(hapax::tables::POSTGRES_OUTBOX).await;
            made.map_err(|error| {
                let why = trouble(&error);
                TableError(format!(
                    "the table hapax_outbox is missing and cannot be created ({why}): allow its user to create it \
                     (GRANT CREATE ON SCHEMA public), or create it yourself with the SQL in docs/guides/outbox.md"
                ))
            })?;
        }
        Ok(client)
    }

    /// Connects, and reports whether the table exists.
    async fn reach(&self) -> Result<(Client, bool), TableError> {
        let unreachable =
            |error: &dyn std::error::Error| TableError(format!("the database cannot be reached: {error}"));
        // The error never quotes the URL, and may be temporary: a file that the URL names may be missing.
        let connector = Connector::new(&self.url, CONNECT_TIMEOUT, STATEMENT_TIMEOUT)
            .map_err(|why| TableError(format!("its `url` cannot be used: {why}")))?;
        let Connected { client, .. } = connector
            .preparing(Preparing::Never)
            .connect()
            .await
            .map_err(|error| unreachable(&error))?;
        let found = client
            .query_typed(EXISTS, &[])
            .await
            .map_err(|error| trouble(&error))?;
        let exists = found.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
        Ok((client, exists))
    }

    /// Brings the first rows of these keys forward if they were set back.
    async fn forward(&self, keys: Vec<String>) -> Result<(), TableError> {
        if keys.is_empty() {
            return Ok(());
        }
        let params: Params<'_> = &[(&keys, Type::TEXT_ARRAY)];
        self.rows(&self.relaying, FORWARD, params).await.map(drop)
    }

    async fn set(
        &self,
        sql: &str,
        ids: Vec<i64>,
        values: Params<'_>,
        token: i64,
    ) -> Result<Vec<SqlRow>, TableError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut params: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&ids, Type::INT8_ARRAY)];
        params.extend(values.iter().cloned());
        params.push((&token, Type::INT8));
        self.rows(&self.relaying, sql, &params).await
    }
}

#[async_trait]
impl Table for PostgresTable {
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError> {
        let lease_ms = order.lease_for.as_millis() as f64;
        let params: Params<'_> = &[
            (&LOOK_MAX, Type::INT8),
            (&order.limit, Type::INT8),
            (&BATCH_BYTES_MAX, Type::INT8),
            (&order.token, Type::INT8),
            (&lease_ms, Type::FLOAT8),
            (&(BODY_BYTES_MAX as i32), Type::INT4),
        ];
        let rows = self.rows(&self.relaying, CLAIM, params).await?;
        rows.iter().map(row).collect()
    }

    async fn settle(&self, token: i64, ends: Vec<(i64, End)>) -> Result<(), TableError> {
        let (mut relayed, mut events) = (Vec::new(), Vec::new());
        let (mut refused, mut errors) = (Vec::new(), Vec::new());
        let (mut again, mut waits) = (Vec::new(), Vec::new());
        for (id, end) in ends {
            match end {
                End::Relayed(event) => {
                    relayed.push(id);
                    events.push(event.to_string());
                }
                End::Refused(why) => {
                    refused.push(id);
                    errors.push(why);
                }
                End::Again(wait) => {
                    again.push(id);
                    waits.push(wait.as_millis() as f64);
                }
            }
        }
        let relayed = self
            .set(RELAYED, relayed, &[(&events, Type::TEXT_ARRAY)], token)
            .await?;
        self.set(REFUSED, refused, &[(&errors, Type::TEXT_ARRAY)], token)
            .await?;
        self.set(AGAIN, again, &[(&waits, Type::FLOAT8_ARRAY)], token)
            .await?;
        self.forward(keys(&relayed)?).await
    }

    async fn make_way(&self) -> Result<u64, TableError> {
        let look: (&(dyn ToSql + Sync), Type) = (&LOOK_MAX, Type::INT8);
        let crowded = self
            .rows(&self.relaying, IS_CROWDED, std::slice::from_ref(&look))
            .await?;
        let Some(true) = crowded.first().map(|row| get(row, 0)).transpose()? else {
            return Ok(0);
        };
        let back_ms = SET_BACK_FOR.as_millis() as f64;
        let rows = self
            .rows(&self.relaying, SET_BACK, &[look, (&back_ms, Type::FLOAT8)])
            .await?;
        // A relay that relayed the first of a key at this moment did not see that the next was set back.
        self.forward(keys(&rows)?).await?;
        Ok(rows.len() as u64)
    }

    async fn tend(&self, key: Option<String>) -> Result<Option<String>, TableError> {
        let from = key.unwrap_or_default();
        let params: Params<'_> = &[(&from, Type::TEXT), (&LOOK_MAX, Type::INT8)];
        let rows = self.rows(&self.relaying, FIRSTS, params).await?;
        let mut firsts = Vec::new();
        for row in &rows {
            if get(row, 1)? {
                firsts.push(get(row, 0)?);
            }
        }
        self.forward(firsts).await?;
        let last = rows.last().filter(|_| rows.len() as i64 == LOOK_MAX);
        last.map(|row| get(row, 0)).transpose()
    }

    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError> {
        let keep_ms = keep.as_millis() as f64;
        let rows = self
            .rows(
                &self.purging,
                PURGE,
                &[(&keep_ms, Type::FLOAT8), (&limit, Type::INT8)],
            )
            .await?;
        Ok(rows.len() as u64)
    }

    async fn counts(&self) -> Result<Counts, TableError> {
        let mut counts = Counts::default();
        for row in self
            .rows(&self.looking, COUNTS, &[(&COUNT_MAX, Type::INT8)])
            .await?
        {
            let count = |column| Ok::<u64, TableError>(get::<i64>(&row, column)?.unsigned_abs());
            counts.pending = count(0)?;
            counts.leased = count(1)?;
            counts.oldest_at = get::<Option<i64>>(&row, 2)?.map(Timestamp::from_micros);
            counts.relayed = count(3)?;
            counts.refused = count(4)?;
        }
        for row in self
            .rows(&self.looking, SHOWN, &[(&SHOWN_MAX, Type::INT8)])
            .await?
        {
            counts.refused_rows.push(RefusedRow {
                id: get(&row, 0)?,
                idempotency_key: get(&row, 1)?,
                order_key: get(&row, 2)?,
                error: get(&row, 3)?,
            });
        }
        Ok(counts)
    }

    async fn retry(&self, id: i64) -> Result<bool, TableError> {
        let rows = self.rows(&self.looking, RETRY, &[(&id, Type::INT8)]).await?;
        Ok(!rows.is_empty())
    }

    async fn examine(&self) -> Result<Examined, TableError> {
        let (client, exists) = self.reach().await?;
        if !exists {
            return Ok(Examined::Missing);
        }
        let names = INDEXES.to_vec();
        let found = client
            .query_typed(EXAMINE, &[(&names, Type::TEXT_ARRAY)])
            .await
            .map_err(|error| trouble(&error))?;
        let Some(row) = found.first() else {
            return Ok(Examined::Missing);
        };
        if !get::<bool>(row, 0)? {
            return Err(TableError(RIGHTS.to_owned()));
        }
        let missing: Option<String> = get(row, 1)?;
        let missing = INDEXES.into_iter().find(|name| Some(*name) == missing.as_deref());
        Ok(missing.map_or(Examined::Whole, Examined::WithoutIndex))
    }
}

/// The distinct order keys of these rows.
fn keys(rows: &[SqlRow]) -> Result<Vec<String>, TableError> {
    let mut keys = Vec::new();
    for row in rows {
        keys.extend(get::<Option<String>>(row, 0)?);
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn row(row: &SqlRow) -> Result<Row, TableError> {
    Ok(Row {
        id: get(row, 0)?,
        kind: get(row, 1)?,
        target: get(row, 2)?,
        headers: get(row, 3)?,
        body: Bytes::from(get::<Vec<u8>>(row, 4)?),
        body_bytes: get(row, 5)?,
        idempotency_key: get(row, 6)?,
        order_key: get(row, 7)?,
    })
}

fn get<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r SqlRow, column: usize) -> Result<T, TableError> {
    row.try_get(column).map_err(|error| {
        TableError(format!(
            "the table hapax_outbox does not have the expected schema: {error}"
        ))
    })
}

/// The privileges that the relay's user needs.
const RIGHTS: &str = "the relay needs SELECT, UPDATE and DELETE on hapax_outbox";

/// The server's message without its detail, which may quote the row's values.
fn trouble(error: &tokio_postgres::Error) -> TableError {
    let Some(database) = error.as_db_error() else {
        return TableError("the connection to the database was lost".to_owned());
    };
    let said = format!("SQLSTATE {}: {}", database.code().code(), database.message());
    if *database.code() == SqlState::INSUFFICIENT_PRIVILEGE {
        return TableError(format!("{said}; {RIGHTS}"));
    }
    TableError(said)
}
