//! Accepting: the claim, the payload and the deliveries of an event, in the writer's single transaction. A duplicate
//! only reads.

use hapax_core::delivery::NewDelivery;
use hapax_core::store::{AcceptRequest, BodyNote, Claim, Error, Handed};
use hapax_core::{DeliveryState, EventId, Generation, NewEvent, Timestamp};
use rusqlite::params;

use crate::bodies;
use crate::desk::{Care, Desk, PROBES, find_event};
use crate::duplicates;
use crate::failure::Failure;
use crate::indexed;
use crate::lanes;
use crate::ledger::{self, NewEntry};
use crate::look_up::{self, Holder};
use crate::noted::{self, Noted};
use crate::outcome::{Ending, conclude};
use crate::rows::{Class, on_dead_code, state_code};
use crate::tallies;
use crate::work_row::WorkRow;

/// Accepts requests independently of each other.
pub(crate) fn accept(
    desk: &mut Desk<'_>,
    requests: &[AcceptRequest],
) -> Result<Vec<Result<Vec<Claim>, Error>>, Failure> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let answer = match desk.care {
            Care::Swift => Ok(request_of(desk, request)?),
            Care::Careful => desk.item(|desk| request_of(desk, request))?,
        };
        answers.push(answer.map_err(|failure| failure.to_error()));
    }
    Ok(answers)
}

fn request_of(desk: &mut Desk<'_>, request: &AcceptRequest) -> Result<Vec<Claim>, Failure> {
    request.events.iter().map(|event| claim(desk, event)).collect()
}

fn claim(desk: &mut Desk<'_>, event: &NewEvent) -> Result<Claim, Failure> {
    let now = desk.now();
    let scope = desk.intern(event.identity.scope.as_str())?;
    let rule = match &event.content_hash {
        Some(content) => Some(desk.intern(&content.rule)?),
        None => None,
    };
    let entry = NewEntry {
        key: event.key,
        scope,
        id: event.id,
        generation: Generation(0),
        first_seen: now,
        expires_at: event.ledger_until,
        raw_hash: &event.raw_hash,
        content_rule: rule,
        content_hash: event.content_hash.as_ref().map(|content| &content.hash),
        is_forgotten: false,
    };
    if ledger::append(desk, &entry)? {
        desk.state.tallies.add(scope, 1);
        return store(desk, event, scope, Generation(0), None, now);
    }
    match look_up::holder(desk, event.key)? {
        Some(Holder::Event(entry)) => Ok(Claim::Seen(entry)),
        Some(Holder::Forgotten { last, next }) => {
            take_over(desk, event, last, rule, now)?;
            let claim = store(desk, event, scope, next, Some(last), now)?;
            if duplicates::count(desk.connection, event.key)? > 0 {
                noted::note(desk, Noted::Duplicates, event.id)?;
            }
            Ok(claim)
        }
        None => Err(Failure::Unreadable(
            "an existing ledger entry cannot be read".to_owned(),
        )),
    }
}

/// Gives a forgotten identity its next event. The previous event is remembered while it is stored.
fn take_over(
    desk: &mut Desk<'_>,
    event: &NewEvent,
    last: EventId,
    rule: Option<i64>,
    now: Timestamp,
) -> Result<(), Failure> {
    if find_event(desk.connection, last)?.is_some() {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO earlier (key, id) VALUES (?1, ?2)")?
            .execute((event.key.as_bytes(), last.as_bytes()))?;
    }
    let no = ledger::find(desk, event.key)?;
    let mut update = desk.connection.prepare_cached(
        "UPDATE ledger SET id = ?2, first_seen = ?3, expires_at = ?4, raw_hash = ?5, content_rule = ?6,
                           content_hash = ?7, forgotten = 0
         WHERE no = ?1",
    )?;
    update.execute(params![
        no,
        event.id.as_bytes(),
        now.as_micros(),
        event.ledger_until.as_micros(),
        event.raw_hash.as_bytes(),
        rule,
        event.content_hash.as_ref().map(|content| content.hash.as_bytes()),
    ])?;
    Ok(())
}

fn store(
    desk: &mut Desk<'_>,
    event: &NewEvent,
    scope: i64,
    generation: Generation,
    last: Option<EventId>,
    now: Timestamp,
) -> Result<Claim, Failure> {
    let no = desk.number()?;
    let seq = append(desk, event, scope, generation, now, Some(no))?;
    let is_held = match BodyNote::claimed_by(event) {
        Some(note) => bodies::claim(desk, &note, last)?,
        None => false,
    };
    let mut tokens = Vec::with_capacity(event.deliveries.len());
    for delivery in &event.deliveries {
        tokens.push(if is_held {
            hold(desk, event, delivery, seq, generation)?;
            None
        } else {
            enqueue(desk, event, delivery, seq, generation)?
        });
    }
    Ok(Claim::New { generation, tokens })
}

