//! Creating the deliveries of accepted events: due, waiting in a lane, or already leased to the caller.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::future::join;
use hapax_core::store::Handed;
use hapax_core::{DeliveryState, Generation, Key, NewDelivery, NewEvent, Timestamp, Token};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::lanes::{self, LaneName, LanePosition, Standing};
use crate::outcome::{self, Ending, WorkRow};
use crate::rows::{Class, bucket_of, on_dead_code, state_code, uuid_of};
use crate::session::{Numbers, Session};

const INSERT: &str = "INSERT INTO hapax.work {rows}";

/// The rows to be written.
pub(super) struct Plan {
    /// The events' numbers, in their order.
    pub(super) numbers: Vec<i64>,
    /// The leases returned to the caller, for each event with deliveries.
    pub(super) handed: HashMap<Key, Vec<Option<Handed>>>,
    rows: Vec<Row>,
    places: Vec<(LanePosition, Standing)>,
    /// Deliveries that are not attempted until an operator releases them, and the numbers for their ends.
    held: Vec<(WorkRow, Ending)>,
    ends: Numbers,
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

impl Row {
    /// Its position in its lane, and its state there.
    fn place(&self) -> Option<(LanePosition, Standing)> {
        let place = LanePosition {
            lane: (self.destination.clone(), self.lane.clone()?),
            order: self.lane_order?,
            event_bucket: self.bucket,
            event: self.id,
        };
        let standing = match self.class {
            Class::Waiting => Standing::Waiting,
            Class::Fresh | Class::Running | Class::Suspect => Standing::Awake,
        };
        Some((place, standing))
    }
}

/// Locks the lanes and numbers the winners and their deliveries.
pub(super) async fn plan(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    held: &HashSet<Key>,
    now: Timestamp,
) -> Result<Plan, Failure> {
    let is_held = |event: &NewEvent| held.contains(&event.key);
    let deliveries = || {
        let events = winners.iter().filter(|(event, _)| !is_held(event));
        events.flat_map(|(event, _)| &event.deliveries)
    };
    let held_deliveries = winners.iter().filter(|(event, _)| is_held(event));
    let held_deliveries: usize = held_deliveries.map(|(event, _)| event.deliveries.len()).sum();
    let lanes: BTreeSet<LaneName> = deliveries().filter_map(lane_name).collect();
    lanes::lock(session, &lanes, now).await?;
    // Under the locks, so that a later position in a lane has a greater number. And only now that the winners are
    // known: drawing numbers writes, and a duplicate must not write.
    let numbered = deliveries().filter(|delivery| is_numbered(delivery)).count();
    let (drawn, taken) = join(
        session.take(winners.len() + numbered + NUMBERS_HELD * held_deliveries),
        lanes::taken(session, &lanes),
    )
    .await;
    let ((_, mut numbers), mut taken) = (drawn?, taken?);
    let mut plan = Plan {
        numbers: Vec::with_capacity(winners.len()),
        handed: HashMap::with_capacity(winners.len()),
        rows: Vec::new(),
        places: Vec::new(),
        held: Vec::new(),
        ends: Numbers::default(),
    };
    for (event, generation) in winners {
        plan.numbers.push(numbers.next()?);
        let mut answers = Vec::with_capacity(event.deliveries.len());
        for delivery in &event.deliveries {
            if is_held(event) {
                let row = held_row(event, *generation, delivery, now, &mut numbers)?;
                plan.held.push((row, Ending::Held));
                answers.push(None);
                continue;
            }
            let (row, handed) = row(event, *generation, delivery, now, &mut numbers, &mut taken)?;
            plan.places.extend(row.place());
            plan.rows.push(row);
            answers.push(handed);
        }
        plan.handed.insert(event.key, answers);
    }
    plan.ends = numbers;
    Ok(plan)
}

/// Numbers that a held delivery takes: its token, its position if it is released into a lane, its end.
const NUMBERS_HELD: usize = 3;

fn held_row(
    event: &NewEvent,
    generation: Generation,
    delivery: &NewDelivery,
    now: Timestamp,
    numbers: &mut Numbers,
) -> Result<WorkRow, Failure> {
    let key = event.identity.idempotency_key(generation, &delivery.destination);
    let (token, place) = (numbers.next()?, numbers.next()?);
    let lane = delivery.lane.as_ref();
    Ok(WorkRow {
        bucket: bucket_of(event.id),
        id: uuid_of(event.id),
        destination: delivery.destination.as_str().to_owned(),
        token,
        attempts: 0,
        lost: 0,
        generation: i64::from(generation.0),
        accepted_at: now.as_micros(),
        idempotency_key: Uuid::from_bytes(*key.as_bytes()),
        lane: lane.map(|lane| lane.key.clone()),
        lane_order: lane.map(|_| place),
        on_dead: lane.map(|lane| on_dead_code(lane.on_dead)),
        replay: None,
    })
}

/// Writes held deliveries: dead from the start.
pub(super) async fn hold(session: &Session, plan: &mut Plan, now: Timestamp) -> Result<(), Failure> {
    if plan.held.is_empty() {
        return Ok(());
    }
    outcome::conclude(session, &plan.held, &mut plan.ends, now).await
}

fn lane_name(delivery: &NewDelivery) -> Option<LaneName> {
    let lane = delivery.lane.as_ref()?;
    Some((delivery.destination.as_str().to_owned(), lane.key.clone()))
}

/// Whether it needs a number, for its position in its lane or for its token.
const fn is_numbered(delivery: &NewDelivery) -> bool {
    delivery.lane.is_some() || delivery.first_lease.is_some()
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
        // The first delivery in an empty lane is its head; later ones wait.
        if !taken.insert(name) {
            row.class = Class::Waiting;
        }
        return Ok((row, None));
    }
    let Some(terms) = &delivery.first_lease else {
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

/// Writes the deliveries.
pub(super) async fn insert(session: &Session, plan: &Plan, now: Timestamp) -> Result<(), Failure> {
    let rows = || plan.rows.iter();
    let batch = Batch::in_buckets(rows().map(|row| row.bucket))
        .column("id", rows().map(|row| row.id))
        .column("destination", rows().map(|row| row.destination.as_str()))
        .column("class", rows().map(|row| row.class.code()))
        .column("state", rows().map(|row| state_code(row.state)))
        .column("wake_at", rows().map(|row| row.wake_at.as_micros()))
        .column("token", rows().map(|row| row.token))
        .column("attempts", rows().map(|row| row.attempts))
        .same("lost", 0_i64)
        .column("owner", rows().map(|row| row.owner))
        .column("generation", rows().map(|row| i64::from(row.generation.0)))
        .same("accepted_at", now.as_micros())
        .column("idempotency_key", rows().map(|row| row.idempotency_key))
        .column("lane", rows().map(|row| row.lane.as_deref()))
        .column("lane_order", rows().map(|row| row.lane_order))
        .column("on_dead", rows().map(|row| row.on_dead));
    session.write(INSERT, &batch).await?;
    lanes::join(session, &plan.places).await
}
