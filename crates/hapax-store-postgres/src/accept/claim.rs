//! Claiming identities in the ledger: the constraint decides, never a prior read.

use std::collections::{HashMap, HashSet};

use hapax_core::{Generation, Key, NewEvent, Timestamp};
use uuid::Uuid;

use super::Fate;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::look_up::{Holder, holder_at, holder_columns};
use crate::rows::{key_at, key_bucket, key_uuid, uuid_of};
use crate::session::Session;
use crate::tallies::Tallies;

// Waits for a transaction that is inserting one of the keys; if that one rolls back, the insert proceeds.
const INSERT: &str = "
    INSERT INTO hapax.ledger {sorted rows}
    ON CONFLICT (bucket, key) DO NOTHING
    RETURNING key";

const SELECT: &str = concat!(
    "SELECT ",
    holder_columns!(),
    " FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key"
);

const LOCK: &str = concat!(
    "SELECT ",
    holder_columns!(),
    " FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
      ORDER BY l.bucket + 0, l.key FOR UPDATE OF l"
);

const TAKE_OVER: &str = "
    UPDATE hapax.ledger AS l
    SET id = n.id, first_seen = n.first_seen, expires_at = n.expires_at, raw_hash = n.raw_hash,
        content_rule = n.content_rule, content_hash = n.content_hash, forgotten = false, stored = true
    FROM {n} WHERE l.bucket = {bucket} AND l.key = n.key";

// The last event of a forgotten identity is remembered while it is stored.
const STORED: &str = "
    SELECT e.bucket, e.key, e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

const REMEMBER: &str = "INSERT INTO hapax.earlier {sorted rows} ON CONFLICT (bucket, key, id) DO NOTHING";

/// What became of the candidates, which are sorted by key. `won` are those whose identities were inserted; the holders
/// of the others are read, and forgotten ones are taken over.
pub(super) async fn claim(
    session: &Session,
    candidates: &[&NewEvent],
    won: &HashSet<Key>,
    now: Timestamp,
    tallies: &mut Tallies,
) -> Result<HashMap<Key, Fate>, Failure> {
    let mut fates = HashMap::with_capacity(candidates.len());
    let mut losers: Vec<&NewEvent> = Vec::new();
    for candidate in candidates {
        if won.contains(&candidate.key) {
            let (generation, last) = (Generation(0), None);
            fates.insert(candidate.key, Fate::New { generation, last });
            tallies.ledger(candidate.identity.scope.as_str(), 1);
        } else {
            losers.push(candidate);
        }
    }
    if losers.is_empty() {
        return Ok(fates);
    }
    // A second statement, because the first one's snapshot may not include the winner.
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
                    last: Some(tombstone.last),
                },
            );
        }
    }
    // An identity that was neither won nor found has just been purged: run the whole step again.
    if fates.len() < candidates.len() {
        return Err(Failure::Moved);
    }
    Ok(fates)
}

/// Inserts identities. Returns those that were not in the ledger.
pub(super) async fn insert(
    session: &Session,
    candidates: &[&NewEvent],
    now: Timestamp,
) -> Result<HashSet<Key>, Failure> {
    let batch = rows(candidates)
        .same("first_seen", now.as_micros())
        .same("generation", 0_i64)
        .same("forgotten", false)
        .same("stored", true);
    let rows = session.over(INSERT, &batch).await?;
    rows.iter().map(|row| key_at(row, 0)).collect()
}

/// A forgotten identity.
struct Tombstone {
    last: Uuid,
    next: Generation,
}

/// Reads the holders of the losers' identities. Returns those that were forgotten.
async fn seen(
    session: &Session,
    sql: &'static str,
    losers: &[&NewEvent],
    fates: &mut HashMap<Key, Fate>,
) -> Result<HashMap<Key, Tombstone>, Failure> {
    let mut forgotten = HashMap::new();
    for row in session.over(sql, &keys(losers)).await? {
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
    let last = takers.iter().filter_map(|taker| tombstones.get(&taker.key));
    let last = keys(takers).column("id", last.map(|tombstone| tombstone.last));
    let mut stored: Vec<(i16, Uuid, Uuid)> = Vec::new();
    for row in &session.over(STORED, &last).await? {
        stored.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    let earlier = Batch::in_buckets(stored.iter().map(|(bucket, ..)| *bucket))
        .column("key", stored.iter().map(|(_, key, _)| *key))
        .column("id", stored.iter().map(|(.., id)| *id));
    session.write(REMEMBER, &earlier).await?;
    let takers = rows(takers).same("first_seen", now.as_micros());
    session.write(TAKE_OVER, &takers).await
}

fn keys<'e>(events: &[&'e NewEvent]) -> Batch<'e> {
    Batch::in_buckets(events.iter().map(|event| key_bucket(event.key)))
        .column("key", events.iter().map(|event| key_uuid(event.key)))
}

/// Rows of `hapax.ledger`, without what is assigned as they are written.
pub(super) fn rows<'e>(events: &[&'e NewEvent]) -> Batch<'e> {
    let contents = || events.iter().map(|event| event.content_hash.as_ref());
    keys(events)
        .column("id", events.iter().map(|event| uuid_of(event.id)))
        .column(
            "expires_at",
            events.iter().map(|event| event.ledger_until.as_micros()),
        )
        .column("scope", events.iter().map(|event| event.identity.scope.as_str()))
        .column(
            "raw_hash",
            events.iter().map(|event| &event.raw_hash.as_bytes()[..]),
        )
        .column(
            "content_rule",
            contents().map(|content| content.map(|content| content.rule.as_str())),
        )
        .column(
            "content_hash",
            contents().map(|content| content.map(|content| &content.hash.as_bytes()[..])),
        )
}