/// Appends the payload and returns its row.
pub(crate) fn append(
    desk: &mut Desk<'_>,
    event: &NewEvent,
    scope: i64,
    generation: Generation,
    now: Timestamp,
    no: Option<i64>,
) -> Result<i64, Failure> {
    let source = desk.intern(event.source.as_str())?;
    let order = event.id.order() as i64;
    note_skew(desk, event)?;
    for seq in order..order.saturating_add(PROBES) {
        let inserted = desk.hot.insert_event.execute(params![
            seq,
            event.id.as_bytes(),
            scope,
            source,
            generation.0,
            event.received_at.as_micros(),
            now.as_micros(),
            event.identity.event_id,
            event.event_type,
            event.signed_at.map(Timestamp::as_micros),
            event.secret_index,
            event.raw_hash.as_bytes(),
            event.batch.as_ref().map(|(id, _)| id.as_bytes()),
            event.batch.map(|(_, index)| index),
            event.headers.as_bytes(),
            &event.body[..],
            no,
        ])?;
        if inserted == 1 {
            desk.state.tallies.add(tallies::EVENTS, 1);
            desk.state.purge.appended(seq);
            indexed::insert(desk, seq, &event.indexed)?;
            return Ok(seq);
        }
        if crate::rows::event_id_of(desk.connection, seq)? == Some(event.id) {
            return Err(Failure::Rejected(format!(
                "the id {} already belongs to another event",
                event.id
            )));
        }
    }
    Err(Failure::Rejected(format!(
        "too many ids have the same order as {}",
        event.id
    )))
}

/// Lists and purges find times by row order. This stores how far the time in an id may be from its event's arrival,
/// rounded up to a power of two so that it is seldom written.
fn note_skew(desk: &mut Desk<'_>, event: &NewEvent) -> Result<(), Failure> {
    let id_ms = event.id.order() >> EventId::order_at(Timestamp::from_micros(1_000)).trailing_zeros();
    let skew_ms = id_ms.abs_diff(event.received_at.as_millis());
    if skew_ms > desk.skew_ms()? {
        let widened = skew_ms.checked_next_power_of_two().unwrap_or(skew_ms) as i64;
        desk.connection
            .prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'skew_ms'")?
            .execute([widened])?;
        desk.state.skew_ms = None;
    }
    Ok(())
}

/// Stores a delivery that is not attempted until an operator releases it.
fn hold(
    desk: &mut Desk<'_>,
    event: &NewEvent,
    delivery: &NewDelivery,
    seq: i64,
    generation: Generation,
) -> Result<(), Failure> {
    let token = desk.token()?;
    let key = event.identity.idempotency_key(generation, &delivery.destination);
    let lane = delivery.lane.as_ref();
    let lane_order = match lane {
        Some(_) => Some(desk.number()?),
        None => None,
    };
    let row = WorkRow {
        seq,
        destination: desk.intern(delivery.destination.as_str())?,
        token: token.0 as i64,
        attempts: 0,
        lost: 0,
        generation: generation.0,
        idempotency_key: *key.as_bytes(),
        lane: lane.map(|lane| lane.key.clone()),
        lane_order,
        on_dead: lane.map(|lane| on_dead_code(lane.on_dead)),
        replay: None,
    };
    let now = desk.moment();
    conclude(desk, &row, token, Ending::Held, now)
}

/// Creates one delivery. Returns its lease if it was leased with the accept.
fn enqueue(
    desk: &mut Desk<'_>,
    event: &NewEvent,
    delivery: &NewDelivery,
    seq: i64,
    generation: Generation,
) -> Result<Option<Handed>, Failure> {
    let destination = desk.intern(delivery.destination.as_str())?;
    let key = event.identity.idempotency_key(generation, &delivery.destination);
    let mut class = Class::Fresh;
    let now = desk.moment();
    let mut wake_at = now;
    let mut state = DeliveryState::Pending;
    let mut lane_order = None;
    let mut handed = None;
    if let Some(lane) = &delivery.lane {
        lane_order = Some(desk.number()?);
        if lanes::is_taken(desk, destination, &lane.key)? {
            class = Class::Waiting;
        }
    } else if let Some(terms) = &delivery.first_lease {
        class = Class::Running;
        state = DeliveryState::Running;
        wake_at = now.plus(terms.lease_for);
        handed = Some(Handed {
            token: desk.token()?,
            lease_until: wake_at,
        });
    }
    desk.hot.insert_work.execute(params![
        seq,
        destination,
        class.code(),
        wake_at.as_micros(),
        state_code(state),
        handed.map_or(0, |handed| handed.token.0 as i64),
        i64::from(handed.is_some()),
        delivery.first_lease.map(|terms| terms.owner.0 as i64),
        generation.0,
        key.as_bytes(),
        delivery.lane.as_ref().map(|lane| lane.key.as_str()),
        lane_order,
        delivery.lane.as_ref().map(|lane| on_dead_code(lane.on_dead)),
        None::<&[u8]>,
    ])?;
    Ok(handed)
}
