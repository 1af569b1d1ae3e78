//! The new events of one worker, in one transaction there: one statement for each shard.
//!
//! The time and the numbers come from the coordinator. An identity that is known stays as it is, and its holder is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::{join, join_all, join3};
use hapax_core::store::{AcceptRequest, Claim, Handed};
use hapax_core::{Generation, Key, NewEvent, Timestamp};
use uuid::Uuid;

use super::at_once::{self, Work};
use super::{claim as ledger, entry, payload};
use crate::batch::Batch;
use crate::bind::{Column, Param, bind, param};
use crate::failure::{self, Failure};
use crate::look_up::{Holder, holder_at, holder_columns};
use crate::rows::{key_bucket, key_uuid};
use crate::session::{Session, is_begun};
use crate::workers::{Shard, Shards};

/// What Citus holds while it writes a shard itself: the table, against changes of it, and the shard, against moves.
const LOCK: &str = "
    SELECT lock_relation_if_exists('hapax.ledger', 'ROW EXCLUSIVE'), lock_shard_metadata(5, $1::int8[])";

/// How many of the shards are here. Only after they are locked: before, one may have been moved already.
const HERE: &str = "
    SELECT count(*) FROM pg_catalog.pg_dist_placement p
    JOIN pg_catalog.pg_dist_local_group g ON g.groupid = p.groupid
    WHERE p.shardid = ANY ($1::int8[])";

/// Requests for one worker.
pub(super) struct Group {
    pub(super) shards: Arc<Shards>,
    pub(super) worker: usize,
    pub(super) now: Timestamp,
    pub(super) items: Vec<Item>,
}

/// A request with its place in the batch.
pub(super) struct Item {
    pub(super) at: usize,
    pub(super) request: AcceptRequest,
    /// For each event: its number, and then the tokens of its deliveries.
    pub(super) numbers: Vec<Vec<i64>>,
}

/// One claim per event. An event without one is left to the coordinator: its identity was forgotten or just purged.
pub(super) type Claims = Vec<Vec<Option<Claim>>>;

/// Writes a group. Returns nothing, and writes nothing, if one of its shards is no longer here.
pub(super) async fn write(session: &Session, group: &Group) -> Result<Option<Claims>, Failure> {
    // Duplicates inside the group: the first of them is the candidate.
    let mut first: HashMap<Key, &NewEvent> = HashMap::new();
    let mut by_shard: BTreeMap<usize, Vec<(&NewEvent, &[i64])>> = BTreeMap::new();
    for item in &group.items {
        for (event, numbers) in item.request.events.iter().zip(&item.numbers) {
            if first.contains_key(&event.key) {
                continue;
            }
            first.insert(event.key, event);
            let shard = group.shards.of(key_bucket(event.key)).ok_or(Failure::Moved)?;
            by_shard
                .entry(shard)
                .or_default()
                .push((event, numbers.as_slice()));
        }
    }
    let mut portions = Vec::with_capacity(by_shard.len());
    for (at, events) in by_shard {
        let shard = group.shards.all.get(at).ok_or(Failure::Moved)?;
        portions.push(Portion::new(shard, session.slot(), &events)?);
    }
    let Some(won) = claim(session, &portions, group.now).await? else {
        session.rollback().await?;
        return Ok(None);
    };
    let mut seen = holders(session, &portions, &won).await?;
    session.commit().await?;
    let mut handed = HashMap::new();
    for portion in &portions {
        handed.extend(portion.handed(group.now)?);
    }
    let mut answer = |event: &NewEvent| {
        let winner = first.get(&event.key)?;
        if !won.contains(&event.key) {
            return seen.get_mut(&event.key).cloned().map(Claim::Seen);
        }
        let generation = Generation(0);
        Some(if std::ptr::eq(*winner, event) {
            let tokens = handed.remove(&event.key).unwrap_or_default();
            Claim::New { generation, tokens }
        } else {
            Claim::Seen(entry(winner, generation, group.now))
        })
    };
    let requests = group.items.iter().map(|item| &item.request);
    Ok(Some(
        requests
            .map(|request| request.events.iter().map(&mut answer).collect())
            .collect(),
    ))
}

