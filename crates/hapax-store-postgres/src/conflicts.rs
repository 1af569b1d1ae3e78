//! Conflicts: other bodies under a known identity, stored apart, read and released.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{join, join3};
use hapax_core::store::{CONFLICTS_MAX, ConflictRecorded, ConflictingBody, Error};
use hapax_core::{BodyHash, EventId, Headers};
use uuid::Uuid;

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::{self, Failure};
use crate::noted::{self, Noted};
use crate::parts::{Part, Parts};
use crate::rows::{bucket_of, hash_at, id_at, key_at, key_bucket, key_uuid, time_at, uuid_of};
use crate::session::{Numbers, Session};
use crate::step::Runner;

const KNOWN: &str = "
    SELECT c.first, c.raw_hash FROM {n} JOIN hapax.conflicts c ON c.bucket = {bucket} AND c.first = n.first";

// Serialises replicas that store conflicts of the same identity, so that the count is exact.
const LOCK: &str = "
    SELECT l.key FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

const AGAIN: &str = "
    UPDATE hapax.conflicts AS c SET seen = c.seen + n.seen
    FROM {n} WHERE c.bucket = {bucket} AND c.first = n.first AND c.raw_hash = n.raw_hash
    RETURNING c.first";

const INSERT: &str = "
    INSERT INTO hapax.conflicts AS c {rows}
    ON CONFLICT (bucket, first, raw_hash) DO UPDATE SET seen = c.seen + excluded.seen";

const SELECT: &str = "
    SELECT key, source, received_at, headers, body FROM hapax.conflicts
    WHERE bucket = $1::int2 AND first = $2::uuid AND raw_hash = $3::bytea";

const RELEASE: &str = "
    UPDATE hapax.conflicts SET released_as = $4::uuid
    WHERE bucket = $1::int2 AND first = $2::uuid AND raw_hash = $3::bytea";

/// Stores conflicts, each body once. Returns one answer per conflict, in order.
pub(crate) async fn record_conflicts(
    runner: &Runner,
    other_bodies: Vec<ConflictingBody>,
) -> Vec<Result<ConflictRecorded, Error>> {
    let check = |other_body: &ConflictingBody| other_body.check().err().map(Err);
    let refused = other_bodies.iter().map(check).collect();
    let parts = Parts::new(other_bodies, refused, |other_body| {
        other_body.body.len() + other_body.headers.as_bytes().len()
    });
    parts
        .write(|part: Part<ConflictingBody>| async move {
            runner
                .run(&part, |session, part| keep(session, part.items()).boxed())
                .await
        })
        .await
}

/// The stored bodies of each event, by hash.
type Known = HashMap<EventId, HashSet<BodyHash>>;

/// What to do with each conflict.
struct Plan<'v> {
    answers: Vec<ConflictRecorded>,
    /// New bodies in order of arrival, and how often each was seen.
    new: Vec<(&'v ConflictingBody, i64)>,
    /// Bodies that were stored before, and how often each was seen now.
    again: BTreeMap<(i16, Uuid, &'v [u8]), i64>,
}

async fn keep(session: &Session, other_bodies: &[ConflictingBody]) -> Result<Vec<ConflictRecorded>, Failure> {
    let mut known = session.begin_with(look(session, other_bodies)).await?;
    let mut plan = Plan::new(other_bodies, &known);
    let mut numbers = Numbers::default();
    if !plan.new.is_empty() {
        // Other writers of bodies of these events wait from here on; rows committed before the lock are visible now.
        let news: Vec<&ConflictingBody> = plan.new.iter().map(|(other_body, _)| *other_body).collect();
        let keys: BTreeSet<(i16, Uuid)> = news
            .iter()
            .map(|other_body| (key_bucket(other_body.key), key_uuid(other_body.key)))
            .collect();
        let keys = Batch::in_buckets(keys.iter().map(|(bucket, _)| *bucket))
            .column("key", keys.iter().map(|(_, key)| *key));
        let (locked, drawn) = join(session.write(LOCK, &keys), session.take(news.len())).await;
        locked?;
        numbers = drawn?.1;
        known.extend(look(session, news).await?);
        plan = Plan::new(other_bodies, &known);
    }
    let (counted, kept, noted) = join3(
        plan.count(session),
        plan.keep(session, &mut numbers),
        plan.note(session),
    )
    .await;
    failure::all(vec![counted, kept, noted])?;
    session.commit().await?;
    Ok(plan.answers)
}

/// The stored conflicts of these events.
async fn look<'v>(
    session: &Session,
    other_bodies: impl IntoIterator<Item = &'v ConflictingBody>,
) -> Result<Known, Failure> {
    let events: BTreeMap<EventId, i16> = other_bodies
        .into_iter()
        .map(|other_body| (other_body.first, bucket_of(other_body.first)))
        .collect();
    let batch = Batch::in_buckets(events.values().copied())
        .column("first", events.keys().map(|event| uuid_of(*event)));
    let mut known = Known::new();
    for row in &session.over(KNOWN, &batch).await? {
        let first = id_at(row, 0)?;
        known.entry(first).or_default().insert(hash_at(row, 1)?);
    }
    Ok(known)
}

