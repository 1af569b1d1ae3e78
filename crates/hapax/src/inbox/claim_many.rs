//! Many claims in one statement, for consumers that apply events in batches.

use std::collections::HashMap;

use ::tokio_postgres::Transaction as PostgresTransaction;
use ::tokio_postgres::types::{ToSql, Type};

use super::Inbox;
use crate::claim::{Claim, Mark};
use crate::driver::postgres::{CLAIM_ATTEMPTS_MAX, vanished};
use crate::driver::tokio_postgres::error;
use crate::error::{DatabaseError, Trouble};
use crate::event::Event;
use crate::limits::BATCH_EVENTS_MAX;

/// The caller sorts the rows: two batches that claim in opposite orders would deadlock.
const CLAIM_MANY: &str = "
    INSERT INTO hapax_inbox (scope, event_id, generation, body_hash, consumer, expires_at)
    SELECT scope, event_id, generation, body_hash, $5, now() + make_interval(secs => $6)
    FROM unnest($1::text[], $2::text[], $3::int4[], $4::bytea[])
        WITH ORDINALITY AS mark (scope, event_id, generation, body_hash, place)
    ORDER BY place
    ON CONFLICT (scope, event_id, consumer, generation) DO NOTHING
    RETURNING scope, event_id, generation";

/// A separate statement: the first one's snapshot may not show the winner that it waited for.
const LOOK_UP_MANY: &str = "
    SELECT scope, event_id, generation, body_hash FROM hapax_inbox
    WHERE (scope, event_id, generation) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::int4[]))
      AND consumer = $4";

const EXTEND_MANY: &str = "
    UPDATE hapax_inbox SET expires_at = now() + make_interval(secs => $5)
    WHERE (scope, event_id, generation) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::int4[]))
      AND consumer = $4 AND expires_at < now() + make_interval(secs => $5)";

type Key = (String, String, i32);
type Parameter<'p> = (&'p (dyn ToSql + Sync), Type);

impl Inbox {
    /// Claims up to [`crate::limits::BATCH_EVENTS_MAX`] events at once, in the order of their keys, and returns for
    /// each event, in the order given, what [`Inbox::claim`] would have returned. Of duplicates within the batch, the
    /// earliest is the first.
    pub async fn claim_many(
        &self,
        transaction: &PostgresTransaction<'_>,
        events: &[Event],
    ) -> Result<Vec<Claim>, DatabaseError> {
        if events.len() > BATCH_EVENTS_MAX {
            return Err(too_many(events.len()));
        }
        let marks: Vec<Mark> = events.iter().map(|event| self.mark(event)).collect();
        let batch = Batch {
            transaction,
            inbox: self,
            marks: &marks,
        };
        let mut open: Vec<usize> = batch.leaders();
        let mut stored: HashMap<Key, Stored> = HashMap::new();
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            batch.insert(&open, &mut stored).await?;
            open.retain(|place| !stored.contains_key(&key(&marks[*place])));
            if open.is_empty() {
                break;
            }
            batch.look_up(&open, &mut stored).await?;
            open.retain(|place| !stored.contains_key(&key(&marks[*place])));
        }
        if !open.is_empty() {
            return Err(vanished());
        }
        batch.extend(&stored).await?;
        Ok(batch.judge(stored))
    }
}

fn too_many(events: usize) -> DatabaseError {
    DatabaseError {
        trouble: Trouble::Refused,
        source: format!("the batch has {events} events; claim at most {BATCH_EVENTS_MAX} at once").into(),
    }
}

/// The table's row for a key.
enum Stored {
    /// This transaction inserted it.
    Ours,
    /// It existed before, with this hash.
    Found(Option<Vec<u8>>),
}

struct Batch<'b, 'c> {
    transaction: &'b PostgresTransaction<'c>,
    inbox: &'b Inbox,
    marks: &'b [Mark],
}

