//! Complete identities, as they are exported, by key.

use std::collections::{BTreeMap, HashMap};

use hapax_core::store::{
    ConflictRecord, ConflictingBody, EventContents, IdentityRecord, MigrationCursor, MigrationPage,
    PAGE_BYTES_MAX, Record,
};
use hapax_core::{Generation, Headers, Identity, Key, StoredEvent, Timestamp};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::tables::{
    AttemptRow, Binary, ConflictRow, DuplicateRow, EventRow, IndexedRow, LedgerRow, OutcomeRow, SameBodyRow,
    WorkRow, hash_of, id,
};
use crate::batch::Batch;
use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{BUCKETS, key_at, key_bucket, key_uuid};
use crate::session::Session;

// The next keys of each bucket. Each bucket has its own range of the index, and only that is read.
const KEYS: &str = "
    SELECT k.key
    FROM {n} CROSS JOIN LATERAL (SELECT l.key FROM hapax.ledger l WHERE l.bucket = {one bucket} AND l.key > n.after
                                 ORDER BY l.key LIMIT $3::int8) AS k
    ORDER BY k.key LIMIT $3::int8";

// The stored events of each key with their sizes, so that a page's end is known before its events are read.
const SIZES: &str = "
    SELECT n.key, e.id,
           coalesce(octet_length(e.body) + octet_length(e.headers), 0)::int8
           + coalesce((SELECT sum(octet_length(c.body)) FROM hapax.conflicts c
                       WHERE c.bucket = {bucket} AND c.key = n.key), 0)::int8
    FROM {n} CROSS JOIN LATERAL (SELECT l.id FROM hapax.ledger l WHERE l.bucket = {bucket} AND l.key = n.key
                                 UNION SELECT r.id FROM hapax.earlier r WHERE r.bucket = {bucket} AND r.key = n.key)
                                AS i (id)
    LEFT JOIN hapax.events e ON e.bucket = {bucket} AND e.id = i.id";

/// All columns of a table's rows, selected by two of them, in order.
macro_rules! rows_by {
    ($table:literal, $name:literal, $order:literal) => {
        concat!(
            "SELECT to_jsonb(t)::text FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, name) JOIN hapax.",
            $table,
            " t /* every bucket */ ON t.bucket = n.bucket AND t.",
            $name,
            " = n.name ORDER BY ",
            $order
        )
    };
}

/// Keys and ids of one page.
#[derive(Default)]
struct Names {
    keys: Vec<Key>,
    /// Each id with the key it belongs to.
    events: Vec<(Uuid, Key)>,
}

/// The page after a key.
pub(super) async fn page(
    session: &Session,
    after: Option<Key>,
    limit: i64,
) -> Result<MigrationPage, Failure> {
    session.begin_reading().await?;
    // Otherwise the server's configuration decides how bytes are written.
    session.rows_of("SET LOCAL bytea_output = 'hex'", &[]).await?;
    // No event has a key of all zeros.
    let start = after.map_or(Uuid::nil(), key_uuid);
    let found = session
        .over(KEYS, &after_in_each_bucket(start).value(limit))
        .await?;
    let mut keys = found
        .iter()
        .map(|row| key_at(row, 0))
        .collect::<Result<Vec<_>, _>>()?;
    // If buckets were queried one by one, each returned its own.
    keys.sort_unstable();
    keys.truncate(limit as usize);
    let mut names = Names::default();
    let mut bytes: i64 = 0;
    let mut is_cut = false;
    for (key, event, size) in sizes(session, &keys).await? {
        if names.keys.last() != Some(&key) {
            if bytes > PAGE_BYTES_MAX as i64 {
                is_cut = true;
                break;
            }
            names.keys.push(key);
        }
        if let Some(event) = event {
            names.events.push((event, key));
        }
        bytes += size;
    }
    let records = read(session, &names).await?;
    session.commit().await?;
    let is_full = is_cut || names.keys.len() as i64 == limit;
    let next = match names.keys.last() {
        Some(last) if is_full => MigrationCursor::Identities(Some(*last)),
        Some(_) | None => MigrationCursor::Bodies(None),
    };
    Ok(MigrationPage {
        records,
        next: Some(next),
    })
}

/// One row per bucket, with the key after which its next keys are read.
fn after_in_each_bucket<'a>(start: Uuid) -> Batch<'a> {
    Batch::in_buckets(BUCKETS).same("after", start)
}