/// Begins the transaction and writes what is new. Returns the identities that were.
async fn claim(
    session: &Session,
    portions: &[Portion<'_>],
    now: Timestamp,
) -> Result<Option<HashSet<Key>>, Failure> {
    let ids: Column<i64> = portions.iter().map(|portion| portion.shard.id).collect();
    // One that had to be prepared first would be sent after the others, and rows would be locked in another order.
    session.prepare(LOCK, bind![ids]).await?;
    session.prepare(HERE, bind![ids]).await?;
    let now = now.as_micros();
    let mut statements = Vec::with_capacity(portions.len());
    for portion in portions {
        let params = portion.params(&now);
        session.prepare(portion.text(), &params).await?;
        statements.push((portion.text(), params));
    }
    let written = statements.iter().map(|(text, params)| session.one(text, params));
    // Polled, and so sent, in this order.
    let (begun, (locked, here, written)) = join(
        session.begin(),
        join3(
            session.execute(LOCK, bind![ids]),
            session.one(HERE, bind![ids]),
            join_all(written),
        ),
    )
    .await;
    begun?;
    locked?;
    if here?.try_get::<_, i64>(0)? != portions.len() as i64 {
        return Ok(None);
    }
    let mut won = HashSet::new();
    for row in failure::all(written)? {
        let keys: Vec<Uuid> = row.try_get(0)?;
        won.extend(keys.into_iter().map(|key| Key::from_bytes(key.into_bytes())));
    }
    Ok(Some(won))
}

/// The holders of identities that were known.
async fn holders(
    session: &Session,
    portions: &[Portion<'_>],
    won: &HashSet<Key>,
) -> Result<HashMap<Key, hapax_core::store::LedgerEntry>, Failure> {
    let read = portions.iter().filter_map(|portion| {
        let lost = portion
            .candidates
            .iter()
            .filter(|event| !won.contains(&event.key));
        let lost: Vec<Key> = lost.map(|event| event.key).collect();
        (!lost.is_empty()).then(|| portion.holders(session, lost))
    });
    let rows = failure::all(join_all(read).await)?;
    let mut seen = HashMap::new();
    for row in rows.iter().flatten() {
        match holder_at(row)? {
            (key, Holder::Event(entry)) => drop(seen.insert(key, entry)),
            (_, Holder::Forgotten { .. }) => {}
        }
    }
    Ok(seen)
}

/// The events of one shard.
struct Portion<'e> {
    shard: &'e Shard,
    /// In order of arrival.
    arrivals: Vec<&'e NewEvent>,
    /// Sorted, as everywhere: two batches that lock in opposite orders would deadlock.
    candidates: Vec<&'e NewEvent>,
    work: Vec<Work<'e>>,
    /// The events' own numbers, and then the tokens.
    numbers: Column<i64>,
    /// The bucket of its sums.
    slot: i16,
    rows: [Batch<'e>; 3],
}

impl<'e> Portion<'e> {
    fn new(shard: &'e Shard, slot: i16, events: &[(&'e NewEvent, &[i64])]) -> Result<Self, Failure> {
        let arrivals: Vec<&NewEvent> = events.iter().map(|(event, _)| *event).collect();
        let mut candidates = arrivals.clone();
        candidates.sort_unstable_by_key(|event| (event.key.bucket(), event.key));
        let own = events.iter().filter_map(|(_, numbers)| numbers.first());
        let tokens = events.iter().flat_map(|(_, numbers)| numbers.iter().skip(1));
        let work = at_once::work(&arrivals)?;
        Ok(Self {
            shard,
            slot: shard.slot(slot),
            rows: [
                ledger::rows(&candidates),
                payload::rows(&arrivals),
                at_once::deliveries(&work),
            ],
            work,
            numbers: own.chain(tokens).copied().collect(),
            arrivals,
            candidates,
        })
    }

    /// The statement that writes the events whose identities are new, and returns these identities.
    fn text(&self) -> &str {
        let has_deliveries = !self.work.is_empty();
        let text = &self.shard.texts[usize::from(has_deliveries)];
        text.get_or_init(|| statement(self.shard, has_deliveries))
    }

    fn params<'p>(&'p self, now: &'p i64) -> Vec<Param<'p>> {
        let [ledger, events, deliveries] = &self.rows;
        let mut params = vec![param(now), param(&self.numbers), param(&self.slot)];
        params.extend(ledger.arrays());
        params.extend(events.arrays());
        if !self.work.is_empty() {
            params.extend(deliveries.arrays());
        }
        params
    }

    async fn holders(&self, session: &Session, keys: Vec<Key>) -> Result<Vec<tokio_postgres::Row>, Failure> {
        let text = format!(
            concat!(
                "SELECT ",
                holder_columns!(),
                " FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
                  JOIN hapax.ledger_{} l ON l.bucket = ANY (ARRAY[n.bucket]) AND l.key = n.key"
            ),
            self.shard.id
        );
        let batch = Batch::in_buckets(keys.iter().map(|key| key_bucket(*key)))
            .column("key", keys.iter().map(|key| key_uuid(*key)));
        let params: Vec<Param<'_>> = batch.arrays().collect();
        session.rows(&text, &params).await
    }

    fn handed(&self, now: Timestamp) -> Result<HashMap<Key, Vec<Option<Handed>>>, Failure> {
        at_once::handed(&self.arrivals, &self.work, &self.numbers.0, now)
    }
}

