//! Many claims in one statement, for consumers that apply events in batches.

use ::tokio_postgres::types::{ToSql, Type};
use ::tokio_postgres::{Client, Row, Statement, Transaction as PostgresTransaction};

use super::Inbox;
use crate::claim::{Claim, against};
use crate::driver::postgres::vanished;
use crate::driver::tokio_postgres::error;
use crate::error::{DatabaseError, Trouble};
use crate::event::{Event, EventOrigin};
use crate::limits::{BATCH_EVENTS_MAX, CLAIM_ATTEMPTS_MAX};

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

/// The types of the parameters of [`CLAIM_MANY`].
const CLAIM_MANY_TYPES: [Type; 6] = [
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::TEXT,
    Type::FLOAT8,
];

/// What a row is known by, apart from its consumer.
type Key<'e> = (&'e str, &'e str, i32);
type Parameter<'p> = (&'p (dyn ToSql + Sync), Type);

/// The claim of [`Inbox::claim_many`] as the server has prepared it: for consumers that keep a connection and claim on it
/// again and again.
#[derive(Clone)]
pub struct PreparedClaims(Statement);

impl std::fmt::Debug for PreparedClaims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedClaims").finish_non_exhaustive()
    }
}

impl PreparedClaims {
    /// Prepares the claim on a connection. The connection must lead to one session of the database: a pooler that gives
    /// every transaction another session loses prepared statements.
    pub async fn new(client: &Client) -> Result<Self, DatabaseError> {
        let prepared = client.prepare_typed(CLAIM_MANY, &CLAIM_MANY_TYPES).await;
        Ok(Self(prepared.map_err(error)?))
    }
}

impl Inbox {
    /// Claims up to [`crate::limits::BATCH_EVENTS_MAX`] events at once, in the order of their keys, and returns for
    /// each event, in the order given, what [`Inbox::claim`] would have returned. Of duplicates within the batch, the
    /// earliest is the first.
    pub async fn claim_many(
        &self,
        transaction: &PostgresTransaction<'_>,
        events: impl IntoIterator<Item = &Event>,
    ) -> Result<Vec<Claim>, DatabaseError> {
        self.claim_all(transaction, None, events.into_iter().collect())
            .await
    }

    /// Like [`Inbox::claim_many`], with a claim that was prepared on the transaction's connection.
    pub async fn claim_many_prepared(
        &self,
        transaction: &PostgresTransaction<'_>,
        prepared: &PreparedClaims,
        events: impl IntoIterator<Item = &Event>,
    ) -> Result<Vec<Claim>, DatabaseError> {
        self.claim_all(transaction, Some(prepared), events.into_iter().collect())
            .await
    }

    async fn claim_all(
        &self,
        transaction: &PostgresTransaction<'_>,
        prepared: Option<&PreparedClaims>,
        events: Vec<&Event>,
    ) -> Result<Vec<Claim>, DatabaseError> {
        if events.len() > BATCH_EVENTS_MAX {
            return Err(too_many(events.len()));
        }
        if events.iter().any(|event| event.transmission().is_some()) {
            return Err(bound());
        }
        let (leaders, leader_of) = leaders(&events);
        let batch = Batch {
            transaction,
            prepared,
            inbox: self,
            leaders,
        };
        let mut open: Vec<usize> = (0..batch.leaders.len()).collect();
        let mut stored: Vec<Option<Stored>> = open.iter().map(|_| None).collect();
        for _ in 0..CLAIM_ATTEMPTS_MAX {
            if open.is_empty() {
                break;
            }
            batch.insert(&open, &mut stored).await?;
            open.retain(|leader| stored[*leader].is_none());
            if open.is_empty() {
                break;
            }
            batch.look_up(&open, &mut stored).await?;
            open.retain(|leader| stored[*leader].is_none());
        }
        if !open.is_empty() {
            return Err(vanished());
        }
        batch.extend(&events, &leader_of, &stored).await?;
        Ok(judge(&events, &leader_of, stored))
    }
}

/// An event that is claimed together with its transmission.
fn bound() -> DatabaseError {
    DatabaseError {
        trouble: Trouble::Refused,
        source: "an event of the batch comes from a provider that does not sign the body; claim it with `Inbox::claim`".into(),
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

/// The first event of each key, sorted by key, and for every event which of them has its key.
fn leaders<'e>(events: &[&'e Event]) -> (Vec<&'e Event>, Vec<usize>) {
    let mut places: Vec<usize> = (0..events.len()).collect();
    places.sort_unstable_by_key(|place| (key(events[*place]), *place));
    let mut leaders: Vec<&Event> = Vec::with_capacity(events.len());
    let mut leader_of = vec![0; events.len()];
    for place in places {
        if leaders.last().is_none_or(|last| key(last) != key(events[place])) {
            leaders.push(events[place]);
        }
        leader_of[place] = leaders.len() - 1;
    }
    (leaders, leader_of)
}

