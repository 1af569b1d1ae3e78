//! Claiming identities in the ledger: the constraint decides, never a look before.

use std::collections::{HashMap, HashSet};

use hapax_core::{Generation, Key, NewEvent, Timestamp};
use uuid::Uuid;

use super::Fate;
use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::look_up::{Holder, holder_at, holder_columns};
use crate::rows::{key_at, key_bucket, key_uuid, uuid_of};
use crate::session::Session;
use crate::tallies::Tallies;

// Waits for whoever is just inserting one of the keys; if that one rolls back, the insert goes on.
const INSERT: &str = "
    INSERT INTO hapax.ledger (bucket, key, id, generation, first_seen, expires_at, forgotten, stored, scope, raw_hash,
                              content_rule, content_hash)
    SELECT n.bucket, n.key, n.id, 0, $9::int8, n.expires_at, false, true, n.scope, n.raw_hash, n.content_rule,
           n.content_hash
    FROM unnest($1::int2[], $2::uuid[], $3::uuid[], $4::int8[], $5::text[], $6::bytea[], $7::text[], $8::bytea[])
         WITH ORDINALITY
         AS n (bucket, key, id, expires_at, scope, raw_hash, content_rule, content_hash, place)
    ORDER BY n.place
    ON CONFLICT (bucket, key) DO NOTHING
    RETURNING key";

const SELECT: &str = concat!(
    "SELECT ",
    holder_columns!(),
    " FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
      JOIN hapax.ledger l ON l.bucket = n.bucket AND l.key = n.key"
);

const LOCK: &str = concat!(
    "SELECT ",
    holder_columns!(),
    " FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
      JOIN hapax.ledger l ON l.bucket = n.bucket AND l.key = n.key
      ORDER BY l.bucket, l.key FOR UPDATE OF l"
);

const TAKE_OVER: &str = "
    UPDATE hapax.ledger AS l
    SET id = n.id, first_seen = $8::int8, expires_at = n.expires_at, raw_hash = n.raw_hash,
        content_rule = n.content_rule, content_hash = n.content_hash, forgotten = false, stored = true
    FROM unnest($1::int2[], $2::uuid[], $3::uuid[], $4::int8[], $5::bytea[], $6::text[], $7::bytea[])
         AS n (bucket, key, id, expires_at, raw_hash, content_rule, content_hash)
    WHERE l.bucket = n.bucket AND l.key = n.key";

// The last event of a forgotten identity is remembered while it is stored.
const REMEMBER: &str = "
    INSERT INTO hapax.earlier (bucket, key, id)
    SELECT n.bucket, n.key, n.id
    FROM unnest($1::int2[], $2::uuid[], $3::uuid[]) AS n (bucket, key, id)
    JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id
    ON CONFLICT (bucket, key, id) DO NOTHING";

/// Claims the identities of candidates, which are sorted by key.
pub(super) async fn claim(
    session: &Session,
    candidates: &[&NewEvent],
    now: Timestamp,
    tallies: &mut Tallies,
) -> Result<HashMap<Key, Fate>, Failure> {
    let mut fates = HashMap::with_capacity(candidates.len());
    for row in insert(session, candidates, now).await? {
        fates.insert(
            row,
            Fate::New {
                generation: Generation(0),
            },
        );
    }
    let mut losers: Vec<&NewEvent> = Vec::new();
    for candidate in candidates {
        if fates.contains_key(&candidate.key) {
            tallies.ledger(candidate.identity.scope.as_str(), 1);
        } else {
            losers.push(candidate);
        }
    }
    if losers.is_empty() {
        return Ok(fates);
    }
    // A second statement: the first one's snapshot may not see who won.
    let forgotten = seen(session, SELECT, &losers, &mut fates).await?;
    if !forgotten.is_empty() {
        losers.retain(|loser| forgotten.contains_key(&loser.key));
        let forgotten = seen(session, LOCK, &losers, &mut fates).await?;
        losers.retain(|loser| forgotten.contains_key(&loser.key));
        take_over(session, &losers, &forgotten, now).await?;
        for (key, tombstone) in forgotten {
            fates.insert(
                key,
                Fate::New {
                    generation: tombstone.next,
                },
            );
        }
    }
    // One that is neither won nor found was purged just now: the whole is tried again.
    if fates.len() < candidates.len() {
        return Err(Failure::Moved);
    }
    Ok(fates)
}