/// The statement for a shard: see [`at_once`]. Unlike there, it writes the events whose identities are new even if others
/// are known, since it needs to draw no numbers.
fn statement(shard: &Shard, has_deliveries: bool) -> String {
    let Shard {
        id,
        events,
        work,
        tallies,
        ..
    } = shard;
    let is_begun = is_begun!();
    let deliveries = if has_deliveries {
        format!(
            "enqueued AS (
                 INSERT INTO hapax.work_{work}
                     (bucket, id, destination, class, state, wake_at, token, attempts, lost, owner, generation,
                      accepted_at, idempotency_key)
                 SELECT n.bucket, n.id, n.destination, n.class, n.state, $1::int8 + n.lease_for,
                        coalesce(($2::int8[])[n.token_at], 0), n.attempts, 0, n.owner, 0, $1::int8, n.idempotency_key
                 FROM unnest($27::int2[], $28::uuid[], $29::text[], $30::int2[], $31::int2[], $32::int8[], $33::int4[],
                             $34::int8[], $35::int8[], $36::uuid[])
                      AS n (bucket, id, destination, class, state, lease_for, token_at, attempts, owner,
                            idempotency_key)
                 WHERE n.id = ANY (ARRAY(SELECT id FROM claimed))),"
        )
    } else {
        String::new()
    };
    format!(
        "WITH claimed AS (
             INSERT INTO hapax.ledger_{id}
                 (bucket, key, id, generation, first_seen, expires_at, forgotten, stored, scope, raw_hash,
                  content_rule, content_hash)
             SELECT n.bucket, n.key, n.id, 0, $1::int8, n.expires_at, false, true, n.scope, n.raw_hash,
                    n.content_rule, n.content_hash
             FROM unnest($4::int2[], $5::uuid[], $6::uuid[], $7::int8[], $8::text[], $9::bytea[], $10::text[],
                         $11::bytea[]) WITH ORDINALITY
                  AS n (bucket, key, id, expires_at, scope, raw_hash, content_rule, content_hash, place)
             WHERE {is_begun}
             ORDER BY n.place
             ON CONFLICT (bucket, key) DO NOTHING
             RETURNING key, id, scope),
         stored AS (
             INSERT INTO hapax.events_{events}
                 (bucket, id, no, key, generation, received_at, accepted_at, signed_at, secret_index, batch_id,
                  batch_index, scope, source, event_id, type, raw_hash, headers, body)
             SELECT n.bucket, n.id, ($2::int8[])[n.place::int4], n.key, 0, n.received_at, $1::int8, n.signed_at,
                    n.secret_index, n.batch_id, n.batch_index, n.scope, n.source, n.event_id, n.type, n.raw_hash,
                    n.headers, n.body
             FROM unnest($12::int2[], $13::uuid[], $14::uuid[], $15::int8[], $16::int8[], $17::int4[], $18::uuid[],
                         $19::int8[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bytea[], $25::bytea[],
                         $26::bytea[]) WITH ORDINALITY
                  AS n (bucket, id, key, received_at, signed_at, secret_index, batch_id, batch_index, scope, source,
                        event_id, type, raw_hash, headers, body, place)
             WHERE n.id = ANY (ARRAY(SELECT id FROM claimed))),
         {deliveries}
         tallied AS (
             INSERT INTO hapax.tallies_{tallies} AS t (bucket, kind, scope, entries)
             SELECT $3::int2, n.kind, n.scope, n.entries
             FROM (SELECT 0::int2, '', count(*) FROM claimed HAVING count(*) > 0
                   UNION ALL
                   SELECT 1::int2, scope, count(*) FROM claimed GROUP BY scope) AS n (kind, scope, entries)
             ORDER BY n.kind, n.scope
             ON CONFLICT (bucket, kind, scope) DO UPDATE SET entries = t.entries + excluded.entries)
         SELECT ARRAY(SELECT key FROM claimed)"
    )
}
