//! `hapax_outbox` on PostgreSQL: one connection, made again when it breaks. Nothing is kept in the session, so that a
//! pooler may stand between.

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
use super::table::{BATCH_BYTES_MAX, ClaimOrder, Counts, End, RefusedRow, SHOWN_MAX, Table, TableError};

/// How long connecting, and then one statement, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

// Of an order key, only the first that was not relayed: what is claimed by another is not relayed yet, so that nobody
// overtakes it. Rows beyond the limit of bytes are locked for a moment and left as they are.
const CLAIM: &str = "
    WITH due AS MATERIALIZED (
        SELECT o.id, octet_length(o.body)::int8 AS bytes FROM hapax_outbox o
        WHERE o.state IN ('pending', 'leased') AND o.due_at <= clock_timestamp()
          AND (o.state = 'pending' OR o.lease_until < clock_timestamp())
          AND (o.order_key IS NULL
               OR NOT EXISTS (SELECT 1 FROM hapax_outbox e
                              WHERE e.order_key = o.order_key AND e.id < o.id AND e.state <> 'relayed'))
        ORDER BY o.due_at, o.id LIMIT $1 FOR UPDATE OF o SKIP LOCKED),
    chosen AS (
        SELECT id FROM (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS bytes_before FROM due) AS sized
        WHERE bytes_before < $2)
    UPDATE hapax_outbox o
    SET state = 'leased', token = $3, lease_until = clock_timestamp() + $4 * interval '1 millisecond',
        attempts = o.attempts + 1
    FROM chosen c WHERE o.id = c.id
    RETURNING o.id, o.kind, o.target, o.headers::text,
              CASE WHEN octet_length(o.body) <= $5 THEN o.body ELSE '' END, octet_length(o.body)::int8,
              o.idempotency_key, o.order_key";

const RELAYED: &str = "
    UPDATE hapax_outbox o
    SET state = 'relayed', relayed_at = clock_timestamp(), event = n.event::uuid, error = NULL, lease_until = NULL
    FROM unnest($1, $2) AS n (id, event) WHERE o.id = n.id AND o.state = 'leased' AND o.token = $3";

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
        WHERE state = 'relayed' AND relayed_at < clock_timestamp() - $1 * interval '1 millisecond'
        ORDER BY relayed_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    RETURNING id";

const COUNTS: &str = "
    SELECT state, count(*), (extract(epoch FROM min(created_at)) * 1000000)::int8 FROM hapax_outbox GROUP BY state";

const SHOWN: &str = "
    SELECT id, idempotency_key, order_key, coalesce(error, '') FROM hapax_outbox
    WHERE state = 'refused' ORDER BY id LIMIT $1";

const RETRY: &str = "
    UPDATE hapax_outbox SET state = 'pending', due_at = clock_timestamp(), error = NULL
    WHERE id = $1 AND state = 'refused' RETURNING id";

/// The table behind a URL. Looking has a connection of its own: counting many rows must not hold up the relay.
pub(super) struct PostgresTable {
    connector: Connector,
    relaying: Link,
    looking: Link,
}

/// A connection, while there is one.
type Link = Mutex<Option<Client>>;

type Params<'p> = &'p [(&'p (dyn ToSql + Sync), Type)];

impl PostgresTable {
    /// Connects at the first use; the reason why there is none never quotes the URL.
    pub(super) fn new(url: &Secret) -> Result<Self, String> {
        let connector = Connector::new(url, CONNECT_TIMEOUT, STATEMENT_TIMEOUT)?;
        Ok(Self {
            connector: connector.preparing(Preparing::Never),
            relaying: Link::default(),
            looking: Link::default(),
        })
    }

    /// Runs one statement, in a transaction of its own. The connection is thrown away where anything is odd.
    async fn rows(&self, link: &Link, sql: &str, params: Params<'_>) -> Result<Vec<SqlRow>, TableError> {
        let mut place = link.lock().await;
        let client = match place.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().await?,
        };
        let rows = tokio::time::timeout(STATEMENT_TIMEOUT, client.query_typed(sql, params))
            .await
            .map_err(|_| TableError("the database does not answer".to_owned()))?
            .map_err(|error| trouble(&error))?;
        *place = Some(client);
        Ok(rows)
    }

    async fn connect(&self) -> Result<Client, TableError> {
        let unreachable =
            |error: &dyn std::error::Error| TableError(format!("the database cannot be reached: {error}"));
        let Connected { client, .. } = self
            .connector
            .connect()
            .await
            .map_err(|error| unreachable(&error))?;
        let found = client
            .query_typed("SELECT to_regclass('hapax_outbox') IS NOT NULL", &[])
            .await
            .map_err(|error| trouble(&error))?;
        let exists = found.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
        if !exists {
            let made = client.batch_execute(hapax::tables::POSTGRES_OUTBOX).await;
            made.map_err(|error| {
                let why = trouble(&error);
                TableError(format!(
                    "the table hapax_outbox is missing and cannot be made ({why}): let its user create it (GRANT CREATE ON \
                     SCHEMA public), or create it yourself with the SQL of docs/guides/outbox.md"
                ))
            })?;
        }
        Ok(client)
    }

    async fn set(&self, sql: &str, ids: Vec<i64>, values: Params<'_>, token: i64) -> Result<(), TableError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut params: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&ids, Type::INT8_ARRAY)];
        params.extend(values.iter().cloned());
        params.push((&token, Type::INT8));
        self.rows(&self.relaying, sql, &params).await.map(drop)
    }
}

#[async_trait]
impl Table for PostgresTable {
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError> {
        let lease_ms = order.lease_for.as_millis() as f64;
        let params: Params<'_> = &[
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
        self.set(RELAYED, relayed, &[(&events, Type::TEXT_ARRAY)], token)
            .await?;
        self.set(REFUSED, refused, &[(&errors, Type::TEXT_ARRAY)], token)
            .await?;
        self.set(AGAIN, again, &[(&waits, Type::FLOAT8_ARRAY)], token)
            .await
    }

    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError> {
        let keep_ms = keep.as_millis() as f64;
        let rows = self
            .rows(
                &self.relaying,
                PURGE,
                &[(&keep_ms, Type::FLOAT8), (&limit, Type::INT8)],
            )
            .await?;
        Ok(rows.len() as u64)
    }

    async fn counts(&self) -> Result<Counts, TableError> {
        let mut counts = Counts::default();
        for row in self.rows(&self.looking, COUNTS, &[]).await? {
            let state: String = get(&row, 0)?;
            counts.add(&state, get(&row, 1)?);
            let oldest: Option<i64> = get(&row, 2)?;
            if state != "relayed" {
                let oldest = oldest.map(Timestamp::from_micros);
                counts.oldest_at = [counts.oldest_at, oldest].into_iter().flatten().min();
            }
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
            "the table hapax_outbox is not as this program needs it: {error}"
        ))
    })
}

/// The server's message, without its detail: that may quote what a row holds.
fn trouble(error: &tokio_postgres::Error) -> TableError {
    let Some(database) = error.as_db_error() else {
        return TableError("the connection to the database is lost".to_owned());
    };
    let said = format!("SQLSTATE {}: {}", database.code().code(), database.message());
    if *database.code() == SqlState::INSUFFICIENT_PRIVILEGE {
        return TableError(format!(
            "{said}; the relay needs SELECT, UPDATE and DELETE on hapax_outbox"
        ));
    }
    TableError(said)
}