async fn insert(
    session: &Session,
    candidates: &[&NewEvent],
    now: Timestamp,
) -> Result<HashSet<Key>, Failure> {
    let events = || candidates.iter();
    let rows = session
        .rows(
            INSERT,
            bind![
                events()
                    .map(|event| key_bucket(event.key))
                    .collect::<Column<i16>>(),
                events()
                    .map(|event| key_uuid(event.key))
                    .collect::<Column<Uuid>>(),
                events().map(|event| uuid_of(event.id)).collect::<Column<Uuid>>(),
                events()
                    .map(|event| event.ledger_until.as_micros())
                    .collect::<Column<i64>>(),
                events()
                    .map(|event| event.identity.scope.as_str())
                    .collect::<Column<&str>>(),
                events()
                    .map(|event| &event.raw_hash.as_bytes()[..])
                    .collect::<Column<&[u8]>>(),
                events()
                    .map(|event| event.content_hash.as_ref().map(|content| content.rule.as_str()))
                    .collect::<Column<Option<&str>>>(),
                events()
                    .map(|event| event
                        .content_hash
                        .as_ref()
                        .map(|content| &content.hash.as_bytes()[..]))
                    .collect::<Column<Option<&[u8]>>>(),
                now.as_micros(),
            ],
        )
        .await?;
    rows.iter().map(|row| key_at(row, 0)).collect()
}

/// A forgotten identity.
struct Tombstone {
    last: Uuid,
    next: Generation,
}

/// Reads who has the losers' identities; those that were forgotten.
async fn seen(
    session: &Session,
    sql: &'static str,
    losers: &[&NewEvent],
    fates: &mut HashMap<Key, Fate>,
) -> Result<HashMap<Key, Tombstone>, Failure> {
    let (buckets, keys) = keys(losers);
    let mut forgotten = HashMap::new();
    for row in session.rows(sql, bind![buckets, keys]).await? {
        match holder_at(&row)? {
            (key, Holder::Event(entry)) => {
                fates.insert(key, Fate::Seen(entry));
            }
            (key, Holder::Forgotten { last, next }) => {
                let last = uuid_of(last);
                forgotten.insert(key, Tombstone { last, next });
            }
        }
    }
    Ok(forgotten)
}

async fn take_over(
    session: &Session,
    takers: &[&NewEvent],
    tombstones: &HashMap<Key, Tombstone>,
    now: Timestamp,
) -> Result<(), Failure> {
    if takers.is_empty() {
        return Ok(());
    }
    let (buckets, uuids) = keys(takers);
    let last: Column<Uuid> = takers
        .iter()
        .filter_map(|taker| tombstones.get(&taker.key))
        .map(|tombstone| tombstone.last)
        .collect();
    session.execute(REMEMBER, bind![buckets, uuids, last]).await?;
    let events = || takers.iter();
    session
        .execute(
            TAKE_OVER,
            bind![
                buckets,
                uuids,
                events().map(|event| uuid_of(event.id)).collect::<Column<Uuid>>(),
                events()
                    .map(|event| event.ledger_until.as_micros())
                    .collect::<Column<i64>>(),
                events()
                    .map(|event| &event.raw_hash.as_bytes()[..])
                    .collect::<Column<&[u8]>>(),
                events()
                    .map(|event| event.content_hash.as_ref().map(|content| content.rule.as_str()))
                    .collect::<Column<Option<&str>>>(),
                events()
                    .map(|event| event
                        .content_hash
                        .as_ref()
                        .map(|content| &content.hash.as_bytes()[..]))
                    .collect::<Column<Option<&[u8]>>>(),
                now.as_micros(),
            ],
        )
        .await
}

fn keys(candidates: &[&NewEvent]) -> (Column<i16>, Column<Uuid>) {
    (
        candidates
            .iter()
            .map(|candidate| key_bucket(candidate.key))
            .collect(),
        candidates
            .iter()
            .map(|candidate| key_uuid(candidate.key))
            .collect(),
    )
}