/// The stored events of these keys with their sizes, by key and id. A key without an event is returned alone.
async fn sizes(session: &Session, keys: &[Key]) -> Result<Vec<(Key, Option<Uuid>, i64)>, Failure> {
    let batch = Batch::in_buckets(keys.iter().map(|key| key_bucket(*key)))
        .column("key", keys.iter().map(|key| key_uuid(*key)));
    let rows = session.over(SIZES, &batch).await?;
    let mut found = rows
        .iter()
        .map(|row| Ok((key_at(row, 0)?, row.try_get(1)?, row.try_get(2)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    found.sort_unstable();
    Ok(found)
}

async fn read(session: &Session, names: &Names) -> Result<Vec<Record>, Failure> {
    let mut events = events(session, names).await?;
    let by_key =
        |sql| rows::<DuplicateRow>(session, sql, names.keys.iter().map(|key| (*key, key_uuid(*key))));
    let mut duplicates: HashMap<Uuid, DuplicateRow> = by_key(rows_by!("duplicates", "key", "t.key"))
        .await?
        .into_iter()
        .map(|row| (row.key, row))
        .collect();
    let mut conflicts = conflicts(session, names).await?;
    let keys = names.keys.iter().map(|key| (*key, key_uuid(*key)));
    let ledger: Vec<LedgerRow> = rows(session, rows_by!("ledger", "key", "t.key"), keys).await?;
    ledger
        .into_iter()
        .map(|row| {
            let record = IdentityRecord {
                key: Key::from_bytes(row.key.into_bytes()),
                scope: row.scope.as_str().into(),
                entry: row.entry()?,
                is_forgotten: row.forgotten,
                events: events.remove(&row.key).unwrap_or_default(),
                duplicates: duplicates.remove(&row.key).map(|row| row.tally()),
                conflicts: conflicts.remove(&row.key).unwrap_or_default(),
            };
            Ok(Record::Identity(Box::new(record)))
        })
        .collect()
}

/// The events of each key, with everything that belongs to them.
async fn events(session: &Session, names: &Names) -> Result<HashMap<Uuid, Vec<EventContents>>, Failure> {
    let ids = || names.events.iter().map(|(id, key)| (*key, *id));
    let mut contents: BTreeMap<Uuid, (Uuid, EventContents)> = BTreeMap::new();
    for row in rows::<EventRow>(session, rows_by!("events", "id", "t.id"), ids()).await? {
        contents.insert(row.id, (row.key, event(row)?));
    }
    for row in rows::<WorkRow>(session, rows_by!("work", "id", "t.id, t.destination"), ids()).await? {
        if let Some((_, of)) = contents.get_mut(&row.id) {
            of.work.push(row.record());
        }
    }
    let sql = rows_by!("outcomes", "id", "t.id, t.destination, t.token");
    for row in rows::<OutcomeRow>(session, sql, ids()).await? {
        if let Some((_, of)) = contents.get_mut(&row.id) {
            of.outcomes.push(row.record()?);
        }
    }
    for row in rows::<AttemptRow>(session, rows_by!("attempts", "id", "t.id, t.no"), ids()).await? {
        if let Some((_, of)) = contents.get_mut(&row.id) {
            of.attempts.push(row.view()?);
        }
    }
    for row in rows::<SameBodyRow>(session, rows_by!("same_body", "id", "t.id"), ids()).await? {
        if let Some((_, of)) = contents.get_mut(&row.id) {
            of.same_body_as = Some(id(row.earlier));
        }
    }
    let sql = rows_by!("indexed", "id", "t.id, t.pointer, t.digest");
    for row in rows::<IndexedRow>(session, sql, ids()).await? {
        if let Some((_, of)) = contents.get_mut(&row.id) {
            of.indexed.push(row.value());
        }
    }
    let mut by_key: HashMap<Uuid, Vec<EventContents>> = HashMap::new();
    for (key, of) in contents.into_values() {
        by_key.entry(key).or_default().push(of);
    }
    Ok(by_key)
}

fn event(row: EventRow) -> Result<EventContents, Failure> {
    Ok(EventContents {
        order: row.no as u64,
        generation: Generation(row.generation),
        accepted_at: Timestamp::from_micros(row.accepted_at),
        same_body_as: None,
        indexed: Vec::new(),
        work: Vec::new(),
        outcomes: Vec::new(),
        attempts: Vec::new(),
        event: StoredEvent {
            id: id(row.id),
            identity: Identity::new(row.scope, row.event_id),
            source: row.source.into(),
            event_type: row.event_type,
            received_at: Timestamp::from_micros(row.received_at),
            signed_at: row.signed_at.map(Timestamp::from_micros),
            secret_index: row.secret_index,
            raw_hash: hash_of(&row.raw_hash)?,
            headers: headers(row.headers),
            body: row.body.0.into(),
            batch: row.batch_id.map(id).zip(row.batch_index),
        },
    })
}

async fn conflicts(session: &Session, names: &Names) -> Result<HashMap<Uuid, Vec<ConflictRecord>>, Failure> {
    let keys = names.keys.iter().map(|key| (*key, key_uuid(*key)));
    let mut found: HashMap<Uuid, Vec<ConflictRecord>> = HashMap::new();
    for row in rows::<ConflictRow>(session, rows_by!("conflicts", "key", "t.no"), keys).await? {
        let conflict = ConflictRecord {
            other_body: ConflictingBody {
                key: Key::from_bytes(row.key.into_bytes()),
                first: id(row.first),
                source: row.source.into(),
                raw_hash: hash_of(&row.raw_hash)?,
                received_at: Timestamp::from_micros(row.received_at),
                headers: headers(row.headers),
                body: row.body.0.into(),
            },
            seen: row.seen as u64,
            released_as: row.released_as.map(id),
        };
        found.entry(row.key).or_default().push(conflict);
    }
    Ok(found)
}

fn headers(bytes: Binary) -> Headers {
    Headers::from_bytes(bytes.0)
}

/// Rows of one table, by bucket and key or id.
async fn rows<T: DeserializeOwned>(
    session: &Session,
    sql: &'static str,
    names: impl Iterator<Item = (Key, Uuid)>,
) -> Result<Vec<T>, Failure> {
    let (buckets, values): (Vec<i16>, Vec<Uuid>) = names.map(|(key, name)| (key_bucket(key), name)).unzip();
    let rows = session.rows(sql, bind![Column(buckets), Column(values)]).await?;
    rows.iter()
        .map(|row| {
            serde_json::from_str(row.try_get(0)?)
                .map_err(|error| Failure::Unreadable(format!("a stored row cannot be read: {error}")))
        })
        .collect()
}