struct Batch<'b, 'c> {
    transaction: &'b PostgresTransaction<'c>,
    prepared: Option<&'b PreparedClaims>,
    inbox: &'b Inbox,
    /// One event of each key, sorted by key.
    leaders: Vec<&'b Event>,
}

impl Batch<'_, '_> {
    async fn insert(&self, open: &[usize], stored: &mut [Option<Stored>]) -> Result<(), DatabaseError> {
        let columns = self.columns(open);
        let hashes: Vec<_> = open
            .iter()
            .map(|leader| self.leaders[*leader].body_hash())
            .collect();
        let hashes: Vec<Option<&[u8]>> = hashes
            .iter()
            .map(|hash| hash.as_ref().map(|hash| hash.as_bytes().as_slice()))
            .collect();
        let (consumer, seconds) = (self.inbox.consumer(), self.seconds());
        let values: [&(dyn ToSql + Sync); 6] = [
            &columns.sources,
            &columns.ids,
            &columns.generations,
            &hashes,
            &consumer,
            &seconds,
        ];
        let rows = if let Some(PreparedClaims(statement)) = self.prepared {
            self.transaction.query(statement, &values).await
        } else {
            let parameters: Vec<Parameter<'_>> = values.into_iter().zip(CLAIM_MANY_TYPES).collect();
            self.transaction.query_typed(CLAIM_MANY, &parameters).await
        };
        let rows = rows.map_err(error)?;
        if rows.len() == open.len() {
            // Nearly always: all of them are new.
            for leader in open {
                stored[*leader] = Some(Stored::Ours);
            }
            return Ok(());
        }
        for row in &rows {
            if let Some(leader) = self.leader(row)? {
                stored[leader] = Some(Stored::Ours);
            }
        }
        Ok(())
    }

    async fn look_up(&self, open: &[usize], stored: &mut [Option<Stored>]) -> Result<(), DatabaseError> {
        let columns = self.columns(open);
        let [sources, ids, generations] = columns.parameters();
        let consumer = self.inbox.consumer();
        let parameters = [sources, ids, generations, (&consumer as _, Type::TEXT)];
        let rows = self
            .transaction
            .query_typed(LOOK_UP_MANY, &parameters)
            .await
            .map_err(error)?;
        for row in &rows {
            if let Some(leader) = self.leader(row)? {
                stored[leader] = Some(Stored::Found(row.try_get(3).map_err(error)?));
            }
        }
        Ok(())
    }

    /// Extends the retention of the rows of replayed events.
    async fn extend(
        &self,
        events: &[&Event],
        leader_of: &[usize],
        stored: &[Option<Stored>],
    ) -> Result<(), DatabaseError> {
        let mut extended: Vec<usize> = (0..events.len())
            .filter(|place| events[*place].arrival() == EventOrigin::Replayed)
            .map(|place| leader_of[place])
            .filter(|leader| matches!(stored[*leader], Some(Stored::Found(_))))
            .collect();
        extended.sort_unstable();
        extended.dedup();
        if extended.is_empty() {
            return Ok(());
        }
        let (columns, seconds) = (self.columns(&extended), self.seconds());
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

    fn seconds(&self) -> f64 {
        f64::from(self.inbox.retention_seconds())
    }

    /// Which of the leaders has the key of a row.
    fn leader(&self, row: &Row) -> Result<Option<usize>, DatabaseError> {
        let text = |column| row.try_get::<_, &str>(column).map_err(error);
        let found: Key<'_> = (text(0)?, text(1)?, row.try_get(2).map_err(error)?);
        Ok(self
            .leaders
            .binary_search_by(|leader| key(leader).cmp(&found))
            .ok())
    }

    fn columns(&self, leaders: &[usize]) -> Columns<'_> {
        let keys = || leaders.iter().map(|leader| key(self.leaders[*leader]));
        Columns {
            sources: keys().map(|(source, _, _)| source).collect(),
            ids: keys().map(|(_, id, _)| id).collect(),
            generations: keys().map(|(_, _, generation)| generation).collect(),
        }
    }
}

/// The claims in the order of the events: the first event of a key that this transaction inserted is the first of all;
/// later duplicates in the batch are compared with it.
fn judge(events: &[&Event], leader_of: &[usize], mut stored: Vec<Option<Stored>>) -> Vec<Claim> {
    let one = |(event, leader): (&&Event, &usize)| match &mut stored[*leader] {
        Some(slot @ Stored::Ours) => {
            *slot = Stored::Found(event.body_hash().map(|hash| hash.as_bytes().to_vec()));
            Claim::First
        }
        Some(Stored::Found(found)) => against(event.body_hash(), found.as_deref()),
        None => Claim::Again,
    };
    events.iter().zip(leader_of).map(one).collect()
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

fn key(event: &Event) -> Key<'_> {
    (event.source(), event.event_id(), event.generation().0 as i32)
}