impl<'v> Plan<'v> {
    /// Decides on each conflict in turn.
    fn new(other_bodies: &'v [ConflictingBody], known: &Known) -> Self {
        let mut plan = Self {
            answers: Vec::with_capacity(other_bodies.len()),
            new: Vec::new(),
            again: BTreeMap::new(),
        };
        let mut places: HashMap<(EventId, BodyHash), usize> = HashMap::new();
        let mut added: HashMap<EventId, usize> = HashMap::new();
        for other_body in other_bodies {
            let first = other_body.first;
            let kept = known.get(&first);
            let added = added.entry(first).or_default();
            plan.answers
                .push(if kept.is_some_and(|kept| kept.contains(&other_body.raw_hash)) {
                    let row = (
                        bucket_of(first),
                        uuid_of(first),
                        &other_body.raw_hash.as_bytes()[..],
                    );
                    *plan.again.entry(row).or_default() += 1;
                    ConflictRecorded::Again
                } else if let Some(at) = places.get(&(first, other_body.raw_hash)) {
                    plan.new[*at].1 += 1;
                    ConflictRecorded::Again
                } else if kept.map_or(0, HashSet::len) + *added >= CONFLICTS_MAX {
                    ConflictRecorded::Full
                } else {
                    *added += 1;
                    places.insert((first, other_body.raw_hash), plan.new.len());
                    plan.new.push((other_body, 1));
                    ConflictRecorded::Kept
                });
        }
        plan
    }

    /// Counts the bodies that were stored before.
    async fn count(&self, session: &Session) -> Result<(), Failure> {
        let rows = || self.again.iter();
        let again = Batch::in_buckets(rows().map(|((bucket, ..), _)| *bucket))
            .column("first", rows().map(|((_, first, _), _)| *first))
            .column("raw_hash", rows().map(|((.., raw_hash), _)| *raw_hash))
            .column("seen", rows().map(|(_, seen)| *seen));
        if session.over(AGAIN, &again).await?.len() < self.again.len() {
            // One has just been purged.
            return Err(Failure::Moved);
        }
        Ok(())
    }

    /// Stores the new bodies.
    async fn keep(&self, session: &Session, numbers: &mut Numbers) -> Result<(), Failure> {
        // More than at the first read: some stored bodies have just been purged.
        let numbers = numbers.several(self.new.len()).map_err(|_| Failure::Moved)?;
        let new = || self.new.iter().map(|(other_body, _)| *other_body);
        let batch = Batch::in_buckets(new().map(|other_body| bucket_of(other_body.first)))
            .column("first", new().map(|other_body| uuid_of(other_body.first)))
            .column(
                "raw_hash",
                new().map(|other_body| &other_body.raw_hash.as_bytes()[..]),
            )
            .column("no", numbers)
            .column("key", new().map(|other_body| key_uuid(other_body.key)))
            .column(
                "received_at",
                new().map(|other_body| other_body.received_at.as_micros()),
            )
            .column("seen", self.new.iter().map(|(_, seen)| *seen))
            .column("source", new().map(|other_body| other_body.source.as_str()))
            .column("headers", new().map(|other_body| other_body.headers.as_bytes()))
            .column("body", new().map(|other_body| &other_body.body[..]));
        session.write(INSERT, &batch).await
    }

    /// Marks the events of new bodies as having conflicts.
    async fn note(&self, session: &Session) -> Result<(), Failure> {
        let events = self.new.iter().map(|(other_body, _)| other_body.first);
        let events: BTreeSet<(i16, Uuid)> = events.map(|event| (bucket_of(event), uuid_of(event))).collect();
        noted::note(session, Noted::Conflict, &Vec::from_iter(events)).await
    }
}

/// A conflicting body.
pub(crate) async fn conflict(
    session: &Session,
    (first, raw_hash): &(EventId, BodyHash),
) -> Result<Option<ConflictingBody>, Failure> {
    let (bucket, id, hash) = (bucket_of(*first), uuid_of(*first), &raw_hash.as_bytes()[..]);
    let Some(row) = session.optional(SELECT, bind![bucket, id, hash]).await? else {
        return Ok(None);
    };
    Ok(Some(ConflictingBody {
        key: key_at(&row, 0)?,
        first: *first,
        source: row.try_get::<_, &str>(1)?.into(),
        raw_hash: *raw_hash,
        received_at: time_at(&row, 2)?,
        headers: Headers::from_bytes(Bytes::copy_from_slice(row.try_get(3)?)),
        body: Bytes::copy_from_slice(row.try_get(4)?),
    }))
}

/// Records the event as which a body was released.
pub(crate) async fn mark_released(
    session: &Session,
    (first, raw_hash, event): &(EventId, BodyHash, EventId),
) -> Result<(), Failure> {
    let (bucket, id, hash) = (bucket_of(*first), uuid_of(*first), &raw_hash.as_bytes()[..]);
    session.begin().await?;
    session
        .execute(RELEASE, bind![bucket, id, hash, uuid_of(*event)])
        .await?;
    session.commit().await
}