impl Batch<'_, '_> {
    /// The positions of the first event of each key, sorted by key.
    fn leaders(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.marks.len()).collect();
        places.sort_by_key(|place| (key(&self.marks[*place]), *place));
        places.dedup_by_key(|place| key(&self.marks[*place]));
        places
    }

    async fn insert(&self, open: &[usize], stored: &mut HashMap<Key, Stored>) -> Result<(), DatabaseError> {
        let columns = self.columns(open);
        let hashes: Vec<Option<&[u8]>> = open.iter().map(|place| hash(&self.marks[*place])).collect();
        let seconds = self.seconds();
        let [sources, ids, generations] = columns.parameters();
        let parameters = [
            sources,
            ids,
            generations,
            (&hashes as _, Type::BYTEA_ARRAY),
            (&self.inbox.consumer() as _, Type::TEXT),
            (&seconds as _, Type::FLOAT8),
        ];
        let rows = self
            .transaction
            .query_typed(CLAIM_MANY, &parameters)
            .await
            .map_err(error)?;
        for row in rows {
            stored.insert(read_key(&row)?, Stored::Ours);
        }
        Ok(())
    }

    async fn look_up(&self, open: &[usize], stored: &mut HashMap<Key, Stored>) -> Result<(), DatabaseError> {
        let columns = self.columns(open);
        let [sources, ids, generations] = columns.parameters();
        let consumer = self.inbox.consumer();
        let parameters = [sources, ids, generations, (&consumer as _, Type::TEXT)];
        let rows = self
            .transaction
            .query_typed(LOOK_UP_MANY, &parameters)
            .await
            .map_err(error)?;
        for row in rows {
            let found = Stored::Found(row.try_get(3).map_err(error)?);
            stored.insert(read_key(&row)?, found);
        }
        Ok(())
    }

    /// Extends the retention of the rows of replayed events.
    async fn extend(&self, stored: &HashMap<Key, Stored>) -> Result<(), DatabaseError> {
        let found = |mark: &Mark| matches!(stored.get(&key(mark)), Some(Stored::Found(_)));
        let mut places = self.leaders();
        places.retain(|place| self.marks[*place].extends() && found(&self.marks[*place]));
        if places.is_empty() {
            return Ok(());
        }
        let (columns, seconds) = (self.columns(&places), self.seconds());
        let [sources, ids, generations] = columns.parameters();
        let consumer = self.inbox.consumer();
        let parameters = [
            sources,
            ids,
            generations,
            (&consumer as _, Type::TEXT),
            (&seconds as _, Type::FLOAT8),
        ];
        self.transaction
            .execute_typed(EXTEND_MANY, &parameters)
            .await
            .map(drop)
            .map_err(error)
    }

    /// The claims in the order of the events: the first event of a key that this transaction inserted is the first of
    /// all; later duplicates in the batch are compared with it.
    fn judge(&self, mut stored: HashMap<Key, Stored>) -> Vec<Claim> {
        let one = |mark: &Mark| match stored.get_mut(&key(mark)) {
            Some(slot @ Stored::Ours) => {
                *slot = Stored::Found(hash(mark).map(<[u8]>::to_vec));
                Claim::First
            }
            Some(Stored::Found(found)) => mark.against(found.as_deref()),
            None => Claim::Again,
        };
        self.marks.iter().map(one).collect()
    }

    fn seconds(&self) -> f64 {
        self.marks
            .first()
            .map_or(0.0, |mark| f64::from(mark.retention_seconds))
    }

    fn columns(&self, places: &[usize]) -> Columns<'_> {
        let marks = || places.iter().map(|place| &self.marks[*place]);
        Columns {
            sources: marks().map(|mark| mark.source.as_str()).collect(),
            ids: marks().map(|mark| mark.event_id.as_str()).collect(),
            generations: marks().map(|mark| mark.generation as i32).collect(),
        }
    }
}

struct Columns<'m> {
    sources: Vec<&'m str>,
    ids: Vec<&'m str>,
    generations: Vec<i32>,
}

impl Columns<'_> {
    fn parameters(&self) -> [Parameter<'_>; 3] {
        [
            (&self.sources, Type::TEXT_ARRAY),
            (&self.ids, Type::TEXT_ARRAY),
            (&self.generations, Type::INT4_ARRAY),
        ]
    }
}

fn key(mark: &Mark) -> Key {
    (mark.source.clone(), mark.event_id.clone(), mark.generation as i32)
}

fn hash(mark: &Mark) -> Option<&[u8]> {
    mark.body_hash.as_ref().map(|hash| hash.as_bytes().as_slice())
}

fn read_key(row: &::tokio_postgres::Row) -> Result<Key, DatabaseError> {
    let column = |place| row.try_get(place).map_err(error);
    Ok((column(0)?, column(1)?, row.try_get(2).map_err(error)?))
}
