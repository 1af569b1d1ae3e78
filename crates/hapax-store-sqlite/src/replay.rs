//! Replaying finished deliveries. The earlier outcome stays as history.

use hapax_core::store::{ReplayJobId, ReplayMode, ReplayOrder, ReplayTarget, Replayed};
use hapax_core::{DeliveryState, ErrorClass, Generation, Headers, Identity, Lane, Timestamp};
use rusqlite::{OptionalExtension, params};

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::lanes;
use crate::ledger;
use crate::rows::{
    Class, bytes_at, error_at, lane_of, on_dead_code, optional_bytes_at, state_code, state_of,
};
use crate::work_row::WorkRow;

/// Replays events independently of each other.
pub(crate) fn replay(desk: &mut Desk<'_>, orders: &[ReplayOrder]) -> Result<Vec<Replayed>, Failure> {
    orders.iter().map(|order| replay_one(desk, order)).collect()
}

/// The parts of an event that a replay needs.
struct Subject {
    seq: i64,
    identity: Identity,
    generation: Generation,
    /// Its acceptance number.
    no: Option<i64>,
}

/// A finished delivery.
struct Finished {
    row: WorkRow,
    state: DeliveryState,
    error: Option<ErrorClass>,
    /// Whether it is the dead head of its lane and holds it.
    holds: bool,
    /// The job that asks, if it has already replayed this delivery.
    replayed: Option<ReplayJobId>,
}

fn replay_one(desk: &mut Desk<'_>, order: &ReplayOrder) -> Result<Replayed, Failure> {
    let Some(subject) = subject(desk, order)? else {
        return Ok(Replayed::NotFound);
    };
    let target = match &order.to {
        Some(target) => Some((desk.intern(target.destination.as_str())?, target)),
        None => None,
    };
    if unfinished(desk, subject.seq, target.map(|(number, _)| number))? {
        return Ok(Replayed::Unfinished);
    }
    let finished = fitting(desk, order, subject.seq, target.map(|(number, _)| number))?;
    let known = !finished.is_empty();
    let chosen: Vec<Finished> = finished
        .into_iter()
        .filter(|delivery| order.chooses(delivery.state, delivery.error, delivery.replayed))
        .collect();
    let newcomer = target.filter(|_| !known);
    if chosen.is_empty() && newcomer.is_none() {
        return Ok(Replayed::Nothing);
    }
    let forced = match order.mode {
        ReplayMode::Force => Some(next_generation(desk, &subject)?),
        ReplayMode::Failed | ReplayMode::All | ReplayMode::Held => None,
    };
    let now = desk.moment();
    let mut generation = forced.unwrap_or(subject.generation);
    let mut deliveries = 0;
    for delivery in &chosen {
        generation = forced.unwrap_or(Generation(delivery.row.generation));
        put_back(desk, order, &subject, delivery, forced, now)?;
        deliveries += 1;
    }
    if let Some((number, target)) = newcomer {
        create(desk, order, &subject, number, target, generation, now)?;
        deliveries += 1;
    }
    Ok(Replayed::Again {
        deliveries,
        generation,
    })
}

fn subject(desk: &mut Desk<'_>, order: &ReplayOrder) -> Result<Option<Subject>, Failure> {
    let Some(seq) = find_event(desk.connection, order.event)? else {
        return Ok(None);
    };
    let found: Option<(i64, String, u32, Option<i64>)> = desk
        .connection
        .prepare_cached(
            "SELECT scope, event_id, generation, no FROM events WHERE seq = ?1 AND headers <> ?2",
        )?
        .query_row((seq, Headers::erased().as_bytes()), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((scope, event_id, generation, no)) = found else {
        return Ok(None);
    };
    let scope = desk.state.names.named(desk.connection, scope)?.scope.clone();
    Ok(Some(Subject {
        seq,
        identity: Identity { scope, event_id },
        generation: Generation(generation),
        no,
    }))
}

fn unfinished(desk: &Desk<'_>, seq: i64, destination: Option<i64>) -> Result<bool, Failure> {
    Ok(desk
        .connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM work WHERE seq = ?1 AND (?2 IS NULL OR destination = ?2))",
        )?
        .query_row((seq, destination), |row| row.get(0))?)
}

