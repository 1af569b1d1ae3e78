//! Putting finished deliveries back to work. The earlier outcome stays as history.

mod again;

use hapax_core::store::{ReplayJobId, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{DeliveryState, EventId, Generation, Identity, Timestamp};
use uuid::Uuid;

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::lanes;
use crate::outcome::{WorkRow, work_row};
use crate::rows::{bucket_of, count_at, generation_at, key_bucket, key_uuid, state_of, uuid_of};
use crate::session::Session;

// A purge that has the event first wins: then it is not found.
const LOCK_EVENTS: &str = "
    SELECT e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    ORDER BY e.bucket + 0, e.id FOR UPDATE OF e";

const LOCK_LEDGER: &str = "
    SELECT l.key FROM {n}
    JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = e.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

// Of finished and unfinished alike: the one may become the other before the lanes are locked.
const LANES: &str = "
    SELECT w.destination, w.lane FROM {n}
    JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id WHERE w.lane IS NOT NULL
    UNION
    SELECT o.destination, o.lane FROM {n}
    JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.lane IS NOT NULL AND o.is_current";

const SUBJECT: &str = "
    SELECT e.scope, e.event_id, e.generation, e.accepted_at FROM hapax.events e
    WHERE e.bucket = $1::int2 AND e.id = $2::uuid";

const UNFINISHED: &str = "
    SELECT w.id FROM hapax.work w
    WHERE w.bucket = $1::int2 AND w.id = $2::uuid AND ($3::text IS NULL OR w.destination = $3::text) LIMIT 1";

const FINISHED: &str = concat!(
    "SELECT ",
    work_row!(),
    ", w.state, w.holds,
      EXISTS (SELECT FROM hapax.outcomes b WHERE b.bucket = $1::int2 AND b.id = $2::uuid
                AND b.destination = w.destination AND b.replay = $4::uuid)
      FROM hapax.outcomes w
      WHERE w.bucket = $1::int2 AND w.id = $2::uuid AND w.is_current
        AND ($3::text IS NULL OR w.destination = $3::text)
      ORDER BY w.destination"
);

const LEDGER: &str = "
    SELECT l.generation, l.forgotten FROM hapax.ledger l WHERE l.bucket = $1::int2 AND l.key = $2::uuid";

const NEXT_GENERATION: &str = "
    UPDATE hapax.ledger SET generation = generation + 1 WHERE bucket = $1::int2 AND key = $2::uuid";

const SET_GENERATION: &str = "
    UPDATE hapax.events SET generation = $3::int8 WHERE bucket = $1::int2 AND id = $2::uuid";

/// Replays events, each judged by itself.
pub(crate) async fn replay(session: &Session, orders: &[ReplayOrder]) -> Result<Vec<Replayed>, Failure> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let now = session.begin_at().await?;
    lock(session, orders, now).await?;
    let mut answers = Vec::with_capacity(orders.len());
    for order in orders {
        answers.push(replay_one(session, order, now).await?);
    }
    session.commit().await?;
    Ok(answers)
}

/// Locks everything that the orders may touch, in the order of everybody.
async fn lock(session: &Session, orders: &[ReplayOrder], now: Timestamp) -> Result<(), Failure> {
    let ids = |ids: Vec<EventId>| -> Batch<'_> {
        Batch::in_buckets(ids.iter().map(|id| bucket_of(*id))).column("id", ids.iter().map(|id| uuid_of(*id)))
    };
    let events = ids(orders.iter().map(|order| order.event).collect());
    session.write(LOCK_EVENTS, &events).await?;
    let forced = orders
        .iter()
        .filter(|order| order.mode == ReplayMode::Force)
        .map(|order| order.event);
    session.write(LOCK_LEDGER, &ids(forced.collect())).await?;
    let mut names = lanes::names(&session.over(LANES, &events).await?)?;
    names.extend(orders.iter().filter_map(|order| {
        let target = order.to.as_ref()?;
        let lane = target.lane.as_ref()?;
        Some((target.destination.as_str().to_owned(), lane.key.clone()))
    }));
    lanes::lock(session, &names, now).await
}

