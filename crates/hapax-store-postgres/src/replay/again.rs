//! Where a replayed delivery comes to stand, and its new row of work.

use std::collections::BTreeSet;

use hapax_core::store::{ReplayOrder, ReplayTarget};
use hapax_core::{Generation, Lane, Timestamp};
use uuid::Uuid;

use super::{Finished, Subject};
use crate::bind::bind;
use crate::failure::Failure;
use crate::lanes::{self, Place, Standing};
use crate::rows::{Class, lane_of, on_dead_code, uuid_of};
use crate::session::Session;

const INTO_HISTORY: &str = "
    UPDATE hapax.outcomes SET is_current = false, holds = false
    WHERE bucket = $1::int2 AND id = $2::uuid AND destination = $3::text AND is_current";

const INSERT: &str = "
    INSERT INTO hapax.work (bucket, id, destination, class, state, wake_at, token, attempts, lost, owner, generation,
                            accepted_at, idempotency_key, lane, lane_order, on_dead, replay)
    VALUES ($1::int2, $2::uuid, $3::text, $4::int2, 0, $5::int8, $6::int8, 0, 0, NULL, $7::int8, $8::int8, $9::uuid,
            $10::text, $11::int8, $12::int2, $13::uuid)";

/// Makes a finished delivery work again; its generation.
pub(super) async fn put_back(
    session: &Session,
    order: &ReplayOrder,
    subject: &Subject,
    delivery: &Finished,
    forced: Option<Generation>,
    now: Timestamp,
) -> Result<Generation, Failure> {
    let row = &delivery.row;
    session
        .execute(INTO_HISTORY, bind![row.bucket, row.id, row.destination.as_str()])
        .await?;
    let (generation, key) = match forced {
        Some(generation) => {
            let destination = row.destination.as_str().into();
            let key = subject.identity.idempotency_key(generation, &destination);
            (i64::from(generation.0), Uuid::from_bytes(*key.as_bytes()))
        }
        None => (row.generation, row.idempotency_key),
    };
    // A dead head that holds its lane never left it: it runs in its old place.
    let spot = if delivery.holds {
        let place: Vec<Place> = row.place().into_iter().collect();
        lanes::stand(session, &place, Standing::Awake).await?;
        Spot {
            class: Class::Fresh,
            lane: lane_of(row.lane.clone(), row.on_dead),
            order: row.lane_order,
        }
    } else {
        let lane = match &order.to {
            Some(target) => target.lane.clone(),
            None => lane_of(row.lane.clone(), row.on_dead),
        };
        at_tail(session, subject, &row.destination, lane).await?
    };
    insert(
        session,
        order,
        subject,
        &row.destination,
        (generation, key),
        &spot,
        now,
    )
    .await?;
    Ok(Generation(u32::try_from(generation).unwrap_or(u32::MAX)))
}

/// Makes work for a destination where the event never went.
pub(super) async fn create(
    session: &Session,
    order: &ReplayOrder,
    subject: &Subject,
    target: &ReplayTarget,
    generation: Generation,
    now: Timestamp,
) -> Result<(), Failure> {
    let key = subject.identity.idempotency_key(generation, &target.destination);
    let key = Uuid::from_bytes(*key.as_bytes());
    let destination = target.destination.as_str();
    let spot = at_tail(session, subject, destination, target.lane.clone()).await?;
    let generation = i64::from(generation.0);
    insert(
        session,
        order,
        subject,
        destination,
        (generation, key),
        &spot,
        now,
    )
    .await
}

/// Where a replayed delivery comes to stand.
struct Spot {
    class: Class,
    lane: Option<Lane>,
    order: Option<i64>,
}

async fn at_tail(
    session: &Session,
    subject: &Subject,
    destination: &str,
    lane: Option<Lane>,
) -> Result<Spot, Failure> {
    let Some(lane) = lane else {
        return Ok(Spot {
            class: Class::Fresh,
            lane: None,
            order: None,
        });
    };
    let name = (destination.to_owned(), lane.key.clone());
    let taken = lanes::taken(session, &BTreeSet::from([name.clone()])).await?;
    let (class, standing) = if taken.is_empty() {
        (Class::Fresh, Standing::Awake)
    } else {
        (Class::Waiting, Standing::Waiting)
    };
    let (_, mut numbers) = session.take(1).await?;
    let order = numbers.next()?;
    let place = Place {
        lane: name,
        order,
        event_bucket: subject.bucket,
        event: subject.id,
    };
    lanes::join(session, &[(place, standing)]).await?;
    Ok(Spot {
        class,
        lane: Some(lane),
        order: Some(order),
    })
}

async fn insert(
    session: &Session,
    order: &ReplayOrder,
    subject: &Subject,
    destination: &str,
    (generation, key): (i64, Uuid),
    spot: &Spot,
    now: Timestamp,
) -> Result<(), Failure> {
    let (_, mut numbers) = session.take(1).await?;
    session
        .execute(
            INSERT,
            bind![
                subject.bucket,
                subject.id,
                destination,
                spot.class.code(),
                now.as_micros(),
                numbers.next()?,
                generation,
                subject.accepted_at,
                key,
                spot.lane.as_ref().map(|lane| lane.key.as_str()),
                spot.order,
                spot.lane.as_ref().map(|lane| on_dead_code(lane.on_dead)),
                order.job.map(|job| uuid_of(job.0)),
            ],
        )
        .await
}