fn fitting(
    desk: &Desk<'_>,
    order: &ReplayOrder,
    seq: i64,
    destination: Option<i64>,
) -> Result<Vec<Finished>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, token, attempts, lost, generation, idempotency_key, lane, lane_order, on_dead,
                replay, state, holds, error,
                EXISTS (SELECT 1 FROM outcomes b WHERE b.seq = ?1 AND b.destination = o.destination AND b.replay = ?3)
         FROM outcomes o WHERE seq = ?1 AND current = 1 AND (?2 IS NULL OR destination = ?2)
         ORDER BY destination",
    )?;
    let job = order.job.as_ref().map(|job| job.0.as_bytes());
    let mut rows = select.query((seq, destination, job))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let replayed: bool = row.get(13)?;
        found.push(Finished {
            row: WorkRow {
                seq,
                destination: row.get(0)?,
                token: row.get(1)?,
                attempts: row.get(2)?,
                lost: row.get(3)?,
                generation: row.get(4)?,
                idempotency_key: bytes_at(row, 5)?,
                lane: row.get(6)?,
                lane_order: row.get(7)?,
                on_dead: row.get(8)?,
                replay: optional_bytes_at(row, 9)?,
            },
            state: state_of(row.get(10)?)?,
            holds: row.get(11)?,
            error: error_at(row, 12)?,
            replayed: order.job.filter(|_| replayed),
        });
    }
    Ok(found)
}

/// A generation of the identity that no event has had. From a tombstone it takes the one meant for the next event, and
/// the tombstone moves on.
fn next_generation(desk: &Desk<'_>, subject: &Subject) -> Result<Generation, Failure> {
    let key = subject.identity.key();
    let no = ledger::find(desk, key)?;
    let found: Option<(u32, bool)> = desk
        .connection
        .prepare_cached("SELECT generation, forgotten FROM ledger WHERE no = ?1")?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let taken = match found {
        Some((generation, true)) => Generation(generation),
        Some((generation, false)) => Generation(generation).next(),
        None => subject.generation.next(),
    };
    desk.connection
        .prepare_cached("UPDATE ledger SET generation = generation + 1 WHERE no = ?1")?
        .execute([no])?;
    desk.connection
        .prepare_cached("UPDATE events SET generation = ?2 WHERE seq = ?1")?
        .execute((subject.seq, taken.0))?;
    Ok(taken)
}

fn put_back(
    desk: &mut Desk<'_>,
    order: &ReplayOrder,
    subject: &Subject,
    delivery: &Finished,
    forced: Option<Generation>,
    now: Timestamp,
) -> Result<(), Failure> {
    let row = &delivery.row;
    desk.connection
        .prepare_cached(
            "UPDATE outcomes SET current = 0, holds = 0 WHERE seq = ?1 AND destination = ?2 AND current = 1",
        )?
        .execute((row.seq, row.destination))?;
    let (generation, key) = match forced {
        Some(generation) => {
            let named = desk.state.names.named(desk.connection, row.destination)?;
            let key = subject.identity.idempotency_key(generation, &named.destination);
            (generation, *key.as_bytes())
        }
        None => (Generation(row.generation), row.idempotency_key),
    };
    // A dead delivery that holds its lane never left it.
    let lane = match &order.to {
        Some(target) if !delivery.holds => target.lane.clone(),
        Some(_) | None => lane_of(row.lane.clone(), row.on_dead),
    };
    insert(
        desk,
        order,
        (row.seq, row.destination),
        (generation, key),
        (lane, row.lane_order.or(subject.no)),
        now,
    )
}

fn create(
    desk: &mut Desk<'_>,
    order: &ReplayOrder,
    subject: &Subject,
    destination: i64,
    target: &ReplayTarget,
    generation: Generation,
    now: Timestamp,
) -> Result<(), Failure> {
    let key = *subject
        .identity
        .idempotency_key(generation, &target.destination)
        .as_bytes();
    insert(
        desk,
        order,
        (subject.seq, destination),
        (generation, key),
        (target.lane.clone(), subject.no),
        now,
    )
}

/// Inserts an unfinished delivery: due, or in a lane at the position of its acceptance. An event that was stored by an
/// earlier version and was never in a lane has no such position; it goes behind the others.
fn insert(
    desk: &mut Desk<'_>,
    order: &ReplayOrder,
    (seq, destination): (i64, i64),
    (generation, key): (Generation, [u8; 16]),
    (lane, accepted): (Option<Lane>, Option<i64>),
    now: Timestamp,
) -> Result<(), Failure> {
    let token = desk.number()?;
    let (class, place) = match (&lane, accepted) {
        (None, _) => (Class::Fresh, None),
        (Some(_), Some(place)) => (Class::Waiting, Some(place)),
        (Some(_), None) => (Class::Waiting, Some(desk.number()?)),
    };
    desk.hot.insert_work.execute(params![
        seq,
        destination,
        class.code(),
        now.as_micros(),
        state_code(DeliveryState::Pending),
        token,
        0,
        None::<i64>,
        generation.0,
        key,
        lane.as_ref().map(|lane| lane.key.as_str()),
        place,
        lane.as_ref().map(|lane| on_dead_code(lane.on_dead)),
        order.job.as_ref().map(|job| job.0.as_bytes()),
    ])?;
    match &lane {
        Some(lane) => lanes::promote(desk, destination, &lane.key),
        None => Ok(()),
    }
}