/// The event as far as a replay needs it.
struct Subject {
    bucket: i16,
    id: Uuid,
    identity: Identity,
    generation: Generation,
    accepted_at: i64,
}

/// A finished delivery.
struct Finished {
    row: WorkRow,
    state: DeliveryState,
    /// It is the dead head of its lane and keeps it waiting.
    holds: bool,
    /// The job that asks, if it has put it back before.
    replayed: Option<ReplayJobId>,
}

async fn replay_one(session: &Session, order: &ReplayOrder, now: Timestamp) -> Result<Replayed, Failure> {
    let Some(subject) = subject(session, order).await? else {
        return Ok(Replayed::NotFound);
    };
    let only = order.to.as_ref().map(|target| target.destination.as_str());
    let unfinished = session
        .optional(UNFINISHED, bind![subject.bucket, subject.id, only])
        .await?;
    if unfinished.is_some() {
        return Ok(Replayed::Unfinished);
    }
    let finished = finished(session, order, &subject, only).await?;
    let known = !finished.is_empty();
    let chosen: Vec<Finished> = finished
        .into_iter()
        .filter(|delivery| order.chooses(delivery.state, delivery.replayed))
        .collect();
    let newcomer = order.to.as_ref().filter(|_| !known);
    if chosen.is_empty() && newcomer.is_none() {
        return Ok(Replayed::Nothing);
    }
    let forced = match order.mode {
        ReplayMode::Force => Some(next_generation(session, &subject).await?),
        ReplayMode::Failed | ReplayMode::All => None,
    };
    let mut generation = forced.unwrap_or(subject.generation);
    let mut deliveries = 0;
    for delivery in &chosen {
        generation = again::put_back(session, order, &subject, delivery, forced, now).await?;
        deliveries += 1;
    }
    if let Some(target) = newcomer {
        again::create(session, order, &subject, target, generation, now).await?;
        deliveries += 1;
    }
    Ok(Replayed::Again {
        deliveries,
        generation,
    })
}

async fn subject(session: &Session, order: &ReplayOrder) -> Result<Option<Subject>, Failure> {
    let (bucket, id) = (bucket_of(order.event), uuid_of(order.event));
    let Some(row) = session.optional(SUBJECT, bind![bucket, id]).await? else {
        return Ok(None);
    };
    Ok(Some(Subject {
        bucket,
        id,
        identity: Identity::new(row.try_get::<_, &str>(0)?, row.try_get::<_, String>(1)?),
        generation: generation_at(&row, 2)?,
        accepted_at: row.try_get(3)?,
    }))
}

async fn finished(
    session: &Session,
    order: &ReplayOrder,
    subject: &Subject,
    only: Option<&str>,
) -> Result<Vec<Finished>, Failure> {
    let job = order.job.map(|job| uuid_of(job.0));
    let rows = session
        .rows(FINISHED, bind![subject.bucket, subject.id, only, job])
        .await?;
    rows.iter()
        .map(|row| {
            let replayed = row.try_get(15)?;
            Ok(Finished {
                row: WorkRow::read(row)?,
                state: state_of(row.try_get(13)?)?,
                holds: row.try_get(14)?,
                replayed: order.job.filter(|_| replayed),
            })
        })
        .collect()
}

/// A generation of the identity that nobody had. A tombstone's is promised to the next event in
/// number only: it moves on.
async fn next_generation(session: &Session, subject: &Subject) -> Result<Generation, Failure> {
    let key = subject.identity.key();
    let (bucket, key) = (key_bucket(key), key_uuid(key));
    let row = session.optional(LEDGER, bind![bucket, key]).await?;
    let taken = match row {
        Some(row) => {
            let generation = Generation(count_at(&row, 0)?);
            if row.try_get(1)? {
                generation
            } else {
                generation.next()
            }
        }
        None => subject.generation.next(),
    };
    session.execute(NEXT_GENERATION, bind![bucket, key]).await?;
    session
        .execute(
            SET_GENERATION,
            bind![subject.bucket, subject.id, i64::from(taken.0)],
        )
        .await?;
    Ok(taken)
}
