//! Making the work of accepted events: due, waiting in a lane, or handed over already leased.

use std::collections::{BTreeSet, HashMap};

use hapax_core::store::Handed;
use hapax_core::{DeliveryState, Generation, Key, NewDelivery, NewEvent, Timestamp, Token};
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::lanes::{self, LaneName};
use crate::rows::{Class, bucket_of, on_dead_code, state_code, uuid_of};
use crate::session::{Numbers, Session};

const INSERT: &str = "
    INSERT INTO hapax.work (bucket, id, destination, class, state, wake_at, token, attempts, lost, owner, generation,
                            accepted_at, idempotency_key, lane, lane_order, on_dead, replay)
    SELECT n.bucket, n.id, n.destination, n.class, n.state, n.wake_at, n.token, n.attempts, 0, n.owner, n.generation,
           $14::int8, n.idempotency_key, n.lane, n.lane_order, n.on_dead, NULL
    FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::int2[], $5::int2[], $6::int8[], $7::int8[], $8::int8[],
                $9::int8[], $10::int8[], $11::uuid[], $12::text[], $13::int8[], $15::int2[])
         AS n (bucket, id, destination, class, state, wake_at, token, attempts, owner, generation, idempotency_key,
               lane, lane_order, on_dead)";

/// What will be written.
pub(super) struct Plan {
    /// The events' numbers, in their order.
    pub(super) numbers: Vec<i64>,
    /// For each event with deliveries: what was handed over.
    pub(super) handed: HashMap<Key, Vec<Option<Handed>>>,
    rows: Vec<Row>,
}

struct Row {
    bucket: i16,
    id: Uuid,
    destination: String,
    class: Class,
    state: DeliveryState,
    wake_at: Timestamp,
    token: i64,
    attempts: i64,
    owner: Option<i64>,
    generation: Generation,
    idempotency_key: Uuid,
    lane: Option<String>,
    lane_order: Option<i64>,
    on_dead: Option<i16>,
}

/// Locks the lanes and draws the numbers for the winners' work.
pub(super) async fn plan(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    now: Timestamp,
) -> Result<Plan, Failure> {
    let deliveries = || winners.iter().flat_map(|(event, _)| &event.deliveries);
    let lanes: BTreeSet<LaneName> = deliveries().filter_map(lane_name).collect();
    lanes::lock(session, &lanes, now).await?;
    let ordered = deliveries().filter(|delivery| delivery.lane.is_some()).count();
    let leased = deliveries().filter(|delivery| is_handed(delivery)).count();
    // Under the locks: a later place in a lane has a greater number.
    let (_, mut numbers) = session.take(winners.len() + ordered + leased).await?;
    let mut taken = lanes::taken(session, &lanes).await?;
    let mut plan = Plan {
        numbers: Vec::with_capacity(winners.len()),
        handed: HashMap::with_capacity(winners.len()),
        rows: Vec::new(),
    };
    for (event, generation) in winners {
        plan.numbers.push(numbers.next()?);
        let mut answers = Vec::with_capacity(event.deliveries.len());
        for delivery in &event.deliveries {
            let (row, handed) = row(event, *generation, delivery, now, &mut numbers, &mut taken)?;
            plan.rows.push(row);
            answers.push(handed);
        }
        plan.handed.insert(event.key, answers);
    }
    Ok(plan)
}

fn lane_name(delivery: &NewDelivery) -> Option<LaneName> {
    let lane = delivery.lane.as_ref()?;
    Some((delivery.destination.as_str().to_owned(), lane.key.clone()))
}

const fn is_handed(delivery: &NewDelivery) -> bool {
    delivery.lane.is_none() && delivery.hand_over.is_some()
}

fn row(
    event: &NewEvent,
    generation: Generation,
    delivery: &NewDelivery,
    now: Timestamp,
    numbers: &mut Numbers,
    taken: &mut BTreeSet<LaneName>,
) -> Result<(Row, Option<Handed>), Failure> {
    let key = event.identity.idempotency_key(generation, &delivery.destination);
    let mut row = Row {
        bucket: bucket_of(event.id),
        id: uuid_of(event.id),
        destination: delivery.destination.as_str().to_owned(),
        class: Class::Fresh,
        state: DeliveryState::Pending,
        wake_at: now,
        token: 0,
        attempts: 0,
        owner: None,
        generation,
        idempotency_key: Uuid::from_bytes(*key.as_bytes()),
        lane: delivery.lane.as_ref().map(|lane| lane.key.clone()),
        lane_order: None,
        on_dead: delivery.lane.as_ref().map(|lane| on_dead_code(lane.on_dead)),
    };
    if let Some(name) = lane_name(delivery) {
        row.lane_order = Some(numbers.next()?);
        // The first into an empty lane is its head; those after it wait.
        if !taken.insert(name) {
            row.class = Class::Waiting;
        }
        return Ok((row, None));
    }
    let Some(terms) = &delivery.hand_over else {
        return Ok((row, None));
    };
    row.token = numbers.next()?;
    row.class = Class::Running;
    row.state = DeliveryState::Running;
    row.wake_at = now.plus(terms.lease_for);
    row.attempts = 1;
    row.owner = Some(terms.owner.0 as i64);
    let handed = Handed {
        token: Token(row.token as u64),
        lease_until: row.wake_at,
    };
    Ok((row, Some(handed)))
}

/// Writes the work.
pub(super) async fn insert(session: &Session, plan: &Plan, now: Timestamp) -> Result<(), Failure> {
    if plan.rows.is_empty() {
        return Ok(());
    }
    let rows = || plan.rows.iter();
    session
        .execute(
            INSERT,
            bind![
                rows().map(|row| row.bucket).collect::<Column<i16>>(),
                rows().map(|row| row.id).collect::<Column<Uuid>>(),
                rows()
                    .map(|row| row.destination.as_str())
                    .collect::<Column<&str>>(),
                rows().map(|row| row.class.code()).collect::<Column<i16>>(),
                rows().map(|row| state_code(row.state)).collect::<Column<i16>>(),
                rows().map(|row| row.wake_at.as_micros()).collect::<Column<i64>>(),
                rows().map(|row| row.token).collect::<Column<i64>>(),
                rows().map(|row| row.attempts).collect::<Column<i64>>(),
                rows().map(|row| row.owner).collect::<Column<Option<i64>>>(),
                rows()
                    .map(|row| i64::from(row.generation.0))
                    .collect::<Column<i64>>(),
                rows().map(|row| row.idempotency_key).collect::<Column<Uuid>>(),
                rows()
                    .map(|row| row.lane.as_deref())
                    .collect::<Column<Option<&str>>>(),
                rows().map(|row| row.lane_order).collect::<Column<Option<i64>>>(),
                now.as_micros(),
                rows().map(|row| row.on_dead).collect::<Column<Option<i16>>>(),
            ],
        )
        .await
}
